/* Whoever is killed when: nothing runs twice, no code is made up, nothing is left. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

/* Its job is ended, emptied and recorded at once, by berth-exec alone. */
static void test_shim_killed(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id = start(
		bench, "setsid sleep 20 & (sleep 20 &) ; trap '' TERM; echo up; sleep 20; sleep 20");
	struct berth_record record;

	bench_await(bench, "1.out");
	assert_int_equal(kill(bench_shim(bench, &id), SIGKILL), 0);
	assert_int_equal(bench_expect(bench, BERTH_WIRE_SHIM_GONE, &id).error, 0);
	record = bench_record(bench, &id);
	assert_int_equal(record.exit_code, -1);
	assert_int_equal(record.signal, 0);
	assert_string_equal(record.how, "ExitCodeUnknown");
	assert_string_equal(record.witness, "none");
	assert_true(record.started_ms > 0);
	assert_int_equal(bench_alive(bench), 0);
}

/* The command ended by itself, the shim died before it could say so: berth-exec knows. */
static void test_code_survives_the_shim(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id = start(bench, "trap '' TERM; (trap '' TERM; sleep 20) & echo up; exit 42");
	struct berth_record record;

	bench_await(bench, "1.out");
	pause_ms(100);
	/* Now it waits for what is left of the job. */
	assert_int_equal(kill(bench_shim(bench, &id), SIGKILL), 0);
	record = bench_record(bench, &id);
	assert_int_equal(record.exit_code, 42);
	assert_string_equal(record.how, "");
	assert_string_equal(record.witness, "exec");
	assert_int_equal(bench_alive(bench), 0);
}

/* A shim that stands still while its command ends leaves the status to be reaped. */
static void test_code_of_an_unreaped_command(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id;
	char name[128];
	struct berth_record record;
	pid_t shim;

	(void)snprintf(name, sizeof(name), "%s/fifo", bench->path);
	assert_int_equal(mkfifo(name, 0600), 0);
	id = start(bench, "echo up; read x < fifo; exit 9");
	bench_await(bench, "1.out");
	BERTH_AUTO_CLOSE int link = bench_shim_connect(bench, &id);
	(void)shim_expect(link, BERTH_WIRE_STARTED, NULL, 0);
	shim = bench_shim(bench, &id);
	assert_int_equal(kill(shim, SIGSTOP), 0);
	BERTH_AUTO_CLOSE int gate = open(name, O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(gate, "\n", 1), 1);
	pause_ms(100);
	assert_int_equal(kill(shim, SIGKILL), 0);
	record = bench_record(bench, &id);
	assert_int_equal(record.exit_code, 9);
	assert_string_equal(record.witness, "exec");
}

/* How long a life takes on this machine, now. */
static long life_ms(struct bench *bench, const char *sh)
{
	uint64_t start_ms = clock_ms();
	struct berth_attempt_id id = start(bench, sh);

	(void)bench_expect(bench, BERTH_WIRE_SHIM_GONE, &id);
	return (long)(clock_ms() - start_ms);
}

struct tally {
	unsigned known, unknown, never;
};

static void kill_one(struct bench *bench, const char *sh, long delay_ms, struct tally *tally)
{
	struct berth_attempt_id id = start(bench, sh);
	BERTH_AUTO_FREE char *text = NULL;
	char name[32];
	pid_t shim;

	pause_ms(delay_ms);
	shim = bench_child(bench);
	if (shim > 0)
		(void)kill(shim, SIGKILL);
	(void)bench_expect(bench, BERTH_WIRE_SHIM_GONE, &id);
	assert_int_equal(bench_alive(bench), 0);
	(void)snprintf(name, sizeof(name), "%" PRIu64 ".out", id.job);
	text = bench_read(bench, name);
	if (berth_attempt_look(bench->attempts, &id) == BERTH_ATTEMPT_NEVER) {
		assert_string_equal(text, "");
		tally->never++;
	} else {
		struct berth_record record = bench_record(bench, &id);
		bool is_unknown = record.exit_code == -1 && record.signal == 0 &&
		                  strcmp(record.how, "ExitCodeUnknown") == 0;

		assert_true(record.exit_code == 7 || is_unknown);
		tally->known += !is_unknown;
		tally->unknown += is_unknown;
	}
}

