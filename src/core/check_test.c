#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include "core/stage_test.h"

static int check(const struct stage *stage, struct berth_request request, struct berth_reason *ret)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_JOB_SUBMITTED);
	fact.u.submit.job = berth_core_next_job(stage->core);
	fact.u.submit.tier = BERTH_TIER_P2;
	fact.u.submit.request = request;
	if (!request.gpu_model)
		fact.u.submit.request.gpu_model = "";
	if (!request.limit_ms)
		fact.u.submit.request.limit_ms = STAGE_MINUTE;
	return berth_core_check(stage->core, &fact, ret);
}

static void assert_reason(struct berth_reason reason, enum berth_reason_code code, uint64_t a, uint64_t b)
{
	assert_string_equal(berth_reason_name(reason.code), berth_reason_name(code));
	assert_int_equal(reason.a, a);
	assert_int_equal(reason.b, b);
}

static void test_what_can_never_be(void **state)
{
	struct berth_reason why;
	struct stage stage;

	stage_open(&stage, 4);
	stage_device(&stage, 5, 2, 0, "H100-94GB", 94 * STAGE_GIB);
	stage_device(&stage, 6, 2, 1, "H100-94GB", 94 * STAGE_GIB);
	assert_int_equal(check(&stage, (struct berth_request){ .gpus = 4 }, &why), 0);
	assert_int_equal(why.code, BERTH_REASON_NONE);
	assert_int_equal(check(&stage, (struct berth_request){ .gpus = 6 }, &why), -ERANGE); /* no node has six */
	assert_reason(why, BERTH_REASON_TOO_MANY_GPUS, 6, 4);
	assert_int_equal(check(&stage, (struct berth_request){ .gpus = 3, .gpu_model = "h100-94gb" }, &why), -ERANGE);
	assert_reason(why, BERTH_REASON_TOO_MANY_GPUS, 3, 2);
	assert_int_equal(check(&stage, (struct berth_request){ .gpus = 3, .gpu_mem_bytes = 90 * STAGE_GIB }, &why),
	                 -ERANGE);
	assert_reason(why, BERTH_REASON_TOO_MANY_GPUS, 3, 2);
	assert_int_equal(check(&stage, (struct berth_request){ .gpus = 1, .gpu_model = "B200" }, &why), -ERANGE);
	assert_reason(why, BERTH_REASON_NO_SUCH_MODEL, 0, 0);
	assert_int_equal(check(&stage, (struct berth_request){ .gpus = 1, .gpu_model = "H100" }, &why), -ERANGE);
	assert_int_equal(check(&stage, (struct berth_request){ .gpus = 1, .gpu_mem_bytes = 95 * STAGE_GIB }, &why),
	                 -ERANGE);
	assert_reason(why, BERTH_REASON_GPU_TOO_SMALL, 95 * STAGE_GIB, 94 * STAGE_GIB);
	assert_int_equal(
		check(&stage,
	              (struct berth_request){ .gpus = 1, .gpu_mem_bytes = 81 * STAGE_GIB, .gpu_model = "a100-80GB" },
	              &why),
		-ERANGE);
	assert_reason(why, BERTH_REASON_GPU_TOO_SMALL, 81 * STAGE_GIB, 80 * STAGE_GIB);
	assert_int_equal(check(&stage, (struct berth_request){ .gpus = 1, .index_mask = 1u << 9 }, &why), -ERANGE);
	assert_reason(why, BERTH_REASON_NO_SUCH_INDEX, 1u << 9, 0x0f);
	assert_int_equal(check(&stage, (struct berth_request){ .gpus = 3, .index_mask = 0x03 }, &why), -ERANGE);
	assert_reason(why, BERTH_REASON_TOO_MANY_GPUS, 3, 2);
	stage_close(&stage);
}

static void test_a_device_out_of_service_may_come_back(void **state)
{
	struct stage stage;

	stage_open(&stage, 2);
	assert_int_equal(stage_health(&stage, 1, BERTH_HEALTH_LOST), 0);
	assert_int_equal(stage_drain(&stage, 2, true), 0);
	assert_int_equal(check(&stage, (struct berth_request){ .gpus = 2 }, NULL), 0);
	stage_close(&stage);
}

static void test_a_site_without_devices(void **state)
{
	struct berth_reason why;
	struct stage stage;

	stage_open(&stage, 0);
	assert_int_equal(check(&stage, (struct berth_request){ .gpus = 1 }, &why), -ERANGE);
	assert_reason(why, BERTH_REASON_NO_NODE, 0, 0);
	assert_int_equal(check(&stage, (struct berth_request){ .gpus = 0, .gpu_model = "B200" }, &why), 0);
	stage_close(&stage);
}

static void test_nonsense(void **state)
{
	struct berth_reason why;
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 8);
	assert_int_equal(check(&stage, (struct berth_request){ .gpus = 17 }, &why), -EINVAL);
	assert_reason(why, BERTH_REASON_TOO_MANY_GPUS, 17, 8);
	fact = stage_submission(&stage, 1, 0);
	assert_int_equal(berth_core_check(stage.core, &fact, &why), -EINVAL);
	fact = stage_submission(&stage, 1, 1);
	fact.u.submit.tier = (enum berth_tier)3;
	assert_int_equal(berth_core_check(stage.core, &fact, &why), -EINVAL);
	berth_fact_init(&fact, BERTH_FACT_ATTEMPT_STARTED);
	assert_int_equal(berth_core_check(stage.core, &fact, &why), -EINVAL);
	stage_close(&stage);
}

