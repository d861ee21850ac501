#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/text.h"
#include "cli/client.h"
#include "cli/fake_test.h"
#include "cli/tail.h"

#define ENDED(path)                                                                                            \
	"{\"schema\":\"berth.job/1\",\"job\":{\"id\":7,\"state\":\"COMPLETED\",\"exit_code\":0,\"attempt\":1," \
	"\"start_time\":\"2023-11-14T22:13:20.000+00:00\",\"reason\":{\"code\":\"None\",\"params\":{}},"       \
	"\"output_path\":\"" path "\"}}"

static char *const logs[] = {(char *)"logs", (char *)"7", NULL};
static char *const logs_json[] = {(char *)"logs", (char *)"--json", (char *)"7", NULL};
static char *const follow_json[] = {(char *)"logs", (char *)"-f", (char *)"--json", (char *)"7", NULL};

/* Run words against steps; the job's output, when content is not NULL, is the file "out" of the working directory. */
static int run_with(const struct fake_step *steps, const char *content, size_t n, char *const *words, char **ret_out,
                    char **ret_err)
{
	struct fake fake;
	int r;

	fake_start(&fake, steps);
	assert_int_equal(chdir(fake.dir), 0);
	if (content) {
		FILE *file = fopen("out", "we");

		assert_non_null(file);
		assert_int_equal(fwrite(content, 1, n, file), n);
		assert_int_equal(fclose(file), 0);
	}
	r = fake_run(&fake, words, ret_out, ret_err);
	assert_int_equal(chdir("/"), 0);
	fake_stop(&fake);
	return r;
}

static void test_output_of_any_size_comes_whole(void **state)
{
	static const struct fake_step steps[] = {{.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = ENDED("out")},
	                                         {0}};
	static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 65535, 65536, 65537, 1000000};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *content = malloc(sizes[i] + 1);
		char *out;

		assert_non_null(content);
		for (size_t k = 0; k < sizes[i]; k++)
			content[k] = (char)('a' + k * 7 % 26);
		content[sizes[i]] = '\0';
		assert_int_equal(run_with(steps, content, sizes[i], logs, &out, NULL), 0);
		assert_string_equal(out, content);
		free(content);
		free(out);
	}
}

static void test_the_daemon_is_asked_for_a_file_that_is_not_here(void **state)
{
	static const struct fake_step steps[] = {
		{.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = ENDED("elsewhere")},
		{.expect = "GET /api/v1/jobs/7/log?offset=0&length=65536 ", .status = 200, .body = "{looks like JSON"},
		{.expect = "GET /api/v1/jobs/7/log?offset=16&length=65536 ", .status = 200, .body = ""},
		{0}};
	char *out;

	assert_int_equal(run_with(steps, NULL, 0, logs, &out, NULL), 0);
	assert_string_equal(out, "{looks like JSON");
	free(out);
}

static void test_a_lost_file_is_said(void **state)
{
	static const struct fake_step steps[] = {
		{.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = ENDED("elsewhere")},
		{.expect = "GET /api/v1/jobs/7/log",
	         .status = 404,
	         .body = "{\"error\":{\"code\":\"NoOutput\",\"message\":\"m\"}}"},
		{0}};
	char *out;
	char *err;

	assert_int_equal(run_with(steps, NULL, 0, logs, &out, &err), BERTH_EXIT_FAILED);
	assert_string_equal(out, "");
	assert_string_equal(err,
	                    "error: the output of job 7 cannot be read: elsewhere\n"
	                    "  The file may have been moved or removed; berth show 7 tells where the job wrote it.\n");
	free(out);
	free(err);
}

