#ifndef BERTH_TELEMETRY_STATE_H
#define BERTH_TELEMETRY_STATE_H
/* What telemetry keeps; shared by its two halves, samples (telemetry.c) and the metrics page (metrics.c). */
#include "telemetry/telemetry.h"

/* One device, by UUID. */
struct berth_telemetry_device {
	char uuid[BERTH_DEVICE_UUID_MAX];
	uint64_t good_ms; /* the last good sample, or when it was first expected */
	uint32_t n_good;  /* good samples in a row, up to BERTH_TELEMETRY_OK_SAMPLES */
	bool is_lost;     /* it was told lost, or was silent too long, and is not back yet */
	bool has_sample;
	struct berth_sample last;
	int32_t util_permille[BERTH_TELEMETRY_RING]; /* -1 = unknown */
	size_t at, n;                                /* where the next goes; how many there are */
};

/* Upper ends of the histogram's buckets in seconds; the last bucket has none. */
#define BERTH_TELEMETRY_BUCKETS 12

struct berth_telemetry {
	struct berth_telemetry_device *device; /* owned */
	size_t n, cap;
	/* since the daemon started */
	uint64_t wait_bucket[BERTH_TIER_COUNT][BERTH_TELEMETRY_BUCKETS + 1]; /* each start in one of them */
	uint64_t wait_sum_ms[BERTH_TIER_COUNT];
	uint64_t n_restarts;
	uint64_t n_ended[BERTH_JOB_STATE_COUNT];
};
#endif
