#ifndef BERTH_CORE_SATURATE_H
#define BERTH_CORE_SATURATE_H
/* Sums of times and sizes that stop at the top: UINT64_MAX means "never" or "unlimited" everywhere in the core, and a
 * hostile or absurd number may make a job wait for ever but never wraps round into the past.
 */
#include <stdint.h>

static inline uint64_t berth_add_sat(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline uint32_t berth_count_up(uint32_t n)
{
	return n == UINT32_MAX ? n : n + 1;
}

static inline uint64_t berth_min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t berth_max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}
#endif
