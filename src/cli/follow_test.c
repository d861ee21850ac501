#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "cli/fake_test.h"
#include "cli/tail.h"

#define JOB(state, more)                                                                                          \
	"{\"id\":7,\"name\":\"n\",\"state\":\"" state "\",\"attempt\":1,\"restarts\":0,\"device_indexes\":[0,1]," \
	"\"reason\":{\"code\":\"None\",\"params\":{}}" more "}"
#define RUNNING JOB("RUNNING", ",\"start_time\":\"2023-11-14T22:13:20.000+00:00\"")
#define ENDED(state, more) JOB(state, ",\"start_time\":\"2023-11-14T22:13:20.000+00:00\"" more)
#define EVENT(job) "event: job\nid: 5\ndata: " job "\n\n"
#define GOT(job) "{\"schema\":\"berth.job/1\",\"seq\":5,\"job\":" job "}"
#define PENDING_FULL JOB("PENDING", ",\"start_time\":null,\"position\":1,\"output_path\":\"out\"")
#define SUBMITTED "{\"schema\":\"berth.submit/1\",\"jobs\":[{\"id\":7,\"state\":\"PENDING\"}],\"seq\":4}"
#define STREAM                                                                   \
	{                                                                        \
		.expect = "GET /api/v1/events", .is_stream = 1, .is_reusable = 1 \
	}

static char *const run_words[] = {(char *)"run", (char *)"--", (char *)"true", NULL};

/* Run words against steps, in the fake's directory, where the job's output lies as "out". */
static int run_in(const struct fake_step *steps, char *const *words, char **ret_out, char **ret_err,
                  char **ret_requests)
{
	struct fake fake;
	int r;

	fake_start(&fake, steps);
	assert_int_equal(chdir(fake.dir), 0);
	r = fake_run(&fake, words, ret_out, ret_err);
	assert_int_equal(chdir("/"), 0);
	if (ret_requests)
		*ret_requests = fake_requests(&fake);
	fake_stop(&fake);
	return r;
}

static void test_run_shows_every_byte_and_returns_the_code(void **state)
{
	static const struct fake_act acts[] = {{.wait_ms = 20, .events = EVENT(RUNNING), .append = "first\n"},
	                                       {.wait_ms = 50, .append = "sec"},
	                                       {.wait_ms = 50, .append = "ond\n"},
	                                       {.wait_ms = 1,
	                                        .append = "last, without a newline",
	                                        .events = EVENT(ENDED("FAILED", ",\"exit_code\":3"))},
	                                       {0}};
	static const struct fake_step steps[] = {
		{.expect = "POST /api/v1/jobs ", .status = 201, .body = SUBMITTED},
		STREAM,
		{.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = GOT(PENDING_FULL), .acts = acts},
		{0}};
	char *out;
	char *err;

	assert_int_equal(run_in(steps, run_words, &out, &err, NULL), 3);
	assert_string_equal(out, "first\nsecond\nlast, without a newline");
	assert_string_equal(err, "");
	free(out);
	free(err);
}

static void test_endings_that_no_exit_code_tells_are_said(void **state)
{
	static const struct {
		const char *events, *said;
		int code;
	} cases[] = {
		{EVENT(ENDED("COMPLETED", ",\"exit_code\":0")), "", 0},
		{EVENT(ENDED("FAILED", ",\"exit_code\":null,\"signal\":9")),
	         "berth: job 7 was ended by signal 9 (KILL)\n", 137},
		{EVENT(ENDED("TIMEOUT", ",\"exit_code\":0")), "berth: job 7 was ended by its time limit\n", 124},
		{EVENT(ENDED("CANCELLED", ",\"exit_code\":null")), "berth: job 7 was cancelled\n", 130},
		{EVENT(ENDED("NODE_FAIL", ",\"exit_code\":null")),
	         "berth: job 7 ended because a card it used was lost\n", 125},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct fake_act acts[] = {{.wait_ms = 5, .append = "x\n", .events = cases[i].events}, {0}};
		const struct fake_step steps[] = {
			{.expect = "POST /api/v1/jobs ", .status = 201, .body = SUBMITTED},
			STREAM,
			{.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = GOT(PENDING_FULL), .acts = acts},
			{0}};
		char *out;
		char *err;

		assert_int_equal(run_in(steps, run_words, &out, &err, NULL), cases[i].code);
		assert_string_equal(out, "x\n");
		assert_string_equal(err, cases[i].said);
		free(out);
		free(err);
	}
}

