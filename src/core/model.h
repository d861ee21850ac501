#ifndef BERTH_CORE_MODEL_H
#define BERTH_CORE_MODEL_H
/* The state: records in arrays, found by id. Only the fold changes it; everybody else reads.
 *
 * Jobs are found by id (never used twice), devices and nodes by id or by position in the arrays here. Positions are not
 * ids: ids may have holes.
 */
#include <stdbool.h>
#include "base/arena.h"
#include "core/core.h"
#include "core/pool.h"
#include "core/shape.h"
#include "core/strings.h"
#include "core/table.h"
#include "core/tree.h"

#define BERTH_NO_POSITION UINT32_MAX

struct berth_job_rec {
	struct berth_job job;        /* strings interned, set and last_set valid */
	struct berth_shape *shape;   /* of job.asked, held */
	struct berth_tree_node link; /* in one of the order's sets */
	uint32_t slot;
};
struct berth_device_rec {
	struct berth_device device;
	const char *model_lower;     /* interned; compares with a shape's */
	uint32_t node;               /* position */
	uint32_t next_on_node;       /* position of the next device by id on its node; BERTH_NO_POSITION */
};
struct berth_node_rec {
	struct berth_node node;
	uint32_t first_device;       /* position; BERTH_NO_POSITION */
};

/* Sets of jobs that await something, kept by order.h; each job is in one of them at most. */
struct berth_order { /* {0} is empty */
	struct berth_tree todo, timed, live, done;
	struct berth_queue *active[BERTH_TIER_COUNT]; /* queues that are not empty */
	size_t n_active;
	uint64_t clock_ms;
};

struct berth_core {
	struct berth_fact_policy policy;
	uint64_t seq, at_ms;
	uint64_t next_job;
	uint32_t next_device;
	struct berth_strings strings;

	struct berth_pool jobs;            /* of struct berth_job_rec */
	struct berth_table job_slot;       /* by id */
	uint32_t *by_id;                   /* owned; slots of all jobs in id order, from first_by_id, n_jobs of them */
	size_t first_by_id, n_jobs, cap_by_id;
	size_t count[BERTH_JOB_STATE_COUNT][BERTH_TIER_COUNT];

	struct berth_shapes shapes;
	struct berth_order order;

	struct berth_device_rec *devices;  /* owned; by id */
	size_t n_devices, cap_devices;
	struct berth_table device_at;      /* id to position */
	struct berth_table device_by_uuid; /* address of the interned uuid to position */
	struct berth_node_rec *nodes;      /* owned; by id */
	size_t n_nodes, cap_nodes;

	struct berth_arena pass;           /* of the decision or question at work */
	struct berth_fact *plan;           /* owned; of the last decision */
	size_t n_plan, cap_plan;
};

/* NULL when there is none. */
struct berth_job_rec *berth_model_job(const struct berth_core *core, uint64_t id);
/* By position in id order, i < core->n_jobs. */
struct berth_job_rec *berth_model_job_at(const struct berth_core *core, size_t i);
struct berth_device_rec *berth_model_device(const struct berth_core *core, uint32_t id);
struct berth_node_rec *berth_model_node(const struct berth_core *core, uint32_t id);

/* Room for n records more of a kind. 0 or -ENOMEM. */
BERTH_MUST_USE int berth_model_reserve_jobs(struct berth_core *core, size_t n);
BERTH_MUST_USE int berth_model_reserve_devices(struct berth_core *core, size_t n);
BERTH_MUST_USE int berth_model_reserve_nodes(struct berth_core *core, size_t n);

/* A new job behind all others: id is at least next_job, which moves past it. Strings of asked are interned, the shape
 * is kept; it is in no set of the order and not counted yet. Room was reserved. */
struct berth_job_rec *berth_model_add_job(struct berth_core *core, const struct berth_fact_submit *asked);
/* Take it out of all tables and give up its strings and shape. */
void berth_model_remove_job(struct berth_core *core, struct berth_job_rec *rec);
/* The shape for what the job asks now; the old one is given up. It is in no set of the order meanwhile. */
void berth_model_reshape_job(struct berth_core *core, struct berth_job_rec *rec);

/* A new device or node with a new id; node of the device is known. Room was reserved. */
struct berth_device_rec *berth_model_add_device(struct berth_core *core, const struct berth_fact_device *seen);
struct berth_node_rec *berth_model_add_node(struct berth_core *core, uint32_t id);
/* Hang the device under the node at this position, taking it from where it hung. */
void berth_model_move_device(struct berth_core *core, struct berth_device_rec *rec, uint32_t node);

/* Let the job hold the devices of its set, or free them (its set becomes last_set). The set is checked before. */
void berth_model_take_devices(struct berth_core *core, struct berth_job_rec *rec, const struct berth_share_set *set,
                              uint64_t at_ms);
void berth_model_free_devices(struct berth_core *core, struct berth_job_rec *rec, uint64_t at_ms);

/* Replace an interned string (from the same core) by another; room for it was reserved. */
void berth_model_set_string(struct berth_core *core, const char **at, const char *s);
#endif