/* At any moment of a short life: the code is right or unknown, and an attempt without claim has not run. */
static void test_shim_killed_at_random(void **state)
{
	const char *sh = "echo ran; sleep 0.01; exit 7";
	struct tally tally = {0};
	long life = life_ms(*state, sh);

	srandom((unsigned)getpid());
	for (int i = 0; i < 40; i++)
		kill_one(*state, sh, random() % (life * 3 / 2 + 1), &tally);
	print_message("codes known %u, unknown %u, never started %u\n", tally.known, tally.unknown, tally.never);
	assert_true(tally.known > 0 && tally.unknown + tally.never > 0);
}

/* The child at its gate is killed, not the shim: nothing ran, so the attempt is as if it had never been launched. */
static void test_child_killed_before_exec(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id;
	struct berth_claim claim;

	assert_int_equal(bench_launch(bench, &(struct order){.sh = "echo ran"}, &id), 0);
	while (berth_claim_read(bench->attempts, &id, &claim, NULL) == -ENOENT)
		(void)0;
	(void)kill(claim.leader_pid, SIGKILL);
	if (bench_expect(bench, BERTH_WIRE_SHIM_GONE, &id).error == EINTR) {
		BERTH_AUTO_FREE char *text = bench_read(bench, "1.out");

		assert_int_equal(berth_attempt_look(bench->attempts, &id), BERTH_ATTEMPT_NEVER);
		assert_string_equal(text, "");
		/* It may start now. */
		assert_int_equal(bench_launch_id(bench, &(struct order){.sh = "exit 3"}, &id), 0);
		assert_int_equal(bench_record(bench, &id).exit_code, 3);
	} else {
		assert_true(bench_record(bench, &id).started_ms > 0);
	}
}

static void test_exec_killed(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id = start(bench, "echo up; sleep 0.5; exit 8");

	bench_await(bench, "1.out");
	bench_kill_exec(bench);
	bench_start_exec(bench, 60000);
	/* The new one keeps an eye on a shim that is not its child. */
	assert_int_equal(bench_expect(bench, BERTH_WIRE_SHIM_GONE, &id).error, 0);
	assert_int_equal(bench_record(bench, &id).exit_code, 8);
}

static void test_exec_killed_and_limit_holds(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id;
	struct berth_record record;

	assert_int_equal(bench_launch(bench,
	                              &(struct order){.sh = "trap '' TERM; echo up; sleep 20; sleep 20",
	                                              .limit_ms = 400,
	                                              .grace_ms = 100},
	                              &id),
	                 0);
	bench_await(bench, "1.out");
	bench_kill_exec(bench);
	record = bench_record(bench, &id);
	assert_int_equal(record.cause, BERTH_WIRE_CAUSE_LIMIT);
	assert_int_equal(bench_alive(bench), 0);
	bench_start_exec(bench, 60000);
}

static struct berth_wire recover(struct bench *bench, const struct berth_attempt_id *id)
{
	const struct berth_wire msg = about(BERTH_WIRE_RECOVER, id);
	struct berth_wire answer = bench_ask(bench, &msg, BERTH_WIRE_RECOVERED);

	for (int i = 0; i < 200 && answer.error == EBUSY; i++) {
		pause_ms(10);
		answer = bench_ask(bench, &msg, BERTH_WIRE_RECOVERED);
	}
	return answer;
}

/* Nobody is left who knows: the next berth-exec clears up, and says that it does not know. */
static void test_both_killed(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id = start(
		bench, "setsid sleep 20 & (sleep 20 &) ; trap '' TERM; echo up; sleep 20; sleep 20");
	struct berth_record record;
	pid_t shim;

	bench_await(bench, "1.out");
	shim = bench_shim(bench, &id);
	bench_kill_exec(bench);
	assert_int_equal(kill(shim, SIGKILL), 0);
	while (berth_kin_start(shim) != 0 && berth_attempt_look(bench->attempts, &id) == BERTH_ATTEMPT_ALIVE)
		pause_ms(1);
	assert_int_equal(berth_attempt_look(bench->attempts, &id), BERTH_ATTEMPT_ORPHAN);
	bench_start_exec(bench, 60000);
	assert_int_equal(recover(bench, &id).error, 0);
	record = bench_record(bench, &id);
	assert_string_equal(record.how, "ExitCodeUnknown");
	assert_int_equal(record.exit_code, -1);
	assert_int_equal(bench_alive(bench), 0);
}

