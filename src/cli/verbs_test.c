#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/client.h"
#include "cli/fake_test.h"
#include "cli/verbs.h"

#define JOB(id, state) "{\"schema\":\"berth.job/1\",\"seq\":1,\"job\":{\"id\":" id ",\"state\":\"" state "\"}}"

/* Run words against steps; words are separated by single blanks. */
static int run(const struct fake_step *steps, const char *words, char **ret_out, char **ret_err, char **ret_requests)
{
	char copy[512];
	char *list[32];
	char *rest = copy;
	struct fake fake;
	size_t n = 0;
	int r;

	(void)snprintf(copy, sizeof(copy), "%s", words);
	while (rest)
		list[n++] = strsep(&rest, " ");
	list[n] = NULL;
	if (berth_verb_find(list[0]) == NULL) { /* two words: join the first two */
		list[0][strlen(list[0])] = ' ';
		memmove(&list[1], &list[2], n * sizeof(list[0]) - sizeof(list[0]));
	}
	fake_start(&fake, steps);
	r = fake_run(&fake, list, ret_out, ret_err);
	if (ret_requests)
		*ret_requests = fake_requests(&fake);
	fake_stop(&fake);
	return r;
}

/* The verb says `out` and `err`, returns code, and its requests hold `request`. */
static void assert_run(const struct fake_step *steps, const char *words, int code, const char *out, const char *err,
                       const char *request)
{
	char *said_out;
	char *said_err;
	char *requests;
	int r = run(steps, words, &said_out, &said_err, &requests);

	if (r != code)
		fail_msg("%s: %d, %s", words, r, said_err);
	assert_string_equal(said_out, out);
	assert_string_equal(said_err, err);
	if (request && !strstr(requests, request))
		fail_msg("%s is not in %s", request, requests);
	free(said_out);
	free(said_err);
	free(requests);
}

static void test_submit_prints_what_was_asked_for(void **state)
{
	static const struct fake_step steps[] = {
		{.expect = "POST /api/v1/jobs ",
	         .status = 201,
	         .body = "{\"schema\":\"berth.submit/1\",\"jobs\":[{\"id\":12,\"state\":\"PENDING\"}],\"seq\":3}"},
		{0}};

	assert_run(steps, "submit -G 2 -- python train.py", 0, "Submitted job 12\n", "",
	           "\"argv\":[\"python\",\"train.py\"]");
	assert_run(steps, "submit --parsable -- /usr/bin/python", 0, "12\n", "", "\"name\":\"python\"");
	assert_run(steps, "submit --json -J x -- python", 0,
	           "{\"schema\":\"berth.submit/1\",\"jobs\":[{\"id\":12,\"state\":\"PENDING\"}],\"seq\":3}\n", "",
	           "\"name\":\"x\"");
	assert_run(steps, "submit", BERTH_EXIT_USAGE, "",
	           "error: there is nothing to run\n  berth submit [options] -- COMMAND   or   berth submit [options] "
	           "SCRIPT\n",
	           NULL);
}

static void test_every_submission_has_a_key_of_its_own(void **state)
{
	static const struct fake_step steps[] = {
		{.expect = "POST /api/v1/jobs ", .status = 201, .body = "{\"jobs\":[{\"id\":1}]}"}, {0}};
	char *first;
	char *second;
	const char *key;
	char line[64];

	assert_int_equal(run(steps, "submit -- a", NULL, NULL, &first), 0);
	assert_int_equal(run(steps, "submit -- a", NULL, NULL, &second), 0);
	key = strstr(first, "Idempotency-Key: ");
	assert_non_null(key);
	assert_int_equal(strspn(key + 17, "0123456789abcdef"), 32);
	(void)snprintf(line, sizeof(line), "%.*s", 17 + 32, key);
	assert_null(strstr(second, line));
	free(first);
	free(second);
}

