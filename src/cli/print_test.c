#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "cli/client.h"
#include "cli/gpus.h"
#include "cli/queue.h"
#include "cli/show.h"
#include "cli/table.h"

#define NOW_MS UINT64_C(1700000000000) /* 2023-11-14T22:13:20Z */

static json_t *parse(const char *text)
{
	json_error_t error;
	json_t *json = json_loads(text, 0, &error);

	if (!json)
		fail_msg("%s", error.text);
	return json;
}

struct output {
	FILE *file;
	char *text;
	size_t n;
};

static void open_output(struct output *out)
{
	out->file = open_memstream(&out->text, &out->n);
	assert_non_null(out->file);
}

static void assert_output(struct output *out, const char *expected)
{
	assert_int_equal(fclose(out->file), 0);
	assert_string_equal(out->text, expected);
	free(out->text);
}

static void test_columns_align_by_display_width(void **state)
{
	static const struct berth_column columns[] = {{"NAME", false, 8}, {"N", true, 0}, {"NOTE", false, 0}};
	BERTH_AUTO_TABLE struct berth_table table = {0};
	struct output out;

	berth_table_init(&table, columns, 3);
	berth_table_add(&table, BERTH_STYLE_PLAIN, "训练");
	berth_table_addf(&table, BERTH_STYLE_BAD, "%d", 1);
	berth_table_add(&table, BERTH_STYLE_PLAIN, "中文");
	berth_table_add(&table, BERTH_STYLE_PLAIN, "a-very-long-name");
	berth_table_add(&table, BERTH_STYLE_PLAIN, "100");
	berth_table_add(&table, BERTH_STYLE_PLAIN, "");
	berth_table_add(&table, BERTH_STYLE_PLAIN, "e\xcc\x81\x1b[31m\xff");
	berth_table_add(&table, BERTH_STYLE_PLAIN, NULL);
	berth_table_add(&table, BERTH_STYLE_PLAIN, "🚀");
	open_output(&out);
	assert_int_equal(berth_table_print(&table, 2, out.file), 0);
	assert_output(&out, "  NAME        N  NOTE\n"
	                    "  训练        1  中文\n"
	                    "  a-very-…  100  -\n"
	                    "  e\xcc\x81?[31m?     -  🚀\n");
}

static void test_many_rows_grow(void **state)
{
	static const struct berth_column columns[] = {{"A", true, 0}, {"B", false, 0}};
	BERTH_AUTO_TABLE struct berth_table table = {0};
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	size_t lines = 0;

	berth_table_init(&table, columns, 2);
	for (int i = 0; i < 1000; i++) {
		berth_table_addf(&table, BERTH_STYLE_PLAIN, "%d", i);
		berth_table_add(&table, BERTH_STYLE_PLAIN, "x");
	}
	assert_int_equal(berth_table_print(&table, 0, out), 0);
	assert_int_equal(fclose(out), 0);
	for (const char *s = text; *s; s++)
		lines += *s == '\n';
	assert_int_equal(lines, 1001);
	assert_non_null(strstr(text, "\n  0  x\n"));
	assert_non_null(strstr(text, "\n999  x\n"));
	free(text);
}

