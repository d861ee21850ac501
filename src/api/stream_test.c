#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "api/double_test.h"
#include "api/events.h"
#include "api/fixture_test.h"

#define SPEC "\"spec\":{\"argv\":[\"python\"],\"cwd\":\"/home/lin\",\"env\":[\"A=1\"]}"

static uint64_t now_seq(struct berth_fixture *fixture)
{
	return berth_core_seq(berth_ledger_core(fixture->ledger));
}

static void submit(struct berth_fixture *fixture, const char *body)
{
	BERTH_AUTO_ANSWER struct berth_answer answer = berth_ask_unix(fixture, "POST", "/api/v1/jobs", "", body);

	assert_int_equal(answer.status, 201);
	berth_fixture_settle(fixture);
}

/* A stream that is open; query: "", "?since=5". */
static int listen_to(struct berth_fixture *fixture, const char *query, struct berth_text *buf)
{
	int fd = berth_client_unix(fixture);
	char request[200];

	(void)snprintf(request, sizeof(request), "GET /api/v1/events%s HTTP/1.1\r\nHost: x\r\n\r\n", query);
	assert_true(berth_client_send(fixture, fd, request, strlen(request)));
	assert_true(berth_client_await(fixture, fd, buf, "event: hello"));
	assert_non_null(strstr(buf->at, "text/event-stream"));
	return fd;
}

static void test_changes_arrive(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_TEXT struct berth_text buf = {0};
	BERTH_AUTO_CLOSE int fd = listen_to(fixture, "", &buf);
	char id[40];

	submit(fixture, "{\"name\":\"told\",\"gpus\":1," SPEC "}");
	assert_true(berth_client_await(fixture, fd, &buf, "event: job"));
	assert_true(berth_client_await(fixture, fd, &buf, "\"name\":\"told\""));
	assert_true(berth_client_await(fixture, fd, &buf, "event: gpu"));
	(void)snprintf(id, sizeof(id), "id: %" PRIu64 "\n", now_seq(fixture));
	assert_true(berth_client_await(fixture, fd, &buf, id));
	berth_fixture_start(fixture, 1);
	assert_true(berth_client_await(fixture, fd, &buf, "\"state\":\"RUNNING\""));
	berth_fixture_end(fixture, 1, 0);
	assert_true(berth_client_await(fixture, fd, &buf, "\"state\":\"COMPLETED\""));
	assert_true(berth_client_await(fixture, fd, &buf, "\"state\":\"free\"")); /* the card it gave back */
	assert_null(strstr(buf.at, "event: reset"));
}

static void test_notices_arrive(void **state)
{
	struct berth_fixture *fixture = *state;
	const struct berth_sample sample = {.valid = BERTH_SAMPLE_UTIL, .util_permille = 777};
	BERTH_AUTO_TEXT struct berth_text buf = {0};
	BERTH_AUTO_CLOSE int fd = listen_to(fixture, "", &buf);

	berth_api_progress(fixture->api, 9, "60% nearly");
	berth_api_sample(fixture->api, "SIM-2", &sample);
	assert_true(berth_client_await(
		fixture, fd, &buf,
		"event: progress\ndata: {\"id\":9,\"progress\":{\"done\":60,\"total\":100,\"text\":\"nearly\"}}\n\n"));
	assert_true(berth_client_await(
		fixture, fd, &buf,
		"event: sample\ndata: {\"uuid\":\"SIM-2\",\"util_permille\":777,\"mem_used_bytes\":null}\n\n"));
}

/* A text with line ends in it must not break out of its line. */
static void test_a_line_stays_a_line(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_TEXT struct berth_text buf = {0};
	BERTH_AUTO_CLOSE int fd = listen_to(fixture, "", &buf);

	berth_api_progress(fixture->api, 9, "evil\n\nevent: job\ndata: {}\n\n");
	assert_true(berth_client_await(fixture, fd, &buf, "evil\\n\\nevent: job"));
	assert_null(strstr(buf.at, "\nevent: job"));
}

static void test_resume(void **state)
{
	struct berth_fixture *fixture = *state;
	const uint64_t before = now_seq(fixture);
	BERTH_AUTO_TEXT struct berth_text buf = {0};
	BERTH_AUTO_TEXT struct berth_text by_header = {0};
	BERTH_AUTO_CLOSE int fd = -1;
	BERTH_AUTO_CLOSE int other = berth_client_unix(fixture);
	char text[120];

	submit(fixture, "{\"name\":\"missed\",\"gpus\":1," SPEC "}");
	(void)snprintf(text, sizeof(text), "?since=%" PRIu64, before);
	fd = listen_to(fixture, text, &buf);
	assert_true(berth_client_await(fixture, fd, &buf, "\"name\":\"missed\""));
	assert_null(strstr(buf.at, "event: reset"));
	(void)snprintf(text, sizeof(text),
	               "GET /api/v1/events HTTP/1.1\r\nHost: x\r\nLast-Event-ID: %" PRIu64 "\r\n\r\n", before);
	assert_true(berth_client_send(fixture, other, text, strlen(text)));
	assert_true(berth_client_await(fixture, other, &by_header, "\"name\":\"missed\""));
}

