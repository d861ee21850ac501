#ifndef BERTH_CORE_SHAPE_H
#define BERTH_CORE_SHAPE_H
/* Request shapes: jobs that ask the same are equal to the scheduler but for their place in the queue, so it works per
 * shape. What counts as the same: devices, memory, indexes, model without case, time limit and grace (the last two say
 * how long the devices are taken). What a job without devices asks of time never matters, so those are one shape.
 */
#include <stdint.h>
#include "core/fact.h"
#include "core/pool.h"
#include "core/strings.h"
#include "core/table.h"
#include "core/tree.h"

struct berth_shape;
/* The jobs of one shape in one tier that may start now, by id. */
struct berth_queue {
	struct berth_tree waiting;
	struct berth_queue *next, *prev; /* among the queues that are not empty; see order.h */
	enum berth_tier tier;
};
struct berth_shape {
	struct berth_request request;    /* normal form; gpu_model in lower case, interned */
	uint64_t grace_ms;
	uint64_t hash;
	uint32_t slot;
	uint32_t next;                   /* slot of the next shape with the same hash; BERTH_TABLE_NONE */
	uint32_t holders;                /* jobs that have it */
	struct berth_queue queue[BERTH_TIER_COUNT];
};
struct berth_shapes {
	struct berth_pool pool;          /* of struct berth_shape */
	struct berth_table first;        /* hash to slot */
};

void berth_shapes_init(struct berth_shapes *shapes);
/* Make room for n shapes more. 0 or -ENOMEM. */
BERTH_MUST_USE int berth_shapes_reserve(struct berth_shapes *shapes, size_t n);
/* The shape of a request, with one holder more. Room for it and for the model's name was reserved. */
struct berth_shape *berth_shapes_keep(struct berth_shapes *shapes, struct berth_strings *strings,
                                      const struct berth_request *request, uint64_t grace_ms);
/* One holder less; with the last the shape goes. Its queues are empty by then. */
void berth_shapes_drop(struct berth_shapes *shapes, struct berth_strings *strings, struct berth_shape *shape);
void berth_shapes_fini(struct berth_shapes *shapes);

/* Longest that an attempt of this shape can take from its start: limit and grace, saturating; UINT64_MAX = for ever. */
uint64_t berth_shape_span_ms(const struct berth_shape *shape);
#endif
