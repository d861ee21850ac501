#include <string.h>
#include "api/server.h"
#include "api/stream.h"
#include "base/clock.h"
#include "engine/local/local.h"

#define CHECKS_MAX 64u

static struct berth_telemetry_counters counters_of(const struct berth_api *api)
{
	struct berth_telemetry_counters counters = {0};

	api->host.counters(api->host.arg, &counters);
	counters.http_requests = berth_http_requests(api->http);
	counters.sse_clients = berth_streams_count(api->streams);
	return counters;
}

static void write_counts(struct berth_json *json, const struct berth_core *core)
{
	berth_json_open(json, "jobs", '{');
	for (unsigned state = BERTH_JOB_UNKNOWN + 1; state < BERTH_JOB_STATE_COUNT; state++) {
		uint64_t n = 0;

		for (unsigned tier = 0; tier < BERTH_TIER_COUNT; tier++)
			n += berth_core_count_in(core, (enum berth_job_state)state, (enum berth_tier)tier);
		berth_json_u64(json, berth_job_state_name((enum berth_job_state)state), n);
	}
	berth_json_close(json, '}');
}

void berth_get_status(struct berth_api *api, struct berth_exchange *request)
{
	const struct berth_telemetry_counters counters = counters_of(api);
	const struct berth_core *core = berth_api_core(api);
	BERTH_AUTO_TEXT struct berth_text text = {0};
	BERTH_AUTO_TEXT struct berth_text why = {0};
	struct berth_json json = berth_json_at(&text);
	const bool is_healthy = api->host.is_healthy(api->host.arg, &why);

	berth_json_open(&json, NULL, '{');
	berth_json_str(&json, "schema", "berth.status/1");
	berth_json_str(&json, "version", BERTH_VERSION);
	berth_json_str(&json, "node", api->host.node_name);
	berth_json_str(&json, "owner", api->owner);
	berth_json_u64(&json, "uid", api->host.uid);
	berth_json_str(&json, "devices", api->host.devices_spec);
	berth_json_bool(&json, "is_simulated", api->host.is_simulated);
	berth_json_u64(&json, "port", berth_http_port(api->http));
	berth_json_u64(&json, "seq", berth_core_seq(core));
	berth_json_time(&json, "now", berth_api_now(api));
	write_counts(&json, core);
	berth_json_u64(&json, "gpus", berth_core_device_count(core));
	berth_json_str(&json, "disk", counters.is_disk_full ? "full" : "ok");
	berth_json_str(&json, "probe", counters.is_probe_stale ? "stale" : "ok");
	berth_json_str(&json, "exec", counters.is_exec_connected ? "ok" : "lost");
	berth_json_str(&json, "containment", berth_engine_containment(api->host.engine));
	berth_json_bool(&json, "is_healthy", is_healthy);
	berth_json_str(&json, "unhealthy", is_healthy ? NULL : berth_text_str(&why));
	berth_json_close(&json, '}');
	berth_reply_json(request, MHD_HTTP_OK, &text);
}

void berth_get_doctor(struct berth_api *api, struct berth_exchange *request)
{
	static const char *const results[] = {
		[BERTH_CHECK_OK] = "ok", [BERTH_CHECK_WARN] = "warn", [BERTH_CHECK_FAIL] = "fail"};
	BERTH_AUTO_FREE struct berth_check *checks = calloc(CHECKS_MAX, sizeof(*checks));
	const size_t n = checks ? api->host.doctor(api->host.arg, checks, CHECKS_MAX) : 0;
	BERTH_AUTO_TEXT struct berth_text text = {.is_failed = !checks};
	struct berth_json json = berth_json_at(&text);

	berth_json_open(&json, NULL, '{');
	berth_json_str(&json, "schema", "berth.doctor/1");
	berth_json_open(&json, "checks", '[');
	for (size_t i = 0; i < n && i < CHECKS_MAX; i++) {
		berth_json_open(&json, NULL, '{');
		berth_json_str(&json, "name", checks[i].name);
		berth_json_str(&json, "result", results[checks[i].result]);
		berth_json_str(&json, "text", checks[i].text);
		berth_json_str(&json, "fix", checks[i].fix[0] ? checks[i].fix : NULL);
		berth_json_close(&json, '}');
	}
	berth_json_close(&json, ']');
	berth_json_close(&json, '}');
	berth_reply_json(request, MHD_HTTP_OK, &text);
}

void berth_get_config(struct berth_api *api, struct berth_exchange *request)
{
	BERTH_AUTO_FREE char *config = api->host.config_json(api->host.arg);
	BERTH_AUTO_TEXT struct berth_text text = {.is_failed = !config};

	berth_text_add(&text, config ? config : "");
	berth_reply_json(request, MHD_HTTP_OK, &text);
}

void berth_get_metrics(struct berth_api *api, struct berth_exchange *request)
{
	const struct berth_telemetry_counters counters = counters_of(api);
	BERTH_AUTO_TEXT struct berth_text text = {0};

	berth_telemetry_metrics(api->host.telemetry, berth_api_core(api), &counters, berth_api_now(api),
	                        berth_clock_boot_ms(), &text);
	berth_reply_text(request, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", &text);
}

void berth_get_healthz(struct berth_api *api, struct berth_exchange *request)
{
	BERTH_AUTO_TEXT struct berth_text why = {0};
	const bool is_healthy = api->host.is_healthy(api->host.arg, &why);

	if (is_healthy) {
		berth_text_fini(&why);
		berth_text_add(&why, "ok");
	}
	berth_text_add(&why, "\n");
	berth_reply_text(request, is_healthy ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE, "text/plain; charset=utf-8",
	                 &why);
}