/* Such a job is never seen running; why not stands in its output. */
static void test_what_a_command_that_cannot_be_run_left_is_shown(void **state)
{
	static const struct fake_act acts[] = {
		{.wait_ms = 5,
	         .append = "cannot run x\n",
	         .events = EVENT("{\"id\":7,\"name\":\"n\",\"state\":\"FAILED\",\"attempt\":1,\"restarts\":0,"
	                         "\"start_time\":null,\"exit_code\":127,"
	                         "\"reason\":{\"code\":\"ExecFailed\",\"params\":{\"errno\":2}}}")},
		{0}};
	static const struct fake_step steps[] = {
		{.expect = "POST /api/v1/jobs ", .status = 201, .body = SUBMITTED},
		STREAM,
		{.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = GOT(PENDING_FULL), .acts = acts},
		{0}};
	char *out;
	char *err;

	assert_int_equal(run_in(steps, run_words, &out, &err, NULL), 127);
	assert_string_equal(out, "cannot run x\n");
	assert_string_equal(err, "berth: job 7 failed: command could not be run: No such file or directory\n");
	free(out);
	free(err);
}

static void test_a_restart_of_the_daemon_is_lived_through(void **state)
{
	static const struct fake_act first[] = {{.wait_ms = 5, .events = EVENT(RUNNING), .append = "before\n"},
	                                        {.wait_ms = 50, .ends_stream = 1},
	                                        {.wait_ms = 1, .append = "while away\n"},
	                                        {0}};
	static const struct fake_act second[] = {
		{.wait_ms = 50, .append = "after\n", .events = EVENT(ENDED("COMPLETED", ",\"exit_code\":0"))}, {0}};
	static const struct fake_step steps[] = {
		{.expect = "POST /api/v1/jobs ", .status = 201, .body = SUBMITTED},
		STREAM,
		{.expect = "GET /api/v1/jobs/7 ",
	         .status = 200,
	         .body = GOT(PENDING_FULL),
	         .acts = first,
	         .closes_door_ms = 400},
		{.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = GOT(RUNNING), .acts = second},
		{0}};
	char *out;

	assert_int_equal(run_in(steps, run_words, &out, NULL, NULL), 0);
	assert_string_equal(out, "before\nwhile away\nafter\n");
	free(out);
}

static void test_an_end_during_the_restart_is_found(void **state)
{
	static const struct fake_act first[] = {
		{.wait_ms = 5, .events = EVENT(RUNNING), .append = "all\n"}, {.wait_ms = 50, .ends_stream = 1}, {0}};
	static const struct fake_step steps[] = {
		{.expect = "POST /api/v1/jobs ", .status = 201, .body = SUBMITTED},
		STREAM,
		{.expect = "GET /api/v1/jobs/7 ",
	         .status = 200,
	         .body = GOT(PENDING_FULL),
	         .acts = first,
	         .closes_door_ms = 300},
		{.expect = "GET /api/v1/jobs/7 ", .is_dumb = 1},
		{.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = GOT(ENDED("FAILED", ",\"exit_code\":9"))},
		{0}};
	char *out;

	assert_int_equal(run_in(steps, run_words, &out, NULL, NULL), 9);
	assert_string_equal(out, "all\n");
	free(out);
}

static void test_a_stream_that_lost_the_thread_is_begun_again(void **state)
{
	static const struct fake_act first[] = {{.wait_ms = 5, .events = "event: reset\ndata: {}\n\n"}, {0}};
	static const struct fake_step steps[] = {
		{.expect = "POST /api/v1/jobs ", .status = 201, .body = SUBMITTED},
		STREAM,
		{.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = GOT(PENDING_FULL), .acts = first},
		{.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = GOT(ENDED("COMPLETED", ",\"exit_code\":0"))},
		{0}};

	assert_int_equal(run_in(steps, run_words, NULL, NULL, NULL), 0);
}

static void test_a_job_that_was_forgotten_is_in_the_history(void **state)
{
	static const struct fake_act first[] = {{.wait_ms = 5, .events = EVENT("{\"id\":7,\"forgotten\":true}")}, {0}};
	static const struct fake_step steps[] = {
		{.expect = "POST /api/v1/jobs ", .status = 201, .body = SUBMITTED},
		STREAM,
		{.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = GOT(PENDING_FULL), .acts = first},
		{.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = GOT(ENDED("FAILED", ",\"exit_code\":4"))},
		{0}};

	assert_int_equal(run_in(steps, run_words, NULL, NULL, NULL), 4);
}

