#ifndef BERTH_CORE_PASS_H
#define BERTH_CORE_PASS_H
/* One look at the queue: a picture of the devices in which jobs are started and devices kept for those that wait,
 * while the state stays as it is. Decisions, forecasts and dry runs all work on such a picture, so they agree.
 *
 * Memory comes from core->pass and lasts until the next decision or question.
 */
#include <stdbool.h>
#include "core/model.h"
#include "core/order.h"

/* So many jobs that cannot start keep devices, each the first in line of its shape. More would cost time and let nearly
 * nothing pass any more; the first of all is what EASY backfill promises (Lifka 1995). */
#define BERTH_PASS_KEEPERS_MAX 16

struct berth_pass_device {
	bool is_free;      /* in service, and no job has it */
	uint64_t free_ms;  /* when it is free at the latest, those for whom it is kept included; UINT64_MAX = never told
	                    */
	uint64_t kept_for; /* job; 0 = not kept */
	uint64_t kept_ms;  /* that job starts on it then, at the latest */
	size_t keeper;     /* that job's number among those for whom devices are kept, in line; from 1 */
};
struct berth_pass_shape {
	bool is_blocked;   /* its jobs cannot start in this pass */
	uint64_t start_ms; /* the first of them starts then at the latest; 0 = not worked out */
};
struct berth_start {   /* a job that starts now */
	struct berth_job_rec *rec;
	struct berth_share_set set;
	struct berth_start *next;
};
struct berth_pass {
	struct berth_core *core;
	uint64_t now_ms;
	struct berth_pass_device *device; /* by position */
	uint32_t *free_on_node;           /* by position of the node */
	size_t n_free;
	struct berth_pass_shape *shape;   /* by slot */
	size_t n_keepers;
	struct berth_start *starts;       /* in order */
	struct berth_start **last_start;
};

/* The picture as it is now. Empties core->pass and sets the clock of the order. 0 or -ENOMEM. */
BERTH_MUST_USE int berth_pass_begin(struct berth_pass *pass, struct berth_core *core, uint64_t now_ms);

/* A second picture beside the one begun before, nothing started or kept in it. 0 or -ENOMEM. */
BERTH_MUST_USE int berth_pass_draw(struct berth_pass *pass, struct berth_core *core, uint64_t now_ms);

/* Start what can start, in line, and keep devices for the first that cannot.
 * extra  n jobs that stand in line too though they are in no queue.
 * until  stop before this job's place in line (itself not looked at); NULL = go to the end.
 * 0 or -ENOMEM. */
BERTH_MUST_USE int berth_pass_run(struct berth_pass *pass, struct berth_job_rec *const *extra, size_t n,
                                  const struct berth_job *until);

/* Let a job of this shape have the set from start_ms on, in the picture. */
void berth_pass_occupy(struct berth_pass *pass, const struct berth_shape *shape, const struct berth_share_set *set,
                       uint64_t start_ms);

/* A job that is asked to stop leaves its devices by end_ms at the latest, if not before. */
void berth_pass_hasten(struct berth_pass *pass, const struct berth_job *job, uint64_t end_ms);

/* Until when a job has its devices at the latest; UINT64_MAX = no limit. Always after now: one that is overdue is on
 * its way out, but its devices are not free yet. */
uint64_t berth_pass_end_ms(const struct berth_job *job, uint64_t now_ms);
#endif
