#include "store/spec.h"

#include <errno.h>
#include <inttypes.h>
#include "store/db.h"

void berth_blob_make(struct berth_blob *blob, const void *body, size_t len)
{
	struct berth_seal key;

	berth_seal_content(body, len, &key);
	berth_seal_write_hex(&key, blob->key);
	blob->body = body;
	blob->len = len;
}

int berth_spec_prepare_put(sqlite3 *db, sqlite3_stmt **ret, struct berth_error *err)
{
	return berth_db_prepare(db, "INSERT INTO spec(key, body) VALUES(?, ?) ON CONFLICT(key) DO NOTHING", ret, err);
}

int berth_spec_put(sqlite3_stmt *put, const struct berth_blob *blob, struct berth_error *err)
{
	struct berth_seal key, body;
	int rc;

	berth_seal_content(blob->body, blob->len, &body);
	if (!berth_seal_read_hex(blob->key, &key) || memcmp(&key, &body, sizeof(key)) != 0)
		return berth_error_set(err, -EINVAL, "the key %.64s is not that of its specification", blob->key);
	{
		const struct berth_value row[] = {berth_value_blob(key.bytes, BERTH_SEAL_BYTES),
		                                  berth_value_blob(blob->body, blob->len)};

		rc = berth_row_run(put, row, 2);
	}
	return rc == SQLITE_DONE ? 0 : berth_db_error(sqlite3_db_handle(put), rc, err, "writing a specification");
}

/* Does the row's column `body` fit the key? */
static bool is_sound(sqlite3_stmt *stmt, int column, const struct berth_seal *key)
{
	struct berth_seal seal;

	if (sqlite3_column_type(stmt, column) != SQLITE_BLOB)
		return false;
	/* The bytes are asked for behind the pointer: SQLite wants that order. */
	const void *body = sqlite3_column_blob(stmt, column);

	berth_seal_content(body, (size_t)sqlite3_column_bytes(stmt, column), &seal);
	return memcmp(&seal, key, sizeof(seal)) == 0;
}

static int copy_body(sqlite3_stmt *stmt, void **ret, size_t *ret_len)
{
	const void *body = sqlite3_column_blob(stmt, 0);
	size_t n = (size_t)sqlite3_column_bytes(stmt, 0);
	char *copy = malloc(n + 1);

	if (!copy)
		return -ENOMEM;
	if (n > 0)
		memcpy(copy, body, n);
	copy[n] = '\0';
	*ret = copy;
	*ret_len = n;
	return 0;
}

int berth_spec_get(sqlite3 *db, const struct berth_seal *key, void **ret, size_t *ret_len)
{
	BERTH_AUTO_STMT sqlite3_stmt *stmt = NULL;
	int rc, r = berth_db_prepare(db, "SELECT body FROM spec WHERE key = ?", &stmt, NULL);

	if (r < 0)
		return r;
	(void)sqlite3_bind_blob(stmt, 1, key->bytes, BERTH_SEAL_BYTES, SQLITE_STATIC);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_DONE)
		return -ENOENT;
	if (rc != SQLITE_ROW)
		return berth_db_code(db, rc);
	return is_sound(stmt, 0, key) ? copy_body(stmt, ret, ret_len) : -EBADMSG;
}

int berth_spec_verify(sqlite3 *db, struct berth_error *err)
{
	BERTH_AUTO_STMT sqlite3_stmt *stmt = NULL;
	int rc, r = berth_db_prepare(db, "SELECT id, key, body FROM spec ORDER BY id", &stmt, err);

	if (r < 0)
		return r;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct berth_seal key;

		if (!berth_column_seal(stmt, 1, &key) || !is_sound(stmt, 2, &key))
			return berth_error_set(err, -EBADMSG,
			                       "table spec, row %" PRId64 " is damaged: restore a backup",
			                       (int64_t)sqlite3_column_int64(stmt, 0));
	}
	return rc == SQLITE_DONE ? 0 : berth_db_error(db, rc, err, "reading table spec");
}

/* --- what is still in use -------------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct berth_seal));
}

void berth_spec_keep_add(struct berth_spec_keep *keep, const char *hex)
{
	struct berth_seal key;

	if (keep->is_broken || !berth_seal_read_hex(hex, &key))
		return;
	if (keep->n > 0 && compare_keys(&keep->keys[keep->n - 1], &key) == 0)
		return;
	if (keep->n == keep->cap) {
		size_t cap = keep->cap ? keep->cap * 2 : 256;
		struct berth_seal *grown = reallocarray(keep->keys, cap, sizeof(*grown));

		keep->is_broken = !grown;
		if (!grown)
			return;
		keep->keys = grown;
		keep->cap = cap;
	}
	keep->keys[keep->n++] = key;
}

void berth_spec_keep_fini(struct berth_spec_keep *keep)
{
	free(keep->keys);
	*keep = (struct berth_spec_keep){0};
}

static bool is_kept(const struct berth_spec_keep *keep, sqlite3_stmt *stmt)
{
	struct berth_seal key;

	return !berth_column_seal(stmt, 1, &key) ||
	       bsearch(&key, keep->keys, keep->n, sizeof(key), compare_keys) != NULL;
}

static int remove_row(sqlite3_stmt *drop, int64_t id)
{
	const struct berth_value row[] = {berth_value_number((uint64_t)id)};

	return berth_row_run(drop, row, 1);
}

/* One look at up to n rows: the SQLite code, SQLITE_DONE when all went well; *ret_seen how many there were. */
static int sweep_rows(sqlite3_stmt *look, sqlite3_stmt *drop, const struct berth_spec_keep *keep, int64_t *at,
                      size_t *ret_seen)
{
	int rc;

	while ((rc = sqlite3_step(look)) == SQLITE_ROW) {
		(*ret_seen)++;
		*at = sqlite3_column_int64(look, 0);
		if (!is_kept(keep, look)) {
			rc = remove_row(drop, *at);
			if (rc != SQLITE_DONE)
				return rc;
		}
	}
	return rc;
}

int berth_spec_sweep(sqlite3 *db, struct berth_spec_keep *keep, int64_t *at, size_t n, bool *ret_is_done,
                     struct berth_error *err)
{
	BERTH_AUTO_STMT sqlite3_stmt *look = NULL;
	BERTH_AUTO_STMT sqlite3_stmt *drop = NULL;
	int64_t end = *at;
	size_t seen = 0;
	int rc, r;

	if (keep->is_broken) {
		*ret_is_done = true;
		return 0;
	}
	if (keep->n_sorted < keep->n) {
		qsort(keep->keys, keep->n, sizeof(*keep->keys), compare_keys);
		keep->n_sorted = keep->n;
	}
	r = berth_db_prepare(db, "SELECT id, key FROM spec WHERE id > ? ORDER BY id LIMIT ?", &look, err);
	if (r == 0)
		r = berth_db_prepare(db, "DELETE FROM spec WHERE id = ?", &drop, err);
	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(look, 1, end);
	(void)sqlite3_bind_int64(look, 2, (sqlite3_int64)n);
	rc = sweep_rows(look, drop, keep, &end, &seen);
	if (rc != SQLITE_DONE)
		return berth_db_error(db, rc, err, "removing specifications that no job names any more");
	*at = end;
	*ret_is_done = seen < n;
	return 0;
}