static void test_without_the_file_the_daemon_is_asked(void **state)
{
	static const struct fake_act acts[] = {
		{.wait_ms = 5, .events = EVENT(RUNNING)},
		{.wait_ms = 100, .events = EVENT(ENDED("COMPLETED", ",\"exit_code\":0"))},
		{0}};
	static const struct fake_step steps[] = {
		{.expect = "POST /api/v1/jobs ", .status = 201, .body = SUBMITTED},
		STREAM,
		{.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = GOT(PENDING_FULL), .acts = acts},
		{.expect = "GET /api/v1/jobs/7/log?offset=0&", .status = 200, .body = "part one, "},
		{.expect = "GET /api/v1/jobs/7/log?offset=10&", .status = 200, .body = "part two"},
		{.expect = "GET /api/v1/jobs/7/log?offset=18&", .status = 200, .body = ""},
		{0}};
	char *out;

	assert_int_equal(run_in(steps, run_words, &out, NULL, NULL), 0);
	assert_string_equal(out, "part one, part two");
	free(out);
}

static void test_logs_follow_from_the_queue_on(void **state)
{
	char *words[] = {(char *)"logs", (char *)"-f", (char *)"7", NULL};
	static const struct fake_act acts[] = {{.wait_ms = 5, .events = EVENT(RUNNING), .append = "line\n"},
	                                       {.wait_ms = 50, .events = EVENT(ENDED("FAILED", ",\"exit_code\":3"))},
	                                       {0}};
	static const struct fake_step steps[] = {
		STREAM,
		{.expect = "GET /api/v1/jobs/7 ",
	         .status = 200,
	         .body = GOT("{\"id\":7,\"state\":\"PENDING\",\"attempt\":0,\"position\":2,\"output_path\":\"out\","
	                     "\"reason\":{\"code\":\"Resources\",\"params\":{\"asked\":4,\"free\":1,\"suit\":8}}}"),
	         .acts = acts},
		{0}};
	char *out;
	char *err;

	assert_int_equal(run_in(steps, words, &out, &err, NULL), 0);
	assert_string_equal(out, "line\n");
	assert_string_equal(
		err, "-- job 7 waits, #2 in the queue: 4 GPUs asked, 1 of 8 free; Ctrl-C leaves it in the queue --\n"
		     "-- job 7 started on GPU 0,1 --\n"
		     "-- job 7 failed with exit code 3 --\n");
	free(out);
	free(err);
}

static void test_logs_of_a_job_without_any(void **state)
{
	char *words[] = {(char *)"logs", (char *)"7", NULL};
	static const struct fake_step steps[] = {
		{.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = GOT(PENDING_FULL)}, {0}};
	char *err;

	assert_int_equal(run_in(steps, words, NULL, &err, NULL), BERTH_EXIT_FAILED);
	assert_string_equal(err, "error: job 7 has not started, so it has no output yet\n"
	                         "  Wait for it with  berth logs -f, or ask why with  berth why\n");
	free(err);
}

/* The verb in a child, so that signals and closed pipes hit it alone. */
struct child {
	struct fake fake;
	pid_t pid;
	int out; /* reading end of its stdout */
};

static void start_child(struct child *child, const struct fake_step *steps, char *const *words)
{
	int ends[2];

	fake_start(&child->fake, steps);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0) {
		struct berth_cli cli;
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		(void)dup2(ends[1], 1);
		(void)dup2(null, 2);
		(void)close(ends[0]);
		(void)close(ends[1]);
		if (chdir(child->fake.dir) < 0)
			_exit(99);
		fake_cli(&cli, &child->fake, words[0], words + 1);
		_exit(cli.verb->run(&cli));
	}
	(void)close(ends[1]);
	child->out = ends[0];
}

