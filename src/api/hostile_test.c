#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include "api/double_test.h"
#include "api/fixture_test.h"
#include "api/http.h"

#define SPEC "\"spec\":{\"argv\":[\"python\"],\"cwd\":\"/home/lin\",\"env\":[\"A=1\"]}"
#define GET_JOBS "GET /api/v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n"

/* Others are served while this goes on. */
static void assert_responsive(struct berth_fixture *fixture)
{
	BERTH_AUTO_ANSWER struct berth_answer answer = berth_ask_unix(fixture, "GET", "/api/v1/jobs", "", NULL);

	assert_int_equal(answer.status, 200);
}

/* Every prefix of a request, and then the client is gone. */
static void test_clients_that_vanish(void **state)
{
	struct berth_fixture *fixture = *state;
	static const char body[] = "{" SPEC "}";
	BERTH_AUTO_TEXT struct berth_text whole = {0};

	berth_text_addf(&whole, "POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s",
	                sizeof(body) - 1, body);
	for (size_t n = 0; n <= whole.len; n++) {
		int fd = berth_client_unix(fixture);

		assert_true(berth_client_send(fixture, fd, whole.at, n));
		assert_int_equal(close(fd), 0);
		(void)sd_event_run(fixture->event, 0);
	}
	berth_fixture_settle(fixture);
	assert_responsive(fixture);
	/* Only the whole one was taken. */
	assert_in_range(berth_core_next_job(berth_ledger_core(fixture->ledger)), 1, 2);
}

static void test_half_requests_stay_open(void **state)
{
	struct berth_fixture *fixture = *state;
	int fds[100];

	for (size_t i = 0; i < 100; i++) {
		fds[i] = berth_client_unix(fixture);
		assert_true(berth_client_send(fixture, fds[i], GET_JOBS, 1 + i % (sizeof(GET_JOBS) - 2)));
	}
	assert_responsive(fixture);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(close(fds[i]), 0);
	assert_responsive(fixture);
}

static void test_a_byte_at_a_time(void **state)
{
	struct berth_fixture *fixture = *state;
	int fd = berth_client_unix(fixture);
	BERTH_AUTO_ANSWER struct berth_answer answer = {0};

	for (size_t i = 0; i < sizeof(GET_JOBS) - 1; i++) {
		assert_true(berth_client_send(fixture, fd, &GET_JOBS[i], 1));
		if (i % 10 == 0)
			assert_responsive(fixture);
	}
	answer = berth_client_read(fixture, fd);
	assert_int_equal(answer.status, 200);
	assert_int_equal(close(fd), 0);
}

static void test_many_headers(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_TEXT struct berth_text ten_thousand = {0};
	BERTH_AUTO_TEXT struct berth_text endless = {0};
	BERTH_AUTO_ANSWER struct berth_answer fits = {0};
	BERTH_AUTO_ANSWER struct berth_answer too_many = {0};
	int fd = berth_client_unix(fixture);

	while (ten_thousand.len < 10000)
		berth_text_addf(&ten_thousand, "X-%zu: %0100d\r\n", ten_thousand.len, 0);
	fits = berth_ask_unix(fixture, "GET", "/api/v1/jobs", ten_thousand.at, NULL);
	assert_int_equal(fits.status, 200);
	berth_text_add(&endless, "GET /api/v1/jobs HTTP/1.1\r\nHost: x\r\n");
	while (endless.len < 1u << 20)
		berth_text_addf(&endless, "X-%zu: y\r\n", endless.len);
	(void)berth_client_send(fixture, fd, endless.at, endless.len);
	too_many = berth_client_read(fixture, fd);
	assert_true(too_many.status == 0 || too_many.status >= 400);
	assert_int_equal(close(fd), 0);
	assert_responsive(fixture);
}

/* A body that goes on for ever, without saying how long it is. */
static void test_an_endless_body(void **state)
{
	struct berth_fixture *fixture = *state;
	int fd = berth_client_unix(fixture);
	static const char head[] = "POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
	BERTH_AUTO_TEXT struct berth_text chunk = {0};
	bool is_open = berth_client_send(fixture, fd, head, sizeof(head) - 1);
	size_t sent = 0;

	berth_text_add(&chunk, "10000\r\n");
	for (size_t i = 0; i < 0x10000; i++)
		berth_text_add_n(&chunk, "[", 1);
	berth_text_add(&chunk, "\r\n");
	for (; is_open && sent < BERTH_HTTP_BODY_MAX * 2; sent += 0x10000)
		is_open = berth_client_send(fixture, fd, chunk.at, chunk.len);
	assert_false(is_open);
	assert_in_range(sent, BERTH_HTTP_BODY_MAX, BERTH_HTTP_BODY_MAX + (4u << 20));
	assert_int_equal(close(fd), 0);
	assert_responsive(fixture);
}

