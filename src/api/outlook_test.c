#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/outlook.h"

static void submit(struct berth_core *core, size_t n)
{
	struct berth_fact fact;

	for (size_t i = 0; i < n; i++) {
		berth_fact_init(&fact, BERTH_FACT_JOB_SUBMITTED);
		fact.seq = berth_core_seq(core) + 1;
		fact.u.submit.job = berth_core_next_job(core);
		fact.u.submit.user = "ann";
		fact.u.submit.name = "train";
		fact.u.submit.tier = BERTH_TIER_P2;
		fact.u.submit.request.gpus = 1;
		fact.u.submit.request.limit_ms = 60000;
		assert_int_equal(berth_core_fold(core, &fact), 0);
	}
}

static void test_rows_hold_while_nothing_happens(void **state)
{
	struct berth_core *core = berth_core_new();
	struct berth_outlooks outlooks = {0};
	size_t position;

	assert_non_null(core);
	assert_int_equal(berth_outlooks_refresh(&outlooks, core, 1000), 0);
	assert_null(berth_outlooks_find(&outlooks, 1, &position));
	submit(core, 2);
	assert_int_equal(berth_outlooks_refresh(&outlooks, core, 1000), 0);
	assert_non_null(berth_outlooks_find(&outlooks, 2, &position));
	assert_int_equal(position, 2);
	assert_int_equal(berth_outlooks_refresh(&outlooks, core, 1999), 0);
	assert_int_equal(outlooks.at_ms, 1000);
	assert_int_equal(berth_outlooks_refresh(&outlooks, core, 2000), 0);
	assert_int_equal(outlooks.at_ms, 2000);
	berth_outlooks_fini(&outlooks);
	berth_core_free(core);
}

/* Few jobs are looked at every time; where there are many, a tenth of a second must lie between two looks. */
static void test_a_glance_is_not_repeated_at_once(void **state)
{
	struct berth_core *core = berth_core_new();
	struct berth_outlooks outlooks = {0};
	size_t position;

	assert_non_null(core);
	for (uint64_t job = 1; job <= 3; job++) {
		submit(core, 1);
		assert_int_equal(berth_outlooks_glance(&outlooks, core, 1000), 0);
		assert_non_null(berth_outlooks_find(&outlooks, job, &position));
	}
	submit(core, 2000);
	assert_int_equal(berth_outlooks_glance(&outlooks, core, 1099), 0);
	assert_null(berth_outlooks_find(&outlooks, 2003, &position));
	assert_non_null(berth_outlooks_find(&outlooks, 3, &position));
	assert_int_equal(berth_outlooks_glance(&outlooks, core, 1100), 0);
	assert_non_null(berth_outlooks_find(&outlooks, 2003, &position));
	submit(core, 1);
	assert_int_equal(berth_outlooks_glance(&outlooks, core, 1150), 0);
	assert_null(berth_outlooks_find(&outlooks, 2004, &position));
	/* Who wants to know exactly is told. */
	assert_int_equal(berth_outlooks_refresh(&outlooks, core, 1150), 0);
	assert_non_null(berth_outlooks_find(&outlooks, 2004, &position));
	assert_int_equal(position, 2004);
	berth_outlooks_fini(&outlooks);
	berth_core_free(core);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_hold_while_nothing_happens),
		cmocka_unit_test(test_a_glance_is_not_repeated_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
