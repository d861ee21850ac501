#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "base/file.h"
#include "base/text.h"
#include "store/db.h"
#include "store/journal.h"
#include "store/migrate.h"
#include "store/preallocate.h"
#include "store/record.h"
#include "store/spec.h"
#include "store/verify.h"
#include "store/writer.h"

#define DB_NAME "berth.db"
#define LOG_NAME DB_NAME "-wal"
#define LOCK_NAME "berth.lock"

struct berth_store {
	int lock_fd;     /* held while open: one opener at a time */
	sqlite3 *reader; /* the loop's connection */
	struct berth_writer *writer;
	struct berth_verified verified; /* as found at open */
};

void berth_snapshot_free(struct berth_snapshot *snapshot)
{
	if (!snapshot)
		return;
	berth_arena_fini(&snapshot->arena);
	free(snapshot);
}

/* --- opening --------------------------------------------------------------------------------------------- */

static int say_busy(int fd, const char *dir, struct berth_error *err)
{
	char pid[16] = "";
	ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

	pid[n > 0 ? strspn(pid, "0123456789") : 0] = '\0';
	return berth_error_set(
		err, -EBUSY,
		"%s is in use by another berth, process %s: stop that one first, or choose another directory", dir,
		*pid ? pid : "(unknown)");
}

/* The lock ends with the process, however it ends; the number in the file is for people only. */
static int take_lock(int dirfd, const char *dir, int *ret_fd, struct berth_error *err)
{
	BERTH_AUTO_CLOSE int fd = openat(dirfd, LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
	                                 0600);
	char pid[16];
	int n;

	if (fd < 0)
		return berth_error_errno(err, -errno, "opening %s/" LOCK_NAME, dir);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? say_busy(fd, dir, err)
		                            : berth_error_errno(err, -errno, "locking %s/" LOCK_NAME, dir);
	n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	/* On a full disk the number may not fit; the lock holds all the same. */
	if (ftruncate(fd, 0) == 0 && pwrite(fd, pid, (size_t)n, 0) < 0)
		errno = 0;
	*ret_fd = BERTH_TAKE_FD(fd);
	return 0;
}

/* SQLite gives its other files the mode of this one; the directory entry is made durable before anything is in it. */
static int make_file(int dirfd, const char *dir, struct berth_error *err)
{
	BERTH_AUTO_CLOSE int fd = openat(dirfd, DB_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return berth_error_errno(err, -errno, "opening %s/" DB_NAME, dir);
	if (!S_ISREG(st.st_mode))
		return berth_error_set(err, -EINVAL, "%s/" DB_NAME " is not a file", dir);
	if (st.st_size == 0 && fsync(dirfd) < 0)
		return berth_error_errno(err, -errno, "making %s durable", dir);
	return 0;
}

static int check_all(sqlite3 *db, const char *dir, const struct berth_head *head, bool is_head_known,
                     struct berth_verified *ret, struct berth_error *err)
{
	int r = berth_verify_structure(db, err);

	if (r == 0)
		r = berth_migrate(db, dir, berth_migrations, berth_migrations_count, err);
	if (r == 0)
		r = berth_migrate_verify(db, berth_migrations, berth_migrations_count, err);
	if (r == 0)
		r = berth_verify_rows(db, ret, err);
	if (r == 0 && is_head_known)
		r = berth_verify_head(db, ret, head, err);
	return r;
}

/* Both connections and the thread; db belongs to the writer once that is called. */
static int open_database(struct berth_store *store, const char *path, const char *dir, int dirfd,
                         struct berth_error *err)
{
	struct berth_head head = {0};
	bool is_head_known = false;
	sqlite3 *db = NULL;
	int head_fd = -1;
	int r = berth_head_open(dirfd, &head_fd, &head, &is_head_known, err);

	if (r == 0)
		r = berth_db_open(path, &db, err);
	if (r == 0)
		r = check_all(db, dir, &head, is_head_known, &store->verified, err);
	if (r == 0)
		r = berth_db_open(path, &store->reader, err);
	if (r == 0)
		r = berth_db_exec(store->reader, "PRAGMA query_only=ON", err);
	if (r < 0) {
		berth_db_close(db);
		if (head_fd >= 0)
			(void)close(head_fd);
		return r;
	}
	berth_preallocate_log(dirfd, LOG_NAME);
	return berth_writer_start(db, head_fd, &store->verified, &store->writer, err);
}

/* Say which file, in front of what is wrong with it. */
static int name_file(const char *path, struct berth_error *err, int r)
{
	struct berth_error inner;

	if (!err || r == 0)
		return r;
	inner = *err;
	return berth_error_set(err, r, "%s: %s", path, inner.text);
}

int berth_store_open(const char *dir, struct berth_store **ret, struct berth_error *err)
{
	BERTH_AUTO_TEXT struct berth_text path = {0};
	BERTH_AUTO_CLOSE int dirfd = -1;
	struct berth_store *store = NULL;
	int r = berth_dir_make(dir, 0700);

	if (r < 0)
		return berth_error_errno(err, r, "making %s", dir);
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0)
		return berth_error_errno(err, -errno, "opening %s", dir);
	berth_text_addf(&path, "%s/" DB_NAME, dir);
	store = calloc(1, sizeof(*store));
	if (!store || path.is_failed) {
		free(store);
		return berth_error_set(err, -ENOMEM, "no memory to open %s", dir);
	}
	store->lock_fd = -1;
	r = take_lock(dirfd, dir, &store->lock_fd, err);
	if (r == 0)
		r = make_file(dirfd, dir, err);
	if (r == 0)
		r = name_file(path.at, err, open_database(store, path.at, dir, dirfd, err));
	if (r < 0) {
		berth_store_close(store);
		return r;
	}
	*ret = store;
	return 0;
}

