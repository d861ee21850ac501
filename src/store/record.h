#ifndef BERTH_STORE_RECORD_H
#define BERTH_STORE_RECORD_H
/* The plainly sealed tables: history of finished jobs, submissions by their key, settings. */
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>
#include "store/store.h"

/* Writing, inside the caller's transaction; one per connection. */
struct berth_record_pen {
	sqlite3_stmt *history, *submission, *setting;
};

BERTH_MUST_USE int berth_record_pen_init(struct berth_record_pen *pen, sqlite3 *db, struct berth_error *err);
void berth_record_pen_fini(struct berth_record_pen *pen);
/* -EEXIST a history row of this job is there already: a job ends once. */
BERTH_MUST_USE int berth_record_history(struct berth_record_pen *pen, const struct berth_history_row *row,
                                        struct berth_error *err);
/* A key that is there already stays as it was. */
BERTH_MUST_USE int berth_record_submission(struct berth_record_pen *pen, const struct berth_submission *submission,
                                           struct berth_error *err);
BERTH_MUST_USE int berth_record_setting(struct berth_record_pen *pen, const char *name, const char *value,
                                        struct berth_error *err);

/* Check every row of the three. -EBADMSG names table and row. */
BERTH_MUST_USE int berth_record_verify(sqlite3 *db, struct berth_error *err);

/* Reading: as berth_store_submission, berth_store_setting_get, berth_store_history. */
int berth_record_find_submission(sqlite3 *db, uint32_t uid, const char *key, uint64_t *ret_first, uint32_t *ret_n);
BERTH_MUST_USE int berth_record_find_setting(sqlite3 *db, const char *name, char **ret);
BERTH_MUST_USE int berth_record_query(sqlite3 *db, const struct berth_history_query *query,
                                      int (*each)(void *arg, uint64_t job, const char *json), void *arg,
                                      struct berth_error *err);
#endif
