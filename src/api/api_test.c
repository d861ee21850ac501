#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include "api/double_test.h"
#include "api/fixture_test.h"

#define SPEC "\"spec\":{\"argv\":[\"/usr/bin/python\",\"train.py\"],\"cwd\":\"/home/lin\",\"env\":[\"A=1\"]}"

static int set_up(void **state)
{
	struct berth_fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	berth_fixture_open(fixture);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	berth_fixture_close(*state);
	free(*state);
	return 0;
}

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

static void test_submit_is_listed(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_ANSWER struct berth_answer answer = berth_ask_unix(fixture, "POST", "/api/v1/jobs", "",
	                                                              "{\"name\":\"train\",\"gpus\":2," SPEC "}");
	json_t *submitted = parse(&answer, "berth.submit/1");
	json_t *queue;
	json_t *job;

	assert_int_equal(answer.status, 201);
	assert_int_equal(
		json_integer_value(json_object_get(json_array_get(json_object_get(submitted, "jobs"), 0), "id")), 1);
	json_decref(submitted);
	berth_fixture_settle(fixture);
	assert_int_equal(fixture->n_assigned, 1);
	berth_fixture_start(fixture, 1);
	queue = get(fixture, "/api/v1/jobs", "berth.queue/1");
	job = json_array_get(json_object_get(queue, "jobs"), 0);
	assert_string_equal(json_string_value(json_object_get(job, "state")), "RUNNING");
	assert_string_equal(json_string_value(json_object_get(job, "name")), "train");
	assert_int_equal(json_array_size(json_object_get(job, "devices")), 2);
	json_decref(queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_submit_is_listed, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
