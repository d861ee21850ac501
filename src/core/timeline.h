#ifndef BERTH_CORE_TIMELINE_H
#define BERTH_CORE_TIMELINE_H
/* A picture of the devices on which jobs are laid while the state stays as it is: what is free, when the rest comes
 * free if all run to their limit and grace, and what is kept for whom. Decisions, forecasts and dry runs work on such
 * pictures, so they agree.
 *
 * Memory comes from core->pass and lasts until the next decision or question.
 */
#include <stdbool.h>
#include "core/model.h"

struct berth_timeline_device {
	bool is_free;      /* in service, and no job has it */
	uint64_t free_ms;  /* from then on at the latest, those for whom it is kept included; UINT64_MAX = never told */
	uint64_t kept_for; /* job; 0 = not kept */
	uint64_t kept_ms;  /* that job starts on it then, at the latest */
	size_t keeper;     /* that job's number among those for whom devices are kept, in line; from 1 */
};
struct berth_timeline {
	struct berth_core *core;
	uint64_t now_ms;
	struct berth_timeline_device *device; /* by position */
	uint32_t *free_on_node;               /* by position of the node */
	size_t n_free;
};

/* The devices as they are, nothing laid or kept. 0 or -ENOMEM. */
BERTH_MUST_USE int berth_timeline_draw(struct berth_timeline *timeline, struct berth_core *core, uint64_t now_ms);

/* Let a job of this shape have the set from start_ms on. */
void berth_timeline_occupy(struct berth_timeline *timeline, const struct berth_shape *shape,
                           const struct berth_share_set *set, uint64_t start_ms);
/* The same from now on: the devices, which are free, are so no more. */
void berth_timeline_take(struct berth_timeline *timeline, const struct berth_shape *shape,
                         const struct berth_share_set *set);
/* Keep the set for a job that starts on it at start_ms; it is the keeper'th of those. A device that is kept already
 * stays kept for the first. */
void berth_timeline_keep(struct berth_timeline *timeline, const struct berth_job_rec *rec,
                         const struct berth_share_set *set, uint64_t start_ms, size_t keeper);
/* A job that is asked to stop leaves its devices by end_ms at the latest, if not before. */
void berth_timeline_hasten(struct berth_timeline *timeline, const struct berth_job *job, uint64_t end_ms);

/* Until when a job has its devices at the latest; UINT64_MAX = no limit. Always after now: one that is overdue is on
 * its way out, but its devices are not free yet. */
uint64_t berth_timeline_end_ms(const struct berth_job *job, uint64_t now_ms);
#endif
