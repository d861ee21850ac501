#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include "core/stage_test.h"

static struct berth_why ask(struct stage *stage, uint64_t job)
{
	struct berth_why why;

	assert_int_equal(berth_core_why(stage->core, job, stage->now_ms, &why), 0);
	assert_int_equal(why.job, job);
	return why;
}

static void assert_reason(struct berth_reason reason, enum berth_reason_code code, uint64_t a, uint64_t b, uint64_t c)
{
	assert_string_equal(berth_reason_name(reason.code), berth_reason_name(code));
	assert_int_equal(reason.a, a);
	assert_int_equal(reason.b, b);
	assert_int_equal(reason.c, c);
}

/* Six of eight cards busy: four for ten minutes, two for an hour; then the first in line, who wants four. */
static void open_site(struct stage *stage)
{
	stage_open(stage, 8);
	stage_submit(stage, 4, 10 * STAGE_MINUTE);
	stage_submit(stage, 2, 60 * STAGE_MINUTE);
	stage_settle(stage);
	stage_start(stage, 1);
	stage_start(stage, 2);
	assert_int_equal(stage_submit(stage, 4, 30 * STAGE_MINUTE), 3);
}

static void test_resources(void **state)
{
	struct berth_why why;
	struct stage stage;

	open_site(&stage);
	why = ask(&stage, 3);
	assert_int_equal(why.n_reasons, 1);
	assert_reason(why.reasons[0], BERTH_REASON_RESOURCES, 4, 2, 8);
	assert_int_equal(why.forecast.earliest_ms, stage.now_ms);
	assert_int_equal(why.forecast.latest_ms, stage.now_ms + 10 * STAGE_MINUTE);
	assert_int_equal(why.n_devices, 8);
	assert_reason(why.devices[0].reason, BERTH_REASON_DEVICE_BUSY, 1, stage.now_ms + 10 * STAGE_MINUTE, 0);
	assert_reason(why.devices[5].reason, BERTH_REASON_DEVICE_BUSY, 2, stage.now_ms + 60 * STAGE_MINUTE, 0);
	assert_reason(why.devices[7].reason, BERTH_REASON_DEVICE_FREE, 0, 0, 0);
	assert_int_equal(why.devices[7].device, 8);
	stage_close(&stage);
}

static void test_fewer_devices_are_suggested(void **state)
{
	struct berth_why why;
	struct stage stage;

	open_site(&stage);
	why = ask(&stage, 3);
	assert_int_equal(why.n_suggestions, 1);
	assert_int_equal(why.suggestions[0].fields, BERTH_ALTER_GPUS);
	assert_int_equal(why.suggestions[0].request.gpus, 2);
	assert_int_equal(why.suggestions[0].starts_ms, stage.now_ms);
	stage_close(&stage);
}

static void test_priority_and_a_shorter_limit(void **state)
{
	struct berth_why why;
	struct stage stage;

	stage_open(&stage, 4);
	stage_submit(&stage, 2, 60 * STAGE_MINUTE);
	stage_settle(&stage);
	stage_start(&stage, 1);
	stage_submit(&stage, 4, 60 * STAGE_MINUTE);
	stage_submit(&stage, 2, 90 * STAGE_MINUTE);
	stage_settle(&stage);
	why = ask(&stage, 3);
	assert_int_equal(why.n_reasons, 1);
	assert_reason(why.reasons[0], BERTH_REASON_PRIORITY, 2, 0, 0);
	assert_reason(why.devices[3].reason, BERTH_REASON_DEVICE_RESERVED, 2, stage.now_ms + 60 * STAGE_MINUTE, 0);
	assert_int_equal(why.forecast.latest_ms, stage.now_ms + 120 * STAGE_MINUTE);
	assert_int_equal(why.n_suggestions, 1);
	assert_int_equal(why.suggestions[0].fields, BERTH_ALTER_LIMIT);
	assert_int_equal(why.suggestions[0].request.limit_ms, 60 * STAGE_MINUTE);
	assert_int_equal(why.suggestions[0].starts_ms, stage.now_ms);
	stage_close(&stage);
}

