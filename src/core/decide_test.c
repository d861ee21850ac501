#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include "core/stage_test.h"

static const struct berth_fact *line(const struct stage *stage, enum berth_fact_kind kind)
{
	for (size_t i = 0; i < stage->n_plan; i++) {
		if (stage->plan[i].kind == kind)
			return &stage->plan[i];
	}
	return NULL;
}

static enum berth_job_state state_of(const struct stage *stage, uint64_t job)
{
	return stage_job(stage, job)->state;
}

static void test_a_job_lives(void **state)
{
	struct stage stage;

	stage_open(&stage, 2);
	assert_int_equal(stage_decide(&stage), 0);
	assert_int_equal(stage.wake_ms, UINT64_MAX);
	stage_submit(&stage, 2, STAGE_MINUTE);
	assert_int_equal(state_of(&stage, 1), BERTH_JOB_PENDING);
	assert_int_equal(stage_decide(&stage), 1);
	assert_int_equal(line(&stage, BERTH_FACT_ATTEMPT_ASSIGNED)->u.assigned.set.n, 2);
	assert_int_equal(line(&stage, BERTH_FACT_ATTEMPT_ASSIGNED)->at_ms, stage.now_ms);
	assert_int_equal(state_of(&stage, 1), BERTH_JOB_STARTING);
	stage.now_ms += 5;
	stage_start(&stage, 1);
	assert_int_equal(state_of(&stage, 1), BERTH_JOB_RUNNING);
	assert_int_equal(stage_job(&stage, 1)->start_ms, stage.now_ms);
	assert_int_equal(stage_job(&stage, 1)->pid, 4711);
	assert_int_equal(stage_decide(&stage), 0);
	stage.now_ms += 100;
	stage_end(&stage, 1, 0, BERTH_STOP_NONE);
	assert_int_equal(state_of(&stage, 1), BERTH_JOB_ENDED);
	assert_int_equal(stage_free(&stage), 2);
	assert_int_equal(stage_decide(&stage), 1);
	assert_int_equal(state_of(&stage, 1), BERTH_JOB_COMPLETED);
	assert_int_equal(stage_job(&stage, 1)->last_set.n, 2);
	assert_int_equal(stage_job(&stage, 1)->restarts, 0);
	stage_close(&stage);
}

/* Devices with ids 5, 7, 9, 11: whoever frees by position loses them. */
static void test_every_device_comes_back(void **state)
{
	struct stage stage;

	stage_open(&stage, 0);
	for (uint32_t i = 0; i < 4; i++)
		stage_device(&stage, 5 + 2 * i, 1, 4 + i, "A100-80GB", 80 * STAGE_GIB);
	for (uint64_t job = 1; job <= 20; job++) {
		stage_submit(&stage, 1 + job % 4, STAGE_MINUTE);
		stage_settle(&stage);
		stage_start(&stage, job);
		stage_end(&stage, job, 0, BERTH_STOP_NONE);
		stage_settle(&stage);
		assert_int_equal(stage_free(&stage), 4);
	}
	stage_close(&stage);
}

/* Eight of eight taken, one cancelled, two more asked: exactly one starts, and only when the device is free. */
static void test_cancel_frees_and_exactly_one_follows(void **state)
{
	struct stage stage;

	stage_open(&stage, 8);
	for (int i = 0; i < 8; i++)
		stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	for (uint64_t job = 1; job <= 8; job++)
		stage_start(&stage, job);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_submit(&stage, 1, STAGE_MINUTE);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_CANCEL_ASKED, 3), 0);
	assert_int_equal(stage_decide(&stage), 1);
	assert_int_equal(line(&stage, BERTH_FACT_STOP_ASKED)->u.stop.cause, BERTH_STOP_CANCEL);
	assert_int_equal(state_of(&stage, 9), BERTH_JOB_PENDING);
	assert_int_equal(stage_decide(&stage), 0); /* asked once */
	stage_end(&stage, 3, 0, BERTH_STOP_CANCEL);
	assert_int_equal(stage_decide(&stage), 2); /* finished, and the next starts in the same plan */
	assert_int_equal(state_of(&stage, 3), BERTH_JOB_CANCELLED);
	assert_int_equal(state_of(&stage, 9), BERTH_JOB_STARTING);
	assert_int_equal(state_of(&stage, 10), BERTH_JOB_PENDING);
	stage_close(&stage);
}

