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

/* --- submitting ------------------------------------------------------------------------------ */

static void test_a_batch_is_one_transaction(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_TEXT struct berth_text body = {0};
	BERTH_AUTO_ANSWER struct berth_answer answer = {0};
	json_t *root;

	for (unsigned i = 0; i < 100; i++)
		berth_text_addf(&body, "%s{\"name\":\"job-%u\",\"gpus\":1,%s}", i > 0 ? "," : "[", i, SPEC);
	berth_text_add(&body, "]");
	answer = post(fixture, "/api/v1/jobs", body.at);
	root = parse(&answer, "berth.submit/1");
	assert_int_equal(answer.status, 201);
	assert_int_equal(json_array_size(jobs_of(root)), 100);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(number_of(json_array_get(jobs_of(root), i), "id"), i + 1);
	json_decref(root);
	/* One environment, one specification. */
	assert_int_equal(berth_double_blob_count(fixture->ledger), 2);
}

static void test_an_environment_is_inherited_in_a_batch(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_ANSWER struct berth_answer answer = post(
		fixture, "/api/v1/jobs",
		"[{\"spec\":{\"argv\":[\"a\"],\"cwd\":\"/\",\"env\":[\"A=1\"]}},{\"spec\":{\"argv\":[\"b\"],\"cwd\":\"/"
		"\"}}]");
	BERTH_AUTO_ANSWER struct berth_answer alone = post(fixture, "/api/v1/jobs",
	                                                   "{\"spec\":{\"argv\":[\"b\"],\"cwd\":\"/\"}}");

	assert_int_equal(answer.status, 201);
	assert_int_equal(berth_double_blob_count(fixture->ledger), 3);
	assert_refused(&alone, 400, "BadField", "spec.env");
}

static void test_one_bad_job_refuses_the_batch(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_ANSWER struct berth_answer field = post(fixture, "/api/v1/jobs",
	                                                   "[{" SPEC "},{\"gpus\":-1," SPEC "}]");
	BERTH_AUTO_ANSWER struct berth_answer never = post(fixture, "/api/v1/jobs",
	                                                   "[{" SPEC "},{\"gpus\":9," SPEC "}]");
	BERTH_AUTO_ANSWER struct berth_answer empty = post(fixture, "/api/v1/jobs", "[]");
	BERTH_AUTO_ANSWER struct berth_answer no_object = post(fixture, "/api/v1/jobs", "[1]");
	BERTH_AUTO_ANSWER struct berth_answer no_spec = post(fixture, "/api/v1/jobs", "{\"gpus\":1}");

	assert_refused(&field, 400, "BadField", "jobs[1].gpus");
	assert_refused(&never, 422, "TooManyGpus", "jobs[1]: 9 GPUs");
	assert_refused(&empty, 400, "BadField", "no job");
	assert_refused(&no_object, 400, "BadField", "jobs[0] must be an object");
	assert_refused(&no_spec, 400, "BadField", "spec must be an object");
	assert_int_equal(berth_core_next_job(berth_ledger_core(fixture->ledger)), 1);
}

