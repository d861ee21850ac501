#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include "base/arena.h"

static void test_memory_is_zeroed_aligned_and_apart(void **state)
{
	BERTH_AUTO_ARENA struct berth_arena arena = {0};
	unsigned char *seen[500];

	for (size_t i = 0; i < 500; i++) {
		const size_t n = 1 + i % 97;

		seen[i] = berth_arena_alloc(&arena, n);
		assert_non_null(seen[i]);
		assert_int_equal((uintptr_t)seen[i] % _Alignof(max_align_t), 0);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(seen[i][k], 0);
		memset(seen[i], (int)(i % 255) + 1, n);
	}
	for (size_t i = 0; i < 500; i++)
		for (size_t k = 0; k < 1 + i % 97; k++)
			assert_int_equal(seen[i][k], i % 255 + 1);
}

static void test_memory_is_zeroed_again_after_a_reset(void **state)
{
	BERTH_AUTO_ARENA struct berth_arena arena = {0};
	unsigned char *first = berth_arena_alloc(&arena, 64);
	const unsigned char *again;

	memset(first, 0xff, 64);
	berth_arena_reset(&arena);
	again = berth_arena_alloc(&arena, 64);
	assert_ptr_equal(again, first);
	for (size_t i = 0; i < 64; i++)
		assert_int_equal(again[i], 0);
}

static void test_reset_keeps_the_largest_block(void **state)
{
	BERTH_AUTO_ARENA struct berth_arena arena = {0};
	const size_t large = 3 * 1024 * 1024;
	const void *at;

	assert_non_null(berth_arena_alloc(&arena, 10));
	at = berth_arena_alloc(&arena, large);
	assert_non_null(berth_arena_alloc(&arena, 100000));
	berth_arena_reset(&arena);
	assert_ptr_equal(berth_arena_alloc(&arena, large), at);
	berth_arena_reset(&arena);
	berth_arena_reset(&arena);
	assert_ptr_equal(berth_arena_alloc(&arena, 1), at);
}

static void test_no_bytes_are_a_pointer_of_their_own(void **state)
{
	BERTH_AUTO_ARENA struct berth_arena arena = {0};
	const void *a = berth_arena_alloc(&arena, 0);
	const void *b = berth_arena_alloc(&arena, 0);

	assert_non_null(a);
	assert_non_null(b);
	assert_ptr_not_equal(a, b);
	assert_non_null(berth_arena_memdup(&arena, NULL, 0));
}

static void test_impossible_sizes_are_refused(void **state)
{
	BERTH_AUTO_ARENA struct berth_arena arena = {0};

	assert_null(berth_arena_alloc(&arena, SIZE_MAX));
	assert_null(berth_arena_alloc(&arena, SIZE_MAX - 16));
	assert_null(berth_arena_alloc(&arena, (size_t)PTRDIFF_MAX + 1));
	assert_non_null(berth_arena_alloc(&arena, 8));
}

static void test_copies(void **state)
{
	BERTH_AUTO_ARENA struct berth_arena arena = {0};
	char word[] = "quay";
	const unsigned char bytes[] = {1, 0, 2};
	char *copy = berth_arena_strdup(&arena, word);
	const void *mem = berth_arena_memdup(&arena, bytes, sizeof(bytes));

	word[0] = 'Q';
	assert_string_equal(copy, "quay");
	assert_memory_equal(mem, bytes, sizeof(bytes));
	assert_null(berth_arena_strdup(&arena, NULL));
	assert_string_equal(berth_arena_strdup(&arena, ""), "");
}

static void test_fini_leaves_an_empty_arena(void **state)
{
	struct berth_arena arena = {0};

	berth_arena_fini(&arena);
	assert_non_null(berth_arena_alloc(&arena, 5000));
	berth_arena_fini(&arena);
	assert_null(arena.head);
	assert_non_null(berth_arena_alloc(&arena, 1));
	berth_arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_is_zeroed_aligned_and_apart),
		cmocka_unit_test(test_memory_is_zeroed_again_after_a_reset),
		cmocka_unit_test(test_reset_keeps_the_largest_block),
		cmocka_unit_test(test_no_bytes_are_a_pointer_of_their_own),
		cmocka_unit_test(test_impossible_sizes_are_refused),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_fini_leaves_an_empty_arena),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
