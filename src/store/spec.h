#ifndef BERTH_STORE_SPEC_H
#define BERTH_STORE_SPEC_H
/* Specifications: bodies kept under their SHA-256, each once; removed when no job of the live state names them any
 * more. */
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>
#include "store/store.h"
#include "store/seal.h"

/* put: "INSERT INTO spec(key, body) …" prepared by berth_spec_prepare_put. 0, or -errno as berth_db_code. -EINVAL the
 * key is not that of the body. */
BERTH_MUST_USE int berth_spec_prepare_put(sqlite3 *db, sqlite3_stmt **ret, struct berth_error *err);
BERTH_MUST_USE int berth_spec_put(sqlite3_stmt *put, const struct berth_blob *blob, struct berth_error *err);
/* A copy of the body for the caller. -ENOENT; -EBADMSG the body is not that of the key. */
BERTH_MUST_USE int berth_spec_get(sqlite3 *db, const struct berth_seal *key, void **ret, size_t *ret_len);
/* Check every body against its key. -EBADMSG names the row. */
BERTH_MUST_USE int berth_spec_verify(sqlite3 *db, struct berth_error *err);

/* --- what is still in use -------------------------------------------------------------------------------- */

struct berth_spec_keep {         /* a set of keys. {0} is empty */
	struct berth_seal *keys; /* owned */
	size_t n, cap;
	size_t n_sorted; /* the first so many are in order */
	bool is_broken;  /* memory ran out: the set is incomplete and nothing may be removed by it */
};

void berth_spec_keep_add(struct berth_spec_keep *keep, const char *hex);
void berth_spec_keep_fini(struct berth_spec_keep *keep);
/* Remove bodies that are not in keep, looking at up to n rows behind row *at and moving it on; *ret_is_done when there
 * are no more. Inside the caller's transaction. */
BERTH_MUST_USE int berth_spec_sweep(sqlite3 *db, struct berth_spec_keep *keep, int64_t *at, size_t n, bool *ret_is_done,
                                    struct berth_error *err);
#endif