/* After a restart the daemon holds nothing of before: a reader that knows all goes on, one that missed something is
 * reset. */
static void test_resume_after_a_restart(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_TEXT struct berth_text known = {0};
	BERTH_AUTO_TEXT struct berth_text missed = {0};
	BERTH_AUTO_TEXT struct berth_text foreign = {0};
	BERTH_AUTO_CLOSE int a = -1;
	BERTH_AUTO_CLOSE int b = -1;
	BERTH_AUTO_CLOSE int c = -1;
	char query[40];

	submit(fixture, "{\"gpus\":1," SPEC "}");
	berth_fixture_reopen(fixture);
	(void)snprintf(query, sizeof(query), "?since=%" PRIu64, now_seq(fixture));
	a = listen_to(fixture, query, &known);
	submit(fixture, "{\"name\":\"after\",\"gpus\":1," SPEC "}");
	assert_true(berth_client_await(fixture, a, &known, "\"name\":\"after\""));
	assert_null(strstr(known.at, "event: reset"));
	b = listen_to(fixture, "?since=1", &missed);
	assert_true(berth_client_await(fixture, b, &missed, "event: reset"));
	c = listen_to(fixture, "?since=999999", &foreign);
	assert_true(berth_client_await(fixture, c, &foreign, "event: reset"));
}

static void test_a_forgotten_job(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_TEXT struct berth_text buf = {0};
	BERTH_AUTO_CLOSE int fd = -1;
	struct berth_fact fact;

	submit(fixture, "{\"gpus\":1," SPEC "}");
	berth_fixture_start(fixture, 1);
	berth_fixture_end(fixture, 1, 0);
	fd = listen_to(fixture, "", &buf);
	berth_fact_init(&fact, BERTH_FACT_JOB_FORGOTTEN);
	fact.u.job.job = 1;
	berth_fixture_fact(fixture, &fact);
	assert_true(berth_client_await(fixture, fd, &buf, "data: {\"id\":1,\"forgotten\":true}"));
}

/* A reader that takes nothing costs a place in the ring; when it reads again it is told to start over, and others never
 * waited. */
static void test_a_reader_that_never_reads(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_TEXT struct berth_text lazy = {0};
	BERTH_AUTO_TEXT struct berth_text busy = {0};
	BERTH_AUTO_CLOSE int sleeper = listen_to(fixture, "", &lazy);
	BERTH_AUTO_CLOSE int reader = listen_to(fixture, "", &busy);
	struct berth_fact fact;

	submit(fixture, "{\"gpus\":8," SPEC "}");
	berth_fact_init(&fact, BERTH_FACT_JOB_HELD);
	for (unsigned i = 0; i < 3 * BERTH_EVENTS_CHANGES; i++) {
		/* The API is told directly: what it makes of facts is at stake, not who folds them. */
		fact.seq = now_seq(fixture) + 1 + i;
		fact.u.job.job = 1 + i % 40;
		berth_api_seen(fixture->api, &fact, 0);
		if (i % 500 == 0)
			berth_client_drain(fixture, reader, &busy);
	}
	{
		BERTH_AUTO_ANSWER struct berth_answer answer = berth_ask_unix(fixture, "GET", "/healthz", "", NULL);

		assert_int_equal(answer.status, 200);
	}
	assert_true(berth_client_await(fixture, sleeper, &lazy, "event: reset"));
	assert_null(strstr(busy.at, "event: reset"));
}

static void test_streams_are_counted(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_ANSWER struct berth_answer refused = {0};
	int fds[200];

	for (size_t i = 0; i < 200; i++) {
		BERTH_AUTO_TEXT struct berth_text buf = {0};

		fds[i] = listen_to(fixture, "", &buf);
	}
	refused = berth_ask_unix(fixture, "GET", "/api/v1/events", "", NULL);
	assert_int_equal(refused.status, 429);
	for (size_t i = 0; i < 200; i++)
		assert_int_equal(close(fds[i]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_changes_arrive, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_notices_arrive, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_line_stays_a_line, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_resume, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_resume_after_a_restart, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_forgotten_job, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_reader_that_never_reads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_streams_are_counted, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
