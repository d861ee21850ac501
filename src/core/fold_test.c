#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include "core/stage_test.h"

static void test_kinds_and_enumerations_that_are_none(void **state)
{
	struct berth_fact fact;
	struct stage stage;
	uint64_t hash;

	stage_open(&stage, 1);
	hash = berth_core_hash(stage.core);
	berth_fact_init(&fact, BERTH_FACT_UNKNOWN);
	assert_int_equal(stage_fold(&stage, &fact), -EINVAL);
	berth_fact_init(&fact, (enum berth_fact_kind)BERTH_FACT_COUNT);
	assert_int_equal(stage_fold(&stage, &fact), -EINVAL);
	fact = stage_submission(&stage, 1, STAGE_MINUTE);
	fact.u.submit.tier = BERTH_TIER_COUNT;
	assert_int_equal(stage_fold(&stage, &fact), -EINVAL);
	fact = stage_submission(&stage, 1, STAGE_MINUTE);
	fact.u.submit.name = NULL;
	assert_int_equal(stage_fold(&stage, &fact), -EINVAL);
	assert_int_equal(stage_health(&stage, 1, BERTH_HEALTH_COUNT), -EINVAL);
	assert_int_equal(berth_core_hash(stage.core), hash);
	stage_close(&stage);
}

static void test_time_and_number_never_fall(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 1);
	fact = stage_submission(&stage, 1, STAGE_MINUTE);
	fact.seq = stage.seq + 1;
	fact.at_ms = stage.now_ms - 1;
	assert_int_equal(berth_core_fold(stage.core, &fact), -EINVAL);
	fact.at_ms = stage.now_ms + 5;
	fact.seq = stage.seq - 1;
	assert_int_equal(berth_core_fold(stage.core, &fact), -EINVAL);
	fact.seq = stage.seq + 1;
	assert_int_equal(berth_core_fold(stage.core, &fact), 0);
	assert_int_equal(berth_core_seq(stage.core), stage.seq + 1);
	assert_int_equal(berth_core_at_ms(stage.core), stage.now_ms + 5);
	stage_close(&stage);
}

static void test_a_stale_fact_moves_the_number_only(void **state)
{
	struct stage stage;
	uint64_t hash;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	hash = berth_core_hash(stage.core);
	stage.now_ms += 10;
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_RELEASED, 1), -ESTALE);
	assert_int_equal(berth_core_hash(stage.core), hash);
	assert_int_equal(berth_core_seq(stage.core), stage.seq);
	assert_int_equal(berth_core_at_ms(stage.core), stage.now_ms);
	stage_close(&stage);
}

static int submit_with(struct stage *stage, uint64_t id, uint32_t gpus, uint64_t limit_ms)
{
	struct berth_fact fact = stage_submission(stage, gpus, limit_ms);

	fact.u.submit.job = id;
	return stage_fold(stage, &fact);
}

static void test_ids_are_never_used_twice(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 1);
	assert_int_equal(submit_with(&stage, 0, 1, 1), -EINVAL);
	assert_int_equal(submit_with(&stage, 5, 1, 1), 0); /* ids may have holes */
	assert_int_equal(submit_with(&stage, 5, 1, 1), -EINVAL);
	assert_int_equal(submit_with(&stage, 4, 1, 1), -EINVAL);
	assert_int_equal(submit_with(&stage, UINT64_MAX, 1, 1), -EINVAL);
	assert_int_equal(berth_core_next_job(stage.core), 6);
	berth_fact_init(&fact, BERTH_FACT_COUNTERS);
	fact.u.counters = (struct berth_fact_counters){ 100, 50 };
	assert_int_equal(stage_fold(&stage, &fact), 0);
	fact.u.counters = (struct berth_fact_counters){ 1, 1 };
	assert_int_equal(stage_fold(&stage, &fact), 0);
	assert_int_equal(berth_core_next_job(stage.core), 100);
	assert_int_equal(berth_core_next_device(stage.core), 50);
	assert_int_equal(submit_with(&stage, 99, 1, 1), -EINVAL);
	stage_close(&stage);
}

