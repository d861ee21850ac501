#ifndef BERTH_STORE_KEEPER_H
#define BERTH_STORE_KEEPER_H
/* Keeping the database small: writes snapshots and removes what a newer snapshot makes superfluous, in slices of a few
 * milliseconds between the transactions that people wait for. All by the writer thread.
 *
 * A slice is a transaction of its own and is not flushed: the WAL keeps the order, so after a power failure the
 * database is as it was after some earlier slice. What is removed: snapshots but for the last two with their facts and
 * those never finished; the journal before the elder of the two; submissions' keys after BERTH_SUBMISSION_KEPT_MS;
 * specifications that no job of the snapshot and nothing submitted since names.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include "store/snapshot.h"
#include "store/spec.h"

enum berth_keeper_phase {
	BERTH_KEEPER_IDLE = 0,
	BERTH_KEEPER_WRITE, /* the facts of the snapshot, then its mark */
	BERTH_KEEPER_FACTS, /* from here on: remove */
	BERTH_KEEPER_JOURNAL,
	BERTH_KEEPER_SUBMISSIONS,
	BERTH_KEEPER_SPECS,
	BERTH_KEEPER_PHASE_COUNT
};

struct berth_keeper {
	sqlite3 *db; /* borrowed */
	enum berth_keeper_phase phase;
	struct berth_snapshot_pen pen;
	struct berth_snapshot *snapshot;                        /* being written, owned; NULL = none */
	struct berth_snapshot_mark mark;                        /* of it */
	struct berth_snapshot_mark marks[BERTH_SNAPSHOTS_KEPT]; /* the newest finished ones, newest first */
	size_t n_marks;
	struct berth_spec_keep keep;
	bool has_keep;   /* keep is whole: a snapshot was written since it was begun */
	int64_t spec_at; /* how far the specifications were looked at */
};

/* marks: as read at open; copied. Begins with removing what an earlier run left. */
BERTH_MUST_USE int berth_keeper_init(struct berth_keeper *keeper, sqlite3 *db, const struct berth_snapshot_mark *marks,
                                     size_t n_marks, struct berth_error *err);
void berth_keeper_fini(struct berth_keeper *keeper);
/* Write this snapshot, made when at was the last journal row. It is owned from here on. One that is being written is
 * given up. */
void berth_keeper_take(struct berth_keeper *keeper, struct berth_snapshot *snapshot, const struct berth_head *at);
/* A transaction with these specifications was made durable: none of them may be removed. */
void berth_keeper_note(struct berth_keeper *keeper, const struct berth_blob *blobs, size_t n);
bool berth_keeper_has_work(const struct berth_keeper *keeper);
/* One slice. On failure it is rolled back, and what was begun is given up: -ENOSPC and -EDQUOT do no harm then. */
BERTH_MUST_USE int berth_keeper_step(struct berth_keeper *keeper, struct berth_error *err);
#endif
