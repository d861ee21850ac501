#include <errno.h>
#include <string.h>
#include "core/model.h"
#include "core/order.h"
#include "core/outcome.h"
#include "core/pass.h"
#include "core/saturate.h"

struct decision {
	struct berth_core *core;
	struct berth_pass pass;
	uint64_t now_ms;
	uint64_t wake_ms;
	struct berth_job_rec **again; /* of the pass: requeued by this plan, in line for it at once */
	size_t n_again;
};

static struct berth_fact *add_line(struct decision *decision, enum berth_fact_kind kind)
{
	struct berth_core *core = decision->core;
	struct berth_fact *line;

	if (core->n_plan == core->cap_plan) {
		size_t cap = core->cap_plan ? core->cap_plan * 2 : 64;
		struct berth_fact *grown = realloc(core->plan, cap * sizeof(*grown));

		if (!grown)
			return NULL;
		core->plan = grown;
		core->cap_plan = cap;
	}
	line = &core->plan[core->n_plan++];
	berth_fact_init(line, kind);
	line->at_ms = decision->now_ms;
	return line;
}

static void wake_at(struct decision *decision, uint64_t at_ms)
{
	decision->wake_ms = berth_min_u64(decision->wake_ms, at_ms);
}

static int decide_end(struct decision *decision, struct berth_job_rec *rec)
{
	struct berth_fact *line = add_line(decision, BERTH_FACT_UNKNOWN);

	if (!line)
		return -ENOMEM;
	berth_outcome_decide(decision->core, &rec->job, decision->now_ms, line);
	if (line->kind == BERTH_FACT_JOB_FINISHED)
		wake_at(decision, berth_add_sat(decision->now_ms, decision->core->policy.retain_ms));
	else if (berth_max_u64(line->u.requeued.eligible_ms, rec->job.asked.begin_ms) <= decision->now_ms)
		decision->again[decision->n_again++] = rec;
	else
		wake_at(decision, berth_max_u64(line->u.requeued.eligible_ms, rec->job.asked.begin_ms));
	return 0;
}

static int decide_waiting_cancel(struct decision *decision, const struct berth_job *job)
{
	struct berth_fact *line = add_line(decision, BERTH_FACT_JOB_FINISHED);

	if (!line)
		return -ENOMEM;
	line->u.finished = (struct berth_fact_finished){ .job = job->id, .state = BERTH_JOB_CANCELLED,
		                                         .reason.code = BERTH_REASON_CANCELLED };
	wake_at(decision, berth_add_sat(decision->now_ms, decision->core->policy.retain_ms));
	return 0;
}

/* What a person asks comes before what happened to a device: a cancelled job is not to run again. */
static enum berth_stop_cause stop_cause(const struct berth_job *job)
{
	if (job->is_cancel_asked)
		return BERTH_STOP_CANCEL;
	return job->is_requeue_asked ? BERTH_STOP_REQUEUE : BERTH_STOP_DEVICE_LOST;
}

static int decide_live(struct decision *decision, const struct berth_job *job)
{
	bool is_asked = job->is_cancel_asked || job->is_requeue_asked;
	struct berth_fact *line;

	/* Only its limit changed: the stop, if any, is the other reason to be here. */
	if (!is_asked && job->state == BERTH_JOB_RUNNING && job->limit_told_ms != job->asked.request.limit_ms &&
	    !berth_order_has_lost_device(decision->core, job)) {
		line = add_line(decision, BERTH_FACT_LIMIT_SET);
		if (!line)
			return -ENOMEM;
		line->u.limit = (struct berth_fact_limit){ job->id, job->attempt, job->asked.request.limit_ms };
		return 0;
	}
	line = add_line(decision, BERTH_FACT_STOP_ASKED);
	if (!line)
		return -ENOMEM;
	line->u.stop = (struct berth_fact_stop){
		.job = job->id,
		.attempt = job->attempt,
		.cause = stop_cause(job),
		.deadline_ms = berth_add_sat(decision->now_ms, job->asked.grace_ms),
	};
	berth_timeline_hasten(&decision->pass.timeline, job, line->u.stop.deadline_ms);
	return 0;
}

static int decide_todo(struct decision *decision)
{
	struct berth_core *core = decision->core;

	decision->again = berth_arena_alloc(&core->pass, (core->order.todo.n + 1) * sizeof(struct berth_job_rec *));
	if (!decision->again)
		return -ENOMEM;
	for (struct berth_tree_node *node = core->order.todo.first; node; node = berth_tree_next(node)) {
		struct berth_job_rec *rec = berth_order_rec(node);
		int r;

		if (rec->job.state == BERTH_JOB_ENDED)
			r = decide_end(decision, rec);
		else if (berth_job_state_is_live(rec->job.state))
			r = decide_live(decision, &rec->job);
		else
			r = decide_waiting_cancel(decision, &rec->job);
		if (r < 0)
			return r;
	}
	return 0;
}

static int decide_starts(struct decision *decision)
{
	int r = berth_pass_run(&decision->pass, decision->again, decision->n_again, NULL);

	if (r < 0)
		return r;
	for (const struct berth_start *start = decision->pass.starts; start; start = start->next) {
		struct berth_fact *line = add_line(decision, BERTH_FACT_ATTEMPT_ASSIGNED);

		if (!line)
			return -ENOMEM;
		line->u.assigned.job = start->rec->job.id;
		line->u.assigned.attempt = start->rec->job.attempt + 1;
		line->u.assigned.set = start->set;
	}
	return 0;
}

static int decide_forgotten(struct decision *decision)
{
	const struct berth_core *core = decision->core;

	for (struct berth_tree_node *node = core->order.done.first; node; node = berth_tree_next(node)) {
		uint64_t until_ms = berth_add_sat(node->key, core->policy.retain_ms);
		struct berth_fact *line;

		if (until_ms > decision->now_ms) {
			wake_at(decision, until_ms);
			break;
		}
		line = add_line(decision, BERTH_FACT_JOB_FORGOTTEN);
		if (!line)
			return -ENOMEM;
		line->u.job.job = node->id;
	}
	return 0;
}

int berth_core_decide(struct berth_core *core, uint64_t now_ms, struct berth_plan *ret)
{
	struct decision decision = {
		.core = core,
		.now_ms = berth_max_u64(now_ms, core->at_ms),
		.wake_ms = UINT64_MAX,
	};
	int r = berth_pass_begin(&decision.pass, core, decision.now_ms);

	core->n_plan = 0;
	if (r == 0)
		r = decide_todo(&decision);
	if (r == 0)
		r = decide_starts(&decision);
	if (r == 0)
		r = decide_forgotten(&decision);
	if (r < 0)
		return r;
	if (core->order.timed.first)
		wake_at(&decision, core->order.timed.first->key);
	*ret = (struct berth_plan){ .facts = core->plan, .n = core->n_plan, .wake_ms = decision.wake_ms };
	return 0;
}
