/* Limits, stops, and that nothing is left behind. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "exec/fixture_test.h"

#define CANCEL 1u
#define PREEMPT 3u
#define LIMIT BERTH_WIRE_CAUSE_LIMIT

/* A command that ends nicely when asked by its time limit is over its limit all the same; its code is kept. */
static void test_limit_with_real_code(void **state)
{
	static const int codes[] = {0, 7};

	for (size_t i = 0; i < 2; i++) {
		struct berth_record record;
		char sh[96];

		(void)snprintf(sh, sizeof(sh), "trap 'exit %d' TERM; while :; do sleep 0.02; done", codes[i]);
		record = bench_run(*state, &(struct order){.sh = sh, .limit_ms = 200, .grace_ms = 5000});
		assert_int_equal(record.cause, LIMIT);
		assert_int_equal(record.exit_code, codes[i]);
		assert_int_equal(record.signal, 0);
		assert_true(record.ended_ms - record.started_ms < 2000);
	}
}

static void test_limit_without_trap(void **state)
{
	struct berth_record record = bench_run(*state, &(struct order){.sh = "exec sleep 20", .limit_ms = 200});

	assert_int_equal(record.cause, LIMIT);
	assert_int_equal(record.signal, SIGTERM);
	assert_int_equal(record.exit_code, -1);
}

/* Ignores what it can: gone by limit, grace and a second. */
static void test_stubborn(void **state)
{
	uint64_t start_ms = clock_ms();
	struct berth_record record = bench_run(*state,
	                                       &(struct order){.sh = "trap '' TERM INT HUP; while :; do sleep 1; done",
	                                                       .limit_ms = 300,
	                                                       .grace_ms = 300});

	assert_int_equal(record.cause, LIMIT);
	assert_int_equal(record.signal, SIGKILL);
	assert_true(record.ended_ms - record.started_ms >= 590);
	assert_true(clock_ms() - start_ms < 1600);
}

static void test_stopped_process_hears_it(void **state)
{
	struct berth_record record = bench_run(
		*state, &(struct order){.sh = "trap 'exit 4' TERM; kill -STOP $$", .limit_ms = 200, .grace_ms = 5000});

	assert_int_equal(record.cause, LIMIT);
	assert_int_equal(record.exit_code, 4);
}

static void test_own_stop_signal(void **state)
{
	struct berth_record record = bench_run(*state,
	                                       &(struct order){.sh = "trap 'exit 3' USR2; while :; do sleep 0.02; done",
	                                                       .limit_ms = 200,
	                                                       .grace_ms = 5000,
	                                                       .stop_signal = SIGUSR2});

	assert_int_equal(record.exit_code, 3);
}

/* The warning reaches who has a handler, and kills nobody who has none. */
static void test_warning(void **state)
{
	struct bench *bench = *state;
	struct berth_record record = bench_run(bench,
	                                       &(struct order){.sh = "sleep 0.6 & trap 'echo warned' USR1; wait; wait; "
	                                                             "echo slept; while :; do sleep 0.02; done",
	                                                       .limit_ms = 1000,
	                                                       .grace_ms = 1,
	                                                       .warn_signal = SIGUSR1,
	                                                       .warn_ms = 800});
	BERTH_AUTO_FREE char *text = bench_read(bench, "1.out");

	assert_int_equal(record.cause, LIMIT);
	assert_string_equal(text, "warned\nslept\n");
}

/* The stop file comes first, and tells the second of the end. */
static void test_stop_file(void **state)
{
	struct bench *bench = *state;
	char sh[160];
	struct berth_record record;
	BERTH_AUTO_FREE char *text = NULL;

	(void)snprintf(sh, sizeof(sh), "trap 'cat %s/attempts/1.1.stop; exit 0' TERM; while :; do sleep 0.02; done",
	               bench->path);
	record = bench_run(bench, &(struct order){.sh = sh, .limit_ms = 100, .grace_ms = 7000, .err = "err"});
	text = bench_read(bench, "1.out");
	assert_in_range(strtoull(text, NULL, 10), record.started_ms / 1000 + 7, record.started_ms / 1000 + 10);
}

