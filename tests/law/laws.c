#include <stdlib.h>
#include <string.h>
#include "play.h"

static void law_holders(struct play *play)
{
	for (size_t i = 0; i < berth_core_device_count(play->core); i++) {
		const struct berth_device *device = berth_core_device_at(play->core, i);
		const struct berth_job *job = berth_core_job(play->core, device->job);
		bool is_in_set = false;

		if (device->job == 0)
			continue;
		hold(play, job && berth_job_state_is_live(job->state), "a device is held by a live attempt or free",
		     device->id);
		for (uint32_t k = 0; k < job->set.n; k++)
			is_in_set |= job->set.share[k].device == device->id;
		hold(play, is_in_set, "the holder of a device has it in its set", device->id);
	}
}

static void law_job(struct play *play, const struct berth_job *job)
{
	const struct shadow *shadow = play_shadow(play, job->id);
	bool is_live = berth_job_state_is_live(job->state);

	hold(play, job->set.n == (is_live ? job->asked.request.gpus : 0),
	     "a live attempt has what it asked, others nothing", job->id);
	for (uint32_t k = 0; k < job->set.n; k++) {
		const struct berth_device *device = berth_core_device(play->core, job->set.share[k].device);

		hold(play, device && device->job == job->id, "no device is given to two attempts", job->id);
		hold(play, k == 0 || job->set.share[k - 1].device < job->set.share[k].device, "sets ascend", job->id);
	}
	hold(play, !shadow->is_forgotten, "no id is used twice", job->id);
	hold(play, job->id < berth_core_next_job(play->core), "the next id is above all", job->id);
	if (play->is_hostile)
		return;
	hold(play, !berth_job_state_is_final(job->state) == !job->finish_ms, "a final job knows when it became so",
	     job->id);
	hold(play, job->attempt > 0 || job->start_ms == 0, "what never was assigned never started", job->id);
	hold(play, !play->is_false_law || job->state != BERTH_JOB_COMPLETED, "no job is ever completed", job->id);
}

static void law_counts(struct play *play, size_t (*count)[BERTH_TIER_COUNT])
{
	for (unsigned state = 0; state < BERTH_JOB_STATE_COUNT; state++) {
		for (unsigned tier = 0; tier < BERTH_TIER_COUNT; tier++)
			hold(play, berth_core_count_in(play->core, state, tier) == count[state][tier],
			     "jobs are counted", state);
	}
}

void law_state(struct play *play)
{
	size_t count[BERTH_JOB_STATE_COUNT][BERTH_TIER_COUNT] = { 0 };
	uint64_t before = 0;

	law_holders(play);
	for (size_t i = 0; i < berth_core_job_count(play->core); i++) {
		const struct berth_job *job = berth_core_job_at(play->core, i);

		hold(play, job->id > before, "jobs are listed by id", job->id);
		hold(play, job == berth_core_job(play->core, job->id), "a job is found by its id", job->id);
		before = job->id;
		count[job->state][job->asked.tier]++;
		law_job(play, job);
	}
	law_counts(play, count);
	hold(play, berth_core_next_job(play->core) >= play->next_job, "the next id never falls", play->next_job);
	play->next_job = berth_core_next_job(play->core);
}

/* --- one fact ------------------------------------------------------------------------------------------------- */

static void law_assigned(struct play *play, const struct berth_fact *fact, const struct berth_job *before)
{
	const struct berth_share_set *set = &fact->u.assigned.set;
	uint32_t node = 0;

	hold(play, before->state == BERTH_JOB_PENDING && !before->is_cancel_asked, "only waiting jobs are assigned",
	     before->id);
	hold(play, oracle_is_in_line(before, fact->at_ms), "no job is assigned before its time", before->id);
	hold(play, fact->u.assigned.attempt == before->attempt + 1, "attempts count up by one", before->id);
	for (uint32_t i = 0; i < set->n; i++) {
		const struct berth_device *device = berth_core_device(play->core, set->share[i].device);

		hold(play, oracle_suits(before, device), "assigned devices suit", before->id);
		hold(play, device->health == BERTH_HEALTH_OK && !device->is_draining, "assigned devices are in service",
		     before->id);
		hold(play, i == 0 || device->node == node, "an attempt is on one node", before->id);
		node = device->node;
	}
}

