#ifndef BERTH_EXEC_HANDOVER_H
#define BERTH_EXEC_HANDOVER_H
/* What berth-exec hands to a shim when it starts it, and what the shim tells it.
 *
 *   berth-exec --shim JOB.ATTEMPT TAG GROUPS
 *
 * TAG tells this state directory from others. GROUPS is the directory for control groups, "" = none can be made. The
 * environment is empty. Descriptors, besides 0 (/dev/null), 1 and 2 (berth-exec's own log):
 */
#include <stdint.h>

enum berth_shim_fd {
	BERTH_SHIM_LAUNCH = 3, /* a pipe with the LAUNCH message (struct berth_wire) in it */
	BERTH_SHIM_SPEC,     /* the job's specification, a sealed memfd, never read before the privileges are dropped */
	BERTH_SHIM_ATTEMPTS, /* DIR/attempts */
	BERTH_SHIM_LOCK,     /* the lock of the one berth-exec, shared: kept until the claim is made, so that when a new
	                        berth-exec has the lock, no shim that it does not know of can still claim anything */
	BERTH_SHIM_REPORT,   /* a pipe, to be written: struct berth_shim_report */
	BERTH_SHIM_CARDS,    /* and following: the abstract sockets that own the attempt's cards, held to the end */
};

/* What only the shim knows and berth-exec needs when the shim is killed; written whole at each change, the last one
 * counts. It is written before what it says can have an effect. */
struct berth_shim_report {
	int32_t error;        /* positive errno: why it gave up before the command could run */
	int32_t leader;       /* pid of the command */
	int32_t status;       /* its wait status, when is_ended */
	uint32_t is_ended;    /* it has ended and is about to be reaped */
	uint32_t is_released; /* from here on the command may have run */
	uint32_t cause;       /* why it is being stopped, enum berth_stop_cause as number */
	uint64_t started_ms;  /* wall; 0 = it has not been seen running */
};

/* Every process of an attempt carries this variable: TAG.JOB.ATTEMPT. */
#define BERTH_MARK "BERTH_MARK"
#define BERTH_MARK_MAX 64
#endif
