#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include "host/kin.h"

/* Each test runs in a process of its own that is sub-reaper and has no other children. */
static void in_own_process(int (*body)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
		_exit(body());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("failed at step %d", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

/* The exit status is one byte: which step failed. */
#define EXPECT(step, what)             \
	do {                           \
		if (!(what))           \
			return (step); \
	} while (0)

static void pause_ms(long ms)
{
	const struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	(void)nanosleep(&t, NULL);
}

static void reap_all(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Wait until so many are alive. */
static bool settles_at(int n)
{
	for (int i = 0; i < 500; i++) {
		reap_all();
		if (berth_kin_signal(0, NULL, 0) == n)
			return true;
		pause_ms(10);
	}
	return false;
}

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause_ms(60000);
		_exit(0);
	}
	return pid;
}

/* A daemon: session left, parent gone. Returns when it has come that far. */
static bool daemonise(void)
{
	int gate[2];
	char byte;
	bool is_up;

	if (pipe(gate) < 0)
		return false;
	if (fork() == 0) {
		(void)setsid();
		if (fork() == 0) {
			while (getppid() != 1 && getppid() == getsid(0))
				pause_ms(1);
			(void)!write(gate[1], "x", 1);
			pause_ms(60000);
		}
		_exit(0);
	}
	is_up = read(gate[0], &byte, 1) == 1;
	(void)close(gate[0]);
	(void)close(gate[1]);
	return is_up;
}

static int body_finds_descendants(void)
{
	EXPECT(1, berth_kin_signal(0, NULL, 0) == 0);
	(void)sleeper();
	EXPECT(2, daemonise() && daemonise() && settles_at(3));
	EXPECT(3, berth_kin_signal(SIGKILL, NULL, 0) == 3);
	EXPECT(4, settles_at(0));
	reap_all();
	EXPECT(5, waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	return 0;
}

static void test_finds_descendants(void **state)
{
	in_own_process(body_finds_descendants);
}

static int body_skips(void)
{
	pid_t kept = fork();

	if (kept == 0) {
		(void)sleeper();
		pause_ms(60000);
	}
	/* Only the last step makes it three. */
	(void)sleeper();
	EXPECT(1, settles_at(3));
	EXPECT(2, berth_kin_signal(SIGKILL, &kept, 1) == 1);
	EXPECT(3, settles_at(2));
	EXPECT(4, berth_kin_signal(SIGKILL, &kept, 1) == 0);
	EXPECT(5, berth_kin_signal(SIGKILL, NULL, 0) == 2);
	EXPECT(6, settles_at(0));
	return 0;
}

static void test_skips_subtrees(void **state)
{
	in_own_process(body_skips);
}

static int body_zombies(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	(void)waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT);
	EXPECT(1, berth_kin_signal(0, NULL, 0) == 0);
	EXPECT(2, berth_kin_start(pid) != 0);
	reap_all();
	EXPECT(3, berth_kin_start(pid) == 0);
	return 0;
}

static void test_zombies_do_not_count(void **state)
{
	in_own_process(body_zombies);
}

static void *run_on(void *arg)
{
	pause_ms(60000);
	return arg;
}

/* Its first thread ended, another runs: the kernel shows a zombie, yet it lives. */
static int body_headless(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pthread_t thread;

		(void)pthread_create(&thread, NULL, run_on, NULL);
		pthread_exit(NULL);
	}
	pause_ms(100);
	EXPECT(1, berth_kin_signal(SIGKILL, NULL, 0) == 1);
	EXPECT(2, settles_at(0));
	return 0;
}

static void test_process_without_its_first_thread(void **state)
{
	in_own_process(body_headless);
}

static void ignore(int sig)
{
	(void)sig;
}

static int body_warns(void)
{
	int gate[2];
	char byte;
	pid_t deaf, knows;

	EXPECT(1, pipe(gate) == 0);
	deaf = sleeper();
	knows = fork();
	if (knows == 0) {
		(void)signal(SIGUSR1, ignore);
		(void)!write(gate[1], "x", 1);
		(void)pause();
		_exit(7);
	}
	EXPECT(2, read(gate[0], &byte, 1) == 1);
	EXPECT(3, berth_kin_warn(SIGUSR1) == 1);
	int status;
	EXPECT(4, waitpid(knows, &status, 0) == knows && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	EXPECT(5, waitpid(deaf, NULL, WNOHANG) == 0);
	EXPECT(6, berth_kin_warn(SIGRTMIN + 3) == 0);
	(void)kill(deaf, SIGKILL);
	EXPECT(7, settles_at(0));
	return 0;
}

static void test_warns_only_who_listens(void **state)
{
	in_own_process(body_warns);
}

/* A process marked by its environment, somewhere in the system. */
static pid_t marked_sleeper(const char *mark)
{
	pid_t pid = fork();

	if (pid == 0) {
		char *const argv[] = {"sleep", "60", NULL};
		char *const env[] = {"FIRST=1", (char *)mark, "LAST=1", NULL};

		(void)execve("/bin/sleep", argv, env);
		_exit(127);
	}
	return pid;
}

static int body_marked(void)
{
	char value[40], mark[64], longer[80];
	pid_t one, other;

	(void)snprintf(value, sizeof(value), "%d.12.1", getpid());
	(void)snprintf(mark, sizeof(mark), "BERTH_TEST=%s", value);
	(void)snprintf(longer, sizeof(longer), "%s1", mark);
	one = marked_sleeper(mark);
	other = marked_sleeper(longer);
	for (int i = 0; i < 500 && berth_kin_signal_marked("BERTH_TEST", value, 0) != 1; i++)
		pause_ms(10);
	EXPECT(1, berth_kin_signal_marked("BERTH_TEST", value, SIGKILL) == 1);
	EXPECT(2, waitpid(one, NULL, 0) == one);
	EXPECT(3, berth_kin_signal_marked("BERTH_TEST", value, 0) == 0);
	EXPECT(4, waitpid(other, NULL, WNOHANG) == 0);
	(void)kill(other, SIGKILL);
	(void)waitpid(other, NULL, 0);
	return 0;
}

static void test_marked(void **state)
{
	in_own_process(body_marked);
}

static void test_start(void **state)
{
	uint64_t own = berth_kin_start(getpid());

	assert_true(own > 0);
	assert_int_equal(berth_kin_start(getpid()), own);
	assert_int_equal(berth_kin_start(0x7ffffff0), 0);
}

/* A name with blanks and brackets does not shift the fields. */
static int body_name(void)
{
	uint64_t before = berth_kin_start(getpid());

	(void)prctl(PR_SET_NAME, ") R 1 (x y");
	EXPECT(1, before != 0 && berth_kin_start(getpid()) == before);
	return 0;
}

static void test_strange_name(void **state)
{
	in_own_process(body_name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_descendants),
		cmocka_unit_test(test_skips_subtrees),
		cmocka_unit_test(test_zombies_do_not_count),
		cmocka_unit_test(test_process_without_its_first_thread),
		cmocka_unit_test(test_warns_only_who_listens),
		cmocka_unit_test(test_marked),
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_strange_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
