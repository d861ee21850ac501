/* The client of device/probe.h with the real berth-probe, whose path is the first argument. */
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
#include <sys/wait.h>
#include "base/clock.h"
#include "base/file.h"
#include "device/probe.h"

#define GIB (1024ull * 1024 * 1024)
#define DEADLINE_MS 250
#define SAMPLE_EVERY_MS 20
#define BACKOFF_MS 100
#define PATIENCE_MS 8000
#define CARDS 4

static const char *probe_path; /* main's argument */

/* What came by the callbacks. */
struct seen {
	struct berth_probe *probe;
	size_t n_scans, n_links, n_stale, n_answers, n_injected;
	struct berth_device_facts device[CARDS];
	struct berth_sample last[CARDS];
	size_t n_samples[CARDS];
	uint64_t stale_ms;
	char stale_text[256];
	uint64_t ticket;
	int result;
	uint64_t longest_dispatch_ms;
};

static void on_scanned(void *arg, const struct berth_device_facts *devices, size_t n, const struct berth_link *links,
                       size_t n_links)
{
	struct seen *seen = arg;

	assert_int_equal(n, CARDS);
	memcpy(seen->device, devices, n * sizeof(devices[0]));
	seen->n_links = n_links;
	seen->n_scans++;
}

static size_t card_of(const struct seen *seen, const char *uuid)
{
	for (size_t i = 0; i < CARDS; i++)
		if (strcmp(seen->device[i].uuid, uuid) == 0)
			return i;
	fail_msg("a sample of %s, which was never scanned", uuid);
	return 0;
}

static void on_sampled(void *arg, const char *uuid, const struct berth_sample *sample)
{
	struct seen *seen = arg;
	const size_t i = card_of(seen, uuid);

	seen->last[i] = *sample;
	seen->n_samples[i]++;
}

static void on_stale(void *arg, bool is_stale, const struct berth_error *err)
{
	struct seen *seen = arg;

	if (!is_stale) {
		seen->n_answers++;
		return;
	}
	seen->n_stale++;
	seen->stale_ms = berth_clock_boot_ms();
	(void)snprintf(seen->stale_text, sizeof(seen->stale_text), "%s", err->text);
}

static void on_injected(void *arg, uint64_t ticket, int result, const struct berth_error *err)
{
	struct seen *seen = arg;

	seen->ticket = ticket;
	seen->result = result;
	seen->n_injected++;
}

static void turn(struct seen *seen)
{
	const uint64_t now_ms = berth_clock_boot_ms();
	const uint64_t wake_ms = berth_probe_wake_ms(seen->probe);
	struct pollfd at = {.fd = berth_probe_fd(seen->probe), .events = POLLIN};
	uint64_t took_ms;

	(void)poll(&at, 1, wake_ms <= now_ms ? 0 : wake_ms - now_ms > 100 ? 100 : (int)(wake_ms - now_ms));
	took_ms = berth_clock_boot_ms();
	berth_probe_dispatch(seen->probe);
	took_ms = berth_clock_boot_ms() - took_ms;
	if (took_ms > seen->longest_dispatch_ms)
		seen->longest_dispatch_ms = took_ms;
}