static void test_argv_goes_through_untouched(void **state)
{
	static const struct fake_step steps[] = {
		{.expect = "POST /api/v1/jobs ", .status = 201, .body = "{\"jobs\":[{\"id\":1}]}"}, {0}};
	char *words[] = {(char *)"submit",
	                 (char *)"--",
	                 (char *)"printf",
	                 (char *)"a b",
	                 (char *)"$(x)",
	                 (char *)"'\"\\",
	                 (char *)"",
	                 (char *)"-t",
	                 (char *)">\n",
	                 (char *)"任务",
	                 NULL};
	char *bad[] = {(char *)"submit", (char *)"--", (char *)"cat", (char *)"file\xff", NULL};
	struct fake fake;
	char *requests;
	char *err;

	fake_start(&fake, steps);
	assert_int_equal(fake_run(&fake, words, NULL, NULL), 0);
	requests = fake_requests(&fake);
	assert_non_null(
		strstr(requests, "\"argv\":[\"printf\",\"a b\",\"$(x)\",\"'\\\"\\\\\",\"\",\"-t\",\">\\n\",\"任务\"]"));
	assert_int_equal(fake_run(&fake, bad, NULL, &err), BERTH_EXIT_USAGE);
	assert_memory_equal(err, "error: word 2 of the command, \"file?\", is not UTF-8 text", 56);
	free(err);
	free(requests);
	fake_stop(&fake);
}

static void test_a_dry_run_says_what_would_be(void **state)
{
	static const struct fake_step now[] = {{.expect = "POST /api/v1/jobs?dry_run=1 ",
	                                        .status = 200,
	                                        .body = "{\"jobs\":[{\"verdict\":\"starts_now\",\"reason\":{\"code\":"
	                                                "\"None\",\"params\":{}},\"charge_gpu_ms\":null}]}"},
	                                       {0}};
	static const struct fake_step later[] = {
		{.expect = "POST /api/v1/jobs?dry_run=1 ",
	         .status = 200,
	         .body = "{\"jobs\":[{\"verdict\":\"waits\",\"reason\":{\"code\":\"Resources\",\"params\":{\"asked\":4,"
	                 "\"free\":1,\"suit\":8}},"
	                 "\"predicted_start\":{\"latest\":\"2001-01-01T00:00:00.000+00:00\"},\"charge_gpu_ms\":"
	                 "345600000}]}"},
		{0}};

	assert_run(now, "submit --dry-run -- a", 0, "This job would start now. Nothing was submitted.\n", "", NULL);
	assert_run(later, "submit --dry-run -- a", 0,
	           "This job would wait: 4 GPUs asked, 1 of 8 free; starts at 2001-01-01 at the latest; charges at "
	           "most 96.0 GPU-h. "
	           "Nothing was submitted.\n",
	           "", NULL);
}

