#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "core/pool.h"

static void test_records_stay_where_they_are(void **state)
{
	struct berth_pool pool = { .item_bytes = 24 };
	uint64_t *first;

	assert_int_equal(berth_pool_reserve(&pool, 1), 0);
	first = berth_pool_at(&pool, berth_pool_take(&pool));
	*first = 42;
	assert_int_equal(berth_pool_reserve(&pool, 10000), 0);
	for (uint32_t i = 1; i <= 10000; i++)
		assert_int_equal(berth_pool_take(&pool), i);
	assert_ptr_equal(berth_pool_at(&pool, 0), first);
	assert_int_equal(*first, 42);
	berth_pool_fini(&pool);
}

static void test_slots_are_used_again_and_zeroed(void **state)
{
	struct berth_pool pool = { .item_bytes = 8 };
	uint64_t *record;

	assert_int_equal(berth_pool_reserve(&pool, 2), 0);
	assert_int_equal(berth_pool_take(&pool), 0);
	assert_int_equal(berth_pool_take(&pool), 1);
	record = berth_pool_at(&pool, 0);
	*record = 1;
	berth_pool_give(&pool, 0);
	assert_int_equal(berth_pool_take(&pool), 0);
	assert_int_equal(*record, 0);
	berth_pool_fini(&pool);
}

/* What was given back counts as room: a full turn over of records asks for no page more. */
static void test_room_counts_what_was_given_back(void **state)
{
	struct berth_pool pool = { .item_bytes = 8 };

	assert_int_equal(berth_pool_reserve(&pool, BERTH_POOL_PAGE), 0);
	for (uint32_t i = 0; i < BERTH_POOL_PAGE; i++)
		(void)berth_pool_take(&pool);
	for (uint32_t i = 0; i < BERTH_POOL_PAGE; i++)
		berth_pool_give(&pool, i);
	assert_int_equal(berth_pool_reserve(&pool, BERTH_POOL_PAGE), 0);
	assert_int_equal(pool.n_pages, 1);
	assert_int_equal(berth_pool_reserve(&pool, BERTH_POOL_PAGE + 1), 0);
	assert_int_equal(pool.n_pages, 2);
	berth_pool_fini(&pool);
	assert_int_equal(pool.n_pages, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_stay_where_they_are),
		cmocka_unit_test(test_slots_are_used_again_and_zeroed),
		cmocka_unit_test(test_room_counts_what_was_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
