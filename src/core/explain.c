#include <errno.h>
#include <string.h>
#include "core/check.h"
#include "core/forecast.h"
#include "core/obstacle.h"
#include "core/saturate.h"
#include "core/suggest.h"

static void add_reason(struct berth_why *why, struct berth_reason reason)
{
	if (reason.code != BERTH_REASON_NONE && why->n_reasons < BERTH_WHY_REASONS_MAX)
		why->reasons[why->n_reasons++] = reason;
}

/* A job that has been given devices, or is over. */
static void explain_other(const struct berth_job *job, struct berth_why *why)
{
	why->forecast = (struct berth_forecast){ UINT64_MAX, UINT64_MAX };
	if (job->state == BERTH_JOB_STARTING)
		add_reason(why, (struct berth_reason){ .code = BERTH_REASON_STARTING });
	else if (job->state == BERTH_JOB_STOPPING)
		add_reason(why, (struct berth_reason){ .code = BERTH_REASON_STOPPING, .a = job->stop_deadline_ms });
	else if (berth_job_state_is_final(job->state))
		add_reason(why, job->reason);
}

static void explain_devices(const struct berth_timeline *timeline, const struct berth_shape *shape,
                            struct berth_why *why)
{
	const struct berth_core *core = timeline->core;

	for (size_t i = 0; i < core->n_devices && i < BERTH_WHY_DEVICES_MAX; i++) {
		why->devices[why->n_devices++] = (struct berth_device_reason){
			.device = core->devices[i].device.id,
			.reason = berth_obstacle_of_device(timeline, shape, i),
		};
	}
}

/* Most binding first: what only a person can change, what time changes, what the others leave. */
static void explain_reasons(const struct berth_forecast_view *view, const struct berth_job_rec *rec,
                            struct berth_why *why)
{
	const struct berth_job *job = &rec->job;
	uint64_t now_ms = view->pass.timeline.now_ms;
	struct berth_reason never = { .code = BERTH_REASON_NONE };
	struct berth_reason shape = berth_obstacle_of_shape(&view->pass.timeline, rec->shape);
	struct berth_reason own = berth_obstacle_of_job(job, now_ms);

	if (job->is_cancel_asked || job->state == BERTH_JOB_HELD)
		add_reason(why, own);
	if (berth_check_request(view->pass.timeline.core, &job->asked.request, &never) < 0)
		add_reason(why, never);
	if (shape.code == BERTH_REASON_NO_DEVICES)
		add_reason(why, shape);
	if (job->asked.begin_ms > now_ms)
		add_reason(why, (struct berth_reason){ .code = BERTH_REASON_BEGIN_TIME, .a = job->asked.begin_ms });
	if (job->eligible_ms > now_ms) {
		add_reason(why, (struct berth_reason){ BERTH_REASON_BACK_OFF, job->eligible_ms, job->failures, 0 });
		add_reason(why, job->reason);
	}
	if (shape.code != BERTH_REASON_NO_DEVICES)
		add_reason(why, shape);
	/* Nothing forbids it: the next decision gives it its devices. */
	if (why->n_reasons == 0)
		add_reason(why, (struct berth_reason){ .code = BERTH_REASON_STARTING });
}

int berth_core_why(struct berth_core *core, uint64_t job, uint64_t now_ms, struct berth_why *ret)
{
	const struct berth_job_rec *rec = berth_model_job(core, job);
	struct berth_forecast_view view;
	uint64_t start_ms;
	int r;

	if (!rec)
		return -ENOENT;
	now_ms = berth_max_u64(now_ms, core->at_ms);
	r = berth_forecast_open(&view, core, now_ms, berth_forecast_place_of(&rec->job, now_ms));
	if (r < 0)
		return r;
	memset(ret, 0, sizeof(*ret));
	ret->job = job;
	explain_devices(&view.pass.timeline, rec->shape, ret);
	if (rec->job.state != BERTH_JOB_PENDING && rec->job.state != BERTH_JOB_HELD) {
		explain_other(&rec->job, ret);
		return 0;
	}
	explain_reasons(&view, rec, ret);
	start_ms = berth_forecast_start(&view, rec->shape, NULL);
	ret->forecast = berth_forecast_of(&rec->job, start_ms, now_ms);
	if (berth_obstacle_of_job(&rec->job, now_ms).code == BERTH_REASON_NONE)
		ret->n_suggestions = berth_suggest(&view, rec, start_ms, ret->suggestions);
	return 0;
}

int berth_core_try(struct berth_core *core, const struct berth_fact *fact, uint64_t now_ms,
                   struct berth_reason *ret_reason, struct berth_forecast *ret_forecast,
                   struct berth_share_set *ret_set)
{
	const struct berth_fact_submit *submit = &fact->u.submit;
	const struct berth_job job = {
		.state = submit->is_held ? BERTH_JOB_HELD : BERTH_JOB_PENDING,
		.asked = *submit,
	};
	struct berth_shape shape = { .request = submit->request, .grace_ms = submit->grace_ms };
	struct berth_forecast_view view;
	struct berth_reason obstacle;
	uint64_t start_ms;
	int r = fact->kind == BERTH_FACT_JOB_SUBMITTED ? berth_core_check(core, fact, ret_reason) : -EINVAL;

	if (r < 0)
		return r;
	now_ms = berth_max_u64(now_ms, core->at_ms);
	r = berth_forecast_open(&view, core, now_ms, (struct berth_forecast_place){ submit->tier, UINT64_MAX });
	if (r < 0)
		return r;
	/* Only a job without devices may name a model that nobody has, and for that one it does not matter. */
	shape.request.gpu_model = submit->request.gpus
	                                  ? berth_strings_find_lower(&core->strings, submit->request.gpu_model)
	                                  : "";
	start_ms = berth_forecast_start(&view, &shape, ret_set);
	*ret_forecast = berth_forecast_of(&job, start_ms, now_ms);
	obstacle = berth_obstacle_of_job(&job, now_ms);
	if (obstacle.code != BERTH_REASON_NONE)
		*ret_set = (struct berth_share_set){ 0 };
	else
		obstacle = berth_obstacle_of_shape(&view.pass.timeline, &shape);
	if (ret_reason)
		*ret_reason = obstacle;
	return 0;
}
