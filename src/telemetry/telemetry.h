#ifndef BERTH_TELEMETRY_TELEMETRY_H
#define BERTH_TELEMETRY_TELEMETRY_H
/* Samples stay here: a short ring per device, the latest values, and the text that Prometheus reads. Nothing of it
 * enters the core or the database; what the core must know (health) is sent to it as a fact, when it changes.
 *
 * Times named now_ms and boot_now_ms are CLOCK_BOOTTIME in milliseconds, like those of samples; core_now_ms is the
 * core's clock. One thread.
 */
#include "base/text.h"
#include "core/core.h"
#include "device/device.h"

#define BERTH_TELEMETRY_RING 120             /* samples kept per device: two minutes at one a second */
#define BERTH_TELEMETRY_FRESH_MS 10000u      /* an older sample says nothing about now */
#define BERTH_TELEMETRY_LOST_AFTER_MS 20000u /* without a good sample for this long a device is lost */
#define BERTH_TELEMETRY_OK_SAMPLES 3u        /* good ones in a row that bring a lost device back */

struct berth_telemetry;
struct berth_telemetry *berth_telemetry_new(void); /* NULL when memory is out */
void berth_telemetry_free(struct berth_telemetry *telemetry);

/* This device should be there: from now on its silence counts. For devices that the core knows when the daemon starts,
 * so that a card which does not answer the new daemon is lost to it in time; a device that was sampled or told of
 * before is left as it is. Returns 0 or -ENOMEM. */
BERTH_MUST_USE int berth_telemetry_expect(struct berth_telemetry *telemetry, const char *uuid, uint64_t now_ms);
/* A sample arrived. Returns 0 or -ENOMEM. */
BERTH_MUST_USE int berth_telemetry_put(struct berth_telemetry *telemetry, const char *uuid,
                                       const struct berth_sample *sample);
/* The latest sample not older than max_age_ms; false when there is none (then everything is unknown). */
bool berth_telemetry_latest(const struct berth_telemetry *telemetry, const char *uuid, uint64_t now_ms,
                            uint64_t max_age_ms, struct berth_sample *ret);
/* The last n samples of util, newest last, -1 = unknown; returns how many were written, at most BERTH_TELEMETRY_RING.
 * For sparklines. */
size_t berth_telemetry_recent_util(const struct berth_telemetry *telemetry, const char *uuid, int32_t *ret_permille,
                                   size_t n);

/* Health as the core should see it: LOST at once when a sample says so, and when no good one has come for
 * BERTH_TELEMETRY_LOST_AFTER_MS (since the first was expected); OK after a good sample, or, once lost, after
 * BERTH_TELEMETRY_OK_SAMPLES good ones in a row. UNKNOWN = nothing to tell the core now: it keeps what it has. A host
 * asks for each device of the core after samples and each second, and makes a fact when the answer differs from the
 * core's. */
enum berth_health berth_telemetry_health(const struct berth_telemetry *telemetry, const char *uuid, uint64_t now_ms);

/* Counters that hosts feed and /metrics shows. */
struct berth_telemetry_counters {
	uint64_t facts, decisions, commits, fsyncs, http_requests, sse_clients;
	uint64_t last_cycle_ms;  /* core clock: end of the last decide; 0 = none */
	uint64_t last_sample_ms; /* wall clock of the last good sample; 0 = none */
	bool is_disk_full, is_probe_stale, is_exec_connected;
};

/* The metrics page, Prometheus text format 0.0.4: build, per GPU (info, utilisation, memory, health, allocated,
 * drained, job), jobs by state and tier, pending by reason, oldest wait, wait-time histogram of started jobs, restarts,
 * ended by state, and the counters above. Labels node and gpu on GPU series, so that they join; no series twice: where
 * an old and a new device have the same index, the one in service is shown. An unknown value is left out, never 0. Adds
 * to ret, which has is_failed set when memory was out. */
void berth_telemetry_metrics(struct berth_telemetry *telemetry, struct berth_core *core,
                             const struct berth_telemetry_counters *counters, uint64_t core_now_ms,
                             uint64_t boot_now_ms, struct berth_text *ret);
/* A fact was folded (berth_core_fold gave 0): feeds the histogram and the totals of the metrics page. Job times come
 * from the core, after the fold. Not for facts read back from the journal at start: totals count since the daemon
 * started. */
void berth_telemetry_seen(struct berth_telemetry *telemetry, const struct berth_core *core,
                          const struct berth_fact *fact);
#endif