static int wish(const struct stage *stage, enum berth_fact_kind kind, uint64_t job)
{
	struct berth_fact fact;

	berth_fact_init(&fact, kind);
	fact.u.job.job = job;
	return berth_core_check(stage->core, &fact, NULL);
}

static void test_wishes_in_every_state(void **state)
{
	struct stage stage;

	stage_open(&stage, 1);
	stage_submit(&stage, 1, STAGE_MINUTE); /* will run */
	stage_submit(&stage, 1, STAGE_MINUTE); /* waits */
	stage_submit(&stage, 1, STAGE_MINUTE); /* held */
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_HELD, 3), 0);
	stage_settle(&stage);
	stage_start(&stage, 1);
	for (uint64_t job = 1; job <= 3; job++)
		assert_int_equal(wish(&stage, BERTH_FACT_JOB_CANCEL_ASKED, job), 0);
	assert_int_equal(wish(&stage, BERTH_FACT_JOB_CANCEL_ASKED, 4), -ENOENT);
	assert_int_equal(wish(&stage, BERTH_FACT_JOB_HELD, 1), -EBUSY);
	assert_int_equal(wish(&stage, BERTH_FACT_JOB_HELD, 2), 0);
	assert_int_equal(wish(&stage, BERTH_FACT_JOB_HELD, 3), 0);
	assert_int_equal(wish(&stage, BERTH_FACT_JOB_RELEASED, 2), -EBUSY);
	assert_int_equal(wish(&stage, BERTH_FACT_JOB_RELEASED, 3), 0);
	assert_int_equal(wish(&stage, BERTH_FACT_JOB_REQUEUE_ASKED, 1), 0);
	assert_int_equal(wish(&stage, BERTH_FACT_JOB_REQUEUE_ASKED, 2), -EBUSY);
	assert_int_equal(wish(&stage, BERTH_FACT_JOB_REQUEUE_ASKED, 3), -EBUSY);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_CANCEL_ASKED, 1), 0);
	assert_int_equal(wish(&stage, BERTH_FACT_JOB_REQUEUE_ASKED, 1), -EBUSY);
	stage_settle(&stage);
	stage_end(&stage, 1, 0, BERTH_STOP_CANCEL);
	stage_settle(&stage);
	assert_int_equal(wish(&stage, BERTH_FACT_JOB_CANCEL_ASKED, 1), 0); /* over already: no error */
	assert_int_equal(wish(&stage, BERTH_FACT_JOB_REQUEUE_ASKED, 1), 0);
	assert_int_equal(wish(&stage, BERTH_FACT_JOB_HELD, 1), -EBUSY);
	stage_close(&stage);
}

static int alter(const struct stage *stage, uint64_t job, uint32_t fields, struct berth_request request,
                 struct berth_reason *why)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_JOB_ALTERED);
	fact.u.alter.job = job;
	fact.u.alter.fields = fields;
	fact.u.alter.request = request;
	if (!request.gpu_model)
		fact.u.alter.request.gpu_model = "";
	return berth_core_check(stage->core, &fact, why);
}

static void test_alterations(void **state)
{
	struct berth_reason why;
	struct stage stage;

	stage_open(&stage, 2);
	stage_submit(&stage, 2, STAGE_MINUTE);
	stage_submit(&stage, 2, STAGE_MINUTE);
	stage_settle(&stage);
	assert_int_equal(alter(&stage, 9, BERTH_ALTER_NAME, (struct berth_request){ 0 }, &why), -ENOENT);
	assert_int_equal(alter(&stage, 2, 0, (struct berth_request){ 0 }, &why), -EINVAL);
	assert_int_equal(alter(&stage, 2, BERTH_ALTER_LIMIT, (struct berth_request){ 0 }, &why), -EINVAL);
	assert_int_equal(alter(&stage, 2, BERTH_ALTER_GPUS, (struct berth_request){ .gpus = 1 }, &why), 0);
	assert_int_equal(alter(&stage, 2, BERTH_ALTER_GPUS, (struct berth_request){ .gpus = 3 }, &why), -ERANGE);
	assert_reason(why, BERTH_REASON_TOO_MANY_GPUS, 3, 2);
	assert_int_equal(alter(&stage, 2, BERTH_ALTER_MODEL, (struct berth_request){ .gpu_model = "T4" }, &why),
	                 -ERANGE);
	assert_int_equal(alter(&stage, 1, BERTH_ALTER_GPUS, (struct berth_request){ .gpus = 1 }, &why), -EBUSY);
	assert_int_equal(alter(&stage, 1, BERTH_ALTER_LIMIT, (struct berth_request){ .limit_ms = 5 }, &why), 0);
	stage_end(&stage, 1, 0, BERTH_STOP_NONE);
	stage_settle(&stage);
	assert_int_equal(alter(&stage, 1, BERTH_ALTER_NAME, (struct berth_request){ 0 }, &why), -EBUSY);
	stage_close(&stage);
}

static void test_drain(void **state)
{
	struct berth_fact fact;
	struct stage stage;

	stage_open(&stage, 1);
	berth_fact_init(&fact, BERTH_FACT_DEVICE_DRAIN);
	fact.u.drain.device = 1;
	assert_int_equal(berth_core_check(stage.core, &fact, NULL), 0);
	fact.u.drain.device = 2;
	assert_int_equal(berth_core_check(stage.core, &fact, NULL), -ENOENT);
	stage_close(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_can_never_be), cmocka_unit_test(test_a_device_out_of_service_may_come_back),
		cmocka_unit_test(test_a_site_without_devices), cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_wishes_in_every_state), cmocka_unit_test(test_alterations),
		cmocka_unit_test(test_drain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
