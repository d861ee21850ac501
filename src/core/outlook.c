#include <errno.h>
#include "core/forecast.h"
#include "core/obstacle.h"
#include "core/place.h"
#include "core/saturate.h"

/* The whole queue at once: one pass, then the jobs in line are laid on one timeline, and each reason is worked out once
 * per shape. */
struct outlook {
	struct berth_forecast_view view;
	const struct berth_start *start;  /* the next of those that start now */
	struct berth_reason *by_shape;    /* code NONE = not worked out yet */
};

size_t berth_core_queue(const struct berth_core *core, uint64_t now_ms, uint64_t *ret_ids, size_t cap)
{
	return berth_order_list(core, berth_max_u64(now_ms, core->at_ms), ret_ids, cap);
}

static struct berth_reason reason_of(struct outlook *outlook, const struct berth_job_rec *rec)
{
	struct berth_reason *cached = &outlook->by_shape[rec->shape->slot];
	struct berth_reason own = berth_obstacle_of_job(&rec->job, outlook->view.pass.timeline.now_ms);

	if (own.code != BERTH_REASON_NONE)
		return own;
	if (cached->code == BERTH_REASON_NONE)
		*cached = berth_obstacle_of_shape(&outlook->view.pass.timeline, rec->shape);
	return *cached;
}

/* Its latest start behind all looked at before; it is laid there itself when it stands in line. */
static uint64_t lay(struct outlook *outlook, const struct berth_job_rec *rec)
{
	struct berth_share_set set;
	uint64_t start_ms;

	if (!berth_place_earliest(&outlook->view.timeline, rec->shape, &set, &start_ms))
		return UINT64_MAX;
	if (berth_obstacle_of_job(&rec->job, outlook->view.pass.timeline.now_ms).code == BERTH_REASON_NONE)
		berth_timeline_occupy(&outlook->view.timeline, rec->shape, &set, start_ms);
	/* It was not let start now, whatever the timeline leaves: so not before what the pass worked out. */
	return berth_max_u64(start_ms, berth_max_u64(outlook->view.pass.shape[rec->shape->slot].start_ms,
	                                             berth_add_sat(outlook->view.pass.timeline.now_ms, 1)));
}

static struct berth_outlook look(struct outlook *outlook, const struct berth_job_rec *rec, bool is_near)
{
	uint64_t now_ms = outlook->view.pass.timeline.now_ms;
	struct berth_outlook row = { .job = rec->job.id };

	if (outlook->start && outlook->start->rec == rec) {
		outlook->start = outlook->start->next;
		row.reason.code = BERTH_REASON_STARTING;
		row.forecast = (struct berth_forecast){ now_ms, now_ms };
		return row;
	}
	row.reason = reason_of(outlook, rec);
	row.forecast = berth_forecast_of(&rec->job, is_near ? lay(outlook, rec) : UINT64_MAX, now_ms);
	return row;
}

static int open_outlook(struct outlook *outlook, struct berth_core *core, uint64_t now_ms)
{
	int r = berth_pass_begin(&outlook->view.pass, core, now_ms);

	if (r == 0)
		r = berth_pass_run(&outlook->view.pass, NULL, 0, NULL);
	if (r == 0)
		r = berth_timeline_draw(&outlook->view.timeline, core, now_ms);
	if (r < 0)
		return r;
	for (const struct berth_start *start = outlook->view.pass.starts; start; start = start->next)
		berth_timeline_occupy(&outlook->view.timeline, start->rec->shape, &start->set, now_ms);
	outlook->start = outlook->view.pass.starts;
	outlook->by_shape = berth_arena_alloc(&core->pass,
	                                      ((size_t)core->shapes.pool.n_used + 1) * sizeof(*outlook->by_shape));
	return outlook->by_shape ? 0 : -ENOMEM;
}

ssize_t berth_core_outlook(struct berth_core *core, uint64_t now_ms, struct berth_outlook *ret, size_t cap)
{
	struct outlook outlook = { 0 };
	uint64_t *list;
	size_t n;
	int r;

	now_ms = berth_max_u64(now_ms, core->at_ms);
	r = open_outlook(&outlook, core, now_ms);
	if (r < 0)
		return r;
	if (cap > core->n_jobs)
		cap = core->n_jobs;
	list = berth_arena_alloc(&core->pass, (cap + 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	n = berth_order_list(core, now_ms, list, cap);
	for (size_t i = 0; i < n && i < cap; i++)
		ret[i] = look(&outlook, berth_model_job(core, list[i]), i < BERTH_FORECAST_JOBS_MAX);
	return (ssize_t)n;
}
