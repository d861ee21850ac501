#ifndef BERTH_EXEC_FIXTURE_TEST_H
#define BERTH_EXEC_FIXTURE_TEST_H
/* A berth-exec of its own in a state directory of its own, driven by messages as the daemon would. For cmocka:
 * bench_open and bench_close as setup and teardown; the initial state points to a struct bench_kind. Every job carries
 * BERTH_TEST=path in its environment: bench_close fails when one is left alive, or a control group. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "host/claim.h"
#include "host/wire.h"

struct bench_kind {
	bool no_group;
};

struct bench {
	const struct bench_kind *kind;
	char path[64];
	char containment[BERTH_WIRE_TEXT_MAX]; /* as berth-exec told */
	int attempts;                          /* directory */
	pid_t exec;
	int link; /* to it */
	uint64_t next_job;
};

/* What to run; zero is a sane default everywhere. */
struct order {
	char *const *argv; /* or */
	const char *sh;    /* sh -c THIS */
	const char *script;
	char *const *env;      /* besides PATH */
	const char *out, *err; /* below path; default "JOB.out", joined */
	const char *cwd;       /* default path */
	bool is_append;
	uint64_t limit_ms; /* default: none */
	uint64_t grace_ms; /* default 300 */
	uint32_t stop_signal, warn_signal;
	uint64_t warn_ms;
	const char *uuid;
};

/* Path of berth-exec, for bench_open. */
void bench_set_program(const char *path);
int bench_open(void **state);
int bench_close(void **state);

/* Start berth-exec (again) and connect. */
void bench_start_exec(struct bench *bench, uint64_t idle_exit_ms);
void bench_kill_exec(struct bench *bench);
/* Connect and say hello. */
void bench_connect(struct bench *bench);

/* Send a LAUNCH and take its answer's error; the id of a fresh job goes to ret. */
int bench_launch(struct bench *bench, const struct order *order, struct berth_attempt_id *ret);
int bench_launch_id(struct bench *bench, const struct order *order, const struct berth_attempt_id *id);
/* The next message of a kind about an attempt (NULL = any); others are skipped. Fails the test after 10 s. */
struct berth_wire bench_expect(struct bench *bench, enum berth_wire_kind kind, const struct berth_attempt_id *id);
/* Ask berth-exec something and take the answer. */
struct berth_wire bench_ask(struct bench *bench, const struct berth_wire *msg, enum berth_wire_kind answer);

/* The record of an attempt, waited for. */
struct berth_record bench_record(struct bench *bench, const struct berth_attempt_id *id);
/* Launch, wait, record. */
struct berth_record bench_run(struct bench *bench, const struct order *order);
/* The shim's pid from the claim, waited for. */
pid_t bench_shim(struct bench *bench, const struct berth_attempt_id *id);
/* Any child of berth-exec, 0 = none: with one attempt, its shim, also before it has claimed. */
pid_t bench_child(const struct bench *bench);
/* A connection to the shim, waited for. */
int bench_shim_connect(struct bench *bench, const struct berth_attempt_id *id);
/* The next message of a kind on a connection to a shim, with what follows it in data. */
struct berth_wire shim_expect(int fd, enum berth_wire_kind kind, void *data, size_t cap);
void shim_send(int fd, enum berth_wire_kind kind, const struct berth_attempt_id *id, uint64_t value, uint32_t cause);

/* The text of a file below path ("" = none yet), to be freed. */
char *bench_read(const struct bench *bench, const char *name);
/* Wait until the file of that name is there and not empty. */
void bench_await(const struct bench *bench, const char *name);
/* Processes of this bench's jobs that are alive. */
int bench_alive(const struct bench *bench);

uint64_t clock_ms(void);
void pause_ms(long ms);
#endif
