#ifndef BERTH_STORE_FACT_COPY_H
#define BERTH_STORE_FACT_COPY_H
/* Facts copied whole, strings included, so that they outlive their maker. Text that is no UTF-8 is cleaned on the way
 * (store/clean.h). */
#include "base/arena.h"
#include "core/fact.h"

/* Strings copied lately: a snapshot of many jobs shares a few users, models and specifications. {0} is empty; valid for
 * one arena, and only while the originals live unchanged. */
#define BERTH_COPY_SLOTS 1024
struct berth_copy_memory {
	const char *from[BERTH_COPY_SLOTS];
	const char *to[BERTH_COPY_SLOTS];
};

/* Copy from into ret, its strings into arena. memory may be NULL. 0 or -ENOMEM. */
BERTH_MUST_USE int berth_fact_copy(struct berth_fact *ret, const struct berth_fact *from, struct berth_arena *arena,
                                   struct berth_copy_memory *memory);
#endif