/* A device that comes back smaller than what runs on it: nothing wraps round, nothing more is let on. */
static void test_shrunk_memory(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 1);
	fact = stage_submission(&stage, 1, STAGE_MINUTE);
	fact.u.submit.request.gpu_mem_bytes = 60 * STAGE_GIB;
	assert_int_equal(stage_fold(&stage, &fact), 0);
	fact.u.submit.job = 2;
	assert_int_equal(stage_fold(&stage, &fact), 0);
	stage_settle(&stage);
	stage_device(&stage, 1, 1, 0, "A100-80GB", 40 * STAGE_GIB);
	stage_end(&stage, 1, 0, BERTH_STOP_NONE);
	stage_settle(&stage);
	assert_int_equal(state_of(&stage, 1), BERTH_JOB_COMPLETED);
	assert_int_equal(state_of(&stage, 2), BERTH_JOB_PENDING);
	stage_device(&stage, 1, 1, 0, "A100-80GB", 0);
	assert_int_equal(stage_decide(&stage), 0);
	stage_close(&stage);
}

/* Reports of run 1 that come when run 2 is under way do not touch it. */
static void test_a_late_report_of_run_one(void **state)
{
	struct berth_fact late;
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	stage_start(&stage, 1);
	late = stage_ending(&stage, 1);
	late.u.ended.signal = 9;
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_REQUEUE_ASKED, 1), 0);
	assert_int_equal(stage_decide(&stage), 1);
	assert_int_equal(line(&stage, BERTH_FACT_STOP_ASKED)->u.stop.cause, BERTH_STOP_REQUEUE);
	stage_end(&stage, 1, 0, BERTH_STOP_REQUEUE);
	assert_int_equal(stage_decide(&stage), 2);
	assert_int_equal(line(&stage, BERTH_FACT_JOB_REQUEUED)->u.requeued.reason.code, BERTH_REASON_REQUEUED);
	assert_int_equal(line(&stage, BERTH_FACT_ATTEMPT_ASSIGNED)->u.assigned.attempt, 2);
	stage_start(&stage, 1);
	assert_int_equal(stage_fold(&stage, &late), -ESTALE);
	assert_int_equal(state_of(&stage, 1), BERTH_JOB_RUNNING);
	stage_end(&stage, 1, 0, BERTH_STOP_NONE);
	stage_settle(&stage);
	assert_int_equal(state_of(&stage, 1), BERTH_JOB_COMPLETED);
	assert_int_equal(stage_job(&stage, 1)->restarts, 1);
	stage_close(&stage);
}

static void refuse(struct stage *stage, uint64_t job)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_ATTEMPT_REFUSED);
	fact.u.refused = (struct berth_fact_refused){ job, stage_job(stage, job)->attempt, EACCES };
	assert_int_equal(stage_fold(stage, &fact), 0);
}

/* Launches that fail are tried again after at least a second, ever later; meanwhile the others go on, and none of the
 * job's requeues is used. */
