#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "host/group.h"

/* A root of its own; state is NULL where groups cannot be made, and the tests are skipped with that word. */
static int root_make(void **state)
{
	char *root = calloc(1, BERTH_GROUP_PATH_MAX);
	struct berth_error err;
	char tag[32];

	(void)snprintf(tag, sizeof(tag), "test-%d", getpid());
	if (berth_group_root(tag, root, BERTH_GROUP_PATH_MAX, &err) < 0) {
		print_message("no groups here: %s\n", err.text);
		free(root);
		root = NULL;
	}
	*state = root;
	return 0;
}

static int root_remove(void **state)
{
	int r = *state ? berth_group_remove(*state) : 0;

	free(*state);
	return r;
}

#define NEEDS_GROUPS(root) \
	if (!(root))       \
	skip()

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)sleep(60);
		_exit(0);
	}
	return pid;
}

static void reap(pid_t pid, int signal)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signal);
}

static void test_life(void **state)
{
	const char *root = *state;
	char path[BERTH_GROUP_PATH_MAX];
	pid_t pid;

	NEEDS_GROUPS(root);
	assert_int_equal(berth_group_make(root, "12.1", path, sizeof(path)), 0);
	assert_int_equal(berth_group_make(root, "12.1", path, sizeof(path)), -EEXIST);
	assert_int_equal(berth_group_is_populated(path), 0);
	pid = sleeper();
	assert_int_equal(berth_group_attach(path, pid), 0);
	assert_int_equal(berth_group_is_populated(path), 1);
	assert_int_equal(berth_group_remove(path), -EBUSY);
	assert_int_equal(berth_group_kill(path), 0);
	reap(pid, SIGKILL);
	assert_int_equal(berth_group_is_populated(path), 0);
	assert_false(berth_group_had_oom(path));
	assert_int_equal(berth_group_remove(path), 0);
	assert_int_equal(access(path, F_OK), -1);
}

/* Children, and children that left session and parent, are killed with the rest. */
static void test_kill_finds_all(void **state)
{
	const char *root = *state;
	char path[BERTH_GROUP_PATH_MAX];
	int gate[2];
	pid_t pid;
	char byte;

	NEEDS_GROUPS(root);
	assert_int_equal(berth_group_make(root, "12.2", path, sizeof(path)), 0);
	assert_int_equal(pipe(gate), 0);
	pid = fork();
	if (pid == 0) {
		(void)close(gate[0]);
		(void)raise(SIGSTOP);
		for (int i = 0; i < 5; i++)
			if (fork() == 0) {
				(void)setsid();
				if (fork() != 0)
					_exit(0);
				(void)sleep(60);
			}
		(void)sleep(60);
	}
	(void)close(gate[1]);
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	assert_int_equal(berth_group_attach(path, pid), 0);
	assert_int_equal(kill(pid, SIGCONT), 0);
	(void)usleep(50000);
	assert_int_equal(berth_group_kill(path), 0);
	reap(pid, SIGKILL);
	/* The pipe ends when the last of them is gone. */
	assert_int_equal(read(gate[0], &byte, 1), 0);
	(void)close(gate[0]);
	for (int i = 0; i < 100 && berth_group_remove(path) != 0; i++)
		(void)usleep(10000);
	assert_int_equal(access(path, F_OK), -1);
}

