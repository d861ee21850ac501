#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include "cli/http.h"

#define OK "HTTP/1.1 200 OK\r\n"

/* Feed all of it in pieces of `piece` bytes. */
static int feed(struct berth_http *http, const char *data, size_t n, size_t piece, struct berth_error *err)
{
	int r = 0;

	for (size_t at = 0; r == 0 && at < n; at += piece)
		r = berth_http_feed(http, data + at, n - at < piece ? n - at : piece, err);
	return r;
}

static void test_whole_answers_in_pieces_of_every_size(void **state)
{
	static const struct {
		const char *bytes, *body;
		int status;
		int64_t log_size;
	} cases[] = {
		{OK "Content-Length: 5\r\n\r\nhello", "hello", 200, -1},
		{OK "content-length:5\r\nX: y\r\n\r\nhello", "hello", 200, -1},
		{OK "Content-Length: 0\r\n\r\n", "", 200, -1},
		{"HTTP/1.1 204 No Content\r\n\r\n", "", 204, -1},
		{"HTTP/1.1 404\nContent-Length: 2\n\n{}", "{}", 404, -1},
		{OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n", "hello world", 200,
	         -1},
		{OK "Transfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n", "0123456789", 200,
	         -1},
		{"HTTP/1.1 100 Continue\r\n\r\n" OK "Content-Length: 2\r\n\r\nok", "ok", 200, -1},
		{OK "Berth-Log-Size: 123456789012\r\nContent-Length: 1\r\n\r\nx", "x", 200, 123456789012},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t piece = 1; piece <= strlen(cases[i].bytes); piece++) {
			BERTH_AUTO_HTTP struct berth_http http = {0};
			struct berth_error err = {0};

			if (feed(&http, cases[i].bytes, strlen(cases[i].bytes), piece, &err) < 0)
				fail_msg("case %zu in pieces of %zu: %s", i, piece, err.text);
			assert_int_equal(http.stage, BERTH_HTTP_DONE);
			assert_int_equal(http.status, cases[i].status);
			assert_int_equal(http.log_size_bytes, cases[i].log_size);
			assert_string_equal(berth_text_str(&http.body), cases[i].body);
			assert_int_equal(berth_http_end(&http, &err), 0);
		}
}

static void test_an_answer_that_is_cut_off_is_no_answer(void **state)
{
	static const char whole[] = OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";

	for (size_t n = 0; n < sizeof(whole) - 1; n++) {
		BERTH_AUTO_HTTP struct berth_http http = {0};
		struct berth_error err = {0};

		assert_int_equal(feed(&http, whole, n, 7, &err), 0);
		assert_int_equal(berth_http_end(&http, &err), -ECONNRESET);
	}
}