/* First berth-exec, then the shim of an earlier one: the command's code comes from the kernel, where that keeps it. */
static void test_adopted_shim_killed(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id = start(bench,
	                                   "trap '' TERM; (trap '' TERM; echo up; sleep 20) & sleep 0.4; exit 42");
	struct berth_record record;
	pid_t shim;

	bench_await(bench, "1.out");
	shim = bench_shim(bench, &id);
	bench_kill_exec(bench);
	bench_start_exec(bench, 60000);
	pause_ms(600);
	assert_int_equal(kill(shim, SIGKILL), 0);
	(void)bench_expect(bench, BERTH_WIRE_SHIM_GONE, &id);
	record = bench_record(bench, &id);
	if (strcmp(record.witness, "pidfd") == 0)
		assert_int_equal(record.exit_code, 42);
	else
		assert_string_equal(record.how, "ExitCodeUnknown");
	assert_int_equal(bench_alive(bench), 0);
}

/* Of an earlier boot nothing can be alive, and a process with the number of its shim is somebody else. */
static void test_claim_of_another_boot(void **state)
{
	struct bench *bench = *state;
	struct berth_claim claim = {.id = {77, 1},
	                            .boot_id = "00000000-0000-0000-0000-000000000000",
	                            .shim_pid = getpid(),
	                            .shim_start = 1};
	int fd = berth_claim_take(bench->attempts, &claim);

	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(recover(bench, &claim.id).error, 0);
	assert_string_equal(bench_record(bench, &claim.id).how, "ExitCodeUnknown");
}

static void test_recover_what_is_not_lost(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id never = {99, 1}, id = start(bench, "sleep 0.3; exit 4");
	const struct berth_wire msg = about(BERTH_WIRE_RECOVER, &id);

	assert_int_equal(recover(bench, &never).error, 0);
	assert_int_equal(berth_attempt_look(bench->attempts, &never), BERTH_ATTEMPT_NEVER);
	(void)bench_shim(bench, &id);
	assert_int_equal(bench_ask(bench, &msg, BERTH_WIRE_RECOVERED).error, EBUSY);
	assert_int_equal(bench_record(bench, &id).exit_code, 4);
	assert_int_equal(recover(bench, &id).error, 0);
	assert_int_equal(bench_record(bench, &id).exit_code, 4);
}

/* A damaged record: the attempt did run, its code is not known any more. */
static void test_damaged_record(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id = start(bench, "exit 0");
	struct berth_record record;
	BERTH_AUTO_CLOSE int fd = -1;

	(void)bench_expect(bench, BERTH_WIRE_SHIM_GONE, &id);
	fd = openat(bench->attempts, "1.1.record", O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(berth_record_read(bench->attempts, &id, &record, NULL), -EBADMSG);
	assert_int_equal(berth_attempt_look(bench->attempts, &id), BERTH_ATTEMPT_ORPHAN);
	assert_int_equal(recover(bench, &id).error, 0);
	assert_string_equal(bench_record(bench, &id).how, "ExitCodeUnknown");
}

/* The record waits for room on the disk; nothing is lost meanwhile, and the attempt counts as alive. */
static void test_record_that_cannot_be_written(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id = start(bench, "sleep 0.2; exit 11");
	struct berth_record record;

	(void)bench_shim(bench, &id);
	/* A directory in its place: rename fails as it would for want of room. */
	assert_int_equal(mkdirat(bench->attempts, "1.1.record", 0700), 0);
	pause_ms(600);
	assert_int_equal(berth_attempt_look(bench->attempts, &id), BERTH_ATTEMPT_ALIVE);
	assert_int_equal(unlinkat(bench->attempts, "1.1.record", AT_REMOVEDIR), 0);
	record = bench_record(bench, &id);
	assert_int_equal(record.exit_code, 11);
	assert_string_equal(record.witness, "shim");
	assert_true(record.ended_ms - record.started_ms < 1000);
}

int main(int argc, char **argv)
{
	static struct bench_kind groups = {false}, no_groups = {true};
#define GROUPS(f) cmocka_unit_test_prestate_setup_teardown(f, bench_open, bench_close, &groups)
#define BOTH(f)                                                              \
	GROUPS(f),                                                           \
	{                                                                    \
#f " without groups", f, bench_open, bench_close, &no_groups \
	}
	const struct CMUnitTest tests[] = {
		BOTH(test_shim_killed),
		BOTH(test_code_survives_the_shim),
		BOTH(test_code_of_an_unreaped_command),
		BOTH(test_shim_killed_at_random),
		BOTH(test_child_killed_before_exec),
		GROUPS(test_exec_killed),
		GROUPS(test_exec_killed_and_limit_holds),
		BOTH(test_both_killed),
		BOTH(test_adopted_shim_killed),
		GROUPS(test_claim_of_another_boot),
		GROUPS(test_recover_what_is_not_lost),
		GROUPS(test_damaged_record),
		GROUPS(test_record_that_cannot_be_written),
	};

	(void)argc;
	bench_set_program(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
