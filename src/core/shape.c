#include <string.h>
#include "base/hash.h"
#include "core/saturate.h"
#include "core/shape.h"

void berth_shapes_init(struct berth_shapes *shapes)
{
	*shapes = (struct berth_shapes){ .pool.item_bytes = sizeof(struct berth_shape) };
}

int berth_shapes_reserve(struct berth_shapes *shapes, size_t n)
{
	int r = berth_pool_reserve(&shapes->pool, n);

	return r < 0 ? r : berth_table_reserve(&shapes->first, n);
}

static struct berth_shape normal_form(const struct berth_request *request, uint64_t grace_ms, const char *model)
{
	struct berth_shape shape = { .request = *request, .grace_ms = grace_ms };

	shape.request.gpu_model = model;
	if (request->gpus == 0) {
		shape.request = (struct berth_request){ .limit_ms = UINT64_MAX, .gpu_model = "" };
		shape.grace_ms = 0;
	}
	return shape;
}

/* Never 0, which is no key. The model counts by its text, so that equal histories give equal tables everywhere. */
static uint64_t hash_of(const struct berth_shape *shape)
{
	const struct berth_request *request = &shape->request;
	const uint64_t numbers[] = { request->gpus, request->gpu_mem_bytes, request->index_mask, request->limit_ms,
	                            shape->grace_ms };
	uint64_t h = berth_hash_bytes(BERTH_HASH_SEED, numbers, sizeof(numbers));

	h = berth_hash_bytes(h, request->gpu_model, strlen(request->gpu_model));
	return h ? h : 1;
}

static bool is_same(const struct berth_shape *a, const struct berth_shape *b)
{
	return a->request.gpus == b->request.gpus && a->request.gpu_mem_bytes == b->request.gpu_mem_bytes &&
	       a->request.index_mask == b->request.index_mask && a->request.limit_ms == b->request.limit_ms &&
	       a->grace_ms == b->grace_ms && a->request.gpu_model == b->request.gpu_model;
}

static struct berth_shape *add(struct berth_shapes *shapes, const struct berth_shape *shape)
{
	uint32_t slot = berth_pool_take(&shapes->pool);
	struct berth_shape *added = berth_pool_at(&shapes->pool, slot);

	*added = *shape;
	added->slot = slot;
	added->next = berth_table_get(&shapes->first, shape->hash);
	for (unsigned tier = 0; tier < BERTH_TIER_COUNT; tier++)
		added->queue[tier].tier = (enum berth_tier)tier;
	berth_table_put(&shapes->first, shape->hash, slot);
	return added;
}

struct berth_shape *berth_shapes_keep(struct berth_shapes *shapes, struct berth_strings *strings,
                                      const struct berth_request *request, uint64_t grace_ms)
{
	const char *model = request->gpus ? berth_strings_keep_lower(strings, request->gpu_model) : "";
	struct berth_shape wanted = normal_form(request, grace_ms, model);
	uint32_t slot;

	wanted.hash = hash_of(&wanted);
	slot = berth_table_get(&shapes->first, wanted.hash);
	while (slot != BERTH_TABLE_NONE) {
		struct berth_shape *shape = berth_pool_at(&shapes->pool, slot);

		if (is_same(shape, &wanted)) {
			berth_strings_drop(strings, model);
			shape->holders++;
			return shape;
		}
		slot = shape->next;
	}
	wanted.holders = 1;
	return add(shapes, &wanted);
}

void berth_shapes_drop(struct berth_shapes *shapes, struct berth_strings *strings, struct berth_shape *shape)
{
	uint32_t first;

	if (--shape->holders > 0)
		return;
	berth_strings_drop(strings, shape->request.gpu_model);
	first = berth_table_get(&shapes->first, shape->hash);
	if (first != shape->slot) {
		struct berth_shape *before = berth_pool_at(&shapes->pool, first);

		while (before->next != shape->slot)
			before = berth_pool_at(&shapes->pool, before->next);
		before->next = shape->next;
	} else if (shape->next != BERTH_TABLE_NONE) {
		berth_table_put(&shapes->first, shape->hash, shape->next);
	} else {
		berth_table_remove(&shapes->first, shape->hash);
	}
	berth_pool_give(&shapes->pool, shape->slot);
}

void berth_shapes_fini(struct berth_shapes *shapes)
{
	berth_pool_fini(&shapes->pool);
	berth_table_fini(&shapes->first);
}

uint64_t berth_shape_span_ms(const struct berth_shape *shape)
{
	return berth_add_sat(shape->request.limit_ms, shape->grace_ms);
}
