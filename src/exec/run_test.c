/* What a job sees, and what is known of its end. */
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
#include <sys/stat.h>
#include <sys/wait.h>
#include "exec/fixture_test.h"

static void test_exit_codes(void **state)
{
	static const int codes[] = {0, 1, 126, 127, 255};
	struct berth_attempt_id id[5];

	for (size_t i = 0; i < 5; i++) {
		char sh[16];

		(void)snprintf(sh, sizeof(sh), "exit %d", codes[i]);
		assert_int_equal(bench_launch(*state, &(struct order){.sh = sh}, &id[i]), 0);
	}
	for (size_t i = 0; i < 5; i++) {
		struct berth_record record = bench_record(*state, &id[i]);

		assert_int_equal(record.exit_code, codes[i]);
		assert_int_equal(record.signal, 0);
		assert_int_equal(record.cause, 0);
		assert_string_equal(record.how, "");
		assert_string_equal(record.witness, "shim");
		assert_true(record.started_ms > 0 && record.ended_ms >= record.started_ms && record.pid > 0);
	}
}

static void test_signals(void **state)
{
	static const int signals[] = {SIGKILL, SIGSEGV, SIGTERM, SIGINT};

	for (size_t i = 0; i < 4; i++) {
		struct berth_record record;
		char sh[64];

		(void)snprintf(sh, sizeof(sh), "ulimit -c 0; kill -%d $$; sleep 5", signals[i]);
		record = bench_run(*state, &(struct order){.sh = sh});
		assert_int_equal(record.exit_code, -1);
		assert_int_equal(record.signal, signals[i]);
		assert_int_equal(record.cause, 0);
	}
}

static void test_argv_round_trip(void **state)
{
	struct bench *bench = *state;
	char *const argv[] = {"sh",     "-c",          "for a; do printf '%s\\0' \"$a\"; done",
	                      "sh",     "a b",         "",
	                      "'q'",    "\"d\"",       "$(touch x)",
	                      "> file", "*",           "-n",
	                      "--",     "line\nbreak", "\xff\x01",
	                      "\\",     NULL};
	struct berth_record record = bench_run(bench, &(struct order){.argv = argv});
	BERTH_AUTO_FREE char *text = bench_read(bench, "1.out");
	const char *at = text;

	assert_int_equal(record.exit_code, 0);
	for (size_t i = 4; argv[i]; at += strlen(at) + 1, i++)
		assert_string_equal(at, argv[i]);
}

static void test_environment(void **state)
{
	struct bench *bench = *state;
	char *const env[] = {"A=with blank", "B=", "BERTH_MARK=of another", NULL};
	struct berth_record record = bench_run(bench,
	                                       &(struct order){.argv = (char *const[]){"env", NULL}, .env = env});
	BERTH_AUTO_FREE char *text = bench_read(bench, "1.out");

	assert_int_equal(record.exit_code, 0);
	assert_non_null(strstr(text, "A=with blank\nB=\n"));
	assert_null(strstr(text, "of another"));
	assert_non_null(strstr(text, ".1.1\n"));
	assert_null(strstr(text, "HOME="));
}

/* Only 0, 1, 2; signals as at login; a session of its own; the directory asked for. */
static void test_surroundings(void **state)
{
	struct bench *bench = *state;
	struct berth_record record = bench_run(
		bench,
		&(struct order){.argv = (char *const[]){
					"python3", "-c",
					"import os,signal\n"
					"print(sorted(os.listdir('/proc/self/fd')))\n"
					"s=dict(l.split(':\\t') for l in open('/proc/self/status') if 'Sig' in l)\n"
					"print(s['SigBlk'].strip(), s['SigIgn'].strip())\n"
					"print(os.getpid()==os.getsid(0)==os.getpgid(0), os.getcwd(), "
					"os.readlink('/proc/self/fd/0'))",
					NULL}});
	BERTH_AUTO_FREE char *text = bench_read(bench, "1.out");
	char wanted[256];

	assert_int_equal(record.exit_code, 0);
	/* Descriptor 3 is the one that lists the directory; Python itself ignores SIGPIPE and SIGXFSZ. */
	(void)snprintf(wanted, sizeof(wanted),
	               "['0', '1', '2', '3']\n0000000000000000 0000000001001000\nTrue %s /dev/null\n", bench->path);
	assert_string_equal(text, wanted);
}

