#include <stdlib.h>
#include "play.h"

static bool plan_assigns(struct berth_core *core, uint64_t now_ms, uint64_t job, const struct berth_share_set *set)
{
	struct berth_plan plan;

	if (berth_core_decide(core, now_ms, &plan) < 0)
		return false;
	for (size_t i = 0; i < plan.n; i++) {
		const struct berth_fact_assigned *assigned = &plan.facts[i].u.assigned;
		bool is_same = plan.facts[i].kind == BERTH_FACT_ATTEMPT_ASSIGNED && assigned->job == job;

		for (uint32_t k = 0; is_same && set && k < set->n; k++)
			is_same = set->share[k].device == assigned->set.share[k].device;
		if (is_same)
			return !set || set->n == assigned->set.n;
	}
	return false;
}

static void law_suggestion(struct play *play, uint64_t now_ms, uint64_t job, const struct berth_suggestion *suggestion)
{
	struct berth_core *copy = play_copy(play);
	struct berth_fact fact;
	bool starts;

	berth_fact_init(&fact, BERTH_FACT_JOB_ALTERED);
	fact.at_ms = now_ms;
	fact.u.alter.job = job;
	fact.u.alter.fields = suggestion->fields;
	fact.u.alter.request = suggestion->request;
	starts = berth_core_fold(copy, &fact) == 0 && plan_assigns(copy, now_ms, job, NULL);
	hold(play, starts == (suggestion->starts_ms == now_ms), "a suggestion starts the job when it says", job);
}

static void law_why(struct play *play, uint64_t now_ms, uint64_t id)
{
	const struct berth_job *job = berth_core_job(play->core, id);
	bool is_waiting = job && (job->state == BERTH_JOB_PENDING || job->state == BERTH_JOB_HELD);
	struct berth_why why;

	if (!job)
		return;
	hold(play, berth_core_why(play->core, job->id, now_ms, &why) == 0, "why answers", job->id);
	hold(play, !is_waiting || why.n_reasons > 0, "a waiting job has a reason", job->id);
	hold(play, why.forecast.earliest_ms <= why.forecast.latest_ms, "earliest is not after latest", job->id);
	for (size_t i = 0; i < why.n_suggestions; i++) {
		hold(play, why.suggestions[i].starts_ms < why.forecast.latest_ms, "a suggestion helps", job->id);
		hold(play, i == 0 || why.suggestions[i - 1].starts_ms <= why.suggestions[i].starts_ms,
		     "the best stands first", job->id);
		law_suggestion(play, now_ms, job->id, &why.suggestions[i]);
	}
}

static void law_outlook(struct play *play, uint64_t now_ms)
{
	enum { CAP = 256 };
	static struct berth_outlook row[CAP];
	uint64_t ids[CAP];
	size_t n = berth_core_queue(play->core, now_ms, ids, CAP);
	const struct berth_job *first = oracle_first(play->core, now_ms);
	bool is_possible;

	hold(play, berth_core_outlook(play->core, now_ms, row, CAP) == (ssize_t)n, "outlook and queue list the same",
	     n);
	for (size_t i = 0; i < n && i < CAP; i++) {
		const struct berth_job *job = berth_core_job(play->core, ids[i]);

		hold(play, row[i].job == ids[i], "outlook and queue have one order", ids[i]);
		hold(play, row[i].reason.code != BERTH_REASON_NONE, "a waiting job has a first reason", ids[i]);
		hold(play, row[i].forecast.earliest_ms <= row[i].forecast.latest_ms,
		     "earliest is not after latest in the outlook", ids[i]);
		hold(play, row[i].reason.code != BERTH_REASON_PRIORITY || row[i].reason.a != ids[i],
		     "no job is behind itself", ids[i]);
		if (row[i].reason.code == BERTH_REASON_PRIORITY)
			hold(play, oracle_is_in_line(job, now_ms) && berth_core_job(play->core, row[i].reason.a),
			     "who is ahead waits", ids[i]);
		hold(play, row[i].forecast.latest_ms > now_ms, "who waits does not start now", ids[i]);
		if (first && ids[i] == first->id)
			hold(play,
			     row[i].forecast.latest_ms ==
			             oracle_start(play->core, first, now_ms, NULL, 0, &is_possible),
			     "the latest start of the first is told right", ids[i]);
	}
}

static void law_try(struct play *play, uint64_t now_ms, uint64_t pick)
{
	struct berth_forecast forecast;
	struct berth_share_set set;
	struct berth_reason reason;
	struct berth_core *copy;
	struct berth_fact fact;
	bool starts;
	int r;

	berth_fact_init(&fact, BERTH_FACT_JOB_SUBMITTED);
	fact.at_ms = now_ms;
	fact.u.submit.job = berth_core_next_job(play->core);
	fact.u.submit.tier = (enum berth_tier)(pick % BERTH_TIER_COUNT);
	fact.u.submit.request = (struct berth_request){ .gpus = (uint32_t)(pick >> 8) % 5,
		                                        .limit_ms = 1 + (pick >> 16) % 600000,
		                                        .gpu_model = pick >> 40 & 1 ? "a100-80GB" : "" };
	r = berth_core_try(play->core, &fact, now_ms, &reason, &forecast, &set);
	hold(play, r == berth_core_check(play->core, &fact, NULL), "a dry run refuses what a submit refuses", pick);
	if (r < 0)
		return;
	copy = play_copy(play);
	starts = berth_core_fold(copy, &fact) == 0 && plan_assigns(copy, now_ms, fact.u.submit.job, &set);
	hold(play, starts == (forecast.latest_ms == now_ms), "a dry run says whether it starts, and where", pick);
}

void law_answers(struct play *play, uint64_t now_ms, uint64_t job, uint64_t pick)
{
	uint64_t hash = berth_core_hash(play->core);

	law_why(play, now_ms, job);
	law_outlook(play, now_ms);
	law_try(play, now_ms, pick);
	hold(play, berth_core_hash(play->core) == hash, "questions change nothing", pick);
}