static void test_refused_launches_back_off(void **state)
{
	uint64_t pause_ms, before_ms = 0;
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	for (uint32_t failures = 1; failures <= 4; failures++) {
		assert_int_equal(state_of(&stage, 1), BERTH_JOB_STARTING);
		refuse(&stage, 1);
		assert_int_equal(stage_decide(&stage), 2);
		pause_ms = stage_job(&stage, 1)->eligible_ms - stage.now_ms;
		assert_in_range(pause_ms, before_ms + 1000, UINT64_MAX);
		before_ms = pause_ms;
		assert_int_equal(stage.wake_ms, stage_job(&stage, 1)->eligible_ms);
		assert_int_equal(stage_job(&stage, 1)->failures, failures);
		assert_int_equal(stage_job(&stage, 1)->reason.code, BERTH_REASON_LAUNCH_FAILED);
		assert_int_equal(stage_job(&stage, 1)->reason.a, EACCES);
		/* Another took the device at once; it ends, and the first goes before the second again when its time
		 * has come. */
		stage_end(&stage, 1 + failures, 0, BERTH_STOP_NONE);
		stage_submit(&stage, 1, STAGE_MINUTE);
		stage.now_ms = stage_job(&stage, 1)->eligible_ms;
		stage_settle(&stage);
	}
	assert_int_equal(stage_job(&stage, 1)->requeues_used, 0);
	assert_int_equal(stage_job(&stage, 1)->restarts, 0);
	stage_close(&stage);
}

static void test_failures_are_repeated_as_often_as_allowed(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 1);
	fact = stage_submission(&stage, 1, STAGE_MINUTE);
	fact.u.submit.requeue_max = 2;
	assert_int_equal(stage_fold(&stage, &fact), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(state_of(&stage, 1), BERTH_JOB_PENDING);
		stage.now_ms += 3600000;
		stage_settle(&stage);
		stage_start(&stage, 1);
		stage_end(&stage, 1, 9, BERTH_STOP_NONE);
		stage_settle(&stage);
	}
	assert_int_equal(state_of(&stage, 1), BERTH_JOB_FAILED);
	assert_int_equal(stage_job(&stage, 1)->attempt, 3);
	assert_int_equal(stage_job(&stage, 1)->restarts, 2);
	assert_int_equal(stage_job(&stage, 1)->requeues_used, 2);
	stage_close(&stage);
}

/* Stopped for others again and again, and its one allowed repetition is still there. */
static void test_interruptions_use_no_requeue(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 1);
	fact = stage_submission(&stage, 1, STAGE_MINUTE);
	fact.u.submit.requeue_max = 1;
	assert_int_equal(stage_fold(&stage, &fact), 0);
	for (int i = 0; i < 7; i++) {
		stage_settle(&stage);
		stage_start(&stage, 1);
		stage_end(&stage, 1, 143, BERTH_STOP_PREEMPT);
	}
	stage_settle(&stage);
	assert_int_equal(stage_job(&stage, 1)->requeues_used, 0);
	assert_int_equal(stage_job(&stage, 1)->restarts, 7);
	assert_int_equal(stage_job(&stage, 1)->reason.code, BERTH_REASON_PREEMPTED);
	assert_int_equal(state_of(&stage, 1), BERTH_JOB_STARTING);
	stage_close(&stage);
}

static void test_cancel_while_waiting_and_starting(void **state)
{
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_submit(&stage, 1, STAGE_MINUTE);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_HELD, 2), 0);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_CANCEL_ASKED, 2), 0);
	stage_decide(&stage);
	assert_int_equal(state_of(&stage, 2), BERTH_JOB_CANCELLED);
	assert_int_equal(stage_job(&stage, 2)->last.exit_code, -1);
	assert_int_equal(stage_job(&stage, 2)->end_ms, stage.now_ms);
	assert_int_equal(stage_job(&stage, 2)->start_ms, 0);
	assert_int_equal(state_of(&stage, 1), BERTH_JOB_STARTING);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_CANCEL_ASKED, 1), 0);
	assert_int_equal(stage_decide(&stage), 1);
	assert_int_equal(line(&stage, BERTH_FACT_STOP_ASKED)->u.stop.attempt, 1);
	stage_start(&stage, 1); /* the report was under way */
	assert_int_equal(state_of(&stage, 1), BERTH_JOB_STOPPING);
	assert_int_equal(stage_job(&stage, 1)->pid, 4711);
	stage_end(&stage, 1, 0, BERTH_STOP_CANCEL);
	stage_settle(&stage);
	assert_int_equal(state_of(&stage, 1), BERTH_JOB_CANCELLED);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_CANCEL_ASKED, 1), -ESTALE);
	stage_close(&stage);
}

