#ifndef BERTH_EXEC_SHIM_H
#define BERTH_EXEC_SHIM_H
/* The shim: one attempt of one job, from claim to exit record. Depends on nobody: limits, grace and signals are its
 * own, so they hold while the daemon is down.
 *
 *   start    group, child at its gate, claim (host/claim.h), control socket, gate open
 *   run      warn before the limit, ask to stop at the limit or when told (stop file, signal), KILL at the end of the
 * grace drain    the command has ended; what is left of the attempt gets TERM, a short time, KILL, until nothing is
 * left record   how it ended, durably; only then the claim's lock goes
 *
 * shim.c start and loop; control.c what clients ask; ending.c stopping and what follows; progress.c the progress file.
 */
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>
#include "exec/child.h"
#include "exec/handover.h"
#include "host/group.h"
#include "host/wire.h"

#define BERTH_SHIM_CLIENTS_MAX 8
#define BERTH_SHIM_NEVER UINT64_MAX

enum berth_shim_phase {
	BERTH_SHIM_STARTING, /* released, on its way to exec */
	BERTH_SHIM_RUNNING,
	BERTH_SHIM_DRAINING,
	BERTH_SHIM_RECORDING,
	BERTH_SHIM_OVER
};

struct berth_shim {
	struct berth_wire launch;
	struct berth_attempt_id id;
	char mark[BERTH_MARK_MAX];        /* BERTH_MARK=TAG.JOB.ATTEMPT */
	pid_t parent;                     /* berth-exec, when this began */
	char group[BERTH_GROUP_PATH_MAX]; /* "" = none */
	int signals, listener;            /* -1 = not yet */
	int clients[BERTH_SHIM_CLIENTS_MAX];
	int claim; /* holds the lock */
	struct berth_child child;
	int output; /* the job's stdout, for reading; -1 = none that can be read */
	enum berth_shim_phase phase;
	struct berth_shim_report report; /* as berth-exec knows it */

	/* CLOCK_BOOTTIME, ms; BERTH_SHIM_NEVER = none */
	uint64_t begin_ms;    /* limits count from here */
	uint64_t stop_ms;     /* KILL from then on */
	uint64_t drain_ms;    /* the same for what is left when the command has ended */
	uint64_t write_ms;    /* when to try to write the record */
	uint64_t progress_ms; /* when to look at the progress file */

	bool is_going; /* the child was about to exec */
	bool is_warned, is_limit_over;
	char how[32]; /* this and below: as in struct berth_record */
	int error;
	uint64_t ended_ms;
	char progress[BERTH_WIRE_TEXT_MAX];
	struct timespec progress_mtime;
	off_t progress_size;
};

/* The whole life; returns main's exit code. name: JOB.ATTEMPT; see exec/handover.h. */
int berth_shim_main(const char *name, const char *tag, const char *group_root);

/* --- control.c --- */

/* Listen, if not yet; tried again at each turn until it works. */
void berth_shim_listen(struct berth_shim *shim);
/* Let clients in, and do what they ask. */
void berth_shim_accept(struct berth_shim *shim);
void berth_shim_serve(struct berth_shim *shim, size_t client);
/* Tell all clients: STARTED, PROGRESS or ENDED, filled from the state. */
void berth_shim_push(struct berth_shim *shim, enum berth_wire_kind kind);

/* --- ending.c --- */

/* Change what berth-exec would know if the shim died now. */
void berth_shim_tell(struct berth_shim *shim);
/* Ask the command to stop; kill all of it after grace_ms. The first cause stays; a later call can only shorten.
 * false: it has ended already. */
bool berth_shim_stop(struct berth_shim *shim, uint32_t cause, uint64_t grace_ms);
/* The command has ended (its status is in the report). */
void berth_shim_ended(struct berth_shim *shim);
/* Do what is due; return when to be called again at the latest. now_ms: CLOCK_BOOTTIME. */
uint64_t berth_shim_tick(struct berth_shim *shim, uint64_t now_ms);

/* --- progress.c --- */

/* Look at the progress file; true when there is a new text in shim->progress. */
bool berth_shim_read_progress(struct berth_shim *shim);
#endif
