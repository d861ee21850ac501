#ifndef BERTH_HOST_CLAIM_H
#define BERTH_HOST_CLAIM_H
/* Claim and record, the two files that say who runs an attempt and how it ended. What they mean together:
 * host/attempt.h.
 *
 * Both are lines "name value", closed by a line "sum HEX" (FNV-1a 64 of all before): a torn or edited file is told from
 * a whole one. Lines with a name that this version does not know are skipped, missing ones leave zero, so that two
 * versions of berth can read each other's.
 */
#include "base/error.h"
#include "host/attempt.h"

struct berth_claim {
	struct berth_attempt_id id;
	char boot_id[37]; /* of the boot it was made in: after another one nothing of it can be alive */
	int32_t shim_pid;
	uint64_t shim_start; /* field 22 of /proc/PID/stat: tells the process from a later one with its pid */
	int32_t leader_pid;  /* the command, or what is to become it; 0 = none */
	uint64_t leader_start;
	char group[256]; /* cgroup directory of the attempt; "" = none, see host/group.h */
	uint32_t n_uuid;
	char uuid[16][64]; /* the cards it holds */
};

struct berth_record {
	struct berth_attempt_id id;
	int32_t exit_code;   /* -1 = none or unknown */
	int32_t signal;      /* 0 = none */
	uint32_t cause;      /* enum berth_stop_cause of core/fact.h: why berth stopped it; 0 = ended by itself */
	char how[32];        /* "", or name of a reason: ExitCodeUnknown, OutOfMemory, OutputFailed, ExecFailed */
	int32_t error;       /* errno of OutputFailed, ExecFailed */
	bool is_done;        /* it touched $BERTH_DONE_FILE */
	int32_t pid;         /* of the command; 0 = there was none */
	uint64_t started_ms; /* wall; 0 = the command never ran */
	uint64_t ended_ms;
	char witness[16]; /* who knew the code: "shim", "exec", "pidfd", "none" */
};

/* Take the attempt: returns the locked claim's fd (keep it open until the record is durable), -EEXIST another owns it,
 * or another -errno: then it was not taken, by whatever has gone wrong. The claim is durable when this returns: a
 * machine that loses power does not start an attempt a second time. The lock goes when the last copy of the fd is
 * closed. */
BERTH_MUST_USE int berth_claim_take(int dirfd, const struct berth_claim *claim);
/* -ENOENT only when it is not there; -EBADMSG torn, edited or of another attempt. ret untouched on failure. */
BERTH_MUST_USE int berth_claim_read(int dirfd, const struct berth_attempt_id *id, struct berth_claim *ret,
                                    struct berth_error *err);
/* Does somebody hold the claim's lock? 1, 0, -ENOENT there is no claim, or -errno. */
BERTH_MUST_USE int berth_claim_is_locked(int dirfd, const struct berth_attempt_id *id);

/* Durable when it returns 0. May be called again after a failure, and over a damaged record. */
BERTH_MUST_USE int berth_record_write(int dirfd, const struct berth_record *record);
/* As berth_claim_read. */
BERTH_MUST_USE int berth_record_read(int dirfd, const struct berth_attempt_id *id, struct berth_record *ret,
                                     struct berth_error *err);
#endif