static void test_impossible_numbers_are_refused(void **state)
{
	struct stage stage;

	stage_open(&stage, 1);
	assert_int_equal(submit_with(&stage, 1, 1, 0), -EINVAL); /* a limit of 0 would kill at once */
	assert_int_equal(submit_with(&stage, 1, BERTH_NODE_DEVICES_MAX + 1, 1), -EINVAL);
	assert_int_equal(submit_with(&stage, 1, BERTH_NODE_DEVICES_MAX, 1), 0);
	stage_close(&stage);
}

/* --- attempts -------------------------------------------------------------------------------------------------- */

static int started(struct stage *stage, uint64_t job, uint32_t attempt)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_ATTEMPT_STARTED);
	fact.u.started = (struct berth_fact_started){ job, attempt, 5 };
	return stage_fold(stage, &fact);
}

static int ended(struct stage *stage, uint64_t job, uint32_t attempt)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_ATTEMPT_ENDED);
	fact.u.ended = (struct berth_fact_ended){ .job = job, .attempt = attempt };
	return stage_fold(stage, &fact);
}

static int refused(struct stage *stage, uint64_t job, uint32_t attempt)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_ATTEMPT_REFUSED);
	fact.u.refused = (struct berth_fact_refused){ job, attempt, ENOSPC };
	return stage_fold(stage, &fact);
}

static void test_reports_about_what_never_was(void **state)
{
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	assert_int_equal(started(&stage, 1, 1), -EINVAL);
	assert_int_equal(ended(&stage, 1, 0), -EINVAL);
	assert_int_equal(ended(&stage, 2, 1), -EINVAL);
	assert_int_equal(ended(&stage, 0, 1), -EINVAL);
	assert_int_equal(refused(&stage, 1, 1), -EINVAL);
	stage_settle(&stage);
	assert_int_equal(ended(&stage, 1, 2), -EINVAL);
	stage_close(&stage);
}

static void test_reports_come_late_and_twice(void **state)
{
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	assert_int_equal(started(&stage, 1, 1), 0);
	assert_int_equal(started(&stage, 1, 1), -ESTALE);
	assert_int_equal(refused(&stage, 1, 1), -EINVAL); /* it runs: it was not refused */
	assert_int_equal(ended(&stage, 1, 1), 0);
	assert_int_equal(ended(&stage, 1, 1), -ESTALE);
	assert_int_equal(started(&stage, 1, 1), -ESTALE);
	stage_settle(&stage);
	assert_int_equal(ended(&stage, 1, 1), -ESTALE);
	stage_close(&stage);
}

static void test_reports_about_the_forgotten(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	stage_end(&stage, 1, 0, BERTH_STOP_NONE);
	stage_settle(&stage);
	berth_fact_init(&fact, BERTH_FACT_JOB_FORGOTTEN);
	fact.u.job.job = 1;
	assert_int_equal(stage_fold(&stage, &fact), 0);
	assert_null(berth_core_job(stage.core, 1));
	assert_int_equal(ended(&stage, 1, 1), -ESTALE);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_CANCEL_ASKED, 1), -ESTALE);
	assert_int_equal(stage_fold(&stage, &fact), -ESTALE);
	stage_close(&stage);
}

/* Everything about an attempt that came to nothing is undone: all of its devices come back. */
static void test_a_refused_launch_frees_all_devices(void **state)
{
	struct stage stage;

	stage_open(&stage, 8);
	stage_submit(&stage, 4, STAGE_MINUTE);
	stage_settle(&stage);
	assert_int_equal(stage_free(&stage), 4);
	assert_int_equal(refused(&stage, 1, 1), 0);
	assert_int_equal(stage_free(&stage), 8);
	assert_int_equal(stage_job(&stage, 1)->last.how, BERTH_REASON_LAUNCH_FAILED);
	assert_int_equal(stage_job(&stage, 1)->last.exit_code, -1);
	assert_int_equal(stage_job(&stage, 1)->last_set.n, 4);
	stage_close(&stage);
}

