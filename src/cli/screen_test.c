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
#include <unistd.h>
#include "base/text.h"
#include "cli/fake_test.h"
#include "cli/programs.h"

/* A verb in a child whose stdout and stderr are a terminal, or a pipe. */
struct viewer {
	struct fake fake;
	pid_t pid;
	int fd; /* what it shows */
	struct berth_text seen;
};

static int open_terminal(int *ret_slave)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	assert_true(master >= 0);
	assert_int_equal(grantpt(master), 0);
	assert_int_equal(unlockpt(master), 0);
	*ret_slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(*ret_slave >= 0);
	return master;
}

static void start(struct viewer *viewer, const struct fake_step *steps, bool is_terminal, char *const *words)
{
	int ends[2];

	memset(viewer, 0, sizeof(*viewer));
	fake_start(&viewer->fake, steps);
	if (is_terminal)
		ends[0] = open_terminal(&ends[1]);
	else
		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	viewer->pid = fork();
	assert_true(viewer->pid >= 0);
	if (viewer->pid == 0) {
		struct berth_cli cli;

		(void)dup2(ends[1], 1);
		(void)dup2(ends[1], 2);
		fake_cli(&cli, &viewer->fake, words[0], words + 1);
		_exit(cli.verb->run(&cli));
	}
	(void)close(ends[1]);
	viewer->fd = ends[0];
}

/* Reads until `word` was shown, or to the end when it is NULL. */
static void see(struct viewer *viewer, const char *word)
{
	char buf[4096];
	ssize_t n;

	while (!word || !strstr(berth_text_str(&viewer->seen), word)) {
		n = read(viewer->fd, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) /* a terminal whose other side is closed says EIO */
			break;
		berth_text_add_n(&viewer->seen, buf, (size_t)n);
	}
	if (word && !strstr(berth_text_str(&viewer->seen), word))
		fail_msg("%s was not shown: %s", word, berth_text_str(&viewer->seen));
}

