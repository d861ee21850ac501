#ifndef BERTH_CORE_TABLE_H
#define BERTH_CORE_TABLE_H
/* Where is the record with this key? A hash table from 64-bit keys to 32-bit positions: open addressing, linear
 * probing, removal by shifting back, so it holds no tombstones and a long life does not slow it down.
 */
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"

#define BERTH_TABLE_NONE UINT32_MAX

struct berth_table_cell {
	uint64_t key;   /* 0 = empty */
	uint32_t value;
};
struct berth_table { /* {0} is empty */
	struct berth_table_cell *cell; /* owned */
	size_t n_cells;                /* a power of two, at least a third of it empty */
	size_t n;
};

/* Make room for n keys more. 0, or -ENOMEM with the table unchanged. */
BERTH_MUST_USE int berth_table_reserve(struct berth_table *table, size_t n);
/* The value of a key; BERTH_TABLE_NONE when there is none. */
uint32_t berth_table_get(const struct berth_table *table, uint64_t key);
/* Add a key (not 0, not there yet), or change its value. Room was reserved. */
void berth_table_put(struct berth_table *table, uint64_t key, uint32_t value);
/* Nothing happens when the key is not there. */
void berth_table_remove(struct berth_table *table, uint64_t key);
void berth_table_fini(struct berth_table *table);
#endif