static void law_finished(struct play *play, const struct berth_fact *fact, const struct berth_job *before,
                         const struct shadow *shadow)
{
	const struct berth_fact_ended *ended = &shadow->ended;
	bool is_zero = ended->how == BERTH_REASON_NONE && ended->exit_code == 0 && ended->signal == 0;
	enum berth_job_state state = fact->u.finished.state;

	if (before->state != BERTH_JOB_ENDED) {
		hold(play, shadow->is_cancelled && state == BERTH_JOB_CANCELLED, "a waiting job only ends cancelled",
		     before->id);
		return;
	}
	if (state == BERTH_JOB_COMPLETED)
		hold(play, is_zero && ended->attempt == before->attempt, "only exit code 0 completes", before->id);
	hold(play, (state == BERTH_JOB_TIMEOUT) == (ended->cause == BERTH_STOP_LIMIT),
	     "the limit and only it is TIMEOUT", before->id);
	if (state == BERTH_JOB_CANCELLED)
		hold(play, shadow->is_cancelled || ended->cause == BERTH_STOP_CANCEL,
		     "only the cancelled are CANCELLED", before->id);
}

static void law_decision(struct play *play, const struct berth_fact *fact, const struct berth_job *before,
                         struct shadow *shadow)
{
	switch (fact->kind) {
	case BERTH_FACT_ATTEMPT_ASSIGNED:
		hold(play, !shadow->is_cancelled, "a cancelled job never runs again", before->id);
		break;
	case BERTH_FACT_STOP_ASKED:
		hold(play, shadow->stopped_attempt != fact->u.stop.attempt, "no attempt is asked twice to stop",
		     before->id);
		hold(play, fact->u.stop.deadline_ms - fact->at_ms == before->asked.grace_ms, "a stop gives its grace",
		     before->id);
		shadow->stopped_attempt = fact->u.stop.attempt;
		break;
	case BERTH_FACT_JOB_FINISHED:
		law_finished(play, fact, before, shadow);
		break;
	case BERTH_FACT_JOB_REQUEUED:
		hold(play, !shadow->is_cancelled, "a cancelled job is not requeued", before->id);
		hold(play,
		     before->requeues_used <= before->asked.requeue_max ||
		             fact->u.requeued.reason.code != BERTH_REASON_EXIT_CODE,
		     "failures are repeated as often as allowed", before->id);
		break;
	default:
		break;
	}
}

static void remember(struct play *play, const struct berth_fact *fact, const struct berth_job *after,
                     struct shadow *shadow)
{
	if (fact->kind == BERTH_FACT_JOB_CANCEL_ASKED)
		shadow->is_cancelled = true;
	if (fact->kind == BERTH_FACT_JOB_REQUEUE_ASKED && berth_job_state_is_final(shadow->state))
		shadow->is_cancelled = false;
	if (fact->kind == BERTH_FACT_ATTEMPT_ENDED)
		shadow->ended = fact->u.ended;
	if (fact->kind == BERTH_FACT_ATTEMPT_REFUSED)
		shadow->ended = (struct berth_fact_ended){ .attempt = fact->u.refused.attempt, .exit_code = -1,
			                                   .how = BERTH_REASON_LAUNCH_FAILED };
	if (shadow->is_seen && !after)
		shadow->is_forgotten = true;
	if (!after)
		return;
	hold(play, after->attempt >= shadow->attempt, "attempts ascend", after->id);
	shadow->is_seen = true;
	shadow->attempt = after->attempt;
	shadow->state = after->state;
}