/* Ask a running job to stop and take the answer's error. */
static int ask(struct bench *bench, const struct berth_attempt_id *id, enum berth_wire_kind kind, uint64_t value,
               uint32_t cause)
{
	BERTH_AUTO_CLOSE int shim = bench_shim_connect(bench, id);

	shim_send(shim, kind, id, value, cause);
	return shim_expect(shim, BERTH_WIRE_DONE, NULL, 0).error;
}

static struct berth_attempt_id start(struct bench *bench, const char *sh)
{
	struct berth_attempt_id id;

	assert_int_equal(bench_launch(bench, &(struct order){.sh = sh}, &id), 0);
	return id;
}

#define STUBBORN "trap '' TERM; echo up; while :; do sleep 1; done"

static void test_stop_and_kill(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id = start(bench, STUBBORN);
	struct berth_record record;
	uint64_t start_ms;

	bench_await(bench, "1.out");
	assert_int_equal(ask(bench, &id, BERTH_WIRE_STOP, 60000, CANCEL), 0);
	start_ms = clock_ms();
	/* A longer grace changes nothing, a shorter does; the first cause stays. */
	assert_int_equal(ask(bench, &id, BERTH_WIRE_STOP, UINT64_MAX, PREEMPT), 0);
	assert_int_equal(ask(bench, &id, BERTH_WIRE_STOP, 200, PREEMPT), 0);
	record = bench_record(bench, &id);
	assert_int_equal(record.cause, CANCEL);
	assert_int_equal(record.signal, SIGKILL);
	assert_in_range(clock_ms() - start_ms, 150, 1500);

	id = start(bench, STUBBORN);
	bench_await(bench, "2.out");
	assert_int_equal(ask(bench, &id, BERTH_WIRE_KILL, 0, CANCEL), 0);
	record = bench_record(bench, &id);
	assert_int_equal(record.cause, CANCEL);
	assert_int_equal(record.signal, SIGKILL);
}

/* Asked before it is even up. */
static void test_stop_at_once(void **state)
{
	struct bench *bench = *state;

	for (int i = 0; i < 10; i++) {
		struct berth_attempt_id id = start(bench, "exec sleep 20");
		struct berth_record record;

		assert_int_equal(ask(bench, &id, BERTH_WIRE_STOP, 300, CANCEL), 0);
		record = bench_record(bench, &id);
		assert_int_equal(record.cause, CANCEL);
		assert_true(record.signal == SIGTERM || record.signal == SIGKILL);
	}
}

static void test_new_limit(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id, other;
	struct berth_record record;

	assert_int_equal(bench_launch(bench, &(struct order){.sh = "sleep 0.8; exit 6", .limit_ms = 400}, &id), 0);
	assert_int_equal(ask(bench, &id, BERTH_WIRE_LIMIT, 60000, 0), 0);
	other = start(bench, "exec sleep 20");
	assert_int_equal(ask(bench, &other, BERTH_WIRE_LIMIT, 100, 0), 0);
	record = bench_record(bench, &other);
	assert_int_equal(record.cause, LIMIT);
	record = bench_record(bench, &id);
	assert_int_equal(record.cause, 0);
	assert_int_equal(record.exit_code, 6);
}

/* When the command has ended by itself, a stop that comes while the rest is cleared away is too late to be its cause.
 */
static void test_stop_too_late(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id;
	struct berth_record record;

	assert_int_equal(
		bench_launch(bench,
	                     &(struct order){.sh = "(trap '' TERM; echo up; exec sleep 20) & sleep 0.2; exit 5",
	                                     .grace_ms = 1000},
	                     &id),
		0);
	bench_await(bench, "1.out");
	pause_ms(500);
	assert_int_equal(ask(bench, &id, BERTH_WIRE_STOP, 0, CANCEL), ESRCH);
	record = bench_record(bench, &id);
	assert_int_equal(record.cause, 0);
	assert_int_equal(record.exit_code, 5);
}

static void test_message_for_another(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id = start(bench, "sleep 0.3; exit 2");
	BERTH_AUTO_CLOSE int shim = bench_shim_connect(bench, &id);

	shim_send(shim, BERTH_WIRE_KILL, &(struct berth_attempt_id){1, 2}, 0, CANCEL);
	assert_int_equal(shim_expect(shim, BERTH_WIRE_DONE, NULL, 0).error, ESRCH);
	assert_int_equal(bench_record(bench, &id).exit_code, 2);
}

