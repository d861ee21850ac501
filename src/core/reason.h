#ifndef BERTH_CORE_REASON_H
#define BERTH_CORE_REASON_H
/* Why: codes with parameters, never prose. Hosts turn them into words of a language. */
#include <stdint.h>

enum berth_reason_code {
	BERTH_REASON_NONE = 0,

	/* A job waits. a, b, c as told; unused ones are 0. */
	BERTH_REASON_STARTING,     /* assigned, not running yet */
	BERTH_REASON_HELD,         /* held by its owner or an operator */
	BERTH_REASON_BEGIN_TIME,   /* a = begin, ms since 1970 */
	BERTH_REASON_BACK_OFF,     /* a = retry at, ms since 1970; b = failures in a row */
	BERTH_REASON_RESOURCES,    /* a = devices asked; b = devices that suit and are free now; c = that suit at
	                              all; each on the node that has most of them */
	BERTH_REASON_PRIORITY,     /* would fit, but a = the job ahead keeps the devices: starting now could delay it */
	BERTH_REASON_NO_DEVICES,   /* too few that suit are in service: a = asked, b = suiting but drained or lost,
	                              c = suiting and in service; b and c on the node that has most in service */
	BERTH_REASON_STOPPING,     /* its attempt is being stopped; a = deadline, ms since 1970 */

	/* A request can never be met. */
	BERTH_REASON_TOO_MANY_GPUS, /* a = asked; b = the most that one node has, the rest of the request met */
	BERTH_REASON_NO_SUCH_MODEL, /* no device of that model */
	BERTH_REASON_GPU_TOO_SMALL, /* a = bytes asked; b = the most that a device (of that model) has */
	BERTH_REASON_NO_SUCH_INDEX, /* a = mask asked; b = mask of indexes that exist */
	BERTH_REASON_NO_NODE,       /* no device has been seen at all */

	/* A device does not serve a job. */
	BERTH_REASON_DEVICE_FREE,
	BERTH_REASON_DEVICE_BUSY,     /* a = job, b = its latest end, ms since 1970, UINT64_MAX = no limit */
	BERTH_REASON_DEVICE_RESERVED, /* free, but kept for job a, which is ahead; b = when that starts at the latest */
	BERTH_REASON_DEVICE_DRAINED,
	BERTH_REASON_DEVICE_LOST,     /* the driver does not answer for it, or reports it gone */
	BERTH_REASON_DEVICE_MODEL,    /* another model than asked */
	BERTH_REASON_DEVICE_MEMORY,   /* a = bytes asked, b = bytes it has */
	BERTH_REASON_DEVICE_INDEX,    /* not among the indexes asked */

	/* How an attempt or a job ended. */
	BERTH_REASON_EXIT_CODE,         /* a = exit code, not 0 */
	BERTH_REASON_SIGNALED,          /* a = signal number, not sent by berth */
	BERTH_REASON_TIME_LIMIT,        /* a = limit, ms */
	BERTH_REASON_CANCELLED,         /* by a person */
	BERTH_REASON_REQUEUED,          /* by a person; runs again */
	BERTH_REASON_PREEMPTED,         /* stopped for another job; runs again (no policy of today does it) */
	BERTH_REASON_DEVICE_FAILED,     /* its device was lost; a = device id */
	BERTH_REASON_OUT_OF_MEMORY,     /* killed by the kernel for memory */
	BERTH_REASON_EXIT_CODE_UNKNOWN, /* the watcher of the attempt died and no second witness knew the code */
	BERTH_REASON_LAUNCH_FAILED,     /* never started: a = errno; tried again with back-off */
	BERTH_REASON_OUTPUT_FAILED,     /* the output file could not be opened: a = errno */
	BERTH_REASON_EXEC_FAILED,       /* the command could not be run: a = errno */

	BERTH_REASON_COUNT
};

struct berth_reason {
	enum berth_reason_code code;
	uint64_t a, b, c;
};

/* The names of the codes, in their order. */
extern const char *const berth_reason_names[BERTH_REASON_COUNT];

/* "Resources", "BeginTime", … as JSON and metrics print it; Slurm's word where it has one; "" for a number that is no
 * code. Static. */
const char *berth_reason_name(enum berth_reason_code code);
/* The code of a name; BERTH_REASON_COUNT when there is none. */
enum berth_reason_code berth_reason_from_name(const char *name);
/* Names of parameters a, b, c for JSON ("asked", "free", "at_ms" …), three of them; NULL for unused ones. Static. */
const char *const *berth_reason_param_names(enum berth_reason_code code);
#endif
