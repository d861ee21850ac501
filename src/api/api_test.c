#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "api/double_test.h"
#include "api/fixture_test.h"

#define SPEC "\"spec\":{\"argv\":[\"/usr/bin/python\",\"train.py\"],\"cwd\":\"/home/lin\",\"env\":[\"A=1\"]}"

/* The body as JSON; its schema must be this. */
static json_t *parse(const struct berth_answer *answer, const char *schema)
{
	json_error_t error;
	json_t *root = json_loadb(answer->body, answer->n_body, 0, &error);

	if (!root || strcmp(json_string_value(json_object_get(root, "schema")), schema) != 0)
		print_message("not %s: %.400s\n", schema, answer->body ? answer->body : "no answer");
	assert_non_null(root);
	assert_string_equal(json_string_value(json_object_get(root, "schema")), schema);
	return root;
}

static json_t *get(struct berth_fixture *fixture, const char *path, const char *schema)
{
	BERTH_AUTO_ANSWER struct berth_answer answer = berth_ask_unix(fixture, "GET", path, "", NULL);

	assert_int_equal(answer.status, 200);
	return parse(&answer, schema);
}

static struct berth_answer post(struct berth_fixture *fixture, const char *path, const char *body)
{
	return berth_ask_unix(fixture, "POST", path, "", body);
}

/* The code and message of an error answer. */
static void assert_refused(const struct berth_answer *answer, int status, const char *code, const char *words)
{
	json_t *root = parse(answer, "berth.error/1");
	json_t *error = json_object_get(root, "error");

	if (answer->status != status || strcmp(json_string_value(json_object_get(error, "code")), code) != 0 ||
	    !strstr(json_string_value(json_object_get(error, "message")), words))
		fail_msg("%d %s, but expected %d %s: %s", answer->status, answer->body, status, code, words);
	assert_true(json_is_object(json_object_get(error, "params")));
	assert_non_null(json_object_get(error, "help"));
	json_decref(root);
}

/* Submit one job; its id. */
static uint64_t submit(struct berth_fixture *fixture, const char *body)
{
	BERTH_AUTO_ANSWER struct berth_answer answer = post(fixture, "/api/v1/jobs", body);
	json_t *root = parse(&answer, "berth.submit/1");
	const json_int_t id = json_integer_value(
		json_object_get(json_array_get(json_object_get(root, "jobs"), 0), "id"));

	assert_int_equal(answer.status, 201);
	json_decref(root);
	berth_fixture_settle(fixture);
	return (uint64_t)id;
}

static json_t *jobs_of(json_t *queue)
{
	return json_object_get(queue, "jobs");
}

