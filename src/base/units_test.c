#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include "base/units.h"

#define SECOND UINT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static void test_durations(void **state)
{
	static const struct {
		const char *s;
		uint64_t ms;
	} good[] = {
		{"30", 30 * MINUTE},
		{"30:00", 30 * MINUTE},
		{"1:30", 90 * SECOND},
		{"0:30", 30 * SECOND},
		{"2-12", 2 * DAY + 12 * HOUR},
		{"1-00:00", DAY},
		{"0", 0},
		{"1h", HOUR},
		{"24:00:00", DAY},
		{"UNLIMITED", BERTH_UNLIMITED_MS},
		{"unlimited", BERTH_UNLIMITED_MS},
		{"Unlimited", BERTH_UNLIMITED_MS},
		{"1-02:03", DAY + 2 * HOUR + 3 * MINUTE},
		{"1-02:03:04", DAY + 2 * HOUR + 3 * MINUTE + 4 * SECOND},
		{"0-0", 0},
		{"0:00", 0},
		{"0-0:0:0", 0},
		{"90m", 90 * MINUTE},
		{"2h30m", 150 * MINUTE},
		{"1d", DAY},
		{"45s", 45 * SECOND},
		{"1d2h3m4s", DAY + 2 * HOUR + 3 * MINUTE + 4 * SECOND},
		{"1h90s", HOUR + 90 * SECOND},
		{"0s", 0},
		{"1d1s", DAY + SECOND},
		{"100:00:00", 100 * HOUR},
		{"600:30", 600 * MINUTE + 30 * SECOND},
		{"0-23:59:59", DAY - SECOND},
		{"007", 7 * MINUTE},
		{"36525-0", 36525 * DAY},
		{"36525d", 36525 * DAY},
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uint64_t ms = 77;
		struct berth_error err = {0};

		if (berth_duration_parse(good[i].s, &ms, &err) != 0 || ms != good[i].ms)
			fail_msg("%s: %s, %llu ms", good[i].s, err.text, (unsigned long long)ms);
	}
}

/* Nothing that is not understood becomes a limit, and least of all none. */
static void test_what_is_no_duration(void **state)
{
	static const char *const bad[] = {
		"",
		"-1",
		"99999999999",
		"1:60",
		"+1",
		" 1",
		"1 ",
		"1:",
		":1",
		"1::2",
		"1:2:3:4",
		"1-",
		"-",
		"1-24",
		"1-0:60",
		"1-0:0:60",
		"1-2-3",
		"0:60:00",
		"1:00:60",
		"h",
		"1h2h",
		"1m2h",
		"1h30",
		"30h1",
		"1x",
		"1.5h",
		"1,5",
		"1:30m",
		"1-2h",
		"2H",
		"infinite",
		"UNLIMITED ",
		"unlimitedx",
		"UNLIMITE",
		"-1h",
		"18446744073709551616",
		"18446744073709551615s",
		"36525-0:0:1",
		"36525d1s",
		"52596001",
		"1e3",
		"0x10",
		"\xd9\xa1",
		"1h-30m",
		"forever",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t ms = 77;
		struct berth_error err = {0};

		if (berth_duration_parse(bad[i], &ms, &err) != -EINVAL || ms != 77)
			fail_msg("\"%s\" was taken for %llu ms", bad[i], (unsigned long long)ms);
		assert_int_equal(err.code, -EINVAL);
		assert_non_null(strstr(err.text, bad[i]));
		assert_int_equal(berth_duration_parse(bad[i], &ms, NULL), -EINVAL);
	}
}

static void test_a_refusal_shows_hostile_text_harmlessly(void **state)
{
	struct berth_error err = {0};
	uint64_t ms;

	assert_int_equal(berth_duration_parse("1\033[2J", &ms, &err), -EINVAL);
	assert_null(strchr(err.text, '\033'));
	assert_non_null(strstr(err.text, "\"1?[2J\""));
}

static void test_sizes(void **state)
{
	static const struct {
		const char *s;
		uint64_t bytes;
	} good[] = {
		{"0", 0},
		{"1", 1},
		{"512M", UINT64_C(512) << 20},
		{"10G", UINT64_C(10) << 30},
		{"10GiB", UINT64_C(10) << 30},
		{"10gb", UINT64_C(10) << 30},
		{"1.5G", UINT64_C(3) << 29},
		{"1K", 1024},
		{"2t", UINT64_C(2) << 40},
		{"0.5k", 512},
		{"1.25KIB", 1280},
		{"18446744073709551615", UINT64_MAX},
		{"16777215T", UINT64_C(16777215) << 40},
		{"0.333333333333333333333G", 357913940},
		{"1.999999999G", 2147483646},
		{"0.0000000001T", 0},
		{"16777215.99T", UINT64_MAX - 10995116277},
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uint64_t bytes = 77;

		if (berth_size_parse(good[i].s, &bytes, NULL) != 0 || bytes != good[i].bytes)
			fail_msg("%s: %llu", good[i].s, (unsigned long long)bytes);
	}
}

