#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "core/strings.h"

static void test_equal_text_is_one_string(void **state)
{
	struct berth_strings strings = { 0 };
	const char *a = berth_strings_keep(&strings, "train");
	char copy[] = "train";

	assert_ptr_equal(a, berth_strings_keep(&strings, copy));
	assert_ptr_not_equal(a, berth_strings_keep(&strings, "trai"));
	assert_ptr_not_equal(a, berth_strings_keep(&strings, "traina"));
	assert_string_equal(a, "train");
	assert_int_equal(strings.n, 3);
	berth_strings_fini(&strings);
}

static void test_a_string_goes_with_its_last_holder(void **state)
{
	struct berth_strings strings = { 0 };
	const char *a = berth_strings_keep(&strings, "x");

	assert_ptr_equal(berth_strings_keep(&strings, "x"), a);
	berth_strings_drop(&strings, a);
	assert_ptr_equal(berth_strings_find(&strings, "x"), a);
	berth_strings_drop(&strings, a);
	assert_null(berth_strings_find(&strings, "x"));
	assert_int_equal(strings.n, 0);
	berth_strings_fini(&strings);
}

static void test_the_empty_string_is_never_stored(void **state)
{
	struct berth_strings strings = { 0 };
	const char *a = berth_strings_keep(&strings, "");

	assert_string_equal(a, "");
	berth_strings_drop(&strings, a);
	assert_int_equal(berth_strings_pin(&strings, ""), 0);
	assert_string_equal(berth_strings_find(&strings, ""), "");
	assert_int_equal(strings.n, 0);
	berth_strings_fini(&strings);
}

static void test_lower_case_is_ascii_only(void **state)
{
	struct berth_strings strings = { 0 };
	const char *lower = berth_strings_keep_lower(&strings, "A100-ÄZ");

	assert_string_equal(lower, "a100-Äz");
	assert_ptr_equal(lower, berth_strings_keep_lower(&strings, "a100-Äz"));
	assert_ptr_equal(lower, berth_strings_keep(&strings, "a100-Äz"));
	assert_ptr_equal(lower, berth_strings_find_lower(&strings, "A100-ÄZ"));
	assert_null(berth_strings_find(&strings, "A100-ÄZ"));
	assert_null(berth_strings_find_lower(&strings, "a100-äz"));
	berth_strings_fini(&strings);
}

static void test_a_pinned_string_outlives_its_holders(void **state)
{
	struct berth_strings strings = { 0 };
	const char *a = berth_strings_keep(&strings, "x");

	assert_int_equal(berth_strings_pin(&strings, "x"), 0);
	assert_int_equal(berth_strings_pin(&strings, "x"), 0);
	assert_int_equal(berth_strings_pin_lower(&strings, "Y"), 0);
	berth_strings_drop(&strings, a);
	assert_ptr_equal(berth_strings_find(&strings, "x"), a);
	assert_string_equal(berth_strings_keep(&strings, "y"), "y");
	berth_strings_unpin(&strings, NULL);
	assert_null(berth_strings_find(&strings, "x"));
	assert_non_null(berth_strings_find(&strings, "y"));
	berth_strings_fini(&strings);
}

static void test_unpin_goes_back_to_a_mark(void **state)
{
	struct berth_strings strings = { 0 };
	const struct berth_string *mark;

	assert_int_equal(berth_strings_pin(&strings, "before"), 0);
	mark = strings.pinned;
	assert_int_equal(berth_strings_pin(&strings, "behind"), 0);
	assert_int_equal(berth_strings_pin(&strings, "before"), 0);
	berth_strings_unpin(&strings, mark);
	assert_null(berth_strings_find(&strings, "behind"));
	assert_non_null(berth_strings_find(&strings, "before"));
	berth_strings_fini(&strings);
}

static void test_thousands_are_found(void **state)
{
	struct berth_strings strings = { 0 };
	char text[32];

	for (int i = 0; i < 5000; i++) {
		(void)snprintf(text, sizeof(text), "job-%d", i);
		assert_non_null(berth_strings_keep(&strings, text));
	}
	for (int i = 0; i < 5000; i += 2) {
		(void)snprintf(text, sizeof(text), "job-%d", i);
		berth_strings_drop(&strings, berth_strings_find(&strings, text));
	}
	for (int i = 0; i < 5000; i++) {
		(void)snprintf(text, sizeof(text), "job-%d", i);
		assert_int_equal(berth_strings_find(&strings, text) != NULL, i % 2);
	}
	assert_in_range(strings.n_buckets, strings.n, UINT32_MAX);
	berth_strings_fini(&strings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_text_is_one_string),
		cmocka_unit_test(test_a_string_goes_with_its_last_holder),
		cmocka_unit_test(test_the_empty_string_is_never_stored),
		cmocka_unit_test(test_lower_case_is_ascii_only),
		cmocka_unit_test(test_a_pinned_string_outlives_its_holders),
		cmocka_unit_test(test_unpin_goes_back_to_a_mark),
		cmocka_unit_test(test_thousands_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
