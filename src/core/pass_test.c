#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "core/pass.h"
#include "core/stage_test.h"

static enum berth_job_state state_of(const struct stage *stage, uint64_t job)
{
	return stage_job(stage, job)->state;
}

/* Four cards busy for an hour, four free, the first in line wants all eight. */
static void open_hour(struct stage *stage)
{
	stage_open(stage, 8);
	assert_int_equal(stage_submit(stage, 4, 60 * STAGE_MINUTE), 1);
	stage_settle(stage);
	stage_start(stage, 1);
	assert_int_equal(stage_submit(stage, 8, 60 * STAGE_MINUTE), 2);
}

static void test_short_ones_pass_long_ones_wait(void **state)
{
	struct stage stage;

	open_hour(&stage);
	stage_submit(&stage, 1, 61 * STAGE_MINUTE);
	stage_submit(&stage, 1, 60 * STAGE_MINUTE);
	stage_submit(&stage, 1, UINT64_MAX);
	stage_settle(&stage);
	assert_int_equal(state_of(&stage, 2), BERTH_JOB_PENDING);
	assert_int_equal(state_of(&stage, 3), BERTH_JOB_PENDING);
	assert_int_equal(state_of(&stage, 4), BERTH_JOB_STARTING);
	assert_int_equal(state_of(&stage, 5), BERTH_JOB_PENDING);
	stage_close(&stage);
}

static void test_the_grace_counts(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	open_hour(&stage);
	fact = stage_submission(&stage, 1, 60 * STAGE_MINUTE);
	fact.u.submit.grace_ms = 1;
	assert_int_equal(stage_fold(&stage, &fact), 0);
	stage_settle(&stage);
	assert_int_equal(state_of(&stage, 3), BERTH_JOB_PENDING);
	stage_close(&stage);
}

static void test_devices_that_it_does_not_need_are_free_for_all(void **state)
{
	struct stage stage;

	stage_open(&stage, 8);
	stage_submit(&stage, 4, 60 * STAGE_MINUTE);
	stage_settle(&stage);
	stage_submit(&stage, 6, 60 * STAGE_MINUTE); /* needs the four and two of the free ones */
	stage_submit(&stage, 2, UINT64_MAX);
	stage_submit(&stage, 1, UINT64_MAX);
	stage_settle(&stage);
	assert_int_equal(state_of(&stage, 2), BERTH_JOB_PENDING);
	assert_int_equal(state_of(&stage, 3), BERTH_JOB_STARTING);
	assert_int_equal(state_of(&stage, 4), BERTH_JOB_PENDING);
	stage_close(&stage);
}

static void test_lower_tiers_pass_no_differently(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	open_hour(&stage);
	fact = stage_submission(&stage, 4, 61 * STAGE_MINUTE);
	fact.u.submit.tier = BERTH_TIER_P1;
	assert_int_equal(stage_fold(&stage, &fact), 0);
	stage_settle(&stage);
	/* P1 stands before the P2 that came first, and takes what is free. */
	assert_int_equal(state_of(&stage, 3), BERTH_JOB_STARTING);
	assert_int_equal(state_of(&stage, 2), BERTH_JOB_PENDING);
	stage_close(&stage);
}

/* Behind a job that nobody can tell the start of, what is bounded may pass and what is not may not. */
static void test_behind_an_unlimited_job(void **state)
{
	struct stage stage;

	stage_open(&stage, 2);
	stage_submit(&stage, 1, UINT64_MAX);
	stage_settle(&stage);
	stage_submit(&stage, 2, STAGE_MINUTE);
	stage_submit(&stage, 1, UINT64_MAX);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	assert_int_equal(state_of(&stage, 3), BERTH_JOB_PENDING);
	assert_int_equal(state_of(&stage, 4), BERTH_JOB_STARTING);
	stage_close(&stage);
}

/* A job that waits for drained devices keeps none: it could be for ever. */
static void test_who_waits_for_service_blocks_nobody(void **state)
{
	struct stage stage;

	stage_open(&stage, 4);
	assert_int_equal(stage_drain(&stage, 4, true), 0);
	stage_submit(&stage, 4, STAGE_MINUTE);
	stage_submit(&stage, 3, UINT64_MAX);
	stage_settle(&stage);
	assert_int_equal(state_of(&stage, 1), BERTH_JOB_PENDING);
	assert_int_equal(state_of(&stage, 2), BERTH_JOB_STARTING);
	stage_close(&stage);
}

/* Each kind of card has its own first in line. */
static void test_the_second_shape_keeps_devices_too(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 2);
	stage_device(&stage, 3, 1, 2, "H100", 80 * STAGE_GIB);
	stage_device(&stage, 4, 1, 3, "H100", 80 * STAGE_GIB);
	for (int i = 0; i < 2; i++) {
		fact = stage_submission(&stage, 1, 60 * STAGE_MINUTE);
		fact.u.submit.request.gpu_model = i ? "H100" : "A100-80GB";
		assert_int_equal(stage_fold(&stage, &fact), 0);
	}
	stage_settle(&stage);
	for (int i = 0; i < 2; i++) {
		fact = stage_submission(&stage, 2, 60 * STAGE_MINUTE);
		fact.u.submit.request.gpu_model = i ? "H100" : "A100-80GB";
		assert_int_equal(stage_fold(&stage, &fact), 0);
	}
	stage_submit(&stage, 1, 61 * STAGE_MINUTE);
	stage_submit(&stage, 1, 60 * STAGE_MINUTE);
	stage_settle(&stage);
	assert_int_equal(state_of(&stage, 5), BERTH_JOB_PENDING);
	assert_int_equal(state_of(&stage, 6), BERTH_JOB_STARTING);
	stage_close(&stage);
}

static void test_a_stop_brings_devices_forward_in_the_same_plan(void **state)
{
	struct stage stage;

	open_hour(&stage);
	stage_submit(&stage, 1, 30 * STAGE_MINUTE);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_CANCEL_ASKED, 1), 0);
	stage_settle(&stage);
	assert_int_equal(state_of(&stage, 1), BERTH_JOB_STOPPING);
	assert_int_equal(state_of(&stage, 3), BERTH_JOB_PENDING); /* the eight come free now, not in an hour */
	stage_close(&stage);
}

static void test_keepers_are_bounded(void **state)
{
	struct berth_pass pass;
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, 60 * STAGE_MINUTE);
	stage_settle(&stage);
	for (uint64_t i = 0; i < BERTH_PASS_KEEPERS_MAX + 5; i++)
		stage_submit(&stage, 1, STAGE_MINUTE + i);
	assert_int_equal(berth_pass_begin(&pass, stage.core, stage.now_ms), 0);
	assert_int_equal(berth_pass_run(&pass, NULL, 0, NULL), 0);
	assert_int_equal(pass.n_keepers, BERTH_PASS_KEEPERS_MAX);
	assert_int_equal(pass.timeline.device[0].kept_for, 2);
	assert_null(pass.starts);
	stage_close(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_ones_pass_long_ones_wait),
		cmocka_unit_test(test_the_grace_counts),
		cmocka_unit_test(test_devices_that_it_does_not_need_are_free_for_all),
		cmocka_unit_test(test_lower_tiers_pass_no_differently),
		cmocka_unit_test(test_behind_an_unlimited_job),
		cmocka_unit_test(test_who_waits_for_service_blocks_nobody),
		cmocka_unit_test(test_the_second_shape_keeps_devices_too),
		cmocka_unit_test(test_a_stop_brings_devices_forward_in_the_same_plan),
		cmocka_unit_test(test_keepers_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
