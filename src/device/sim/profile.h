#ifndef BERTH_DEVICE_SIM_PROFILE_H
#define BERTH_DEVICE_SIM_PROFILE_H
/* Load profiles and injections, parsed. Grammar: sim.h. */
#include "device/sim/sim.h"

#define BERTH_SIM_PHASES_MAX 32
#define BERTH_SIM_HANG_MAX_S 3600u

struct berth_sim_phase {
	uint64_t from_ms; /* since the holder came */
	uint32_t util_permille;
	uint64_t mem_bytes;
};
struct berth_sim_profile {
	size_t n; /* at least 1; the first at 0 */
	struct berth_sim_phase phase[BERTH_SIM_PHASES_MAX];
};
/* 0 or -EINVAL with the phase that is wrong. "" is the default load of a card with card_mem_bytes. */
BERTH_MUST_USE int berth_sim_profile_parse(const char *text, uint64_t card_mem_bytes, struct berth_sim_profile *ret,
                                           struct berth_error *err);
/* The phase that holds age_ms after the holder came. */
const struct berth_sim_phase *berth_sim_profile_at(const struct berth_sim_profile *profile, uint64_t age_ms);

enum berth_sim_inject_kind {
	BERTH_SIM_INJECT_UNKNOWN = 0,
	BERTH_SIM_INJECT_UTIL,
	BERTH_SIM_INJECT_MEM,
	BERTH_SIM_INJECT_LOST,
	BERTH_SIM_INJECT_RECOVER,
	BERTH_SIM_INJECT_HANG,
};
struct berth_sim_injection {
	enum berth_sim_inject_kind kind;
	bool is_auto;   /* UTIL, MEM: back to what the loads make */
	uint64_t value; /* UTIL: permille; MEM: bytes; HANG: milliseconds */
};
/* 0 or -EINVAL. */
BERTH_MUST_USE int berth_sim_inject_parse(const char *what, struct berth_sim_injection *ret, struct berth_error *err);
#endif
