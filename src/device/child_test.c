#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include "base/clock.h"
#include "base/file.h"
#include "device/child.h"

#define PATIENCE_MS 5000

/* A shell as the probe: what it writes to descriptor 3 arrives as a packet. */
static int start(struct berth_probe_child *child, const char *script, struct berth_error *err)
{
	char shell[] = "/bin/sh";
	char option[] = "-c";
	char *argv[] = {shell, option, (char *)script, NULL};

	return berth_probe_child_start(child, argv, err);
}

static void wait_readable(const struct berth_probe_child *child)
{
	struct pollfd at = {.fd = child->fd, .events = POLLIN};

	assert_int_equal(poll(&at, 1, PATIENCE_MS), 1);
}

static void wait_until_reaped(struct berth_probe_child *child, size_t n_lying)
{
	const uint64_t until_ms = berth_clock_boot_ms() + PATIENCE_MS;

	while (child->n_lying > n_lying && berth_clock_boot_ms() < until_ms) {
		(void)usleep(1000);
		(void)berth_probe_child_reap(child, NULL);
	}
	assert_int_equal(child->n_lying, n_lying);
}

static void test_its_socket_is_descriptor_3(void **state)
{
	struct berth_probe_child child = {.fd = -1};
	char text[16] = "";

	assert_int_equal(start(&child, "echo hello >&3; exec sleep 100", NULL), 0);
	wait_readable(&child);
	assert_int_equal(read(child.fd, text, sizeof(text)), 6);
	assert_string_equal(text, "hello\n");
	assert_true(fcntl(child.fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(read(child.fd, text, sizeof(text)), -1);
	assert_int_equal(errno, EAGAIN);
	assert_false(berth_probe_child_reap(&child, NULL));
	berth_probe_child_kill(&child);
	assert_int_equal(child.fd, -1);
	assert_int_equal(child.pid, 0);
	wait_until_reaped(&child, 0);
	berth_probe_child_kill(&child);
}

/* The signal set of that name in /proc/PID/status. */
static uint64_t signals_of(pid_t pid, const char *name)
{
	char path[64];
	char text[4096];
	const char *at;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	assert_int_equal(berth_file_read_proc(path, text, sizeof(text)), 0);
	at = strstr(text, name);
	assert_non_null(at);
	return strtoull(at + strlen(name), NULL, 16);
}

static bool has_fd(pid_t pid, int fd, char *ret_target, size_t cap)
{
	char path[64];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	n = readlink(path, ret_target, cap - 1);
	ret_target[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static void test_it_inherits_nothing_else(void **state)
{
	struct berth_probe_child child = {.fd = -1};
	int leak = open("/dev/null", O_RDONLY); /* not close-on-exec, on purpose */
	sigset_t all, before;
	char target[256];

	assert_true(leak >= 0);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(start(&child, "echo ready >&3; exec sleep 100", NULL), 0);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	wait_readable(&child);
	assert_int_equal(signals_of(child.pid, "SigBlk:"), 0);
	assert_int_equal(signals_of(child.pid, "SigIgn:") & (1u << (SIGPIPE - 1)), 0);
	assert_int_equal(getsid(child.pid), child.pid);
	assert_true(has_fd(child.pid, 0, target, sizeof(target)));
	assert_string_equal(target, "/dev/null");
	assert_true(has_fd(child.pid, 3, target, sizeof(target)));
	for (int fd = 4; fd < 40; fd++)
		if (has_fd(child.pid, fd, target, sizeof(target)) && strcmp(target, "/dev/null") == 0)
			fail_msg("descriptor %d is ours", fd);
	berth_probe_child_kill(&child);
	wait_until_reaped(&child, 0);
	(void)close(leak);
}

static void test_how_it_ended(void **state)
{
	struct berth_probe_child child = {.fd = -1};
	int status = 0;

	assert_int_equal(start(&child, "exit 7", NULL), 0);
	wait_readable(&child);
	while (!berth_probe_child_reap(&child, &status))
		(void)usleep(1000);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(child.fd, -1);
	assert_int_equal(child.pid, 0);
	assert_false(berth_probe_child_reap(&child, &status));
}

static void test_what_cannot_be_started(void **state)
{
	struct berth_probe_child child = {.fd = -1};
	struct berth_error err = {0};
	char path[] = "/no/such/berth-probe";
	char *argv[] = {path, NULL};

	assert_int_equal(berth_probe_child_start(&child, argv, &err), -ENOENT);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(child.fd, -1);
	assert_int_equal(child.pid, 0);
}

static void test_no_more_while_too_many_lie_there(void **state)
{
	struct berth_probe_child child = {.fd = -1};
	struct berth_error err = {0};

	/* Processes that stand for ones that no signal ends. */
	for (size_t i = 0; i < BERTH_PROBE_LYING_MAX; i++) {
		child.lying[i] = fork();
		assert_true(child.lying[i] >= 0);
		if (child.lying[i] == 0) {
			(void)pause();
			_exit(0);
		}
	}
	child.n_lying = BERTH_PROBE_LYING_MAX;
	assert_int_equal(start(&child, "exit 0", &err), -EBUSY);
	assert_non_null(strstr(err.text, "do not end"));
	assert_int_equal(kill(child.lying[1], SIGKILL), 0);
	wait_until_reaped(&child, BERTH_PROBE_LYING_MAX - 1);
	assert_int_equal(start(&child, "exec sleep 100", NULL), 0);
	berth_probe_child_kill(&child);
	for (size_t i = 0; i < child.n_lying; i++)
		(void)kill(child.lying[i], SIGKILL);
	wait_until_reaped(&child, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_its_socket_is_descriptor_3),
		cmocka_unit_test(test_it_inherits_nothing_else),
		cmocka_unit_test(test_how_it_ended),
		cmocka_unit_test(test_what_cannot_be_started),
		cmocka_unit_test(test_no_more_while_too_many_lie_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
