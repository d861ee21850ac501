#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"

static void test_boot_clock_runs_forwards(void **state)
{
	const struct timespec nap = {.tv_nsec = 5000000};
	const uint64_t before = berth_clock_boot_ms();
	uint64_t after;

	assert_int_equal(nanosleep(&nap, NULL), 0);
	after = berth_clock_boot_ms();
	assert_true(after - before >= 4 && after - before < 60000);
}

static void test_boot_clock_counts_suspend(void **state)
{
	struct timespec monotonic;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &monotonic), 0);
	assert_true(berth_clock_boot_ms() >= (uint64_t)monotonic.tv_sec * 1000);
}

static void test_wall_clock_is_the_systems(void **state)
{
	const uint64_t now_ms = berth_clock_wall_ms();
	const time_t now = time(NULL);

	assert_true(now_ms / 1000 + 60 > (uint64_t)now && now_ms / 1000 < (uint64_t)now + 60);
}

static void test_boot_id_is_a_uuid_and_stays(void **state)
{
	char id[37];
	char again[37];

	assert_int_equal(berth_clock_boot_id(id), 0);
	assert_int_equal(strlen(id), 36);
	for (size_t i = 0; i < 36; i++)
		assert_true(i == 8 || i == 13 || i == 18 || i == 23 ? id[i] == '-' : isxdigit((unsigned char)id[i]));
	assert_int_equal(berth_clock_boot_id(again), 0);
	assert_string_equal(id, again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boot_clock_runs_forwards),
		cmocka_unit_test(test_boot_clock_counts_suspend),
		cmocka_unit_test(test_wall_clock_is_the_systems),
		cmocka_unit_test(test_boot_id_is_a_uuid_and_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