static void test_hostile_bytes_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		int r;
	} cases[] = {
		{"SSH-2.0-OpenSSH_9.2\r\n\r\n", -EPROTO},
		{"HTTP/2 200\r\n\r\n", -EPROTO},
		{"HTTP/1.1 2x0 OK\r\nContent-Length: 1\r\n\r\nx", -EPROTO},
		{"HTTP/1.1 2000 OK\r\nContent-Length: 1\r\n\r\nx", -EPROTO},
		{"HTTP/1.1 099 OK\r\nContent-Length: 1\r\n\r\nx", -EPROTO},
		{"HTTP/1.1 \r\n\r\n", -EPROTO},
		{OK "\r\nbody without a length", -EPROTO},
		{OK "Content-Length: -1\r\n\r\n", -EPROTO},
		{OK "Content-Length: +5\r\n\r\nhello", -EPROTO},
		{OK "Content-Length: 0x5\r\n\r\nhello", -EPROTO},
		{OK "Content-Length: 99999999999999999999\r\n\r\n", -EPROTO},
		{OK "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", -EPROTO},
		{OK "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", -EPROTO},
		{OK "Transfer-Encoding: gzip\r\n\r\n", -EPROTO},
		{OK "no colon here\r\nContent-Length: 0\r\n\r\n", -EPROTO},
		{OK ": no name\r\nContent-Length: 0\r\n\r\n", -EPROTO},
		{OK "Content-Length: 2\r\n\r\n{}trailing", -EPROTO},
		{OK "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", -EPROTO},
		{OK "Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n", -EPROTO},
		{OK "Transfer-Encoding: chunked\r\n\r\n5 6\r\nhello\r\n", -EPROTO},
		{OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXX\r\n", -EPROTO},
		{OK "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", -EPROTO},
		{OK "Transfer-Encoding: chunked\r\n\r\n\r\n", -EPROTO},
		{OK "Content-Length: 300000000\r\n\r\n", 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t piece = 1; piece < 40; piece += 13) {
			BERTH_AUTO_HTTP struct berth_http http = {0};
			struct berth_error err = {0};

			if (feed(&http, cases[i].bytes, strlen(cases[i].bytes), piece, &err) != cases[i].r)
				fail_msg("case %zu: %s", i, err.text);
			assert_int_equal(*err.text != 0, cases[i].r < 0);
		}
}

static void test_a_nul_in_the_head_is_refused(void **state)
{
	static const char bytes[] = OK "X: a\0b\r\nContent-Length: 0\r\n\r\n";
	BERTH_AUTO_HTTP struct berth_http http = {0};
	struct berth_error err = {0};

	assert_int_equal(feed(&http, bytes, sizeof(bytes) - 1, 1000, &err), -EPROTO);
}

static void test_endless_heads_and_chunk_lines_have_an_end(void **state)
{
	BERTH_AUTO_HTTP struct berth_http head = {0};
	BERTH_AUTO_HTTP struct berth_http line = {0};
	static const char begin[] = OK "Transfer-Encoding: chunked\r\n\r\n1;";
	struct berth_error err = {0};
	char filler[4096];
	size_t fed = 0;
	int r;

	memset(filler, 'a', sizeof(filler));
	assert_int_equal(feed(&head, OK, strlen(OK), 100, &err), 0);
	while ((r = berth_http_feed(&head, filler, sizeof(filler), &err)) == 0)
		fed += sizeof(filler);
	assert_int_equal(r, -EFBIG);
	assert_true(fed <= BERTH_HTTP_HEAD_MAX);
	assert_int_equal(feed(&line, begin, sizeof(begin) - 1, 100, &err), 0);
	assert_int_equal(feed(&line, filler, sizeof(filler), 100, &err), -EPROTO);
}

/* The same xorshift numbers in every run. */
static uint64_t next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static void test_random_damage_never_harms(void **state)
{
	static const char good[] = OK
		"Berth-Log-Size: 10\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n";
	uint64_t x = 88172645463325252u;
	unsigned refused = 0;

	for (unsigned round = 0; round < 20000; round++) {
		BERTH_AUTO_HTTP struct berth_http http = {0};
		struct berth_error err = {0};
		char bytes[sizeof(good)];
		int r;

		memcpy(bytes, good, sizeof(good));
		for (unsigned k = 0; k <= next(&x) % 3; k++)
			bytes[next(&x) % (sizeof(good) - 1)] = (char)next(&x);
		r = feed(&http, bytes, sizeof(good) - 1, 1 + next(&x) % 50, &err);
		assert_true(r == 0 || r == -EPROTO || r == -EFBIG);
		assert_true(http.body.len <= sizeof(good));
		refused += r != 0;
	}
	assert_true(refused > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_answers_in_pieces_of_every_size),
		cmocka_unit_test(test_an_answer_that_is_cut_off_is_no_answer),
		cmocka_unit_test(test_hostile_bytes_are_refused),
		cmocka_unit_test(test_a_nul_in_the_head_is_refused),
		cmocka_unit_test(test_endless_heads_and_chunk_lines_have_an_end),
		cmocka_unit_test(test_random_damage_never_harms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