static void test_what_can_never_be_met(void **state)
{
	struct berth_fixture *fixture = *state;
	static const struct {
		const char *ask, *code, *words;
	} cases[] = {
		{"\"gpus\":9", "TooManyGpus", "8"},
		{"\"gpus\":100", "TooManyGpus", "100 GPUs"},
		{"\"gpu_model\":\"H100\"", "NoSuchModel", "model"},
		{"\"gpu_mem_bytes\":100000000000", "GpuTooSmall", "80 GB"},
		{"\"gpu_index\":[9]", "NoSuchIndex", "0-7"},
		{"\"limit_ms\":null", "AboveLimit", "unlimited"},
		{"\"limit_ms\":604800001", "AboveLimit", "7-00:00:00"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		BERTH_AUTO_TEXT struct berth_text body = {0};
		BERTH_AUTO_ANSWER struct berth_answer answer = {0};
		BERTH_AUTO_ANSWER struct berth_answer dry = {0};

		berth_text_addf(&body, "{%s,%s}", cases[i].ask, SPEC);
		answer = post(fixture, "/api/v1/jobs", body.at);
		assert_refused(&answer, 422, cases[i].code, cases[i].words);
		dry = post(fixture, "/api/v1/jobs?dry_run=1", body.at);
		assert_refused(&dry, 422, cases[i].code, cases[i].words);
	}
}

static void test_dry_run(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_ANSWER struct berth_answer now = post(fixture, "/api/v1/jobs?dry_run=1",
	                                                 "{\"gpus\":3,\"limit_ms\":3600000," SPEC "}");
	json_t *root = parse(&now, "berth.dryrun/1");
	json_t *job = json_array_get(jobs_of(root), 0);

	assert_int_equal(now.status, 200);
	assert_string_equal(string_of(job, "verdict"), "starts_now");
	assert_int_equal(json_array_size(json_object_get(job, "devices")), 3);
	assert_int_equal(number_of(job, "charge_gpu_ms"), 3 * 3600000);
	json_decref(root);
	(void)submit(fixture, "{\"gpus\":8," SPEC "}");
	{
		BERTH_AUTO_ANSWER struct berth_answer later = post(fixture, "/api/v1/jobs?dry_run=1",
		                                                   "{\"gpus\":1," SPEC "}");

		root = parse(&later, "berth.dryrun/1");
		job = json_array_get(jobs_of(root), 0);
		assert_string_equal(string_of(job, "verdict"), "waits");
		assert_true(json_is_string(json_object_get(json_object_get(job, "predicted_start"), "latest")));
		json_decref(root);
	}
	assert_int_equal(berth_core_next_job(berth_ledger_core(fixture->ledger)), 2); /* a dry run makes no job */
}

static struct berth_answer post_with_key(struct berth_fixture *fixture, const char *key, const char *body)
{
	char header[256];

	(void)snprintf(header, sizeof(header), "Idempotency-Key: %s\r\n", key);
	return berth_ask_unix(fixture, "POST", "/api/v1/jobs", header, body);
}

static void assert_id(const struct berth_answer *answer, int status, json_int_t id)
{
	json_t *root = parse(answer, "berth.submit/1");

	assert_int_equal(answer->status, status);
	assert_int_equal(number_of(json_array_get(jobs_of(root), 0), "id"), id);
	json_decref(root);
}

static void test_a_retry_makes_no_second_job(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_ANSWER struct berth_answer first = post_with_key(fixture, "k1", "{" SPEC "}");
	BERTH_AUTO_ANSWER struct berth_answer again = post_with_key(fixture, "k1", "{" SPEC "}");
	BERTH_AUTO_ANSWER struct berth_answer other = post_with_key(fixture, "k2", "{" SPEC "}");
	BERTH_AUTO_ANSWER struct berth_answer bad = post_with_key(fixture, "two words", "{" SPEC "}");

	assert_id(&first, 201, 1);
	assert_id(&again, 200, 1);
	assert_id(&other, 201, 2);
	assert_refused(&bad, 400, "BadKey", "Idempotency-Key");
	assert_int_equal(berth_core_next_job(berth_ledger_core(fixture->ledger)), 3);
}

static void send_submit(struct berth_fixture *fixture, int fd, const char *key)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	static const char body[] = "{" SPEC "}";

	berth_text_addf(
		&text,
		"POST /api/v1/jobs HTTP/1.1\r\nHost: berth\r\nIdempotency-Key: %s\r\nContent-Length: %zu\r\n\r\n%s",
		key, sizeof(body) - 1, body);
	assert_true(berth_client_send(fixture, fd, text.at, text.len));
}

/* The answer was lost while the first sending was still being written: the retry waits for it. */
static void test_a_retry_while_the_first_is_in_flight(void **state)
{
	struct berth_fixture *fixture = *state;
	int first = berth_client_unix(fixture);
	int second = berth_client_unix(fixture);
	BERTH_AUTO_ANSWER struct berth_answer answer = {0};

	berth_double_knobs(fixture->ledger)->is_held = true;
	send_submit(fixture, first, "key");
	for (unsigned i = 0; i < 10; i++)
		(void)sd_event_run(fixture->event, 2000);
	assert_int_equal(close(first), 0); /* gone before it knew */
	send_submit(fixture, second, "key");
	for (unsigned i = 0; i < 5; i++)
		(void)sd_event_run(fixture->event, 20000);
	berth_double_knobs(fixture->ledger)->is_held = false;
	answer = berth_client_read(fixture, second);
	assert_id(&answer, 200, 1);
	assert_int_equal(close(second), 0);
	assert_int_equal(berth_core_next_job(berth_ledger_core(fixture->ledger)), 2);
}

/* The first sending failed: the retry is a sending of its own. */
static void test_a_retry_after_a_failure(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_ANSWER struct berth_answer first = {0};
	BERTH_AUTO_ANSWER struct berth_answer again = {0};

	berth_double_knobs(fixture->ledger)->result = -ENOSPC;
	first = post_with_key(fixture, "key", "{" SPEC "}");
	assert_refused(&first, 503, "DiskFull", "disk is full");
	berth_double_knobs(fixture->ledger)->result = 0;
	again = post_with_key(fixture, "key", "{" SPEC "}");
	assert_id(&again, 201, 1);
}