static void test_a_stop_gives_the_grace(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 1);
	fact = stage_submission(&stage, 1, STAGE_MINUTE);
	fact.u.submit.grace_ms = 30000;
	assert_int_equal(stage_fold(&stage, &fact), 0);
	stage_settle(&stage);
	stage.now_ms += 50;
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_CANCEL_ASKED, 1), 0);
	stage_decide(&stage);
	assert_int_equal(line(&stage, BERTH_FACT_STOP_ASKED)->u.stop.deadline_ms, stage.now_ms + 30000);
	assert_int_equal(stage_job(&stage, 1)->stop_deadline_ms, stage.now_ms + 30000);
	stage_close(&stage);
}

static void test_cancel_wins_over_requeue(void **state)
{
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	stage_start(&stage, 1);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_REQUEUE_ASKED, 1), 0);
	assert_int_equal(stage_decide(&stage), 1);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_CANCEL_ASKED, 1), 0);
	assert_int_equal(stage_decide(&stage), 0); /* it is being stopped already */
	stage_end(&stage, 1, 0, BERTH_STOP_REQUEUE);
	stage_settle(&stage);
	assert_int_equal(state_of(&stage, 1), BERTH_JOB_CANCELLED);
	stage_close(&stage);
}

static void test_a_requeued_job_keeps_its_place(void **state)
{
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	stage_start(&stage, 1);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_REQUEUE_ASKED, 1), 0);
	stage_settle(&stage);
	stage_end(&stage, 1, 0, BERTH_STOP_REQUEUE);
	stage_settle(&stage);
	assert_int_equal(state_of(&stage, 1), BERTH_JOB_STARTING);
	assert_int_equal(state_of(&stage, 2), BERTH_JOB_PENDING);
	stage_close(&stage);
}

/* --- devices --------------------------------------------------------------------------------------------------- */

static void test_a_lost_device_stops_its_job_which_runs_elsewhere(void **state)
{
	struct stage stage;

	stage_open(&stage, 2);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	stage_start(&stage, 1);
	assert_int_equal(stage_health(&stage, 1, BERTH_HEALTH_UNKNOWN), 0);
	assert_int_equal(stage_decide(&stage), 0); /* unknown: keep */
	assert_int_equal(stage_health(&stage, 1, BERTH_HEALTH_LOST), 0);
	assert_int_equal(stage_decide(&stage), 1);
	assert_int_equal(line(&stage, BERTH_FACT_STOP_ASKED)->u.stop.cause, BERTH_STOP_DEVICE_LOST);
	stage_end(&stage, 1, 1, BERTH_STOP_DEVICE_LOST);
	assert_int_equal(stage_decide(&stage), 2);
	assert_int_equal(line(&stage, BERTH_FACT_JOB_REQUEUED)->u.requeued.reason.code, BERTH_REASON_DEVICE_FAILED);
	assert_int_equal(line(&stage, BERTH_FACT_JOB_REQUEUED)->u.requeued.reason.a, 1);
	assert_int_equal(stage_job(&stage, 1)->set.share[0].device, 2);
	assert_int_equal(stage_job(&stage, 1)->requeues_used, 0);
	stage_close(&stage);
}

/* Mostly the job dies of it before it is asked to stop; that is no failure of the job either. */
static void test_a_job_that_dies_of_its_lost_device(void **state)
{
	struct stage stage;

	stage_open(&stage, 2);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	stage_start(&stage, 1);
	assert_int_equal(stage_health(&stage, 1, BERTH_HEALTH_LOST), 0);
	stage_end(&stage, 1, 134, BERTH_STOP_NONE);
	stage_settle(&stage);
	assert_int_equal(state_of(&stage, 1), BERTH_JOB_STARTING);
	assert_int_equal(stage_job(&stage, 1)->reason.code, BERTH_REASON_DEVICE_FAILED);
	stage_close(&stage);
}

