#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "api/double_test.h"
#include "api/fixture_test.h"
#include "api/peer.h"
#include "api/routes.h"

#define SPEC "\"spec\":{\"argv\":[\"python\"],\"cwd\":\"/home/lin\",\"env\":[\"A=1\"]}"

/* "Host: 127.0.0.1:PORT" and more lines. */
static char *headers(const struct berth_fixture *fixture, const char *more)
{
	char *text = NULL;

	assert_true(asprintf(&text, "Host: 127.0.0.1:%u\r\n%s", (unsigned)berth_api_port(fixture->api), more) > 0);
	return text;
}

static void assert_error(const struct berth_answer *answer, int status, const char *code)
{
	if (answer->status != status || !strstr(answer->body, code))
		fail_msg("%d %s, but expected %d %s", answer->status, answer->body ? answer->body : "", status, code);
}

/* Every route of the table, without a session: nothing is told and nothing is done. */
static void test_every_route_needs_a_session(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_FREE char *host = headers(fixture, "");
	static const char *const methods[] = {
		[BERTH_METHOD_GET] = "GET", [BERTH_METHOD_POST] = "POST", [BERTH_METHOD_PATCH] = "PATCH"};
	enum berth_method method;
	const char *pattern;
	bool is_open;
	size_t n = 0;

	for (size_t i = 0; (pattern = berth_routes_path(i, &method, &is_open)); i++) {
		const char *star = strchr(pattern, '*');
		BERTH_AUTO_ANSWER struct berth_answer answer = {0};
		char path[64];

		(void)snprintf(path, sizeof(path), "%.*s%s%s", star ? (int)(star - pattern) : (int)strlen(pattern),
		               pattern, star ? "1" : "", star ? star + 1 : "");
		answer = berth_ask_tcp(fixture, methods[method], path, host, method == BERTH_METHOD_GET ? NULL : "{}");
		if (is_open)
			assert_string_equal(pattern, "/login");
		else
			assert_int_equal(answer.status, 401);
		n++;
	}
	assert_true(n > 20);
	{
		BERTH_AUTO_ANSWER struct berth_answer unknown = berth_ask_tcp(fixture, "GET", "/api/v1/nothing", host,
		                                                              NULL);

		assert_int_equal(unknown.status, 401);
	}
}

static void test_sign_in_once(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_FREE char *link = berth_api_login_link(fixture->api);
	BERTH_AUTO_FREE char *host = headers(fixture, "");
	const char *path = strstr(link, "/login?once=");
	BERTH_AUTO_ANSWER struct berth_answer first = berth_ask_tcp(fixture, "GET", path, host, NULL);
	BERTH_AUTO_ANSWER struct berth_answer second = berth_ask_tcp(fixture, "GET", path, host, NULL);
	BERTH_AUTO_ANSWER struct berth_answer none = berth_ask_tcp(fixture, "GET", "/login", host, NULL);

	assert_memory_equal(link, "http://127.0.0.1:", 17);
	assert_int_equal(first.status, 200);
	assert_non_null(strstr(first.head, "HttpOnly; SameSite=Strict"));
	assert_int_equal(second.status, 403);
	assert_null(strstr(second.head, "Set-Cookie"));
	assert_int_equal(none.status, 403);
}

static void test_a_link_expires(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_FREE char *link = berth_api_login_link(fixture->api);
	BERTH_AUTO_FREE char *host = headers(fixture, "");
	BERTH_AUTO_ANSWER struct berth_answer answer = {0};

	fixture->now_ms += 10 * 60000;
	answer = berth_ask_tcp(fixture, "GET", strstr(link, "/login"), host, NULL);
	assert_int_equal(answer.status, 403);
}

static void test_links_are_made_on_the_unix_socket_only(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_FREE char *session = berth_sign_in(fixture);
	BERTH_AUTO_ANSWER struct berth_answer tcp = berth_ask_tcp(fixture, "POST", "/api/v1/login-links", session, "");
	BERTH_AUTO_ANSWER struct berth_answer local = berth_ask_unix(fixture, "POST", "/api/v1/login-links", "", NULL);

	assert_error(&tcp, 403, "UnixSocketOnly");
	assert_int_equal(local.status, 201);
	assert_non_null(strstr(local.body, "/login?once="));
}

static void test_a_page_may_do_everything(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_FREE char *session = berth_sign_in(fixture);
	BERTH_AUTO_ANSWER struct berth_answer page = berth_ask_tcp(fixture, "GET", "/", session, NULL);
	BERTH_AUTO_ANSWER struct berth_answer submitted = berth_ask_tcp(fixture, "POST", "/api/v1/jobs", session,
	                                                                "{" SPEC "}");
	BERTH_AUTO_ANSWER struct berth_answer cancelled = {0};

	assert_int_equal(page.status, 200);
	assert_non_null(strstr(page.body, "<title>berth</title>"));
	assert_int_equal(submitted.status, 201);
	cancelled = berth_ask_tcp(fixture, "POST", "/api/v1/jobs/1/cancel", session, "");
	assert_int_equal(cancelled.status, 200);
}

