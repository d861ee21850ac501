#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include "api/api.h"
#include "api/reason.h"
#include "base/clock.h"

#define GIB (UINT64_C(1) << 30)

/* Something is said of every code, as one clause, without a hole in it. */
static void test_every_code_has_words(void **state)
{
	char text[256];

	for (unsigned code = 0; code < BERTH_REASON_COUNT; code++) {
		const struct berth_reason reason = {(enum berth_reason_code)code, 3, 2, 1};

		(void)snprintf(text, sizeof(text), "unset");
		berth_reason_text(&reason, text, sizeof(text));
		assert_string_not_equal(text, "unset");
		assert_true(strlen(text) >= 4);
		assert_null(strchr(text, '%'));
		assert_null(strstr(text, "(null)"));
		assert_false(isupper(text[0]) && islower(text[1]));
		assert_int_not_equal(text[strlen(text) - 1], '.');
	}
}

/* No two codes say the same, or a reader could not tell them apart. */
static void test_no_two_codes_say_the_same(void **state)
{
	char left[256];
	char right[256];

	for (unsigned i = 0; i < BERTH_REASON_COUNT; i++)
		for (unsigned k = i + 1; k < BERTH_REASON_COUNT; k++) {
			const struct berth_reason a = {(enum berth_reason_code)i, 3, 2, 1};
			const struct berth_reason b = {(enum berth_reason_code)k, 3, 2, 1};

			berth_reason_text(&a, left, sizeof(left));
			berth_reason_text(&b, right, sizeof(right));
			if (strcmp(left, right) == 0)
				fail_msg("%u and %u: %s", i, k, left);
		}
}

static void expect(struct berth_reason reason, const char *words)
{
	char text[256];

	berth_reason_text(&reason, text, sizeof(text));
	assert_string_equal(text, words);
}

static void test_words_fit_their_numbers(void **state)
{
	expect((struct berth_reason){BERTH_REASON_RESOURCES, 4, 1, 8}, "needs 4 GPUs; 1 of the 8 that suit is free");
	expect((struct berth_reason){BERTH_REASON_RESOURCES, 4, 2, 8}, "needs 4 GPUs; 2 of the 8 that suit are free");
	expect((struct berth_reason){BERTH_REASON_RESOURCES, 1, 0, 8}, "needs 1 GPU; all 8 that suit are taken");
	expect((struct berth_reason){BERTH_REASON_RESOURCES, 1, 0, 1}, "needs 1 GPU; the only one that suits is taken");
	expect((struct berth_reason){BERTH_REASON_NO_DEVICES, 2, 3, 1},
	       "needs 2 GPUs; of those that suit, 1 is in service and 3 drained or lost");
	expect((struct berth_reason){BERTH_REASON_PRIORITY, 12, 0, 0},
	       "would fit, but starting now could delay job 12, which is ahead");
	expect((struct berth_reason){BERTH_REASON_TOO_MANY_GPUS, 12, 8, 0},
	       "12 GPUs can never be given: the most that suit on one node are 8");
	expect((struct berth_reason){BERTH_REASON_GPU_TOO_SMALL, 96 * GIB, 80 * GIB, 0},
	       "no GPU that suits has 96 GB of memory; the largest has 80 GB");
	expect((struct berth_reason){BERTH_REASON_NO_SUCH_INDEX, 0x201, 0xff, 0},
	       "GPU 0,9 was asked for; the indexes here are 0-7");
	expect((struct berth_reason){BERTH_REASON_NO_SUCH_INDEX, UINT64_C(1) << 63, 0x8b, 0},
	       "GPU 63 was asked for; the indexes here are 0-1,3,7");
	expect((struct berth_reason){BERTH_REASON_TIME_LIMIT, 3600000, 0, 0}, "it reached its time limit of 1:00:00");
	expect((struct berth_reason){BERTH_REASON_SIGNALED, SIGSEGV, 0, 0},
	       "its command was ended by signal 11 (SIGSEGV), not sent by berth");
	expect((struct berth_reason){BERTH_REASON_EXEC_FAILED, ENOENT, 0, 0},
	       "its command could not be run: No such file or directory");
	expect((struct berth_reason){BERTH_REASON_OUTPUT_FAILED, 99999, 0, 0},
	       "its output file could not be opened: the cause is not known");
	expect((struct berth_reason){BERTH_REASON_DEVICE_BUSY, 7, UINT64_MAX, 0}, "job 7 has it, without a time limit");
}

