#ifndef BERTH_STORE_DB_H
#define BERTH_STORE_DB_H
/* A connection to the database, and what SQLite says in the words of this house. A connection belongs to one thread at
 * a time. Only bound parameters carry values; texts given here are constants. */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"

/* Open path (it must exist, an empty file is a fresh database) for reading and writing: WAL, every commit flushed,
 * checkpoints only when asked for, values never changed by triggers or functions that a damaged schema could name.
 * -EBADMSG when it is no database or damaged. */
BERTH_MUST_USE int berth_db_open(const char *path, sqlite3 **ret, struct berth_error *err);
/* NULL allowed. */
void berth_db_close(sqlite3 *db);

/* The negative errno of a result code (extended ones included); 0 for OK, ROW, DONE.
 * -ENOSPC, -EDQUOT the disk is full and nothing was made durable. -EIO what the disk holds is not known. -EBADMSG
 * damaged, -ENOMEM, -EBUSY, -EACCES, -EEXIST a key twice; every other is -EIO. db for the errno behind the code;
 * borrowed. */
int berth_db_code(sqlite3 *db, int rc);
/* Fill err with what was being done and SQLite's own words; returns berth_db_code. */
int berth_db_error(sqlite3 *db, int rc, struct berth_error *err, const char *doing);

/* Run statements that give no rows. */
BERTH_MUST_USE int berth_db_exec(sqlite3 *db, const char *sql, struct berth_error *err);
/* A statement to be kept. -EBADMSG also when the schema lacks what it names: it is ours, so it is damaged. */
BERTH_MUST_USE int berth_db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct berth_error *err);
/* The first column of the first row, a whole number, of a statement without parameters; -ENOENT no row. */
BERTH_MUST_USE int berth_db_number(sqlite3 *db, const char *sql, int64_t *ret, struct berth_error *err);

void berth_cleanup_stmt(sqlite3_stmt **stmt);
#define BERTH_AUTO_STMT __attribute__((cleanup(berth_cleanup_stmt))) /* sqlite3_stmt *, finalised */
void berth_cleanup_reset(sqlite3_stmt **stmt);
#define BERTH_AUTO_RESET \
	__attribute__((cleanup(berth_cleanup_reset))) /* a kept sqlite3_stmt *, ready for its next use */
#endif
