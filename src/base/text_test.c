#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include "base/text.h"

static void test_text_grows(void **state)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	char expected[5000];

	assert_string_equal(berth_text_str(&text), "");
	for (size_t i = 0; i < sizeof(expected) - 1; i++) {
		expected[i] = (char)('a' + i % 26);
		berth_text_addf(&text, "%c", expected[i]);
		assert_int_equal(text.at[text.len], 0);
	}
	expected[sizeof(expected) - 1] = '\0';
	assert_string_equal(berth_text_str(&text), expected);
	assert_int_equal(text.len, sizeof(expected) - 1);
}

static void test_text_adds_each_way(void **state)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};

	berth_text_add(&text, "job ");
	berth_text_addf(&text, "%d of %s", 12, "lin");
	berth_text_add_n(&text, ", done and dusted", 6);
	berth_text_add_n(&text, NULL, 0);
	berth_text_add(&text, "");
	assert_string_equal(berth_text_str(&text), "job 12 of lin, done");
}

static void test_a_failed_text_stays_failed(void **state)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};

	berth_text_add(&text, "kept");
	berth_text_add_n(&text, "x", SIZE_MAX / 2);
	assert_true(text.is_failed);
	assert_null(berth_text_str(&text));
	berth_text_add(&text, "more");
	berth_text_addf(&text, "%d", 1);
	assert_null(berth_text_str(&text));
	assert_string_equal(text.at, "kept");
	berth_text_fini(&text);
	berth_text_add(&text, "new");
	assert_string_equal(berth_text_str(&text), "new");
}

static bool is_valid(const char *s)
{
	return berth_utf8_is_valid(s, strlen(s));
}

