#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "core/model.h"
#include "core/order.h"
#include "core/stage_test.h"

static uint64_t submit(struct stage *stage, enum berth_tier tier, uint64_t begin_ms, bool is_held)
{
	struct berth_fact fact = stage_submission(stage, 1, STAGE_MINUTE);

	fact.u.submit.tier = tier;
	fact.u.submit.begin_ms = begin_ms;
	fact.u.submit.is_held = is_held;
	assert_int_equal(stage_fold(stage, &fact), 0);
	return fact.u.submit.job;
}

static void test_tiers_then_submission(void **state)
{
	struct stage stage;
	uint64_t ids[8];

	stage_open(&stage, 0);
	submit(&stage, BERTH_TIER_P2, 0, false);
	submit(&stage, BERTH_TIER_P1, 0, false);
	submit(&stage, BERTH_TIER_P0, 0, false);
	submit(&stage, BERTH_TIER_P1, 0, false);
	assert_int_equal(berth_core_queue(stage.core, stage.now_ms, ids, 8), 4);
	assert_int_equal(ids[0], 3);
	assert_int_equal(ids[1], 2);
	assert_int_equal(ids[2], 4);
	assert_int_equal(ids[3], 1);
	stage_close(&stage);
}

static void test_those_that_cannot_start_stand_behind(void **state)
{
	struct stage stage;
	uint64_t ids[8] = { 0 };

	stage_open(&stage, 0);
	submit(&stage, BERTH_TIER_P1, 0, true);
	submit(&stage, BERTH_TIER_P1, stage.now_ms + 5, false);
	submit(&stage, BERTH_TIER_P1, 0, false);
	submit(&stage, BERTH_TIER_P2, 0, false);
	assert_int_equal(berth_core_queue(stage.core, stage.now_ms, ids, 8), 4);
	assert_int_equal(ids[0], 3);
	assert_int_equal(ids[1], 1);
	assert_int_equal(ids[2], 2);
	assert_int_equal(ids[3], 4);
	/* Once its time has come it has its place by number again. */
	assert_int_equal(berth_core_queue(stage.core, stage.now_ms + 5, ids, 8), 4);
	assert_int_equal(ids[0], 2);
	assert_int_equal(ids[1], 3);
	stage_close(&stage);
}

static void test_no_more_is_written_than_there_is_room(void **state)
{
	struct stage stage;
	uint64_t ids[3] = { 0, 0, 77 };

	stage_open(&stage, 0);
	for (int i = 0; i < 5; i++)
		submit(&stage, BERTH_TIER_P2, 0, false);
	assert_int_equal(berth_core_queue(stage.core, stage.now_ms, ids, 2), 5);
	assert_int_equal(ids[1], 2);
	assert_int_equal(ids[2], 77);
	assert_int_equal(berth_core_queue(stage.core, stage.now_ms, NULL, 0), 5);
	stage_close(&stage);
}

static void test_the_cancelled_stand_in_no_line(void **state)
{
	struct stage stage;
	uint64_t ids[3];

	stage_open(&stage, 0);
	submit(&stage, BERTH_TIER_P2, 0, false);
	submit(&stage, BERTH_TIER_P2, 0, false);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_CANCEL_ASKED, 1), 0);
	assert_int_equal(berth_core_queue(stage.core, stage.now_ms, ids, 3), 1);
	assert_int_equal(ids[0], 2);
	stage_close(&stage);
}

static void test_the_clock_moves_jobs_both_ways(void **state)
{
	struct stage stage;

	stage_open(&stage, 0);
	submit(&stage, BERTH_TIER_P2, stage.now_ms + 10, false);
	submit(&stage, BERTH_TIER_P2, stage.now_ms + 20, false);
	berth_order_set_clock(stage.core, stage.now_ms);
	assert_int_equal(stage.core->order.timed.n, 2);
	berth_order_set_clock(stage.core, stage.now_ms + 10);
	assert_int_equal(stage.core->order.timed.n, 1);
	assert_int_equal(stage.core->order.n_active, 1);
	berth_order_set_clock(stage.core, stage.now_ms + 9);
	assert_int_equal(stage.core->order.timed.n, 2);
	assert_int_equal(stage.core->order.n_active, 0);
	stage_close(&stage);
}

static void test_back_off_and_begin_the_later_counts(void **state)
{
	struct berth_job job = { .asked.begin_ms = 10, .eligible_ms = 20 };

	assert_int_equal(berth_order_due_ms(&job), 20);
	job.asked.begin_ms = 30;
	assert_int_equal(berth_order_due_ms(&job), 30);
}

/* Queues of different shapes and tiers merge into one line; skipping one shape leaves the others. */
static void test_the_walk_goes_down_the_line(void **state)
{
	struct berth_arena arena = { 0 };
	struct berth_walk walk;
	struct stage stage;
	uint64_t before = 0;

	stage_open(&stage, 0);
	for (uint32_t i = 0; i < 30; i++)
		stage_submit(&stage, 1 + i % 4, STAGE_MINUTE);
	assert_int_equal(berth_walk_begin(&walk, stage.core, &arena, NULL, 0), 0);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(berth_walk_job(&walk)->job.id, before + 1);
		before = berth_walk_job(&walk)->job.id;
		berth_walk_next(&walk);
	}
	berth_walk_skip(&walk); /* job 11, and with it 15, 19 … */
	for (before = 11; berth_walk_job(&walk); berth_walk_next(&walk)) {
		assert_true(berth_walk_job(&walk)->job.id > before);
		before = berth_walk_job(&walk)->job.id;
		assert_int_not_equal(before % 4, 11 % 4);
	}
	assert_int_equal(before, 30);
	berth_arena_fini(&arena);
	stage_close(&stage);
}

static void test_the_walk_takes_extra_jobs_in_their_place(void **state)
{
	struct berth_arena arena = { 0 };
	struct berth_walk walk;
	struct berth_job_rec *extra;
	struct stage stage;

	stage_open(&stage, 1);
	for (int i = 0; i < 3; i++)
		stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	assert_int_equal(stage_job(&stage, 1)->state, BERTH_JOB_STARTING);
	extra = berth_model_job(stage.core, 1);
	assert_int_equal(berth_walk_begin(&walk, stage.core, &arena, &extra, 1), 0);
	for (uint64_t id = 1; id <= 3; id++) {
		assert_int_equal(berth_walk_job(&walk)->job.id, id);
		berth_walk_next(&walk);
	}
	assert_null(berth_walk_job(&walk));
	berth_arena_fini(&arena);
	stage_close(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tiers_then_submission),
		cmocka_unit_test(test_those_that_cannot_start_stand_behind),
		cmocka_unit_test(test_no_more_is_written_than_there_is_room),
		cmocka_unit_test(test_the_cancelled_stand_in_no_line),
		cmocka_unit_test(test_the_clock_moves_jobs_both_ways),
		cmocka_unit_test(test_back_off_and_begin_the_later_counts),
		cmocka_unit_test(test_the_walk_goes_down_the_line),
		cmocka_unit_test(test_the_walk_takes_extra_jobs_in_their_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
