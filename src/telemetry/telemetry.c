#include "telemetry/telemetry.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include "telemetry/state.h"

struct berth_telemetry *berth_telemetry_new(void)
{
	return calloc(1, sizeof(struct berth_telemetry));
}

void berth_telemetry_free(struct berth_telemetry *telemetry)
{
	if (!telemetry)
		return;
	free(telemetry->device);
	free(telemetry);
}

static struct berth_telemetry_device *find(const struct berth_telemetry *telemetry, const char *uuid)
{
	for (size_t i = 0; i < telemetry->n; i++)
		if (strcmp(telemetry->device[i].uuid, uuid) == 0)
			return &telemetry->device[i];
	return NULL;
}

/* The record of a device, a fresh one when it is new; NULL when memory is out. */
static struct berth_telemetry_device *have(struct berth_telemetry *telemetry, const char *uuid, uint64_t now_ms)
{
	struct berth_telemetry_device *device = find(telemetry, uuid);
	struct berth_telemetry_device *grown;
	size_t cap;

	if (device)
		return device;
	assert(strlen(uuid) < sizeof(device->uuid));
	if (telemetry->n == telemetry->cap) {
		cap = telemetry->cap ? 2 * telemetry->cap : 8;
		grown = reallocarray(telemetry->device, cap, sizeof(*grown));
		if (!grown)
			return NULL;
		telemetry->device = grown;
		telemetry->cap = cap;
	}
	device = &telemetry->device[telemetry->n++];
	*device = (struct berth_telemetry_device){.good_ms = now_ms};
	(void)snprintf(device->uuid, sizeof(device->uuid), "%s", uuid);
	return device;
}

int berth_telemetry_expect(struct berth_telemetry *telemetry, const char *uuid, uint64_t now_ms)
{
	return have(telemetry, uuid, now_ms) ? 0 : -ENOMEM;
}

static bool is_silent(const struct berth_telemetry_device *device, uint64_t now_ms)
{
	return now_ms > device->good_ms && now_ms - device->good_ms > BERTH_TELEMETRY_LOST_AFTER_MS;
}

static void take_health(struct berth_telemetry_device *device, const struct berth_sample *sample)
{
	if (is_silent(device, sample->at_ms)) {
		device->is_lost = true;
		device->n_good = 0;
	}
	if (!(sample->valid & BERTH_SAMPLE_HEALTH) || sample->health == BERTH_DEVICE_HEALTH_UNKNOWN)
		return;
	if (sample->health == BERTH_DEVICE_HEALTH_LOST) {
		device->is_lost = true;
		device->n_good = 0;
		return;
	}
	device->good_ms = sample->at_ms;
	if (device->n_good < BERTH_TELEMETRY_OK_SAMPLES)
		device->n_good++;
	if (device->n_good == BERTH_TELEMETRY_OK_SAMPLES)
		device->is_lost = false;
}

int berth_telemetry_put(struct berth_telemetry *telemetry, const char *uuid, const struct berth_sample *sample)
{
	struct berth_telemetry_device *device = have(telemetry, uuid, sample->at_ms);

	if (!device)
		return -ENOMEM;
	take_health(device, sample);
	device->last = *sample;
	device->has_sample = true;
	device->util_permille[device->at] = sample->valid & BERTH_SAMPLE_UTIL ? (int32_t)sample->util_permille : -1;
	device->at = (device->at + 1) % BERTH_TELEMETRY_RING;
	if (device->n < BERTH_TELEMETRY_RING)
		device->n++;
	return 0;
}

bool berth_telemetry_latest(const struct berth_telemetry *telemetry, const char *uuid, uint64_t now_ms,
                            uint64_t max_age_ms, struct berth_sample *ret)
{
	const struct berth_telemetry_device *device = find(telemetry, uuid);

	if (!device || !device->has_sample)
		return false;
	if (now_ms > device->last.at_ms && now_ms - device->last.at_ms > max_age_ms)
		return false;
	*ret = device->last;
	return true;
}

size_t berth_telemetry_recent_util(const struct berth_telemetry *telemetry, const char *uuid, int32_t *ret_permille,
                                   size_t n)
{
	const struct berth_telemetry_device *device = find(telemetry, uuid);

	if (!device)
		return 0;
	if (n > device->n)
		n = device->n;
	for (size_t i = 0; i < n; i++)
		ret_permille[i] =
			device->util_permille[(device->at + BERTH_TELEMETRY_RING - n + i) % BERTH_TELEMETRY_RING];
	return n;
}

enum berth_health berth_telemetry_health(const struct berth_telemetry *telemetry, const char *uuid, uint64_t now_ms)
{
	const struct berth_telemetry_device *device = find(telemetry, uuid);

	if (!device)
		return BERTH_HEALTH_UNKNOWN;
	if (is_silent(device, now_ms))
		return BERTH_HEALTH_LOST;
	if (device->is_lost)
		return device->n_good == 0 ? BERTH_HEALTH_LOST : BERTH_HEALTH_UNKNOWN;
	return device->n_good > 0 ? BERTH_HEALTH_OK : BERTH_HEALTH_UNKNOWN;
}