static const char *string_of(json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static json_int_t number_of(json_t *object, const char *name)
{
	assert_true(json_is_integer(json_object_get(object, name)));
	return json_integer_value(json_object_get(object, name));
}

/* --- one job's way --------------------------------------------------------------------------- */

static void test_a_job_runs_and_ends(void **state)
{
	struct berth_fixture *fixture = *state;
	const uint64_t id = submit(fixture, "{\"name\":\"train\",\"gpus\":2,\"tier\":\"P1\"," SPEC "}");
	json_t *root;
	json_t *job;

	assert_int_equal(id, 1);
	assert_int_equal(fixture->n_assigned, 1);
	root = get(fixture, "/api/v1/jobs/1", "berth.job/1");
	job = json_object_get(root, "job");
	assert_string_equal(string_of(job, "state"), "PENDING");
	assert_string_equal(string_of(json_object_get(job, "reason"), "code"), "Starting");
	json_decref(root);
	berth_fixture_start(fixture, 1);
	berth_double_engine_knobs(fixture->engine)->progress = "120/500 epoch 3";
	root = get(fixture, "/api/v1/jobs/1", "berth.job/1");
	job = json_object_get(root, "job");
	assert_string_equal(string_of(job, "state"), "RUNNING");
	assert_string_equal(string_of(job, "name"), "train");
	assert_string_equal(string_of(job, "tier"), "P1");
	assert_string_equal(string_of(job, "node"), "gpu01");
	assert_int_equal(json_array_size(json_object_get(job, "devices")), 2);
	assert_string_equal(json_string_value(json_array_get(json_object_get(job, "argv"), 1)), "train.py");
	assert_int_equal(number_of(job, "pid"), 4711);
	assert_int_equal(number_of(job, "share_milli"), 1000);
	assert_int_equal(number_of(json_object_get(job, "progress"), "done"), 120);
	assert_int_equal(number_of(json_object_get(job, "progress"), "total"), 500);
	assert_string_equal(string_of(json_object_get(job, "progress"), "text"), "epoch 3");
	assert_true(json_is_null(json_object_get(job, "exit_code")));
	assert_true(json_is_null(json_object_get(job, "team")));
	assert_true(json_is_string(json_object_get(json_object_get(job, "predicted_end"), "latest")));
	json_decref(root);
	berth_fixture_end(fixture, 1, 3);
	root = get(fixture, "/api/v1/jobs/1", "berth.job/1");
	job = json_object_get(root, "job");
	assert_string_equal(string_of(job, "state"), "FAILED");
	assert_string_equal(string_of(json_object_get(job, "reason"), "code"), "NonZeroExitCode");
	assert_int_equal(number_of(json_object_get(json_object_get(job, "reason"), "params"), "exit_code"), 3);
	assert_int_equal(number_of(job, "exit_code"), 3);
	assert_true(json_is_null(json_object_get(job, "progress")));
	assert_true(json_is_null(json_object_get(job, "pid")));
	assert_int_equal(json_array_size(json_object_get(job, "devices")), 2); /* what it had */
	json_decref(root);
}

static void test_defaults_of_a_submission(void **state)
{
	struct berth_fixture *fixture = *state;
	json_t *root;
	json_t *job;

	(void)submit(fixture, "{" SPEC "}");
	root = get(fixture, "/api/v1/jobs/1", "berth.job/1");
	job = json_object_get(root, "job");
	assert_string_equal(string_of(job, "name"), "python"); /* after its command */
	assert_int_equal(number_of(job, "gpus"), 1);
	assert_int_equal(number_of(job, "limit_ms"), 86400000);
	assert_int_equal(number_of(job, "grace_ms"), 30000);
	assert_int_equal(number_of(job, "uid"), getuid());
	assert_string_equal(string_of(job, "output"), "berth-%j.out");
	assert_false(json_is_true(json_object_get(job, "history")));
	json_decref(root);
}

/* --- lists ----------------------------------------------------------------------------------- */

static void assert_ids(struct berth_fixture *fixture, const char *path, const char *expected)
{
	json_t *root = get(fixture, path, "berth.queue/1");
	char ids[256] = "";
	json_t *job;
	size_t i;

	json_array_foreach(jobs_of(root), i, job)(void) snprintf(ids + strlen(ids), sizeof(ids) - strlen(ids), "%s%lld",
	                                                         i > 0 ? "," : "", (long long)number_of(job, "id"));
	if (strcmp(ids, expected) != 0)
		fail_msg("%s: %s, expected %s", path, ids, expected);
	json_decref(root);
}

static void test_order_and_filters(void **state)
{
	struct berth_fixture *fixture = *state;
	json_t *root;
	json_t *job;

	(void)submit(fixture, "{\"gpus\":1," SPEC "}"); /* 1: ends first */
	(void)submit(fixture, "{\"gpus\":1," SPEC "}"); /* 2: ends second */
	(void)submit(fixture, "{\"gpus\":6," SPEC "}"); /* 3: runs on */
	berth_fixture_start(fixture, 1);
	berth_fixture_start(fixture, 2);
	berth_fixture_start(fixture, 3);
	fixture->now_ms += 1000;
	berth_fixture_end(fixture, 1, 0);
	fixture->now_ms += 1000;
	berth_fixture_end(fixture, 2, 1);
	(void)submit(fixture, "{\"gpus\":8," SPEC "}");                 /* 4: waits */
	(void)submit(fixture, "{\"gpus\":8,\"tier\":\"P0\"," SPEC "}"); /* 5: waits, ahead of 4 */
	(void)submit(fixture, "{\"gpus\":1,\"hold\":true," SPEC "}");   /* 6: held */
	assert_ids(fixture, "/api/v1/jobs", "3,5,4,6,2,1");
	assert_ids(fixture, "/api/v1/jobs?active=1", "3,5,4,6");
	assert_ids(fixture, "/api/v1/jobs?state=COMPLETED,FAILED", "2,1");
	assert_ids(fixture, "/api/v1/jobs?state=held", "6");
	assert_ids(fixture, "/api/v1/jobs?state=PENDING&active=1", "5,4");
	assert_ids(fixture, "/api/v1/jobs?user=nobody-of-that-name", "");
	assert_ids(fixture, "/api/v1/jobs?limit=2", "3,5");
	root = get(fixture, "/api/v1/jobs?limit=2", "berth.queue/1");
	assert_int_equal(number_of(root, "left_out"), 4);
	job = json_array_get(jobs_of(root), 1);
	assert_int_equal(number_of(job, "position"), 1);
	assert_string_equal(string_of(json_object_get(job, "reason"), "code"), "Resources");
	assert_int_equal(number_of(json_object_get(json_object_get(job, "reason"), "params"), "suit"), 8);
	assert_true(json_is_object(json_object_get(job, "predicted_start")));
	json_decref(root);
}

static void test_a_bad_query_is_refused(void **state)
{
	struct berth_fixture *fixture = *state;
	static const struct {
		const char *path, *words;
	} cases[] = {
		{"/api/v1/jobs?state=SLEEPING", "SLEEPING"},
		{"/api/v1/jobs?limit=0", "limit"},
		{"/api/v1/jobs?limit=x", "limit"},
		{"/api/v1/jobs?stat=RUNNING", "?stat="},
		{"/api/v1/gpus?x=1", "?x="},
		{"/api/v1/history?since=never", "never"},
		{"/api/v1/history?limit=10001", "limit"},
		{"/api/v1/events?since=-1", "since"},
		{"/api/v1/events?since=abc", "since"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		BERTH_AUTO_ANSWER struct berth_answer answer = berth_ask_unix(fixture, "GET", cases[i].path, "", NULL);

		assert_refused(&answer, 400, "BadQuery", cases[i].words);
	}
}

static void test_history(void **state)
{
	struct berth_fixture *fixture = *state;
	json_t *root;

	berth_double_history_add(fixture->ledger, 90, "lin", "COMPLETED",
	                         "{\"id\":90,\"state\":\"COMPLETED\",\"history\":true}");
	berth_double_history_add(fixture->ledger, 80, "wang", "FAILED",
	                         "{\"id\":80,\"state\":\"FAILED\",\"history\":true}");
	root = get(fixture, "/api/v1/history", "berth.history/1");
	assert_int_equal(json_array_size(jobs_of(root)), 2);
	json_decref(root);
	root = get(fixture, "/api/v1/history?user=wang&limit=1&before=90", "berth.history/1");
	assert_int_equal(number_of(json_array_get(jobs_of(root), 0), "id"), 80);
	json_decref(root);
	/* One job is found there too, and can be cancelled without harm, but not held. */
	root = get(fixture, "/api/v1/jobs/90", "berth.job/1");
	assert_true(json_is_true(json_object_get(json_object_get(root, "job"), "history")));
	json_decref(root);
	{
		BERTH_AUTO_ANSWER struct berth_answer cancelled = post(fixture, "/api/v1/jobs/90/cancel", NULL);
		BERTH_AUTO_ANSWER struct berth_answer held = post(fixture, "/api/v1/jobs/90/hold", NULL);

		assert_int_equal(cancelled.status, 200);
		assert_refused(&held, 404, "NoSuchJob", "90");
	}
}

/* The row that history keeps is the job as `show` has it. */
static void test_the_history_row(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_FREE char *row = NULL;
	json_t *root;

	(void)submit(fixture, "{\"gpus\":1," SPEC "}");
	berth_fixture_start(fixture, 1);
	berth_fixture_end(fixture, 1, 0);
	row = berth_api_job_json(fixture->api, berth_core_job(berth_ledger_core(fixture->ledger), 1));
	root = json_loads(row, 0, NULL);
	assert_non_null(root);
	assert_true(json_is_true(json_object_get(root, "history")));
	assert_string_equal(string_of(root, "state"), "COMPLETED");
	assert_string_equal(string_of(root, "cwd"), "/home/lin");
	json_decref(root);
}

/* --- asking ---------------------------------------------------------------------------------- */

static void test_hold_release_cancel(void **state)
{
	struct berth_fixture *fixture = *state;
	static const struct {
		const char *verb, *state;
	} steps[] = {
		{"hold", "HELD"}, {"hold", "HELD"}, {"release", "PENDING"}, {"cancel", NULL}, {"cancel", "CANCELLED"}};

	(void)submit(fixture, "{\"gpus\":8," SPEC "}");
	(void)submit(fixture, "{\"gpus\":8," SPEC "}");
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		char path[64];
		BERTH_AUTO_ANSWER struct berth_answer answer = {0};
		json_t *root;

		(void)snprintf(path, sizeof(path), "/api/v1/jobs/2/%s", steps[i].verb);
		answer = post(fixture, path, NULL);
		root = parse(&answer, "berth.job/1");
		assert_int_equal(answer.status, 200);
		if (steps[i].state)
			assert_string_equal(string_of(json_object_get(root, "job"), "state"), steps[i].state);
		json_decref(root);
		berth_fixture_settle(fixture);
	}
}

static void test_wrong_states(void **state)
{
	struct berth_fixture *fixture = *state;
	static const struct {
		const char *path, *words;
	} cases[] = {
		{"/api/v1/jobs/1/hold", "cannot be held"},
		{"/api/v1/jobs/1/release", "cannot be released"},
		{"/api/v1/jobs/2/requeue", "cannot be requeued"},
	};

	(void)submit(fixture, "{\"gpus\":8," SPEC "}");
	(void)submit(fixture, "{\"gpus\":8," SPEC "}");
	berth_fixture_start(fixture, 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		BERTH_AUTO_ANSWER struct berth_answer answer = post(fixture, cases[i].path, NULL);

		assert_refused(&answer, 409, "WrongState", cases[i].words);
	}
}

static void test_no_such_job(void **state)
{
	struct berth_fixture *fixture = *state;
	static const char *const paths[] = {"/api/v1/jobs/7/hold",   "/api/v1/jobs/7/cancel",
	                                    "/api/v1/jobs/0/cancel", "/api/v1/jobs/x/hold",
	                                    "/api/v1/jobs/-1/hold",  "/api/v1/jobs/99999999999999999999/hold"};
	static const char *const read[] = {"/api/v1/jobs/7", "/api/v1/jobs/abc", "/api/v1/jobs/7/why",
	                                   "/api/v1/jobs/..%2f1"};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		BERTH_AUTO_ANSWER struct berth_answer answer = post(fixture, paths[i], NULL);

		assert_int_equal(answer.status, 404);
	}
	for (size_t i = 0; i < sizeof(read) / sizeof(read[0]); i++) {
		BERTH_AUTO_ANSWER struct berth_answer answer = berth_ask_unix(fixture, "GET", read[i], "", NULL);

		assert_int_equal(answer.status, 404);
	}
}

