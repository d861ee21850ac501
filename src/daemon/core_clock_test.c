#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/core_clock.h"

#define DAY_MS UINT64_C(86400000)
#define START_MS UINT64_C(1790000000000)

static void test_runs_with_the_boot_clock(void **state)
{
	struct berth_core_clock clock;

	berth_core_clock_init(&clock, START_MS, 5000);
	assert_int_equal(berth_core_clock_at(&clock, 5000), START_MS);
	assert_int_equal(berth_core_clock_at(&clock, 5001), START_MS + 1);
	assert_int_equal(berth_core_clock_at(&clock, 5000 + DAY_MS), START_MS + DAY_MS);
	/* never before its anchoring, whatever is asked */
	assert_int_equal(berth_core_clock_at(&clock, 4999), START_MS);
}

/* The date is set a day ahead and a day back under the running daemon: only the drift that doctor shows changes. */
static void test_a_step_of_the_date_moves_nothing(void **state)
{
	struct berth_core_clock clock;

	berth_core_clock_init(&clock, START_MS, 5000);
	assert_int_equal(berth_core_clock_drift(&clock, START_MS + 1000, 6000), 0);
	assert_int_equal(berth_core_clock_drift(&clock, START_MS + 1000 + DAY_MS, 6000), (int64_t)DAY_MS);
	assert_int_equal(berth_core_clock_drift(&clock, START_MS + 1000 - DAY_MS, 6000), -(int64_t)DAY_MS);
	assert_int_equal(berth_core_clock_at(&clock, 6000), START_MS + 1000);
}

static void test_never_behind_the_journal(void **state)
{
	struct berth_core_clock clock;

	/* the date was set back a day while the daemon was down */
	berth_core_clock_init(&clock, START_MS - DAY_MS, 100);
	berth_core_clock_raise(&clock, START_MS, 150);
	assert_int_equal(berth_core_clock_at(&clock, 150), START_MS);
	assert_int_equal(berth_core_clock_at(&clock, 151), START_MS + 1);
	/* a floor that is passed already changes nothing */
	berth_core_clock_raise(&clock, START_MS - 5, 152);
	assert_int_equal(berth_core_clock_at(&clock, 152), START_MS + 2);
	berth_core_clock_raise(&clock, START_MS + 2, 152);
	assert_int_equal(berth_core_clock_at(&clock, 152), START_MS + 2);
}

static void test_deadlines(void **state)
{
	struct berth_core_clock clock;

	berth_core_clock_init(&clock, START_MS, 5000);
	assert_int_equal(berth_core_clock_to_boot(&clock, UINT64_MAX), UINT64_MAX);
	assert_int_equal(berth_core_clock_to_boot(&clock, UINT64_MAX - 1), UINT64_MAX - 1 - START_MS + 5000);
	assert_int_equal(berth_core_clock_to_boot(&clock, START_MS + 250), 5250);
	assert_int_equal(berth_core_clock_to_boot(&clock, START_MS), 5000);
	assert_int_equal(berth_core_clock_to_boot(&clock, 0), 5000);
	/* beyond the end of the boot clock is never, not a wrapped past */
	berth_core_clock_init(&clock, 10, 5000);
	assert_int_equal(berth_core_clock_to_boot(&clock, UINT64_MAX - 100), UINT64_MAX);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs_with_the_boot_clock),
		cmocka_unit_test(test_a_step_of_the_date_moves_nothing),
		cmocka_unit_test(test_never_behind_the_journal),
		cmocka_unit_test(test_deadlines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