static void test_the_largest_body_is_taken(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_TEXT struct berth_text body = {0};
	BERTH_AUTO_ANSWER struct berth_answer answer = {0};

	berth_text_add(&body, "{" SPEC);
	while (body.len < BERTH_HTTP_BODY_MAX - 1)
		berth_text_add_n(&body, " ", 1);
	berth_text_add(&body, "}");
	answer = berth_ask_unix(fixture, "POST", "/api/v1/jobs", "", body.at);
	assert_int_equal(answer.status, 201);
}

static void test_noise(void **state)
{
	struct berth_fixture *fixture = *state;
	static const char *const noise[] = {
		"\r\n\r\n\r\n",
		"GET\r\n\r\n",
		"GET / HTTP/9.9\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"GET  /  HTTP/1.1\r\n\r\n",
		"GET /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
		"GET /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
		"POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
		"GET /%ff%fe%00 HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /api/v1/jobs/%2e%2e%2f1 HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://evil.example/api/v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n",
	};

	for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++) {
		int fd = berth_client_unix(fixture);

		(void)berth_client_send(fixture, fd, noise[i], strlen(noise[i]));
		(void)shutdown(fd, SHUT_WR);
		berth_fixture_settle(fixture);
		assert_int_equal(close(fd), 0);
		assert_responsive(fixture);
	}
}

static void test_pipelined_requests(void **state)
{
	struct berth_fixture *fixture = *state;
	int fd = berth_client_unix(fixture);
	BERTH_AUTO_TEXT struct berth_text many = {0};
	BERTH_AUTO_TEXT struct berth_text got = {0};
	size_t n = 0;

	for (unsigned i = 0; i < 20; i++)
		berth_text_add(&many, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(berth_client_send(fixture, fd, many.at, many.len));
	(void)shutdown(fd, SHUT_WR);
	berth_client_drain(fixture, fd, &got);
	for (const char *at = berth_text_str(&got); (at = strstr(at, "HTTP/1.1 200")); at++)
		n++;
	assert_int_equal(n, 20);
	assert_int_equal(close(fd), 0);
}

/* A crowd on the TCP port cannot keep people off the unix socket. */
static void test_a_crowd_on_tcp(void **state)
{
	struct berth_fixture *fixture = *state;
	int fds[BERTH_HTTP_TCP_CONNECTIONS + 50];
	const size_t n = sizeof(fds) / sizeof(fds[0]);

	for (size_t i = 0; i < n; i++) {
		fds[i] = berth_client_tcp(fixture);
		(void)sd_event_run(fixture->event, 0);
	}
	assert_responsive(fixture);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(close(fds[i]), 0);
	berth_fixture_settle(fixture);
	assert_responsive(fixture);
}

/* A long answer that nobody takes holds its own bytes and no more. */
static void test_an_answer_nobody_takes(void **state)
{
	struct berth_fixture *fixture = *state;
	int fds[20];

	for (unsigned i = 0; i < 200; i++) {
		BERTH_AUTO_ANSWER struct berth_answer answer = berth_ask_unix(fixture, "POST", "/api/v1/jobs", "",
		                                                              "{\"gpus\":8," SPEC "}");

		assert_int_equal(answer.status, 201);
	}
	for (size_t i = 0; i < 20; i++) {
		fds[i] = berth_client_unix(fixture);
		assert_true(berth_client_send(fixture, fds[i], GET_JOBS, sizeof(GET_JOBS) - 1));
	}
	assert_responsive(fixture);
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(close(fds[i]), 0);
	assert_responsive(fixture);
}

/* A client that came while no descriptor was left is served once there is one again, without anybody else's doing. */
static void test_descriptors_run_out(void **state)
{
	struct berth_fixture *fixture = *state;
	int first = berth_client_unix(fixture), second;
	BERTH_AUTO_ANSWER struct berth_answer answer = {0};
	struct rlimit before, none;

	assert_true(berth_client_send(fixture, first, GET_JOBS, 10));
	berth_fixture_settle(fixture);
	second = berth_client_unix(fixture);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){.rlim_cur = (rlim_t)second + 1, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_true(berth_client_send(fixture, second, GET_JOBS, sizeof(GET_JOBS) - 1));
	berth_fixture_settle(fixture);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(close(first), 0);
	answer = berth_client_read(fixture, second);
	assert_int_equal(answer.status, 200);
	assert_int_equal(close(second), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_clients_that_vanish, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_half_requests_stay_open, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_byte_at_a_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many_headers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_endless_body, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_largest_body_is_taken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_noise, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_pipelined_requests, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_crowd_on_tcp, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_answer_nobody_takes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_descriptors_run_out, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
