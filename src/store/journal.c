#include "store/journal.h"

#include <errno.h>
#include <inttypes.h>
#include "store/db.h"
#include "store/fact_json.h"
#include "store/store.h"

int berth_journal_init(struct berth_journal *journal, sqlite3 *db, struct berth_error *err)
{
	*journal = (struct berth_journal){0};
	return berth_db_prepare(db, "INSERT INTO journal(seq, at_ms, kind, body, seal) VALUES(?, ?, ?, ?, ?)",
	                        &journal->append, err);
}

void berth_journal_fini(struct berth_journal *journal)
{
	sqlite3_finalize(journal->append);
	berth_text_fini(&journal->body);
}

static int append_one(struct berth_journal *journal, const struct berth_fact *fact, struct berth_head *head,
                      struct berth_error *err)
{
	const struct berth_fact_shape *shape = berth_fact_shape(fact->kind);
	struct berth_value row[4];
	int rc;

	if (fact->seq != head->seq + 1 || !shape)
		return berth_error_set(err, -EINVAL, "journal row %" PRIu64 " cannot follow row %" PRIu64, fact->seq,
		                       head->seq);
	journal->body.len = 0;
	berth_fact_json_write(fact, &journal->body);
	if (journal->body.is_failed)
		return berth_error_set(err, -ENOMEM, "no memory to write journal row %" PRIu64, fact->seq);
	row[0] = berth_value_number(fact->seq);
	row[1] = berth_value_number(fact->at_ms);
	row[2] = berth_value_text(shape->name);
	row[3] = (struct berth_value){.type = SQLITE_TEXT, .data = journal->body.at, .n = journal->body.len};
	rc = berth_row_insert(journal->append, BERTH_JOURNAL_TABLE, &head->seal, row, 4, &head->seal);
	if (rc != SQLITE_DONE)
		return berth_db_error(sqlite3_db_handle(journal->append), rc, err, "writing the journal");
	head->seq = fact->seq;
	return 0;
}

int berth_journal_append(struct berth_journal *journal, const struct berth_fact *facts, size_t n,
                         struct berth_head *head, struct berth_error *err)
{
	struct berth_head end = *head;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = append_one(journal, &facts[i], &end, err);
	if (r == 0)
		*head = end;
	return r;
}

static int damaged(struct berth_error *err, uint64_t seq, const char *how)
{
	return berth_error_set(err, -EBADMSG, "table journal, row %" PRIu64 " %s: restore a backup", seq, how);
}

static int select_behind(sqlite3 *db, uint64_t after, sqlite3_stmt **ret, struct berth_error *err)
{
	int r = berth_db_prepare(db, "SELECT seq, at_ms, kind, body, seal FROM journal WHERE seq > ? ORDER BY seq", ret,
	                         err);

	if (r == 0)
		(void)sqlite3_bind_int64(*ret, 1, (sqlite3_int64)after);
	return r;
}

int berth_journal_verify(sqlite3 *db, const struct berth_head *from, const struct berth_head *cross,
                         struct berth_head *ret, struct berth_error *err)
{
	BERTH_AUTO_STMT sqlite3_stmt *stmt = NULL;
	struct berth_head end = *from;
	int rc, r = select_behind(db, from->seq, &stmt, err);

	if (r < 0)
		return r;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const uint64_t seq = (uint64_t)sqlite3_column_int64(stmt, 0);

		if (seq != end.seq + 1)
			return damaged(err, end.seq + 1, "is missing");
		if (!berth_row_is_sound(stmt, BERTH_JOURNAL_TABLE, &end.seal, 4, &end.seal))
			return damaged(err, seq, "is damaged");
		end.seq = seq;
		if (cross && cross->seq == seq && memcmp(&cross->seal, &end.seal, sizeof(end.seal)) != 0)
			return damaged(err, seq, "is not the one that the snapshot was made on");
	}
	if (rc != SQLITE_DONE)
		return berth_db_error(db, rc, err, "reading table journal");
	if (cross && cross->seq > end.seq)
		return damaged(err, end.seq + 1, "is missing");
	*ret = end;
	return 0;
}

int berth_journal_seal(sqlite3 *db, uint64_t seq, struct berth_seal *ret, struct berth_error *err)
{
	BERTH_AUTO_STMT sqlite3_stmt *stmt = NULL;
	int rc, r = berth_db_prepare(db, "SELECT seal FROM journal WHERE seq = ?", &stmt, err);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(stmt, 1, (sqlite3_int64)seq);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_DONE)
		return -ENOENT;
	if (rc != SQLITE_ROW)
		return berth_db_error(db, rc, err, "reading table journal");
	return berth_column_seal(stmt, 0, ret) ? 0 : damaged(err, seq, "is damaged");
}

static int read_row(sqlite3_stmt *stmt, struct berth_arena *arena, struct berth_fact *ret, struct berth_error *err)
{
	struct berth_error why = {0};
	int r;

	*ret = (struct berth_fact){
		.seq = (uint64_t)sqlite3_column_int64(stmt, 0),
		.at_ms = (uint64_t)sqlite3_column_int64(stmt, 1),
		.kind = berth_fact_kind_from_name(berth_column_text(stmt, 2)),
	};
	if (ret->kind == BERTH_FACT_UNKNOWN)
		return berth_error_set(err, -EBADMSG,
		                       "table journal, row %" PRIu64 " is a '%s', which this version does not know",
		                       ret->seq, berth_column_text(stmt, 2));
	r = berth_fact_from_json(ret, berth_column_text(stmt, 3), arena, &why);
	return r < 0 ? berth_error_set(err, r, "table journal, row %" PRIu64 ": %s", ret->seq, why.text) : 0;
}

int berth_journal_read(sqlite3 *db, uint64_t after, int (*each)(void *arg, const struct berth_fact *fact), void *arg,
                       struct berth_error *err)
{
	BERTH_AUTO_ARENA struct berth_arena arena = {0};
	BERTH_AUTO_STMT sqlite3_stmt *stmt = NULL;
	struct berth_fact fact;
	int rc, r = select_behind(db, after, &stmt, err);

	if (r < 0)
		return r;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		berth_arena_reset(&arena);
		r = read_row(stmt, &arena, &fact, err);
		if (r == 0)
			r = each(arg, &fact);
		if (r != 0)
			return r;
	}
	return rc == SQLITE_DONE ? 0 : berth_db_error(db, rc, err, "reading table journal");
}