static void test_utf8_validity(void **state)
{
	static const char *const good[] = {"",
	                                   "plain",
	                                   "\xc3\xa9",
	                                   "\xe5\x8d\xa1",
	                                   "\xf0\x9f\x9a\xa2",
	                                   "\xf4\x8f\xbf\xbf",
	                                   "\xef\xbf\xbf",
	                                   "\xc2\x80",
	                                   "\xed\x9f\xbf",
	                                   "\xee\x80\x80"};
	static const char *const bad[] = {"\x80",
	                                  "\xbf",
	                                  "\xc0\x80",
	                                  "\xc1\xbf",
	                                  "\xc3",
	                                  "\xe0\x9f\xbf",
	                                  "\xe5\x8d",
	                                  "\xe5\x41\x41",
	                                  "\xed\xa0\x80",
	                                  "\xed\xbf\xbf",
	                                  "\xf0\x8f\xbf\xbf",
	                                  "\xf0\x9f\x9a",
	                                  "\xf4\x90\x80\x80",
	                                  "\xf5\x80\x80\x80",
	                                  "\xff",
	                                  "\xfe",
	                                  "ok\xffok"};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(is_valid(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(is_valid(bad[i]));
	assert_false(berth_utf8_is_valid("a\0b", 3));
	assert_true(berth_utf8_is_valid(NULL, 0));
}

/* Every code point, encoded here, is valid unless it is a surrogate; one byte less never is. */
static void test_utf8_every_code_point(void **state)
{
	for (uint32_t c = 0x80; c < 0x110000; c++) {
		char s[4];
		size_t n = 0;

		if (c >= 0x10000)
			s[n++] = (char)(0xf0 | c >> 18);
		if (c >= 0x800)
			s[n] = (char)((n ? 0x80 : 0xe0) | (c >> 12 & (n ? 0x3f : 0x0f))), n++;
		s[n] = (char)((n ? 0x80 : 0xc0) | (c >> 6 & (n ? 0x3f : 0x1f))), n++;
		s[n++] = (char)(0x80 | (c & 0x3f));
		if (berth_utf8_is_valid(s, n) != (c < 0xd800 || c > 0xdfff) || berth_utf8_is_valid(s, n - 1))
			fail_msg("code point %x", c);
	}
}

static void test_display_width(void **state)
{
	static const struct {
		const char *s;
		size_t width;
	} table[] = {
		{"", 0},
		{"gpu01", 5},
		{"\xe7\x8e\x8b\xe5\xb0\x8f\xe6\x98\x8e", 6} /* three Han */,
		{"e\xcc\x81", 1} /* e + acute */,
		{"\xc3\xa9", 1},
		{"\xea\xb0\x80", 2} /* Hangul syllable */,
		{"\xe1\x84\x80\xe1\x85\xa1", 2} /* Hangul, joined from parts */,
		{"\xef\xbc\xa1", 2} /* fullwidth A */,
		{"\xef\xbd\xb1", 1} /* halfwidth kana */,
		{"\xf0\x9f\x9a\xa2", 2} /* ship */,
		{"\xf0\xa0\x80\x80", 2} /* Han, plane 2 */,
		{"\xe2\x80\x8b", 0} /* zero width space */,
		{"\xff", 1},
		{"a\x80z", 3},
		{"\xe5\x8d", 2} /* cut character: two stray bytes */,
		{"\t", 1},
		{"\xd8\xa7", 1} /* Arabic */,
		{"\xe2\x94\x80", 1} /* box drawing */,
		{"\xc2\xad", 1} /* soft hyphen */,
		{"\xe2\x9d\xa4\xef\xb8\x8f", 1} /* heart and variation selector */,
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_int_equal(berth_utf8_width(table[i].s), table[i].width);
}

static void assert_printable(const char *s, size_t max_width, const char *expected)
{
	BERTH_AUTO_FREE char *shown = berth_utf8_printable(s, max_width);

	assert_non_null(shown);
	assert_string_equal(shown, expected);
	if (max_width > 0)
		assert_true(berth_utf8_width(shown) <= max_width);
}

static void test_printable(void **state)
{
	assert_printable("", 0, "");
	assert_printable("", 5, "");
	assert_printable("train.py", 0, "train.py");
	assert_printable("a\033[2Jb\nc\x7f", 0, "a?[2Jb?c?");
	assert_printable("\xff"
	                 "a\xe5\x8d",
	                 0, "?a??");
	assert_printable("\xc2\x9b"
	                 "1m",
	                 0, "?1m");
	assert_printable("\xe2\x80\xae"
	                 "evil\xe2\x81\xa6",
	                 0, "?evil?");
	assert_printable("abcdef", 6, "abcdef");
	assert_printable("abcdefg", 6, "abcde\xe2\x80\xa6");
	assert_printable("abcdefg", 1, "\xe2\x80\xa6");
	/* A wide character that would stick out by half is left out. */
	assert_printable("\xe7\x8e\x8b\xe7\x8e\x8b\xe7\x8e\x8b", 4, "\xe7\x8e\x8b\xe2\x80\xa6");
	assert_printable("\xe7\x8e\x8b\xe7\x8e\x8b", 4, "\xe7\x8e\x8b\xe7\x8e\x8b");
	/* A mark stays with the letter it belongs to. */
	assert_printable("e\xcc\x81"
	                 "e\xcc\x81"
	                 "e\xcc\x81",
	                 2, "e\xcc\x81\xe2\x80\xa6");
}

static void test_distance(void **state)
{
	char longest[300];

	assert_int_equal(berth_text_distance("", ""), 0);
	assert_int_equal(berth_text_distance("abc", ""), 3);
	assert_int_equal(berth_text_distance("", "abc"), 3);
	assert_int_equal(berth_text_distance("kitten", "sitting"), 3);
	assert_int_equal(berth_text_distance("subimt", "submit"), 1);
	assert_int_equal(berth_text_distance("ca", "abc"), 3); /* restricted: a swapped pair is not edited again */
	assert_int_equal(berth_text_distance("ab", "ba"), 1);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(berth_text_distance(longest, longest), 0);
	assert_int_equal(berth_text_distance(longest, "x"), 255);
	assert_int_equal(berth_text_distance(longest + 44, ""), 255);
	assert_int_equal(berth_text_distance(longest + 44, longest + 45), 1);
}

static void test_nearest(void **state)
{
	static const char *const verbs[] = {"submit", "queue", "why", "run", "hold", "logs", NULL};
	static const char *const none[] = {NULL};

	assert_string_equal(berth_text_nearest("subimt", verbs), "submit");
	assert_string_equal(berth_text_nearest("sumbit", verbs), "submit");
	assert_string_equal(berth_text_nearest("quue", verbs), "queue");
	assert_string_equal(berth_text_nearest("log", verbs), "logs");
	assert_string_equal(berth_text_nearest("run", verbs), "run");
	assert_string_equal(berth_text_nearest("rnu", verbs), "run");
	assert_null(berth_text_nearest("xyz", verbs));
	assert_null(berth_text_nearest("rxx", verbs)); /* two of three letters wrong is another word */
	assert_null(berth_text_nearest("frobnicate", verbs));
	assert_null(berth_text_nearest("submit", none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_grows),
		cmocka_unit_test(test_text_adds_each_way),
		cmocka_unit_test(test_a_failed_text_stays_failed),
		cmocka_unit_test(test_utf8_validity),
		cmocka_unit_test(test_utf8_every_code_point),
		cmocka_unit_test(test_display_width),
		cmocka_unit_test(test_printable),
		cmocka_unit_test(test_distance),
		cmocka_unit_test(test_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