static void test_scripts_and_their_arguments(void **state)
{
	static const struct fake_step steps[] = {
		{.expect = "POST /api/v1/jobs ", .status = 201, .body = "{\"jobs\":[{\"id\":1}]}"}, {0}};
	char *words[] = {(char *)"submit",   (char *)"-t", (char *)"2h", (char *)"job.sh",
	                 (char *)"--epochs", (char *)"10", NULL};
	struct fake fake;
	char *requests;
	FILE *file;

	fake_start(&fake, steps);
	assert_int_equal(chdir(fake.dir), 0);
	file = fopen("job.sh", "we");
	assert_non_null(file);
	fputs("#!/bin/sh\n#BERTH -G 3 -t 1h\necho hi\n", file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(fake_run(&fake, words, NULL, NULL), 0);
	requests = fake_requests(&fake);
	assert_non_null(strstr(requests, "\"gpus\":3"));
	assert_non_null(strstr(requests, "\"limit_ms\":7200000"));
	assert_non_null(strstr(requests, "\"argv\":[\"job.sh\",\"--epochs\",\"10\"]"));
	assert_non_null(strstr(requests, "\"script\":\"#!/bin/sh\\n#BERTH -G 3 -t 1h\\necho hi\\n\""));
	assert_non_null(strstr(requests, "\"name\":\"job.sh\""));
	assert_int_equal(chdir("/"), 0);
	free(requests);
	fake_stop(&fake);
}

static void test_what_is_done_to_jobs(void **state)
{
	static const struct fake_step steps[] = {
		{.expect = "POST /api/v1/jobs/12/cancel ", .status = 200, .body = JOB("12", "CANCELLED")},
		{.expect = "POST /api/v1/jobs/13/cancel ", .status = 200, .body = JOB("13", "COMPLETED")},
		{.expect = "POST /api/v1/jobs/12/hold ", .status = 200, .body = JOB("12", "HELD")},
		{.expect = "POST /api/v1/jobs/12/release ", .status = 200, .body = JOB("12", "PENDING")},
		{.expect = "POST /api/v1/jobs/12/requeue ", .status = 200, .body = JOB("12", "STOPPING")},
		{.expect = "PATCH /api/v1/jobs/12 ", .status = 200, .body = JOB("12", "PENDING")},
		{0}};
	static const char missing[] = "error: There is no such job.\n  Look again.\n";

	assert_run(steps, "cancel 12", 0, "Cancelled job 12\n", "", NULL);
	assert_run(steps, "cancel 13", 0, "Job 13 was over already: it completed\n", "", NULL);
	assert_run(steps, "cancel 12,13 12", 0, "Cancelled job 12\nJob 13 was over already: it completed\n", "", NULL);
	assert_run(steps, "cancel 14", BERTH_EXIT_NO_SUCH, "", missing, NULL);
	assert_run(steps, "cancel 14 12", BERTH_EXIT_PARTLY, "Cancelled job 12\n", missing, NULL);
	assert_run(
		steps, "cancel 12 hold", BERTH_EXIT_USAGE, "",
		"error: \"hold\" is no job id\n  Job ids are numbers, as berth queue shows them:  berth cancel 12 13\n",
		NULL);
	assert_run(steps, "cancel 12,", BERTH_EXIT_USAGE, "",
	           "error: \"\" is no job id\n  Job ids are numbers, as berth queue shows them:  berth cancel 12 13\n",
	           NULL);
	assert_run(steps, "hold 12", 0, "Holding job 12; berth release 12 lets it go\n", "", NULL);
	assert_run(steps, "release 12", 0, "Released job 12\n", "", NULL);
	assert_run(steps, "requeue 12", 0, "Job 12 goes back to the queue\n", "", NULL);
	assert_run(steps, "alter 12 --time 4h -G 1", 0, "Altered job 12\n", "", "{\"gpus\":1,\"limit_ms\":14400000}");
	assert_run(steps, "alter 12", BERTH_EXIT_USAGE, "",
	           "error: nothing to alter was named\n  For instance:  berth alter 12 --time 4h     All of them:  "
	           "berth help alter\n",
	           NULL);
}

static void test_one_object_with_json(void **state)
{
	static const struct fake_step steps[] = {
		{.expect = "POST /api/v1/jobs/12/cancel ", .status = 200, .body = JOB("12", "CANCELLED")},
		{.expect = "POST /api/v1/jobs/13/cancel ", .status = 200, .body = JOB("13", "CANCELLED")},
		{0}};

	assert_run(steps, "cancel --json 12", 0, JOB("12", "CANCELLED") "\n", "", NULL);
	assert_run(steps, "cancel --json 12 13", 0,
	           "{\"schema\":\"berth.jobs/"
	           "1\",\"jobs\":[{\"id\":12,\"state\":\"CANCELLED\"},{\"id\":13,\"state\":\"CANCELLED\"}],"
	           "\"errors\":[]}\n",
	           "", NULL);
	assert_run(
		steps, "cancel --json 12 14", BERTH_EXIT_PARTLY,
		"{\"schema\":\"berth.jobs/1\",\"jobs\":[{\"id\":12,\"state\":\"CANCELLED\"}],\"errors\":[{\"error\":{"
		"\"code\":\"NoSuchJob\",\"message\":\"There is no such job.\",\"params\":{},\"help\":\"Look "
	        "again.\"},\"id\":14}]}\n",
		"", NULL);
}

static void test_what_the_queue_is_asked(void **state)
{
	static const struct fake_step steps[] = {{.expect = "GET /api/v1/jobs?",
	                                          .status = 200,
	                                          .body = "{\"schema\":\"berth.queue/1\",\"seq\":8,\"jobs\":[]}"},
	                                         {.expect = "GET /api/v1/gpus ",
	                                          .status = 200,
	                                          .body = "{\"gpus\":[{\"uuid\":\"GPU-1\",\"state\":\"free\"}]}"},
	                                         {0}};

	assert_run(steps, "queue", 0, "0 waiting, 0 running, 1 of 1 GPU free.\n", "", "GET /api/v1/jobs?active=1 ");
	assert_run(steps, "queue -a -u lin", 0, "0 waiting, 0 running, 1 of 1 GPU free.\n", "",
	           "GET /api/v1/jobs?&user=lin ");
	assert_run(steps, "queue -t PENDING,HELD --json", 0, "{\"schema\":\"berth.queue/1\",\"seq\":8,\"jobs\":[]}\n",
	           "", "GET /api/v1/jobs?state=PENDING%2CHELD ");
	assert_run(steps, "queue --watch=0", BERTH_EXIT_USAGE, "",
	           "error: --watch must be between 1 and 86400, not 0\n", NULL);
}

static void test_history(void **state)
{
	static const struct fake_step steps[] = {
		{.expect = "GET /api/v1/history",
	         .status = 200,
	         .body = "{\"jobs\":[{\"id\":9,\"user\":\"lin\",\"name\":\"n\",\"state\":\"FAILED\",\"gpus\":1,\"exit_"
	                 "code\":null,\"signal\":9,"
	                 "\"start_time\":\"2001-01-01T00:00:00.000+00:00\",\"end_time\":\"2001-01-01T01:30:00.000+00:"
	                 "00\","
	                 "\"reason\":{\"code\":\"RaisedSignal\",\"params\":{\"signal\":9}}}]}"},
		{0}};
	static const struct fake_step none[] = {
		{.expect = "GET /api/v1/history", .status = 200, .body = "{\"jobs\":[]}"}, {0}};

	assert_run(steps, "history", 0,
	           "JOB  USER  NAME  STATE   EXIT  GPUS  ENDED           RAN  REASON\n"
	           "  9  lin   n     FAILED   0:9     1  2001-01-01  1:30:00  ended by signal 9\n",
	           "", "GET /api/v1/history ");
	assert_run(
		none, "history -u lin --state FAILED,TIMEOUT --since 2001-01-01T00:00Z -n 5", 0,
		"No job that fits is over.\n", "",
		"GET /api/v1/history?user=lin&state=FAILED%2CTIMEOUT&since=2001-01-01T00%3A00%3A00%2B00%3A00&limit=5 ");
	assert_run(none, "history --since soon", BERTH_EXIT_USAGE, "",
	           "error: --since: \"soon\" is no moment; write now+2h, 18:30, 2026-11-30, 2026-11-30T18:30 or the "
	           "last with Z or "
	           "+08:00 behind it\n",
	           NULL);
	assert_run(none, "history -n 0", BERTH_EXIT_USAGE, "", "error: --limit must be between 1 and 1000000, not 0\n",
	           NULL);
}

#define GPUS_ARE_NAMED "  GPUs are named by index or UUID, as berth gpus shows them:  berth drain 3\n"

static void test_cards_in_and_out_of_service(void **state)
{
	static const struct fake_step steps[] = {
		{.expect = "POST /api/v1/gpus/3/drain ", .status = 200, .body = "{\"gpu\":{\"index\":3}}"},
		{.expect = "POST /api/v1/gpus/5/drain ", .status = 200, .body = "{\"gpu\":{\"index\":5}}"},
		{.expect = "POST /api/v1/gpus/SIM-1/undrain ", .status = 200, .body = "{\"gpu\":{\"index\":1}}"},
		{.expect = "POST /api/v1/admin/sim ", .status = 200, .body = "{\"gpu\":{\"index\":1}}"},
		{0}};
	static const char drained[] = "GPU 3 is drained: what runs on it goes on, nothing new starts there\n";

	assert_run(steps, "drain 3 --note fan", 0, drained, "", "{\"note\":\"fan\"}");
	assert_run(steps, "drain 3,4", BERTH_EXIT_PARTLY, drained, "error: There is no such job.\n  Look again.\n",
	           NULL);
	assert_run(steps, "drain --json 3,5", 0,
	           "{\"schema\":\"berth.gpus/1\",\"gpus\":[{\"index\":3},{\"index\":5}],\"errors\":[]}\n", "", NULL);
	assert_run(steps, "undrain SIM-1", 0, "GPU SIM-1 is back in service\n", "", NULL);
	/* none is touched when a word is no card */
	assert_run(steps, "drain 3 undrain 5", BERTH_EXIT_USAGE, "",
	           "error: \"undrain\" is no GPU\n" GPUS_ARE_NAMED, NULL);
	assert_run(steps, "drain 3,", BERTH_EXIT_USAGE, "", "error: \"\" is no GPU\n" GPUS_ARE_NAMED, NULL);
	assert_run(steps, "admin sim 1 util 40", 0, "GPU 1: util 40\n", "", "{\"gpu\":\"1\",\"inject\":\"util 40\"}");
}

static void test_upkeep(void **state)
{
	static const struct fake_step steps[] = {
		{.expect = "GET /api/v1/doctor ",
	         .status = 200,
	         .body = "{\"schema\":\"berth.doctor/"
	                 "1\",\"checks\":[{\"name\":\"disk\",\"result\":\"ok\",\"text\":\"12 GB free\",\"fix\":null},"
	                 "{\"name\":\"cgroup\",\"result\":\"warn\",\"text\":\"no groups\",\"fix\":\"use v2\"}]}"},
		{.expect = "GET /api/v1/config ",
	         .status = 200,
	         .body = "{\"schema\":\"berth.config/"
	                 "1\",\"file\":null,\"values\":[{\"key\":\"listen\",\"value\":\"none\",\"origin\":\"default\"}]"
	                 "}"},
		{.expect = "POST /api/v1/login-links ",
	         .status = 201,
	         .body = "{\"url\":\"http://127.0.0.1:8477/login?once=x\"}"},
		{0}};
	static const struct fake_step bad[] = {{.expect = "GET /api/v1/doctor ",
	                                        .status = 200,
	                                        .body = "{\"checks\":[{\"name\":\"disk\",\"result\":\"fail\",\"text\":"
	                                                "\"full\",\"fix\":\"make room\"}]}"},
	                                       {0}};

	assert_run(steps, "doctor", 0,
	           "ok    disk         12 GB free\n"
	           "warn  cgroup       no groups\n"
	           "                   fix: use v2\n",
	           "", NULL);
	assert_run(bad, "doctor", BERTH_EXIT_FAILED, "FAIL  disk         full\n                   fix: make room\n", "",
	           NULL);
	assert_run(steps, "config show", 0, "KEY     VALUE  FROM\nlisten  none   default\n", "", NULL);
	(void)unsetenv("DISPLAY");
	assert_run(steps, "web", 0, "http://127.0.0.1:8477/login?once=x\n",
	           "berth: this link signs in once, within 10 minutes, from this machine\n", NULL);
}

static void test_answers_for_shells(void **state)
{
	static const struct fake_step steps[] = {
		{.expect = "GET /api/v1/jobs ", .status = 200, .body = "{\"jobs\":[{\"id\":12},{\"id\":13}]}"},
		{.expect = "GET /api/v1/gpus ", .status = 200, .body = "{\"gpus\":[{\"index\":0},{\"index\":1}]}"},
		{0}};
	char *out;

	assert_run(steps, "__complete jobs", 0, "12\n13\n", "", NULL);
	assert_run(steps, "__complete gpus", 0, "0\n1\n", "", NULL);
	assert_run(steps, "__complete options wait", 0, "--timeout\n--json\n--socket\n--help\n", "", NULL);
	assert_int_equal(run(steps, "__complete verbs", &out, NULL, NULL), 0);
	assert_non_null(strstr(out, "submit\n"));
	assert_non_null(strstr(out, "config show\n"));
	assert_null(strstr(out, "__complete"));
	free(out);
}

/* Help is made from the tables: every verb has some, no line is wider than a terminal. */
static void test_help_of_every_verb_fits_a_terminal(void **state)
{
	for (const struct berth_verb *verb = berth_verbs; verb->name; verb++) {
		char *text = NULL;
		size_t n = 0;
		FILE *out = open_memstream(&text, &n);

		berth_help_print(verb, out);
		assert_int_equal(fclose(out), 0);
		assert_non_null(strstr(text, verb->name));
		for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
			if (strcspn(line, "\n") > 80)
				fail_msg("%s: %.*s", verb->name, (int)strcspn(line, "\n"), line);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_submit_prints_what_was_asked_for),
		cmocka_unit_test(test_every_submission_has_a_key_of_its_own),
		cmocka_unit_test(test_argv_goes_through_untouched),
		cmocka_unit_test(test_a_dry_run_says_what_would_be),
		cmocka_unit_test(test_scripts_and_their_arguments),
		cmocka_unit_test(test_what_is_done_to_jobs),
		cmocka_unit_test(test_one_object_with_json),
		cmocka_unit_test(test_what_the_queue_is_asked),
		cmocka_unit_test(test_history),
		cmocka_unit_test(test_cards_in_and_out_of_service),
		cmocka_unit_test(test_upkeep),
		cmocka_unit_test(test_answers_for_shells),
		cmocka_unit_test(test_help_of_every_verb_fits_a_terminal),
	};

	(void)setenv("TZ", "UTC", 1);
	(void)unsetenv("FORCE_COLOR");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