static void test_ignored_signals(void **state)
{
	struct bench *bench = *state;
	struct berth_record record = bench_run(
		bench,
		&(struct order){.argv = (char *const[]){"grep", "-E", "Sig(Blk|Ign)", "/proc/self/status", NULL}});
	BERTH_AUTO_FREE char *text = bench_read(bench, "1.out");

	assert_int_equal(record.exit_code, 0);
	assert_string_equal(text, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

static void test_output_files(void **state)
{
	struct bench *bench = *state;
	BERTH_AUTO_FREE char *out = NULL;
	BERTH_AUTO_FREE char *err = NULL;
	BERTH_AUTO_FREE char *joined = NULL;
	BERTH_AUTO_FREE char *again = NULL;

	(void)bench_run(bench, &(struct order){.sh = "echo out; echo err >&2", .out = "a/b/c.out", .err = "d/e.err"});
	(void)bench_run(bench, &(struct order){.sh = "echo out; echo err >&2", .out = "joined"});
	(void)bench_run(bench, &(struct order){.sh = "echo 1", .out = "again"});
	(void)bench_run(bench, &(struct order){.sh = "echo 2", .out = "again"});
	(void)bench_run(bench, &(struct order){.sh = "echo 3", .out = "again", .is_append = true});
	out = bench_read(bench, "a/b/c.out");
	err = bench_read(bench, "d/e.err");
	joined = bench_read(bench, "joined");
	again = bench_read(bench, "again");
	assert_string_equal(out, "out\n");
	assert_string_equal(err, "err\n");
	assert_string_equal(joined, "out\nerr\n");
	assert_string_equal(again, "2\n3\n");
}

static void assert_output_failed(struct bench *bench, const char *out, int error)
{
	struct berth_record record = bench_run(bench, &(struct order){.sh = "touch ran", .out = out});

	assert_string_equal(record.how, "OutputFailed");
	assert_int_equal(record.error, error);
	assert_int_equal(record.exit_code, -1);
	assert_int_equal(record.started_ms, 0);
	assert_int_equal(record.pid, 0);
}

static void test_output_that_cannot_be(void **state)
{
	struct bench *bench = *state;
	char name[128];
	int reader;

	(void)snprintf(name, sizeof(name), "%s/dir", bench->path);
	assert_int_equal(mkdir(name, 0700), 0);
	(void)snprintf(name, sizeof(name), "%s/fifo", bench->path);
	assert_int_equal(mkfifo(name, 0600), 0);
	assert_output_failed(bench, "dir", EISDIR);
	assert_output_failed(bench, "fifo", ENXIO);
	assert_output_failed(bench, "fifo/below", ENOTDIR);
	/* With a reader it could be opened, and would hang the job as soon as that one is slow. */
	reader = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_output_failed(bench, "fifo", EINVAL);
	(void)close(reader);
	(void)snprintf(name, sizeof(name), "%s/ran", bench->path);
	assert_int_equal(access(name, F_OK), -1);
}

static void test_output_to_null(void **state)
{
	struct berth_record record = bench_run(*state, &(struct order){.sh = "echo x; exit 5", .out = "/dev/null"});

	assert_int_equal(record.exit_code, 5);
}

static void test_commands_that_cannot_run(void **state)
{
	struct bench *bench = *state;
	struct berth_record record = bench_run(bench,
	                                       &(struct order){.argv = (char *const[]){"no-such-program", NULL}});
	BERTH_AUTO_FREE char *text = bench_read(bench, "1.out");
	BERTH_AUTO_FREE char *denied = NULL;

	assert_string_equal(text, "berth: cannot run no-such-program: No such file or directory\n");
	assert_string_equal(record.how, "ExecFailed");
	assert_int_equal(record.error, ENOENT);
	assert_int_equal(record.exit_code, 127);
	assert_int_equal(record.started_ms, 0);
	record = bench_run(bench, &(struct order){.argv = (char *const[]){"/etc/passwd", NULL}});
	denied = bench_read(bench, "2.out");
	assert_string_equal(denied, "berth: cannot run /etc/passwd: Permission denied\n");
	assert_int_equal(record.error, EACCES);
	assert_int_equal(record.exit_code, 126);
}

static void test_directory_that_is_not_there(void **state)
{
	struct bench *bench = *state;
	struct berth_record record = bench_run(bench, &(struct order){.sh = "exit 0", .cwd = "/nowhere"});
	BERTH_AUTO_FREE char *text = bench_read(bench, "1.out");

	assert_string_equal(record.how, "ExecFailed");
	assert_int_equal(record.error, ENOENT);
	assert_string_equal(text, "berth: cannot enter the working directory /nowhere: No such file or directory\n");
}

static void test_scripts(void **state)
{
	struct bench *bench = *state;
	struct berth_record record = bench_run(
		bench, &(struct order){.script = "#!/bin/sh\n#BERTH -G 1\nprintf '%s|' \"$@\"\nexit 9\n"});
	BERTH_AUTO_FREE char *text = bench_read(bench, "1.out");
	BERTH_AUTO_FREE char *python = NULL;
	BERTH_AUTO_FREE char *bare = NULL;

	assert_int_equal(record.exit_code, 9);
	assert_string_equal(text, "one|two words|");
	record = bench_run(bench,
	                   &(struct order){.script = "#!/usr/bin/env python3\nimport sys\nprint(sys.argv[1:])\n"});
	python = bench_read(bench, "2.out");
	assert_string_equal(python, "['one', 'two words']\n");
	record = bench_run(bench, &(struct order){.script = "echo no interpreter\n"});
	bare = bench_read(bench, "3.out");
	assert_string_equal(record.how, "ExecFailed");
	assert_int_equal(record.error, ENOEXEC);
	assert_int_equal(record.exit_code, 126);
	assert_non_null(strstr(bare, "#!"));
}

/* 200 at once: many deaths, few signals. */
static void test_many_at_once(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id ids[200];

	for (size_t i = 0; i < 200; i++)
		assert_int_equal(
			bench_launch(bench, &(struct order){.argv = (char *const[]){"true", NULL}, .out = "/dev/null"},
		                     &ids[i]),
			0);
	for (size_t i = 0; i < 200; i++) {
		struct berth_record record = bench_record(bench, &ids[i]);

		assert_int_equal(record.exit_code, 0);
		assert_string_equal(record.how, "");
	}
}

static void test_started_progress_ended(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id;
	struct berth_wire msg;
	char sh[256];

	(void)snprintf(
		sh, sizeof(sh),
		"printf '120/500 epoch 3\\nmore' > %s/attempts/1.1.progress; touch %s/attempts/1.1.done; sleep 0.3",
		bench->path, bench->path);
	assert_int_equal(bench_launch(bench, &(struct order){.sh = sh}, &id), 0);
	BERTH_AUTO_CLOSE int shim = bench_shim_connect(bench, &id);
	msg = shim_expect(shim, BERTH_WIRE_STARTED, NULL, 0);
	assert_true(msg.pid > 0 && msg.value > 0);
	msg = shim_expect(shim, BERTH_WIRE_PROGRESS, NULL, 0);
	assert_string_equal(msg.text, "120/500 epoch 3");
	(void)shim_expect(shim, BERTH_WIRE_ENDED, NULL, 0);
	assert_true(bench_record(bench, &id).is_done);
}

/* Whatever is written there is cut and cleaned. */
static void test_hostile_progress(void **state)
{
	struct bench *bench = *state;
	struct berth_attempt_id id;
	struct berth_wire msg;
	char sh[512];

	(void)snprintf(
		sh, sizeof(sh),
		"python3 -c \"open('%s/attempts/1.1.progress','w').write('\\x1b[31m'+chr(0x68a8)*5000000)\"; sleep 0.2",
		bench->path);
	assert_int_equal(bench_launch(bench, &(struct order){.sh = sh}, &id), 0);
	BERTH_AUTO_CLOSE int shim = bench_shim_connect(bench, &id);
	msg = shim_expect(shim, BERTH_WIRE_PROGRESS, NULL, 0);
	assert_true(strlen(msg.text) > 190 && strlen(msg.text) <= 200);
	assert_memory_equal(msg.text, "?[31m\xe6\xa2\xa8", 8);
	(void)bench_record(bench, &id);
}

static struct berth_wire ask_log(int shim, const struct berth_attempt_id *id, uint64_t offset, uint32_t length,
                                 char *data)
{
	struct berth_wire msg;

	berth_wire_init(&msg, BERTH_WIRE_LOG, id);
	msg.value = offset;
	msg.length = length;
	assert_int_equal(berth_wire_send(shim, &msg, NULL, -1), 0);
	return shim_expect(shim, BERTH_WIRE_LOG_DATA, data, BERTH_WIRE_LOG_MAX);
}

static void test_log_ranges(void **state)
{
	struct bench *bench = *state;
	static char data[BERTH_WIRE_LOG_MAX];
	struct berth_attempt_id id;
	struct berth_wire msg;

	assert_int_equal(
		bench_launch(
			bench,
			&(struct order){.sh = "printf 0123456789; head -c 100000 /dev/zero; touch written; sleep 30"},
			&id),
		0);
	BERTH_AUTO_CLOSE int shim = bench_shim_connect(bench, &id);
	for (int i = 0; i < 500; i++, pause_ms(10)) {
		msg = ask_log(shim, &id, 0, 0, data);
		if (msg.value == 100010)
			break;
	}
	assert_int_equal(msg.value, 100010);
	assert_int_equal(msg.length, 0);
	msg = ask_log(shim, &id, 3, 4, data);
	assert_int_equal(msg.length, 4);
	assert_memory_equal(data, "3456", 4);
	msg = ask_log(shim, &id, 0, UINT32_MAX, data);
	assert_int_equal(msg.length, BERTH_WIRE_LOG_MAX);
	msg = ask_log(shim, &id, 100010, 10, data);
	assert_int_equal(msg.length, 0);
	msg = ask_log(shim, &id, UINT64_MAX, 10, data);
	assert_int_equal(msg.length, 0);
	assert_int_equal(msg.error, 0);
	/* The file it has open, whatever became of its name. */
	char name[128];
	(void)snprintf(name, sizeof(name), "%s/1.out", bench->path);
	assert_int_equal(unlink(name), 0);
	msg = ask_log(shim, &id, 0, 1, data);
	assert_int_equal(msg.length, 1);
	shim_send(shim, BERTH_WIRE_KILL, &id, 0, 1);
	(void)bench_record(bench, &id);
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
		BOTH(test_exit_codes),
		BOTH(test_signals),
		GROUPS(test_argv_round_trip),
		GROUPS(test_environment),
		GROUPS(test_surroundings),
		GROUPS(test_ignored_signals),
		GROUPS(test_output_files),
		GROUPS(test_output_that_cannot_be),
		GROUPS(test_output_to_null),
		GROUPS(test_commands_that_cannot_run),
		GROUPS(test_directory_that_is_not_there),
		GROUPS(test_scripts),
		BOTH(test_many_at_once),
		GROUPS(test_started_progress_ended),
		GROUPS(test_hostile_progress),
		GROUPS(test_log_ranges),
	};

	(void)argc;
	bench_set_program(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
