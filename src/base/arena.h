#ifndef BERTH_BASE_ARENA_H
#define BERTH_BASE_ARENA_H
/* Memory that lives as long as one pass or one batch, and goes at once. {0} is empty. Pure: malloc and free only. */
#include <stddef.h>
#include "base/cleanup.h"

struct berth_arena_block;
struct berth_arena {
	struct berth_arena_block *head; /* owned */
};

/* n zeroed bytes aligned for any type, valid until reset or fini; NULL when memory is out. */
void *berth_arena_alloc(struct berth_arena *arena, size_t n);
/* Copies; NULL s gives NULL. */
char *berth_arena_strdup(struct berth_arena *arena, const char *s);
void *berth_arena_memdup(struct berth_arena *arena, const void *data, size_t n);
/* Forget everything, keep the largest block for the next pass. */
void berth_arena_reset(struct berth_arena *arena);
void berth_arena_fini(struct berth_arena *arena);
#define BERTH_AUTO_ARENA __attribute__((cleanup(berth_arena_fini)))
#endif
