#include <errno.h>
#include <string.h>
#include "core/pool.h"

static int add_page(struct berth_pool *pool)
{
	size_t n = (size_t)pool->n_pages + 1;
	char **page;
	uint32_t *given_back;

	if (n >= UINT32_MAX / BERTH_POOL_PAGE)
		return -ENOMEM;
	page = realloc(pool->page, n * sizeof(*page));
	if (!page)
		return -ENOMEM;
	pool->page = page;
	given_back = realloc(pool->given_back, n * BERTH_POOL_PAGE * sizeof(*given_back));
	if (!given_back)
		return -ENOMEM;
	pool->given_back = given_back;
	page[n - 1] = malloc(BERTH_POOL_PAGE * pool->item_bytes);
	if (!page[n - 1])
		return -ENOMEM;
	pool->n_pages++;
	return 0;
}

int berth_pool_reserve(struct berth_pool *pool, size_t n)
{
	while ((size_t)pool->n_pages * BERTH_POOL_PAGE - pool->n_used + pool->n_given_back < n) {
		int r = add_page(pool);

		if (r < 0)
			return r;
	}
	return 0;
}

uint32_t berth_pool_take(struct berth_pool *pool)
{
	uint32_t slot = pool->n_given_back ? pool->given_back[--pool->n_given_back] : pool->n_used++;

	memset(berth_pool_at(pool, slot), 0, pool->item_bytes);
	return slot;
}

void berth_pool_give(struct berth_pool *pool, uint32_t slot)
{
	pool->given_back[pool->n_given_back++] = slot;
}

void *berth_pool_at(const struct berth_pool *pool, uint32_t slot)
{
	return pool->page[slot / BERTH_POOL_PAGE] + (slot % BERTH_POOL_PAGE) * pool->item_bytes;
}

void berth_pool_fini(struct berth_pool *pool)
{
	for (uint32_t i = 0; i < pool->n_pages; i++)
		free(pool->page[i]);
	free(pool->page);
	free(pool->given_back);
	*pool = (struct berth_pool){ .item_bytes = pool->item_bytes };
}
