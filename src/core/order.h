#ifndef BERTH_CORE_ORDER_H
#define BERTH_CORE_ORDER_H
/* Which job next: tiers, then submission order. A job id is its place in line, so a job that comes back keeps it.
 *
 * Every job is in at most one set, chosen by its record alone:
 *   todo    something about it must be decided: it ended, was cancelled, is to be stopped, has a new limit
 *   queue   may start now; one set per shape and tier, so a pass looks at the head of each and not at every job
 *   timed   waits for its begin time or the end of a back-off
 *   live    has an attempt
 *   done    final, by the time it became so
 * A held job is in none. The sets lie in the core (struct berth_order in model.h). Which jobs are in timed and which in
 * queues depends on the clock that the order was last set to; that is bookkeeping, no state: equal records and clocks
 * give equal sets.
 */
#include <stdbool.h>
#include "core/model.h"

/* Put a job where its record says, and count it. */
void berth_order_file(struct berth_core *core, struct berth_job_rec *rec);
/* Take it out of its set and the count. Before its record changes. */
void berth_order_unfile(struct berth_core *core, struct berth_job_rec *rec);
/* Move those whose time has come into their queues. A clock that goes back costs a look at every job. */
void berth_order_set_clock(struct berth_core *core, uint64_t now_ms);
/* From when on a waiting job may start: its begin time and back-off; 0 = at once. */
uint64_t berth_order_due_ms(const struct berth_job *job);
/* Is something about this job to be decided? */
bool berth_order_is_todo(const struct berth_core *core, const struct berth_job *job);
/* Does it hold a device that is lost? */
bool berth_order_has_lost_device(const struct berth_core *core, const struct berth_job *job);
/* Does a stand before b in line? */
bool berth_order_is_before(const struct berth_job *a, const struct berth_job *b);
/* The record that a member of a set lies in. */
struct berth_job_rec *berth_order_rec(struct berth_tree_node *node);

/* Ids of the jobs that wait (none that is cancelled), as berth_core_queue lists them: writes at most cap, returns how
 * many there are. */
size_t berth_order_list(const struct berth_core *core, uint64_t now_ms, uint64_t *ret_ids, size_t cap);

/* A walk over the jobs that may start, in order. The core must not change meanwhile.
 *   for (rec = berth_walk_job(&walk); rec; rec = berth_walk_job(&walk))
 *           started ? berth_walk_next(&walk) : berth_walk_skip(&walk);
 */
struct berth_walk {
	struct berth_job_rec **heap; /* of the arena; heads of queues, the first in line on top */
	size_t n;
};
/* extra: jobs that are in no queue but stand in line for this walk (n of them). Memory from the arena. 0 or -ENOMEM. */
BERTH_MUST_USE int berth_walk_begin(struct berth_walk *walk, struct berth_core *core, struct berth_arena *arena,
                                    struct berth_job_rec *const *extra, size_t n);
/* The first in line; NULL when there is none left. */
struct berth_job_rec *berth_walk_job(const struct berth_walk *walk);
/* Go past it: its queue goes on with the next of its shape. */
void berth_walk_next(struct berth_walk *walk);
/* Go past it and all behind it that ask the same in the same tier. */
void berth_walk_skip(struct berth_walk *walk);
#endif