static void test_other_hosts_and_origins(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_FREE char *session = berth_sign_in(fixture);
	char *cookie = strstr(session, "Cookie: ");
	const unsigned port = berth_api_port(fixture->api);
	char lines[512];

	(void)snprintf(lines, sizeof(lines), "Host: evil.example:%u\r\n%s", port, cookie);
	{
		BERTH_AUTO_ANSWER struct berth_answer rebound = berth_ask_tcp(fixture, "GET", "/api/v1/jobs", lines,
		                                                              NULL);

		assert_error(&rebound, 403, "BadHost");
	}
	(void)snprintf(lines, sizeof(lines), "Host: 127.0.0.1:%u\r\nOrigin: http://evil.example\r\n%s", port, cookie);
	{
		BERTH_AUTO_ANSWER struct berth_answer forged = berth_ask_tcp(fixture, "POST", "/api/v1/jobs", lines,
		                                                             "{" SPEC "}");

		assert_error(&forged, 403, "BadOrigin");
	}
	/* A form of another site sends no Origin in old browsers: a cookie alone changes nothing. */
	(void)snprintf(lines, sizeof(lines), "Host: 127.0.0.1:%u\r\n%s", port, cookie);
	{
		BERTH_AUTO_ANSWER struct berth_answer silent = berth_ask_tcp(fixture, "POST", "/api/v1/jobs", lines,
		                                                             "{" SPEC "}");
		BERTH_AUTO_ANSWER struct berth_answer read = berth_ask_tcp(fixture, "GET", "/api/v1/jobs", lines, NULL);

		assert_error(&silent, 403, "BadOrigin");
		assert_int_equal(read.status, 200);
	}
	assert_int_equal(berth_core_next_job(berth_ledger_core(fixture->ledger)), 1);
}

static void test_bearer(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_FREE char *session = berth_sign_in(fixture);
	const char *value = strstr(session, "Cookie: berth=") + strlen("Cookie: berth=");
	char lines[512];
	BERTH_AUTO_ANSWER struct berth_answer good = {0};
	BERTH_AUTO_ANSWER struct berth_answer bad = {0};

	(void)snprintf(lines, sizeof(lines), "Host: localhost:%u\r\nAuthorization: Bearer %s",
	               (unsigned)berth_api_port(fixture->api), value);
	good = berth_ask_tcp(fixture, "POST", "/api/v1/jobs", lines, "{" SPEC "}");
	assert_int_equal(good.status, 201);
	*strrchr(lines, '.') = 'x';
	bad = berth_ask_tcp(fixture, "GET", "/api/v1/jobs", lines, NULL);
	assert_int_equal(bad.status, 401);
}

static void test_a_session_outlives_a_restart_and_ends(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_FREE char *session = berth_sign_in(fixture);
	const char *cookie = strstr(session, "Cookie: ");
	BERTH_AUTO_FREE char *lines = NULL;
	BERTH_AUTO_ANSWER struct berth_answer after = {0};
	BERTH_AUTO_ANSWER struct berth_answer late = {0};

	berth_fixture_reopen(fixture);
	lines = headers(fixture, cookie);
	after = berth_ask_tcp(fixture, "GET", "/api/v1/jobs", lines, NULL);
	assert_int_equal(after.status, 200);
	fixture->now_ms += UINT64_C(7) * 86400000;
	late = berth_ask_tcp(fixture, "GET", "/api/v1/jobs", lines, NULL);
	assert_int_equal(late.status, 401);
}

static void test_standing_headers(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_FREE char *session = berth_sign_in(fixture);
	static const char *const paths[] = {
		"/", "/assets/page.js", "/assets/page.css", "/api/v1/jobs", "/api/v1/nothing", "/metrics"};
	static const char *const expected[] = {"Content-Security-Policy: default-src 'self';",
	                                       "frame-ancestors 'none'",
	                                       "X-Content-Type-Options: nosniff",
	                                       "X-Frame-Options: DENY",
	                                       "Referrer-Policy: no-referrer",
	                                       "Cache-Control: no-store"};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		BERTH_AUTO_ANSWER struct berth_answer answer = berth_ask_tcp(fixture, "GET", paths[i], session, NULL);

		for (size_t k = 0; k < sizeof(expected) / sizeof(expected[0]); k++)
			if (!strstr(answer.head, expected[k]))
				fail_msg("%s: no %s in %s", paths[i], expected[k], answer.head);
		assert_null(strstr(answer.head, "Access-Control"));
		assert_null(strstr(answer.head, "unsafe"));
	}
}

/* The page keeps what its policy promises: nothing inline, nothing from elsewhere, and every part it names is served.
 */
