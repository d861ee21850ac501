#include "core/forecast.h"
#include "core/place.h"
#include "core/saturate.h"

/* Lay those that wait ahead of `until`, in line, on the timeline. */
static int lay_waiting(struct berth_forecast_view *view, struct berth_core *core, const struct berth_job *until)
{
	const struct berth_start *start = view->pass.starts;
	struct berth_walk walk;
	size_t n = 0;
	int r = berth_walk_begin(&walk, core, &core->pass, NULL, 0);

	if (r < 0)
		return r;
	for (struct berth_job_rec *rec = berth_walk_job(&walk); rec; rec = berth_walk_job(&walk)) {
		struct berth_share_set set;
		uint64_t start_ms;

		if (!berth_order_is_before(&rec->job, until))
			return 0;
		if (start && start->rec == rec) {
			start = start->next;
		} else if (n++ == BERTH_FORECAST_JOBS_MAX) {
			view->is_too_far = true;
			return 0;
		} else if (berth_place_earliest(&view->timeline, rec->shape, &set, &start_ms)) {
			berth_timeline_occupy(&view->timeline, rec->shape, &set, start_ms);
		}
		berth_walk_next(&walk);
	}
	return 0;
}

int berth_forecast_open(struct berth_forecast_view *view, struct berth_core *core, uint64_t now_ms,
                        struct berth_forecast_place place)
{
	const struct berth_job until = { .id = place.job, .asked.tier = place.tier };
	int r;

	*view = (struct berth_forecast_view){ 0 };
	r = berth_pass_begin(&view->pass, core, now_ms);
	if (r == 0)
		r = berth_pass_run(&view->pass, NULL, 0, &until);
	if (r == 0)
		r = berth_timeline_draw(&view->timeline, core, now_ms);
	if (r < 0)
		return r;
	for (const struct berth_start *start = view->pass.starts; start; start = start->next)
		berth_timeline_occupy(&view->timeline, start->rec->shape, &start->set, now_ms);
	return lay_waiting(view, core, &until);
}

uint64_t berth_forecast_start(const struct berth_forecast_view *view, const struct berth_shape *shape,
                              struct berth_share_set *ret_set)
{
	struct berth_share_set set;
	uint64_t start_ms, kept_ms;

	if (ret_set)
		*ret_set = (struct berth_share_set){ 0 };
	if (berth_place_now(&view->pass.timeline, shape, &set)) {
		if (ret_set)
			*ret_set = set;
		return view->pass.timeline.now_ms;
	}
	if (view->is_too_far || !berth_place_earliest(&view->timeline, shape, &set, &start_ms) ||
	    !berth_place_earliest(&view->pass.timeline, shape, &set, &kept_ms))
		return UINT64_MAX;
	/* The timeline may lay those ahead on other devices than the pass keeps for them; what is kept is not to be
	 * had. */
	return berth_max_u64(start_ms, kept_ms);
}

struct berth_forecast_place berth_forecast_place_of(const struct berth_job *job, uint64_t now_ms)
{
	bool is_in_line = job->state == BERTH_JOB_PENDING && berth_order_due_ms(job) <= now_ms;

	return (struct berth_forecast_place){ job->asked.tier, is_in_line ? job->id : UINT64_MAX };
}

struct berth_forecast berth_forecast_of(const struct berth_job *job, uint64_t start_ms, uint64_t now_ms)
{
	uint64_t due_ms = berth_max_u64(berth_order_due_ms(job), now_ms);

	if (job->state != BERTH_JOB_PENDING || job->is_cancel_asked)
		return (struct berth_forecast){ UINT64_MAX, UINT64_MAX };
	return (struct berth_forecast){ due_ms, berth_max_u64(due_ms, start_ms) };
}
