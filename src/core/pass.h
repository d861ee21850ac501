#ifndef BERTH_CORE_PASS_H
#define BERTH_CORE_PASS_H
/* One look at the queue, in line: who starts now, and who keeps devices because he cannot.
 *
 * Backfill: a job that cannot start keeps the devices that it could have earliest, and those behind it pass only where
 * that does not delay it (see place.h). The state stays as it is; all happens on a timeline. Memory comes from
 * core->pass and lasts until the next decision or question.
 */
#include <stdbool.h>
#include "core/order.h"
#include "core/timeline.h"

/* So many jobs that cannot start keep devices, each the first in line of its shape. More would cost time and let nearly
 * nothing pass any more; the first of all is what EASY backfill promises (Lifka 1995). */
#define BERTH_PASS_KEEPERS_MAX 16

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
	struct berth_timeline timeline;
	struct berth_pass_shape *shape;   /* by slot */
	size_t n_keepers;
	struct berth_start *starts;       /* in order */
	struct berth_start **last_start;
};

/* Nothing looked at yet. Empties core->pass and sets the clock of the order. 0 or -ENOMEM. */
BERTH_MUST_USE int berth_pass_begin(struct berth_pass *pass, struct berth_core *core, uint64_t now_ms);

/* Start what can start, in line, and keep devices for the first that cannot.
 * extra  n jobs that stand in line too though they are in no queue.
 * until  stop before this job's place in line (itself not looked at); NULL = go to the end.
 * 0 or -ENOMEM. */
BERTH_MUST_USE int berth_pass_run(struct berth_pass *pass, struct berth_job_rec *const *extra, size_t n,
                                  const struct berth_job *until);
#endif
