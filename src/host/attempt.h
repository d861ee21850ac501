#ifndef BERTH_HOST_ATTEMPT_H
#define BERTH_HOST_ATTEMPT_H
/* The files of an attempt, by which it is never lost and never run twice, whoever dies when.
 *
 * In DIR/attempts, names JOB.ATTEMPT.what:
 *   claim   written whole, locked (open file description lock), then link()ed into place: whoever makes the link owns
 * the attempt. The shim holds the lock until the record is durable. record  how it ended; written, fsynced, renamed,
 * directory fsynced; only then the lock goes. sock    the shim's control socket progress, done   the job's
 * $BERTH_PROGRESS_FILE, $BERTH_DONE_FILE: written by the job stop             the job's $BERTH_STOP_FILE: appears when
 * it is asked to stop; one line, the second (since 1970 UTC) at which it will be killed
 *
 * Reading: no claim = never started. Lock held = running. Record = finished. Claim without lock or record = its shim
 * died: end and empty its processes first, then write the record. Only ENOENT proves absence: any other error means
 * unknown, keep. A record or claim that is damaged (-EBADMSG) is there: the attempt did run, what is known of its end
 * is lost.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"

struct berth_attempt_id {
	uint64_t job;
	uint32_t attempt;
};

enum berth_attempt_file {
	BERTH_ATTEMPT_CLAIM,
	BERTH_ATTEMPT_RECORD,
	BERTH_ATTEMPT_SOCK,
	BERTH_ATTEMPT_PROGRESS,
	BERTH_ATTEMPT_STOP,
	BERTH_ATTEMPT_DONE,
	BERTH_ATTEMPT_FILES
};
#define BERTH_ATTEMPT_NAME_MAX 48
/* "12.1.claim". Returns buf. */
char *berth_attempt_file_name(const struct berth_attempt_id *id, enum berth_attempt_file file,
                              char buf[static BERTH_ATTEMPT_NAME_MAX]);
/* The reverse, for sweeps of the directory; false when the name is none of ours. */
bool berth_attempt_parse_name(const char *name, struct berth_attempt_id *ret_id, enum berth_attempt_file *ret_file);
bool berth_attempt_is_same(const struct berth_attempt_id *a, const struct berth_attempt_id *b);

enum berth_attempt_state {
	BERTH_ATTEMPT_UNKNOWN = 0, /* could not be told (EMFILE, EACCES …): keep, look again */
	BERTH_ATTEMPT_NEVER,       /* no claim */
	BERTH_ATTEMPT_ALIVE,       /* claim, lock held */
	BERTH_ATTEMPT_OVER,        /* a whole record */
	BERTH_ATTEMPT_ORPHAN       /* claim, no lock, no whole record; or a damaged record without a claim */
};
/* Looks in the right order (record, claim, lock, record again), so that a shim ending meanwhile is never taken for an
 * orphan. dirfd: DIR/attempts, here and below. */
enum berth_attempt_state berth_attempt_look(int dirfd, const struct berth_attempt_id *id);
/* Remove the attempt's files (after its end was journalled). The record goes last: whoever looks meanwhile sees an
 * attempt that is over or none at all, never an orphan, to which a second record would be written. Missing ones are no
 * error. */
BERTH_MUST_USE int berth_attempt_remove(int dirfd, const struct berth_attempt_id *id);
#endif