static void test_what_is_no_size(void **state)
{
	static const char *const bad[] = {"",     "G",     "-1",   "+1",        "1.5", "1.G",   ".5G",  "1..5G",
	                                  "10Gi", "10GB ", " 10G", "10 G",      "10X", "10B",   "10iB", "10GiBs",
	                                  "1,5G", "1e3",   "0x10", "UNLIMITED", "10P", "10\x01"};
	static const char *const huge[] = {"18446744073709551616", "16777216T", "99999999999999999999G",
	                                   "18446744073709551615K"};
	struct berth_error err = {0};
	uint64_t bytes = 77;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (berth_size_parse(bad[i], &bytes, &err) != -EINVAL || bytes != 77 || err.code != -EINVAL)
			fail_msg("\"%s\"", bad[i]);
	for (size_t i = 0; i < sizeof(huge) / sizeof(huge[0]); i++)
		if (berth_size_parse(huge[i], &bytes, &err) != -ERANGE || bytes != 77 || !strstr(err.text, huge[i]))
			fail_msg("\"%s\"", huge[i]);
}

static void test_numbers(void **state)
{
	struct berth_error err = {0};
	uint64_t n = 77;

	assert_int_equal(berth_number_parse("0", "gpus", 0, 8, &n, &err), 0);
	assert_int_equal(n, 0);
	assert_int_equal(berth_number_parse("008", "gpus", 0, 8, &n, &err), 0);
	assert_int_equal(n, 8);
	assert_int_equal(berth_number_parse("18446744073709551615", "id", 1, UINT64_MAX, &n, &err), 0);
	assert_true(n == UINT64_MAX);
	assert_int_equal(err.code, 0);
}

static void test_what_is_no_number(void **state)
{
	static const char *const bad[] = {"", "-1", "+1", " 1", "1 ", "1.0", "0x1", "one", "1e3", "-"};
	struct berth_error err = {0};
	uint64_t n = 77;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(berth_number_parse(bad[i], "the GPU count", 0, 8, &n, &err), -EINVAL);
	assert_string_equal(err.text, "the GPU count must be a whole number, not \"-\"");
	assert_int_equal(berth_number_parse("9", "the GPU count", 0, 8, &n, &err), -ERANGE);
	assert_string_equal(err.text, "the GPU count must be between 0 and 8, not 9");
	assert_int_equal(berth_number_parse("0", "x", 1, 8, &n, &err), -ERANGE);
	assert_int_equal(berth_number_parse("18446744073709551616", "x", 0, UINT64_MAX, &n, &err), -ERANGE);
	assert_int_equal(berth_number_parse("99999999999999999999999", "x", 0, UINT64_MAX, &n, NULL), -ERANGE);
	assert_int_equal(n, 77);
}

static void test_duration_format(void **state)
{
	static const struct {
		uint64_t ms;
		const char *text;
	} table[] = {
		{0, "0:00"},
		{999, "0:00"},
		{42 * SECOND, "0:42"},
		{HOUR - 1, "59:59"},
		{HOUR, "1:00:00"},
		{2 * HOUR + 3 * MINUTE + 4 * SECOND, "2:03:04"},
		{DAY - 1, "23:59:59"},
		{DAY, "1-00:00:00"},
		{DAY + 2 * HOUR + 3 * MINUTE + 4 * SECOND, "1-02:03:04"},
		{BERTH_UNLIMITED_MS, "unlimited"},
		{UINT64_MAX - 1, "213503982334-14:25:51"},
	};
	char buf[BERTH_FORMAT_MAX];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_string_equal(berth_duration_format(table[i].ms, buf), table[i].text);
}

/* What is shown can be typed again, to the second. */
static void test_durations_read_back(void **state)
{
	char buf[BERTH_FORMAT_MAX];

	for (uint64_t s = 0; s < 4 * 86400; s += 37) {
		uint64_t ms = 0;

		assert_int_equal(berth_duration_parse(berth_duration_format(s * SECOND, buf), &ms, NULL), 0);
		assert_true(ms == s * SECOND);
	}
}

static void test_size_format(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} table[] = {
		{0, "0 B"},
		{1023, "1023 B"},
		{1024, "1 KB"},
		{1536, "1.5 KB"},
		{UINT64_C(1536) << 20, "1.5 GB"},
		{UINT64_C(80) << 30, "80 GB"},
		{UINT64_C(81559) << 20, "79.6 GB"},
		{UINT64_C(1000) << 20, "1000 MB"},
		{(UINT64_C(1) << 30) - 1, "1 GB"},
		{UINT64_C(1034) << 20, "1.01 GB"},
		{UINT64_C(1024) << 40, "1 PB"},
		{UINT64_MAX, "16 EB"},
		{1025, "1 KB"},
		{10229, "9.99 KB"},
		{10239, "10 KB"},
		{102399, "100 KB"},
	};
	char buf[BERTH_FORMAT_MAX];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_string_equal(berth_size_format(table[i].bytes, buf), table[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_what_is_no_duration),
		cmocka_unit_test(test_a_refusal_shows_hostile_text_harmlessly),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_what_is_no_size),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_what_is_no_number),
		cmocka_unit_test(test_duration_format),
		cmocka_unit_test(test_durations_read_back),
		cmocka_unit_test(test_size_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
