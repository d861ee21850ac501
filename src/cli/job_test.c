#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include "cli/client.h"
#include "cli/job.h"
#include "cli/reason.h"

#define NOW_MS UINT64_C(1700000000000) /* 2023-11-14T22:13:20Z */

static json_t *parse(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	return json;
}

static void test_exit_codes(void **state)
{
	static const struct {
		const char *job;
		int code;
		const char *exit, *outcome;
	} cases[] = {
		{"{\"state\":\"COMPLETED\",\"exit_code\":0,\"signal\":null}", 0, "0:0", "completed"},
		{"{\"state\":\"FAILED\",\"exit_code\":1}", 1, "1:0", "failed with exit code 1"},
		{"{\"state\":\"FAILED\",\"exit_code\":255}", 255, "255:0", "failed with exit code 255"},
		{"{\"state\":\"FAILED\",\"exit_code\":126}", 126, "126:0", "failed with exit code 126"},
		{"{\"state\":\"FAILED\",\"exit_code\":null,\"signal\":9}", 137, "0:9", "was ended by signal 9 (KILL)"},
		{"{\"state\":\"FAILED\",\"exit_code\":null,\"signal\":11}", 139, "0:11",
	         "was ended by signal 11 (SEGV)"},
		{"{\"state\":\"FAILED\",\"exit_code\":null,\"signal\":40}", 168, "0:40", "was ended by signal 40"},
		{"{\"state\":\"TIMEOUT\",\"exit_code\":0}", 124, "0:0", "was ended by its time limit"},
		{"{\"state\":\"TIMEOUT\",\"exit_code\":null,\"signal\":15}", 124, "0:15",
	         "was ended by its time limit"},
		{"{\"state\":\"CANCELLED\",\"exit_code\":null,\"signal\":null}", 130, "-", "was cancelled"},
		{"{\"state\":\"CANCELLED\",\"exit_code\":0}", 130, "0:0", "was cancelled"},
		{"{\"state\":\"OUT_OF_MEMORY\",\"exit_code\":null,\"signal\":9}", 137, "0:9",
	         "was killed: out of memory"},
		{"{\"state\":\"NODE_FAIL\",\"exit_code\":null,\"signal\":9}", 125, "0:9",
	         "ended because a card it used was lost"},
		{"{\"state\":\"FAILED\",\"exit_code\":null,\"signal\":null,\"reason\":{\"code\":\"ExitCodeUnknown\","
	         "\"params\":{}}}",
	         125, "-", "ended, and nobody knows its exit code"},
		{"{\"state\":\"FAILED\",\"exit_code\":null,\"reason\":{\"code\":\"ExecFailed\",\"params\":{\"errno\":2}"
	         "}}",
	         127, "-", "failed: command could not be run: No such file or directory"},
		{"{\"state\":\"FAILED\",\"exit_code\":127,\"reason\":{\"code\":\"ExecFailed\",\"params\":{\"errno\":13}"
	         "}}",
	         126, "127:0", "failed: command could not be run: Permission denied"},
		{"{\"state\":\"FAILED\",\"exit_code\":null,\"reason\":{\"code\":\"OutputFailed\",\"params\":{\"errno\":"
	         "13}}}",
	         125, "-", "failed: cannot open its output: Permission denied"},
		{"{\"state\":\"FAILED\",\"exit_code\":0}", 125, "0:0", "failed with exit code 0"},
		{"{\"state\":\"FAILED\",\"exit_code\":999,\"signal\":999}", 125, "999:999", "was ended by signal 999"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		BERTH_AUTO_JSON json_t *job = parse(cases[i].job);
		BERTH_AUTO_TEXT struct berth_text text = {0};
		char buf[BERTH_FORMAT_MAX];

		if (berth_job_exit_code(job) != cases[i].code)
			fail_msg("%s: %d", cases[i].job, berth_job_exit_code(job));
		assert_string_equal(berth_job_exit_text(job, buf), cases[i].exit);
		berth_job_outcome(job, &text);
		assert_string_equal(text.at, cases[i].outcome);
		assert_true(berth_job_is_final(job));
	}
}

static void test_states(void **state)
{
	static const char *const live[] = {"PENDING", "HELD", "RUNNING", "STOPPING", "SUSPENDED", "", "completed"};

	for (size_t i = 0; i < sizeof(live) / sizeof(live[0]); i++)
		assert_false(berth_state_is_final(live[i]));
}

static void test_whether_a_command_has_run(void **state)
{
	static const struct {
		const char *job;
		bool has_started;
	} cases[] = {
		{"{\"state\":\"PENDING\",\"start_time\":null,\"restarts\":0}", false},
		{"{\"state\":\"CANCELLED\",\"start_time\":null,\"restarts\":0}", false},
		{"{\"state\":\"RUNNING\",\"start_time\":\"2023-11-14T22:13:20.000+00:00\"}", true},
		{"{\"state\":\"RUNNING\"}", true},
		{"{\"state\":\"STOPPING\"}", true},
		{"{\"state\":\"PENDING\",\"start_time\":null,\"restarts\":1}", true},
		{"{\"state\":\"FAILED\",\"start_time\":\"2023-11-14T22:13:20.000+00:00\"}", true},
		{"{\"state\":\"FAILED\",\"start_time\":null,\"reason\":{\"code\":\"ExecFailed\"}}", true},
		{"{\"state\":\"FAILED\",\"start_time\":null,\"reason\":{\"code\":\"OutputFailed\"}}", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		BERTH_AUTO_JSON json_t *job = parse(cases[i].job);

		assert_int_equal(berth_job_has_started(job), cases[i].has_started);
	}
}

static void test_unknown_is_not_zero(void **state)
{
	BERTH_AUTO_JSON json_t *job = parse(
		"{\"a\":null,\"b\":-1,\"c\":\"7\",\"d\":0,\"e\":1.5,\"t\":null,\"u\":\"soon\"}");
	static const char *const unknown[] = {"a", "b", "c", "e", "missing"};
	uint64_t number = 77;

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		assert_false(berth_json_number(job, unknown[i], &number));
	assert_false(berth_json_moment(job, "t", &number));
	assert_false(berth_json_moment(job, "u", &number));
	assert_int_equal(number, 77);
	assert_true(berth_json_number(job, "d", &number));
	assert_int_equal(number, 0);
	assert_string_equal(berth_json_text(job, "a"), "");
	assert_int_equal(berth_job_id(job), 0);
}

static void test_moments_go_there_and_back(void **state)
{
	static const char *const bad[] = {"",
	                                  "2023-11-14",
	                                  "2023-11-14T22:13:20.1+00:00",
	                                  "2023-11-14T22:13:20.1234+00:00",
	                                  "2023-11-14T22:13:20.123+0000",
	                                  "2023-13-14T22:13:20.123+00:00",
	                                  "2023-11-14T22:13:20.123+00:00 and much more than a moment has"};
	char buf[BERTH_FORMAT_MAX];
	uint64_t ms = 0;

	assert_true(berth_moment_read("2023-11-14T22:13:20.123+00:00", &ms));
	assert_int_equal(ms, NOW_MS + 123);
	assert_true(berth_moment_read("2023-11-15T06:13:20.007+08:00", &ms));
	assert_int_equal(ms, NOW_MS + 7);
	assert_true(berth_moment_read("2023-11-14T22:13:20Z", &ms));
	assert_int_equal(ms, NOW_MS);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(berth_moment_read(bad[i], &ms));
	assert_string_equal(berth_moment_send(NOW_MS + 999, buf), "2023-11-14T22:13:20+00:00");
}

static void test_reasons_in_words(void **state)
{
	static const struct {
		const char *reason, *words;
	} cases[] = {
		{"{\"code\":\"None\",\"params\":{}}", ""},
		{"{\"code\":\"Resources\",\"params\":{\"asked\":4,\"free\":1,\"suit\":8}}",
	         "4 GPUs asked, 1 of 8 free"},
		{"{\"code\":\"Resources\",\"params\":{\"asked\":1,\"free\":0,\"suit\":8}}", "1 GPU asked, 0 of 8 free"},
		{"{\"code\":\"Priority\",\"params\":{\"job\":12}}", "would delay job 12, which is ahead"},
		{"{\"code\":\"BeginTime\",\"params\":{\"begin_at\":\"2023-11-14T23:00:00.000+00:00\"}}",
	         "begins at 23:00"},
		{"{\"code\":\"BackOff\",\"params\":{\"retry_at\":\"2023-11-14T22:15:00.000+00:00\",\"failures\":1}}",
	         "failed 1 time, again at 22:15"},
		{"{\"code\":\"TimeLimit\",\"params\":{\"limit_ms\":3600000}}", "reached its limit of 1:00:00"},
		{"{\"code\":\"GpuTooSmall\",\"params\":{\"asked_bytes\":107374182400,\"most_bytes\":85899345920}}",
	         "100 GB of GPU memory asked; the most is 80 GB"},
		{"{\"code\":\"NoSuchIndex\",\"params\":{\"asked_indexes\":[9,11],\"known_indexes\":[0,1]}}",
	         "GPU 9,11 asked; there are 0,1"},
		{"{\"code\":\"DeviceFailed\",\"params\":{\"uuid\":\"GPU-1\",\"index\":3}}", "lost GPU 3"},
		{"{\"code\":\"DeviceFailed\",\"params\":{\"uuid\":null,\"index\":null}}", "lost GPU ?"},
		{"{\"code\":\"Resources\",\"params\":{}}", "? GPUs asked, ? of ? free"},
		{"{\"code\":\"FromTheFuture\",\"params\":{\"speed\":88,\"when_at\":\"2023-11-14T22:15:00.000+00:00\"}}",
	         "FromTheFuture speed=88 when_at=22:15"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		BERTH_AUTO_JSON json_t *reason = parse(cases[i].reason);
		BERTH_AUTO_TEXT struct berth_text text = {0};

		berth_reason_words(reason, NOW_MS, &text);
		assert_string_equal(berth_text_str(&text), cases[i].words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exit_codes),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_whether_a_command_has_run),
		cmocka_unit_test(test_unknown_is_not_zero),
		cmocka_unit_test(test_moments_go_there_and_back),
		cmocka_unit_test(test_reasons_in_words),
	};

	(void)setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
