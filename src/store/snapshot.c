#include "store/snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include "store/db.h"
#include "store/fact_json.h"
#include "store/store.h"

static int damaged(struct berth_error *err, const char *table, uint64_t row, const char *how)
{
	return berth_error_set(err, -EBADMSG, "table %s, row %" PRIu64 " %s: restore a backup", table, row, how);
}

/* --- reading --------------------------------------------------------------------------------------------- */

static int read_mark(sqlite3_stmt *stmt, struct berth_snapshot_mark *ret, struct berth_error *err)
{
	const uint64_t seq = (uint64_t)sqlite3_column_int64(stmt, 0);

	*ret = (struct berth_snapshot_mark){
		.at.seq = seq,
		.at_ms = (uint64_t)sqlite3_column_int64(stmt, 1),
		.first = (uint64_t)sqlite3_column_int64(stmt, 2),
		.n = (uint64_t)sqlite3_column_int64(stmt, 3),
	};
	if (!berth_row_is_sound(stmt, BERTH_SNAPSHOT_TABLE, NULL, 6, NULL) ||
	    !berth_column_seal(stmt, 4, &ret->at.seal) || !berth_column_seal(stmt, 5, &ret->digest))
		return damaged(err, BERTH_SNAPSHOT_TABLE, seq, "is damaged");
	return 0;
}

int berth_snapshot_marks(sqlite3 *db, struct berth_snapshot_mark ret[static BERTH_SNAPSHOTS_KEPT], size_t *ret_n,
                         struct berth_error *err)
{
	BERTH_AUTO_STMT sqlite3_stmt *stmt = NULL;
	size_t n = 0;
	int rc = SQLITE_DONE;
	int r = berth_db_prepare(db, "SELECT seq, at_ms, first, n, chain, digest, seal FROM snapshot ORDER BY seq DESC",
	                         &stmt, err);

	while (r == 0 && n < BERTH_SNAPSHOTS_KEPT && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
		r = read_mark(stmt, &ret[n++], err);
	if (r == 0 && rc != SQLITE_ROW && rc != SQLITE_DONE)
		r = berth_db_error(db, rc, err, "reading table snapshot");
	if (r == 0)
		*ret_n = n;
	return r;
}

void berth_snapshot_anchor(const struct berth_snapshot_mark *marks, size_t n, struct berth_head *ret)
{
	*ret = n < BERTH_SNAPSHOTS_KEPT ? (struct berth_head){0} : marks[n - 1].at;
}

static int select_facts(sqlite3 *db, const struct berth_snapshot_mark *mark, sqlite3_stmt **ret,
                        struct berth_error *err)
{
	int r = berth_db_prepare(
		db, "SELECT id, kind, body, seal FROM snapshot_fact WHERE id >= ? AND id < ? ORDER BY id", ret, err);

	if (r == 0) {
		(void)sqlite3_bind_int64(*ret, 1, (sqlite3_int64)mark->first);
		(void)sqlite3_bind_int64(*ret, 2, (sqlite3_int64)(mark->first + mark->n));
	}
	return r;
}

int berth_snapshot_verify(sqlite3 *db, const struct berth_snapshot_mark *mark, struct berth_error *err)
{
	BERTH_AUTO_STMT sqlite3_stmt *stmt = NULL;
	struct berth_seal seal = {0};
	uint64_t n = 0;
	int rc, r = select_facts(db, mark, &stmt, err);

	if (r < 0)
		return r;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const uint64_t id = (uint64_t)sqlite3_column_int64(stmt, 0);

		if (id != mark->first + n)
			return damaged(err, BERTH_SNAPSHOT_FACT_TABLE, mark->first + n, "is missing");
		if (!berth_row_is_sound(stmt, BERTH_SNAPSHOT_FACT_TABLE, &seal, 3, &seal))
			return damaged(err, BERTH_SNAPSHOT_FACT_TABLE, id, "is damaged");
		n++;
	}
	if (rc != SQLITE_DONE)
		return berth_db_error(db, rc, err, "reading table snapshot_fact");
	if (n != mark->n)
		return damaged(err, BERTH_SNAPSHOT_FACT_TABLE, mark->first + n, "is missing");
	if (memcmp(&seal, &mark->digest, sizeof(seal)) != 0)
		return damaged(err, BERTH_SNAPSHOT_TABLE, mark->at.seq,
		               "belongs to other facts than table snapshot_fact holds");
	return 0;
}

