#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include "base/error.h"

static void test_text_and_code_are_set(void **state)
{
	struct berth_error err = {0};

	assert_int_equal(berth_error_set(&err, -EPERM, "job %d belongs to %s", 12, "lin"), -EPERM);
	assert_int_equal(err.code, -EPERM);
	assert_string_equal(err.text, "job 12 belongs to lin");
}

static void test_the_systems_words_follow(void **state)
{
	struct berth_error err = {0};

	assert_int_equal(berth_error_errno(&err, -ENOENT, "cannot open %s", "/x"), -ENOENT);
	assert_string_equal(err.text, "cannot open /x: No such file or directory");
	assert_int_equal(berth_error_errno(&err, -99999, "odd"), -99999);
	assert_string_equal(err.text, "odd: unknown error");
}

static void test_an_error_may_hold_its_own_cause(void **state)
{
	struct berth_error err = {0};

	(void)berth_error_set(&err, -EIO, "the disk said no");
	(void)berth_error_errno(&err, -EIO, "cannot save the journal");
	assert_string_equal(err.text, "cannot save the journal: Input/output error");
}

static void test_nobody_need_listen(void **state)
{
	assert_int_equal(berth_error_set(NULL, -EIO, "x"), -EIO);
	assert_int_equal(berth_error_errno(NULL, -EIO, "x"), -EIO);
}

/* A text that is too long ends with a whole character, whatever the cut falls on. */
static void test_a_cut_text_stays_utf8(void **state)
{
	static const char *const characters[] = {"a", "\xc3\xa9", "\xe5\x8d\xa1", "\xf0\x9f\x9a\xa2"};
	struct berth_error err = {0};

	for (size_t c = 0; c < 4; c++) {
		for (size_t lead = 0; lead < 4; lead++) {
			const size_t width = strlen(characters[c]);
			char text[400] = "";

			memset(text, '.', lead);
			for (size_t i = lead; i + width < sizeof(text); i += width)
				memcpy(text + i, characters[c], width + 1);
			(void)berth_error_set(&err, -EIO, "%s", text);
			assert_int_equal((strlen(err.text) - lead) % width, 0);
			assert_true(strlen(err.text) > sizeof(err.text) - 1 - width);
			assert_memory_equal(err.text, text, strlen(err.text));
		}
	}
}

static void test_a_text_that_just_fits_is_whole(void **state)
{
	struct berth_error err = {0};
	char text[sizeof(err.text)];

	memset(text, 'x', sizeof(text) - 4);
	memcpy(text + sizeof(text) - 4, "\xe5\x8d\xa1", 4);
	(void)berth_error_set(&err, -EIO, "%s", text);
	assert_string_equal(err.text, text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_and_code_are_set),
		cmocka_unit_test(test_the_systems_words_follow),
		cmocka_unit_test(test_an_error_may_hold_its_own_cause),
		cmocka_unit_test(test_nobody_need_listen),
		cmocka_unit_test(test_a_cut_text_stays_utf8),
		cmocka_unit_test(test_a_text_that_just_fits_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
