#include "store/record.h"

#include <errno.h>
#include <inttypes.h>
#include "store/db.h"
#include "store/seal.h"

#define HISTORY_COLUMNS "job, uid, user, name, state, submit_ms, start_ms, end_ms, json"
#define SUBMISSION_COLUMNS "uid, key, first_job, n, at_ms"
#define SETTING_COLUMNS "name, value"

/* --- writing --------------------------------------------------------------------------------------------- */

int berth_record_pen_init(struct berth_record_pen *pen, sqlite3 *db, struct berth_error *err)
{
	int r;

	*pen = (struct berth_record_pen){0};
	r = berth_db_prepare(db, "INSERT INTO history(" HISTORY_COLUMNS ", seal) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	                     &pen->history, err);
	if (r == 0)
		r = berth_db_prepare(db,
		                     "INSERT INTO submission(" SUBMISSION_COLUMNS ", seal) VALUES(?, ?, ?, ?, ?, ?)"
		                     " ON CONFLICT(uid, key) DO NOTHING",
		                     &pen->submission, err);
	if (r == 0)
		r = berth_db_prepare(db,
		                     "INSERT INTO setting(" SETTING_COLUMNS ", seal) VALUES(?, ?, ?)"
		                     " ON CONFLICT(name) DO UPDATE SET value = excluded.value, seal = excluded.seal",
		                     &pen->setting, err);
	return r;
}

void berth_record_pen_fini(struct berth_record_pen *pen)
{
	sqlite3_finalize(pen->history);
	sqlite3_finalize(pen->submission);
	sqlite3_finalize(pen->setting);
}

static int insert(sqlite3_stmt *stmt, const char *table, const struct berth_value *row, size_t n,
                  struct berth_error *err, const char *doing)
{
	int rc = berth_row_insert(stmt, table, NULL, row, n, NULL);

	return rc == SQLITE_DONE ? 0 : berth_db_error(sqlite3_db_handle(stmt), rc, err, doing);
}

int berth_record_history(struct berth_record_pen *pen, const struct berth_history_row *row, struct berth_error *err)
{
	const struct berth_value values[] = {
		berth_value_number(row->job),      berth_value_number(row->uid),    berth_value_text(row->user),
		berth_value_text(row->name),       berth_value_text(row->state),    berth_value_number(row->submit_ms),
		berth_value_number(row->start_ms), berth_value_number(row->end_ms), berth_value_text(row->json),
	};

	return insert(pen->history, "history", values, sizeof(values) / sizeof(*values), err,
	              "writing a job's history");
}

int berth_record_submission(struct berth_record_pen *pen, const struct berth_submission *submission,
                            struct berth_error *err)
{
	const struct berth_value values[] = {
		berth_value_number(submission->uid),       berth_value_text(submission->key),
		berth_value_number(submission->first_job), berth_value_number(submission->n),
		berth_value_number(submission->at_ms),
	};

	return insert(pen->submission, "submission", values, sizeof(values) / sizeof(*values), err,
	              "writing a submission's key");
}

int berth_record_setting(struct berth_record_pen *pen, const char *name, const char *value, struct berth_error *err)
{
	const struct berth_value values[] = {berth_value_text(name), berth_value_text(value)};

	return insert(pen->setting, "setting", values, sizeof(values) / sizeof(*values), err, "writing a setting");
}

/* --- checking -------------------------------------------------------------------------------------------- */

static int verify_table(sqlite3 *db, const char *table, const char *sql, size_t columns, struct berth_error *err)
{
	BERTH_AUTO_STMT sqlite3_stmt *stmt = NULL;
	int rc, r = berth_db_prepare(db, sql, &stmt, err);

	if (r < 0)
		return r;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (!berth_row_is_sound(stmt, table, NULL, columns, NULL)) {
			const char *key = (const char *)sqlite3_column_text(stmt, 0);

			return berth_error_set(err, -EBADMSG, "table %s, row %.60s is damaged: restore a backup", table,
			                       key ? key : "?");
		}
	}
	if (rc == SQLITE_DONE)
		return 0;
	return berth_error_set(err, berth_db_code(db, rc), "reading table %s: %s", table, sqlite3_errmsg(db));
}

int berth_record_verify(sqlite3 *db, struct berth_error *err)
{
	int r = verify_table(db, "history", "SELECT " HISTORY_COLUMNS ", seal FROM history ORDER BY job", 9, err);

	if (r == 0)
		r = verify_table(db, "submission",
		                 "SELECT " SUBMISSION_COLUMNS ", seal FROM submission ORDER BY uid, key", 5, err);
	if (r == 0)
		r = verify_table(db, "setting", "SELECT " SETTING_COLUMNS ", seal FROM setting ORDER BY name", 2, err);
	return r;
}

