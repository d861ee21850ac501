/* berth-exec as its daemon sees it: what it refuses, whom it obeys, when it ends, whose the cards are. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include "base/file.h"
#include "exec/fixture_test.h"
#include "host/kin.h"

static struct berth_attempt_id start(struct bench *bench, const char *sh)
{
	struct berth_attempt_id id;

	assert_int_equal(bench_launch(bench, &(struct order){.sh = sh}, &id), 0);
	return id;
}

static struct berth_wire about(enum berth_wire_kind kind, const struct berth_attempt_id *id)
{
	struct berth_wire msg;

	berth_wire_init(&msg, kind, id);
	return msg;
}

static void test_second_launch_starts_nothing(void **state)
{
	struct bench *bench = *state;
	const struct order order = {.sh = "echo ran; sleep 0.2; exit 3", .out = "both", .is_append = true};
	struct berth_attempt_id id;
	BERTH_AUTO_FREE char *text = NULL;

	assert_int_equal(bench_launch(bench, &order, &id), 0);
	assert_int_equal(bench_launch_id(bench, &order, &id), 0);
	assert_int_equal(bench_launch_id(bench, &order, &id), 0);
	assert_int_equal(bench_record(bench, &id).exit_code, 3);
	assert_int_equal(bench_launch_id(bench, &order, &id), 0);
	pause_ms(100);
	text = bench_read(bench, "both");
	assert_string_equal(text, "ran\n");
}

static void test_launches_that_are_refused(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id = {5, 1};
	struct berth_wire msg = about(BERTH_WIRE_LAUNCH, &id);

	msg.uid = geteuid();
	msg.gid = getegid();
	/* No specification came along. */
	assert_int_equal(bench_ask(bench, &msg, BERTH_WIRE_LAUNCHED).error, EINVAL);
	BERTH_AUTO_CLOSE int spec = open("/dev/null", O_RDONLY | O_CLOEXEC);
	msg.uid++;
	assert_int_equal(berth_wire_send(bench->link, &msg, NULL, spec), 0);
	assert_int_equal(bench_expect(bench, BERTH_WIRE_LAUNCHED, &id).error, EPERM);
	msg.uid--;
	msg.stop_signal = 1000;
	assert_int_equal(berth_wire_send(bench->link, &msg, NULL, spec), 0);
	assert_int_equal(bench_expect(bench, BERTH_WIRE_LAUNCHED, &id).error, EINVAL);
	assert_int_equal(berth_attempt_look(bench->attempts, &id), BERTH_ATTEMPT_NEVER);
}

/* Not a specification: found out only by the child, which says so. */
static void test_rubbish_specification(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id = {5, 1};
	struct berth_wire msg = about(BERTH_WIRE_LAUNCH, &id);
	BERTH_AUTO_CLOSE int spec = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct berth_record record;

	msg.uid = geteuid();
	msg.gid = getegid();
	msg.limit_ms = UINT64_MAX;
	assert_int_equal(berth_wire_send(bench->link, &msg, NULL, spec), 0);
	assert_int_equal(bench_expect(bench, BERTH_WIRE_LAUNCHED, &id).error, 0);
	record = bench_record(bench, &id);
	assert_string_equal(record.how, "ExecFailed");
	assert_int_equal(record.error, EBADMSG);
	assert_int_equal(record.started_ms, 0);
}

static void test_withdrawn(void **state)
{
	struct bench *bench = *state;
	const struct order order = {.sh = "echo ran", .out = "out"};
	struct berth_attempt_id id = {6, 2};
	struct berth_wire msg = about(BERTH_WIRE_WITHDRAW, &id);
	struct berth_record record;
	BERTH_AUTO_FREE char *text = NULL;

	msg.cause = 1;
	assert_int_equal(bench_ask(bench, &msg, BERTH_WIRE_RECOVERED).error, 0);
	record = bench_record(bench, &id);
	assert_int_equal(record.cause, 1);
	assert_int_equal(record.exit_code, -1);
	assert_int_equal(record.started_ms, 0);
	/* A launch that comes after all starts nothing. */
	assert_int_equal(bench_launch_id(bench, &order, &id), 0);
	pause_ms(100);
	text = bench_read(bench, "out");
	assert_string_equal(text, "");
}

static void test_withdrawn_too_late(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id = start(bench, "sleep 0.2; exit 5");
	struct berth_wire msg = about(BERTH_WIRE_WITHDRAW, &id);

	(void)bench_shim(bench, &id);
	assert_int_equal(bench_ask(bench, &msg, BERTH_WIRE_RECOVERED).error, 0);
	assert_int_equal(bench_record(bench, &id).exit_code, 5);
}