static void test_less_memory_other_model_any_index(void **state)
{
	struct berth_fact fact;
	struct berth_why why;
	struct stage stage;
	uint32_t fields = 0;

	stage_open(&stage, 1);
	stage_device(&stage, 2, 1, 1, "L40S", 48 * STAGE_GIB);
	stage_submit(&stage, 1, UINT64_MAX);
	stage_submit(&stage, 1, 60 * STAGE_MINUTE);
	fact = stage_submission(&stage, 1, 60 * STAGE_MINUTE);
	fact.u.submit.request.gpu_mem_bytes = 60 * STAGE_GIB;
	assert_int_equal(stage_fold(&stage, &fact), 0);
	fact = stage_submission(&stage, 1, 60 * STAGE_MINUTE);
	fact.u.submit.request.gpu_model = "a100-80gb";
	assert_int_equal(stage_fold(&stage, &fact), 0);
	fact = stage_submission(&stage, 1, 60 * STAGE_MINUTE);
	fact.u.submit.request.index_mask = 1;
	assert_int_equal(stage_fold(&stage, &fact), 0);
	stage_settle(&stage);
	stage_end(&stage, 1, 0, BERTH_STOP_NONE); /* had the small card */
	stage_settle(&stage);
	for (uint64_t job = 3; job <= 5; job++) {
		why = ask(&stage, job);
		assert_int_equal(why.n_suggestions, 1);
		assert_int_equal(why.suggestions[0].starts_ms, stage.now_ms);
		fields |= why.suggestions[0].fields;
		if (job == 3)
			assert_int_equal(why.suggestions[0].request.gpu_mem_bytes, 48 * STAGE_GIB);
	}
	assert_int_equal(fields, BERTH_ALTER_GPU_MEM | BERTH_ALTER_MODEL | BERTH_ALTER_INDEX);
	why = ask(&stage, 4);
	assert_reason(why.devices[1].reason, BERTH_REASON_DEVICE_MODEL, 0, 0, 0);
	why = ask(&stage, 5);
	assert_reason(why.devices[1].reason, BERTH_REASON_DEVICE_INDEX, 0, 0, 0);
	why = ask(&stage, 3);
	assert_reason(why.devices[1].reason, BERTH_REASON_DEVICE_MEMORY, 60 * STAGE_GIB, 48 * STAGE_GIB, 0);
	stage_close(&stage);
}

static void test_held_begin_and_more(void **state)
{
	struct berth_fact fact;
	struct berth_why why;
	struct stage stage;

	stage_open(&stage, 2);
	fact = stage_submission(&stage, 2, STAGE_MINUTE);
	fact.u.submit.begin_ms = stage.now_ms + 5000;
	assert_int_equal(stage_fold(&stage, &fact), 0);
	assert_int_equal(stage_drain(&stage, 2, true), 0);
	assert_int_equal(stage_health(&stage, 1, BERTH_HEALTH_UNKNOWN), 0);
	why = ask(&stage, 1);
	assert_int_equal(why.n_reasons, 2);
	assert_reason(why.reasons[0], BERTH_REASON_NO_DEVICES, 2, 2, 0);
	assert_reason(why.reasons[1], BERTH_REASON_BEGIN_TIME, stage.now_ms + 5000, 0, 0);
	assert_int_equal(why.forecast.earliest_ms, stage.now_ms + 5000);
	assert_int_equal(why.forecast.latest_ms, UINT64_MAX);
	assert_reason(why.devices[0].reason, BERTH_REASON_DEVICE_LOST, 0, 0, 0);
	assert_reason(why.devices[1].reason, BERTH_REASON_DEVICE_DRAINED, 0, 0, 0);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_HELD, 1), 0);
	why = ask(&stage, 1);
	assert_reason(why.reasons[0], BERTH_REASON_HELD, 0, 0, 0);
	assert_int_equal(why.forecast.earliest_ms, UINT64_MAX);
	assert_int_equal(why.n_suggestions, 0);
	stage_close(&stage);
}

static void test_back_off_tells_what_failed(void **state)
{
	struct berth_fact fact;
	struct berth_why why;
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	berth_fact_init(&fact, BERTH_FACT_ATTEMPT_REFUSED);
	fact.u.refused = (struct berth_fact_refused){ 1, 1, ENOSPC };
	assert_int_equal(stage_fold(&stage, &fact), 0);
	stage_settle(&stage);
	why = ask(&stage, 1);
	assert_int_equal(why.n_reasons, 2);
	assert_reason(why.reasons[0], BERTH_REASON_BACK_OFF, stage.now_ms + 10000, 1, 0);
	assert_reason(why.reasons[1], BERTH_REASON_LAUNCH_FAILED, ENOSPC, 0, 0);
	assert_int_equal(why.forecast.latest_ms, stage.now_ms + 10000);
	stage_close(&stage);
}

