#ifndef BERTH_STORE_STORE_H
#define BERTH_STORE_STORE_H
/* What must outlive everything: the journal of facts, snapshots, job specifications, history; one SQLite file (WAL,
 * synchronous=FULL) with one writer thread.
 *
 * SQLite does not notice a flipped bit, so every row carries a SHA-256: journal rows a chain (each covers the one
 * before), snapshots, history and settings their own, specifications are keyed by theirs. Opening checks them all; a
 * damaged file is named with table and row and refused, never skipped. The chain's head is also kept in a small file
 * beside the database (head), so that a lost WAL, which SQLite takes for an older healthy state, is noticed too.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "core/fact.h"

struct berth_store; /* an open store; calls from one thread (the loop), except where told */

/* Open or create DIR/berth.db, migrate it (numbered steps, one transaction; a newer version than ours is refused),
 * check it whole, start the writer. One opener at a time: -EBUSY names the other's pid. -EBADMSG damaged: err names
 * table and row and what helps. */
BERTH_MUST_USE int berth_store_open(const char *dir, struct berth_store **ret, struct berth_error *err);
/* Waits for the transaction in flight, then closes. NULL allowed. */
void berth_store_close(struct berth_store *store);

/* The newest snapshot's facts, then all facts journalled after it, in order. each gets facts valid for the call only;
 * non-zero ends it and is returned. Called once, before the first commit. */
BERTH_MUST_USE int berth_store_load(struct berth_store *store, int (*each)(void *arg, const struct berth_fact *fact),
                                    void *arg, struct berth_error *err);

/* Number of the last durable journal row; 0 = none. */
uint64_t berth_store_last_seq(const struct berth_store *store);

/* --- writing: one transaction at a time, made on the loop, written by the thread ------------------------- */

struct berth_blob {   /* a specification: kept under its SHA-256, written once however often it is asked for */
	char key[65]; /* lower-case hex of the SHA-256 of the body: berth_blob_make fills it */
	const void *body;
	size_t len;
};
/* key from body. */
void berth_blob_make(struct berth_blob *blob, const void *body, size_t len);

struct berth_history_row {
	uint64_t job;
	uint32_t uid;
	const char *user, *name, *state;
	uint64_t submit_ms, start_ms, end_ms; /* start_ms 0 = never ran */
	const char *json;                     /* the job as `berth show --json` gives it */
};
struct berth_submission { /* so that a retried submit after a lost answer makes no second job */
	uint32_t uid;
	const char *key; /* client-made, at most 128 bytes */
	uint64_t first_job;
	uint32_t n; /* ids first_job .. first_job+n-1 */
	uint64_t at_ms;
};

/* What one transaction writes. Everything pointed to lives until the commit is reported. */
struct berth_transaction {
	const struct berth_fact *facts; /* seq set: consecutive, following the journal */
	size_t n_facts;
	const struct berth_blob *blobs;
	size_t n_blobs;
	const struct berth_history_row *history;
	size_t n_history;
	const struct berth_submission *submissions;
	size_t n_submissions;
};

/* Hand a transaction to the writer. -EBUSY while one is in flight. Not waited for. One with nothing in it tries whether
 * the disk takes writes. */
BERTH_MUST_USE int berth_store_commit(struct berth_store *store, const struct berth_transaction *tx);
bool berth_store_is_busy(const struct berth_store *store);
/* Readable when a commit was decided. */
int berth_store_fd(const struct berth_store *store);
/* The decided commit: 1 and its result in ret_result (0 durable; -ENOSPC, -EDQUOT disk full and rolled back; -EIO and
 * others: rolled back as far as the disk tells, and the store is poisoned: every later commit fails the same way and
 * the daemon must end and read the truth again). 0 when none was decided yet. */
int berth_store_take(struct berth_store *store, int *ret_result, struct berth_error *err);
/* Wait for the commit in flight; then berth_store_take. For shutdown. */
void berth_store_wait(struct berth_store *store);