static void test_newer_connection_replaces_older(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id;
	int old = bench->link;
	struct berth_wire msg;

	bench->link = -1;
	bench_connect(bench);
	while (berth_wire_receive(old, &msg, NULL, 0, NULL) == -EAGAIN)
		pause_ms(1);
	assert_int_equal(berth_wire_receive(old, &msg, NULL, 0, NULL), 0);
	(void)close(old);
	id = start(bench, "exit 6");
	assert_int_equal(bench_record(bench, &id).exit_code, 6);
}

/* A daemon that asks for much before it reads again keeps its connection, though the answers do not all fit. */
static void test_answers_wait_for_a_busy_daemon(void **state)
{
	struct bench *bench = *state;
	struct berth_wire msg = about(BERTH_WIRE_HELLO, NULL);
	int n_asked = 0, n_answered = 0, r = 0;

	for (int wave = 0; wave < 2; wave++, pause_ms(50))
		for (int i = 0; i < 80 && (r = berth_wire_send(bench->link, &msg, NULL, -1)) == 0; i++)
			n_asked++;
	assert_int_equal(r, 0);
	while (n_answered < n_asked) {
		r = berth_wire_receive(bench->link, &msg, NULL, 0, NULL);
		assert_true(r > 0 || r == -EAGAIN);
		if (r > 0 && msg.kind == BERTH_WIRE_WELCOME)
			n_answered++;
		else
			pause_ms(1);
	}
}

static void test_one_per_state_directory(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id;
	struct bench other = *bench;
	int status;

	other.link = other.attempts = -1;
	bench_start_exec(&other, 1000);
	/* What answered is the first. */
	assert_int_equal(waitpid(other.exec, &status, 0), other.exec);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	(void)close(other.attempts);
	(void)close(bench->link);
	bench->link = other.link;
	id = start(bench, "exit 6");
	assert_int_equal(bench_record(bench, &id).exit_code, 6);
}

static void make_temporary(const struct bench *bench, const char *name, time_t second)
{
	const struct timespec times[2] = {{second, 0}, {second, 0}};
	BERTH_AUTO_CLOSE int fd = openat(bench->attempts, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, times), 0);
}

/* What killed writers left goes at the next start; what may still be written stays. */
static void test_stale_files(void **state)
{
	struct bench *bench = *state;

	make_temporary(bench, ".berth-0000000000000001.tmp", 1000);
	make_temporary(bench, ".berth-0000000000000002.tmp", time(NULL));
	make_temporary(bench, "of-somebody-else.tmp", 1000);
	bench_kill_exec(bench);
	bench_start_exec(bench, 60000);
	assert_int_equal(faccessat(bench->attempts, ".berth-0000000000000001.tmp", F_OK, 0), -1);
	assert_int_equal(faccessat(bench->attempts, ".berth-0000000000000002.tmp", F_OK, 0), 0);
	assert_int_equal(faccessat(bench->attempts, "of-somebody-else.tmp", F_OK, 0), 0);
}

/* Told to end it leaves its attempts alone; the last of them clears away the place of their groups. */
static void test_told_to_end(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id = start(bench, "echo up; sleep 0.3; exit 3");
	int status;

	bench_await(bench, "1.out");
	assert_int_equal(kill(bench->exec, SIGTERM), 0);
	assert_int_equal(waitpid(bench->exec, &status, 0), bench->exec);
	assert_int_equal(status, 0);
	bench->exec = 0;
	assert_int_equal(berth_attempt_look(bench->attempts, &id), BERTH_ATTEMPT_ALIVE);
	assert_int_equal(bench_record(bench, &id).exit_code, 3);
}

/* A state directory that was removed under a running job leaves no shim behind that tries to write into it for ever. */
static void test_removed_directory(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id = start(bench, "sleep 0.3");
	pid_t shim = bench_shim(bench, &id);
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/attempts", bench->path);
	assert_int_equal(berth_dir_remove(path), 0);
	for (int i = 0; i < 200 && kill(shim, 0) == 0; i++)
		pause_ms(50);
	assert_int_equal(kill(shim, 0), -1);
}