static int finish(struct viewer *viewer, int signal)
{
	int status = 0;

	if (signal)
		assert_int_equal(kill(viewer->pid, signal), 0);
	assert_int_equal(waitpid(viewer->pid, &status, 0), viewer->pid);
	(void)close(viewer->fd);
	fake_stop(&viewer->fake);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

#define REASON "\"reason\":{\"code\":\"Resources\",\"params\":{\"asked\":4,\"free\":1,\"suit\":8}}"
#define SUBMITTED "{\"jobs\":[{\"id\":7,\"state\":\"PENDING\"," REASON ",\"predicted_start\":{\"latest\":null}}]}"

static void test_submit_says_more_on_a_terminal(void **state)
{
	static const struct fake_step steps[] = {{.expect = "POST /api/v1/jobs ", .status = 201, .body = SUBMITTED},
	                                         {0}};
	char *words[] = {(char *)"submit", (char *)"--", (char *)"x", NULL};
	struct viewer viewer;

	start(&viewer, steps, true, words);
	see(&viewer, NULL);
	assert_string_equal(viewer.seen.at, "Submitted job 7\r\n"
	                                    "  it waits: 4 GPUs asked, 1 of 8 free\r\n"
	                                    "  follow it:  berth logs -f 7     ask why it waits:  berth why 7\r\n");
	assert_int_equal(finish(&viewer, 0), 0);
	berth_text_fini(&viewer.seen);
}

#define JOB(state, more) "{\"id\":7,\"state\":\"" state "\",\"device_indexes\":[2]" more "}"
#define EVENT(job) "event: job\ndata: " job "\n\n"

static void test_run_speaks_on_a_terminal(void **state)
{
	static const struct fake_act acts[] = {
		{.wait_ms = 10, .events = EVENT(JOB("RUNNING", ",\"attempt\":1,\"output_path\":\"/dev/null\""))},
		{.wait_ms = 10,
	         .events = EVENT(
			 JOB("STOPPING", ",\"attempt\":1,\"stop_deadline\":\"2001-01-01T00:00:00.000+00:00\""))},
		{.wait_ms = 10, .events = EVENT(JOB("RUNNING", ",\"attempt\":2,\"restarts\":1"))},
		{.wait_ms = 10, .events = EVENT(JOB("FAILED", ",\"attempt\":2,\"exit_code\":3"))},
		{0}};
	static const struct fake_step steps[] = {
		{.expect = "POST /api/v1/jobs ", .status = 201, .body = SUBMITTED},
		{.expect = "GET /api/v1/events", .is_stream = 1},
		{.expect = "GET /api/v1/jobs/7 ",
	         .status = 200,
	         .body = "{\"job\":" JOB("PENDING", ",\"output_path\":\"/dev/null\",\"position\":1," REASON) "}",
	         .acts = acts},
		{0}};
	char *words[] = {(char *)"run", (char *)"x", NULL};
	struct viewer viewer;

	start(&viewer, steps, true, words);
	see(&viewer, NULL);
	assert_string_equal(viewer.seen.at,
	                    "berth: job 7 waits, #1 in the queue: 4 GPUs asked, 1 of 8 free; Ctrl-C cancels it\r\n"
	                    "berth: job 7 started on GPU 2\r\n"
	                    "berth: job 7 is asked to stop; it is killed at 2001-01-01 if it has not\r\n"
	                    "berth: job 7 runs again on GPU 2\r\n"
	                    "berth: job 7 failed with exit code 3\r\n");
	assert_int_equal(finish(&viewer, 0), 3);
	berth_text_fini(&viewer.seen);
}

static void test_waiting_for_a_submission_is_quiet_without_a_terminal(void **state)
{
	static const struct fake_act acts[] = {
		{.wait_ms = 10, .events = EVENT(JOB("FAILED", ",\"attempt\":1,\"exit_code\":3"))}, {0}};
	static const struct fake_step steps[] = {{.expect = "POST /api/v1/jobs ", .status = 201, .body = SUBMITTED},
	                                         {.expect = "GET /api/v1/events", .is_stream = 1},
	                                         {.expect = "GET /api/v1/jobs/7 ",
	                                          .status = 200,
	                                          .body = "{\"job\":" JOB("PENDING", "," REASON) "}",
	                                          .acts = acts},
	                                         {0}};
	char *words[] = {(char *)"submit", (char *)"--wait", (char *)"--", (char *)"x", NULL};
	char *json[] = {(char *)"submit", (char *)"--wait", (char *)"--json", (char *)"--", (char *)"x", NULL};
	struct viewer viewer;

	start(&viewer, steps, false, words);
	see(&viewer, NULL);
	assert_string_equal(viewer.seen.at, "Submitted job 7\n");
	assert_int_equal(finish(&viewer, 0), 3);
	berth_text_fini(&viewer.seen);
	start(&viewer, steps, false, json);
	see(&viewer, NULL);
	assert_string_equal(viewer.seen.at,
	                    "{\"schema\":\"berth.job/1\",\"job\":{\"id\":7,\"state\":\"FAILED\",\"device_indexes\":[2],"
	                    "\"attempt\":1,\"exit_code\":3}}\n");
	assert_int_equal(finish(&viewer, 0), 3);
	berth_text_fini(&viewer.seen);
}

static void test_a_watched_queue_is_redrawn_in_place(void **state)
{
	static const struct fake_step steps[] = {
		{.expect = "GET /api/v1/jobs?", .status = 200, .body = "{\"seq\":1,\"jobs\":[]}"},
		{.expect = "GET /api/v1/jobs?",
	         .status = 200,
	         .body = "{\"seq\":2,\"jobs\":[{\"id\":7,\"state\":\"HELD\"}]}"},
		{.expect = "GET /api/v1/gpus ", .status = 200, .body = "{\"gpus\":[]}", .is_reusable = 1},
		{0}};
	char *words[] = {(char *)"queue", (char *)"--watch=1", NULL};
	struct viewer viewer;

	start(&viewer, steps, true, words);
	see(&viewer, "0 waiting, 0 running.\033[K\r\n\033[J");
	assert_memory_equal(viewer.seen.at, "\033[2J\033[H", 7);
	see(&viewer, "1 waiting, 0 running.  berth why JOB tells why.\033[K\r\n\033[J");
	assert_int_equal(finish(&viewer, SIGINT), -SIGINT);
	berth_text_fini(&viewer.seen);
}

static void test_watched_json_is_a_line_for_every_change(void **state)
{
	static const struct fake_step steps[] = {
		{.expect = "GET /api/v1/jobs?", .status = 200, .body = "{\"seq\":1,\"jobs\":[]}"},
		{.expect = "GET /api/v1/jobs?", .status = 200, .body = "{\"seq\":1,\"jobs\":[]}"},
		{.expect = "GET /api/v1/jobs?", .status = 200, .body = "{\"seq\":2,\"jobs\":[]}"},
		{0}};
	char *words[] = {(char *)"queue", (char *)"--watch=1", (char *)"--json", NULL};
	struct viewer viewer;

	start(&viewer, steps, false, words);
	see(&viewer, "{\"seq\":2,\"jobs\":[]}\n");
	assert_string_equal(viewer.seen.at, "{\"seq\":1,\"jobs\":[]}\n{\"seq\":2,\"jobs\":[]}\n");
	assert_int_equal(finish(&viewer, SIGTERM), -SIGTERM);
	berth_text_fini(&viewer.seen);
}

static void test_colour_where_somebody_sees_it(void **state)
{
	static const struct fake_step steps[] = {
		{.expect = "GET /api/v1/gpus ",
	         .status = 200,
	         .body = "{\"gpus\":[{\"uuid\":\"G\",\"index\":0,\"state\":\"lost\"}]}",
	         .is_reusable = 1},
		{0}};
	char *words[] = {(char *)"gpus", NULL};
	struct viewer viewer;

	(void)setenv("TERM", "xterm", 1);
	start(&viewer, steps, true, words);
	see(&viewer, NULL);
	assert_non_null(strstr(viewer.seen.at, "\033[31mlost\033[0m"));
	assert_int_equal(finish(&viewer, 0), 0);
	berth_text_fini(&viewer.seen);
	start(&viewer, steps, false, words);
	see(&viewer, NULL);
	assert_null(strstr(viewer.seen.at, "\033"));
	assert_int_equal(finish(&viewer, 0), 0);
	berth_text_fini(&viewer.seen);
	(void)setenv("TERM", "dumb", 1);
	start(&viewer, steps, true, words);
	see(&viewer, NULL);
	assert_null(strstr(viewer.seen.at, "\033"));
	assert_int_equal(finish(&viewer, 0), 0);
	berth_text_fini(&viewer.seen);
}

static void test_programs_are_found_run_and_heard(void **state)
{
	char *words[] = {(char *)"sh", (char *)"-c", (char *)"echo out; echo err >&2; exit 7", NULL};
	char *killed[] = {(char *)"sh", (char *)"-c", (char *)"kill -9 $$", NULL};
	struct berth_arena arena = {0};
	BERTH_AUTO_TEXT struct berth_text text = {0};
	int status = 0;

	(void)setenv("PATH", "/nowhere::/bin:/usr/bin", 1);
	assert_string_equal(berth_program_find("berth", "sh", &arena), "/bin/sh");
	assert_string_equal(berth_program_find("/bin/berth", "sh", &arena), "/bin/sh");
	assert_null(berth_program_find("berth", "berth-no-such-program", &arena));
	assert_int_equal(berth_program_capture("/bin/sh", words, &text, &status), 0);
	assert_string_equal(text.at, "out\nerr\n");
	assert_int_equal(status, 7);
	assert_int_equal(berth_program_capture("/bin/sh", killed, &text, &status), 0);
	assert_int_equal(status, 128 + SIGKILL);
	assert_int_equal(berth_program_capture("/nowhere/sh", words, &text, &status), -ENOENT);
	assert_int_equal(berth_program_start("berth-no-such-program", words), -ENOENT);
	berth_arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_submit_says_more_on_a_terminal),
		cmocka_unit_test(test_run_speaks_on_a_terminal),
		cmocka_unit_test(test_waiting_for_a_submission_is_quiet_without_a_terminal),
		cmocka_unit_test(test_a_watched_queue_is_redrawn_in_place),
		cmocka_unit_test(test_watched_json_is_a_line_for_every_change),
		cmocka_unit_test(test_colour_where_somebody_sees_it),
		cmocka_unit_test(test_programs_are_found_run_and_heard),
	};

	(void)setenv("TZ", "UTC", 1);
	(void)setenv("TERM", "dumb", 1);
	(void)unsetenv("FORCE_COLOR");
	(void)unsetenv("NO_COLOR");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