static int assign(struct stage *stage, uint64_t job, uint32_t attempt, uint32_t n, const uint32_t *devices)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_ATTEMPT_ASSIGNED);
	fact.u.assigned.job = job;
	fact.u.assigned.attempt = attempt;
	fact.u.assigned.set.n = n;
	for (uint32_t i = 0; i < n && i < BERTH_NODE_DEVICES_MAX; i++)
		fact.u.assigned.set.share[i].device = devices[i];
	return stage_fold(stage, &fact);
}

/* All or nothing: one device lost between the decision and its fold, and none is taken. */
static void test_an_assignment_is_whole_or_not_at_all(void **state)
{
	const uint32_t devices[BERTH_NODE_DEVICES_MAX] = { 1, 2, 3, 4 }, down[] = { 2, 1, 3, 4 };
	const uint32_t strange[] = { 1, 2, 3, 9 }, apart[] = { 1, 2, 3, 8 };
	struct stage stage;

	stage_open(&stage, 4);
	stage_device(&stage, 8, 2, 0, "A100-80GB", 80 * STAGE_GIB);
	stage_submit(&stage, 4, STAGE_MINUTE);
	assert_int_equal(stage_health(&stage, 3, BERTH_HEALTH_LOST), 0);
	assert_int_equal(assign(&stage, 1, 1, 4, devices), -ESTALE);
	assert_int_equal(stage_free(&stage), 5);
	assert_int_equal(stage_health(&stage, 3, BERTH_HEALTH_OK), 0);
	assert_int_equal(stage_drain(&stage, 2, true), 0);
	assert_int_equal(assign(&stage, 1, 1, 4, devices), -ESTALE);
	assert_int_equal(stage_drain(&stage, 2, false), 0);
	assert_int_equal(assign(&stage, 1, 1, 3, devices), -EINVAL);
	assert_int_equal(assign(&stage, 1, 1, 17, devices), -EINVAL);
	assert_int_equal(assign(&stage, 1, 1, 4, down), -EINVAL);
	assert_int_equal(assign(&stage, 1, 1, 4, strange), -EINVAL);
	assert_int_equal(assign(&stage, 1, 1, 4, apart), -EINVAL);
	assert_int_equal(assign(&stage, 1, 2, 4, devices), -EINVAL);
	assert_int_equal(assign(&stage, 1, 1, 4, devices), 0);
	assert_int_equal(assign(&stage, 1, 1, 4, devices), -ESTALE);
	assert_int_equal(stage_free(&stage), 1);
	stage_close(&stage);
}

static void test_two_jobs_never_get_one_device(void **state)
{
	const uint32_t device = 1;
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_submit(&stage, 1, STAGE_MINUTE);
	assert_int_equal(assign(&stage, 1, 1, 1, &device), 0);
	assert_int_equal(assign(&stage, 2, 1, 1, &device), -ESTALE);
	assert_int_equal(berth_core_device(stage.core, 1)->job, 1);
	stage_close(&stage);
}

static void test_times_of_the_shim_stay_within_what_was_seen(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	stage.now_ms += 1000;
	fact = stage_ending(&stage, 1);
	fact.u.ended.started_ms = 5;             /* a clock that was wrong by years */
	fact.u.ended.ended_ms = UINT64_MAX - 1;
	assert_int_equal(stage_fold(&stage, &fact), 0);
	assert_int_equal(stage_job(&stage, 1)->start_ms, stage.now_ms - 1000);
	assert_int_equal(stage_job(&stage, 1)->end_ms, stage.now_ms);
	assert_int_equal(stage_job(&stage, 1)->last.ended_ms, UINT64_MAX - 1);
	stage_close(&stage);
}

static void test_the_end_is_when_the_shim_saw_it(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	stage.now_ms += 3600000; /* the daemon was away for an hour */
	fact = stage_ending(&stage, 1);
	fact.u.ended.started_ms = stage.now_ms - 3600000 + 20;
	fact.u.ended.ended_ms = stage.now_ms - 3600000 + 5000;
	assert_int_equal(stage_fold(&stage, &fact), 0);
	assert_int_equal(stage_job(&stage, 1)->start_ms, stage.now_ms - 3600000 + 20);
	assert_int_equal(stage_job(&stage, 1)->end_ms, stage.now_ms - 3600000 + 5000);
	stage_close(&stage);
}

