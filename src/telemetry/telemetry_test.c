#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include "telemetry/telemetry.h"

#define T0 1000000ull
#define LOST_AFTER BERTH_TELEMETRY_LOST_AFTER_MS

static struct berth_telemetry *telemetry;

static int set_up(void **state)
{
	telemetry = berth_telemetry_new();
	return telemetry ? 0 : -1;
}

static int tear_down(void **state)
{
	berth_telemetry_free(telemetry);
	return 0;
}

static void put(const char *uuid, uint64_t at_ms, enum berth_device_health health)
{
	const struct berth_sample sample = {.at_ms = at_ms, .valid = BERTH_SAMPLE_HEALTH, .health = health};

	assert_int_equal(berth_telemetry_put(telemetry, uuid, &sample), 0);
}

static void good(const char *uuid, uint64_t at_ms)
{
	put(uuid, at_ms, BERTH_DEVICE_HEALTH_OK);
}

static void put_util(const char *uuid, uint64_t at_ms, uint32_t util_permille)
{
	const struct berth_sample sample = {.at_ms = at_ms, .valid = BERTH_SAMPLE_UTIL, .util_permille = util_permille};

	assert_int_equal(berth_telemetry_put(telemetry, uuid, &sample), 0);
}

static enum berth_health health(const char *uuid, uint64_t now_ms)
{
	return berth_telemetry_health(telemetry, uuid, now_ms);
}

static void test_latest_is_the_newest_not_too_old(void **state)
{
	struct berth_sample sample = {.util_permille = 7};

	assert_false(berth_telemetry_latest(telemetry, "A", T0, 1000, &sample));
	put_util("A", T0, 100);
	put_util("A", T0 + 1000, 200);
	put_util("B", T0 + 1000, 300);
	assert_true(berth_telemetry_latest(telemetry, "A", T0 + 1000, 0, &sample));
	assert_int_equal(sample.util_permille, 200);
	assert_true(berth_telemetry_latest(telemetry, "A", T0 + 2000, 1000, &sample));
	sample.util_permille = 7;
	assert_false(berth_telemetry_latest(telemetry, "A", T0 + 2001, 1000, &sample));
	assert_int_equal(sample.util_permille, 7);
	/* A sample from a moment after "now", which was taken first, is as fresh as can be. */
	assert_true(berth_telemetry_latest(telemetry, "B", T0, 0, &sample));
	assert_int_equal(sample.util_permille, 300);
}

static void test_an_expected_device_has_no_sample(void **state)
{
	struct berth_sample sample;

	assert_int_equal(berth_telemetry_expect(telemetry, "A", T0), 0);
	assert_false(berth_telemetry_latest(telemetry, "A", T0, 1000, &sample));
}

static void test_recent_util_is_newest_last(void **state)
{
	int32_t util[BERTH_TELEMETRY_RING + 5];

	assert_int_equal(berth_telemetry_recent_util(telemetry, "A", util, 10), 0);
	put_util("A", T0, 100);
	good("A", T0 + 1);
	put_util("A", T0 + 2, 300);
	assert_int_equal(berth_telemetry_recent_util(telemetry, "A", util, 10), 3);
	assert_int_equal(util[0], 100);
	assert_int_equal(util[1], -1);
	assert_int_equal(util[2], 300);
	assert_int_equal(berth_telemetry_recent_util(telemetry, "A", util, 2), 2);
	assert_int_equal(util[0], -1);
	assert_int_equal(berth_telemetry_recent_util(telemetry, "A", util, 0), 0);
}

static void test_the_ring_goes_round(void **state)
{
	int32_t util[BERTH_TELEMETRY_RING + 5];

	for (uint32_t i = 0; i < 3 * BERTH_TELEMETRY_RING + 7; i++)
		put_util("A", T0 + i, i);
	assert_int_equal(berth_telemetry_recent_util(telemetry, "A", util, BERTH_TELEMETRY_RING + 5),
	                 BERTH_TELEMETRY_RING);
	for (int32_t i = 0; i < BERTH_TELEMETRY_RING; i++)
		assert_int_equal(util[i], 2 * BERTH_TELEMETRY_RING + 7 + i);
}

static void test_many_devices(void **state)
{
	struct berth_sample sample;
	char uuid[16];

	for (uint32_t i = 0; i < 100; i++) {
		(void)snprintf(uuid, sizeof(uuid), "D%u", i);
		put_util(uuid, T0, i);
	}
	for (uint32_t i = 0; i < 100; i++) {
		(void)snprintf(uuid, sizeof(uuid), "D%u", i);
		assert_true(berth_telemetry_latest(telemetry, uuid, T0, 0, &sample));
		assert_int_equal(sample.util_permille, i);
	}
}

