#include <errno.h>
#include "core/filter.h"
#include "core/fold.h"
#include "core/saturate.h"

/* The job whose current attempt a report is about, if that attempt is not over yet. */
static struct berth_job_rec *live_attempt(struct berth_core *core, uint64_t id, uint32_t attempt, int *ret_error)
{
	struct berth_job_rec *rec = berth_fold_job(core, id, ret_error);

	if (!rec)
		return NULL;
	*ret_error = attempt > rec->job.attempt || attempt == 0 ? -EINVAL : -ESTALE;
	return attempt == rec->job.attempt && berth_job_state_is_live(rec->job.state) ? rec : NULL;
}

/* Could the job have been given these devices? -EINVAL the set is no answer to the request, -ESTALE a device is not
 * to be had any more. */
static int check_set(const struct berth_core *core, const struct berth_job_rec *rec, const struct berth_share_set *set)
{
	bool is_to_be_had = true;
	uint32_t node = BERTH_NO_POSITION;

	if (set->n != rec->job.asked.request.gpus)
		return -EINVAL;
	for (uint32_t i = 0; i < set->n; i++) {
		const struct berth_device_rec *device = berth_model_device(core, set->share[i].device);

		if (!device || (node != BERTH_NO_POSITION && node != device->node))
			return -EINVAL;
		node = device->node;
		is_to_be_had &= device->device.job == 0 && berth_filter_is_in_service(&device->device) &&
		                berth_filter_suits(rec->shape, device, NULL);
	}
	return is_to_be_had ? 0 : -ESTALE;
}

int berth_fold_assigned(struct berth_core *core, const struct berth_fact *fact)
{
	const struct berth_fact_assigned *assigned = &fact->u.assigned;
	int error;
	struct berth_job_rec *rec = berth_fold_job(core, assigned->job, &error);

	if (!rec)
		return error;
	if (assigned->attempt > rec->job.attempt + 1 || assigned->attempt == 0)
		return -EINVAL;
	if (assigned->attempt <= rec->job.attempt || rec->job.state != BERTH_JOB_PENDING || rec->job.is_cancel_asked ||
	    berth_order_due_ms(&rec->job) > fact->at_ms)
		return -ESTALE;
	error = check_set(core, rec, &assigned->set);
	if (error < 0)
		return error;
	berth_order_unfile(core, rec);
	berth_model_take_devices(core, rec, &assigned->set, fact->at_ms);
	rec->job.state = BERTH_JOB_STARTING;
	rec->job.attempt = assigned->attempt;
	rec->job.assign_ms = fact->at_ms;
	rec->job.start_ms = 0;
	rec->job.end_ms = 0;
	rec->job.limit_told_ms = rec->job.asked.request.limit_ms;
	berth_order_file(core, rec);
	return 0;
}

int berth_fold_started(struct berth_core *core, const struct berth_fact *fact)
{
	const struct berth_fact_started *started = &fact->u.started;
	int error;
	struct berth_job_rec *rec = live_attempt(core, started->job, started->attempt, &error);

	if (!rec)
		return error;
	if (rec->job.start_ms)
		return -ESTALE;
	berth_order_unfile(core, rec);
	if (rec->job.state == BERTH_JOB_STARTING)
		rec->job.state = BERTH_JOB_RUNNING;
	rec->job.start_ms = berth_max_u64(fact->at_ms, 1);
	rec->job.pid = started->pid;
	berth_order_file(core, rec);
	return 0;
}

/* The attempt is over: its devices are free, what becomes of the job is decided next. */
static void end_attempt(struct berth_core *core, struct berth_job_rec *rec, const struct berth_fact_ended *ended,
                        uint64_t end_ms, uint64_t at_ms)
{
	berth_order_unfile(core, rec);
	berth_model_free_devices(core, rec, at_ms);
	rec->job.state = BERTH_JOB_ENDED;
	rec->job.end_ms = berth_max_u64(end_ms, 1);
	rec->job.pid = 0;
	rec->job.last = *ended;
	if (ended->how == BERTH_REASON_EXIT_CODE_UNKNOWN)
		rec->job.last.exit_code = -1;
	berth_order_file(core, rec);
}

int berth_fold_refused(struct berth_core *core, const struct berth_fact *fact)
{
	const struct berth_fact_refused *refused = &fact->u.refused;
	const struct berth_fact_ended ended = { .job = refused->job,
		                                .attempt = refused->attempt,
		                                .exit_code = -1,
		                                .how = BERTH_REASON_LAUNCH_FAILED,
		                                .error = refused->error };
	int error;
	struct berth_job_rec *rec = live_attempt(core, refused->job, refused->attempt, &error);

	if (!rec)
		return error;
	if (rec->job.start_ms)
		return -EINVAL;
	end_attempt(core, rec, &ended, fact->at_ms, fact->at_ms);
	return 0;
}

static bool is_way_to_end(enum berth_reason_code how)
{
	return how == BERTH_REASON_NONE || how == BERTH_REASON_EXIT_CODE_UNKNOWN || how == BERTH_REASON_OUT_OF_MEMORY ||
	       how == BERTH_REASON_OUTPUT_FAILED || how == BERTH_REASON_EXEC_FAILED;
}

int berth_fold_ended(struct berth_core *core, const struct berth_fact *fact)
{
	const struct berth_fact_ended *ended = &fact->u.ended;
	uint64_t end_ms = fact->at_ms;
	int error;
	struct berth_job_rec *rec = live_attempt(core, ended->job, ended->attempt, &error);

	if (!is_way_to_end(ended->how))
		return -EINVAL;
	if (!rec)
		return error;
	/* The shim's clock is the wall's, which can be stepped; it tells when things happened while the daemon was
	 * away, but never puts them outside what the core has seen. */
	if (ended->started_ms && !rec->job.start_ms)
		rec->job.start_ms = berth_min_u64(berth_max_u64(ended->started_ms, rec->job.assign_ms),
		                                  berth_max_u64(fact->at_ms, 1));
	if (ended->ended_ms)
		end_ms = berth_min_u64(
			berth_max_u64(ended->ended_ms, berth_max_u64(rec->job.start_ms, rec->job.assign_ms)),
			fact->at_ms);
	end_attempt(core, rec, ended, end_ms, fact->at_ms);
	return 0;
}

int berth_fold_stop_asked(struct berth_core *core, const struct berth_fact *fact)
{
	const struct berth_fact_stop *stop = &fact->u.stop;
	int error;
	struct berth_job_rec *rec = live_attempt(core, stop->job, stop->attempt, &error);

	if (stop->cause == BERTH_STOP_NONE)
		return -EINVAL;
	if (!rec)
		return error;
	if (rec->job.state == BERTH_JOB_STOPPING)
		return -ESTALE;
	berth_order_unfile(core, rec);
	rec->job.state = BERTH_JOB_STOPPING;
	rec->job.stop_cause = stop->cause;
	rec->job.stop_deadline_ms = stop->deadline_ms;
	berth_order_file(core, rec);
	return 0;
}

int berth_fold_limit_set(struct berth_core *core, const struct berth_fact *fact)
{
	const struct berth_fact_limit *limit = &fact->u.limit;
	int error;
	struct berth_job_rec *rec = live_attempt(core, limit->job, limit->attempt, &error);

	if (limit->limit_ms == 0)
		return -EINVAL;
	if (!rec)
		return error;
	berth_order_unfile(core, rec);
	rec->job.limit_told_ms = limit->limit_ms;
	berth_order_file(core, rec);
	return 0;
}