static int read_fact(sqlite3_stmt *stmt, struct berth_arena *arena, struct berth_fact *fact, struct berth_error *err)
{
	const char *kind = berth_column_text(stmt, 1);
	const int64_t id = sqlite3_column_int64(stmt, 0);
	struct berth_error why = {0};
	int r;

	fact->kind = berth_fact_kind_from_name(kind);
	if (fact->kind == BERTH_FACT_UNKNOWN)
		return berth_error_set(
			err, -EBADMSG,
			"table snapshot_fact, row %" PRId64 " is a '%s', which this version does not know", id, kind);
	r = berth_fact_from_json(fact, berth_column_text(stmt, 2), arena, &why);
	return r < 0 ? berth_error_set(err, r, "table snapshot_fact, row %" PRId64 ": %s", id, why.text) : 0;
}

int berth_snapshot_read(sqlite3 *db, const struct berth_snapshot_mark *mark,
                        int (*each)(void *arg, const struct berth_fact *fact), void *arg, struct berth_error *err)
{
	BERTH_AUTO_ARENA struct berth_arena arena = {0};
	BERTH_AUTO_STMT sqlite3_stmt *stmt = NULL;
	int rc, r = select_facts(db, mark, &stmt, err);

	if (r < 0)
		return r;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct berth_fact fact = {.seq = mark->at.seq, .at_ms = mark->at_ms};

		berth_arena_reset(&arena);
		r = read_fact(stmt, &arena, &fact, err);
		if (r == 0)
			r = each(arg, &fact);
		if (r != 0)
			return r;
	}
	return rc == SQLITE_DONE ? 0 : berth_db_error(db, rc, err, "reading table snapshot_fact");
}

/* --- writing --------------------------------------------------------------------------------------------- */

int berth_snapshot_pen_init(struct berth_snapshot_pen *pen, sqlite3 *db, struct berth_error *err)
{
	int r;

	*pen = (struct berth_snapshot_pen){0};
	r = berth_db_prepare(db, "INSERT INTO snapshot_fact(id, kind, body, seal) VALUES(?, ?, ?, ?)", &pen->add, err);
	if (r == 0)
		r = berth_db_prepare(
			db,
			"INSERT INTO snapshot(seq, at_ms, first, n, chain, digest, seal) VALUES(?, ?, ?, ?, ?, ?, ?)",
			&pen->finish, err);
	return r;
}

void berth_snapshot_pen_fini(struct berth_snapshot_pen *pen)
{
	sqlite3_finalize(pen->add);
	sqlite3_finalize(pen->finish);
	berth_text_fini(&pen->body);
}

int berth_snapshot_begin(sqlite3 *db, struct berth_snapshot_mark *mark, struct berth_error *err)
{
	int64_t last = 0;
	int r = berth_db_number(db, "SELECT coalesce(max(id), 0) FROM snapshot_fact", &last, err);

	if (r < 0)
		return r;
	mark->first = (uint64_t)last + 1;
	mark->n = 0;
	mark->digest = (struct berth_seal){0};
	return 0;
}

static int add_one(struct berth_snapshot_pen *pen, const struct berth_fact *fact, struct berth_snapshot_mark *mark,
                   struct berth_error *err)
{
	struct berth_value row[3];
	int rc;

	pen->body.len = 0;
	berth_fact_json_write(fact, &pen->body);
	if (pen->body.is_failed)
		return berth_error_set(err, -ENOMEM, "no memory to write a snapshot");
	row[0] = berth_value_number(mark->first + mark->n);
	row[1] = berth_value_text(berth_fact_shape(fact->kind)->name);
	row[2] = (struct berth_value){.type = SQLITE_TEXT, .data = pen->body.at, .n = pen->body.len};
	rc = berth_row_insert(pen->add, BERTH_SNAPSHOT_FACT_TABLE, &mark->digest, row, 3, &mark->digest);
	if (rc != SQLITE_DONE)
		return berth_db_error(sqlite3_db_handle(pen->add), rc, err, "writing a snapshot");
	mark->n++;
	return 0;
}

int berth_snapshot_add(struct berth_snapshot_pen *pen, const struct berth_fact *facts, size_t n,
                       struct berth_snapshot_mark *mark, struct berth_error *err)
{
	struct berth_snapshot_mark grown = *mark;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = add_one(pen, &facts[i], &grown, err);
	if (r == 0)
		*mark = grown;
	return r;
}

int berth_snapshot_finish(struct berth_snapshot_pen *pen, const struct berth_snapshot_mark *mark,
                          struct berth_error *err)
{
	const struct berth_value row[] = {
		berth_value_number(mark->at.seq),
		berth_value_number(mark->at_ms),
		berth_value_number(mark->first),
		berth_value_number(mark->n),
		berth_value_blob(mark->at.seal.bytes, BERTH_SEAL_BYTES),
		berth_value_blob(mark->digest.bytes, BERTH_SEAL_BYTES),
	};
	int rc = berth_row_insert(pen->finish, BERTH_SNAPSHOT_TABLE, NULL, row, 6, NULL);

	return rc == SQLITE_DONE ? 0 : berth_db_error(sqlite3_db_handle(pen->finish), rc, err, "finishing a snapshot");
}
