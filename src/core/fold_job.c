#include <errno.h>
#include "core/fold.h"
#include "core/outcome.h"
#include "core/saturate.h"

struct berth_job_rec *berth_fold_job(struct berth_core *core, uint64_t id, int *ret_error)
{
	struct berth_job_rec *rec = berth_model_job(core, id);

	if (!rec)
		*ret_error = id > 0 && id < core->next_job ? -ESTALE : -EINVAL;
	return rec;
}

bool berth_fold_is_request(const struct berth_request *request)
{
	return request->limit_ms > 0 && request->gpus <= BERTH_NODE_DEVICES_MAX;
}

bool berth_fold_is_alter(const struct berth_fact_alter *alter)
{
	if (alter->fields == 0 || (alter->fields & ~(uint32_t)BERTH_ALTER_ALL))
		return false;
	if ((alter->fields & BERTH_ALTER_LIMIT) && alter->request.limit_ms == 0)
		return false;
	return !(alter->fields & BERTH_ALTER_GPUS) || alter->request.gpus <= BERTH_NODE_DEVICES_MAX;
}

void berth_fold_apply_request(struct berth_request *request, const struct berth_fact_alter *alter)
{
	if (alter->fields & BERTH_ALTER_LIMIT)
		request->limit_ms = alter->request.limit_ms;
	if (alter->fields & BERTH_ALTER_GPUS)
		request->gpus = alter->request.gpus;
	if (alter->fields & BERTH_ALTER_GPU_MEM)
		request->gpu_mem_bytes = alter->request.gpu_mem_bytes;
	if (alter->fields & BERTH_ALTER_INDEX)
		request->index_mask = alter->request.index_mask;
	if (alter->fields & BERTH_ALTER_MODEL)
		request->gpu_model = alter->request.gpu_model;
}

static bool is_waiting(const struct berth_job *job)
{
	return job->state == BERTH_JOB_PENDING || job->state == BERTH_JOB_HELD;
}

int berth_fold_submitted(struct berth_core *core, const struct berth_fact *fact)
{
	const struct berth_fact_submit *submit = &fact->u.submit;
	struct berth_job_rec *rec;

	if (submit->job < core->next_job || submit->job == UINT64_MAX || !berth_fold_is_request(&submit->request))
		return -EINVAL;
	rec = berth_model_add_job(core, submit);
	rec->job.state = submit->is_held ? BERTH_JOB_HELD : BERTH_JOB_PENDING;
	rec->job.submit_ms = fact->at_ms;
	rec->job.last.exit_code = -1;
	berth_order_file(core, rec);
	return 0;
}

int berth_fold_cancel_asked(struct berth_core *core, const struct berth_fact *fact)
{
	int error;
	struct berth_job_rec *rec = berth_fold_job(core, fact->u.job.job, &error);

	if (!rec)
		return error;
	if (rec->job.is_cancel_asked || berth_job_state_is_final(rec->job.state))
		return -ESTALE;
	berth_order_unfile(core, rec);
	rec->job.is_cancel_asked = true;
	berth_order_file(core, rec);
	return 0;
}

static int change_waiting(struct berth_core *core, uint64_t id, enum berth_job_state from, enum berth_job_state to)
{
	int error;
	struct berth_job_rec *rec = berth_fold_job(core, id, &error);

	if (!rec)
		return error;
	if (rec->job.state != from || rec->job.is_cancel_asked)
		return -ESTALE;
	berth_order_unfile(core, rec);
	rec->job.state = to;
	berth_order_file(core, rec);
	return 0;
}

int berth_fold_held(struct berth_core *core, const struct berth_fact *fact)
{
	return change_waiting(core, fact->u.job.job, BERTH_JOB_PENDING, BERTH_JOB_HELD);
}

int berth_fold_released(struct berth_core *core, const struct berth_fact *fact)
{
	return change_waiting(core, fact->u.job.job, BERTH_JOB_HELD, BERTH_JOB_PENDING);
}

static void alter_job(struct berth_core *core, struct berth_job_rec *rec, const struct berth_fact_alter *alter)
{
	struct berth_fact_submit *asked = &rec->job.asked;
	struct berth_request altered = asked->request;

	if (alter->fields & BERTH_ALTER_NAME)
		berth_model_set_string(core, &asked->name, alter->name);
	if (alter->fields & BERTH_ALTER_TIER)
		asked->tier = alter->tier;
	if (alter->fields & BERTH_ALTER_BEGIN)
		asked->begin_ms = alter->begin_ms;
	if (alter->fields & BERTH_ALTER_GRACE)
		asked->grace_ms = alter->grace_ms;
	if (alter->fields & BERTH_ALTER_REQUEUE)
		asked->requeue_max = alter->requeue_max;
	berth_fold_apply_request(&altered, alter);
	berth_model_set_string(core, &asked->request.gpu_model, altered.gpu_model);
	altered.gpu_model = asked->request.gpu_model;
	asked->request = altered;
	berth_model_reshape_job(core, rec);
}

int berth_fold_altered(struct berth_core *core, const struct berth_fact *fact)
{
	const struct berth_fact_alter *alter = &fact->u.alter;
	int error;
	struct berth_job_rec *rec = berth_fold_job(core, alter->job, &error);

	if (!berth_fold_is_alter(alter))
		return -EINVAL;
	if (!rec)
		return error;
	if (berth_job_state_is_final(rec->job.state) ||
	    (!is_waiting(&rec->job) && (alter->fields & BERTH_ALTER_WAITING_ONLY)))
		return -ESTALE;
	berth_order_unfile(core, rec);
	alter_job(core, rec, alter);
	berth_order_file(core, rec);
	return 0;
}