/* Turn the loop until what is true. */
#define UNTIL(seen, what)                                                             \
	do {                                                                          \
		const uint64_t _until_ms = berth_clock_boot_ms() + PATIENCE_MS;       \
		while (!(what)) {                                                     \
			if (berth_clock_boot_ms() > _until_ms)                        \
				fail_msg("not within %d ms: %s", PATIENCE_MS, #what); \
			turn(seen);                                                   \
		}                                                                     \
	} while (0)

static const struct berth_probe_host host_of = {
	.scanned = on_scanned, .sampled = on_sampled, .stale = on_stale, .injected = on_injected};

static void start(struct seen *seen)
{
	const struct berth_probe_options options = {.probe_path = probe_path,
	                                            .driver = "sim",
	                                            .arg = "4xA100-80GB",
	                                            .identity = "test",
	                                            .deadline_ms = DEADLINE_MS,
	                                            .sample_every_ms = SAMPLE_EVERY_MS,
	                                            .backoff_ms = BACKOFF_MS};
	struct berth_probe_host host = host_of;
	struct berth_error err;

	*seen = (struct seen){0};
	host.arg = seen;
	if (berth_probe_open(&options, &host, &seen->probe, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(berth_probe_is_stale(seen->probe));
	UNTIL(seen, seen->n_samples[CARDS - 1] > 0);
}

static void inject(struct seen *seen, size_t card, const char *what)
{
	const size_t before = seen->n_injected;
	struct berth_error err;
	uint64_t ticket = 0;

	if (berth_probe_inject(seen->probe, seen->device[card].uuid, what, &ticket, &err) < 0)
		fail_msg("%s", err.text);
	UNTIL(seen, seen->n_injected > before);
	assert_int_equal(seen->ticket, ticket);
	assert_int_equal(seen->result, 0);
}

static void test_scan_and_samples_arrive(void **state)
{
	struct seen seen;

	start(&seen);
	assert_int_equal(seen.n_scans, 1);
	assert_int_equal(seen.n_links, CARDS * (CARDS - 1) / 2);
	assert_string_equal(seen.device[0].model, "A100-80GB");
	assert_int_equal(seen.device[3].index, 3);
	assert_int_equal(seen.last[0].health, BERTH_DEVICE_HEALTH_OK);
	assert_int_equal(seen.n_answers, 1);
	assert_int_equal(seen.n_stale, 0);
	assert_false(berth_probe_is_stale(seen.probe));
	assert_true(berth_clock_boot_ms() - berth_probe_last_ms(seen.probe) < PATIENCE_MS);
	berth_probe_close(seen.probe);
}

static void test_loads_come_and_go(void **state)
{
	struct seen seen;

	start(&seen);
	berth_probe_load(seen.probe, seen.device[1].uuid, "12.1", "0:50:20G");
	assert_true(berth_probe_wake_ms(seen.probe) <= berth_clock_boot_ms());
	UNTIL(&seen, seen.last[1].mem_used_bytes == 20 * GIB);
	UNTIL(&seen, seen.last[1].util_permille >= 480 && seen.last[1].util_permille <= 520);
	assert_int_equal(seen.last[0].mem_used_bytes, 0);
	berth_probe_load(seen.probe, seen.device[1].uuid, "12.1", NULL);
	UNTIL(&seen, seen.last[1].mem_used_bytes == 0 && seen.last[1].util_permille == 0);
	berth_probe_close(seen.probe);
}

static void test_lost_and_recovered(void **state)
{
	struct seen seen;

	start(&seen);
	inject(&seen, 2, "lost");
	UNTIL(&seen, seen.last[2].health == BERTH_DEVICE_HEALTH_LOST);
	assert_int_equal(seen.last[2].valid, BERTH_SAMPLE_HEALTH);
	assert_int_equal(seen.last[1].health, BERTH_DEVICE_HEALTH_OK);
	inject(&seen, 2, "recover");
	UNTIL(&seen, seen.last[2].health == BERTH_DEVICE_HEALTH_OK);
	assert_int_equal(seen.n_stale, 0);
	berth_probe_close(seen.probe);
}

static void test_hang_is_noticed_and_the_others_stay_fresh(void **state)
{
	struct seen seen;
	uint64_t asked_ms;
	size_t n0, n3;

	start(&seen);
	inject(&seen, 1, "util 77");
	asked_ms = berth_clock_boot_ms();
	inject(&seen, 3, "hang 3600");
	UNTIL(&seen, seen.n_stale == 1);
	assert_true(seen.stale_ms - asked_ms >= DEADLINE_MS - 10);
	assert_true(seen.stale_ms - asked_ms < DEADLINE_MS + 1500);
	assert_non_null(strstr(seen.stale_text, seen.device[3].uuid));
	assert_true(berth_probe_is_stale(seen.probe));

	/* A new one, told again: the others are read, with what was injected, while the hanging one is left alone. */
	n0 = seen.n_samples[0];
	n3 = seen.n_samples[3];
	seen.last[1].util_permille = 0;
	UNTIL(&seen, seen.n_scans == 2);
	UNTIL(&seen, seen.n_samples[0] >= n0 + 10);
	assert_int_equal(seen.last[1].util_permille, 770);
	assert_int_equal(seen.n_samples[3], n3);
	assert_int_equal(seen.n_answers, 2);
	assert_false(berth_probe_is_stale(seen.probe));
	assert_true(seen.longest_dispatch_ms < DEADLINE_MS);
	berth_probe_close(seen.probe);
}

static void test_a_killed_probe_is_started_again(void **state)
{
	struct seen seen;
	size_t n;

	start(&seen);
	inject(&seen, 0, "mem 3G");
	berth_probe_load(seen.probe, seen.device[1].uuid, "1.1", "");
	UNTIL(&seen, seen.last[1].mem_used_bytes == 80 * GIB / 100 * 60);
	assert_int_equal(seen.last[0].mem_used_bytes, 3 * GIB);
	inject(&seen, 2, "util 5");
	/* Its socket is shut under it while nothing is asked, so that no card is suspected. */
	UNTIL(&seen, berth_probe_wake_ms(seen.probe) <= berth_clock_boot_ms() + SAMPLE_EVERY_MS);
	assert_int_equal(shutdown(berth_probe_fd(seen.probe), SHUT_RDWR), 0);
	UNTIL(&seen, seen.n_stale == 1);
	n = seen.n_samples[2];
	memset(seen.last, 0, sizeof(seen.last));
	UNTIL(&seen, seen.n_samples[2] > n && seen.n_samples[3] > n);
	assert_int_equal(seen.n_scans, 2);
	assert_int_equal(seen.last[0].mem_used_bytes, 3 * GIB);
	assert_int_equal(seen.last[1].mem_used_bytes, 80 * GIB / 100 * 60);
	assert_int_equal(seen.last[2].util_permille, 50);
	berth_probe_close(seen.probe);
}

/* The only child of a process; 0 = none. */
static pid_t child_of(pid_t pid)
{
	char path[64];
	char text[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	return berth_file_read_proc(path, text, sizeof(text)) == 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}

/* Not gone, and not waiting to be reaped by whoever inherited it. */
static bool is_alive(pid_t pid)
{
	char path[64];
	char text[1024];
	const char *end;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (berth_file_read_proc(path, text, sizeof(text)) < 0)
		return false;
	end = strrchr(text, ')');
	return end && end[2] != 'Z';
}

/* A daemon with a probe that hangs; lives until it is killed. */
static void be_daemon(int ready)
{
	struct seen seen;

	start(&seen);
	inject(&seen, 0, "hang 3600");
	UNTIL(&seen, berth_probe_wake_ms(seen.probe) > berth_clock_boot_ms() + 10 * SAMPLE_EVERY_MS);
	assert_int_equal(write(ready, "x", 1), 1);
	for (;;)
		(void)pause();
}

static void test_a_hanging_probe_goes_with_its_daemon(void **state)
{
	const uint64_t until_ms = berth_clock_boot_ms() + PATIENCE_MS;
	int ready[2];
	char byte;
	pid_t daemon, probe;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	daemon = fork();
	assert_true(daemon >= 0);
	if (daemon == 0)
		be_daemon(ready[1]);
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	probe = child_of(daemon);
	assert_true(probe > 0);
	assert_int_equal(kill(daemon, SIGKILL), 0);
	assert_int_equal(waitpid(daemon, NULL, 0), daemon);
	while (is_alive(probe) && berth_clock_boot_ms() < until_ms)
		(void)usleep(1000);
	assert_false(is_alive(probe));
}

/* Run the binary itself with these arguments and descriptor 3; its exit code. text gets what it says on standard error.
 */
static int run(const char *const *args, int fd3, char *text, size_t cap)
{
	int out[2];
	int status = 0;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(out[1], STDERR_FILENO);
		if (fd3 == 3)
			(void)fcntl(3, F_SETFD, 0);
		else if (fd3 >= 0)
			(void)dup2(fd3, 3);
		else
			(void)close(3);
		(void)execv(probe_path, (char *const *)args);
		_exit(127);
	}
	(void)close(out[1]);
	while ((n = read(out[0], text + len, cap - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	(void)close(out[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_by_hand_it_says_what_it_is(void **state)
{
	const char *const args[] = {"berth-probe", "--driver", "sim", NULL};
	const char *const wrong[] = {"berth-probe", "--drivel", NULL};
	char text[512];
	int pair[2];
	int zero;

	assert_int_equal(run(args, -1, text, sizeof(text)), 2);
	assert_non_null(strstr(text, "berthd"));
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	assert_int_equal(run(args, zero, text, sizeof(text)), 2);
	(void)close(zero);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(run(wrong, pair[1], text, sizeof(text)), 2);
	/* With a socket whose other end is gone it has nothing to do. */
	(void)close(pair[0]);
	assert_int_equal(run(args, pair[1], text, sizeof(text)), 0);
	assert_string_equal(text, "");
	(void)close(pair[1]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scan_and_samples_arrive),
		cmocka_unit_test(test_loads_come_and_go),
		cmocka_unit_test(test_lost_and_recovered),
		cmocka_unit_test(test_hang_is_noticed_and_the_others_stay_fresh),
		cmocka_unit_test(test_a_killed_probe_is_started_again),
		cmocka_unit_test(test_a_hanging_probe_goes_with_its_daemon),
		cmocka_unit_test(test_by_hand_it_says_what_it_is),
	};

	if (argc != 2) {
		(void)fprintf(stderr, "%s: give the path of berth-probe\n", argv[0]);
		return 2;
	}
	probe_path = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