static void test_what_became_impossible(void **state)
{
	struct berth_why why;
	struct stage stage;

	stage_open(&stage, 2);
	stage_submit(&stage, 2, STAGE_MINUTE);
	stage_device(&stage, 2, 2, 0, "A100-80GB", 80 * STAGE_GIB); /* moved to another node */
	why = ask(&stage, 1);
	assert_reason(why.reasons[0], BERTH_REASON_TOO_MANY_GPUS, 2, 1, 0);
	assert_int_equal(why.suggestions[0].request.gpus, 1);
	stage_close(&stage);
}

static void test_jobs_that_do_not_wait(void **state)
{
	struct berth_why why;
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	why = ask(&stage, 1);
	assert_reason(why.reasons[0], BERTH_REASON_STARTING, 0, 0, 0); /* the next decision starts it */
	assert_int_equal(why.forecast.latest_ms, stage.now_ms);
	stage_settle(&stage);
	why = ask(&stage, 1);
	assert_reason(why.reasons[0], BERTH_REASON_STARTING, 0, 0, 0);
	stage_start(&stage, 1);
	assert_int_equal(ask(&stage, 1).n_reasons, 0);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_CANCEL_ASKED, 1), 0);
	stage_settle(&stage);
	why = ask(&stage, 1);
	assert_reason(why.reasons[0], BERTH_REASON_STOPPING, stage.now_ms, 0, 0);
	stage_end(&stage, 1, 7, BERTH_STOP_CANCEL);
	stage_settle(&stage);
	why = ask(&stage, 1);
	assert_reason(why.reasons[0], BERTH_REASON_CANCELLED, 0, 0, 0);
	assert_int_equal(berth_core_why(stage.core, 2, stage.now_ms, &why), -ENOENT);
	stage_close(&stage);
}

/* --- the whole queue -------------------------------------------------------------------------------------------- */

static void test_outlook_lays_one_behind_the_other(void **state)
{
	struct berth_outlook row[8];
	struct stage stage;

	stage_open(&stage, 2);
	for (int i = 0; i < 4; i++)
		stage_submit(&stage, 2, 10 * STAGE_MINUTE);
	stage_settle(&stage);
	stage_start(&stage, 1);
	assert_int_equal(berth_core_outlook(stage.core, stage.now_ms, row, 8), 3);
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(row[i].job, i + 2);
		assert_reason(row[i].reason, BERTH_REASON_RESOURCES, 2, 0, 2);
		assert_int_equal(row[i].forecast.latest_ms, stage.now_ms + (i + 1) * 10 * STAGE_MINUTE);
	}
	assert_int_equal(berth_core_outlook(stage.core, stage.now_ms, row, 1), 3);
	assert_int_equal(berth_core_outlook(stage.core, stage.now_ms, NULL, 0), 3);
	stage_close(&stage);
}

static void test_outlook_agrees_with_why(void **state)
{
	struct berth_outlook row[64];
	struct stage stage;
	ssize_t n;

	open_site(&stage);
	for (uint32_t i = 0; i < 40; i++) {
		struct berth_fact fact = stage_submission(&stage, i % 5, (1 + i % 7) * 10 * STAGE_MINUTE);

		fact.u.submit.tier = (enum berth_tier)(i % BERTH_TIER_COUNT);
		fact.u.submit.begin_ms = i % 6 == 0 ? stage.now_ms + i : 0;
		fact.u.submit.is_held = i % 11 == 0;
		assert_int_equal(stage_fold(&stage, &fact), 0);
	}
	stage_settle(&stage);
	n = berth_core_outlook(stage.core, stage.now_ms, row, 64);
	assert_in_range(n, 20, 41);
	for (ssize_t i = 0; i < n; i++) {
		struct berth_why why = ask(&stage, row[i].job);

		assert_int_equal(why.forecast.earliest_ms, row[i].forecast.earliest_ms);
		assert_int_equal(why.forecast.latest_ms == UINT64_MAX, row[i].forecast.latest_ms == UINT64_MAX);
		assert_true(why.forecast.latest_ms > stage.now_ms && row[i].forecast.latest_ms > stage.now_ms);
	}
	stage_close(&stage);
}

