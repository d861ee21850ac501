#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include "device/sim/profile.h"

#define GIB (1024ull * 1024 * 1024)

static struct berth_sim_profile parsed(const char *text)
{
	struct berth_sim_profile profile;
	struct berth_error err;

	if (berth_sim_profile_parse(text, 80 * GIB, &profile, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	return profile;
}

static void test_phases_hold_from_their_second_on(void **state)
{
	const struct berth_sim_profile profile = parsed("0:10:2G,30:95%:40G,90:0:512M");

	assert_int_equal(profile.n, 3);
	assert_int_equal(berth_sim_profile_at(&profile, 0)->util_permille, 100);
	assert_int_equal(berth_sim_profile_at(&profile, 29999)->mem_bytes, 2 * GIB);
	assert_int_equal(berth_sim_profile_at(&profile, 30000)->util_permille, 950);
	assert_int_equal(berth_sim_profile_at(&profile, 89999)->mem_bytes, 40 * GIB);
	assert_int_equal(berth_sim_profile_at(&profile, 90000)->util_permille, 0);
	assert_int_equal(berth_sim_profile_at(&profile, UINT64_MAX)->mem_bytes, GIB / 2);
}

static void test_none_declared_is_the_default(void **state)
{
	const struct berth_sim_profile profile = parsed("");

	assert_int_equal(profile.n, 1);
	assert_int_equal(profile.phase[0].util_permille, 900);
	assert_int_equal(profile.phase[0].mem_bytes, 80 * GIB / 100 * 60);
}

static void refused(const char *text, const char *says)
{
	struct berth_sim_profile profile = {.n = 7};
	struct berth_error err = {0};

	assert_int_equal(berth_sim_profile_parse(text, GIB, &profile, &err), -EINVAL);
	if (!strstr(err.text, says))
		fail_msg("'%s' is refused with '%s', which does not say '%s'", text, err.text, says);
	assert_int_equal(profile.n, 7);
	assert_int_equal(berth_sim_profile_check(text, NULL), -EINVAL);
}

static void test_what_is_no_profile_is_refused_with_the_place(void **state)
{
	refused("90", "phase 1");
	refused("0:10", "SECONDS:UTIL:MEM");
	refused("5:10:2G", "begins at 0");
	refused("0:10:2G,0:20:2G", "phase 2");
	refused("0:10:2G,30:20:2G,20:5:1G", "phase 3");
	refused("0:101:2G", "percentage");
	refused("0:-1:2G", "percentage");
	refused("0::2G", "percentage");
	refused("0:%:2G", "percentage");
	refused("0:10:", "phase 1");
	refused("0:10:lots", "phase 1");
	refused("x:10:2G", "seconds");
	refused("-1:10:2G", "seconds");
	refused("99999999999:10:2G", "seconds");
	refused("0:10:2G,", "last comma");
	refused(",", "phase 1");
	refused("0:10:2G:5", "phase 1");
	refused("0:0000000000000000000000000000000000000000000000000000000000000000010:2G", "too long");
}

static void test_too_many_phases_are_refused(void **state)
{
	char text[64 * BERTH_SIM_PHASES_MAX] = "";
	size_t len = 0;

	for (unsigned i = 0; i < BERTH_SIM_PHASES_MAX; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u:5:1G", i ? "," : "", i);
	assert_int_equal(parsed(text).n, BERTH_SIM_PHASES_MAX);
	(void)snprintf(text + len, sizeof(text) - len, ",100:5:1G");
	refused(text, "more than");
}

static struct berth_sim_injection injection(const char *what)
{
	struct berth_sim_injection ret;
	struct berth_error err;

	if (berth_sim_inject_parse(what, &ret, &err) < 0)
		fail_msg("%s: %s", what, err.text);
	return ret;
}

static void test_injections(void **state)
{
	assert_int_equal(injection("util 55").kind, BERTH_SIM_INJECT_UTIL);
	assert_int_equal(injection("util 55").value, 550);
	assert_int_equal(injection("util  5%").value, 50);
	assert_true(injection("util auto").is_auto);
	assert_false(injection("util 0").is_auto);
	assert_int_equal(injection("mem 20G").kind, BERTH_SIM_INJECT_MEM);
	assert_int_equal(injection("mem 20G").value, 20 * GIB);
	assert_true(injection("mem auto").is_auto);
	assert_int_equal(injection("lost").kind, BERTH_SIM_INJECT_LOST);
	assert_int_equal(injection("recover").kind, BERTH_SIM_INJECT_RECOVER);
	assert_int_equal(injection("hang 30").kind, BERTH_SIM_INJECT_HANG);
	assert_int_equal(injection("hang 30").value, 30000);
}

static void test_other_words_are_refused(void **state)
{
	static const char *const wrong[] = {"",          "util",    "util 101",  "util -1", "util x",   "mem",
	                                    "mem x",     "lost 3",  "recover x", "hang",    "hang 0",   "hang auto",
	                                    "hang 3601", "explode", "utill 5",   " util 5", "util 5 6", "LOST"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct berth_error err = {0};

		if (berth_sim_inject_check(wrong[i], &err) != -EINVAL)
			fail_msg("'%s' is taken", wrong[i]);
		assert_true(strlen(err.text) > 0);
	}
	for (size_t i = 0; i < 2; i++) {
		struct berth_error err = {0};

		assert_int_equal(berth_sim_inject_check(i ? "explode" : "util", &err), -EINVAL);
		assert_non_null(strstr(err.text, "hang SECONDS"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_phases_hold_from_their_second_on),
		cmocka_unit_test(test_none_declared_is_the_default),
		cmocka_unit_test(test_what_is_no_profile_is_refused_with_the_place),
		cmocka_unit_test(test_too_many_phases_are_refused),
		cmocka_unit_test(test_injections),
		cmocka_unit_test(test_other_words_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
