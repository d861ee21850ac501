#ifndef BERTH_HOST_WIRE_H
#define BERTH_HOST_WIRE_H
/* Messages between berthd, berth-exec and the shims: SEQPACKET unix sockets, one fixed-size struct a packet, host byte
 * order (both ends are the same machine and installation; version is checked). The peer's uid is checked by SO_PEERCRED
 * when it connects: berth-exec and the shim obey only the uid that runs the daemon (and root).
 *
 * Sockets, all in DIR = the state directory (0700):
 *   DIR/exec.sock                      berth-exec listens; one daemon at a time (a newer connection replaces the older)
 *   DIR/attempts/JOB.ATTEMPT.sock      the shim of one attempt listens; several connections at once
 * sun_path is short: connect through /proc/self/fd/DIRFD/NAME.
 */
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "host/attempt.h"

#define BERTH_WIRE_MAGIC 0x62727468u /* "brth" */
#define BERTH_WIRE_VERSION 1u
#define BERTH_WIRE_DEVICES_MAX 16
#define BERTH_WIRE_UUID_MAX 64

enum berth_wire_kind {
	BERTH_WIRE_UNKNOWN = 0,

	/* --- daemon -> exec --- */

	/* First of a connection. Once it is answered, nothing that an earlier connection asked is still to be done. */
	BERTH_WIRE_HELLO,
	/* Start an attempt; carries the specification memfd (SCM_RIGHTS). Idempotent: an attempt that has a claim, or
	 * whose shim is about to make it, is left alone. */
	BERTH_WIRE_LAUNCH,
	/* An attempt has a claim but neither lock nor record: end and empty it, write its record. */
	BERTH_WIRE_RECOVER,
	/* An attempt is to be stopped before it started: when it has no claim, exec takes that and writes a record with
	 * this cause and no start, so that no shim ever runs it; otherwise nothing. */
	BERTH_WIRE_WITHDRAW,
	/* Own the card uuid[0] on this machine: bind @berth/UUID. */
	BERTH_WIRE_ENROL,
	/* Give that ownership up; not answered. */
	BERTH_WIRE_RELEASE,

	/* --- exec -> daemon, each answers one of the above with the same job, attempt, uuid[0] --- */

	/* To HELLO: pid; text = how processes are held: "cgroup v2 at PATH" or "sub-reaper (why there is no group)". */
	BERTH_WIRE_WELCOME,
	/* error 0: the shim was forked; EBUSY: could not be told, ask again; other positive errno: nothing was started.
	 */
	BERTH_WIRE_LAUNCHED,
	/* To RECOVER and WITHDRAW. error 0: look at its files now; EBUSY: processes are still alive (value: at least so
	 * many), or a shim runs it: ask again; other positive errno: the record could not be written: ask again. */
	BERTH_WIRE_RECOVERED,
	/* error 0, or EADDRINUSE: another berth owns it. Also unasked, when that changes later. */
	BERTH_WIRE_ENROLLED,

	/* --- exec -> daemon, unasked --- */

	/* The shim of this attempt ended (normally or not): look at its files. When they say that it never started,
	 * error says why (0 = the shim was killed). */
	BERTH_WIRE_SHIM_GONE,

	/* --- daemon -> shim --- */

	/* value = grace in ms: stop file, signal, KILL at its end; a later STOP can only shorten; cause says why. */
	BERTH_WIRE_STOP,
	/* At once; cause says why. */
	BERTH_WIRE_KILL,
	/* value = new time limit in ms, counted from the start of the attempt. */
	BERTH_WIRE_LIMIT,
	/* value = offset, length = bytes wanted (≤ BERTH_WIRE_LOG_MAX) of stdout. */
	BERTH_WIRE_LOG,

	/* --- shim -> daemon; on connect it sends STARTED (if so) and the last PROGRESS --- */

