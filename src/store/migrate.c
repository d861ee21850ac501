#include "store/migrate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "store/db.h"
#include "store/seal.h"

/* Sealed tables end with their seal (store/seal.h). snapshot.digest is the seal of its last row in snapshot_fact, whose
 * rows are chained; snapshot.chain is the seal of journal row seq, from which the journal goes on. */
const char *const berth_migrations[] = {
	"CREATE TABLE journal(seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,"
	" seal BLOB NOT NULL) STRICT;"
	"CREATE TABLE snapshot(seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, first INTEGER NOT NULL,"
	" n INTEGER NOT NULL, chain BLOB NOT NULL, digest BLOB NOT NULL, seal BLOB NOT NULL) STRICT;"
	"CREATE TABLE snapshot_fact(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL,"
	" seal BLOB NOT NULL) STRICT;"
	"CREATE TABLE spec(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, body BLOB NOT NULL) STRICT;"
	"CREATE TABLE submission(uid INTEGER NOT NULL, key TEXT NOT NULL, first_job INTEGER NOT NULL,"
	" n INTEGER NOT NULL, at_ms INTEGER NOT NULL, seal BLOB NOT NULL, PRIMARY KEY(uid, key)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE history(job INTEGER PRIMARY KEY, uid INTEGER NOT NULL, user TEXT NOT NULL, name TEXT NOT NULL,"
	" state TEXT NOT NULL, submit_ms INTEGER NOT NULL, start_ms INTEGER NOT NULL, end_ms INTEGER NOT NULL,"
	" json TEXT NOT NULL, seal BLOB NOT NULL) STRICT;"
	"CREATE INDEX history_user ON history(user, job);"
	"CREATE INDEX history_state ON history(state, job);"
	"CREATE INDEX history_end ON history(end_ms, job);"
	"CREATE TABLE setting(name TEXT PRIMARY KEY, value TEXT NOT NULL, seal BLOB NOT NULL) STRICT, WITHOUT ROWID;",
};
const size_t berth_migrations_count = sizeof(berth_migrations) / sizeof(*berth_migrations);

/* Where a copy of the version stands under a seal: a flipped bit in the header's number must not pass for a newer
 * version or, worse, for an older one. */
#define VERSION_SETTING "schema version"

static int check_header(int64_t id, int64_t version, int64_t tables, struct berth_error *err)
{
	if (tables == 0 && version == 0)
		return 0;
	if (id != BERTH_APPLICATION_ID)
		return berth_error_set(
			err, -EBADMSG,
			"the database is not one of berth, or its first page is damaged (application id %08" PRIx64
			"): restore a backup",
			(uint64_t)id & 0xffffffffu);
	if (version < 1 || tables == 0)
		return berth_error_set(err, -EBADMSG,
		                       "the first page of the database is damaged: version %" PRId64 " with %" PRId64
		                       " tables: restore a backup",
		                       version, tables);
	return 0;
}

static int check_version(sqlite3 *db, int64_t version, struct berth_error *err)
{
	BERTH_AUTO_STMT sqlite3_stmt *stmt = NULL;
	char wanted[24];
	int rc, r = berth_db_prepare(db, "SELECT name, value, seal FROM setting WHERE name = '" VERSION_SETTING "'",
	                             &stmt, err);

	if (r < 0)
		return r;
	rc = sqlite3_step(stmt);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return berth_db_error(db, rc, err, "reading the database's version");
	(void)snprintf(wanted, sizeof(wanted), "%" PRId64, version);
	if (rc == SQLITE_ROW && berth_row_is_sound(stmt, "setting", NULL, 2, NULL) &&
	    strcmp(berth_column_text(stmt, 1), wanted) == 0)
		return 0;
	return berth_error_set(err, -EBADMSG,
	                       "table setting, row '" VERSION_SETTING
	                       "', does not agree with the first page, which says %s: "
	                       "one of them is damaged: restore a backup",
	                       wanted);
}

static int write_version(sqlite3 *db, size_t version, struct berth_error *err)
{
	BERTH_AUTO_STMT sqlite3_stmt *stmt = NULL;
	char number[24], pragma[96];
	int r = berth_db_prepare(db, "INSERT OR REPLACE INTO setting(name, value, seal) VALUES(?, ?, ?)", &stmt, err);

	if (r < 0)
		return r;
	(void)snprintf(number, sizeof(number), "%zu", version);
	{
		const struct berth_value row[] = {berth_value_text(VERSION_SETTING), berth_value_text(number)};
		int rc = berth_row_insert(stmt, "setting", NULL, row, 2, NULL);

		if (rc != SQLITE_DONE)
			return berth_db_error(db, rc, err, "writing the database's version");
	}
	/* A pragma takes no parameters; these two are numbers of ours. */
	(void)snprintf(pragma, sizeof(pragma), "PRAGMA user_version=%zu; PRAGMA application_id=%d", version,
	               BERTH_APPLICATION_ID);
	return berth_db_exec(db, pragma, err);
}

static int make_durable(const char *dir, const char *path)
{
	BERTH_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	BERTH_AUTO_CLOSE int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || dirfd < 0 || fsync(fd) < 0 || fsync(dirfd) < 0 ? -errno : 0;
}