static const char jobs[] =
	"[{\"id\":12,\"name\":\"训练 "
        "llama\",\"user\":\"lin\",\"tier\":\"P1\",\"state\":\"RUNNING\",\"gpus\":2,\"position\":null,"
	"\"reason\":{\"code\":\"None\",\"params\":{}},\"submit_time\":\"2023-11-14T20:00:00.000+00:00\","
	"\"start_time\":\"2023-11-14T20:31:00.000+00:00\",\"end_time\":null,\"limit_ms\":86400000,"
	"\"progress\":{\"done\":120,\"total\":500,\"text\":\"epoch 3\"},\"predicted_start\":null},"
	"{\"id\":13,\"name\":\"stop\",\"user\":\"wang\",\"tier\":\"P0\",\"state\":\"STOPPING\",\"gpus\":1,\"position\":"
        "null,"
	"\"reason\":{\"code\":\"Stopping\",\"params\":{\"deadline_at\":\"2023-11-14T22:14:00.000+00:00\"}},"
	"\"submit_time\":\"2023-11-14T22:00:00.000+00:00\",\"start_time\":\"2023-11-14T22:00:01.500+00:00\",\"end_"
        "time\":null,"
	"\"limit_ms\":null,\"progress\":null,\"predicted_start\":null},"
	"{\"id\":14,\"name\":\"eval\",\"user\":\"lin\",\"tier\":\"P2\",\"state\":\"PENDING\",\"gpus\":4,\"position\":1,"
	"\"reason\":{\"code\":\"Resources\",\"params\":{\"asked\":4,\"free\":1,\"suit\":8}},"
	"\"submit_time\":\"2023-11-14T22:00:00.000+00:00\",\"start_time\":null,\"end_time\":null,\"limit_ms\":3600000,"
	"\"predicted_start\":{\"earliest\":\"2023-11-14T22:13:20.000+00:00\",\"likely\":null,\"latest\":\"2023-11-"
        "15T20:31:00.000+00:00\"}},"
	"{\"id\":15,\"name\":\"later\",\"user\":\"lin\",\"tier\":\"P2\",\"state\":\"HELD\",\"gpus\":0,\"position\":2,"
	"\"reason\":{\"code\":\"JobHeldUser\",\"params\":{}},\"submit_time\":\"2023-11-14T22:13:00.000+00:00\",\"start_"
        "time\":null,"
	"\"end_time\":null,\"limit_ms\":3600000,\"predicted_start\":{\"earliest\":null,\"likely\":null,\"latest\":null}"
        "},"
	"{\"id\":9,\"name\":\"old\",\"user\":\"lin\",\"tier\":\"P2\",\"state\":\"FAILED\",\"gpus\":1,\"position\":null,"
	"\"reason\":{\"code\":\"RaisedSignal\",\"params\":{\"signal\":9}},\"submit_time\":\"2023-11-14T21:00:00.000+00:"
        "00\","
	"\"start_time\":\"2023-11-14T21:00:01.000+00:00\",\"end_time\":\"2023-11-14T21:05:01.000+00:00\",\"limit_ms\":"
        "3600000,"
	"\"exit_code\":null,\"signal\":9,\"predicted_start\":null}]";

static const char gpus[] =
	"[{\"uuid\":\"SIM-0\",\"index\":0,\"node\":\"gpu01\",\"model\":\"A100-80GB\",\"state\":\"busy\",\"mem_total_"
        "bytes\":85899345920,"
	"\"mem_used_bytes\":70866960384,\"util_permille\":973,\"jobs\":[12],\"user\":\"lin\",\"drain\":null},"
	"{\"uuid\":\"SIM-1\",\"index\":1,\"node\":\"gpu01\",\"model\":\"A100-80GB\",\"state\":\"idle\",\"mem_total_"
        "bytes\":85899345920,"
	"\"mem_used_bytes\":0,\"util_permille\":0,\"jobs\":[12],\"user\":\"lin\",\"drain\":null},"
	"{\"uuid\":\"SIM-2\",\"index\":2,\"node\":\"gpu01\",\"model\":\"A100-80GB\",\"state\":\"free\",\"mem_total_"
        "bytes\":85899345920,"
	"\"mem_used_bytes\":null,\"util_permille\":null,\"jobs\":[],\"user\":null,\"drain\":null},"
	"{\"uuid\":\"SIM-3\",\"index\":3,\"node\":\"gpu01\",\"model\":\"A100-80GB\",\"state\":\"drained\",\"mem_total_"
        "bytes\":85899345920,"
	"\"mem_used_bytes\":0,\"util_permille\":0,\"jobs\":[],\"user\":null,\"drain\":{\"by\":\"wang\",\"note\":\"fan "
        "\\u001b[2J\"}},"
	"{\"uuid\":\"SIM-4\",\"index\":10,\"node\":\"gpu01\",\"model\":\"A100-80GB\",\"state\":\"lost\",\"mem_total_"
        "bytes\":85899345920,"
	"\"mem_used_bytes\":null,\"util_permille\":null,\"jobs\":[],\"user\":null,\"drain\":{\"by\":\"wang\",\"note\":"
        "\"\"}}]";