static void test_a_stop_is_taken_once(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	berth_fact_init(&fact, BERTH_FACT_STOP_ASKED);
	fact.u.stop = (struct berth_fact_stop){ .job = 1, .attempt = 1, .deadline_ms = stage.now_ms + 5 };
	assert_int_equal(stage_fold(&stage, &fact), -EINVAL); /* without a cause */
	fact.u.stop.cause = BERTH_STOP_PREEMPT;
	assert_int_equal(stage_fold(&stage, &fact), 0);
	fact.u.stop.cause = BERTH_STOP_CANCEL;
	fact.u.stop.deadline_ms += 100;
	assert_int_equal(stage_fold(&stage, &fact), -ESTALE);
	assert_int_equal(stage_job(&stage, 1)->stop_cause, BERTH_STOP_PREEMPT); /* the first cause stays */
	assert_int_equal(stage_job(&stage, 1)->stop_deadline_ms, stage.now_ms + 5);
	stage_close(&stage);
}

static void test_a_new_limit_is_of_one_attempt(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	berth_fact_init(&fact, BERTH_FACT_LIMIT_SET);
	fact.u.limit = (struct berth_fact_limit){ 1, 2, 7 };
	assert_int_equal(stage_fold(&stage, &fact), -EINVAL);
	fact.u.limit = (struct berth_fact_limit){ 1, 1, 0 };
	assert_int_equal(stage_fold(&stage, &fact), -EINVAL);
	fact.u.limit = (struct berth_fact_limit){ 1, 1, 7 };
	assert_int_equal(stage_fold(&stage, &fact), 0);
	assert_int_equal(stage_job(&stage, 1)->limit_told_ms, 7);
	stage_close(&stage);
}

static void test_an_end_of_no_known_kind(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	fact = stage_ending(&stage, 1);
	fact.u.ended.how = BERTH_REASON_HELD;
	assert_int_equal(stage_fold(&stage, &fact), -EINVAL);
	fact.u.ended.how = BERTH_REASON_EXIT_CODE_UNKNOWN;
	fact.u.ended.exit_code = 0; /* nobody knows it, so it is not 0 */
	assert_int_equal(stage_fold(&stage, &fact), 0);
	assert_int_equal(stage_job(&stage, 1)->last.exit_code, -1);
	stage_close(&stage);
}

/* --- people ---------------------------------------------------------------------------------------------------- */

static void test_hold_and_release(void **state)
{
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_HELD, 1), 0);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_HELD, 1), -ESTALE);
	assert_int_equal(stage_job(&stage, 1)->state, BERTH_JOB_HELD);
	assert_int_equal(stage_decide(&stage), 0);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_RELEASED, 1), 0);
	assert_int_equal(stage_decide(&stage), 1);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_HELD, 1), -ESTALE);
	stage_close(&stage);
}

static struct berth_fact alteration(uint64_t job, uint32_t fields)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_JOB_ALTERED);
	fact.u.alter.job = job;
	fact.u.alter.fields = fields;
	return fact;
}

static void test_alter_changes_what_it_names(void **state)
{
	const struct berth_fact_submit *asked;
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 2);
	stage_submit(&stage, 2, STAGE_MINUTE);
	fact = alteration(1, BERTH_ALTER_NAME | BERTH_ALTER_TIER | BERTH_ALTER_GRACE | BERTH_ALTER_GPUS |
	                             BERTH_ALTER_MODEL);
	fact.u.alter.name = "renamed";
	fact.u.alter.tier = BERTH_TIER_P0;
	fact.u.alter.grace_ms = 7;
	fact.u.alter.request = (struct berth_request){ .gpus = 1, .gpu_mem_bytes = 99, .gpu_model = "a100-80gb" };
	assert_int_equal(stage_fold(&stage, &fact), 0);
	asked = &stage_job(&stage, 1)->asked;
	assert_string_equal(asked->name, "renamed");
	assert_string_equal(asked->request.gpu_model, "a100-80gb");
	assert_int_equal(asked->tier, BERTH_TIER_P0);
	assert_int_equal(asked->grace_ms, 7);
	assert_int_equal(asked->request.gpus, 1);
	assert_int_equal(asked->request.gpu_mem_bytes, 0);
	assert_int_equal(asked->request.limit_ms, STAGE_MINUTE);
	assert_int_equal(berth_core_count_in(stage.core, BERTH_JOB_PENDING, BERTH_TIER_P0), 1);
	assert_int_equal(berth_core_count_in(stage.core, BERTH_JOB_PENDING, BERTH_TIER_P2), 0);
	stage_settle(&stage);
	assert_int_equal(stage_free(&stage), 1);
	stage_close(&stage);
}