static void test_a_drained_device_lets_its_job_finish(void **state)
{
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	assert_int_equal(stage_drain(&stage, 1, true), 0);
	assert_string_equal(berth_core_device(stage.core, 1)->drain_note, "fan");
	assert_int_equal(stage_decide(&stage), 0);
	stage_end(&stage, 1, 0, BERTH_STOP_NONE);
	stage_settle(&stage);
	assert_int_equal(state_of(&stage, 1), BERTH_JOB_COMPLETED);
	assert_int_equal(state_of(&stage, 2), BERTH_JOB_PENDING);
	assert_int_equal(stage_drain(&stage, 1, false), 0);
	stage_settle(&stage);
	assert_int_equal(state_of(&stage, 2), BERTH_JOB_STARTING);
	stage_close(&stage);
}

static void test_no_device_asked_no_device_needed(void **state)
{
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, UINT64_MAX);
	stage_submit(&stage, 1, STAGE_MINUTE);
	for (int i = 0; i < 20; i++)
		stage_submit(&stage, 0, UINT64_MAX);
	stage_settle(&stage);
	assert_int_equal(state_of(&stage, 2), BERTH_JOB_PENDING);
	for (uint64_t job = 3; job <= 22; job++)
		assert_int_equal(state_of(&stage, job), BERTH_JOB_STARTING);
	stage_close(&stage);
}

/* --- time ------------------------------------------------------------------------------------------------------- */

static void test_begin_time_wakes(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 1);
	fact = stage_submission(&stage, 1, STAGE_MINUTE);
	fact.u.submit.begin_ms = stage.now_ms + 500;
	assert_int_equal(stage_fold(&stage, &fact), 0);
	assert_int_equal(stage_decide(&stage), 0);
	assert_int_equal(stage.wake_ms, stage.now_ms + 500);
	stage.now_ms += 499;
	assert_int_equal(stage_decide(&stage), 0);
	stage.now_ms += 1;
	assert_int_equal(stage_decide(&stage), 1);
	assert_int_equal(stage.wake_ms, UINT64_MAX);
	stage_close(&stage);
}

static void test_a_new_limit_is_told(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	berth_fact_init(&fact, BERTH_FACT_JOB_ALTERED);
	fact.u.alter.job = 1;
	fact.u.alter.fields = BERTH_ALTER_LIMIT;
	fact.u.alter.request.limit_ms = 5 * STAGE_MINUTE;
	assert_int_equal(stage_fold(&stage, &fact), 0);
	assert_int_equal(stage_decide(&stage), 0); /* nobody there to be told yet */
	stage_start(&stage, 1);
	assert_int_equal(stage_decide(&stage), 1);
	assert_int_equal(line(&stage, BERTH_FACT_LIMIT_SET)->u.limit.limit_ms, 5 * STAGE_MINUTE);
	assert_int_equal(stage_job(&stage, 1)->limit_told_ms, 5 * STAGE_MINUTE);
	assert_int_equal(stage_decide(&stage), 0);
	stage_close(&stage);
}

