#include "api/reason.h"

#include <string.h>

enum shape { SHAPE_NUMBER, SHAPE_MOMENT, SHAPE_MASK, SHAPE_DEVICE };

/* How the core's parameters look outside; those that are not here are numbers under their own name. */
static const struct param {
	const char *core, *name;
	enum shape shape;
} params[] = {
	{"at_ms", "retry_at", SHAPE_MOMENT},
	{"deadline_ms", "deadline_at", SHAPE_MOMENT},
	{"latest_end_ms", "latest_end_at", SHAPE_MOMENT},
	{"latest_start_ms", "latest_start_at", SHAPE_MOMENT},
	{"suiting", "suit", SHAPE_NUMBER},
	{"asked_mask", "asked_indexes", SHAPE_MASK},
	{"known_mask", "known_indexes", SHAPE_MASK},
	{"device", "device", SHAPE_DEVICE},
};

static void write_mask(struct berth_json *json, const char *name, uint64_t mask)
{
	berth_json_open(json, name, '[');
	for (unsigned i = 0; i < 64; i++)
		if (mask >> i & 1)
			berth_json_u64(json, NULL, i);
	berth_json_close(json, ']');
}

static void write_device(struct berth_json *json, const struct berth_core *core, uint64_t id)
{
	const struct berth_device *device = id <= UINT32_MAX ? berth_core_device(core, (uint32_t)id) : NULL;

	berth_json_str(json, "uuid", device ? device->uuid : NULL);
	berth_json_u64_or_null(json, "index", device ? device->index : UINT64_MAX, UINT64_MAX);
}

static void write_param(struct berth_json *json, const struct berth_core *core, enum berth_reason_code code,
                        const char *name, uint64_t value)
{
	struct param param = {name, name, SHAPE_NUMBER};

	for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++)
		if (strcmp(params[i].core, name) == 0)
			param = params[i];
	switch (param.shape) {
	case SHAPE_NUMBER:
		berth_json_u64_or_null(json, param.name, value, UINT64_MAX);
		break;
	case SHAPE_MOMENT:
		berth_json_time(json, code == BERTH_REASON_BEGIN_TIME ? "begin_at" : param.name, value);
		break;
	case SHAPE_MASK:
		write_mask(json, param.name, value);
		break;
	case SHAPE_DEVICE:
		write_device(json, core, value);
		break;
	}
}

void berth_reason_write_params(struct berth_json *json, const char *key, const struct berth_core *core,
                               const struct berth_reason *reason)
{
	const char *const *names = berth_reason_param_names(reason->code);
	const uint64_t values[] = {reason->a, reason->b, reason->c};

	berth_json_open(json, key, '{');
	for (size_t i = 0; i < 3; i++)
		if (names[i])
			write_param(json, core, reason->code, names[i], values[i]);
	berth_json_close(json, '}');
}

void berth_reason_write_members(struct berth_json *json, const struct berth_core *core,
                                const struct berth_reason *reason)
{
	berth_json_str(json, "code", berth_reason_name(reason->code));
	berth_reason_write_params(json, "params", core, reason);
}

void berth_reason_write(struct berth_json *json, const char *key, const struct berth_core *core,
                        const struct berth_reason *reason)
{
	berth_json_open(json, key, '{');
	berth_reason_write_members(json, core, reason);
	berth_json_close(json, '}');
}