static void test_alter_that_makes_no_sense(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 2);
	stage_submit(&stage, 2, STAGE_MINUTE);
	fact = alteration(1, 0);
	assert_int_equal(stage_fold(&stage, &fact), -EINVAL);
	fact = alteration(1, 1u << 20);
	assert_int_equal(stage_fold(&stage, &fact), -EINVAL);
	fact = alteration(1, BERTH_ALTER_LIMIT);
	assert_int_equal(stage_fold(&stage, &fact), -EINVAL);
	fact = alteration(1, BERTH_ALTER_GPUS);
	fact.u.alter.request.gpus = 17;
	assert_int_equal(stage_fold(&stage, &fact), -EINVAL);
	stage_settle(&stage);
	fact = alteration(1, BERTH_ALTER_GPUS);
	assert_int_equal(stage_fold(&stage, &fact), -ESTALE); /* it has its devices */
	stage_end(&stage, 1, 0, BERTH_STOP_NONE);
	stage_settle(&stage);
	fact = alteration(1, BERTH_ALTER_NAME);
	assert_int_equal(stage_fold(&stage, &fact), -ESTALE); /* it is over */
	stage_close(&stage);
}

static void test_requeue_of_a_finished_job(void **state)
{
	const uint32_t device = 1;
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_REQUEUE_ASKED, 1), -ESTALE);
	stage_settle(&stage);
	stage_end(&stage, 1, 3, BERTH_STOP_NONE);
	stage_settle(&stage);
	assert_int_equal(stage_job(&stage, 1)->state, BERTH_JOB_FAILED);
	assert_int_not_equal(stage_job(&stage, 1)->finish_ms, 0);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_REQUEUE_ASKED, 1), 0);
	assert_int_equal(stage_job(&stage, 1)->state, BERTH_JOB_PENDING);
	assert_int_equal(stage_job(&stage, 1)->finish_ms, 0);
	assert_int_equal(stage_job(&stage, 1)->restarts, 1);
	assert_int_equal(stage_job(&stage, 1)->failures, 0);
	assert_int_equal(assign(&stage, 1, 1, 1, &device), -ESTALE); /* attempt 1 was */
	stage_settle(&stage);
	assert_int_equal(stage_job(&stage, 1)->attempt, 2);
	stage_close(&stage);
}

/* --- the site --------------------------------------------------------------------------------------------------- */

static struct berth_fact seen(uint32_t id, uint32_t node, const char *uuid)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_DEVICE_SEEN);
	fact.u.device = (struct berth_fact_device){ id, node, 0, uuid, "gpu", "A100", STAGE_GIB };
	return fact;
}

static void test_devices_that_contradict(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 2);
	fact = seen(3, 9, "X");
	assert_int_equal(stage_fold(&stage, &fact), -EINVAL); /* no such node */
	fact = seen(3, 1, "GPU-1");
	assert_int_equal(stage_fold(&stage, &fact), -EINVAL); /* the uuid is device 1 */
	fact = seen(1, 1, "GPU-2");
	assert_int_equal(stage_fold(&stage, &fact), -EINVAL);
	fact = seen(1, 1, "X");
	assert_int_equal(stage_fold(&stage, &fact), -EINVAL);
	fact = seen(BERTH_NO_DEVICE, 1, "X");
	assert_int_equal(stage_fold(&stage, &fact), -EINVAL);
	fact = seen(3, 1, "");
	assert_int_equal(stage_fold(&stage, &fact), -EINVAL);
	fact = seen(0, 1, "X");
	assert_int_equal(stage_fold(&stage, &fact), -EINVAL);
	assert_int_equal(berth_core_device_count(stage.core), 2);
	fact = seen(7, 1, "X"); /* ids may have holes */
	assert_int_equal(stage_fold(&stage, &fact), 0);
	assert_int_equal(berth_core_next_device(stage.core), 8);
	assert_ptr_equal(berth_core_device_by_uuid(stage.core, "X"), berth_core_device(stage.core, 7));
	assert_null(berth_core_device_by_uuid(stage.core, "Y"));
	stage_close(&stage);
}

