#include "store/verify.h"

#include <errno.h>
#include <inttypes.h>
#include "store/db.h"
#include "store/journal.h"
#include "store/record.h"
#include "store/spec.h"

int berth_verify_structure(sqlite3 *db, struct berth_error *err)
{
	BERTH_AUTO_STMT sqlite3_stmt *stmt = NULL;
	int rc, r = berth_db_prepare(db, "PRAGMA integrity_check(1)", &stmt, err);

	if (r < 0)
		return r;
	rc = sqlite3_step(stmt);
	if (rc != SQLITE_ROW)
		return berth_db_error(db, rc, err, "checking the pages of the database");
	if (strcmp(berth_column_text(stmt, 0), "ok") == 0)
		return 0;
	return berth_error_set(err, -EBADMSG, "the pages of the database are damaged: %.120s: restore a backup",
	                       berth_column_text(stmt, 0));
}

int berth_verify_rows(sqlite3 *db, struct berth_verified *ret, struct berth_error *err)
{
	struct berth_verified found = {0};
	struct berth_head anchor;
	int r = berth_snapshot_marks(db, found.marks, &found.n_marks, err);

	for (size_t i = 0; i < found.n_marks && r == 0; i++)
		r = berth_snapshot_verify(db, &found.marks[i], err);
	if (r == 0) {
		berth_snapshot_anchor(found.marks, found.n_marks, &anchor);
		r = berth_journal_verify(db, &anchor, found.n_marks ? &found.marks[0].at : NULL, &found.head, err);
	}
	if (r == 0)
		r = berth_spec_verify(db, err);
	if (r == 0)
		r = berth_record_verify(db, err);
	if (r == 0)
		*ret = found;
	return r;
}

int berth_verify_head(sqlite3 *db, const struct berth_verified *verified, const struct berth_head *head,
                      struct berth_error *err)
{
	struct berth_seal seal = verified->head.seal;
	int r = 0;

	if (head->seq > verified->head.seq)
		return berth_error_set(err, -EBADMSG,
		                       "table journal, row %" PRIu64 " is missing (%s knows of row %" PRIu64
		                       "): the write-ahead log was lost "
		                       "or cut, or an older backup put back; to go on with it knowingly, remove %s",
		                       verified->head.seq + 1, BERTH_HEAD_NAME, head->seq, BERTH_HEAD_NAME);
	if (head->seq == 0)
		return 0;
	if (head->seq < verified->head.seq)
		r = berth_journal_seal(db, head->seq, &seal, err);
	if (r == -ENOENT) /* pruned long ago: the head file is that old */
		return 0;
	if (r == 0 && memcmp(&seal, &head->seal, sizeof(seal)) != 0)
		return berth_error_set(err, -EBADMSG,
		                       "table journal, row %" PRIu64
		                       " is not the one that %s knows: another database was put here; "
		                       "to go on with it knowingly, remove %s",
		                       head->seq, BERTH_HEAD_NAME, BERTH_HEAD_NAME);
	return r;
}
