/* The client with probes that misbehave: this program itself, started as one. --arg says how it behaves, --identity
 * names a directory in which each start leaves a byte. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "base/clock.h"
#include "base/file.h"
#include "device/probe.h"
#include "device/probe_wire.h"

#define DEADLINE_MS 150
#define SAMPLE_EVERY_MS 20
#define BACKOFF_MS 100
#define PATIENCE_MS 8000

/* --- the other end ------------------------------------------------------------------------------------------- */

static void reply(const struct berth_probe_question *to, struct berth_probe_answer *answer)
{
	answer->magic = BERTH_PROBE_MAGIC;
	answer->version = BERTH_PROBE_VERSION;
	answer->kind = to->kind;
	answer->number = to->number;
	if (send(BERTH_PROBE_FD, answer, sizeof(*answer), MSG_NOSIGNAL) < 0)
		_exit(0);
}

static void refuse(const struct berth_probe_question *to, int result, const char *text)
{
	struct berth_probe_answer answer = {.result = result};

	(void)snprintf(answer.u.text, sizeof(answer.u.text), "%s", text);
	reply(to, &answer);
}

/* As a sound probe with n devices D0, D1 … and no links answers. */
static void answer_soundly(const struct berth_probe_question *to, uint32_t n)
{
	struct berth_probe_answer answer = {0};

	if (to->kind == BERTH_PROBE_LINKS) {
		refuse(to, -EOPNOTSUPP, "no links");
		return;
	}
	if (to->kind == BERTH_PROBE_SCAN) {
		answer.n_all = answer.n = n;
		for (uint32_t i = 0; i < n; i++) {
			(void)snprintf(answer.u.device[i].uuid, sizeof(answer.u.device[i].uuid), "D%u", i);
			answer.u.device[i].index = i;
		}
	}
	if (to->kind == BERTH_PROBE_SAMPLE) {
		answer.n_all = answer.n = 1;
		answer.u.sample.valid = BERTH_SAMPLE_HEALTH;
		answer.u.sample.health = BERTH_DEVICE_HEALTH_OK;
	}
	reply(to, &answer);
}

static void hang(void)
{
	for (;;)
		(void)pause();
}

static void misbehave(const char *how, const struct berth_probe_question *to)
{
	struct berth_probe_answer answer = {0};

	if (strcmp(how, "mute") == 0)
		hang();
	if (strcmp(how, "exit") == 0)
		_exit(3);
	if (strcmp(how, "crash") == 0)
		(void)kill(getpid(), SIGUSR1);
	if (strcmp(how, "close") == 0) {
		(void)close(BERTH_PROBE_FD);
		hang();
	}
	if (strcmp(how, "deaf") == 0) {
		(void)shutdown(BERTH_PROBE_FD, SHUT_RD);
		answer_soundly(to, 1);
		hang();
	}
	if (strcmp(how, "short") == 0)
		(void)send(BERTH_PROBE_FD, "hello", 5, MSG_NOSIGNAL);
	if (strcmp(how, "refuse") == 0)
		refuse(to, -ENODEV, "no card here");
	if (strcmp(how, "empty") == 0)
		answer_soundly(to, 0);
	if (strcmp(how, "chatty") == 0) {
		answer_soundly(to, 1);
		if (to->kind == BERTH_PROBE_SAMPLE)
			reply(to, &answer);
	}
	if (strcmp(how, "one-hangs") == 0) {
		if (to->kind == BERTH_PROBE_SAMPLE && strcmp(to->uuid, "D1") == 0)
			hang();
		answer_soundly(to, 3);
	}
	if (strcmp(how, "two-hang") == 0) {
		if (to->kind == BERTH_PROBE_SAMPLE && strcmp(to->uuid, "D2") != 0)
			hang();
		answer_soundly(to, 3);
	}
	if (strcmp(how, "one-vanishes") == 0) {
		if (to->kind == BERTH_PROBE_SAMPLE && strcmp(to->uuid, "D1") == 0)
			refuse(to, -ENOENT, "gone");
		else
			answer_soundly(to, 3);
	}
	if (strcmp(how, "no-injection") == 0) {
		if (to->kind == BERTH_PROBE_INJECT)
			refuse(to, -EINVAL, "not that");
		else
			answer_soundly(to, 1);
	}
	if (strcmp(how, "sound") == 0)
		answer_soundly(to, 2);
}