static struct berth_answer patch(struct berth_fixture *fixture, const char *path, const char *body)
{
	return berth_ask_unix(fixture, "PATCH", path, "", body);
}

static void test_alter(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_ANSWER struct berth_answer altered = {0};
	json_t *root;
	json_t *job;

	(void)submit(fixture, "{\"gpus\":8," SPEC "}");
	(void)submit(fixture, "{\"gpus\":8,\"gpu_index\":[0,1,2,3,4,5,6,7]," SPEC "}");
	altered = patch(fixture, "/api/v1/jobs/2",
	                "{\"gpus\":2,\"gpu_index\":null,\"name\":\"new\",\"limit_ms\":60000,\"tier\":\"P0\"}");
	root = parse(&altered, "berth.job/1");
	job = json_object_get(root, "job");
	assert_int_equal(altered.status, 200);
	assert_int_equal(number_of(job, "gpus"), 2);
	assert_int_equal(number_of(job, "limit_ms"), 60000);
	assert_string_equal(string_of(job, "name"), "new");
	assert_string_equal(string_of(job, "tier"), "P0");
	assert_true(json_is_null(json_object_get(job, "gpu_index")));
	assert_int_equal(number_of(job, "grace_ms"), 30000); /* what was not named stays */
	json_decref(root);
}