static int keep_copy(sqlite3 *db, const char *dir, int64_t version, struct berth_error *err)
{
	BERTH_AUTO_TEXT struct berth_text path = {0};
	BERTH_AUTO_STMT sqlite3_stmt *stmt = NULL;
	int r, rc;

	berth_text_addf(&path, "%s/berth-before-%" PRId64 ".db", dir, version + 1);
	if (path.is_failed)
		return berth_error_set(err, -ENOMEM, "no memory to copy the database");
	if (unlink(path.at) < 0 && errno != ENOENT)
		return berth_error_errno(err, -errno, "removing the old %s", path.at);
	r = berth_db_prepare(db, "VACUUM INTO ?", &stmt, err);
	if (r < 0)
		return r;
	{
		const struct berth_value row[] = {berth_value_text(path.at)};

		rc = berth_row_run(stmt, row, 1);
	}
	if (rc != SQLITE_DONE)
		return berth_db_error(db, rc, err, "copying the database before it is changed");
	r = make_durable(dir, path.at);
	return r < 0 ? berth_error_errno(err, r, "making %s durable", path.at) : 0;
}

static int run_steps(sqlite3 *db, const char *const *steps, size_t from, size_t to, struct berth_error *err)
{
	int r = berth_db_exec(db, "BEGIN IMMEDIATE", err);

	for (size_t i = from; i < to && r == 0; i++)
		r = berth_db_exec(db, steps[i], err);
	if (r == 0)
		r = write_version(db, to, err);
	if (r == 0)
		r = berth_db_exec(db, "COMMIT", err);
	if (r < 0 && !sqlite3_get_autocommit(db))
		(void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

int berth_migrate(sqlite3 *db, const char *dir, const char *const *steps, size_t n_steps, struct berth_error *err)
{
	int64_t id = 0, version = 0, tables = 0;
	int r = berth_db_number(db, "PRAGMA application_id", &id, err);

	if (r == 0)
		r = berth_db_number(db, "PRAGMA user_version", &version, err);
	if (r == 0)
		r = berth_db_number(db, "SELECT count(*) FROM sqlite_schema", &tables, err);
	if (r == 0)
		r = check_header(id, version, tables, err);
	if (r == 0 && version > 0)
		r = check_version(db, version, err);
	if (r < 0 || version == (int64_t)n_steps)
		return r;
	if (version > (int64_t)n_steps)
		return berth_error_set(err, -EPROTONOSUPPORT,
		                       "the database has version %" PRId64 ", this berth knows up to %zu: "
		                       "start the newer berth that made it",
		                       version, n_steps);
	if (version > 0)
		r = keep_copy(db, dir, version, err);
	return r < 0 ? r : run_steps(db, steps, (size_t)version, n_steps, err);
}

/* --- the tables word for word ---------------------------------------------------------------------------- */

static int make_model(const char *const *steps, size_t n_steps, sqlite3 **ret, struct berth_error *err)
{
	int rc = sqlite3_open_v2(":memory:", ret, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	int r = rc == SQLITE_OK ? 0 : berth_db_error(*ret, rc, err, "making a model of the tables");

	for (size_t i = 0; i < n_steps && r == 0; i++)
		r = berth_db_exec(*ret, steps[i], err);
	return r;
}

static bool is_same_object(sqlite3_stmt *a, sqlite3_stmt *b)
{
	for (int i = 0; i < 4; i++) {
		const char *x = (const char *)sqlite3_column_text(a, i);
		const char *y = (const char *)sqlite3_column_text(b, i);

		if (strcmp(x ? x : "", y ? y : "") != 0)
			return false;
	}
	return true;
}

/* Both are in the order of names: of two different ones the first has no partner. */
static int name_difference(sqlite3_stmt *ours, sqlite3_stmt *model, bool has_ours, bool has_model,
                           struct berth_error *err)
{
	const char *a = has_ours ? berth_column_text(ours, 1) : NULL;
	const char *b = has_model ? berth_column_text(model, 1) : NULL;
	const bool is_ours = a && (!b || strcmp(a, b) <= 0);

	return berth_error_set(err, -EBADMSG,
	                       "table sqlite_schema, row '%s', is not as berth made it: restore a backup",
	                       is_ours ? a : b);
}

static int compare_objects(sqlite3_stmt *ours, sqlite3_stmt *model, struct berth_error *err)
{
	for (;;) {
		int a = sqlite3_step(ours), b = sqlite3_step(model);

		if (a == SQLITE_DONE && b == SQLITE_DONE)
			return 0;
		if (a != SQLITE_ROW && a != SQLITE_DONE)
			return berth_db_error(sqlite3_db_handle(ours), a, err, "reading the tables' definitions");
		if (a != b || !is_same_object(ours, model))
			return name_difference(ours, model, a == SQLITE_ROW, b == SQLITE_ROW, err);
	}
}

int berth_migrate_verify(sqlite3 *db, const char *const *steps, size_t n_steps, struct berth_error *err)
{
	static const char sql[] =
		"SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%' ORDER BY name";
	BERTH_AUTO_STMT sqlite3_stmt *ours = NULL;
	BERTH_AUTO_STMT sqlite3_stmt *expected = NULL;
	sqlite3 *model = NULL;
	int r = make_model(steps, n_steps, &model, err);

	if (r == 0)
		r = berth_db_prepare(db, sql, &ours, err);
	if (r == 0)
		r = berth_db_prepare(model, sql, &expected, err);
	if (r == 0)
		r = compare_objects(ours, expected, err);
	berth_db_close(model); /* with close_v2 it lives until its statement is gone */
	return r;
}
