#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "core/stage_test.h"
#include "core/timeline.h"

static void test_end_is_start_limit_and_grace(void **state)
{
	struct berth_job job = { .state = BERTH_JOB_RUNNING,
		                 .start_ms = 1000,
		                 .asked = { .request.limit_ms = 500, .grace_ms = 30 } };

	assert_int_equal(berth_timeline_end_ms(&job, 1100), 1530);
	assert_int_equal(berth_timeline_end_ms(&job, 1530), 1531); /* overdue: any moment, but not yet */
	job.start_ms = 0;
	assert_int_equal(berth_timeline_end_ms(&job, 2000), 2530); /* it has not started: all is ahead */
	job.state = BERTH_JOB_STOPPING;
	job.stop_deadline_ms = 2100;
	assert_int_equal(berth_timeline_end_ms(&job, 2000), 2100);
	job.asked.request.limit_ms = UINT64_MAX;
	job.stop_deadline_ms = UINT64_MAX;
	assert_int_equal(berth_timeline_end_ms(&job, 2000), UINT64_MAX);
}

/* Two devices, the first with a job of an hour, the third lost; job 2 waits. */
static struct berth_timeline open_site(struct stage *stage)
{
	struct berth_timeline timeline;

	stage_open(stage, 3);
	stage_submit(stage, 1, 60 * STAGE_MINUTE);
	assert_int_equal(stage_health(stage, 3, BERTH_HEALTH_LOST), 0);
	stage_settle(stage);
	stage_start(stage, 1);
	stage_submit(stage, 2, 10 * STAGE_MINUTE);
	assert_int_equal(berth_timeline_draw(&timeline, stage->core, stage->now_ms), 0);
	return timeline;
}

static void test_drawn_as_it_is(void **state)
{
	struct stage stage;
	struct berth_timeline timeline = open_site(&stage);

	assert_int_equal(timeline.n_free, 1);
	assert_int_equal(timeline.free_on_node[0], 1);
	assert_false(timeline.device[0].is_free);
	assert_true(timeline.device[1].is_free);
	assert_false(timeline.device[2].is_free);
	assert_int_equal(timeline.device[0].free_ms, stage.now_ms + 60 * STAGE_MINUTE);
	assert_int_equal(timeline.device[1].free_ms, stage.now_ms);
	stage_close(&stage);
}

static void test_taken_and_laid_behind(void **state)
{
	const struct berth_share_set set = { .n = 1, .share = { { 2 } } };
	struct stage stage;
	struct berth_timeline timeline = open_site(&stage);
	const struct berth_shape *shape = berth_model_job(stage.core, 2)->shape;

	berth_timeline_take(&timeline, shape, &set);
	assert_int_equal(timeline.n_free, 0);
	assert_int_equal(timeline.free_on_node[0], 0);
	assert_false(timeline.device[1].is_free);
	assert_int_equal(timeline.device[1].free_ms, stage.now_ms + 10 * STAGE_MINUTE);
	berth_timeline_occupy(&timeline, shape, &set, stage.now_ms + 10 * STAGE_MINUTE);
	assert_int_equal(timeline.device[1].free_ms, stage.now_ms + 20 * STAGE_MINUTE);
	berth_timeline_occupy(&timeline, shape, &set, UINT64_MAX - 1);
	assert_int_equal(timeline.device[1].free_ms, UINT64_MAX);
	stage_close(&stage);
}

static void test_kept_for_the_first(void **state)
{
	const struct berth_share_set both = { .n = 2, .share = { { 1 }, { 2 } } }, one = { .n = 1, .share = { { 2 } } };
	struct stage stage;
	struct berth_timeline timeline = open_site(&stage);
	const struct berth_job_rec *rec = berth_model_job(stage.core, 2);

	berth_timeline_keep(&timeline, rec, &one, stage.now_ms + 5, 1);
	berth_timeline_keep(&timeline, berth_model_job(stage.core, 1), &both, stage.now_ms + 9, 2);
	assert_int_equal(timeline.device[1].kept_for, 2);
	assert_int_equal(timeline.device[1].kept_ms, stage.now_ms + 5);
	assert_int_equal(timeline.device[1].keeper, 1);
	assert_int_equal(timeline.device[0].kept_for, 1);
	assert_int_equal(timeline.device[0].keeper, 2);
	assert_true(timeline.device[1].is_free); /* for who is out of the way in time */
	assert_int_equal(timeline.device[1].free_ms, stage.now_ms + 9 + 60 * STAGE_MINUTE);
	stage_close(&stage);
}

static void test_hastened_never_to_now(void **state)
{
	struct stage stage;
	struct berth_timeline timeline = open_site(&stage);

	berth_timeline_hasten(&timeline, stage_job(&stage, 1), stage.now_ms + 100);
	assert_int_equal(timeline.device[0].free_ms, stage.now_ms + 100);
	berth_timeline_hasten(&timeline, stage_job(&stage, 1), stage.now_ms + 500);
	assert_int_equal(timeline.device[0].free_ms, stage.now_ms + 100);
	berth_timeline_hasten(&timeline, stage_job(&stage, 1), stage.now_ms);
	assert_int_equal(timeline.device[0].free_ms, stage.now_ms + 1);
	stage_close(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_end_is_start_limit_and_grace),
		cmocka_unit_test(test_drawn_as_it_is),
		cmocka_unit_test(test_taken_and_laid_behind),
		cmocka_unit_test(test_kept_for_the_first),
		cmocka_unit_test(test_hastened_never_to_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
