#ifndef BERTH_STORE_WRITER_H
#define BERTH_STORE_WRITER_H
/* The writer thread: one transaction at a time, handed over by the loop; in between slices of the keeper, and
 * checkpoints (copying the write-ahead log into the database) when nobody waits or when the log has grown large.
 *
 * A flush (fsync) that failed is never tried again, since the kernel may have dropped the data and would report
 * success: the writer is poisoned, fails every later transaction the same way, and leaves the files as they are. */
#include <sqlite3.h>
#include "store/head.h"
#include "store/store.h"
#include "store/verify.h"

struct berth_writer;

/* Start the thread. db and head_fd belong to the writer from here on, also on failure. */
BERTH_MUST_USE int berth_writer_start(sqlite3 *db, int head_fd, const struct berth_verified *verified,
                                      struct berth_writer **ret, struct berth_error *err);
/* Finish the transaction in flight, end the thread, close. NULL allowed. */
void berth_writer_stop(struct berth_writer *writer);

/* As the functions of store.h of these names; from the loop. */
BERTH_MUST_USE int berth_writer_commit(struct berth_writer *writer, const struct berth_transaction *tx);
bool berth_writer_is_busy(struct berth_writer *writer);
int berth_writer_fd(const struct berth_writer *writer);
int berth_writer_take(struct berth_writer *writer, int *ret_result, struct berth_error *err);
void berth_writer_wait(struct berth_writer *writer);
void berth_writer_counts(struct berth_writer *writer, uint64_t *ret_commits, uint64_t *ret_fsyncs);
int berth_writer_snapshot(struct berth_writer *writer, struct berth_snapshot *snapshot);
bool berth_writer_is_snapshotting(struct berth_writer *writer);
uint64_t berth_writer_last_seq(struct berth_writer *writer);
uint64_t berth_writer_snapshot_seq(struct berth_writer *writer);
/* Write a setting and wait for it. */
BERTH_MUST_USE int berth_writer_setting(struct berth_writer *writer, const char *name, const char *value);
#endif