	/* The command runs: pid, value = wall ms of the start. */
	BERTH_WIRE_STARTED,
	/* text = first line of the progress file, cleaned, ≤ 200 bytes. */
	BERTH_WIRE_PROGRESS,
	/* value = size of the file now, length bytes follow the struct in the same packet; error = errno. */
	BERTH_WIRE_LOG_DATA,
	/* The record is durable. */
	BERTH_WIRE_ENDED,
	/* Answer to STOP, KILL, LIMIT: error 0, or ESRCH: already over. */
	BERTH_WIRE_DONE,

	BERTH_WIRE_COUNT
};

#define BERTH_WIRE_LOG_MAX 65536u
#define BERTH_WIRE_CAUSE_LIMIT 4u /* BERTH_STOP_LIMIT of core/fact.h, the one cause that a shim finds by itself */
#define BERTH_WIRE_TEXT_MAX 208

struct berth_wire {
	uint32_t magic, version, kind;
	int32_t error; /* positive errno; 0 = fine */
	uint64_t job;
	uint32_t attempt;
	uint32_t uid, gid; /* LAUNCH: whom to run as; user mode: must be the daemon's own */
	uint32_t length;
	uint64_t value;
	/* LAUNCH */
	uint64_t limit_ms;    /* UINT64_MAX = none */
	uint64_t grace_ms;    /* between asking and killing at the time limit */
	uint32_t stop_signal; /* sent when asked to stop; 0 = SIGTERM */
	uint32_t warn_signal; /* --checkpoint-signal SIG@SECONDS: sent warn_ms before the limit; 0 = none */
	uint64_t warn_ms;
	int32_t pid;
	uint32_t cause; /* STOP, KILL, WITHDRAW: enum berth_stop_cause as number */
	uint32_t n_uuid;
	uint32_t reserved;
	char uuid[BERTH_WIRE_DEVICES_MAX][BERTH_WIRE_UUID_MAX]; /* the attempt's cards, for the claim; ENROL: [0] */
	char text[BERTH_WIRE_TEXT_MAX];
};

/* A zeroed message of this kind about this attempt (NULL = about none). */
void berth_wire_init(struct berth_wire *msg, enum berth_wire_kind kind, const struct berth_attempt_id *id);
struct berth_attempt_id berth_wire_id(const struct berth_wire *msg);

/* Send one packet. data: msg->length bytes that follow the struct; NULL = none do. pass_fd: a descriptor to send along,
 * -1 = none; it stays the caller's. Never waits: -EAGAIN when the peer does not read. Never raises SIGPIPE. */
BERTH_MUST_USE int berth_wire_send(int fd, const struct berth_wire *msg, const void *data, int pass_fd);
/* Take one packet: 1 and ret filled; 0 the peer has closed; -EAGAIN none is there; -EBADMSG one that is none of ours
 * (wrong size, magic, version, kind, an unterminated text), which was thrown away with its descriptors; another -errno.
 * data, cap: room for what follows the struct; a longer packet is -EBADMSG. ret_fd (may be NULL): the passed
 * descriptor, now the caller's, close-on-exec, or -1. Never waits. */
BERTH_MUST_USE int berth_wire_receive(int fd, struct berth_wire *ret, void *data, size_t cap, int *ret_fd);

/* Listen on NAME under dirfd, replacing what is there (the caller holds the lock that says it is its own): fd or
 * -errno. Non-blocking, close-on-exec, reachable for the owner only. */
BERTH_MUST_USE int berth_wire_listen(int dirfd, const char *name);
/* Connect to it: a non-blocking fd, or -ENOENT, -ECONNREFUSED nobody listens, -EAGAIN it is busy, -errno. */
BERTH_MUST_USE int berth_wire_connect(int dirfd, const char *name);
/* The next waiting connection whose peer runs as this process's user or as root: a non-blocking fd; -EAGAIN none;
 * -EPERM one of another user, turned away. */
BERTH_MUST_USE int berth_wire_accept(int listener);
#endif