/* Strange numbers come from strange facts; the words must stay whole. */
static void test_extreme_numbers(void **state)
{
	char text[256];
	char small[8];

	for (unsigned code = 0; code < BERTH_REASON_COUNT; code++) {
		const struct berth_reason reason = {(enum berth_reason_code)code, UINT64_MAX, UINT64_MAX, UINT64_MAX};

		berth_reason_text(&reason, text, sizeof(text));
		assert_true(strlen(text) < sizeof(text) - 1);
		berth_reason_text(&reason, small, sizeof(small));
		assert_true(strlen(small) < sizeof(small));
	}
}

static void write_reason(struct berth_reason reason, struct berth_text *text)
{
	struct berth_core *core = berth_core_new();
	struct berth_json json = berth_json_at(text);

	assert_non_null(core);
	berth_reason_write(&json, NULL, core, &reason);
	berth_core_free(core);
}

static void expect_json(struct berth_reason reason, const char *expected)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};

	write_reason(reason, &text);
	assert_string_equal(text.at, expected);
}

static void test_parameters_by_name(void **state)
{
	expect_json((struct berth_reason){.code = BERTH_REASON_NONE}, "{\"code\":\"None\",\"params\":{}}");
	expect_json((struct berth_reason){BERTH_REASON_RESOURCES, 4, 1, 8},
	            "{\"code\":\"Resources\",\"params\":{\"asked\":4,\"free\":1,\"suit\":8}}");
	expect_json((struct berth_reason){BERTH_REASON_NO_SUCH_INDEX, 0x21, 0x3, 0},
	            "{\"code\":\"NoSuchIndex\",\"params\":{\"asked_indexes\":[0,5],\"known_indexes\":[0,1]}}");
	expect_json((struct berth_reason){BERTH_REASON_DEVICE_FAILED, 3, 0, 0},
	            "{\"code\":\"DeviceFailed\",\"params\":{\"uuid\":null,\"index\":null}}");
	expect_json((struct berth_reason){BERTH_REASON_DEVICE_BUSY, 3, UINT64_MAX, 0},
	            "{\"code\":\"DeviceBusy\",\"params\":{\"job\":3,\"latest_end_at\":null}}");
}

/* Moments carry their zone and end in _at; a number of milliseconds stays a number. */
static void test_moments_are_strings(void **state)
{
	BERTH_AUTO_TEXT struct berth_text begin = {0};
	BERTH_AUTO_TEXT struct berth_text back_off = {0};
	BERTH_AUTO_TEXT struct berth_text limit = {0};

	write_reason((struct berth_reason){BERTH_REASON_BEGIN_TIME, UINT64_C(1796041014123), 0, 0}, &begin);
	assert_non_null(strstr(begin.at, "{\"begin_at\":\"2026-11-30T"));
	write_reason((struct berth_reason){BERTH_REASON_BACK_OFF, UINT64_C(1796041014123), 2, 0}, &back_off);
	assert_non_null(strstr(back_off.at, "{\"retry_at\":\"2026-11-30T"));
	assert_non_null(strstr(back_off.at, "\"failures\":2"));
	write_reason((struct berth_reason){BERTH_REASON_TIME_LIMIT, 5, 0, 0}, &limit);
	assert_non_null(strstr(limit.at, "{\"limit_ms\":5}"));
}

extern const char berth_asset_words_js[];

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)); text++)
		n++;
	return n;
}

/* The page makes its words from codes: every code that a job can show has them, in both languages. */
static void test_the_page_knows_every_code(void **state)
{
	char member[64];

	for (unsigned code = 0; code < BERTH_REASON_COUNT; code++) {
		if (code > BERTH_REASON_STOPPING && code < BERTH_REASON_EXIT_CODE)
			continue; /* refusals and devices are not shown there */
		(void)snprintf(member, sizeof(member), "\n    %s: (", berth_reason_name((enum berth_reason_code)code));
		if (count(berth_asset_words_js, member) != 2)
			fail_msg("%s", member);
	}
	for (unsigned job = BERTH_JOB_UNKNOWN + 1; job < BERTH_JOB_STATE_COUNT; job++) {
		(void)snprintf(member, sizeof(member), " %s: \"",
		               berth_job_state_public_name((enum berth_job_state)job));
		if (count(berth_asset_words_js, member) != 2)
			fail_msg("%s", member);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_code_has_words),      cmocka_unit_test(test_no_two_codes_say_the_same),
		cmocka_unit_test(test_words_fit_their_numbers),   cmocka_unit_test(test_extreme_numbers),
		cmocka_unit_test(test_parameters_by_name),        cmocka_unit_test(test_moments_are_strings),
		cmocka_unit_test(test_the_page_knows_every_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
