#include "daemon/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "device/device.h"

/* Kinds that the interface promises for later versions: told apart from a misspelt word. */
static const char *const later_kinds[] = {"nvml", "amd", "ascend", "replay", NULL};

static bool is_later(const char *kind)
{
	for (size_t i = 0; later_kinds[i]; i++)
		if (strcmp(kind, later_kinds[i]) == 0)
			return true;
	return false;
}

static int check_kind(const char *kind, struct berth_error *err)
{
	if (strcmp(kind, "sim") == 0)
		return 0;
	if (is_later(kind))
		return berth_error_set(err, -EINVAL,
		                       "devices \"%s\" come with a later version of berth; this one knows simulated "
		                       "cards: sim:8xA100-80GB",
		                       kind);
	return berth_error_set(err, -EINVAL,
	                       "devices \"%.40s\" are unknown; use auto, sim:MODELS (sim:8xA100-80GB) or sim:FILE.yaml",
	                       kind);
}

int berth_source_parse(const char *spec, struct berth_source *ret, struct berth_error *err)
{
	struct berth_source source = {.is_auto = strcmp(spec, "auto") == 0};
	const char *resolved = source.is_auto ? BERTH_SOURCE_AUTO : spec;
	size_t kind_len = strcspn(resolved, ":");
	int r;

	if (strlen(resolved) >= sizeof(source.spec))
		return berth_error_set(err, -EINVAL, "the devices are written in %zu bytes; %zu are the most",
		                       strlen(resolved), sizeof(source.spec) - 1);
	if (strchr(resolved, ','))
		return berth_error_set(err, -EINVAL,
		                       "several kinds of devices with commas come with a later version; join simulated "
		                       "models with \"+\"");
	if (kind_len >= sizeof(source.driver))
		return check_kind(resolved, err);
	memcpy(source.driver, resolved, kind_len);
	r = check_kind(source.driver, err);
	if (r < 0)
		return r;
	if (resolved[kind_len] != ':' || !resolved[kind_len + 1])
		return berth_error_set(err, -EINVAL, "\"%s\" names no cards; write for example sim:8xA100-80GB",
		                       resolved);
	(void)snprintf(source.spec, sizeof(source.spec), "%s", resolved);
	(void)snprintf(source.arg, sizeof(source.arg), "%s", resolved + kind_len + 1);
	source.is_simulated = true;
	*ret = source;
	return 0;
}

int berth_source_check(const struct berth_source *source, struct berth_error *err)
{
	const struct berth_driver_ops *ops = berth_driver_find(source->driver);
	struct berth_device_facts devices[BERTH_DEVICES_MAX];
	struct berth_driver *driver = NULL;
	size_t n = 0;
	int r;

	if (!ops)
		return berth_error_set(err, -ENODEV, "this build has no driver \"%s\"", source->driver);
	r = ops->open(source->arg, "check", &driver, err);
	if (r < 0)
		return r;
	r = ops->scan(driver, devices, BERTH_DEVICES_MAX, &n, err);
	ops->close(driver);
	if (r == 0 && n == 0)
		r = berth_error_set(err, -ENODEV, "\"%s\" has no cards", source->spec);
	return r;
}