static void test_health_of_a_new_device(void **state)
{
	assert_int_equal(health("A", T0), BERTH_HEALTH_UNKNOWN);
	good("A", T0);
	assert_int_equal(health("A", T0), BERTH_HEALTH_OK);
	put("B", T0, BERTH_DEVICE_HEALTH_LOST);
	assert_int_equal(health("B", T0), BERTH_HEALTH_LOST);
	/* A sample that knows nothing of health says nothing. */
	put_util("C", T0, 5);
	put("D", T0, BERTH_DEVICE_HEALTH_UNKNOWN);
	assert_int_equal(health("C", T0), BERTH_HEALTH_UNKNOWN);
	assert_int_equal(health("D", T0), BERTH_HEALTH_UNKNOWN);
}

static void test_lost_at_once_and_back_after_good_ones_in_a_row(void **state)
{
	good("A", T0);
	put("A", T0 + 1000, BERTH_DEVICE_HEALTH_LOST);
	assert_int_equal(health("A", T0 + 1000), BERTH_HEALTH_LOST);
	good("A", T0 + 2000);
	assert_int_equal(health("A", T0 + 2000), BERTH_HEALTH_UNKNOWN);
	good("A", T0 + 3000);
	put("A", T0 + 4000, BERTH_DEVICE_HEALTH_LOST);
	assert_int_equal(health("A", T0 + 4000), BERTH_HEALTH_LOST);
	for (unsigned i = 1; i < BERTH_TELEMETRY_OK_SAMPLES; i++) {
		good("A", T0 + 4000 + i * 1000);
		assert_int_equal(health("A", T0 + 4000 + i * 1000), BERTH_HEALTH_UNKNOWN);
	}
	good("A", T0 + 9000);
	assert_int_equal(health("A", T0 + 9000), BERTH_HEALTH_OK);
}

static void test_silence_is_lost_in_time(void **state)
{
	good("A", T0);
	assert_int_equal(health("A", T0 + LOST_AFTER), BERTH_HEALTH_OK);
	assert_int_equal(health("A", T0 + LOST_AFTER + 1), BERTH_HEALTH_LOST);
	/* Samples without news of health do not break the silence. */
	put("A", T0 + LOST_AFTER, BERTH_DEVICE_HEALTH_UNKNOWN);
	put_util("A", T0 + LOST_AFTER + 1, 5);
	assert_int_equal(health("A", T0 + LOST_AFTER + 1), BERTH_HEALTH_LOST);
	/* Nor does one good sample bring it back. */
	good("A", T0 + LOST_AFTER + 1000);
	assert_int_equal(health("A", T0 + LOST_AFTER + 1000), BERTH_HEALTH_UNKNOWN);
	good("A", T0 + LOST_AFTER + 2000);
	good("A", T0 + LOST_AFTER + 3000);
	assert_int_equal(health("A", T0 + LOST_AFTER + 3000), BERTH_HEALTH_OK);
	assert_int_equal(BERTH_TELEMETRY_OK_SAMPLES, 3);
}

static void test_silence_that_nobody_asked_about_counts_too(void **state)
{
	good("A", T0);
	good("A", T0 + LOST_AFTER + 1);
	assert_int_equal(health("A", T0 + LOST_AFTER + 1), BERTH_HEALTH_UNKNOWN);
}

static void test_an_expected_device_that_never_answers_is_lost(void **state)
{
	assert_int_equal(berth_telemetry_expect(telemetry, "A", T0), 0);
	assert_int_equal(health("A", T0 + LOST_AFTER), BERTH_HEALTH_UNKNOWN);
	assert_int_equal(health("A", T0 + LOST_AFTER + 1), BERTH_HEALTH_LOST);
	/* Expected again changes nothing; one that answers in time is well at once. */
	assert_int_equal(berth_telemetry_expect(telemetry, "A", T0 + LOST_AFTER), 0);
	assert_int_equal(health("A", T0 + LOST_AFTER + 1), BERTH_HEALTH_LOST);
	assert_int_equal(berth_telemetry_expect(telemetry, "B", T0), 0);
	good("B", T0 + 5000);
	assert_int_equal(health("B", T0 + 5000), BERTH_HEALTH_OK);
}

static void test_free_of_nothing(void **state)
{
	berth_telemetry_free(NULL);
	assert_int_equal(health("A", T0), BERTH_HEALTH_UNKNOWN);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_latest_is_the_newest_not_too_old),
		TEST(test_an_expected_device_has_no_sample),
		TEST(test_recent_util_is_newest_last),
		TEST(test_the_ring_goes_round),
		TEST(test_many_devices),
		TEST(test_health_of_a_new_device),
		TEST(test_lost_at_once_and_back_after_good_ones_in_a_row),
		TEST(test_silence_is_lost_in_time),
		TEST(test_silence_that_nobody_asked_about_counts_too),
		TEST(test_an_expected_device_that_never_answers_is_lost),
		TEST(test_free_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
