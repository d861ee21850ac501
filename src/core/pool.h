#ifndef BERTH_CORE_POOL_H
#define BERTH_CORE_POOL_H
/* Records of one size in pages: a record never moves, its slot is a small number, and a slot given back is used again.
 *
 * A slot alone may be stale. Jobs are therefore always found by their id, which is never used twice and so does what a
 * generation number would.
 */
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"

#define BERTH_POOL_PAGE 256u

struct berth_pool {
	size_t item_bytes;    /* set by the owner; the rest starts at 0 */
	char **page;          /* owned */
	uint32_t n_pages;
	uint32_t n_used;      /* slots ever taken */
	uint32_t *given_back; /* owned; slots to take again, room for all */
	uint32_t n_given_back;
};

/* Make room for n records more. 0 or -ENOMEM. */
BERTH_MUST_USE int berth_pool_reserve(struct berth_pool *pool, size_t n);
/* The slot of a fresh, zeroed record; room was reserved. */
uint32_t berth_pool_take(struct berth_pool *pool);
void berth_pool_give(struct berth_pool *pool, uint32_t slot);
/* The record in a slot that was taken. */
void *berth_pool_at(const struct berth_pool *pool, uint32_t slot);
void berth_pool_fini(struct berth_pool *pool);
#endif