/* --- reading --------------------------------------------------------------------------------------------- */

int berth_record_find_submission(sqlite3 *db, uint32_t uid, const char *key, uint64_t *ret_first, uint32_t *ret_n)
{
	BERTH_AUTO_STMT sqlite3_stmt *stmt = NULL;
	int rc, r = berth_db_prepare(db,
	                             "SELECT " SUBMISSION_COLUMNS ", seal FROM submission WHERE uid = ? AND key = ?",
	                             &stmt, NULL);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(stmt, 1, uid);
	(void)sqlite3_bind_text(stmt, 2, key, -1, SQLITE_STATIC);
	rc = sqlite3_step(stmt);
	if (rc != SQLITE_ROW)
		return rc == SQLITE_DONE ? 0 : berth_db_code(db, rc);
	if (!berth_row_is_sound(stmt, "submission", NULL, 5, NULL))
		return -EBADMSG;
	*ret_first = (uint64_t)sqlite3_column_int64(stmt, 2);
	*ret_n = (uint32_t)sqlite3_column_int64(stmt, 3);
	return 1;
}

int berth_record_find_setting(sqlite3 *db, const char *name, char **ret)
{
	BERTH_AUTO_STMT sqlite3_stmt *stmt = NULL;
	int rc, r = berth_db_prepare(db, "SELECT " SETTING_COLUMNS ", seal FROM setting WHERE name = ?", &stmt, NULL);
	char *copy;

	if (r < 0)
		return r;
	(void)sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
	rc = sqlite3_step(stmt);
	if (rc != SQLITE_ROW)
		return rc == SQLITE_DONE ? -ENOENT : berth_db_code(db, rc);
	if (!berth_row_is_sound(stmt, "setting", NULL, 2, NULL))
		return -EBADMSG;
	copy = strdup(berth_column_text(stmt, 1));
	if (!copy)
		return -ENOMEM;
	*ret = copy;
	return 0;
}

/* Only what is asked stands in the statement, so that SQLite finds the index that fits. The least id that ended since
 * then bounds a search that would otherwise read all of history when few rows match; with the plus SQLite takes it from
 * the index of ends. */
static int prepare_query(sqlite3 *db, const struct berth_history_query *query, sqlite3_stmt **ret,
                         struct berth_error *err)
{
	char sql[512];

	(void)snprintf(sql, sizeof(sql),
	               "SELECT " HISTORY_COLUMNS
	               ", seal FROM history WHERE TRUE%s%s%s%s%s ORDER BY job DESC LIMIT :limit",
	               query->job ? " AND job = :job" : "", query->user ? " AND user = :user" : "",
	               query->state ? " AND state = :state" : "",
	               query->since_ms ? " AND end_ms >= :since AND job >="
	                                 " (SELECT min(+job) FROM history WHERE end_ms >= :since)"
	                               : "",
	               query->before_job ? " AND job < :before" : "");
	return berth_db_prepare(db, sql, ret, err);
}

static void bind_number(sqlite3_stmt *stmt, const char *name, uint64_t number)
{
	int at = sqlite3_bind_parameter_index(stmt, name);

	if (at > 0)
		(void)sqlite3_bind_int64(stmt, at, number > INT64_MAX ? INT64_MAX : (sqlite3_int64)number);
}

static void bind_text(sqlite3_stmt *stmt, const char *name, const char *text)
{
	int at = sqlite3_bind_parameter_index(stmt, name);

	if (at > 0)
		(void)sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC);
}

int berth_record_query(sqlite3 *db, const struct berth_history_query *query,
                       int (*each)(void *arg, uint64_t job, const char *json), void *arg, struct berth_error *err)
{
	BERTH_AUTO_STMT sqlite3_stmt *stmt = NULL;
	int rc, r = prepare_query(db, query, &stmt, err);

	if (r < 0)
		return r;
	bind_number(stmt, ":job", query->job);
	bind_text(stmt, ":user", query->user);
	bind_text(stmt, ":state", query->state);
	bind_number(stmt, ":since", query->since_ms);
	bind_number(stmt, ":before", query->before_job);
	bind_number(stmt, ":limit", query->limit);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const uint64_t job = (uint64_t)sqlite3_column_int64(stmt, 0);

		if (!berth_row_is_sound(stmt, "history", NULL, 9, NULL))
			return berth_error_set(err, -EBADMSG,
			                       "table history, row %" PRIu64 " is damaged: restore a backup", job);
		r = each(arg, job, berth_column_text(stmt, 8));
		if (r != 0)
			return r;
	}
	return rc == SQLITE_DONE ? 0 : berth_db_error(db, rc, err, "reading table history");
}
