#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cli/client.h"
#include "cli/fake_test.h"
#include "cli/request.h"

#define NOW_MS UINT64_C(1700000000000) /* 2023-11-14T22:13:20Z */

static char *const environment[] = {(char *)"PATH=/bin", NULL};

/* The job that words ask for; NULL with *ret_said when they are refused. */
static json_t *make(const char *words, char **ret_said)
{
	char copy[256];
	char *list[32];
	char *rest = copy;
	struct fake_capture capture;
	struct berth_cli cli;
	struct berth_request request = {0};
	json_t *job = NULL;
	size_t n = 0;
	int r;

	(void)snprintf(copy, sizeof(copy), "%s", words);
	while (*words && rest)
		list[n++] = strsep(&rest, " ");
	list[n] = NULL;
	fake_cli(&cli, NULL, "submit", list);
	request.given[BERTH_SOURCE_LINE] = &cli.given;
	fake_capture_begin(&capture, 2);
	r = berth_request_job(&cli, &request, environment, NOW_MS, &job);
	*ret_said = fake_capture_end(&capture);
	assert_true(r == BERTH_EXIT_USAGE || r == BERTH_EXIT_OK);
	assert_int_equal(r == BERTH_EXIT_OK, job != NULL);
	fake_cli_end(&cli);
	return job;
}

