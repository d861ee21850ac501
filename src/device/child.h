#ifndef BERTH_DEVICE_CHILD_H
#define BERTH_DEVICE_CHILD_H
/* The berth-probe process: started, killed, reaped, never waited for.
 *
 * A process inside a vendor call may be in a sleep that no signal ends. It is killed all the same, and reaped when it
 * ends; until then it lies there.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/error.h"

#define BERTH_PROBE_LYING_MAX 4

struct berth_probe_child {                  /* {.fd = -1} is none */
	int fd;                             /* SEQPACKET, non-blocking, close-on-exec; owned; -1 = none runs */
	pid_t pid;                          /* 0 = none runs */
	pid_t lying[BERTH_PROBE_LYING_MAX]; /* killed, not reaped yet */
	size_t n_lying;
};

/* argv: NULL-terminated, argv[0] the path. The child gets its end of the socketpair as BERTH_PROBE_FD, /dev/null as
 * standard input, a session of its own, no blocked signals, default dispositions and no other descriptor of ours but 1
 * and 2. 0; -EBUSY too many lie there; -errno nothing was started. */
BERTH_MUST_USE int berth_probe_child_start(struct berth_probe_child *child, char *const *argv, struct berth_error *err);
/* Kill the one that runs and close the socket. Nothing when none runs. */
void berth_probe_child_kill(struct berth_probe_child *child);
/* Reap what has ended. ret_status (may be NULL): wait status of the one that runs, when it has ended. True when so; it
 * is then no longer running, its socket closed. */
bool berth_probe_child_reap(struct berth_probe_child *child, int *ret_status);
#endif
