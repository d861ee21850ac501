#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "core/table.h"

static void test_finds_what_was_put(void **state)
{
	struct berth_table table = { 0 };

	assert_int_equal(berth_table_get(&table, 7), BERTH_TABLE_NONE);
	assert_int_equal(berth_table_reserve(&table, 2), 0);
	berth_table_put(&table, 7, 70);
	berth_table_put(&table, UINT64_MAX, 1);
	assert_int_equal(berth_table_get(&table, 7), 70);
	assert_int_equal(berth_table_get(&table, UINT64_MAX), 1);
	assert_int_equal(berth_table_get(&table, 8), BERTH_TABLE_NONE);
	assert_int_equal(berth_table_get(&table, 0), BERTH_TABLE_NONE);
	berth_table_put(&table, 7, 71);
	assert_int_equal(berth_table_get(&table, 7), 71);
	assert_int_equal(table.n, 2);
	berth_table_fini(&table);
}

/* Keys come and go in bands, so that runs of cells form, wrap round the end and close again. */
static void test_removal_loses_nobody(void **state)
{
	enum { KEYS = 3000 };
	struct berth_table table = { 0 };
	uint64_t random = 1;
	static uint32_t value[KEYS];

	for (int round = 0; round < 60000; round++) {
		uint64_t key = 1 + (random = random * 6364136223846793005u + 1442695040888963407u, random >> 33) %
		                           (KEYS - 1);

		if (value[key]) {
			berth_table_remove(&table, key);
			value[key] = 0;
		} else {
			assert_int_equal(berth_table_reserve(&table, 1), 0);
			value[key] = (uint32_t)round + 1;
			berth_table_put(&table, key, value[key]);
		}
	}
	for (uint64_t key = 1; key < KEYS; key++)
		assert_int_equal(berth_table_get(&table, key), value[key] ? value[key] : BERTH_TABLE_NONE);
	berth_table_fini(&table);
}

static void test_removing_the_absent_is_nothing(void **state)
{
	struct berth_table table = { 0 };

	berth_table_remove(&table, 5);
	assert_int_equal(berth_table_reserve(&table, 1), 0);
	berth_table_put(&table, 5, 1);
	berth_table_remove(&table, 6);
	berth_table_remove(&table, 5);
	berth_table_remove(&table, 5);
	assert_int_equal(table.n, 0);
	berth_table_fini(&table);
}

static void test_reserve_keeps_the_keys(void **state)
{
	struct berth_table table = { 0 };

	assert_int_equal(berth_table_reserve(&table, 10), 0);
	for (uint64_t key = 1; key <= 10; key++)
		berth_table_put(&table, key, (uint32_t)key);
	assert_int_equal(berth_table_reserve(&table, 100000), 0);
	for (uint64_t key = 1; key <= 10; key++)
		assert_int_equal(berth_table_get(&table, key), key);
	assert_true(berth_table_reserve(&table, SIZE_MAX / 2) < 0);
	assert_int_equal(berth_table_get(&table, 10), 10);
	berth_table_fini(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_what_was_put),
		cmocka_unit_test(test_removal_loses_nobody),
		cmocka_unit_test(test_removing_the_absent_is_nothing),
		cmocka_unit_test(test_reserve_keeps_the_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
