#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "cli/client.h"
#include "cli/fake_test.h"
#include "cli/find.h"

static char *const no_words[] = {NULL};

/* One question to a daemon that follows steps; what was complained about goes to *ret_said. */
static int ask(const struct fake_step *steps, char **ret_said, json_t **ret)
{
	struct fake fake;
	struct fake_capture capture;
	struct berth_cli cli;
	int r;

	fake_start(&fake, steps);
	fake_cli(&cli, &fake, "queue", no_words);
	fake_capture_begin(&capture, 2);
	r = berth_ask(&cli, "GET", "/x", NULL, ret);
	*ret_said = fake_capture_end(&capture);
	fake_cli_end(&cli);
	fake_stop(&fake);
	return r;
}

static void test_an_answer_in_small_pieces(void **state)
{
	static const struct fake_step steps[] = {{.expect = "GET /x", .status = 200, .body = "{\"a\":1}", .piece = 1},
	                                         {0}};
	json_t *answer = NULL;
	char *said;

	assert_int_equal(ask(steps, &said, &answer), BERTH_EXIT_OK);
	assert_int_equal(json_integer_value(json_object_get(answer, "a")), 1);
	assert_string_equal(said, "");
	json_decref(answer);
	free(said);
}

static void test_answers_that_are_none(void **state)
{
	static const char *const raw[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"HTTP/1.1 200 OK\r\n\r\n{}",
		"220 mail.example.org ESMTP\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{,}",
		"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n\"text\"",
	};

	for (size_t i = 0; i < sizeof(raw) / sizeof(raw[0]); i++) {
		const struct fake_step steps[] = {{.expect = "GET /x", .raw = raw[i]}, {0}};
		json_t *answer = NULL;
		char *said;

		assert_int_equal(ask(steps, &said, &answer), BERTH_EXIT_FAILED);
		assert_null(answer);
		assert_memory_equal(said, "error: ", 7);
		assert_non_null(strstr(said, "  Are berth and berthd of the same version?  berth --version\n"));
		free(said);
	}
}

static void test_a_head_of_a_mebibyte(void **state)
{
	static char head[(1 << 20) + 1];
	struct fake_step steps[] = {{.expect = "GET /x", .raw = head}, {0}};
	json_t *answer = NULL;
	char *said;

	memset(head, 'a', sizeof(head) - 1);
	memcpy(head, "HTTP/1.1 200 OK\r\nX: ", 20);
	assert_int_equal(ask(steps, &said, &answer), BERTH_EXIT_FAILED);
	assert_non_null(strstr(said, "more than 65536 bytes of headers"));
	free(said);
}

static void test_errors_keep_their_words_and_get_their_codes(void **state)
{
	static const struct {
		int status, code;
	} cases[] = {{400, 2}, {401, 4}, {403, 4}, {404, 3}, {409, 1},
	             {413, 5}, {422, 5}, {429, 5}, {500, 1}, {503, 1}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct fake_step steps[] = {
			{.expect = "GET /x",
		         .status = cases[i].status,
		         .body = "{\"schema\":\"berth.error/1\",\"error\":{\"code\":\"DiskFull\",\"message\":\"It "
		                 "\\u001b[1m is full.\","
		                 "\"params\":{},\"help\":\"Make room.\\nThen again.\"}}"},
			{0}};
		json_t *answer = NULL;
		char *said;

		assert_int_equal(ask(steps, &said, &answer), cases[i].code);
		assert_string_equal(said, "error: It ?[1m is full.\n  Make room.\n  Then again.\n");
		free(said);
	}
}

static void test_an_error_as_json_goes_to_stdout(void **state)
{
	static char *const json[] = {(char *)"--json", NULL};
	static const struct fake_step steps[] = {{0}};
	struct fake fake;
	struct fake_capture capture;
	struct berth_cli cli;
	json_t *answer = NULL;
	char *said;

	fake_start(&fake, steps);
	fake_cli(&cli, &fake, "queue", json);
	fake_capture_begin(&capture, 1);
	assert_int_equal(berth_ask(&cli, "GET", "/x", NULL, &answer), BERTH_EXIT_NO_SUCH);
	said = fake_capture_end(&capture);
	assert_string_equal(
		said,
		"{\"schema\":\"berth.error/1\",\"error\":{\"code\":\"NoSuchJob\",\"message\":\"There is no such job.\","
		"\"params\":{},\"help\":\"Look again.\"}}\n");
	free(said);
	fake_cli_end(&cli);
	fake_stop(&fake);
}

