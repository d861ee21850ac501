#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include "engine/local/environment.h"
#include "engine/local/jobspec.h"
#include "engine/local/pattern.h"

#define GOOD "{\"argv\":[\"true\"],\"cwd\":\"/tmp\",\"env\":[\"A=1\"],\"output\":\"berth-%j.out\"}"

static int check(const char *text, struct berth_error *err)
{
	json_t *spec = json_loads(text, JSON_ALLOW_NUL, NULL);

	assert_non_null(spec);
	*err = (struct berth_error){0};
	int r = berth_jobspec_check(spec, err);
	json_decref(spec);
	return r;
}

/* GOOD with one field replaced or added. */
static int check_with(const char *name, const char *value, struct berth_error *err)
{
	json_t *spec = json_loads(GOOD, 0, NULL);
	json_t *json = json_loads(value, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

	assert_non_null(json);
	assert_int_equal(json_object_set_new(spec, name, json), 0);
	*err = (struct berth_error){0};
	int r = berth_jobspec_check(spec, err);
	json_decref(spec);
	return r;
}

static void test_check_takes_what_is_whole(void **state)
{
	struct berth_error err;

	assert_int_equal(check(GOOD, &err), 0);
	assert_int_equal(check("{\"script\":\"#!/bin/sh\\ntrue\\n\",\"cwd\":\"/\",\"env\":[],\"output\":\"o\"}", &err),
	                 0);
	assert_int_equal(check_with("error", "\"%x-%5j.err\"", &err), 0);
	assert_int_equal(check_with("error", "null", &err), 0);
	assert_int_equal(check_with("warn_signal", "10", &err), 0);
	assert_int_equal(check_with("argv", "[\"a\", \"\", \"-x\", \"two words\", \"new\\nline\"]", &err), 0);
	assert_int_equal(check_with("sim_load", "\"0:10:2G,30:95:40G\"", &err), 0);
}

static void test_check_names_the_field(void **state)
{
	static const struct {
		const char *name, *value, *word;
	} bad[] = {
		{"argv", "[]", "argv"},
		{"argv", "[\"\"]", "argv"},
		{"argv", "[\"a\", 1]", "argv[1]"},
		{"argv", "[\"a\\u0000b\"]", "argv[0]"},
		{"argv", "\"true\"", "argv"},
		{"cwd", "\"relative\"", "cwd"},
		{"cwd", "null", "cwd"},
		{"env", "[\"NOVALUE\"]", "env[0]"},
		{"env", "[\"A=1\", \"=x\"]", "env[1]"},
		{"env", "{}", "env"},
		{"output", "\"a-%q\"", "%q"},
		{"output", "\"\"", "output"},
		{"error", "\"%\"", "%"},
		{"script", "\"echo hi\"", "#!"},
		{"stop_signal", "0", "stop_signal"},
		{"stop_signal", "65", "stop_signal"},
		{"warn_ms", "-1", "warn_ms"},
		{"sim_load", "\"nonsense\"", ""},
		{"outptu", "\"x\"", "output"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct berth_error err;

		assert_int_equal(check_with(bad[i].name, bad[i].value, &err), -EINVAL);
		if (!strstr(err.text, bad[i].word))
			fail_msg("%s = %s: \"%s\" does not say %s", bad[i].name, bad[i].value, err.text, bad[i].word);
	}
}

static char *expand(const char *pattern)
{
	const struct berth_job job = {.id = 12, .asked = {.name = "a/b", .user = "lin"}};

	return berth_jobspec_path(pattern, "/home/lin", &job, "gpu01", NULL);
}

static void assert_path(const char *pattern, const char *path)
{
	BERTH_AUTO_FREE char *got = expand(pattern);

	assert_non_null(got);
	assert_string_equal(got, path);
}

static void test_pattern(void **state)
{
	struct berth_error err = {0};

	assert_path("berth-%j.out", "/home/lin/berth-12.out");
	assert_path("/x/%A_%a.%N", "/x/12_0.gpu01");
	assert_path("%5j-%x-%u-%%", "/home/lin/00012-a_b-lin-%");
	assert_int_equal(berth_pattern_check("ok-%j", &err), 0);
	assert_int_equal(berth_pattern_check("%99j", &err), -EINVAL);
	assert_int_equal(berth_pattern_check("x%", &err), -EINVAL);
	assert_null(expand("%z"));
}

static void test_a_path_that_is_too_long_is_refused(void **state)
{
	char *pattern = calloc(1, 5001);

	memset(pattern, 'x', 5000);
	assert_null(expand(pattern));
	free(pattern);
}

static bool has(char *const *env, const char *entry)
{
	for (; *env; env++)
		if (strcmp(*env, entry) == 0)
			return true;
	return false;
}

static size_t count(char *const *env, const char *prefix)
{
	size_t n = 0;

	for (; *env; env++)
		n += strncmp(*env, prefix, strlen(prefix)) == 0;
	return n;
}

static void see_device(struct berth_core *core, uint32_t id, const char *uuid, uint64_t mem_bytes)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_DEVICE_SEEN);
	fact.at_ms = 1;
	fact.u.device = (struct berth_fact_device){.device = id,
	                                           .node = 1,
	                                           .index = id - 1,
	                                           .uuid = uuid,
	                                           .kind = "gpu",
	                                           .model = "M",
	                                           .mem_bytes = mem_bytes};
	assert_int_equal(berth_core_reserve(core, &fact, 1), 0);
	assert_int_equal(berth_core_fold(core, &fact), 0);
}

