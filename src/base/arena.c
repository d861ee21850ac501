#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

/* The first block is small, since many arenas hold a few names; each next one is twice the last, up to a limit at which
 * doubling would only waste memory. */
#define FIRST_BYTES ((size_t)4096)
#define GROW_LIMIT_BYTES ((size_t)1024 * 1024)

struct berth_arena_block {
	struct berth_arena_block *next;
	size_t cap;
	size_t used;
	alignas(max_align_t) unsigned char data[];
};

static struct berth_arena_block *block_new(const struct berth_arena_block *last, size_t n)
{
	size_t cap = last ? last->cap * 2 : FIRST_BYTES;
	struct berth_arena_block *block;

	if (cap > GROW_LIMIT_BYTES)
		cap = GROW_LIMIT_BYTES;
	if (cap < n)
		cap = n;
	block = malloc(sizeof(*block) + cap);
	if (!block)
		return NULL;
	block->next = NULL;
	block->cap = cap;
	block->used = 0;
	return block;
}

void *berth_arena_alloc(struct berth_arena *arena, size_t n)
{
	const size_t align = alignof(max_align_t);
	struct berth_arena_block *block = arena->head;
	void *at;

	if (n > PTRDIFF_MAX - align) /* no object in C is larger */
		return NULL;
	n = n == 0 ? align : (n + align - 1) / align * align;
	if (!block || block->cap - block->used < n) {
		block = block_new(arena->head, n);
		if (!block)
			return NULL;
		block->next = arena->head;
		arena->head = block;
	}
	at = block->data + block->used;
	block->used += n;
	return memset(at, 0, n);
}

char *berth_arena_strdup(struct berth_arena *arena, const char *s)
{
	return s ? berth_arena_memdup(arena, s, strlen(s) + 1) : NULL;
}

void *berth_arena_memdup(struct berth_arena *arena, const void *data, size_t n)
{
	void *copy = berth_arena_alloc(arena, n);

	return copy && n > 0 ? memcpy(copy, data, n) : copy;
}

void berth_arena_reset(struct berth_arena *arena)
{
	struct berth_arena_block *kept = NULL;
	struct berth_arena_block *next;

	for (struct berth_arena_block *block = arena->head; block; block = next) {
		next = block->next;
		if (kept && kept->cap >= block->cap) {
			free(block);
		} else {
			free(kept);
			kept = block;
		}
	}
	if (kept) {
		kept->next = NULL;
		kept->used = 0;
	}
	arena->head = kept;
}

void berth_arena_fini(struct berth_arena *arena)
{
	berth_arena_reset(arena);
	free(arena->head);
	arena->head = NULL;
}