/* Born inside, with its own children; nothing of it was outside before. */
static void test_born_inside(void **state)
{
	const char *root = *state;
	char path[BERTH_GROUP_PATH_MAX], own[512] = "";
	int ends[2];
	ssize_t n;
	pid_t pid;

	NEEDS_GROUPS(root);
	assert_int_equal(berth_group_make(root, "12.4", path, sizeof(path)), 0);
	assert_int_equal(pipe(ends), 0);
	pid = berth_group_fork(path);
	if (pid == -ENOSYS || pid == -EPERM)
		skip();
	if (pid == 0) {
		int fd = open("/proc/self/cgroup", O_RDONLY);

		n = read(fd, own, sizeof(own));
		(void)!write(ends[1], own, n > 0 ? (size_t)n : 0);
		(void)sleep(60);
		_exit(0);
	}
	assert_true(pid > 0);
	n = read(ends[0], own, sizeof(own) - 1);
	assert_true(n > 0);
	assert_non_null(strstr(own, "/12.4\n"));
	assert_int_equal(berth_group_is_populated(path), 1);
	assert_int_equal(berth_group_kill(path), 0);
	reap(pid, SIGKILL);
	assert_int_equal(berth_group_remove(path), 0);
	assert_int_equal(berth_group_fork(path), -ENOENT);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/* A zombie holds no group. */
static void test_zombie_does_not_count(void **state)
{
	const char *root = *state;
	char path[BERTH_GROUP_PATH_MAX];
	siginfo_t info;
	pid_t pid;

	NEEDS_GROUPS(root);
	assert_int_equal(berth_group_make(root, "12.3", path, sizeof(path)), 0);
	pid = sleeper();
	assert_int_equal(berth_group_attach(path, pid), 0);
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(berth_group_is_populated(path), 0);
	reap(pid, SIGTERM);
	assert_int_equal(berth_group_remove(path), 0);
}

static void test_gone(void **state)
{
	char path[BERTH_GROUP_PATH_MAX];
	const char *root = *state;

	NEEDS_GROUPS(root);
	(void)snprintf(path, sizeof(path), "%s/never", root);
	assert_int_equal(berth_group_is_populated(path), 0);
	assert_int_equal(berth_group_kill(path), 0);
	assert_int_equal(berth_group_remove(path), 0);
	assert_int_equal(berth_group_attach(path, getpid()), -ENOENT);
}

/* Groups that a job made below its own go too; those with processes stay. */
static void test_nested_and_sweep(void **state)
{
	const char *root = *state;
	char one[BERTH_GROUP_PATH_MAX], inner[BERTH_GROUP_PATH_MAX], two[BERTH_GROUP_PATH_MAX],
		kept[BERTH_GROUP_PATH_MAX];
	pid_t pid;

	NEEDS_GROUPS(root);
	assert_int_equal(berth_group_make(root, "13.1", one, sizeof(one)), 0);
	assert_int_equal(berth_group_make(one, "inner", inner, sizeof(inner)), 0);
	assert_int_equal(berth_group_make(root, "13.2", two, sizeof(two)), 0);
	assert_int_equal(berth_group_make(two, "kept", kept, sizeof(kept)), 0);
	pid = sleeper();
	assert_int_equal(berth_group_attach(two, pid), 0);
	berth_group_sweep(root);
	assert_int_equal(access(one, F_OK), -1);
	assert_int_equal(access(two, F_OK), 0);
	/* It may be about to be used. */
	assert_int_equal(access(kept, F_OK), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	reap(pid, SIGKILL);
	berth_group_sweep(root);
	assert_int_equal(access(two, F_OK), -1);
}

static void test_root_again(void **state)
{
	const char *root = *state;
	char again[BERTH_GROUP_PATH_MAX], tag[32];

	NEEDS_GROUPS(root);
	(void)snprintf(tag, sizeof(tag), "test-%d", getpid());
	assert_int_equal(berth_group_root(tag, again, sizeof(again), NULL), 0);
	assert_string_equal(again, root);
	assert_int_equal(berth_group_root(tag, again, 8, NULL), -EOPNOTSUPP);
	/* It comes back when it is needed. */
	assert_int_equal(berth_group_remove(root), 0);
	assert_int_equal(berth_group_make(root, "14.1", again, sizeof(again)), 0);
	assert_int_equal(berth_group_remove(again), 0);
}

/* Where the tests run as root: an ordinary user may make no group in root's. The reason is told. */
static void test_not_allowed(void **state)
{
	int status;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	pid = fork();
	if (pid == 0) {
		char root[BERTH_GROUP_PATH_MAX];
		struct berth_error err = {0};

		if (setresuid(65534, 65534, 65534) != 0)
			_exit(2);
		_exit(berth_group_root("test", root, sizeof(root), &err) == -EOPNOTSUPP && strlen(err.text) > 10 ? 0
		                                                                                                 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_kill_finds_all),
		cmocka_unit_test(test_born_inside),
		cmocka_unit_test(test_zombie_does_not_count),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_nested_and_sweep),
		cmocka_unit_test(test_root_again),
		cmocka_unit_test(test_not_allowed),
	};

	return cmocka_run_group_tests(tests, root_make, root_remove);
}