void law_fold(struct play *play, const struct berth_fact *fact, int r, const struct berth_job *before)
{
	const struct berth_job *after = berth_core_job(play->core, before->id);
	struct shadow *shadow = play_shadow(play, before->id);

	if (r != 0 || before->id == 0)
		return;
	if (shadow->is_seen && berth_job_state_is_final(shadow->state) && after && after->state != shadow->state)
		hold(play, fact->kind == BERTH_FACT_JOB_REQUEUE_ASKED && after->state == BERTH_JOB_PENDING,
		     "a final state changes only by requeue", before->id);
	if (fact->kind == BERTH_FACT_ATTEMPT_ASSIGNED)
		law_assigned(play, fact, before);
	if (!play->is_hostile)
		law_decision(play, fact, before, shadow);
	remember(play, fact, after, shadow);
}

/* --- a plan --------------------------------------------------------------------------------------------------- */

static bool is_behind(const struct berth_job *a, const struct berth_job *b)
{
	return a->asked.tier != b->asked.tier ? a->asked.tier > b->asked.tier : a->id > b->id;
}

/* EASY: what was let past the first that waits does not make it wait longer. */
static void law_backfill(struct play *play, const struct berth_fact *plan, size_t n, uint64_t now_ms,
                         const struct berth_job *first)
{
	uint64_t *passed = calloc(n + 1, sizeof(*passed));
	size_t n_passed = 0;
	uint64_t with_ms, without_ms;
	bool is_possible;

	for (size_t i = 0; i < n; i++) {
		const struct berth_job *job = berth_core_job(play->core, plan[i].u.assigned.job);

		if (plan[i].kind == BERTH_FACT_ATTEMPT_ASSIGNED && job && is_behind(job, first))
			passed[n_passed++] = job->id;
	}
	with_ms = oracle_start(play->core, first, now_ms, NULL, 0, &is_possible);
	without_ms = oracle_start(play->core, first, now_ms, passed, n_passed, &is_possible);
	free(passed);
	hold(play, with_ms <= without_ms, "who is let past delays nobody", first->id);
}

void law_plan(struct play *play, const struct berth_fact *plan, size_t n, uint64_t now_ms)
{
	const struct berth_job *first = oracle_first(play->core, now_ms);

	for (size_t i = 0; i < berth_core_job_count(play->core); i++) {
		const struct berth_job *job = berth_core_job_at(play->core, i);

		hold(play, job->asked.request.gpus > 0 || !oracle_is_in_line(job, now_ms),
		     "who needs no device never waits", job->id);
	}
	if (!first)
		return;
	law_backfill(play, plan, n, now_ms, first);
	for (uint32_t node = 1; node < 30; node++) {
		uint32_t n_free = 0;

		for (size_t i = 0; i < berth_core_device_count(play->core); i++) {
			const struct berth_device *device = berth_core_device_at(play->core, i);

			n_free += device->node == node && !device->job && device->health == BERTH_HEALTH_OK &&
			          !device->is_draining && oracle_suits(first, device);
		}
		hold(play, n_free < first->asked.request.gpus, "the first in line starts when it fits", first->id);
	}
}

/* Nobody is slept through: not a begin time, not the end of a back-off, not a job to be forgotten. */
void law_wake(struct play *play, uint64_t now_ms, uint64_t wake_ms)
{
	uint64_t retain_ms = berth_core_policy(play->core)->retain_ms;

	for (size_t i = 0; i < berth_core_job_count(play->core); i++) {
		const struct berth_job *job = berth_core_job_at(play->core, i);
		uint64_t due_ms = job->asked.begin_ms > job->eligible_ms ? job->asked.begin_ms : job->eligible_ms;

		if (job->state == BERTH_JOB_PENDING && due_ms > now_ms)
			hold(play, wake_ms <= due_ms, "it wakes when a job's time comes", job->id);
		if (berth_job_state_is_final(job->state) && retain_ms < UINT64_MAX - job->finish_ms)
			hold(play, wake_ms <= job->finish_ms + retain_ms, "it wakes to forget a job", job->id);
	}
}
