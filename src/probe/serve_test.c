/* Questions are put into one end of a socketpair, the server runs until it has seen them all, answers are read after
 * it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include "base/clock.h"
#include "device/probe_wire.h"
#include "probe/serve.h"

struct talk {
	int ours, theirs;
	struct berth_probe_serve with;
	struct berth_device_facts device[BERTH_DEVICES_MAX];
};

static void open_socket(struct talk *talk)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	talk->ours = pair[0];
	talk->theirs = pair[1];
}

static struct talk opened(const char *arg)
{
	struct talk talk = {.with = {.ops = berth_driver_find("sim")}};
	size_t n;

	open_socket(&talk);
	if (talk.with.ops->open(arg, "serve", &talk.with.driver, &talk.with.why) == 0)
		assert_int_equal(talk.with.ops->scan(talk.with.driver, talk.device, BERTH_DEVICES_MAX, &n, NULL), 0);
	return talk;
}

static void closed(struct talk *talk)
{
	if (talk->with.driver)
		talk->with.ops->close(talk->with.driver);
	(void)close(talk->ours);
	(void)close(talk->theirs);
}

static struct berth_probe_question question(uint32_t kind, uint32_t number, const char *uuid, const char *text)
{
	struct berth_probe_question ret = {.magic = BERTH_PROBE_MAGIC,
	                                   .version = BERTH_PROBE_VERSION,
	                                   .kind = kind,
	                                   .number = number,
	                                   .at_ms = berth_clock_boot_ms()};

	(void)snprintf(ret.uuid, sizeof(ret.uuid), "%s", uuid);
	(void)snprintf(ret.holder, sizeof(ret.holder), "12.1");
	(void)snprintf(ret.text, sizeof(ret.text), "%s", text);
	return ret;
}

static void ask(struct talk *talk, uint32_t kind, uint32_t number, const char *uuid, const char *text)
{
	const struct berth_probe_question asked = question(kind, number, uuid, text);

	assert_int_equal(send(talk->ours, &asked, sizeof(asked), MSG_DONTWAIT), sizeof(asked));
}

/* No more questions: the server answers those there are. */
static void serve(struct talk *talk)
{
	struct berth_error err = {0};

	assert_int_equal(shutdown(talk->ours, SHUT_WR), 0);
	if (berth_probe_serve(talk->theirs, &talk->with, &err) != 0)
		fail_msg("%s", err.text);
}

static struct berth_probe_answer answer_to(struct talk *talk, uint32_t kind, uint32_t number)
{
	struct berth_probe_answer ret;

	assert_int_equal(recv(talk->ours, &ret, sizeof(ret), MSG_DONTWAIT), sizeof(ret));
	assert_int_equal(ret.magic, BERTH_PROBE_MAGIC);
	assert_int_equal(ret.version, BERTH_PROBE_VERSION);
	assert_int_equal(ret.kind, kind);
	assert_int_equal(ret.number, number);
	return ret;
}

