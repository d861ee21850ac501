#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "core/stage_test.h"

void stage_open(struct stage *stage, uint32_t n)
{
	struct berth_fact fact;

	*stage = (struct stage){ .core = berth_core_new(), .now_ms = 1000000 };
	assert_non_null(stage->core);
	berth_fact_init(&fact, BERTH_FACT_NODE_SEEN);
	fact.u.node = (struct berth_fact_node){ 1, "node1" };
	assert_int_equal(stage_fold(stage, &fact), 0);
	for (uint32_t i = 0; i < n; i++)
		stage_device(stage, i + 1, 1, i, "A100-80GB", 80 * STAGE_GIB);
}

void stage_close(struct stage *stage)
{
	berth_core_free(stage->core);
}

void stage_device(struct stage *stage, uint32_t id, uint32_t node, uint32_t index, const char *model,
                  uint64_t mem_bytes)
{
	struct berth_fact fact;
	char uuid[32];

	(void)snprintf(uuid, sizeof(uuid), "GPU-%u", id);
	if (!berth_core_node(stage->core, node)) {
		berth_fact_init(&fact, BERTH_FACT_NODE_SEEN);
		fact.u.node = (struct berth_fact_node){ node, "another" };
		assert_int_equal(stage_fold(stage, &fact), 0);
	}
	berth_fact_init(&fact, BERTH_FACT_DEVICE_SEEN);
	fact.u.device = (struct berth_fact_device){ id, node, index, uuid, "gpu", model, mem_bytes };
	assert_int_equal(stage_fold(stage, &fact), 0);
}

int stage_fold(struct stage *stage, struct berth_fact *fact)
{
	fact->seq = ++stage->seq;
	fact->at_ms = stage->now_ms;
	return berth_core_fold(stage->core, fact);
}

struct berth_fact stage_submission(struct stage *stage, uint32_t gpus, uint64_t limit_ms)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_JOB_SUBMITTED);
	fact.at_ms = stage->now_ms;
	fact.u.submit.job = berth_core_next_job(stage->core);
	fact.u.submit.user = "ann";
	fact.u.submit.tier = BERTH_TIER_P2;
	fact.u.submit.request.gpus = gpus;
	fact.u.submit.request.limit_ms = limit_ms;
	return fact;
}

uint64_t stage_submit(struct stage *stage, uint32_t gpus, uint64_t limit_ms)
{
	struct berth_fact fact = stage_submission(stage, gpus, limit_ms);

	assert_int_equal(stage_fold(stage, &fact), 0);
	return fact.u.submit.job;
}

int stage_wish(struct stage *stage, enum berth_fact_kind kind, uint64_t job)
{
	struct berth_fact fact;

	berth_fact_init(&fact, kind);
	fact.u.job.job = job;
	fact.u.job.by = "ann";
	return stage_fold(stage, &fact);
}

int stage_health(struct stage *stage, uint32_t device, enum berth_health health)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_DEVICE_HEALTH);
	fact.u.health = (struct berth_fact_device_health){ device, health };
	return stage_fold(stage, &fact);
}

int stage_drain(struct stage *stage, uint32_t device, bool is_draining)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_DEVICE_DRAIN);
	fact.u.drain = (struct berth_fact_device_drain){ device, is_draining, "op", "fan" };
	return stage_fold(stage, &fact);
}

size_t stage_decide(struct stage *stage)
{
	struct berth_plan plan;

	assert_int_equal(berth_core_decide(stage->core, stage->now_ms, &plan), 0);
	assert_in_range(plan.n, 0, STAGE_PLAN_MAX);
	stage->n_plan = plan.n;
	stage->wake_ms = plan.wake_ms;
	for (size_t i = 0; i < plan.n; i++)
		stage->plan[i] = plan.facts[i];
	for (size_t i = 0; i < stage->n_plan; i++) {
		struct berth_fact line = stage->plan[i];

		assert_int_equal(stage_fold(stage, &line), 0);
	}
	return stage->n_plan;
}

void stage_settle(struct stage *stage)
{
	for (int rounds = 0; stage_decide(stage) > 0; rounds++)
		assert_in_range(rounds, 0, 10);
}

void stage_start(struct stage *stage, uint64_t job)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_ATTEMPT_STARTED);
	fact.u.started = (struct berth_fact_started){ job, stage_job(stage, job)->attempt, 4711 };
	assert_int_equal(stage_fold(stage, &fact), 0);
}

struct berth_fact stage_ending(struct stage *stage, uint64_t job)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_ATTEMPT_ENDED);
	fact.u.ended.job = job;
	fact.u.ended.attempt = stage_job(stage, job)->attempt;
	fact.u.ended.started_ms = stage_job(stage, job)->assign_ms;
	fact.u.ended.ended_ms = stage->now_ms;
	return fact;
}

void stage_end(struct stage *stage, uint64_t job, int32_t exit_code, enum berth_stop_cause cause)
{
	struct berth_fact fact = stage_ending(stage, job);

	fact.u.ended.exit_code = exit_code;
	fact.u.ended.cause = cause;
	assert_int_equal(stage_fold(stage, &fact), 0);
}

const struct berth_job *stage_job(const struct stage *stage, uint64_t job)
{
	const struct berth_job *found = berth_core_job(stage->core, job);

	assert_non_null(found);
	return found;
}

size_t stage_free(const struct stage *stage)
{
	size_t n = 0;

	for (size_t i = 0; i < berth_core_device_count(stage->core); i++)
		n += berth_core_device_at(stage->core, i)->job == 0;
	return n;
}