static int end_child(struct child *child)
{
	int status = 0;

	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	(void)close(child->out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Waits until the requests hold word. */
static void await_request(const struct fake *fake, const char *word)
{
	const struct timespec pause = {.tv_nsec = 10000000};

	for (int i = 0; i < 500; i++) {
		char *requests = fake_requests(fake);
		const int is_there = strstr(requests, word) != NULL;

		free(requests);
		if (is_there)
			return;
		(void)nanosleep(&pause, NULL);
	}
	fail_msg("no request %s", word);
}

static void test_ctrl_c_cancels_and_waits_for_the_end(void **state)
{
	static const struct fake_act begin[] = {{.wait_ms = 5, .append = "working\n", .events = EVENT(RUNNING)}, {0}};
	static const struct fake_act finish[] = {
		{.wait_ms = 50, .append = "saved\n", .events = EVENT(ENDED("CANCELLED", ",\"exit_code\":0"))}, {0}};
	static const struct fake_step steps[] = {
		{.expect = "POST /api/v1/jobs ", .status = 201, .body = SUBMITTED},
		STREAM,
		{.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = GOT(PENDING_FULL), .acts = begin},
		{.expect = "POST /api/v1/jobs/7/cancel", .status = 200, .body = GOT(RUNNING), .acts = finish},
		{0}};
	struct child child;
	char text[64] = {0};
	size_t n = 0;
	ssize_t got;

	start_child(&child, steps, run_words);
	while (n < 8 && (got = read(child.out, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	assert_string_equal(text, "working\n");
	assert_int_equal(kill(child.pid, SIGINT), 0);
	while ((got = read(child.out, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	assert_string_equal(text, "working\nsaved\n");
	assert_int_equal(end_child(&child), 130);
	fake_stop(&child.fake);
}

static void test_ctrl_c_twice_leaves_at_once(void **state)
{
	static const struct fake_step steps[] = {
		{.expect = "POST /api/v1/jobs ", .status = 201, .body = SUBMITTED},
		STREAM,
		{.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = GOT(PENDING_FULL)},
		{.expect = "POST /api/v1/jobs/7/cancel", .status = 200, .body = GOT(RUNNING)},
		{0}};
	struct child child;

	start_child(&child, steps, run_words);
	await_request(&child.fake, "GET /api/v1/jobs/7");
	assert_int_equal(kill(child.pid, SIGINT), 0);
	await_request(&child.fake, "/cancel");
	assert_int_equal(kill(child.pid, SIGINT), 0);
	assert_int_equal(end_child(&child), 130);
	fake_stop(&child.fake);
}

static void test_a_reader_that_leaves_cancels_the_job(void **state)
{
	static const struct fake_step steps[] = {
		{.expect = "POST /api/v1/jobs ", .status = 201, .body = SUBMITTED},
		STREAM,
		{.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = GOT(PENDING_FULL)},
		{.expect = "POST /api/v1/jobs/7/cancel", .status = 200, .body = GOT(RUNNING)},
		{0}};
	struct child child;

	start_child(&child, steps, run_words);
	await_request(&child.fake, "GET /api/v1/jobs/7");
	(void)close(child.out);
	assert_int_equal(end_child(&child), 128 + SIGPIPE);
	await_request(&child.fake, "/cancel");
	fake_stop(&child.fake);
}

static void test_a_reader_that_pauses_does_not_deafen_us(void **state)
{
	static char much[300000];
	static const struct fake_act begin[] = {{.wait_ms = 5, .append = much, .events = EVENT(RUNNING)}, {0}};
	static const struct fake_act finish[] = {{.wait_ms = 5, .events = EVENT(ENDED("CANCELLED", ""))}, {0}};
	static const struct fake_step steps[] = {
		{.expect = "POST /api/v1/jobs ", .status = 201, .body = SUBMITTED},
		STREAM,
		{.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = GOT(PENDING_FULL), .acts = begin},
		{.expect = "POST /api/v1/jobs/7/cancel", .status = 200, .body = GOT(RUNNING), .acts = finish},
		{0}};
	struct child child;
	static char sink[65536];
	size_t n = 0;
	ssize_t got;

	memset(much, 'm', sizeof(much) - 1);
	start_child(&child, steps, run_words);
	await_request(&child.fake, "GET /api/v1/jobs/7");
	(void)nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL); /* the pipe is full now */
	assert_int_equal(kill(child.pid, SIGINT), 0);
	await_request(&child.fake, "/cancel");
	while ((got = read(child.out, sink, sizeof(sink))) > 0)
		n += (size_t)got;
	assert_int_equal(n, sizeof(much) - 1);
	assert_int_equal(end_child(&child), 130);
	fake_stop(&child.fake);
}

static void test_wait_knows_every_ending(void **state)
{
	char *both[] = {(char *)"wait", (char *)"7,8", (char *)"7", NULL};
	char *one[] = {(char *)"wait", (char *)"9", NULL};
	char *short_time[] = {(char *)"wait", (char *)"--timeout", (char *)"1s", (char *)"--json", (char *)"7", NULL};
	static const struct fake_act end_7[] = {
		{.wait_ms = 20, .events = EVENT(ENDED("COMPLETED", ",\"exit_code\":0"))}, {0}};
	static const struct fake_step steps[] = {STREAM,
	                                         {.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = GOT(RUNNING)},
	                                         {.expect = "GET /api/v1/jobs/8 ",
	                                          .status = 200,
	                                          .body = GOT("{\"id\":8,\"state\":\"FAILED\",\"exit_code\":5}"),
	                                          .acts = end_7},
	                                         {.expect = "GET /api/v1/jobs/7 ", .status = 200, .body = GOT(RUNNING)},
	                                         {0}};
	struct fake fake;
	json_t *answer;
	char *out;
	char *err;

	fake_start(&fake, steps);
	assert_int_equal(fake_run(&fake, both, NULL, NULL), 5);
	assert_int_equal(fake_run(&fake, one, NULL, &err), BERTH_EXIT_NO_SUCH);
	assert_string_equal(err, "error: There is no such job.\n  Look again.\n");
	free(err);
	assert_int_equal(fake_run(&fake, short_time, &out, NULL), BERTH_EXIT_TIMED_OUT);
	answer = json_loads(out, 0, NULL);
	assert_true(json_is_true(json_object_get(answer, "timed_out")));
	assert_int_equal(json_array_size(json_object_get(answer, "jobs")), 1);
	json_decref(answer);
	free(out);
	fake_stop(&fake);
}

static void test_a_file_that_is_replaced_or_emptied(void **state)
{
	char dir[] = "/tmp/berth-tail-XXXXXX";
	char path[64];
	char other[64];
	struct berth_tail tail;
	int ends[2];
	char text[64] = {0};
	int fd;

	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/out", dir);
	(void)snprintf(other, sizeof(other), "%s/other", dir);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(berth_tail_init(&tail, NULL, 0, ends[1]), 0);
	berth_tail_open(&tail, path);
	assert_false(berth_tail_fill(&tail, true));
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "one two", 7), 7);
	berth_tail_open(&tail, path);
	assert_true(berth_tail_fill(&tail, false));
	assert_int_equal(berth_tail_write(&tail), 0);
	assert_false(berth_tail_fill(&tail, false));
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(write(fd, "3", 1), 1);
	assert_true(berth_tail_fill(&tail, false));
	assert_int_equal(berth_tail_write(&tail), 0);
	(void)close(fd);
	fd = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "four", 4), 4);
	(void)close(fd);
	assert_int_equal(rename(other, path), 0);
	berth_tail_open(&tail, path);
	assert_true(berth_tail_fill(&tail, false));
	assert_int_equal(berth_tail_write(&tail), 0);
	assert_int_equal(read(ends[0], text, sizeof(text) - 1), 12);
	assert_string_equal(text, "one two3four");
	berth_tail_fini(&tail);
	(void)close(ends[0]);
	(void)close(ends[1]);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_shows_every_byte_and_returns_the_code),
		cmocka_unit_test(test_endings_that_no_exit_code_tells_are_said),
		cmocka_unit_test(test_what_a_command_that_cannot_be_run_left_is_shown),
		cmocka_unit_test(test_a_restart_of_the_daemon_is_lived_through),
		cmocka_unit_test(test_an_end_during_the_restart_is_found),
		cmocka_unit_test(test_a_stream_that_lost_the_thread_is_begun_again),
		cmocka_unit_test(test_a_job_that_was_forgotten_is_in_the_history),
		cmocka_unit_test(test_without_the_file_the_daemon_is_asked),
		cmocka_unit_test(test_logs_follow_from_the_queue_on),
		cmocka_unit_test(test_logs_of_a_job_without_any),
		cmocka_unit_test(test_ctrl_c_cancels_and_waits_for_the_end),
		cmocka_unit_test(test_ctrl_c_twice_leaves_at_once),
		cmocka_unit_test(test_a_reader_that_leaves_cancels_the_job),
		cmocka_unit_test(test_a_reader_that_pauses_does_not_deafen_us),
		cmocka_unit_test(test_wait_knows_every_ending),
		cmocka_unit_test(test_a_file_that_is_replaced_or_emptied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
