#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>
#include "api/double_test.h"
#include "api/fixture_test.h"
#include "base/clock.h"

#define SPEC "\"spec\":{\"argv\":[\"python\",\"train.py\"],\"cwd\":\"/home/lin\",\"env\":[\"A=1\"]}"

static int shelve(void **state)
{
	struct berth_fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	berth_fixture_open(fixture);
	fixture->host.telemetry = berth_telemetry_new();
	assert_non_null(fixture->host.telemetry);
	berth_fixture_reopen(fixture);
	*state = fixture;
	return 0;
}

static int discard(void **state)
{
	struct berth_fixture *fixture = *state;

	berth_telemetry_free(fixture->host.telemetry);
	berth_fixture_close(fixture);
	free(fixture);
	return 0;
}

static json_t *parse(const struct berth_answer *answer, int status)
{
	json_t *root = json_loadb(answer->body ? answer->body : "", answer->n_body, 0, NULL);

	if (answer->status != status || !root)
		fail_msg("%d %s, but expected %d", answer->status, answer->body ? answer->body : "", status);
	return root;
}

static json_t *get(struct berth_fixture *fixture, const char *path)
{
	BERTH_AUTO_ANSWER struct berth_answer answer = berth_ask_unix(fixture, "GET", path, "", NULL);

	return parse(&answer, 200);
}

static json_int_t first_id(const struct berth_answer *answer, int status)
{
	json_t *root = parse(answer, status);
	const json_int_t id = json_integer_value(
		json_object_get(json_array_get(json_object_get(root, "jobs"), 0), "id"));

	json_decref(root);
	return id;
}

static void test_an_acknowledged_job_is_there_after_a_restart(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_ANSWER struct berth_answer answer = berth_ask_unix(fixture, "POST", "/api/v1/jobs",
	                                                              "Idempotency-Key: once\r\n",
	                                                              "{\"name\":\"kept\",\"gpus\":2," SPEC "}");
	BERTH_AUTO_ANSWER struct berth_answer again = {0};
	json_t *root;
	json_t *job;

	assert_int_equal(first_id(&answer, 201), 1);
	berth_fixture_restart(fixture);
	root = get(fixture, "/api/v1/jobs/1");
	job = json_object_get(root, "job");
	assert_string_equal(json_string_value(json_object_get(job, "name")), "kept");
	assert_string_equal(json_string_value(json_object_get(job, "cwd")), "/home/lin");
	assert_string_equal(json_string_value(json_object_get(job, "output_path")), "/home/lin/berth-1.out");
	assert_int_equal(json_array_size(json_object_get(job, "argv")), 2);
	json_decref(root);
	/* The answer to the first sending was lost; its retry over the restart gets the same job. */
	again = berth_ask_unix(fixture, "POST", "/api/v1/jobs", "Idempotency-Key: once\r\n",
	                       "{\"name\":\"kept\",\"gpus\":2," SPEC "}");
	assert_int_equal(first_id(&again, 200), 1);
}

static void test_a_session_is_kept_by_the_store(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_FREE char *session = berth_sign_in(fixture);
	BERTH_AUTO_ANSWER struct berth_answer answer = {0};
	char headers[512];

	berth_fixture_restart(fixture);
	(void)snprintf(headers, sizeof(headers), "Host: 127.0.0.1:%u\r\n%s", (unsigned)berth_api_port(fixture->api),
	               strstr(session, "Cookie: "));
	answer = berth_ask_tcp(fixture, "GET", "/api/v1/jobs", headers, NULL);
	assert_int_equal(answer.status, 200);
}

