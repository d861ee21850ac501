#include "store/db.h"

#include <errno.h>

/* A tool of an operator may hold the file for a moment. */
#define BUSY_WAIT_MS 5000

void berth_cleanup_stmt(sqlite3_stmt **stmt)
{
	sqlite3_finalize(*stmt);
}

void berth_cleanup_reset(sqlite3_stmt **stmt)
{
	if (!*stmt)
		return;
	sqlite3_reset(*stmt);
	sqlite3_clear_bindings(*stmt);
}

/* A failed fsync is never taken for a full disk, whatever its errno: what was written before it may be gone. */
static int code_of_io(sqlite3 *db, int rc)
{
	int errnum = db ? sqlite3_system_errno(db) : 0;

	if (rc == SQLITE_IOERR_NOMEM)
		return -ENOMEM;
	if (rc == SQLITE_IOERR_WRITE || rc == SQLITE_IOERR_SHMSIZE || rc == SQLITE_IOERR_SHMMAP) {
		if (errnum == ENOSPC || errnum == EDQUOT)
			return -errnum;
	}
	return -EIO;
}

int berth_db_code(sqlite3 *db, int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
	case SQLITE_CANTOPEN:
		return -EACCES;
	case SQLITE_CONSTRAINT:
		return -EEXIST;
	case SQLITE_IOERR:
		return code_of_io(db, rc);
	default:
		return -EIO;
	}
}

int berth_db_error(sqlite3 *db, int rc, struct berth_error *err, const char *doing)
{
	return berth_error_set(err, berth_db_code(db, rc), "%s: %s", doing,
	                       db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
}

int berth_db_exec(sqlite3 *db, const char *sql, struct berth_error *err)
{
	int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : berth_db_error(db, sqlite3_extended_errcode(db), err, sql);
}

int berth_db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct berth_error *err)
{
	int rc = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);

	if (rc == SQLITE_OK)
		return 0;
	if (rc == SQLITE_ERROR)
		return berth_error_set(err, -EBADMSG,
		                       "table sqlite_schema is not as berth made it (%s): restore a backup",
		                       sqlite3_errmsg(db));
	return berth_db_error(db, rc, err, sql);
}

int berth_db_number(sqlite3 *db, const char *sql, int64_t *ret, struct berth_error *err)
{
	BERTH_AUTO_STMT sqlite3_stmt *stmt = NULL;
	int r = berth_db_prepare(db, sql, &stmt, err);
	int rc;

	if (r < 0)
		return r;
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_DONE)
		return berth_error_set(err, -ENOENT, "%s: no row", sql);
	if (rc != SQLITE_ROW)
		return berth_db_error(db, rc, err, sql);
	*ret = sqlite3_column_int64(stmt, 0);
	return 0;
}

static int set_up(sqlite3 *db, struct berth_error *err)
{
	static const char sql[] = "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;"
				  "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-16384; PRAGMA journal_mode=WAL;"
				  "PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0;";
	int r;

	sqlite3_extended_result_codes(db, 1);
	sqlite3_busy_timeout(db, BUSY_WAIT_MS);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	r = berth_db_exec(db, sql, NULL);
	/* Of these statements none is wrong, so SQLITE_ERROR is about what it read: a file format from the future. */
	if (r == -EBADMSG || sqlite3_errcode(db) == SQLITE_ERROR)
		return berth_error_set(err, -EBADMSG,
		                       "its first page is damaged, or it is no database (%s): restore a backup",
		                       sqlite3_errmsg(db));
	return r < 0 ? berth_error_set(err, r, "it cannot be opened: %s", sqlite3_errmsg(db)) : 0;
}

int berth_db_open(const char *path, sqlite3 **ret, struct berth_error *err)
{
	sqlite3 *db = NULL;
	int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	int r = rc == SQLITE_OK ? set_up(db, err) : berth_db_error(db, rc, err, "opening the database");

	if (r < 0) {
		berth_db_close(db);
		return r;
	}
	*ret = db;
	return 0;
}

void berth_db_close(sqlite3 *db)
{
	(void)sqlite3_close_v2(db);
}