static void no_more_answers(struct talk *talk)
{
	char byte;

	assert_int_equal(recv(talk->ours, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

static void test_scan_in_packets(void **state)
{
	struct talk talk = opened("6xA100-80GB");
	struct berth_probe_answer answer;

	ask(&talk, BERTH_PROBE_SCAN, 7, "", "");
	serve(&talk);
	answer = answer_to(&talk, BERTH_PROBE_SCAN, 7);
	assert_int_equal(answer.n_all, 6);
	assert_int_equal(answer.first, 0);
	assert_int_equal(answer.n, 4);
	assert_string_equal(answer.u.device[3].uuid, talk.device[3].uuid);
	answer = answer_to(&talk, BERTH_PROBE_SCAN, 7);
	assert_int_equal(answer.first, 4);
	assert_int_equal(answer.n, 2);
	assert_string_equal(answer.u.device[1].uuid, talk.device[5].uuid);
	no_more_answers(&talk);
	closed(&talk);
}

static void test_links_in_packets(void **state)
{
	struct talk talk = opened("16xA100-80GB");
	struct berth_probe_answer answer;

	ask(&talk, BERTH_PROBE_LINKS, 1, "", "");
	serve(&talk);
	answer = answer_to(&talk, BERTH_PROBE_LINKS, 1);
	assert_int_equal(answer.n_all, 120);
	assert_int_equal(answer.n, 64);
	assert_int_equal(answer.u.link[0].b, 1);
	answer = answer_to(&talk, BERTH_PROBE_LINKS, 1);
	assert_int_equal(answer.first, 64);
	assert_int_equal(answer.n, 56);
	assert_int_equal(answer.u.link[55].a, 14);
	assert_int_equal(answer.u.link[55].b, 15);
	no_more_answers(&talk);
	closed(&talk);
}

static void test_told_and_read(void **state)
{
	struct talk talk = opened("2xA100-80GB");
	const char *uuid = talk.device[1].uuid;

	ask(&talk, BERTH_PROBE_LOAD, 1, uuid, "0:50:4G");
	ask(&talk, BERTH_PROBE_SAMPLE, 2, uuid, "");
	ask(&talk, BERTH_PROBE_INJECT, 3, uuid, "util 7");
	ask(&talk, BERTH_PROBE_SAMPLE, 4, uuid, "");
	ask(&talk, BERTH_PROBE_LEAVE, 5, uuid, "");
	ask(&talk, BERTH_PROBE_SAMPLE, 6, uuid, "");
	serve(&talk);
	assert_int_equal(answer_to(&talk, BERTH_PROBE_LOAD, 1).result, 0);
	assert_int_equal(answer_to(&talk, BERTH_PROBE_SAMPLE, 2).u.sample.mem_used_bytes, 4ull << 30);
	assert_int_equal(answer_to(&talk, BERTH_PROBE_INJECT, 3).result, 0);
	assert_int_equal(answer_to(&talk, BERTH_PROBE_SAMPLE, 4).u.sample.util_permille, 70);
	assert_int_equal(answer_to(&talk, BERTH_PROBE_LEAVE, 5).result, 0);
	assert_int_equal(answer_to(&talk, BERTH_PROBE_SAMPLE, 6).u.sample.mem_used_bytes, 0);
	no_more_answers(&talk);
	closed(&talk);
}

static void test_refusals_say_why(void **state)
{
	struct talk talk = opened("2xA100-80GB");
	struct berth_probe_answer answer;

	ask(&talk, BERTH_PROBE_SAMPLE, 1, "SIM-none", "");
	ask(&talk, BERTH_PROBE_INJECT, 2, talk.device[0].uuid, "explode");
	ask(&talk, BERTH_PROBE_LOAD, 3, talk.device[0].uuid, "9:9");
	serve(&talk);
	answer = answer_to(&talk, BERTH_PROBE_SAMPLE, 1);
	assert_int_equal(answer.result, -ENOENT);
	assert_int_equal(answer.n_all, 0);
	assert_non_null(strstr(answer.u.text, "SIM-none"));
	answer = answer_to(&talk, BERTH_PROBE_INJECT, 2);
	assert_int_equal(answer.result, -EINVAL);
	assert_non_null(strstr(answer.u.text, "explode"));
	assert_int_equal(answer_to(&talk, BERTH_PROBE_LOAD, 3).result, -EINVAL);
	closed(&talk);
}

static void test_a_driver_that_did_not_open_refuses_all(void **state)
{
	struct talk talk = opened("8xEverest");
	struct berth_probe_answer answer;

	ask(&talk, BERTH_PROBE_SCAN, 1, "", "");
	ask(&talk, BERTH_PROBE_SAMPLE, 2, "SIM-none", "");
	serve(&talk);
	answer = answer_to(&talk, BERTH_PROBE_SCAN, 1);
	assert_int_equal(answer.result, -EINVAL);
	assert_non_null(strstr(answer.u.text, "Everest"));
	assert_int_equal(answer_to(&talk, BERTH_PROBE_SAMPLE, 2).result, -EINVAL);
	closed(&talk);
}

static int scan_too_many(struct berth_driver *driver, struct berth_device_facts *ret, size_t cap, size_t *ret_n,
                         struct berth_error *err)
{
	*ret_n = cap + 1;
	return 0;
}

static void test_a_driver_without_the_optional_calls(void **state)
{
	const struct berth_driver_ops poor = {.abi = BERTH_DEVICE_ABI, .name = "poor", .scan = scan_too_many};
	struct talk talk = opened("1xT4");
	const struct berth_driver_ops *sim = talk.with.ops;
	struct berth_probe_answer answer;

	talk.with.ops = &poor;
	ask(&talk, BERTH_PROBE_SCAN, 1, "", "");
	ask(&talk, BERTH_PROBE_LINKS, 2, "", "");
	ask(&talk, BERTH_PROBE_LOAD, 3, "D", "");
	ask(&talk, BERTH_PROBE_INJECT, 4, "D", "lost");
	serve(&talk);
	assert_int_equal(answer_to(&talk, BERTH_PROBE_SCAN, 1).result, -E2BIG);
	assert_int_equal(answer_to(&talk, BERTH_PROBE_LINKS, 2).result, -EOPNOTSUPP);
	assert_int_equal(answer_to(&talk, BERTH_PROBE_LOAD, 3).result, -EOPNOTSUPP);
	answer = answer_to(&talk, BERTH_PROBE_INJECT, 4);
	assert_int_equal(answer.result, -EOPNOTSUPP);
	assert_non_null(strstr(answer.u.text, "poor"));
	talk.with.ops = sim;
	closed(&talk);
}

static void refused_at_once(const void *packet, size_t n)
{
	struct talk talk = opened("1xT4");
	struct berth_error err = {0};

	assert_int_equal(send(talk.ours, packet, n, 0), n);
	assert_int_equal(berth_probe_serve(talk.theirs, &talk.with, &err), -EPROTO);
	assert_non_null(strstr(err.text, "version"));
	no_more_answers(&talk);
	closed(&talk);
}

static void test_nonsense_ends_it(void **state)
{
	const struct berth_probe_question good = question(BERTH_PROBE_SCAN, 1, "", "");
	struct berth_probe_question bad = good;
	char long_one[sizeof(good) + 1] = {0};

	bad.magic++;
	refused_at_once(&bad, sizeof(bad));
	bad = good;
	bad.version++;
	refused_at_once(&bad, sizeof(bad));
	bad = good;
	bad.kind = BERTH_PROBE_UNKNOWN;
	refused_at_once(&bad, sizeof(bad));
	bad.kind = BERTH_PROBE_KIND_COUNT;
	refused_at_once(&bad, sizeof(bad));
	bad = good;
	memset(bad.uuid, 'x', sizeof(bad.uuid));
	refused_at_once(&bad, sizeof(bad));
	bad = good;
	memset(bad.holder, 'x', sizeof(bad.holder));
	refused_at_once(&bad, sizeof(bad));
	bad = good;
	memset(bad.text, 'x', sizeof(bad.text));
	refused_at_once(&bad, sizeof(bad));
	refused_at_once(&good, sizeof(good) - 1);
	memcpy(long_one, &good, sizeof(good));
	refused_at_once(long_one, sizeof(long_one));
}

static void test_it_ends_when_nobody_listens(void **state)
{
	struct talk talk = opened("1xT4");
	struct berth_error err = {0};

	ask(&talk, BERTH_PROBE_SCAN, 1, "", "");
	(void)close(talk.ours);
	assert_int_equal(berth_probe_serve(talk.theirs, &talk.with, &err), 0);
	talk.ours = -1;
	closed(&talk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scan_in_packets),
		cmocka_unit_test(test_links_in_packets),
		cmocka_unit_test(test_told_and_read),
		cmocka_unit_test(test_refusals_say_why),
		cmocka_unit_test(test_a_driver_that_did_not_open_refuses_all),
		cmocka_unit_test(test_a_driver_without_the_optional_calls),
		cmocka_unit_test(test_nonsense_ends_it),
		cmocka_unit_test(test_it_ends_when_nobody_listens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