static void test_beyond_a_thousand_nothing_is_foretold(void **state)
{
	static struct berth_outlook row[1200];
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE);
	stage_settle(&stage);
	for (int i = 0; i < 1100; i++)
		stage_submit(&stage, 1, STAGE_MINUTE);
	assert_int_equal(berth_core_outlook(stage.core, stage.now_ms, row, 1200), 1100);
	assert_int_equal(row[999].forecast.latest_ms, stage.now_ms + 1000 * STAGE_MINUTE);
	assert_int_equal(row[1000].forecast.latest_ms, UINT64_MAX);
	assert_reason(row[1099].reason, BERTH_REASON_RESOURCES, 1, 0, 1);
	assert_int_equal(ask(&stage, 1001).forecast.latest_ms, stage.now_ms + 1000 * STAGE_MINUTE);
	assert_int_equal(ask(&stage, 1002).forecast.latest_ms, stage.now_ms + 1001 * STAGE_MINUTE);
	assert_int_equal(ask(&stage, 1003).forecast.latest_ms, UINT64_MAX);
	stage_close(&stage);
}

/* --- dry run ---------------------------------------------------------------------------------------------------- */

static void test_dry_run(void **state)
{
	struct berth_forecast forecast;
	struct berth_share_set set;
	struct berth_reason reason;
	struct berth_fact fact;
	struct stage stage;
	uint64_t hash;

	open_site(&stage);
	hash = berth_core_hash(stage.core);
	fact = stage_submission(&stage, 2, 5 * STAGE_MINUTE);
	assert_int_equal(berth_core_try(stage.core, &fact, stage.now_ms, &reason, &forecast, &set), 0);
	assert_int_equal(forecast.latest_ms, stage.now_ms);
	assert_int_equal(set.n, 2);
	assert_int_equal(set.share[0].device, 7);
	assert_int_equal(reason.code, BERTH_REASON_NONE);
	fact.u.submit.request.limit_ms = 60 * STAGE_MINUTE; /* still beside the first in line, who needs the four */
	assert_int_equal(berth_core_try(stage.core, &fact, stage.now_ms, &reason, &forecast, &set), 0);
	assert_int_equal(set.n, 2);
	fact.u.submit.request.gpus = 8;
	assert_int_equal(berth_core_try(stage.core, &fact, stage.now_ms, &reason, &forecast, &set), 0);
	assert_int_equal(set.n, 0);
	assert_int_equal(forecast.latest_ms, stage.now_ms + 60 * STAGE_MINUTE);
	assert_reason(reason, BERTH_REASON_RESOURCES, 8, 2, 8);
	fact.u.submit.begin_ms = stage.now_ms + 90 * STAGE_MINUTE;
	assert_int_equal(berth_core_try(stage.core, &fact, stage.now_ms, &reason, &forecast, &set), 0);
	assert_int_equal(forecast.earliest_ms, stage.now_ms + 90 * STAGE_MINUTE);
	assert_reason(reason, BERTH_REASON_BEGIN_TIME, stage.now_ms + 90 * STAGE_MINUTE, 0, 0);
	assert_int_equal(berth_core_try(stage.core, &fact, stage.now_ms, NULL, &forecast, &set), 0);
	fact.u.submit.request.gpus = 9;
	assert_int_equal(berth_core_try(stage.core, &fact, stage.now_ms, &reason, &forecast, &set), -ERANGE);
	assert_reason(reason, BERTH_REASON_TOO_MANY_GPUS, 9, 8, 0);
	berth_fact_init(&fact, BERTH_FACT_JOB_HELD);
	assert_int_equal(berth_core_try(stage.core, &fact, stage.now_ms, &reason, &forecast, &set), -EINVAL);
	assert_int_equal(berth_core_hash(stage.core), hash);
	stage_close(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resources),
		cmocka_unit_test(test_fewer_devices_are_suggested),
		cmocka_unit_test(test_priority_and_a_shorter_limit),
		cmocka_unit_test(test_less_memory_other_model_any_index),
		cmocka_unit_test(test_held_begin_and_more),
		cmocka_unit_test(test_back_off_tells_what_failed),
		cmocka_unit_test(test_what_became_impossible),
		cmocka_unit_test(test_jobs_that_do_not_wait),
		cmocka_unit_test(test_outlook_lays_one_behind_the_other),
		cmocka_unit_test(test_outlook_agrees_with_why),
		cmocka_unit_test(test_beyond_a_thousand_nothing_is_foretold),
		cmocka_unit_test(test_dry_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
