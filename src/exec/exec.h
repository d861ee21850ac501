#ifndef BERTH_EXEC_EXEC_H
#define BERTH_EXEC_EXEC_H
/* berth-exec: starts one shim per attempt, is their parent and sub-reaper, and owns the cards on this machine.
 *
 * One per state directory (DIR/exec.lock). Obeys one daemon at a time (DIR/exec.sock, peer uid checked); a newer
 * connection replaces the older. Needs none: shims go on without it, it goes on without the daemon, and ends by itself
 * when there is neither a daemon nor an attempt for a while. Reads only fixed messages; a job's specification passes
 * through unread.
 *
 * exec.c start and loop; launch.c LAUNCH, WITHDRAW; watch.c shims and how they end; recover.c attempts whose shim was
 * killed; cards.c ENROL, RELEASE.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/error.h"
#include "exec/handover.h"
#include "host/group.h"
#include "host/wire.h"

#define BERTH_EXEC_NEVER UINT64_MAX

/* An attempt whose shim has not ended, or that is being recovered because its shim was killed. */
struct berth_watch {
	struct berth_attempt_id id;
	pid_t shim;                            /* 0 = gone */
	int pidfd;                             /* of a shim that an earlier berth-exec started; -1 = it is our child */
	int leader_pidfd;                      /* of that one's command; -1 = none */
	char group[BERTH_GROUP_PATH_MAX + 48]; /* that our own shim makes, see shim.c; "" = none */
	int report_fd;                         /* read end, of our own shims; -1 = none */
	struct berth_shim_report last;         /* what was read from it, or found out since */
	bool has_report;                       /* last tells all there is to tell */
	const char *witness;                   /* of last.status: "exec", "pidfd" */
	bool is_recovering;
	unsigned looks;   /* steps of the recovery so far */
	unsigned quiet;   /* of these, in a row, with nothing alive */
	uint64_t next_ms; /* when to go on with the recovery, CLOCK_BOOTTIME */
};

struct berth_card {
	char uuid[BERTH_WIRE_UUID_MAX];
	int fd; /* the bound abstract socket; -1 = not ours, or held for us by shims of an earlier berth-exec */
	bool is_owned;
};

struct berth_exec {
	int state, attempts; /* directories */
	int lock;            /* held */
	int signals, listener;
	int connection;                        /* the daemon; -1 = none */
	uint64_t deaf_until_ms;                /* no descriptor was left for a caller: until then none is looked for */
	char tag[20];                          /* tells this state directory from others on the machine */
	char group_root[BERTH_GROUP_PATH_MAX]; /* "" = no groups */
	char containment[BERTH_GROUP_PATH_MAX + 32];
	struct berth_watch **watches; /* owned, and what they point to */
	size_t n_watches, cap_watches;
	struct berth_card *cards; /* owned */
	size_t n_cards, cap_cards;
	uint64_t idle_exit_ms;
	bool is_ending;
};

struct berth_exec_options {
	const char *state_dir;
	uint64_t idle_exit_ms;
	bool no_group; /* hold processes by descent even where groups could be made */
};

/* Serve until idle or told to end (SIGTERM). Returns main's exit code. */
int berth_exec_main(const struct berth_exec_options *options);
/* Make the state directory's berth-exec: lock, socket, groups, shims that are still there. -EBUSY another one has it.
 * berth_exec_close also after a failure. */
BERTH_MUST_USE int berth_exec_open(struct berth_exec *exec, const struct berth_exec_options *options,
                                   struct berth_error *err);
void berth_exec_close(struct berth_exec *exec);

/* Tell the daemon, if there is one; one that does not read for a second is let go. */
void berth_exec_send(struct berth_exec *exec, const struct berth_wire *msg);
void berth_exec_answer(struct berth_exec *exec, enum berth_wire_kind kind, const struct berth_attempt_id *id, int error,
                       uint64_t value);
/* A line on standard error, for whoever reads the log. */
void berth_exec_note(const struct berth_attempt_id *id, const char *fmt, ...) BERTH_PRINTF(2, 3);

/* --- launch.c --- */

/* spec_fd: the caller's, -1 = none came. */
void berth_exec_launch(struct berth_exec *exec, const struct berth_wire *msg, int spec_fd);
void berth_exec_withdraw(struct berth_exec *exec, const struct berth_wire *msg);

/* --- watch.c --- */

/* A new watch, NULL when memory is out. */
struct berth_watch *berth_watch_add(struct berth_exec *exec, const struct berth_attempt_id *id);
struct berth_watch *berth_watch_find(const struct berth_exec *exec, const struct berth_attempt_id *id);
void berth_watch_remove(struct berth_exec *exec, struct berth_watch *watch);
/* Watch the shims that an earlier berth-exec left. */
BERTH_MUST_USE int berth_watch_adopt(struct berth_exec *exec);
/* Reap all that has ended. */
void berth_watch_reap(struct berth_exec *exec);
/* The shim has ended: say so, or begin to recover its attempt. */
void berth_watch_shim_ended(struct berth_exec *exec, struct berth_watch *watch);

/* --- recover.c --- */

void berth_exec_recover(struct berth_exec *exec, const struct berth_wire *msg);
/* Go on with all recoveries that are due; returns when the next one is. now_ms: CLOCK_BOOTTIME. */
uint64_t berth_exec_recover_due(struct berth_exec *exec, uint64_t now_ms);

/* --- cards.c --- */

void berth_exec_enrol(struct berth_exec *exec, const struct berth_wire *msg);
void berth_exec_release(struct berth_exec *exec, const struct berth_wire *msg);
/* Try for the cards that shims of an earlier berth-exec hold for us. true: there are such. */
bool berth_exec_retry_cards(struct berth_exec *exec);
/* The socket that owns a card, -1 = none here. */
int berth_exec_card_fd(struct berth_exec *exec, const char *uuid);
#endif
