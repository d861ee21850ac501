#ifndef BERTH_STORE_MIGRATE_H
#define BERTH_STORE_MIGRATE_H
/* The tables, as numbered steps. Step i (from 0) takes a database of version i to version i + 1. A step that was
 * released is never changed; a new one is added behind it. All steps that are due run in one transaction. */
#include <sqlite3.h>
#include <stddef.h>
#include "base/error.h"

/* "brth": what marks a file as ours (PRAGMA application_id). */
#define BERTH_APPLICATION_ID 0x62727468

extern const char *const berth_migrations[];
extern const size_t berth_migrations_count;

/* Bring db to version n_steps. dir: where db lies; before an existing database is changed, a copy of it is put there,
 * durable, named berth-before-VERSION.db (an older one of this name is replaced). -EPROTONOSUPPORT a newer version made
 * it; -EBADMSG its version and its tables contradict each other. */
BERTH_MUST_USE int berth_migrate(sqlite3 *db, const char *dir, const char *const *steps, size_t n_steps,
                                 struct berth_error *err);

/* Are the tables and indexes word for word those that the steps make? -EBADMSG names the first that is not. */
BERTH_MUST_USE int berth_migrate_verify(sqlite3 *db, const char *const *steps, size_t n_steps, struct berth_error *err);
#endif
