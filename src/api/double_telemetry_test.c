#include "telemetry/telemetry.h"

bool berth_telemetry_latest(const struct berth_telemetry *telemetry, const char *uuid, uint64_t now_ms,
                            uint64_t max_age_ms, struct berth_sample *ret)
{
	*ret = (struct berth_sample){.at_ms = now_ms,
	                             .valid = BERTH_SAMPLE_UTIL | BERTH_SAMPLE_MEM,
	                             .util_permille = 420,
	                             .mem_used_bytes = 5u << 20};
	return true;
}

size_t berth_telemetry_recent_util(const struct berth_telemetry *telemetry, const char *uuid, int32_t *ret_permille,
                                   size_t n)
{
	return 0;
}

void berth_telemetry_metrics(struct berth_telemetry *telemetry, struct berth_core *core,
                             const struct berth_telemetry_counters *counters, uint64_t core_now_ms,
                             uint64_t boot_now_ms, struct berth_text *ret)
{
	berth_text_addf(ret, "berth_http_requests_total %llu\n", (unsigned long long)counters->http_requests);
}
