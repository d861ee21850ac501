#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include "host/pidfd.h"

/* A process that waits to be told how to end. */
static pid_t waiter(int *ret_gate)
{
	int gate[2];
	pid_t pid;

	assert_int_equal(pipe(gate), 0);
	pid = fork();
	if (pid == 0) {
		unsigned char code = 0;

		(void)close(gate[1]);
		(void)!read(gate[0], &code, 1);
		_exit(code);
	}
	(void)close(gate[0]);
	*ret_gate = gate[1];
	return pid;
}

static void test_status_after_reaping(void **state)
{
	int gate, status = 0, told = 0;
	pid_t pid = waiter(&gate);
	BERTH_AUTO_CLOSE int pidfd = pidfd_open(pid, 0);
	int r = berth_pidfd_status(pidfd, &told);

	if (r == -EOPNOTSUPP) {
		(void)close(gate);
		(void)waitpid(pid, &status, 0);
		skip();
	}
	assert_int_equal(r, -EAGAIN);
	assert_int_equal(write(gate, "\x25", 1), 1);
	(void)close(gate);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(berth_pidfd_status(pidfd, &told), 0);
	assert_int_equal(told, status);
	assert_int_equal(WEXITSTATUS(told), 0x25);
}

static void test_signal(void **state)
{
	int gate, status = 0, told = 0;
	pid_t pid = waiter(&gate);
	BERTH_AUTO_CLOSE int pidfd = pidfd_open(pid, 0);
	int r;

	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	(void)close(gate);
	r = berth_pidfd_status(pidfd, &told);
	if (r == -EOPNOTSUPP)
		skip();
	assert_int_equal(r, 0);
	assert_true(WIFSIGNALED(told) && WTERMSIG(told) == SIGTERM);
}

static void test_no_pidfd(void **state)
{
	BERTH_AUTO_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int told = 77;

	assert_int_equal(berth_pidfd_status(fd, &told), -EOPNOTSUPP);
	assert_int_equal(berth_pidfd_status(-1, &told), -EBADF);
	assert_int_equal(told, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status_after_reaping),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_no_pidfd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