/* More connections than there is room for, rubbish, and silence disturb nothing. */
static void test_bad_clients(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id = start(bench, "sleep 0.5; exit 2");
	int fds[20];

	for (size_t i = 0; i < 20; i++) {
		fds[i] = bench_shim_connect(bench, &id);
		(void)!write(fds[i], "rubbish", 7);
	}
	assert_int_equal(ask(bench, &id, BERTH_WIRE_LIMIT, 60000, 0), 0);
	assert_int_equal(bench_record(bench, &id).exit_code, 2);
	for (size_t i = 0; i < 20; i++)
		(void)close(fds[i]);
}

#define ESCAPES                                               \
	"setsid sleep 20 & nohup sleep 20 >/dev/null 2>&1 & " \
	"(setsid sh -c 'sleep 20 & sleep 20 &' &) & "         \
	"(trap '' TERM HUP; setsid sh -c 'trap \"\" TERM; sleep 20' &) & "

/* However a process hides, the record comes when it is gone, and not before. */
static void test_nothing_left_after_the_end(void **state)
{
	struct bench *bench = *state;
	struct berth_record record = bench_run(bench,
	                                       &(struct order){.sh = ESCAPES "sleep 0.1; exit 3", .grace_ms = 200});

	assert_int_equal(bench_alive(bench), 0);
	assert_int_equal(record.exit_code, 3);
	assert_int_equal(record.cause, 0);
}

static void test_nothing_left_after_a_kill(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id = start(bench, ESCAPES "trap '' TERM; echo up; while :; do sleep 1; done");

	bench_await(bench, "1.out");
	assert_int_equal(ask(bench, &id, BERTH_WIRE_STOP, 100, CANCEL), 0);
	assert_int_equal(bench_record(bench, &id).cause, CANCEL);
	assert_int_equal(bench_alive(bench), 0);
}

/* What outlives its command is asked before it is killed. */
static void test_rest_is_asked_first(void **state)
{
	struct bench *bench = *state;
	BERTH_AUTO_FREE char *text = NULL;

	(void)bench_run(
		bench, &(struct order){.sh = "(trap 'echo asked; exit' TERM; while :; do sleep 0.02; done) & sleep 0.1",
	                               .err = "err",
	                               .grace_ms = 5000});
	text = bench_read(bench, "1.out");
	assert_string_equal(text, "asked\n");
}

/* Forty daemons, and some that change their process all the time. Their number never grows. */
static void test_fork_storm(void **state)
{
	struct bench *bench = *state;
	char *const argv[] = {"python3", "-c",
	                      "import os,signal,time\n"
	                      "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
	                      "def daemon(body):\n"
	                      "  if os.fork()==0:\n"
	                      "    os.setsid()\n"
	                      "    if os.fork()==0: body()\n"
	                      "    os._exit(0)\n"
	                      "def hop():\n"
	                      "  for i in range(2000):\n"
	                      "    time.sleep(0.01)\n"
	                      "    if os.fork(): os._exit(0)\n"
	                      "for i in range(40): daemon(lambda: time.sleep(20))\n"
	                      "for i in range(3): daemon(hop)\n"
	                      "time.sleep(20)\n",
	                      NULL};
	struct berth_record record = bench_run(bench, &(struct order){.argv = argv, .limit_ms = 500, .grace_ms = 100});

	assert_int_equal(record.cause, LIMIT);
	assert_int_equal(bench_alive(bench), 0);
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
		GROUPS(test_limit_with_real_code),
		GROUPS(test_limit_without_trap),
		BOTH(test_stubborn),
		GROUPS(test_stopped_process_hears_it),
		GROUPS(test_own_stop_signal),
		GROUPS(test_warning),
		GROUPS(test_stop_file),
		GROUPS(test_stop_and_kill),
		GROUPS(test_stop_at_once),
		GROUPS(test_new_limit),
		GROUPS(test_stop_too_late),
		GROUPS(test_message_for_another),
		GROUPS(test_bad_clients),
		BOTH(test_nothing_left_after_the_end),
		BOTH(test_nothing_left_after_a_kill),
		BOTH(test_rest_is_asked_first),
		BOTH(test_fork_storm),
	};

	(void)argc;
	bench_set_program(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