static void test_alter_is_checked_like_a_submission(void **state)
{
	struct berth_fixture *fixture = *state;
	static const struct {
		const char *body, *code, *words;
		int status;
	} cases[] = {
		{"{\"gpus\":9}", "TooManyGpus", "9 GPUs", 422},
		{"{\"limit_ms\":null}", "AboveLimit", "unlimited", 422},
		{"{}", "BadField", "nothing to alter", 400},
		{"[]", "BadField", "object", 400},
		{"{\"limt_ms\":5}", "BadField", "limit_ms", 400},
		{"{\"spec\":{}}", "BadField", "spec", 400},
	};

	(void)submit(fixture, "{\"gpus\":8," SPEC "}");
	(void)submit(fixture, "{\"gpus\":8," SPEC "}");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		BERTH_AUTO_ANSWER struct berth_answer answer = patch(fixture, "/api/v1/jobs/2", cases[i].body);

		assert_refused(&answer, cases[i].status, cases[i].code, cases[i].words);
	}
	{
		BERTH_AUTO_ANSWER struct berth_answer running = patch(fixture, "/api/v1/jobs/1", "{\"gpus\":2}");
		BERTH_AUTO_ANSWER struct berth_answer limit = patch(fixture, "/api/v1/jobs/1", "{\"limit_ms\":60000}");

		assert_refused(&running, 409, "WrongState", "altered");
		assert_int_equal(limit.status, 200);
	}
}

