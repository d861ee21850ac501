#ifndef BERTH_DAEMON_CORE_CLOCK_H
#define BERTH_DAEMON_CORE_CLOCK_H
/* The core clock: the one time by which the daemon decides.
 *
 * Milliseconds since 1970 UTC, read from CLOCK_BOOTTIME and anchored to the wall clock once, at start. So it runs
 * through suspend and never steps: when somebody sets the machine's date a day ahead or back, no job is over its limit
 * at once, no back-off ends early and no elapsed time becomes negative. What people see keeps the old anchor until the
 * daemon is started again; `berth doctor` says so.
 *
 * It never stands behind the journal: when the date was set back between two runs of the daemon, the clock goes on from
 * the last fact's time instead of the date, so that time never falls along the journal.
 */
#include <stdint.h>

struct berth_core_clock {
	uint64_t anchor_ms; /* core time at boot_ms */
	uint64_t boot_ms;   /* CLOCK_BOOTTIME when anchored */
};

/* Anchor: it is wall_ms (since 1970) now, boot_ms by CLOCK_BOOTTIME. */
void berth_core_clock_init(struct berth_core_clock *clock, uint64_t wall_ms, uint64_t boot_ms);
/* The core time at boot_ms, which is never before the anchoring. */
uint64_t berth_core_clock_at(const struct berth_core_clock *clock, uint64_t boot_ms);
/* Make sure that the clock shows at least floor_ms at boot_ms: moves the anchor ahead, never back. */
void berth_core_clock_raise(struct berth_core_clock *clock, uint64_t floor_ms, uint64_t boot_ms);
/* The CLOCK_BOOTTIME at which the core clock will show core_ms; UINT64_MAX for UINT64_MAX (never); the anchoring for a
 * past before it. */
uint64_t berth_core_clock_to_boot(const struct berth_core_clock *clock, uint64_t core_ms);
/* How far the wall clock has gone from the core clock: wall - core in ms, negative when the wall is behind. */
int64_t berth_core_clock_drift(const struct berth_core_clock *clock, uint64_t wall_ms, uint64_t boot_ms);
#endif
