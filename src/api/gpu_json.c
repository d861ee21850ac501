#include "api/gpu_json.h"

#include <string.h>
#include "base/clock.h"
#include "base/units.h"

#define IDLE_PERMILLE 20
#define IDLE_MS 60000u
#define IDLE_SAMPLES 60u

static const char *const link_kinds[] = {[BERTH_LINK_UNKNOWN] = "unknown",
                                         [BERTH_LINK_PCIE] = "pcie",
                                         [BERTH_LINK_NVLINK] = "nvlink",
                                         [BERTH_LINK_NVSWITCH] = "nvswitch"};

/* Held for a minute, and no sample of the last minute shows it at work. */
static bool is_idle(const struct berth_api *api, const struct berth_device *device)
{
	int32_t util[IDLE_SAMPLES];
	size_t n;

	if (device->since_ms == 0 || berth_api_now(api) - device->since_ms < IDLE_MS)
		return false;
	n = berth_telemetry_recent_util(api->host.telemetry, device->uuid, util, IDLE_SAMPLES);
	for (size_t i = 0; i < n; i++)
		if (util[i] < 0 || util[i] >= IDLE_PERMILLE)
			return false;
	return n > 0;
}

static const char *state_of(const struct berth_api *api, const struct berth_device *device)
{
	if (device->health == BERTH_HEALTH_LOST)
		return "lost";
	if (device->job > 0)
		return is_idle(api, device) ? "idle" : "busy";
	return device->is_draining ? "drained" : "free";
}

static const char *health_of(const struct berth_device *device)
{
	switch (device->health) {
	case BERTH_HEALTH_OK:
		return "ok";
	case BERTH_HEALTH_LOST:
		return "lost";
	default:
		return "unknown";
	}
}

static void write_sample(const struct berth_api *api, struct berth_json *json, const struct berth_device *device)
{
	struct berth_sample sample = {0};
	const bool is_known = berth_telemetry_latest(api->host.telemetry, device->uuid, berth_clock_boot_ms(),
	                                             BERTH_TELEMETRY_FRESH_MS, &sample);
	const uint32_t valid = is_known ? sample.valid : 0;

	berth_json_u64(json, "mem_total_bytes", device->mem_bytes);
	berth_json_u64_or_null(json, "mem_used_bytes", valid & BERTH_SAMPLE_MEM ? sample.mem_used_bytes : UINT64_MAX,
	                       UINT64_MAX);
	berth_json_u64_or_null(json, "util_permille", valid & BERTH_SAMPLE_UTIL ? sample.util_permille : UINT64_MAX,
	                       UINT64_MAX);
	berth_json_null(json, "temp_c");
	berth_json_null(json, "power_mw");
	berth_json_null(json, "power_cap_mw");
	berth_json_null(json, "clock_mhz");
}

static void write_links(const struct berth_api *api, struct berth_json *json, const struct berth_device *device)
{
	struct berth_link links[BERTH_DEVICES_MAX];
	const char *peers[BERTH_DEVICES_MAX];
	const size_t n = api->host.links(api->host.arg, device->uuid, links, peers, BERTH_DEVICES_MAX);

	berth_json_open(json, "links", '[');
	for (size_t i = 0; i < n && i < BERTH_DEVICES_MAX; i++) {
		berth_json_open(json, NULL, '{');
		berth_json_str(json, "peer", peers[i]);
		berth_json_str(json, "kind", link_kinds[links[i].kind]);
		berth_json_u64_or_null(json, "mbyte_per_s", links[i].mbyte_per_s, 0);
		berth_json_close(json, '}');
	}
	berth_json_close(json, ']');
}

static void write_holder(const struct berth_api *api, struct berth_json *json, const struct berth_device *device)
{
	const struct berth_job *job = device->job > 0 ? berth_core_job(berth_api_core(api), device->job) : NULL;

	berth_json_open(json, "jobs", '[');
	if (device->job > 0)
		berth_json_u64(json, NULL, device->job);
	berth_json_close(json, ']');
	berth_json_str(json, "user", job ? job->asked.user : NULL);
	berth_json_time(json, "since", device->since_ms);
}

static void write_drain(struct berth_json *json, const struct berth_device *device)
{
	if (!device->is_draining) {
		berth_json_null(json, "drain");
		return;
	}
	berth_json_open(json, "drain", '{');
	berth_json_str(json, "by", device->drain_by);
	berth_json_str(json, "note", device->drain_note);
	berth_json_close(json, '}');
}

void berth_gpu_write(struct berth_api *api, struct berth_json *json, const char *key, const struct berth_device *device)
{
	const struct berth_node *node = berth_core_node(berth_api_core(api), device->node);

	berth_json_open(json, key, '{');
	berth_json_str(json, "uuid", device->uuid);
	berth_json_u64(json, "index", device->index);
	berth_json_str(json, "node", node ? node->name : NULL);
	berth_json_str(json, "kind", device->kind);
	berth_json_str(json, "model", device->model);
	berth_json_str(json, "state", state_of(api, device));
	berth_json_str(json, "health", health_of(device));
	write_sample(api, json, device);
	write_links(api, json, device);
	berth_json_raw(json, "partitions", "[]", 2);
	write_holder(api, json, device);
	berth_json_raw(json, "foreign", "[]", 2);
	write_drain(json, device);
	berth_json_close(json, '}');
}

const struct berth_device *berth_gpu_find(const struct berth_core *core, const char *name)
{
	const struct berth_device *device;
	uint64_t index;

	if (berth_number_parse(name, "GPU", 0, UINT32_MAX, &index, NULL) < 0)
		return berth_core_device_by_uuid(core, name);
	for (size_t i = 0; (device = berth_core_device_at(core, i)); i++)
		if (device->index == index)
			return device;
	return NULL;
}

void berth_reply_gpu(struct berth_api *api, struct berth_exchange *request, const struct berth_device *device)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct berth_json json = berth_json_at(&text);

	berth_json_open(&json, NULL, '{');
	berth_json_str(&json, "schema", "berth.gpu/1");
	berth_json_u64(&json, "seq", berth_core_seq(berth_api_core(api)));
	berth_gpu_write(api, &json, "gpu", device);
	berth_json_close(&json, '}');
	berth_reply_json(request, MHD_HTTP_OK, &text);
}