static void test_why(void **state)
{
	struct berth_fixture *fixture = *state;
	json_t *root;
	json_t *reason;

	(void)submit(fixture, "{\"gpus\":6," SPEC "}");
	(void)submit(fixture, "{\"gpus\":4," SPEC "}");
	root = get(fixture, "/api/v1/jobs/2/why", "berth.why/1");
	reason = json_array_get(json_object_get(root, "reasons"), 0);
	assert_string_equal(string_of(reason, "code"), "Resources");
	assert_string_equal(string_of(reason, "text"), "needs 4 GPUs; 2 of the 8 that suit are free");
	assert_int_equal(json_array_size(json_object_get(reason, "devices")), 8);
	assert_string_equal(string_of(json_array_get(json_object_get(reason, "devices"), 7), "uuid"), "SIM-7");
	json_decref(root);
	root = get(fixture, "/api/v1/jobs/2/why", "berth.why/1");
	reason = json_array_get(json_object_get(root, "suggestions"), 0);
	assert_string_equal(string_of(reason, "change"), "ask for 2 GPUs instead of 4");
	assert_string_equal(json_string_value(json_array_get(json_object_get(reason, "argv"), 3)), "--gpus");
	assert_string_equal(json_string_value(json_array_get(json_object_get(reason, "argv"), 4)), "2");
	json_decref(root);
}

/* --- devices, output, the daemon itself ------------------------------------------------------ */

static void test_gpus_and_drain(void **state)
{
	struct berth_fixture *fixture = *state;
	json_t *root = get(fixture, "/api/v1/gpus", "berth.gpus/1");
	json_t *gpu = json_array_get(json_object_get(root, "gpus"), 3);

	assert_int_equal(json_array_size(json_object_get(root, "gpus")), 8);
	assert_string_equal(string_of(gpu, "uuid"), "SIM-3");
	assert_string_equal(string_of(gpu, "state"), "free");
	assert_string_equal(string_of(gpu, "health"), "ok");
	assert_int_equal(number_of(gpu, "util_permille"), 420);
	assert_true(json_is_null(json_object_get(gpu, "temp_c")));
	assert_string_equal(string_of(json_array_get(json_object_get(gpu, "links"), 0), "kind"), "nvswitch");
	json_decref(root);
	{
		BERTH_AUTO_ANSWER struct berth_answer drained = post(fixture, "/api/v1/gpus/3/drain",
		                                                     "{\"note\":\"fan\"}");
		BERTH_AUTO_ANSWER struct berth_answer undrained = {0};
		BERTH_AUTO_ANSWER struct berth_answer unknown = post(fixture, "/api/v1/gpus/8/drain", "{}");
		BERTH_AUTO_ANSWER struct berth_answer field = post(fixture, "/api/v1/gpus/3/drain",
		                                                   "{\"not\":\"fan\"}");

		root = parse(&drained, "berth.gpu/1");
		gpu = json_object_get(root, "gpu");
		assert_string_equal(string_of(gpu, "state"), "drained");
		assert_string_equal(string_of(json_object_get(gpu, "drain"), "note"), "fan");
		json_decref(root);
		undrained = post(fixture, "/api/v1/gpus/SIM-3/undrain", NULL);
		root = parse(&undrained, "berth.gpu/1");
		assert_true(json_is_null(json_object_get(json_object_get(root, "gpu"), "drain")));
		json_decref(root);
		assert_refused(&unknown, 404, "NoSuchGpu", "8");
		assert_refused(&field, 400, "BadField", "did you mean note");
	}
}