void berth_store_close(struct berth_store *store)
{
	if (!store)
		return;
	/* The reader first: the last connection to close copies the log into the database. */
	berth_db_close(store->reader);
	berth_writer_stop(store->writer);
	if (store->lock_fd >= 0)
		(void)close(store->lock_fd);
	free(store);
}

int berth_store_load(struct berth_store *store, int (*each)(void *arg, const struct berth_fact *fact), void *arg,
                     struct berth_error *err)
{
	const struct berth_verified *verified = &store->verified;
	const struct berth_snapshot_mark *newest = verified->n_marks ? &verified->marks[0] : NULL;
	int r = newest ? berth_snapshot_read(store->reader, newest, each, arg, err) : 0;

	return r != 0 ? r : berth_journal_read(store->reader, newest ? newest->at.seq : 0, each, arg, err);
}

/* --- handed through to the writer ------------------------------------------------------------------------ */

int berth_store_commit(struct berth_store *store, const struct berth_transaction *tx)
{
	return berth_writer_commit(store->writer, tx);
}

bool berth_store_is_busy(const struct berth_store *store)
{
	return berth_writer_is_busy(store->writer);
}

int berth_store_fd(const struct berth_store *store)
{
	return berth_writer_fd(store->writer);
}

int berth_store_take(struct berth_store *store, int *ret_result, struct berth_error *err)
{
	return berth_writer_take(store->writer, ret_result, err);
}

void berth_store_wait(struct berth_store *store)
{
	berth_writer_wait(store->writer);
}

int berth_store_snapshot(struct berth_store *store, struct berth_snapshot *snapshot)
{
	return berth_writer_snapshot(store->writer, snapshot);
}

bool berth_store_is_snapshotting(const struct berth_store *store)
{
	return berth_writer_is_snapshotting(store->writer);
}

uint64_t berth_store_last_seq(const struct berth_store *store)
{
	return berth_writer_last_seq(store->writer);
}

uint64_t berth_store_snapshot_seq(const struct berth_store *store)
{
	return berth_writer_snapshot_seq(store->writer);
}

void berth_store_counts(const struct berth_store *store, uint64_t *ret_commits, uint64_t *ret_fsyncs)
{
	berth_writer_counts(store->writer, ret_commits, ret_fsyncs);
}

int berth_store_setting_put(struct berth_store *store, const char *name, const char *value)
{
	return berth_writer_setting(store->writer, name, value);
}

/* --- reading --------------------------------------------------------------------------------------------- */

int berth_store_blob(struct berth_store *store, const char *key, void **ret, size_t *ret_len)
{
	struct berth_seal seal;

	return berth_seal_read_hex(key, &seal) ? berth_spec_get(store->reader, &seal, ret, ret_len) : -ENOENT;
}

int berth_store_submission(struct berth_store *store, uint32_t uid, const char *key, uint64_t *ret_first,
                           uint32_t *ret_n)
{
	return berth_record_find_submission(store->reader, uid, key, ret_first, ret_n);
}

int berth_store_history(struct berth_store *store, const struct berth_history_query *query,
                        int (*each)(void *arg, uint64_t job, const char *json), void *arg, struct berth_error *err)
{
	return berth_record_query(store->reader, query, each, arg, err);
}

int berth_store_setting_get(struct berth_store *store, const char *name, char **ret)
{
	return berth_record_find_setting(store->reader, name, ret);
}
