#include "daemon/core_clock.h"

void berth_core_clock_init(struct berth_core_clock *clock, uint64_t wall_ms, uint64_t boot_ms)
{
	*clock = (struct berth_core_clock){.anchor_ms = wall_ms, .boot_ms = boot_ms};
}

uint64_t berth_core_clock_at(const struct berth_core_clock *clock, uint64_t boot_ms)
{
	return boot_ms < clock->boot_ms ? clock->anchor_ms : clock->anchor_ms + (boot_ms - clock->boot_ms);
}

void berth_core_clock_raise(struct berth_core_clock *clock, uint64_t floor_ms, uint64_t boot_ms)
{
	uint64_t now_ms = berth_core_clock_at(clock, boot_ms);

	if (now_ms < floor_ms)
		clock->anchor_ms += floor_ms - now_ms;
}

uint64_t berth_core_clock_to_boot(const struct berth_core_clock *clock, uint64_t core_ms)
{
	uint64_t left_ms;

	if (core_ms == UINT64_MAX)
		return UINT64_MAX;
	if (core_ms <= clock->anchor_ms)
		return clock->boot_ms;
	left_ms = core_ms - clock->anchor_ms;
	return left_ms > UINT64_MAX - clock->boot_ms ? UINT64_MAX : clock->boot_ms + left_ms;
}

int64_t berth_core_clock_drift(const struct berth_core_clock *clock, uint64_t wall_ms, uint64_t boot_ms)
{
	return (int64_t)(wall_ms - berth_core_clock_at(clock, boot_ms));
}