/* Alone and without work it ends; with a daemon or an attempt it stays. */
static void test_idle_exit(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id;
	int status;

	bench_kill_exec(bench);
	bench_start_exec(bench, 100);
	pause_ms(1300);
	assert_int_equal(waitpid(bench->exec, &status, WNOHANG), 0);
	id = start(bench, "sleep 1.5; exit 3");
	(void)bench_shim(bench, &id);
	(void)close(BERTH_TAKE_FD(bench->link));
	pause_ms(1200);
	assert_int_equal(waitpid(bench->exec, &status, WNOHANG), 0);
	assert_int_equal(bench_record(bench, &id).exit_code, 3);
	assert_int_equal(waitpid(bench->exec, &status, 0), bench->exec);
	assert_int_equal(status, 0);
	bench->exec = 0;
}

static int enrol(struct bench *bench, const char *uuid)
{
	struct berth_wire msg = about(BERTH_WIRE_ENROL, NULL);

	(void)snprintf(msg.uuid[0], sizeof(msg.uuid[0]), "%s", uuid);
	msg.n_uuid = 1;
	return bench_ask(bench, &msg, BERTH_WIRE_ENROLLED).error;
}

static void test_cards(void **state)
{
	struct bench *bench = *state;
	struct bench *other;
	void *other_state = (void *)bench->kind;
	struct berth_wire msg = about(BERTH_WIRE_RELEASE, NULL);
	char uuid[40];

	assert_int_equal(bench_open(&other_state), 0);
	other = other_state;
	(void)snprintf(uuid, sizeof(uuid), "TEST-%d-1", getpid());
	assert_int_equal(enrol(bench, uuid), 0);
	assert_int_equal(enrol(bench, uuid), 0);
	assert_int_equal(enrol(other, uuid), EADDRINUSE);
	(void)snprintf(msg.uuid[0], sizeof(msg.uuid[0]), "%s", uuid);
	assert_int_equal(berth_wire_send(bench->link, &msg, NULL, -1), 0);
	/* The other is told as soon as the card is free. */
	assert_int_equal(bench_expect(other, BERTH_WIRE_ENROLLED, NULL).error, 0);
	assert_int_equal(enrol(bench, uuid), EADDRINUSE);
	assert_int_equal(bench_close(&other_state), 0);
}

/* berth-exec dies, its shim still holds the card: for us it is ours, for others it is taken. */
static void test_card_outlives_exec(void **state)
{
	struct bench *bench = *state;
	void *other_state = (void *)bench->kind;
	struct berth_attempt_id id;
	char uuid[40];

	(void)snprintf(uuid, sizeof(uuid), "TEST-%d-2", getpid());
	assert_int_equal(enrol(bench, uuid), 0);
	assert_int_equal(
		bench_launch(bench, &(struct order){.sh = "ls -l /proc/self/fd; echo up; sleep 20", .uuid = uuid}, &id),
		0);
	bench_await(bench, "1.out");
	bench_kill_exec(bench);
	assert_int_equal(bench_open(&other_state), 0);
	assert_int_equal(enrol(other_state, uuid), EADDRINUSE);
	bench_start_exec(bench, 60000);
	assert_int_equal(enrol(bench, uuid), 0);
	BERTH_AUTO_CLOSE int shim = bench_shim_connect(bench, &id);
	shim_send(shim, BERTH_WIRE_KILL, &id, 0, 1);
	(void)bench_record(bench, &id);
	/* The job itself never had it. */
	BERTH_AUTO_FREE char *text = bench_read(bench, "1.out");
	assert_null(strstr(text, "socket:"));
	pause_ms(1500);
	assert_int_equal(enrol(other_state, uuid), EADDRINUSE);
	assert_int_equal(bench_close(&other_state), 0);
}

int main(int argc, char **argv)
{
	static struct bench_kind groups = {false};
#define GROUPS(f) cmocka_unit_test_prestate_setup_teardown(f, bench_open, bench_close, &groups)
	const struct CMUnitTest tests[] = {
		GROUPS(test_second_launch_starts_nothing),
		GROUPS(test_launches_that_are_refused),
		GROUPS(test_rubbish_specification),
		GROUPS(test_withdrawn),
		GROUPS(test_withdrawn_too_late),
		GROUPS(test_newer_connection_replaces_older),
		GROUPS(test_answers_wait_for_a_busy_daemon),
		GROUPS(test_one_per_state_directory),
		GROUPS(test_stale_files),
		GROUPS(test_told_to_end),
		GROUPS(test_removed_directory),
		GROUPS(test_idle_exit),
		GROUPS(test_cards),
		GROUPS(test_card_outlives_exec),
	};

	(void)argc;
	bench_set_program(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
