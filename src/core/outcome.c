#include "core/outcome.h"
#include "core/saturate.h"

/* A launch that fails at once would be tried thousands of times a second without a least pause, whatever the policy. */
#define PAUSE_MIN_MS 1000u

/* A lost device of the last attempt: its id; 0 = none that is still lost. */
static uint32_t lost_device(const struct berth_core *core, const struct berth_job *job)
{
	for (uint32_t i = 0; i < job->last_set.n; i++) {
		const struct berth_device_rec *rec = berth_model_device(core, job->last_set.share[i].device);

		if (rec && rec->device.health == BERTH_HEALTH_LOST)
			return rec->device.id;
	}
	return 0;
}

static bool is_exit_zero(const struct berth_fact_ended *end)
{
	return end->how == BERTH_REASON_NONE && end->signal == 0 && end->exit_code == 0;
}

static struct berth_reason how_it_ended(const struct berth_fact_ended *end)
{
	struct berth_reason reason = { .code = end->how, .a = (uint64_t)(uint32_t)end->error };

	if (end->how != BERTH_REASON_NONE)
		return reason;
	if (end->signal != 0)
		return (struct berth_reason){ .code = BERTH_REASON_SIGNALED, .a = (uint64_t)(uint32_t)end->signal };
	if (end->exit_code < 0)
		return (struct berth_reason){ .code = BERTH_REASON_EXIT_CODE_UNKNOWN };
	if (end->exit_code > 0)
		return (struct berth_reason){ .code = BERTH_REASON_EXIT_CODE, .a = (uint64_t)(uint32_t)end->exit_code };
	return (struct berth_reason){ .code = BERTH_REASON_NONE };
}

bool berth_outcome_is_failure(enum berth_reason_code code)
{
	return code == BERTH_REASON_EXIT_CODE || code == BERTH_REASON_SIGNALED ||
	       code == BERTH_REASON_EXIT_CODE_UNKNOWN;
}

static void finish(struct berth_fact *ret, const struct berth_job *job, enum berth_job_state state,
                   struct berth_reason reason)
{
	berth_fact_init(ret, BERTH_FACT_JOB_FINISHED);
	ret->u.finished = (struct berth_fact_finished){ .job = job->id, .state = state, .reason = reason };
}

/* Nothing failed: back at once. */
static void run_again(struct berth_fact *ret, const struct berth_job *job, struct berth_reason reason)
{
	berth_fact_init(ret, BERTH_FACT_JOB_REQUEUED);
	ret->u.requeued = (struct berth_fact_requeued){ .job = job->id, .reason = reason };
}

/* The pause before the next try after so many failures in a row: doubles from the first to the longest. */
static uint64_t pause_ms(const struct berth_fact_policy *policy, uint32_t failures)
{
	uint64_t pause = berth_max_u64(policy->backoff_first_ms, PAUSE_MIN_MS);
	uint64_t longest = berth_max_u64(policy->backoff_max_ms, PAUSE_MIN_MS);

	for (uint32_t i = 1; i < failures && pause < longest; i++)
		pause = berth_add_sat(pause, pause);
	return berth_min_u64(pause, longest);
}

static void run_again_later(const struct berth_core *core, struct berth_fact *ret, const struct berth_job *job,
                            uint64_t now_ms, struct berth_reason reason)
{
	run_again(ret, job, reason);
	ret->u.requeued.failures = berth_count_up(job->failures);
	ret->u.requeued.eligible_ms = berth_add_sat(now_ms, pause_ms(&core->policy, ret->u.requeued.failures));
}

/* Why it was interrupted though nothing is wrong with it; NONE = it was not. */
static struct berth_reason interruption(const struct berth_core *core, const struct berth_job *job)
{
	const struct berth_fact_ended *end = &job->last;
	uint32_t lost = lost_device(core, job);

	if (job->is_requeue_asked || end->cause == BERTH_STOP_REQUEUE)
		return (struct berth_reason){ .code = BERTH_REASON_REQUEUED };
	if (end->cause == BERTH_STOP_PREEMPT)
		return (struct berth_reason){ .code = BERTH_REASON_PREEMPTED };
	/* A job whose device went away mostly dies of it before anybody asks it to stop. */
	if (end->cause == BERTH_STOP_DEVICE_LOST || ((lost || job->stop_cause == BERTH_STOP_DEVICE_LOST) &&
	                                             !is_exit_zero(end) && end->how != BERTH_REASON_LAUNCH_FAILED))
		return (struct berth_reason){ .code = BERTH_REASON_DEVICE_FAILED, .a = lost };
	return (struct berth_reason){ .code = BERTH_REASON_NONE };
}

static bool is_cancelled(const struct berth_job *job, struct berth_reason interrupted)
{
	const struct berth_fact_ended *end = &job->last;
	bool is_by_itself = end->cause == BERTH_STOP_NONE && end->how != BERTH_REASON_LAUNCH_FAILED &&
	                    how_it_ended(end).code != BERTH_REASON_EXIT_CODE_UNKNOWN &&
	                    interrupted.code != BERTH_REASON_DEVICE_FAILED;

	return end->cause == BERTH_STOP_CANCEL || (job->is_cancel_asked && !is_by_itself);
}

void berth_outcome_decide(const struct berth_core *core, const struct berth_job *job, uint64_t now_ms,
                          struct berth_fact *ret)
{
	const struct berth_fact_ended *end = &job->last;
	struct berth_reason reason = how_it_ended(end);
	struct berth_reason interrupted = interruption(core, job);

	if (end->cause == BERTH_STOP_LIMIT)
		finish(ret, job, BERTH_JOB_TIMEOUT,
		       (struct berth_reason){ .code = BERTH_REASON_TIME_LIMIT, .a = job->limit_told_ms});
	else if (is_cancelled(job, interrupted))
		finish(ret, job, BERTH_JOB_CANCELLED, (struct berth_reason){ .code = BERTH_REASON_CANCELLED });
	else if (interrupted.code != BERTH_REASON_NONE && !job->is_cancel_asked && !(end->is_done && is_exit_zero(end)))
		run_again(ret, job, interrupted);
	else if (end->how == BERTH_REASON_LAUNCH_FAILED)
		run_again_later(core, ret, job, now_ms, reason);
	else if (end->how == BERTH_REASON_OUT_OF_MEMORY)
		finish(ret, job, BERTH_JOB_OUT_OF_MEMORY, reason);
	else if (end->how == BERTH_REASON_OUTPUT_FAILED || end->how == BERTH_REASON_EXEC_FAILED)
		finish(ret, job, BERTH_JOB_FAILED, reason);
	else if (is_exit_zero(end))
		finish(ret, job, BERTH_JOB_COMPLETED, reason);
	else if (!job->is_cancel_asked && job->requeues_used < job->asked.requeue_max)
		run_again_later(core, ret, job, now_ms, reason);
	else
		finish(ret, job, BERTH_JOB_FAILED, reason);
	ret->at_ms = now_ms;
}