static unsigned starts_in(const char *dir)
{
	char path[64];
	struct stat st = {0};

	(void)snprintf(path, sizeof(path), "%s/starts", dir);
	return stat(path, &st) == 0 ? (unsigned)st.st_size : 0;
}

/* "mute,sound": the first start behaves as mute, all later ones as sound. */
static int be_probe(char *how, const char *dir)
{
	struct berth_probe_question question;
	char *later = strchr(how, ',');
	const bool is_first = starts_in(dir) == 0;
	char path[64];
	int fd;

	if (later)
		*later++ = '\0';
	(void)snprintf(path, sizeof(path), "%s/starts", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, "x", 1) != 1)
		return 9;
	while (recv(BERTH_PROBE_FD, &question, sizeof(question), 0) == (ssize_t)sizeof(question))
		misbehave(later && !is_first ? later : how, &question);
	return 0;
}

/* --- this end ------------------------------------------------------------------------------------------------ */

struct seen {
	struct berth_probe *probe;
	char dir[32];
	size_t n_scans, n_devices, n_links, n_stale, n_answers, n_injected;
	size_t n_samples[4];
	struct berth_error stale;
	uint64_t stale_ms;
	int result;
};

static void on_scanned(void *arg, const struct berth_device_facts *devices, size_t n, const struct berth_link *links,
                       size_t n_links)
{
	struct seen *seen = arg;

	seen->n_scans++;
	seen->n_devices = n;
	seen->n_links = n_links;
}

static void on_sampled(void *arg, const char *uuid, const struct berth_sample *sample)
{
	struct seen *seen = arg;

	assert_int_equal(uuid[0], 'D');
	seen->n_samples[uuid[1] - '0']++;
}

static void on_stale(void *arg, bool is_stale, const struct berth_error *err)
{
	struct seen *seen = arg;

	seen->n_stale += is_stale;
	seen->n_answers += !is_stale;
	if (is_stale) {
		seen->stale = *err;
		seen->stale_ms = berth_clock_boot_ms();
	} else {
		assert_int_equal(err->code, 0);
	}
}

static void on_injected(void *arg, uint64_t ticket, int result, const struct berth_error *err)
{
	struct seen *seen = arg;

	seen->n_injected++;
	seen->result = result;
	assert_int_equal(err->code, result);
}

static const struct berth_probe_host host_of = {
	.scanned = on_scanned, .sampled = on_sampled, .stale = on_stale, .injected = on_injected};

static void turn(struct seen *seen)
{
	struct pollfd at = {.fd = berth_probe_fd(seen->probe), .events = POLLIN};

	(void)poll(&at, 1, 5);
	berth_probe_dispatch(seen->probe);
}