static void test_holders(void **state)
{
	struct berth_fixture *fixture = *state;
	json_t *root;
	json_t *gpu;

	(void)submit(fixture, "{\"gpus\":8," SPEC "}");
	root = get(fixture, "/api/v1/gpus", "berth.gpus/1");
	gpu = json_array_get(json_object_get(root, "gpus"), 0);
	assert_string_equal(string_of(gpu, "state"), "busy");
	assert_int_equal(json_integer_value(json_array_get(json_object_get(gpu, "jobs"), 0)), 1);
	assert_true(json_is_string(json_object_get(gpu, "user")));
	assert_true(json_is_string(json_object_get(gpu, "since")));
	json_decref(root);
}

static void test_log_ranges(void **state)
{
	struct berth_fixture *fixture = *state;
	static const struct {
		const char *query, *bytes;
	} cases[] = {{"", "0123456789"},    {"?offset=4", "456789"},       {"?offset=4&length=3", "456"},
	             {"?offset=-3", "789"}, {"?offset=-30", "0123456789"}, {"?offset=10", ""},
	             {"?offset=99", ""}};

	berth_double_engine_knobs(fixture->engine)->output = "0123456789";
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		BERTH_AUTO_ANSWER struct berth_answer answer = {0};
		char path[64];

		(void)snprintf(path, sizeof(path), "/api/v1/jobs/1/log%s", cases[i].query);
		answer = berth_ask_unix(fixture, "GET", path, "", NULL);
		assert_int_equal(answer.status, 200);
		assert_string_equal(answer.body, cases[i].bytes);
		assert_non_null(strstr(answer.head, "Berth-Log-Size: 10\r\n"));
		assert_non_null(strstr(answer.head, "text/plain"));
	}
}

static void test_log_that_comes_late_or_not(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_ANSWER struct berth_answer missing = berth_ask_unix(fixture, "GET", "/api/v1/jobs/1/log", "", NULL);
	BERTH_AUTO_ANSWER struct berth_answer bad = berth_ask_unix(fixture, "GET", "/api/v1/jobs/1/log?length=0", "",
	                                                           NULL);
	BERTH_AUTO_ANSWER struct berth_answer late = {0};
	int gone = berth_client_unix(fixture);
	int fd = berth_client_unix(fixture);

	assert_refused(&missing, 404, "NoOutput", "no output");
	assert_refused(&bad, 400, "BadQuery", "length");
	berth_double_engine_knobs(fixture->engine)->is_slow = true;
	berth_double_engine_knobs(fixture->engine)->output = "late";
	assert_true(berth_client_send(fixture, fd, "GET /api/v1/jobs/1/log HTTP/1.1\r\nHost: x\r\n\r\n", 44));
	assert_true(berth_client_send(fixture, gone, "GET /api/v1/jobs/1/log HTTP/1.1\r\nHost: x\r\n\r\n", 44));
	berth_fixture_settle(fixture);
	assert_int_equal(close(gone), 0);
	berth_fixture_settle(fixture);
	berth_double_engine_answer(fixture->engine);
	late = berth_client_read(fixture, fd);
	assert_string_equal(late.body, "late");
	assert_int_equal(close(fd), 0);
}

static void test_injections(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_ANSWER struct berth_answer good = post(fixture, "/api/v1/admin/sim",
	                                                  "{\"gpu\":\"0\",\"inject\":\"lost\"}");
	BERTH_AUTO_ANSWER struct berth_answer bad = post(fixture, "/api/v1/admin/sim",
	                                                 "{\"gpu\":\"0\",\"inject\":\"nonsense\"}");
	BERTH_AUTO_ANSWER struct berth_answer unknown = post(fixture, "/api/v1/admin/sim",
	                                                     "{\"gpu\":\"70\",\"inject\":\"lost\"}");
	BERTH_AUTO_ANSWER struct berth_answer empty = post(fixture, "/api/v1/admin/sim", "{}");
	BERTH_AUTO_ANSWER struct berth_answer failed = {0};

	assert_int_equal(good.status, 200);
	assert_string_equal(fixture->injected, "lost");
	assert_refused(&bad, 400, "BadInjection", "nonsense");
	assert_refused(&unknown, 404, "NoSuchGpu", "70");
	assert_refused(&empty, 400, "BadField", "gpu");
	fixture->inject_result = -EIO;
	failed = post(fixture, "/api/v1/admin/sim", "{\"gpu\":\"0\",\"inject\":\"lost\"}");
	assert_refused(&failed, 400, "BadInjection", "refused");
}