/* The job as text, without the working directory, which is another one everywhere. */
static void assert_job(const char *words, const char *expected)
{
	char *said;
	json_t *job = make(words, &said);
	char *text;

	if (!job)
		fail_msg("%s: %s", words, said);
	assert_non_null(json_object_get(json_object_get(job, "spec"), "cwd"));
	(void)json_object_del(json_object_get(job, "spec"), "cwd");
	text = json_dumps(job, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(text, expected);
	free(text);
	free(said);
	json_decref(job);
}

#define SPEC "\"spec\":{\"env\":[\"PATH=/bin\"]}"

static void test_every_option_and_its_field(void **state)
{
	assert_job("", "{" SPEC "}");
	assert_job("-G 2", "{\"gpus\":2," SPEC "}");
	assert_job("-G 0", "{\"gpus\":0," SPEC "}");
	assert_job("--gpus=A100-80GB:4", "{\"gpu_model\":\"A100-80GB\",\"gpus\":4," SPEC "}");
	assert_job("--gpu-index 3,5", "{\"gpu_index\":[3,5],\"gpus\":2," SPEC "}");
	assert_job("-G 1 --gpu-index 3,5", "{\"gpu_index\":[3,5],\"gpus\":1," SPEC "}");
	assert_job("--gpu-mem 40G", "{\"gpu_mem_bytes\":42949672960," SPEC "}");
	assert_job("-p p0 -J 任务", "{\"name\":\"任务\"," SPEC ",\"tier\":\"P0\"}");
	assert_job("--grace 60s --requeue 3", "{\"grace_ms\":60000,\"requeue\":3," SPEC "}");
	assert_job("--grace 0", "{\"grace_ms\":0," SPEC "}");
	assert_job("-H", "{\"hold\":true," SPEC "}");
	assert_job("-o %j.out -e %j.err",
	           "{\"spec\":{\"env\":[\"PATH=/bin\"],\"error\":\"%j.err\",\"output\":\"%j.out\"}}");
	assert_job("--checkpoint-signal USR1@120",
	           "{\"spec\":{\"env\":[\"PATH=/bin\"],\"warn_ms\":120000,\"warn_signal\":10}}");
	assert_job("--checkpoint-signal SIGTERM@2m",
	           "{\"spec\":{\"env\":[\"PATH=/bin\"],\"warn_ms\":120000,\"warn_signal\":15}}");
	assert_job("--checkpoint-signal 12",
	           "{\"spec\":{\"env\":[\"PATH=/bin\"],\"warn_ms\":60000,\"warn_signal\":12}}");
	assert_job("--sim-load 0:10:2G", "{\"spec\":{\"env\":[\"PATH=/bin\"],\"sim_load\":\"0:10:2G\"}}");
}

/* The table that Slurm's users know, and what must never become "unlimited". */
static void test_time_limits(void **state)
{
	static const struct {
		const char *time;
		json_int_t ms; /* -1 = unlimited; -2 = refused */
	} cases[] = {
		{"30", 1800000},     {"30:00", 1800000},    {"1:30", 90000},    {"0:30", 30000},
		{"2-12", 216000000}, {"1-00:00", 86400000}, {"0", -2},          {"-1", -2},
		{"1h", 3600000},     {"99999999999", -2},   {"1:60", -2},       {"24:00:00", 86400000},
		{"UNLIMITED", -1},   {"unlimited", -1},     {"2h30m", 9000000}, {"1d", 86400000},
		{"0:00", -2},        {"forever", -2},       {"1.5h", -2},       {"2-12x", -2},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char words[64];
		char *said;
		json_t *job;
		const json_t *limit;

		(void)snprintf(words, sizeof(words), "--time=%s", cases[i].time);
		job = make(words, &said);
		limit = json_object_get(job, "limit_ms");
		if (cases[i].ms == -2)
			assert_null(job);
		else if (cases[i].ms == -1)
			assert_true(json_is_null(limit));
		else
			assert_int_equal(json_integer_value(limit), cases[i].ms);
		if (!job)
			assert_memory_equal(said, "error: --time: ", 15);
		json_decref(job);
		free(said);
	}
}

static void test_what_is_refused(void **state)
{
	static const struct {
		const char *words, *said;
	} cases[] = {
		{"-G A100", "error: --gpus: how many of them? write A100:1\n"},
		{"-G :2", "error: --gpus: a model must stand before the colon\n"},
		{"-G 0.5", "error: --gpus: the number of cards must be a whole number, not \"0.5\"\n"},
		{"-G -1", "error: --gpus: the number of cards must be a whole number, not \"-1\"\n"},
		{"-G A100:", "error: --gpus: the number of cards must be a whole number, not \"\"\n"},
		{"--gpu-index 3,3", "error: --gpu-index: card 3 is named twice\n"},
		{"--gpu-index 3,", "error: --gpu-index: a card's number must be a whole number, not \"\"\n"},
		{"--gpu-index any", "error: --gpu-index: a card's number must be a whole number, not \"any\"\n"},
		{"--gpu-mem 0", "error: --gpu-mem: \"0\" is no memory of a card\n"},
		{"--gpu-mem lots",
	         "error: --gpu-mem: \"lots\" is no size; write 512M, 10G, 1.5GiB or a number of bytes\n"},
		{"-p P3", "error: --priority: \"P3\" is no priority; write P0 (urgent), P1 or P2 (ordinary)\n"},
		{"-p high", "error: --priority: \"high\" is no priority; write P0 (urgent), P1 or P2 (ordinary)\n"},
		{"--name=", "error: --name: a name must not be empty\n"},
		{"--name=\xff", "error: --name: it is not UTF-8 text, which is all that berth can carry\n"},
		{"--output=", "error: --output: a file name must not be empty\n"},
		{"--error=", "error: --error: a file name must not be empty\n"},
		{"--chdir=", "error: --chdir: a directory must be named\n"},
		{"--grace 30", "error: --grace: 30 of what? write 30s or 30m\n"},
		{"--grace UNLIMITED", "error: --grace: the time to stop cannot be unlimited\n"},
		{"--requeue often", "error: --requeue: how often to run again must be a whole number, not \"often\"\n"},
		{"--checkpoint-signal SIGFOO",
	         "error: --checkpoint-signal: there is no signal \"SIGFOO\"; write USR1@120 or TERM@60\n"},
		{"--checkpoint-signal USR1@",
	         "error: --checkpoint-signal: the seconds before the end must be a whole number, not \"\"\n"},
		{"--export =x",
	         "error: --export: \"=x\" names no variable; write ALL, NONE, NAME or NAME=VALUE, with commas\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *said;
		json_t *job = make(cases[i].words, &said);

		if (job)
			fail_msg("%s was taken", cases[i].words);
		assert_string_equal(said, cases[i].said);
		free(said);
	}
}

static void test_begin_is_sent_with_its_zone(void **state)
{
	char *said;
	json_t *job = make("--begin 2030-01-02T03:04:05Z", &said);

	assert_string_equal(json_string_value(json_object_get(job, "begin")), "2030-01-02T03:04:05+00:00");
	json_decref(job);
	free(said);
	job = make("--begin now+2h", &said);
	assert_string_equal(json_string_value(json_object_get(job, "begin")), "2023-11-15T00:13:20+00:00");
	json_decref(job);
	free(said);
	assert_null(make("--begin yesterday", &said));
	free(said);
}

static void test_directories_are_seen_from_here(void **state)
{
	char *said;
	json_t *here = make("", &said);
	json_t *below;
	json_t *absolute;
	char expected[4200];

	free(said);
	below = make("-D sub/dir", &said);
	free(said);
	absolute = make("-D /data", &said);
	free(said);
	(void)snprintf(expected, sizeof(expected), "%s/sub/dir",
	               json_string_value(json_object_get(json_object_get(here, "spec"), "cwd")));
	assert_string_equal(json_string_value(json_object_get(json_object_get(below, "spec"), "cwd")), expected);
	assert_string_equal(json_string_value(json_object_get(json_object_get(absolute, "spec"), "cwd")), "/data");
	json_decref(here);
	json_decref(below);
	json_decref(absolute);
}

static void test_line_over_variables_over_script(void **state)
{
	static char *const none[] = {(char *)"-t", (char *)"3h", NULL};
	static char *const variables[] = {(char *)"BERTH_SUBMIT_TIME=2h", (char *)"BERTH_SUBMIT_GPU_MEM=2G",
	                                  (char *)"BERTH_SUBMIT_HOLD=no", (char *)"BERTH_SUBMIT_TIEM=1h",
	                                  (char *)"BERTH_GPUS=8",         NULL};
	static const struct berth_option *const tables[] = {berth_request_options, berth_launch_options, NULL};
	struct berth_given script;
	struct berth_given given;
	struct berth_cli cli;
	struct fake_capture capture;
	struct berth_error err = {0};
	json_t *job = NULL;
	char *said;

	fake_cli(&cli, NULL, "submit", none);
	berth_given_init(&script, tables);
	assert_int_equal(berth_given_set(&script, "time", "1h", "a.sh line 2", &err), 0);
	assert_int_equal(berth_given_set(&script, "gpu-mem", "1G", "a.sh line 2", &err), 0);
	assert_int_equal(berth_given_set(&script, "gpus", "4", "a.sh line 2", &err), 0);
	assert_int_equal(berth_given_set(&script, "hold", "", "a.sh line 2", &err), 0);
	fake_capture_begin(&capture, 2);
	assert_int_equal(berth_request_variables(&cli, variables, &given), 0);
	said = fake_capture_end(&capture);
	assert_string_equal(said, "warning: the variable BERTH_SUBMIT_TIEM is not read: there is no option --tiem\n");
	{
		const struct berth_request request = {.given = {&cli.given, &given, &script}};

		assert_int_equal(berth_request_job(&cli, &request, environment, NOW_MS, &job), 0);
	}
	assert_int_equal(json_integer_value(json_object_get(job, "limit_ms")), 3 * 3600000);
	assert_int_equal(json_integer_value(json_object_get(job, "gpu_mem_bytes")), INT64_C(2) << 30);
	assert_int_equal(json_integer_value(json_object_get(job, "gpus")), 4);
	assert_true(json_is_false(json_object_get(job, "hold")));
	json_decref(job);
	free(said);
	fake_cli_end(&cli);
}

static void test_a_bad_value_says_where_it_stands(void **state)
{
	static char *const none[] = {NULL};
	static char *const variables[] = {(char *)"BERTH_SUBMIT_TIME=soon", NULL};
	struct berth_given given;
	struct berth_cli cli;
	struct fake_capture capture;
	json_t *job = NULL;
	char *said;

	fake_cli(&cli, NULL, "submit", none);
	assert_int_equal(berth_request_variables(&cli, variables, &given), 0);
	fake_capture_begin(&capture, 2);
	{
		const struct berth_request request = {.given = {&cli.given, &given, NULL}};

		assert_int_equal(berth_request_job(&cli, &request, environment, NOW_MS, &job), BERTH_EXIT_USAGE);
	}
	said = fake_capture_end(&capture);
	assert_memory_equal(said, "error: --time (BERTH_SUBMIT_TIME): \"soon\" is no duration", 56);
	free(said);
	fake_cli_end(&cli);
}

static void assert_change(char *const *words, const char *expected)
{
	struct berth_cli cli;
	json_t *fields = NULL;
	char *text;

	fake_cli(&cli, NULL, "alter", words);
	{
		const struct berth_request request = {.given = {&cli.given}};

		assert_int_equal(berth_request_fields(&cli, &request, NOW_MS, &fields), 0);
	}
	text = json_dumps(fields, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(text, expected);
	free(text);
	json_decref(fields);
	fake_cli_end(&cli);
}

static void test_changes_of_a_job_that_exists(void **state)
{
	char *const any[] = {(char *)"--gpu-index", (char *)"any", (char *)"--gpu-mem=any", (char *)"--gpu-model=any",
	                     NULL};
	char *const some[] = {(char *)"--gpu-index", (char *)"1,2", (char *)"-t", (char *)"UNLIMITED",
	                      (char *)"-p",          (char *)"P1",  NULL};
	char *const none[] = {NULL};

	assert_change(any, "{\"gpu_index\":null,\"gpu_mem_bytes\":null,\"gpu_model\":null}");
	assert_change(some, "{\"gpu_index\":[1,2],\"limit_ms\":null,\"tier\":\"P1\"}");
	assert_change(none, "{}");
}

/* Every option of a request ends up somewhere: one that is parsed and forgotten would be a lie. */
static void test_no_option_is_without_effect(void **state)
{
	static const struct berth_option *const tables[] = {berth_request_options, berth_launch_options};
	static const struct {
		const char *name, *value;
	} values[] = {
		{"gpus", "2"},      {"gpu-index", "1"},
		{"gpu-mem", "1G"},  {"time", "1h"},
		{"priority", "P0"}, {"name", "x"},
		{"grace", "5s"},    {"requeue", "2"},
		{"begin", "now"},   {"output", "o"},
		{"error", "e"},     {"chdir", "/x"},
		{"export", "A=b"},  {"checkpoint-signal", "INT"},
		{"hold", ""},       {"sim-load", "0:1:1G"},
	};
	char *said;
	json_t *plain = make("", &said);
	size_t n = 0;

	free(said);
	for (size_t t = 0; t < 2; t++)
		for (const struct berth_option *option = tables[t]; option->name; option++, n++) {
			char words[64];
			json_t *job;
			size_t i = 0;

			while (i < sizeof(values) / sizeof(values[0]) && strcmp(values[i].name, option->name) != 0)
				i++;
			assert_true(i < sizeof(values) / sizeof(values[0]));
			(void)snprintf(words, sizeof(words), "--%s%s%s", option->name, option->value ? "=" : "",
			               values[i].value);
			job = make(words, &said);
			assert_non_null(job);
			assert_false(json_equal(job, plain));
			json_decref(job);
			free(said);
		}
	assert_int_equal(n, sizeof(values) / sizeof(values[0]));
	json_decref(plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_option_and_its_field),
		cmocka_unit_test(test_time_limits),
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_begin_is_sent_with_its_zone),
		cmocka_unit_test(test_directories_are_seen_from_here),
		cmocka_unit_test(test_line_over_variables_over_script),
		cmocka_unit_test(test_a_bad_value_says_where_it_stands),
		cmocka_unit_test(test_changes_of_a_job_that_exists),
		cmocka_unit_test(test_no_option_is_without_effect),
	};

	(void)setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
