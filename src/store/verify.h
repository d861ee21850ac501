#ifndef BERTH_STORE_VERIFY_H
#define BERTH_STORE_VERIFY_H
/* The whole check of a database at open: structure by SQLite, content by our seals. */
#include <sqlite3.h>
#include "store/snapshot.h"

struct berth_verified {
	struct berth_snapshot_mark marks[BERTH_SNAPSHOTS_KEPT]; /* newest first */
	size_t n_marks;
	struct berth_head head; /* the last journal row */
};

/* Pages, cells, indexes: -EBADMSG with what SQLite found first. Before anything else is read, and before a migration.
 */
BERTH_MUST_USE int berth_verify_structure(sqlite3 *db, struct berth_error *err);
/* Every row of every table. -EBADMSG names table and row. */
BERTH_MUST_USE int berth_verify_rows(sqlite3 *db, struct berth_verified *ret, struct berth_error *err);
/* Does the journal reach to what the head file says? -EBADMSG with the first missing row; also when the row that the
 * head names is another one. */
BERTH_MUST_USE int berth_verify_head(sqlite3 *db, const struct berth_verified *verified, const struct berth_head *head,
                                     struct berth_error *err);
#endif