static void test_a_lost_answer_is_asked_for_again_with_the_same_key(void **state)
{
	static const struct fake_step steps[] = {
		{.expect = "POST /x", .is_dumb = 1, .closes_door_ms = 300},
		{.expect = "POST /x", .raw = "HTTP/1.1 201 Created\r\nContent-Le", .raw_n = 0},
		{.expect = "POST /x", .status = 503, .body = "{\"error\":{\"code\":\"Stopping\",\"message\":\"m\"}}"},
		{.expect = "POST /x", .status = 201, .body = "{\"id\":7}"},
		{0}};
	const struct berth_call call = {.method = "POST", .target = "/x", .key = "k-1"};
	struct fake fake;
	struct fake_capture capture;
	struct berth_cli cli;
	BERTH_AUTO_REPLY struct berth_reply reply = {0};
	const char *at;
	char *requests;
	char *said;
	int n = 0;

	fake_start(&fake, steps);
	fake_cli(&cli, &fake, "queue", no_words);
	fake_capture_begin(&capture, 2);
	assert_int_equal(berth_call(&cli, &call, &reply), BERTH_EXIT_OK);
	said = fake_capture_end(&capture);
	assert_int_equal(json_integer_value(json_object_get(reply.json, "id")), 7);
	assert_string_equal(said, "berth: the daemon went away; trying for 60 s to reach it again\n");
	requests = fake_requests(&fake);
	for (at = requests; (at = strstr(at, "Idempotency-Key: k-1\r\n")); at++)
		n++;
	assert_int_equal(n, 4);
	free(said);
	free(requests);
	fake_cli_end(&cli);
	fake_stop(&fake);
}

static void test_what_must_not_be_done_twice_is_not_asked_twice(void **state)
{
	static const struct fake_step steps[] = {
		{.expect = "POST /x", .is_dumb = 1}, {.expect = "POST /x", .status = 200, .body = "{}"}, {0}};
	const struct berth_call call = {.method = "POST", .target = "/x", .is_once = true};
	struct fake fake;
	struct fake_capture capture;
	struct berth_cli cli;
	BERTH_AUTO_REPLY struct berth_reply reply = {0};
	char *said;

	fake_start(&fake, steps);
	fake_cli(&cli, &fake, "queue", no_words);
	fake_capture_begin(&capture, 2);
	assert_int_equal(berth_call(&cli, &call, &reply), BERTH_EXIT_UNREACHABLE);
	said = fake_capture_end(&capture);
	assert_non_null(strstr(said, "whether it did this is not known"));
	free(said);
	fake_cli_end(&cli);
	fake_stop(&fake);
}

static void test_a_daemon_that_never_answered_is_not_waited_for(void **state)
{
	static char *const nowhere[] = {(char *)"--socket", (char *)"/tmp/berth-no-such-directory/s", NULL};
	const uint64_t begin_ms = berth_clock_boot_ms();
	struct fake_capture capture;
	struct berth_cli cli;
	json_t *answer = NULL;
	char *said;

	fake_cli(&cli, NULL, "queue", nowhere);
	fake_capture_begin(&capture, 2);
	assert_int_equal(berth_ask(&cli, "GET", "/x", NULL, &answer), BERTH_EXIT_UNREACHABLE);
	said = fake_capture_end(&capture);
	assert_string_equal(
		said, "error: the daemon does not answer on /tmp/berth-no-such-directory/s: No such file or directory\n"
		      "  Is it running?  Start one:  berthd     Check all:  berth doctor\n");
	assert_true(berth_clock_boot_ms() - begin_ms < 5000);
	free(said);
	fake_cli_end(&cli);
}