/* The record of the attempt stays for people to see until the next one; what was asked about it is answered. */
static void back_to_queue(struct berth_job *job, struct berth_reason reason)
{
	job->state = BERTH_JOB_PENDING;
	if (job->start_ms)
		job->restarts = berth_count_up(job->restarts);
	job->is_requeue_asked = false;
	job->is_cancel_asked = false;
	job->stop_cause = BERTH_STOP_NONE;
	job->stop_deadline_ms = 0;
	job->finish_ms = 0;
	job->reason = reason;
}

int berth_fold_requeue_asked(struct berth_core *core, const struct berth_fact *fact)
{
	int error;
	struct berth_job_rec *rec = berth_fold_job(core, fact->u.job.job, &error);

	if (!rec)
		return error;
	if (is_waiting(&rec->job) || rec->job.is_requeue_asked)
		return -ESTALE;
	berth_order_unfile(core, rec);
	if (berth_job_state_is_final(rec->job.state)) {
		back_to_queue(&rec->job, (struct berth_reason){ .code = BERTH_REASON_REQUEUED });
		rec->job.failures = 0;
		rec->job.requeues_used = 0;
		rec->job.eligible_ms = 0;
	} else {
		rec->job.is_requeue_asked = true;
	}
	berth_order_file(core, rec);
	return 0;
}

int berth_fold_requeued(struct berth_core *core, const struct berth_fact *fact)
{
	const struct berth_fact_requeued *requeued = &fact->u.requeued;
	int error;
	struct berth_job_rec *rec = berth_fold_job(core, requeued->job, &error);

	if (!rec)
		return error;
	if (rec->job.state != BERTH_JOB_ENDED)
		return -ESTALE;
	berth_order_unfile(core, rec);
	back_to_queue(&rec->job, requeued->reason);
	rec->job.eligible_ms = requeued->eligible_ms;
	rec->job.failures = requeued->failures;
	if (berth_outcome_is_failure(requeued->reason.code))
		rec->job.requeues_used = berth_count_up(rec->job.requeues_used);
	berth_order_file(core, rec);
	return 0;
}

int berth_fold_finished(struct berth_core *core, const struct berth_fact *fact)
{
	const struct berth_fact_finished *finished = &fact->u.finished;
	int error;
	struct berth_job_rec *rec = berth_fold_job(core, finished->job, &error);
	bool is_cancelled_waiting;

	if (!berth_job_state_is_final(finished->state))
		return -EINVAL;
	if (!rec)
		return error;
	is_cancelled_waiting = is_waiting(&rec->job) && rec->job.is_cancel_asked &&
	                       finished->state == BERTH_JOB_CANCELLED;
	if (rec->job.state != BERTH_JOB_ENDED && !is_cancelled_waiting)
		return -ESTALE;
	berth_order_unfile(core, rec);
	if (is_cancelled_waiting) {
		/* It ended without running: times and exit code of an attempt before are not those of its end. */
		rec->job.assign_ms = 0;
		rec->job.start_ms = 0;
		rec->job.end_ms = berth_max_u64(fact->at_ms, 1);
		rec->job.last = (struct berth_fact_ended){
			.job = rec->job.id, .attempt = rec->job.attempt, .exit_code = -1
		};
	}
	rec->job.state = finished->state;
	rec->job.reason = finished->reason;
	rec->job.finish_ms = berth_max_u64(fact->at_ms, 1);
	berth_order_file(core, rec);
	return 0;
}

int berth_fold_forgotten(struct berth_core *core, const struct berth_fact *fact)
{
	int error;
	struct berth_job_rec *rec = berth_fold_job(core, fact->u.job.job, &error);

	if (!rec)
		return error;
	if (!berth_job_state_is_final(rec->job.state))
		return -ESTALE;
	berth_order_unfile(core, rec);
	berth_model_remove_job(core, rec);
	return 0;
}

/* Can the record have come out of this fold? Foreign ones must not break what everything here relies on. */
static bool is_possible_image(const struct berth_core *core, const struct berth_job *image)
{
	bool is_live = berth_job_state_is_live(image->state);

	if (image->id < core->next_job || image->id == UINT64_MAX || image->state == BERTH_JOB_UNKNOWN ||
	    image->attempt > UINT32_MAX / 2 || !berth_fold_is_request(&image->asked.request))
		return false;
	if (is_live ? image->attempt == 0 || image->set.n != image->asked.request.gpus : image->set.n != 0)
		return false;
	for (uint32_t i = 0; i < image->set.n; i++) {
		const struct berth_device_rec *device = berth_model_device(core, image->set.share[i].device);

		if (!device || device->device.job)
			return false;
	}
	return true;
}

int berth_fold_image(struct berth_core *core, const struct berth_fact *fact)
{
	const struct berth_job *image = &fact->u.image;
	struct berth_fact_submit asked = image->asked;
	struct berth_job_rec *rec;

	if (!is_possible_image(core, image))
		return -EINVAL;
	asked.job = image->id;
	rec = berth_model_add_job(core, &asked);
	asked = rec->job.asked;
	rec->job = *image;
	rec->job.asked = asked;
	rec->job.last.job = image->id;
	berth_model_take_devices(core, rec, &image->set, image->assign_ms);
	berth_order_file(core, rec);
	return 0;
}