static void test_the_page_names_only_its_own_parts(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_FREE char *session = berth_sign_in(fixture);
	BERTH_AUTO_ANSWER struct berth_answer page = berth_ask_tcp(fixture, "GET", "/", session, NULL);
	static const char *const assets[] = {"page.js", "live.js", "view.js", "words.js", "page.css", "icon.svg"};

	assert_null(strstr(page.body, "<style"));
	assert_null(strstr(page.body, "style="));
	assert_null(strstr(page.body, "onclick"));
	assert_null(strstr(page.body, "http:"));
	assert_null(strstr(page.body, "https:"));
	for (const char *at = page.body; (at = strstr(at, "<script")); at++)
		assert_memory_equal(at, "<script type=\"module\" src=\"/assets/", 34);
	for (size_t i = 0; i < sizeof(assets) / sizeof(assets[0]); i++) {
		BERTH_AUTO_ANSWER struct berth_answer asset = {0};
		char path[40];

		(void)snprintf(path, sizeof(path), "/assets/%s", assets[i]);
		asset = berth_ask_tcp(fixture, "GET", path, session, NULL);
		assert_int_equal(asset.status, 200);
		assert_true(asset.n_body > 200);
		assert_null(strstr(asset.body, "innerHTML"));
		assert_null(strstr(asset.body, "eval("));
	}
}

/* A connection made by another user, who can reach the socket only because this test opened its directory. */
static int connect_as(struct berth_fixture *fixture, uid_t uid)
{
	char run[96];
	int fd;

	(void)snprintf(run, sizeof(run), "%s/run", fixture->dir);
	assert_int_equal(chmod(fixture->dir, 0711), 0);
	assert_int_equal(chmod(run, 0711), 0);
	assert_int_equal(chmod(fixture->socket_path, 0666), 0);
	assert_int_equal(seteuid(uid), 0);
	fd = berth_client_unix(fixture);
	assert_int_equal(seteuid(0), 0);
	return fd;
}

/* In user mode nobody else may ask anything, whatever the message says. */
static void test_somebody_elses_daemon(void **state)
{
	struct berth_fixture *fixture = *state;
	static const char request[] =
		"GET /api/v1/jobs HTTP/1.1\r\nHost: x\r\nX-User: root\r\nAuthorization: Bearer 0\r\n\r\n";
	BERTH_AUTO_ANSWER struct berth_answer answer = {0};
	int fd;

	if (getuid() != 0)
		skip(); /* only root can be somebody else for a moment */
	fd = connect_as(fixture, 65534);
	assert_true(berth_client_send(fixture, fd, request, sizeof(request) - 1));
	answer = berth_client_read(fixture, fd);
	assert_error(&answer, 403, "NotYourDaemon");
	assert_non_null(strstr(answer.body, "you are uid 65534"));
	assert_int_equal(close(fd), 0);
}

/* A session that another user of the machine got hold of: no use over TCP either. */
static void test_a_stolen_session(void **state)
{
	struct berth_fixture *fixture = *state;
	BERTH_AUTO_FREE char *session = berth_sign_in(fixture);
	BERTH_AUTO_ANSWER struct berth_answer answer = {0};
	BERTH_AUTO_TEXT struct berth_text text = {0};
	int fd;

	if (getuid() != 0 || !berth_peer_is_told())
		skip();
	berth_text_addf(&text, "POST /api/v1/jobs HTTP/1.1\r\n%sContent-Length: %zu\r\n\r\n{%s}", session,
	                strlen(SPEC) + 2, SPEC);
	assert_int_equal(seteuid(65534), 0);
	fd = berth_client_tcp(fixture);
	assert_int_equal(seteuid(0), 0);
	assert_true(berth_client_send(fixture, fd, text.at, text.len));
	answer = berth_client_read(fixture, fd);
	assert_error(&answer, 403, "NotYourDaemon");
	assert_int_equal(close(fd), 0);
	/* Nor blindly, by a program that has closed its end before it can be asked whose it was. */
	fd = berth_client_tcp(fixture);
	assert_int_equal(send(fd, text.at, text.len, 0), text.len);
	assert_int_equal(close(fd), 0);
	berth_fixture_settle(fixture);
	assert_int_equal(berth_core_next_job(berth_ledger_core(fixture->ledger)), 1);
}

static void test_without_tcp(void **state)
{
	struct berth_fixture *fixture = *state;
	const struct berth_api_options options = {.socket_path = fixture->socket_path};
	BERTH_AUTO_ANSWER struct berth_answer answer = {0};

	berth_api_close(fixture->api);
	fixture->api = NULL;
	assert_int_equal(berth_api_open(fixture->event, &options, &fixture->host, &fixture->api, NULL), 0);
	assert_int_equal(berth_api_port(fixture->api), 0);
	assert_null(berth_api_login_link(fixture->api));
	answer = berth_ask_unix(fixture, "POST", "/api/v1/login-links", "", NULL);
	assert_error(&answer, 409, "NoPage");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_every_route_needs_a_session, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_sign_in_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_link_expires, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_links_are_made_on_the_unix_socket_only, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_page_may_do_everything, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_hosts_and_origins, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bearer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_session_outlives_a_restart_and_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_standing_headers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_page_names_only_its_own_parts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_somebody_elses_daemon, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_stolen_session, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_without_tcp, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