static void test_the_queue(void **state)
{
	BERTH_AUTO_JSON json_t *list = parse(jobs);
	BERTH_AUTO_JSON json_t *cards = parse(gpus);
	struct output out;

	open_output(&out);
	assert_int_equal(berth_queue_print(list, cards, NOW_MS, out.file), 0);
	assert_output(
		&out,
		"#  JOB  PRI  USER  NAME        GPUS  WAITED  START         REASON\n"
		"-   12  P1   lin   训练 llama     2   31:00  20:31         running 1:42:20 of 1-00:00:00, 120/500, "
	        "epoch 3\n"
		"-   13  P0   wang  stop           1    0:01  22:00         stopping, until 22:14 at most\n"
		"1   14  P2   lin   eval           4   13:20  by Wed 20:31  4 GPUs asked, 1 of 8 free\n"
		"2   15  P2   lin   later          0    0:20  -             held; berth release lets it go\n"
		"-    9  P2   lin   old            1    0:01  21:00         was ended by signal 9 (KILL)\n"
		"2 waiting, 2 running, 1 of 5 simulated GPUs free, 2 out of service.  berth why JOB tells why.\n");
}

static void test_an_empty_queue(void **state)
{
	BERTH_AUTO_JSON json_t *list = parse("[]");
	struct output out;

	open_output(&out);
	assert_int_equal(berth_queue_print(list, NULL, NOW_MS, out.file), 0);
	assert_output(&out, "0 waiting, 0 running.\n");
}

static void test_the_cards(void **state)
{
	BERTH_AUTO_JSON json_t *cards = parse(gpus);
	BERTH_AUTO_JSON json_t *none = parse("[]");
	struct output out;

	open_output(&out);
	assert_int_equal(berth_gpus_print(cards, out.file), 0);
	assert_output(
		&out,
		"NODE   GPU  MODEL      STATE    UTIL       MEM  JOB  USER\n"
		"gpu01    0  A100-80GB  busy      97%  66/80 GB   12  lin\n"
		"gpu01    1  A100-80GB  idle!      0%   0/80 GB   12  lin\n"
		"gpu01    2  A100-80GB  free        -   -/80 GB    -  -\n"
		"gpu01    3  A100-80GB  drained    0%   0/80 GB    -  -\n"
		"gpu01   10  A100-80GB  lost        -   -/80 GB    -  -\n"
		"5 GPUs: 1 busy, 1 idle, 1 free, 1 drained, 1 lost.  They are simulated: jobs run, but compute on no "
		"GPU.\n"
		"GPU 3 drained by wang: fan ?[2J\n"
		"GPU 10 drained by wang\n");
	open_output(&out);
	assert_int_equal(berth_gpus_print(none, out.file), 0);
	assert_output(&out, "0 GPUs.\n");
}

static void test_one_job(void **state)
{
	BERTH_AUTO_JSON json_t *job = parse(
		"{\"id\":12,\"name\":\"train\",\"user\":\"lin\",\"tier\":\"P1\",\"state\":\"RUNNING\",\"gpus\":2,\"gpu_"
	        "model\":"
		"\"A100-80GB\",\"gpu_mem_bytes\":42949672960,\"gpu_index\":[3,5],\"limit_ms\":86400000,\"grace_ms\":"
	        "30000,\"requeue\":2,"
		"\"reason\":{\"code\":\"None\",\"params\":{}},\"device_indexes\":[3,5],\"node\":\"gpu01\",\"attempt\":"
	        "2,\"pid\":4711,"
		"\"progress\":{\"done\":120,\"total\":500,\"text\":\"epoch "
	        "3\"},\"submit_time\":\"2023-11-14T20:00:00.000+00:00\","
		"\"begin_time\":null,\"start_time\":\"2023-11-14T20:31:00.000+00:00\",\"end_time\":null,"
		"\"argv\":[\"python\",\"train.py\",\"a "
	        "b\",\"$(x)\",\"it's\",\"\"],\"script\":null,\"cwd\":\"/home/lin\",\"output\":"
		"\"berth-%j.out\",\"output_path\":\"/home/lin/berth-12.out\",\"error\":null}");
	struct output out;

	open_output(&out);
	berth_show_print(job, NOW_MS, out.file);
	assert_output(&out,
	              "Job 12 train  lin  P1\n"
	              "  state      RUNNING\n"
	              "  asks       2 GPUs of model A100-80GB with at least 40 GB among 3,5, limit 1-00:00:00, 0:30 to "
	              "stop, runs "
	              "again after up to 2 failures\n"
	              "  runs on    gpu01 GPU 3,5, attempt 2, pid 4711\n"
	              "  progress   120 of 500 epoch 3\n"
	              "  times      submitted 2023-11-14 20:00:00, started 2023-11-14 20:31:00, ran 1:42:20 so far\n"
	              "  command    python train.py 'a b' '$(x)' 'it'\\''s' ''\n"
	              "  directory  /home/lin\n"
	              "  output     /home/lin/berth-12.out\n");
}

