#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <time.h>
#include "base/units.h"

#define MINUTE UINT64_C(60000)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

/* 2026-11-30 is a Monday. */
static const uint64_t noon_ms = UINT64_C(1796040000000); /* 2026-11-30T12:00:00Z */

static int use_zone(const char *zone)
{
	int r = setenv("TZ", zone, 1);

	tzset();
	return r;
}

static int in_shanghai(void **state)
{
	return use_zone("CST-8"); /* POSIX writes the offset the other way round: 8 hours east */
}

/* Central European rules, spelled out so that no zone database is needed. */
static int in_berlin(void **state)
{
	return use_zone("CET-1CEST,M3.5.0,M10.5.0/3");
}

static void assert_moment(const char *s, uint64_t expected_ms)
{
	struct berth_error err = {0};
	uint64_t ms = 77;

	if (berth_moment_parse(s, noon_ms, &ms, &err) != 0 || ms != expected_ms)
		fail_msg("%s: %s: %llu, not %llu", s, err.text, (unsigned long long)ms,
		         (unsigned long long)expected_ms);
}

static void test_relative_moments(void **state)
{
	assert_moment("now", noon_ms);
	assert_moment("now+0", noon_ms);
	assert_moment("now+90m", noon_ms + 90 * MINUTE);
	assert_moment("now+2-12", noon_ms + 60 * HOUR);
	assert_moment("now+30", noon_ms + 30 * MINUTE);
}

static void test_dates(void **state)
{
	assert_moment("2026-11-30T12:00:00Z", noon_ms);
	assert_moment("2026-11-30T12:00Z", noon_ms);
	assert_moment("2026-11-30T20:00", noon_ms);
	assert_moment("2026-11-30T20:00:07", noon_ms + 7000);
	assert_moment("2026-12-01", noon_ms + 4 * HOUR);
	assert_moment("2026-11-30T13:00+01:00", noon_ms);
	assert_moment("2026-11-30T06:30:00-05:30", noon_ms);
	assert_moment("2028-02-29T00:00Z", UINT64_C(1835395200000));
	assert_moment("1970-01-01T00:00Z", 0);
	assert_moment("1970-01-02", 16 * HOUR);
	assert_moment("9999-12-31T23:59:59Z", UINT64_C(253402300799000));
}

/* It is 20:00 by the clock on the wall. */
static void test_the_next_such_time(void **state)
{
	assert_moment("20:01", noon_ms + MINUTE);
	assert_moment("20:00", noon_ms + DAY);
	assert_moment("19:59", noon_ms + DAY - MINUTE);
	assert_moment("20:00:01", noon_ms + 1000);
	assert_moment("00:00", noon_ms + 4 * HOUR);
	assert_moment("23:59:59", noon_ms + 4 * HOUR - 1000);
}

static void test_the_next_such_time_across_summer_time(void **state)
{
	const uint64_t evening_ms = UINT64_C(1774738800000); /* 2026-03-29T00:00+01:00, two hours before the change */
	uint64_t ms = 0;

	assert_int_equal(berth_moment_parse("12:00", evening_ms, &ms, NULL), 0);
	assert_true(ms == evening_ms + 11 * HOUR);
	assert_int_equal(berth_moment_parse("2026-07-01T12:00", evening_ms, &ms, NULL), 0);
	assert_true(ms == UINT64_C(1782900000000)); /* 10:00 UTC */
	assert_int_equal(berth_moment_parse("2026-01-01T12:00", evening_ms, &ms, NULL), 0);
	assert_true(ms == UINT64_C(1767265200000)); /* 11:00 UTC */
}

static void test_what_is_no_moment(void **state)
{
	static const char *const bad[] = {
		"",
		"Now",
		"now ",
		"now+",
		"now-1h",
		"now+UNLIMITED",
		"now+1:60",
		"tomorrow",
		"24:00",
		"12:60",
		"12:00:60",
		"1:00",
		"12:0",
		"12:00:",
		"12",
		"2026-13-01",
		"2026-00-10",
		"2026-11-00",
		"2026-11-31",
		"2026-02-29",
		"2026-02-30T00:00Z",
		"2026-11-30T",
		"2026-11-30T24:00",
		"2026-11-30T12:00z",
		"2026-11-30T12:00+1",
		"2026-11-30T12:00+0100",
		"2026-11-30T12:00+24:00",
		"2026-11-30T12:00Z ",
		"2026-11-30Z",
		"2026-1-1",
		"26-11-30",
		"1969-12-31",
		"1970-01-01T00:00+01:00",
		"2026/11/30",
		"-1",
		"2026-11-30 12:00",
		"99999-01-01",
		"2026-11-30T12:00:00.5Z",
		"12:00PM",
	};
	struct berth_error err = {0};
	uint64_t ms = 77;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (berth_moment_parse(bad[i], noon_ms, &ms, &err) != -EINVAL || ms != 77 || err.code != -EINVAL)
			fail_msg("\"%s\" was taken for %llu", bad[i], (unsigned long long)ms);
	assert_int_equal(berth_moment_parse("now+1h", UINT64_MAX - 5, &ms, NULL), -EINVAL);
}

static void test_format(void **state)
{
	char buf[BERTH_FORMAT_MAX];

	assert_string_equal(berth_moment_format(noon_ms + 123, buf), "2026-11-30T20:00:00.123+08:00");
	assert_string_equal(berth_moment_format(0, buf), "1970-01-01T08:00:00.000+08:00");
	assert_string_equal(berth_moment_format(UINT64_MAX, buf), "-");
	assert_string_equal(berth_moment_format(UINT64_C(253402300800000), buf), "-");
	assert_int_equal(use_zone("NST3:30"), 0);
	assert_string_equal(berth_moment_format(noon_ms, buf), "2026-11-30T08:30:00.000-03:30");
	assert_int_equal(use_zone("UTC0"), 0);
	assert_string_equal(berth_moment_format(noon_ms + 7, buf), "2026-11-30T12:00:00.007+00:00");
}

static void test_format_short(void **state)
{
	static const struct {
		int64_t apart_ms;
		const char *text;
	} table[] = {
		{0, "20:00"},
		{3 * 3600000, "23:00"},
		{4 * 3600000, "Tue 00:00"},
		{-20 * 3600000, "00:00"},
		{-21 * 3600000, "Sun 23:00"},
		{6 * 86400000, "Sun 20:00"},
		{7 * 86400000, "2026-12-07"},
		{-7 * 86400000, "2026-11-23"},
		{INT64_C(365) * 86400000, "2027-11-30"},
	};
	char buf[BERTH_FORMAT_MAX];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_string_equal(berth_moment_format_short(noon_ms + (uint64_t)table[i].apart_ms, noon_ms, buf),
		                    table[i].text);
	assert_string_equal(berth_moment_format_short(UINT64_MAX, noon_ms, buf), "-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_relative_moments, in_shanghai),
		cmocka_unit_test_setup(test_dates, in_shanghai),
		cmocka_unit_test_setup(test_the_next_such_time, in_shanghai),
		cmocka_unit_test_setup(test_the_next_such_time_across_summer_time, in_berlin),
		cmocka_unit_test_setup(test_what_is_no_moment, in_shanghai),
		cmocka_unit_test_setup(test_format, in_shanghai),
		cmocka_unit_test_setup(test_format_short, in_shanghai),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