/* List or history has a job at every moment: never both empty. */
static void test_a_job_goes_into_history(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_ANSWER struct berth_answer answer = berth_ask_unix(
		fixture, "POST", "/api/v1/jobs", "Idempotency-Key: old\r\n", "{\"name\":\"past\",\"gpus\":1," SPEC "}");
	BERTH_AUTO_ANSWER struct berth_answer again = {0};
	const uint64_t until_ms = berth_clock_boot_ms() + 3000;
	json_t *root;

	assert_int_equal(first_id(&answer, 201), 1);
	while (fixture->n_assigned == 0 && berth_clock_boot_ms() < until_ms)
		(void)sd_event_run(fixture->event, 10000);
	berth_fixture_start(fixture, 1);
	berth_fixture_end(fixture, 1, 7);
	while (!berth_job_state_is_final(berth_core_job(berth_ledger_core(fixture->ledger), 1)->state) &&
	       berth_clock_boot_ms() < until_ms)
		(void)sd_event_run(fixture->event, 10000);
	root = get(fixture, "/api/v1/history?state=FAILED");
	assert_int_equal(json_array_size(json_object_get(root, "jobs")), 1);
	json_decref(root);
	root = get(fixture, "/api/v1/history?state=COMPLETED");
	assert_int_equal(json_array_size(json_object_get(root, "jobs")), 0);
	json_decref(root);
	fixture->now_ms += 2 * 3600000; /* beyond what finished jobs stay for */
	berth_ledger_nudge(fixture->ledger);
	while (berth_core_job(berth_ledger_core(fixture->ledger), 1) && berth_clock_boot_ms() < until_ms) {
		root = get(fixture, "/api/v1/jobs/1");
		assert_string_equal(json_string_value(json_object_get(json_object_get(root, "job"), "name")), "past");
		json_decref(root);
	}
	root = get(fixture, "/api/v1/jobs/1");
	assert_true(json_is_true(json_object_get(json_object_get(root, "job"), "history")));
	assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "job"), "exit_code")), 7);
	json_decref(root);
	root = get(fixture, "/api/v1/history?state=FAILED");
	assert_int_equal(json_array_size(json_object_get(root, "jobs")), 1);
	json_decref(root);
	again = berth_ask_unix(fixture, "POST", "/api/v1/jobs", "Idempotency-Key: old\r\n",
	                       "{\"name\":\"past\",\"gpus\":1," SPEC "}");
	root = parse(&again, 200);
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(json_object_get(root, "jobs"), 0), "state")),
		"FAILED");
	json_decref(root);
}

static void test_real_refusals_of_specifications(void **state)
{
	struct berth_fixture *fixture = *state;
	static const struct {
		const char *spec, *named;
	} cases[] = {
		{"{\"argv\":[],\"cwd\":\"/\",\"env\":[]}", "spec.argv"},
		{"{\"argv\":[\"a\"],\"cwd\":\"relative\",\"env\":[]}", "spec.cwd"},
		{"{\"argv\":[\"a\"],\"cwd\":\"/\",\"env\":[\"=x\"]}", "spec.env[0]"},
		{"{\"argv\":[\"a\"],\"cwd\":\"/\"}", "spec.env"},
		{"{\"argv\":[\"a\"],\"cwd\":\"/\",\"env\":[],\"output\":\"%q\"}", "%q"},
		{"{\"argv\":[\"a\"],\"cwd\":\"/\",\"env\":[],\"outptu\":\"x\"}", "did you mean output"},
		{"{\"argv\":[\"a\"],\"cwd\":\"/\",\"env\":[],\"stop_signal\":99}", "spec.stop_signal"},
		{"{\"script\":\"echo hi\",\"cwd\":\"/\",\"env\":[]}", "#!"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		BERTH_AUTO_ANSWER struct berth_answer answer = {0};
		BERTH_AUTO_TEXT struct berth_text body = {0};
		json_t *root;

		berth_text_addf(&body, "{\"spec\":%s}", cases[i].spec);
		answer = berth_ask_unix(fixture, "POST", "/api/v1/jobs", "", body.at);
		root = parse(&answer, 400);
		if (!strstr(answer.body, cases[i].named))
			fail_msg("%s: %s", cases[i].spec, answer.body);
		json_decref(root);
	}
}

static void test_metrics_of_the_real_telemetry(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_ANSWER struct berth_answer answer = berth_ask_unix(fixture, "GET", "/metrics", "", NULL);

	assert_int_equal(answer.status, 200);
	assert_non_null(strstr(answer.body, "# TYPE berth_"));
	assert_non_null(strstr(answer.head, "version=0.0.4"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_an_acknowledged_job_is_there_after_a_restart, shelve, discard),
		cmocka_unit_test_setup_teardown(test_a_session_is_kept_by_the_store, shelve, discard),
		cmocka_unit_test_setup_teardown(test_a_job_goes_into_history, shelve, discard),
		cmocka_unit_test_setup_teardown(test_real_refusals_of_specifications, shelve, discard),
		cmocka_unit_test_setup_teardown(test_metrics_of_the_real_telemetry, shelve, discard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
