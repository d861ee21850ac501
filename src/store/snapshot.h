#ifndef BERTH_STORE_SNAPSHOT_H
#define BERTH_STORE_SNAPSHOT_H
/* Snapshots in the database: a mark in table snapshot, its facts in table snapshot_fact, as rows mark.first to
 * mark.first + mark.n - 1. The mark is written last: facts that belong to no mark are a snapshot that was not finished,
 * and count for nothing. The last two are kept. The journal is kept from the elder of them on (from row 1 while there
 * are fewer than two), so that its chain can be checked from the row number and seal in that mark. */
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>
#include "base/text.h"
#include "core/fact.h"
#include "store/head.h"

#define BERTH_SNAPSHOT_TABLE "snapshot"
#define BERTH_SNAPSHOT_FACT_TABLE "snapshot_fact"
#define BERTH_SNAPSHOTS_KEPT 2

struct berth_snapshot_mark {
	struct berth_head at;     /* the last journal row that is in it */
	uint64_t at_ms;           /* and its time */
	uint64_t first, n;        /* rows of snapshot_fact */
	struct berth_seal digest; /* seal of the last of them */
};

/* The newest marks, newest first, at most two; *ret_n how many. Their own seals are checked. */
BERTH_MUST_USE int berth_snapshot_marks(sqlite3 *db, struct berth_snapshot_mark ret[static BERTH_SNAPSHOTS_KEPT],
                                        size_t *ret_n, struct berth_error *err);
/* Where the kept journal begins: the row before it. */
void berth_snapshot_anchor(const struct berth_snapshot_mark *marks, size_t n, struct berth_head *ret);
/* Check the facts of a snapshot. -EBADMSG names the row. */
BERTH_MUST_USE int berth_snapshot_verify(sqlite3 *db, const struct berth_snapshot_mark *mark, struct berth_error *err);
/* Every fact, as berth_journal_read. seq and at_ms of each are the mark's. */
BERTH_MUST_USE int berth_snapshot_read(sqlite3 *db, const struct berth_snapshot_mark *mark,
                                       int (*each)(void *arg, const struct berth_fact *fact), void *arg,
                                       struct berth_error *err);

/* --- writing, by the writer thread, each call inside the caller's transaction ---------------------------- */

struct berth_snapshot_pen {
	sqlite3_stmt *add, *finish;
	struct berth_text body;
};

BERTH_MUST_USE int berth_snapshot_pen_init(struct berth_snapshot_pen *pen, sqlite3 *db, struct berth_error *err);
void berth_snapshot_pen_fini(struct berth_snapshot_pen *pen);
/* Begin behind all rows that are there: sets mark->first, n = 0. */
BERTH_MUST_USE int berth_snapshot_begin(sqlite3 *db, struct berth_snapshot_mark *mark, struct berth_error *err);
/* Add facts; moves mark->n and mark->digest on. Errors as berth_db_code, the mark then as before. */
BERTH_MUST_USE int berth_snapshot_add(struct berth_snapshot_pen *pen, const struct berth_fact *facts, size_t n,
                                      struct berth_snapshot_mark *mark, struct berth_error *err);
/* Write the mark: from now on the snapshot counts. */
BERTH_MUST_USE int berth_snapshot_finish(struct berth_snapshot_pen *pen, const struct berth_snapshot_mark *mark,
                                         struct berth_error *err);
#endif