#define UNTIL(seen, what)                                                             \
	do {                                                                          \
		const uint64_t _until_ms = berth_clock_boot_ms() + PATIENCE_MS;       \
		while (!(what)) {                                                     \
			if (berth_clock_boot_ms() > _until_ms)                        \
				fail_msg("not within %d ms: %s", PATIENCE_MS, #what); \
			turn(seen);                                                   \
		}                                                                     \
	} while (0)

static void start(struct seen *seen, const char *how)
{
	struct berth_probe_options options = {
		.probe_path = "/proc/self/exe", .driver = "sim", .arg = how, .deadline_ms = DEADLINE_MS};
	struct berth_probe_host host = host_of;
	struct berth_error err;

	*seen = (struct seen){.dir = "/tmp/berth-probe-XXXXXX"};
	assert_non_null(mkdtemp(seen->dir));
	options.identity = seen->dir;
	options.sample_every_ms = SAMPLE_EVERY_MS;
	options.backoff_ms = BACKOFF_MS;
	host.arg = seen;
	if (berth_probe_open(&options, &host, &seen->probe, &err) < 0)
		fail_msg("%s", err.text);
}

static void end(struct seen *seen)
{
	berth_probe_close(seen->probe);
	assert_int_equal(berth_dir_remove(seen->dir), 0);
}

/* It fails at first, is told of with these words, and a later one works. */
static void fails_then_works(const char *how, int code, const char *says)
{
	char both[64];
	struct seen seen;

	(void)snprintf(both, sizeof(both), "%s,sound", how);
	start(&seen, both);
	UNTIL(&seen, seen.n_stale == 1);
	assert_int_equal(seen.stale.code, code);
	if (!strstr(seen.stale.text, says))
		fail_msg("%s: '%s' does not say '%s'", how, seen.stale.text, says);
	assert_true(berth_probe_is_stale(seen.probe));
	assert_int_equal(berth_probe_fd(seen.probe), -1);
	assert_true(berth_probe_wake_ms(seen.probe) > berth_clock_boot_ms());
	UNTIL(&seen, seen.n_samples[1] > 0);
	assert_int_equal(seen.n_answers, 1);
	assert_false(berth_probe_is_stale(seen.probe));
	assert_int_equal(starts_in(seen.dir), 2);
	end(&seen);
}

static void test_a_mute_probe_is_replaced(void **state)
{
	const uint64_t began_ms = berth_clock_boot_ms();

	fails_then_works("mute", -ETIMEDOUT, "while listing the devices");
	assert_true(berth_clock_boot_ms() - began_ms >= DEADLINE_MS + BACKOFF_MS);
}

static void test_a_probe_that_ends_is_replaced(void **state)
{
	fails_then_works("crash", -EPIPE, "was ended by signal 10");
	fails_then_works("exit", -EPIPE, "ended with code 3");
	fails_then_works("close", -EPIPE, "closed its socket");
	fails_then_works("deaf", -EPIPE, "closed its socket");
}

static void test_a_probe_that_talks_nonsense_is_replaced(void **state)
{
	fails_then_works("short", -EPROTO, "cannot be understood");
}

static void test_a_driver_that_fails_says_why(void **state)
{
	fails_then_works("refuse", -ENODEV, "no card here");
}

static void test_an_answer_too_many_is_nonsense(void **state)
{
	struct seen seen;

	start(&seen, "chatty,sound");
	UNTIL(&seen, seen.n_stale == 1);
	assert_int_equal(seen.stale.code, -EPROTO);
	assert_int_equal(seen.n_scans, 1);
	end(&seen);
}

static void test_no_devices(void **state)
{
	struct seen seen;

	start(&seen, "empty");
	assert_int_equal(seen.n_stale, 0);
	UNTIL(&seen, seen.n_answers == 1);
	assert_int_equal(seen.n_scans, 1);
	assert_int_equal(seen.n_devices, 0);
	end(&seen);
}

static void test_starts_are_spaced_out(void **state)
{
	struct seen seen;
	uint64_t first_ms, second_ms;

	start(&seen, "exit");
	UNTIL(&seen, starts_in(seen.dir) == 1 && berth_probe_fd(seen.probe) < 0);
	first_ms = berth_clock_boot_ms();
	UNTIL(&seen, starts_in(seen.dir) == 2 && berth_probe_fd(seen.probe) < 0);
	second_ms = berth_clock_boot_ms();
	UNTIL(&seen, starts_in(seen.dir) == 3);
	assert_true(second_ms - first_ms >= BACKOFF_MS - 20);
	assert_true(berth_clock_boot_ms() - second_ms >= 2 * BACKOFF_MS - 20);
	assert_int_equal(seen.n_stale, 1);
	end(&seen);
}

static void test_the_others_are_read_while_one_hangs(void **state)
{
	struct seen seen;
	size_t n;

	start(&seen, "one-hangs");
	UNTIL(&seen, seen.n_stale == 1);
	assert_non_null(strstr(seen.stale.text, "while reading D1"));
	n = seen.n_samples[2];
	UNTIL(&seen, seen.n_samples[2] >= n + 20);
	assert_true(seen.n_samples[0] >= 20);
	assert_int_equal(seen.n_samples[1], 0);
	assert_int_equal(seen.n_answers, 2); /* D0 was read before and after */
	assert_int_equal(starts_in(seen.dir), 2);
	end(&seen);
}

static void test_two_that_hang_do_not_slow_down_the_next_start(void **state)
{
	struct seen seen;

	start(&seen, "two-hang");
	UNTIL(&seen, seen.n_samples[2] >= 5);
	assert_int_equal(starts_in(seen.dir), 3);
	assert_int_equal(seen.n_samples[0] + seen.n_samples[1], 0);
	/* It works now, so that the wait before the next start is the first one again, not the third. */
	assert_int_equal(shutdown(berth_probe_fd(seen.probe), SHUT_RDWR), 0);
	UNTIL(&seen, seen.n_stale == 2);
	assert_true(berth_probe_wake_ms(seen.probe) <= seen.stale_ms + BACKOFF_MS);
	end(&seen);
}

static void test_a_device_that_vanished_stops_nothing(void **state)
{
	struct seen seen;

	start(&seen, "one-vanishes");
	UNTIL(&seen, seen.n_samples[2] >= 5);
	assert_int_equal(seen.n_samples[1], 0);
	assert_int_equal(seen.n_stale, 0);
	end(&seen);
}

static void test_injections_are_checked_first(void **state)
{
	struct berth_error err = {0};
	uint64_t ticket = 0;
	struct seen seen;

	start(&seen, "no-injection");
	assert_int_equal(berth_probe_inject(seen.probe, "D0", "lost", &ticket, &err), -ENOENT);
	UNTIL(&seen, seen.n_samples[0] > 0);
	assert_int_equal(berth_probe_inject(seen.probe, "D0", "explode", &ticket, &err), -EINVAL);
	assert_int_equal(berth_probe_inject(seen.probe, "D9", "lost", &ticket, &err), -ENOENT);
	assert_int_equal(ticket, 0);
	assert_int_equal(berth_probe_inject(seen.probe, "D0", "lost", &ticket, &err), 0);
	assert_int_equal(ticket, 1);
	assert_true(berth_probe_wake_ms(seen.probe) <= berth_clock_boot_ms() + DEADLINE_MS);
	UNTIL(&seen, seen.n_injected == 1);
	assert_int_equal(seen.result, -EINVAL);
	end(&seen);
}

static void test_an_injection_outlives_the_probe_it_was_for(void **state)
{
	uint64_t ticket = 0;
	struct seen seen;

	start(&seen, "sound");
	UNTIL(&seen, seen.n_samples[0] > 0);
	assert_int_equal(shutdown(berth_probe_fd(seen.probe), SHUT_RDWR), 0);
	assert_int_equal(berth_probe_inject(seen.probe, "D0", "lost", &ticket, NULL), 0);
	UNTIL(&seen, seen.n_stale == 1);
	assert_int_equal(seen.n_injected, 0);
	UNTIL(&seen, seen.n_injected == 1);
	assert_int_equal(seen.result, 0);
	assert_int_equal(seen.n_scans, 2);
	end(&seen);
}

static void test_what_cannot_be_opened(void **state)
{
	struct berth_probe_options options = {.probe_path = "/no/such/berth-probe", .driver = "sim"};
	struct berth_probe *probe = NULL;
	struct berth_error err = {0};

	assert_int_equal(berth_probe_open(&options, &host_of, &probe, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/no/such/berth-probe"));
	options.driver = "abacus";
	assert_int_equal(berth_probe_open(&options, &host_of, &probe, &err), -ENODEV);
	assert_non_null(strstr(err.text, "abacus"));
	assert_null(probe);
	berth_probe_close(NULL);
}

static void test_dispatch_returns_at_once(void **state)
{
	struct seen seen;
	uint64_t longest_ms = 0;

	start(&seen, "mute");
	for (const uint64_t until_ms = berth_clock_boot_ms() + 800; berth_clock_boot_ms() < until_ms;) {
		const uint64_t before_ms = berth_clock_boot_ms();
		uint64_t took_ms;

		berth_probe_dispatch(seen.probe);
		took_ms = berth_clock_boot_ms() - before_ms;
		longest_ms = took_ms > longest_ms ? took_ms : longest_ms;
		(void)usleep(2000);
	}
	assert_int_equal(seen.n_stale, 1);
	assert_true(starts_in(seen.dir) >= 2);
	/* A spawn takes a few milliseconds; on a loaded machine some more, but never a deadline. */
	assert_true(longest_ms < DEADLINE_MS);
	end(&seen);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_mute_probe_is_replaced),
		cmocka_unit_test(test_a_probe_that_ends_is_replaced),
		cmocka_unit_test(test_a_probe_that_talks_nonsense_is_replaced),
		cmocka_unit_test(test_a_driver_that_fails_says_why),
		cmocka_unit_test(test_an_answer_too_many_is_nonsense),
		cmocka_unit_test(test_no_devices),
		cmocka_unit_test(test_starts_are_spaced_out),
		cmocka_unit_test(test_the_others_are_read_while_one_hangs),
		cmocka_unit_test(test_two_that_hang_do_not_slow_down_the_next_start),
		cmocka_unit_test(test_a_device_that_vanished_stops_nothing),
		cmocka_unit_test(test_injections_are_checked_first),
		cmocka_unit_test(test_an_injection_outlives_the_probe_it_was_for),
		cmocka_unit_test(test_what_cannot_be_opened),
		cmocka_unit_test(test_dispatch_returns_at_once),
	};

	if (argc == 7 && strcmp(argv[1], "--driver") == 0)
		return be_probe(argv[4], argv[6]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