static void test_a_large_body_goes_out_and_comes_back(void **state)
{
	enum { LARGE = 2 << 20 };
	static const struct fake_step steps[] = {{.expect = "POST /x", .status = 200, .body = "{}"}, {0}};
	struct fake fake;
	struct berth_cli cli;
	char *large = calloc(1, LARGE + 1);
	BERTH_AUTO_JSON json_t *body = NULL;
	json_t *answer = NULL;
	char *requests;

	assert_non_null(large);
	memset(large, 'x', LARGE);
	body = json_pack("{s:s}", "script", large);
	fake_start(&fake, steps);
	fake_cli(&cli, &fake, "queue", no_words);
	assert_int_equal(berth_ask(&cli, "POST", "/x", body, &answer), BERTH_EXIT_OK);
	requests = fake_requests(&fake);
	assert_non_null(strstr(requests, large));
	json_decref(answer);
	free(requests);
	free(large);
	fake_cli_end(&cli);
	fake_stop(&fake);
}

static void test_paths_are_quoted(void **state)
{
	struct berth_cli cli;

	fake_cli(&cli, NULL, "queue", no_words);
	assert_string_equal(berth_target(&cli, "/gpus/", "GPU-1 /?#\xe4%", "/drain"),
	                    "/gpus/GPU-1%20%2F%3F%23%E4%25/drain");
	assert_string_equal(berth_target(&cli, "", "aZ09-._~", ""), "aZ09-._~");
	fake_cli_end(&cli);
}

static void test_where_the_daemon_is_looked_for(void **state)
{
	struct berth_arena arena = {0};
	struct berth_socket_list list;
	char below_tmp[64];

	(void)snprintf(below_tmp, sizeof(below_tmp), "/tmp/berth-%u/berth.sock", getuid());
	(void)unsetenv("BERTH_SOCKET");
	(void)setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
	assert_int_equal(berth_socket_list(NULL, &arena, &list), 0);
	assert_int_equal(list.n, 3);
	assert_string_equal(list.path[0], "/run/user/7/berth/berth.sock");
	assert_string_equal(list.path[1], below_tmp);
	assert_string_equal(list.path[2], "/run/berth/berth.sock");
	(void)unsetenv("XDG_RUNTIME_DIR");
	assert_int_equal(berth_socket_list(NULL, &arena, &list), 0);
	assert_int_equal(list.n, 2);
	(void)setenv("BERTH_SOCKET", "/b", 1);
	assert_int_equal(berth_socket_list(NULL, &arena, &list), 0);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.path[0], "/b");
	assert_int_equal(berth_socket_list("/a", &arena, &list), 0);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.path[0], "/a");
	(void)unsetenv("BERTH_SOCKET");
	berth_arena_fini(&arena);
}

static void test_sockets_that_are_none(void **state)
{
	char dir[] = "/tmp/berth-find-XXXXXX";
	char path[160];
	int fd;

	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/absent", dir);
	assert_int_equal(berth_socket_connect(path), -ENOENT);
	(void)snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(berth_socket_connect(path), -ECONNREFUSED);
	(void)unlink(path);
	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(berth_socket_connect(path), -ENAMETOOLONG);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_answer_in_small_pieces),
		cmocka_unit_test(test_answers_that_are_none),
		cmocka_unit_test(test_a_head_of_a_mebibyte),
		cmocka_unit_test(test_errors_keep_their_words_and_get_their_codes),
		cmocka_unit_test(test_an_error_as_json_goes_to_stdout),
		cmocka_unit_test(test_a_lost_answer_is_asked_for_again_with_the_same_key),
		cmocka_unit_test(test_what_must_not_be_done_twice_is_not_asked_twice),
		cmocka_unit_test(test_a_daemon_that_never_answered_is_not_waited_for),
		cmocka_unit_test(test_a_large_body_goes_out_and_comes_back),
		cmocka_unit_test(test_paths_are_quoted),
		cmocka_unit_test(test_where_the_daemon_is_looked_for),
		cmocka_unit_test(test_sockets_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