/* Nothing is said before it is durable. */
static void test_the_answer_waits_for_the_disk(void **state)
{
	struct berth_fixture *fixture = *state;
	int fd = berth_client_unix(fixture);
	BERTH_AUTO_ANSWER struct berth_answer answer = {0};
	char byte;

	berth_double_knobs(fixture->ledger)->is_held = true;
	send_submit(fixture, fd, "key");
	for (unsigned i = 0; i < 5; i++)
		(void)sd_event_run(fixture->event, 2000);
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	berth_double_knobs(fixture->ledger)->is_held = false;
	answer = berth_client_read(fixture, fd);
	assert_id(&answer, 201, 1);
	assert_int_equal(close(fd), 0);
}

static void test_closing_with_requests_in_flight(void **state)
{
	struct berth_fixture *fixture = *state;
	int fd = berth_client_unix(fixture);
	int retry = berth_client_unix(fixture);
	int stream = berth_client_unix(fixture);
	int log = berth_client_unix(fixture);
	BERTH_AUTO_ANSWER struct berth_answer answer = {0};

	berth_double_knobs(fixture->ledger)->is_held = true;
	berth_double_engine_knobs(fixture->engine)->is_slow = true;
	send_submit(fixture, fd, "key");
	send_submit(fixture, retry, "key");
	assert_true(berth_client_send(fixture, stream, "GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n", 40));
	assert_true(berth_client_send(fixture, log, "GET /api/v1/jobs/1/log HTTP/1.1\r\nHost: x\r\n\r\n", 44));
	for (unsigned i = 0; i < 10; i++)
		(void)sd_event_run(fixture->event, 2000);
	berth_fixture_reopen(fixture);
	berth_double_knobs(fixture->ledger)->is_held = false;
	berth_double_engine_answer(fixture->engine);
	berth_fixture_settle(fixture);
	answer = berth_client_read(fixture, fd);
	assert_int_equal(answer.status, 0);
	(void)close(fd);
	(void)close(retry);
	(void)close(stream);
	(void)close(log);
	/* It was posted, so it is there: the client's retry will find it. */
	assert_non_null(berth_core_job(berth_ledger_core(fixture->ledger), 1));
}

/* --- bodies ---------------------------------------------------------------------------------- */

static void test_malformed_bodies(void **state)
{
	struct berth_fixture *fixture = *state;
	static const char *const bodies[] = {
		"{",
		"nonsense",
		"{\"gpus\":1}{",
		"{\"gpus\":1,\"gpus\":2}",
		"{\"name\":\"a\\u0000b\"}",
		"{\"name\":\"\xff\"}",
		"{\"gpus\":99999999999999999999999}",
		"{\"gpus\":1e999}",
		"\"text\"",
		"{\"name\":\"\\ud800\"}",
	};

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		BERTH_AUTO_ANSWER struct berth_answer answer = post(fixture, "/api/v1/jobs", bodies[i]);

		assert_refused(&answer, 400, "BadJson", "");
	}
	{
		BERTH_AUTO_TEXT struct berth_text deep = {0};
		BERTH_AUTO_ANSWER struct berth_answer answer = {0};

		for (unsigned i = 0; i < 100000; i++)
			berth_text_add(&deep, "[");
		answer = post(fixture, "/api/v1/jobs", deep.at);
		assert_refused(&answer, 400, "BadJson", "");
	}
}

static void test_too_large_a_body(void **state)
{
	struct berth_fixture *fixture = *state;
	int fd = berth_client_unix(fixture);
	static const char head[] = "POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 16777217\r\n\r\n";
	BERTH_AUTO_ANSWER struct berth_answer answer = {0};

	assert_true(berth_client_send(fixture, fd, head, sizeof(head) - 1));
	answer = berth_client_read(fixture, fd);
	assert_refused(&answer, 413, "TooLarge", "16 MB");
	assert_int_equal(close(fd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_batch_is_one_transaction, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_environment_is_inherited_in_a_batch, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_one_bad_job_refuses_the_batch, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_can_never_be_met, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_dry_run, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_retry_makes_no_second_job, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_retry_while_the_first_is_in_flight, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_retry_after_a_failure, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_answer_waits_for_the_disk, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_closing_with_requests_in_flight, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_malformed_bodies, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_too_large_a_body, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