static struct berth_core *machine(void)
{
	struct berth_core *core = berth_core_new();
	struct berth_fact fact;

	assert_non_null(core);
	berth_fact_init(&fact, BERTH_FACT_NODE_SEEN);
	fact.at_ms = 1;
	fact.u.node = (struct berth_fact_node){1, "gpu01"};
	assert_int_equal(berth_core_reserve(core, &fact, 1), 0);
	assert_int_equal(berth_core_fold(core, &fact), 0);
	see_device(core, 1, "GPU-a", 80);
	see_device(core, 2, "GPU-b", 40);
	return core;
}

static void test_environment(void **state)
{
	BERTH_AUTO_ARENA struct berth_arena arena = {0};
	struct berth_core *core = machine();
	struct berth_job job = {.id = 7,
	                        .attempt = 2,
	                        .restarts = 1,
	                        .asked = {.name = "train", .user = "lin"},
	                        .set = {.n = 2, .share = {{1}, {2}}}};
	const struct berth_environment of = {core, &job, "/s/attempts", "/s/sock", "gpu01", "/home/lin"};
	json_t *submitted = json_pack("[s,s,s,s,s]", "PATH=/bin", "CUDA_VISIBLE_DEVICES=0", "BERTH_JOB_ID=3",
	                              "SLURM_JOB_ID=3", "CUDA_DEVICE_ORDER=FASTEST_FIRST");
	char **env = berth_environment_make(&of, submitted, &arena);

	assert_non_null(env);
	assert_true(has(env, "PATH=/bin"));
	assert_true(has(env, "CUDA_VISIBLE_DEVICES=GPU-a,GPU-b"));
	assert_true(has(env, "BERTH_JOB_ID=7") && count(env, "BERTH_JOB_ID=") == 1);
	assert_true(has(env, "SLURM_JOB_ID=7") && count(env, "SLURM_JOB_ID=") == 1);
	assert_true(has(env, "CUDA_DEVICE_ORDER=FASTEST_FIRST") && count(env, "CUDA_DEVICE_ORDER=") == 1);
	assert_true(has(env, "BERTH_ATTEMPT=2") && has(env, "BERTH_RESTART_COUNT=1"));
	assert_true(has(env, "BERTH_GPUS=2") && has(env, "BERTH_GPU_MEM_BYTES=40"));
	assert_true(has(env, "BERTH_STOP_FILE=/s/attempts/7.2.stop") &&
	            has(env, "BERTH_PROGRESS_FILE=/s/attempts/7.2.progress"));
	assert_true(has(env, "PYTHONUNBUFFERED=1") && has(env, "SLURM_SUBMIT_DIR=/home/lin"));
	json_decref(submitted);
	berth_core_free(core);
}

/* From a shell that names a card, a job without cards still sees none. */
static void test_environment_without_cards(void **state)
{
	BERTH_AUTO_ARENA struct berth_arena arena = {0};
	struct berth_core *core = machine();
	struct berth_job job = {.id = 7, .attempt = 1, .asked = {.name = "n", .user = "u"}};
	const struct berth_environment of = {core, &job, "/s/attempts", "/s/sock", "gpu01", "/"};
	json_t *submitted = json_pack("[s]", "CUDA_VISIBLE_DEVICES=0");
	char **env = berth_environment_make(&of, submitted, &arena);

	assert_non_null(env);
	assert_true(has(env, "CUDA_VISIBLE_DEVICES=-1") && count(env, "CUDA_VISIBLE_DEVICES=") == 1);
	assert_true(has(env, "BERTH_GPUS=0") && count(env, "BERTH_GPU_MEM_BYTES=") == 0);
	assert_true(has(env, "CUDA_DEVICE_ORDER=PCI_BUS_ID"));
	json_decref(submitted);
	berth_core_free(core);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check_takes_what_is_whole),
		cmocka_unit_test(test_check_names_the_field),
		cmocka_unit_test(test_pattern),
		cmocka_unit_test(test_a_path_that_is_too_long_is_refused),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_environment_without_cards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