static void test_finished_jobs_are_forgotten_in_time(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 1);
	berth_fact_init(&fact, BERTH_FACT_POLICY_SET);
	fact.u.policy = (struct berth_fact_policy){ 1000, 1000, 60000 };
	assert_int_equal(stage_fold(&stage, &fact), 0);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	stage.now_ms += 1000;
	fact = stage_ending(&stage, 1);
	fact.u.ended.ended_ms = stage.now_ms - 900; /* long over when the daemon came back */
	assert_int_equal(stage_fold(&stage, &fact), 0);
	assert_int_equal(stage_decide(&stage), 1);
	assert_int_equal(stage.wake_ms, stage.now_ms + 60000);
	assert_int_equal(stage_job(&stage, 1)->finish_ms, stage.now_ms);
	stage.now_ms += 59999;
	assert_int_equal(stage_decide(&stage), 0);
	assert_int_equal(stage.wake_ms, stage.now_ms + 1);
	stage.now_ms += 1;
	assert_int_equal(stage_decide(&stage), 1);
	assert_null(berth_core_job(stage.core, 1));
	assert_int_equal(berth_core_job_count(stage.core), 0);
	assert_int_equal(berth_core_next_job(stage.core), 2);
	stage_close(&stage);
}

static void test_huge_times_do_not_wrap(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 1);
	berth_fact_init(&fact, BERTH_FACT_POLICY_SET);
	fact.u.policy = (struct berth_fact_policy){ UINT64_MAX, UINT64_MAX, UINT64_MAX };
	assert_int_equal(stage_fold(&stage, &fact), 0);
	fact = stage_submission(&stage, 1, UINT64_MAX - 1);
	fact.u.submit.grace_ms = UINT64_MAX - 1;
	fact.u.submit.requeue_max = 1;
	assert_int_equal(stage_fold(&stage, &fact), 0);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	stage_start(&stage, 1);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_REQUEUE_ASKED, 1), 0);
	stage_decide(&stage);
	assert_int_equal(line(&stage, BERTH_FACT_STOP_ASKED)->u.stop.deadline_ms, UINT64_MAX);
	stage_end(&stage, 1, 3, BERTH_STOP_NONE);
	stage_settle(&stage);
	assert_int_equal(state_of(&stage, 1), BERTH_JOB_STARTING);
	stage_end(&stage, 1, 3, BERTH_STOP_NONE);
	assert_int_equal(stage_decide(&stage), 2);
	assert_int_equal(stage_job(&stage, 1)->eligible_ms, UINT64_MAX);
	assert_int_equal(stage_decide(&stage), 0);
	assert_int_equal(stage.wake_ms, UINT64_MAX);
	stage_close(&stage);
}

static void test_a_clock_behind_the_journal_counts_as_now(void **state)
{
	struct berth_plan plan;
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	assert_int_equal(berth_core_decide(stage.core, 5, &plan), 0);
	assert_int_equal(plan.n, 1);
	assert_int_equal(plan.facts[0].at_ms, stage.now_ms);
	stage_close(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_job_lives),
		cmocka_unit_test(test_every_device_comes_back),
		cmocka_unit_test(test_cancel_frees_and_exactly_one_follows),
		cmocka_unit_test(test_shrunk_memory),
		cmocka_unit_test(test_a_late_report_of_run_one),
		cmocka_unit_test(test_refused_launches_back_off),
		cmocka_unit_test(test_failures_are_repeated_as_often_as_allowed),
		cmocka_unit_test(test_interruptions_use_no_requeue),
		cmocka_unit_test(test_cancel_while_waiting_and_starting),
		cmocka_unit_test(test_a_stop_gives_the_grace),
		cmocka_unit_test(test_cancel_wins_over_requeue),
		cmocka_unit_test(test_a_requeued_job_keeps_its_place),
		cmocka_unit_test(test_a_lost_device_stops_its_job_which_runs_elsewhere),
		cmocka_unit_test(test_a_job_that_dies_of_its_lost_device),
		cmocka_unit_test(test_a_drained_device_lets_its_job_finish),
		cmocka_unit_test(test_no_device_asked_no_device_needed),
		cmocka_unit_test(test_begin_time_wakes),
		cmocka_unit_test(test_a_new_limit_is_told),
		cmocka_unit_test(test_finished_jobs_are_forgotten_in_time),
		cmocka_unit_test(test_huge_times_do_not_wrap),
		cmocka_unit_test(test_a_clock_behind_the_journal_counts_as_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