static void test_real_cards_take_no_injection(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_ANSWER struct berth_answer answer = {0};

	fixture->host.is_simulated = false;
	berth_fixture_reopen(fixture);
	answer = post(fixture, "/api/v1/admin/sim", "{\"gpu\":\"0\",\"inject\":\"lost\"}");
	assert_refused(&answer, 409, "NotSimulated", "real");
	assert_null(fixture->injected);
}

static void test_status_doctor_config(void **state)
{
	struct berth_fixture *fixture = *state;
	json_t *status = get(fixture, "/api/v1/status", "berth.status/1");
	json_t *doctor = get(fixture, "/api/v1/doctor", "berth.doctor/1");
	json_t *config = get(fixture, "/api/v1/config", "berth.config/1");

	assert_true(json_is_true(json_object_get(status, "is_simulated")));
	assert_string_equal(string_of(status, "devices"), "sim:8xA100-80GB");
	assert_int_equal(number_of(json_object_get(status, "jobs"), "RUNNING"), 0);
	assert_int_equal(number_of(status, "gpus"), 8);
	assert_string_equal(string_of(json_array_get(json_object_get(doctor, "checks"), 0), "result"), "warn");
	assert_string_equal(string_of(json_array_get(json_object_get(doctor, "checks"), 0), "fix"), "free some");
	assert_true(json_is_null(json_object_get(json_array_get(json_object_get(doctor, "checks"), 1), "fix")));
	json_decref(status);
	json_decref(doctor);
	json_decref(config);
}

static void test_health_and_metrics(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_ANSWER struct berth_answer well = berth_ask_unix(fixture, "GET", "/healthz", "", NULL);
	BERTH_AUTO_ANSWER struct berth_answer metrics = berth_ask_unix(fixture, "GET", "/metrics", "", NULL);
	BERTH_AUTO_ANSWER struct berth_answer sick = {0};

	assert_int_equal(well.status, 200);
	assert_string_equal(well.body, "ok\n");
	assert_string_equal(metrics.body, "berth_http_requests_total 2\n");
	fixture->is_sick = true;
	sick = berth_ask_unix(fixture, "GET", "/healthz", "", NULL);
	assert_int_equal(sick.status, 503);
	assert_string_equal(sick.body, "the last sample is 40 s old\n");
}

static void test_wrong_paths_and_methods(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_ANSWER struct berth_answer path = berth_ask_unix(fixture, "GET", "/api/v1/nothing", "", NULL);
	BERTH_AUTO_ANSWER struct berth_answer method = berth_ask_unix(fixture, "DELETE", "/api/v1/jobs", "", NULL);
	BERTH_AUTO_ANSWER struct berth_answer one = berth_ask_unix(fixture, "POST", "/api/v1/jobs/1", "", "{}");
	BERTH_AUTO_ANSWER struct berth_answer nul = berth_ask_unix(fixture, "GET", "/api/v1/jobs%00/x", "", NULL);
	BERTH_AUTO_ANSWER struct berth_answer head = berth_ask_unix(fixture, "HEAD", "/healthz",
	                                                            "Connection: close\r\n", NULL);
	BERTH_AUTO_ANSWER struct berth_answer asset = berth_ask_unix(fixture, "GET", "/assets/../../etc/passwd", "",
	                                                             NULL);

	assert_refused(&path, 404, "NoSuchPath", "/api/v1/nothing");
	assert_refused(&method, 405, "MethodNotAllowed", "GET, POST");
	assert_non_null(strstr(method.head, "Allow: GET, POST\r\n"));
	assert_refused(&one, 405, "MethodNotAllowed", "GET, PATCH");
	assert_refused(&nul, 400, "BadPath", "NUL");
	assert_int_equal(head.status, 200);
	assert_refused(&asset, 404, "NoSuchPath", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_job_runs_and_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_defaults_of_a_submission, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_order_and_filters, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_bad_query_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_history, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_history_row, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hold_release_cancel, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_wrong_states, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_such_job, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_alter, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_alter_is_checked_like_a_submission, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_why, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_gpus_and_drain, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_holders, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_log_ranges, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_log_that_comes_late_or_not, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_injections, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_real_cards_take_no_injection, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_status_doctor_config, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_health_and_metrics, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_wrong_paths_and_methods, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