static void test_why_it_waits(void **state)
{
	BERTH_AUTO_JSON json_t *answer = parse("{\"id\":14,\"now\":\"2023-11-14T22:13:20.000+00:00\",\"job\":{\"id\":"
	                                       "14,\"name\":\"eval\",\"user\":\"lin\",\"tier\":\"P2\","
	                                       "\"state\":\"PENDING\",\"gpus\":4,\"limit_ms\":3600000,\"submit_time\":"
	                                       "\"2023-11-14T22:00:00.000+00:00\"},"
	                                       "\"reasons\":[{\"code\":\"Resources\",\"params\":{},\"text\":\"needs 4 "
	                                       "GPUs; 1 of the 4 that suit is free\",\"devices\":["
	                                       "{\"uuid\":\"a\",\"index\":0,\"code\":\"DeviceBusy\",\"text\":\"job 12 "
	                                       "has it until Wed 20:31 at the latest\"},"
	                                       "{\"uuid\":\"b\",\"index\":1,\"code\":\"DeviceBusy\",\"text\":\"job 12 "
	                                       "has it until Wed 20:31 at the latest\"},"
	                                       "{\"uuid\":\"c\",\"index\":2,\"code\":\"DeviceFree\",\"text\":\"free\"},"
	                                       "{\"uuid\":\"d\",\"index\":3,\"code\":\"DeviceBusy\",\"text\":\"job 12 "
	                                       "has it until Wed 20:31 at the latest\"}]}],"
	                                       "\"suggestions\":[{\"change\":\"ask for 1 GPU instead of "
	                                       "4\",\"argv\":[\"berth\",\"alter\",\"14\",\"--gpus\",\"1\"],"
	                                       "\"starts\":\"2023-11-14T22:13:20.000+00:00\"}],"
	                                       "\"predicted_start\":{\"earliest\":\"2023-11-14T22:13:20.000+00:00\","
	                                       "\"likely\":null,\"latest\":\"2023-11-15T20:31:00.000+00:00\","
	                                       "\"hit_rate\":null}}");
	struct output out;

	open_output(&out);
	berth_why_print(answer, out.file);
	assert_output(&out, "Job 14 (eval, lin, P2, 4 GPUs, limit 1:00:00) has waited 13:20.\n"
	                    "\n"
	                    "It does not start yet:\n"
	                    "  1. It needs 4 GPUs; 1 of the 4 that suit is free.\n"
	                    "       GPU 0-1,3  job 12 has it until Wed 20:31 at the latest\n"
	                    "       GPU 2      free\n"
	                    "\n"
	                    "What would let it start:\n"
	                    "  now       ask for 1 GPU instead of 4:   berth alter 14 --gpus 1\n"
	                    "\n"
	                    "It starts at Wed 20:31 at the latest, if every job ahead runs to its time limit.\n");
}

static void test_colour_is_the_streams_and_the_users(void **state)
{
	struct output out;

	(void)setenv("FORCE_COLOR", "1", 1);
	(void)unsetenv("NO_COLOR");
	assert_true(berth_paint_is_on(stdout));
	assert_string_equal(berth_paint(stdout, BERTH_STYLE_BAD), "\033[31m");
	(void)setenv("NO_COLOR", "1", 1);
	assert_false(berth_paint_is_on(stdout));
	(void)setenv("NO_COLOR", "", 1);
	assert_true(berth_paint_is_on(stdout));
	(void)setenv("FORCE_COLOR", "0", 1);
	assert_false(berth_paint_is_on(stdout));
	(void)unsetenv("FORCE_COLOR");
	open_output(&out);
	assert_false(berth_paint_is_on(out.file));
	assert_output(&out, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns_align_by_display_width),
		cmocka_unit_test(test_many_rows_grow),
		cmocka_unit_test(test_the_queue),
		cmocka_unit_test(test_an_empty_queue),
		cmocka_unit_test(test_the_cards),
		cmocka_unit_test(test_one_job),
		cmocka_unit_test(test_why_it_waits),
		cmocka_unit_test(test_colour_is_the_streams_and_the_users),
	};

	(void)setenv("TZ", "UTC", 1);
	(void)unsetenv("FORCE_COLOR");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