/* A snapshot: facts that, folded into an empty core, give the state after journal row seq. Allocated with malloc; the
 * facts and their strings live in its arena. */
struct berth_snapshot {
	struct berth_arena arena;
	struct berth_fact *facts;
	size_t n;
	uint64_t seq, at_ms;
};
/* NULL allowed. */
void berth_snapshot_free(struct berth_snapshot *snapshot);
/* Hand it to the writer, which owns it from here on, also on failure. It is written in slices between the transactions,
 * so that none waits long for it; once whole, what it makes superfluous is removed: snapshots and journal but for the
 * last two (the journal from the elder of the two on stays), specifications that no live job names, keys of submissions
 * older than BERTH_SUBMISSION_KEPT_MS. A full disk gives it up without harm. -EBUSY while a transaction is in flight;
 * -EINVAL when seq is not the last journal row. */
int berth_store_snapshot(struct berth_store *store, struct berth_snapshot *snapshot);
/* Is one being written? */
bool berth_store_is_snapshotting(const struct berth_store *store);
/* Of the newest whole snapshot, 0 = none. */
uint64_t berth_store_snapshot_seq(const struct berth_store *store);
#define BERTH_SUBMISSION_KEPT_MS (7 * UINT64_C(86400000))

/* Number of transactions committed and of fsyncs of database and write-ahead log so far (checkpoints included), for
 * metrics. */
void berth_store_counts(const struct berth_store *store, uint64_t *ret_commits, uint64_t *ret_fsyncs);

/* --- reading (own connection, loop thread; sees what is committed) --------------------------------------- */

/* The body of a blob: allocated for the caller. -ENOENT, -EBADMSG. */
BERTH_MUST_USE int berth_store_blob(struct berth_store *store, const char *key, void **ret, size_t *ret_len);
/* first job and count of an earlier submission: 1 found, 0 not, or -errno. */
int berth_store_submission(struct berth_store *store, uint32_t uid, const char *key, uint64_t *ret_first,
                           uint32_t *ret_n);
struct berth_history_query {
	uint64_t job;        /* 0 = any */
	const char *user;    /* NULL = any */
	const char *state;   /* NULL = any */
	uint64_t since_ms;   /* ended at or after; 0 = any */
	uint64_t before_job; /* ids below; 0 = any: for paging */
	size_t limit;        /* rows at most */
};
/* Newest job first. each: non-zero ends it and is returned. json lives for the call. */
BERTH_MUST_USE int berth_store_history(struct berth_store *store, const struct berth_history_query *query,
                                       int (*each)(void *arg, uint64_t job, const char *json), void *arg,
                                       struct berth_error *err);

/* Small durable settings of the daemon itself (secret of sign-in links, first start …): synchronous, at start only.
 * get: allocated for the caller; -ENOENT, -EBADMSG. put: -EBUSY while a transaction is in flight, others as a commit.
 */
BERTH_MUST_USE int berth_store_setting_get(struct berth_store *store, const char *name, char **ret);
BERTH_MUST_USE int berth_store_setting_put(struct berth_store *store, const char *name, const char *value);

/* --- facts as JSON rows (used by the journal, by tests and by tools) ------------------------------------- */

/* {"job":1,"attempt":1,…}: the fields of the kind by its shape; devices as an array of ids. Allocated; NULL when memory
 * is out. */
char *berth_fact_to_json(const struct berth_fact *fact);
/* The reverse: kind, seq, at_ms are set by the caller beforehand, strings go into arena. Unknown fields are ignored (a
 * newer minor version wrote them), missing ones stay zero/"" (an older one did). -EBADMSG malformed, err says where. */
BERTH_MUST_USE int berth_fact_from_json(struct berth_fact *fact, const char *json, struct berth_arena *arena,
                                        struct berth_error *err);
#endif