static void test_a_device_seen_again_is_updated(void **state)
{
	struct stage stage;

	stage_open(&stage, 2);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	stage_device(&stage, 1, 2, 5, "A100-40GB", 40 * STAGE_GIB);
	assert_int_equal(berth_core_device(stage.core, 1)->index, 5);
	assert_int_equal(berth_core_device(stage.core, 1)->node, 2);
	assert_int_equal(berth_core_device(stage.core, 1)->mem_bytes, 40 * STAGE_GIB);
	assert_string_equal(berth_core_device(stage.core, 1)->model, "A100-40GB");
	assert_int_equal(berth_core_device(stage.core, 1)->job, 1); /* still his */
	stage_end(&stage, 1, 0, BERTH_STOP_NONE);
	assert_int_equal(stage_free(&stage), 2);
	stage_close(&stage);
}

static void test_nodes_come_in_any_order(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 2);
	stage_device(&stage, 3, 9, 0, "A100", STAGE_GIB);
	stage_device(&stage, 4, 5, 0, "A100", STAGE_GIB);
	berth_fact_init(&fact, BERTH_FACT_NODE_SEEN);
	fact.u.node = (struct berth_fact_node){ 9, "renamed" };
	assert_int_equal(stage_fold(&stage, &fact), 0);
	assert_string_equal(berth_core_node(stage.core, 9)->name, "renamed");
	assert_string_equal(berth_core_node(stage.core, 1)->name, "node1");
	assert_null(berth_core_node(stage.core, 6));
	fact.u.node.node = 0;
	assert_int_equal(stage_fold(&stage, &fact), -EINVAL);
	stage_submit(&stage, 2, STAGE_MINUTE);
	stage_settle(&stage);
	assert_int_equal(stage_job(&stage, 1)->set.share[1].device, 2);
	stage_close(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds_and_enumerations_that_are_none),
		cmocka_unit_test(test_time_and_number_never_fall),
		cmocka_unit_test(test_a_stale_fact_moves_the_number_only),
		cmocka_unit_test(test_ids_are_never_used_twice),
		cmocka_unit_test(test_impossible_numbers_are_refused),
		cmocka_unit_test(test_reports_about_what_never_was),
		cmocka_unit_test(test_reports_come_late_and_twice),
		cmocka_unit_test(test_reports_about_the_forgotten),
		cmocka_unit_test(test_a_refused_launch_frees_all_devices),
		cmocka_unit_test(test_an_assignment_is_whole_or_not_at_all),
		cmocka_unit_test(test_two_jobs_never_get_one_device),
		cmocka_unit_test(test_times_of_the_shim_stay_within_what_was_seen),
		cmocka_unit_test(test_the_end_is_when_the_shim_saw_it),
		cmocka_unit_test(test_a_stop_is_taken_once),
		cmocka_unit_test(test_a_new_limit_is_of_one_attempt),
		cmocka_unit_test(test_an_end_of_no_known_kind),
		cmocka_unit_test(test_hold_and_release),
		cmocka_unit_test(test_alter_changes_what_it_names),
		cmocka_unit_test(test_alter_that_makes_no_sense),
		cmocka_unit_test(test_requeue_of_a_finished_job),
		cmocka_unit_test(test_devices_that_contradict),
		cmocka_unit_test(test_a_device_seen_again_is_updated),
		cmocka_unit_test(test_nodes_come_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