static void test_json_holds_any_bytes(void **state)
{
	static const struct fake_step steps[] = {{.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = ENDED("out")},
	                                         {0}};
	static const char content[] = "\"q\" \xe4\xb8\xad \xff \xe4\xb8 \x1b[0m\0end\n";
	json_t *object;
	char *out;

	assert_int_equal(run_with(steps, content, sizeof(content) - 1, logs_json, &out, NULL), 0);
	object = json_loads(out, 0, NULL);
	assert_string_equal(json_string_value(json_object_get(object, "schema")), "berth.log/1");
	assert_int_equal(json_integer_value(json_object_get(object, "id")), 7);
	assert_string_equal(json_string_value(json_object_get(object, "text")),
	                    "\"q\" \xe4\xb8\xad \xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd \x1b[0m\xe2\x90\x80"
	                    "end\n");
	json_decref(object);
	free(out);
}

/* A character that a piece ends in the middle of comes out whole, in the next one. */
static void test_json_lines_cut_no_character(void **state)
{
	enum { N = BERTH_TAIL_BYTES + 10 };
	static const struct fake_step steps[] = {{.expect = "GET /api/v1/events", .is_stream = 1},
	                                         {.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = ENDED("out")},
	                                         {0}};
	BERTH_AUTO_TEXT struct berth_text together = {0};
	char *content = malloc(N + 1);
	char *rest;
	char *line;
	char *out;
	unsigned lines = 0;

	assert_non_null(content);
	memset(content, 'x', N);
	memcpy(content + BERTH_TAIL_BYTES - 2, "\xf0\x9f\x9a\x80", 4);
	content[N] = '\0';
	assert_int_equal(run_with(steps, content, N, follow_json, &out, NULL), 0);
	rest = out;
	while ((line = strsep(&rest, "\n")) && *line) {
		json_t *object = json_loads(line, 0, NULL);

		assert_int_equal(json_integer_value(json_object_get(object, "offset")), together.len);
		berth_text_add(&together, json_string_value(json_object_get(object, "text")));
		json_decref(object);
		lines++;
	}
	assert_int_equal(lines, 2);
	assert_string_equal(berth_text_str(&together), content);
	free(content);
	free(out);
}

static void test_cleaning_keeps_what_is_good(void **state)
{
	static const struct {
		const char *bytes, *clean;
	} cases[] = {
		{"", ""},
		{"plain", "plain"},
		{"\xc3\xa9\xe4\xb8\xad\xf0\x9f\x9a\x80", "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x9a\x80"},
		{"\x80", "\xef\xbf\xbd"},
		{"a\xc3", "a\xef\xbf\xbd"},
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
		{"\xf0\x9f\x9a"
	         "a",
	         "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
	         "a"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		BERTH_AUTO_TEXT struct berth_text text = {0};

		berth_tail_clean(cases[i].bytes, strlen(cases[i].bytes), &text);
		assert_string_equal(berth_text_str(&text), cases[i].clean);
	}
}

static void test_devices_and_pipes_are_not_read(void **state)
{
	struct berth_tail tail;

	assert_int_equal(berth_tail_init(&tail, NULL, 0, 1), 0);
	berth_tail_open(&tail, "/dev/zero");
	assert_int_equal(tail.fd, -1);
	assert_false(tail.is_asking);
	assert_false(berth_tail_fill(&tail, true));
	berth_tail_fini(&tail);
}

static void test_one_job_at_a_time(void **state)
{
	char *const two[] = {(char *)"logs", (char *)"7,8", NULL};
	static const struct fake_step steps[] = {{0}};
	char *err;

	assert_int_equal(run_with(steps, NULL, 0, two, NULL, &err), BERTH_EXIT_USAGE);
	assert_string_equal(err, "error: logs shows one job at a time\n");
	free(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output_of_any_size_comes_whole),
		cmocka_unit_test(test_the_daemon_is_asked_for_a_file_that_is_not_here),
		cmocka_unit_test(test_a_lost_file_is_said),
		cmocka_unit_test(test_json_holds_any_bytes),
		cmocka_unit_test(test_json_lines_cut_no_character),
		cmocka_unit_test(test_cleaning_keeps_what_is_good),
		cmocka_unit_test(test_devices_and_pipes_are_not_read),
		cmocka_unit_test(test_one_job_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
