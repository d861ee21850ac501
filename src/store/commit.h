#ifndef BERTH_STORE_COMMIT_H
#define BERTH_STORE_COMMIT_H
/* What the writer thread does to the database: transactions, slices of the keeper, checkpoints. One thread at a time.
 */
#include <sqlite3.h>
#include "store/journal.h"
#include "store/keeper.h"
#include "store/record.h"
#include "store/verify.h"

struct berth_committer {
	sqlite3 *db;            /* owned */
	int head_fd;            /* owned */
	struct berth_head head; /* the last durable journal row */
	struct berth_journal journal;
	struct berth_record_pen records;
	sqlite3_stmt *spec_put;
	struct berth_keeper keeper;
	int log_frames;     /* pages in the write-ahead log */
	bool is_log_copied; /* all of them are in the database: the next commit begins the log anew */
	uint64_t commits, fsyncs;
};

/* db and head_fd belong to it from here on; fini also after a failed init. */
BERTH_MUST_USE int berth_committer_init(struct berth_committer *committer, sqlite3 *db, int head_fd,
                                        const struct berth_verified *verified, struct berth_error *err);
/* is_poisoned: leave the files as they are, no last checkpoint. */
void berth_committer_fini(struct berth_committer *committer, bool is_poisoned);

/* Make a transaction durable: 0, or rolled back: as berth_store_take says. */
BERTH_MUST_USE int berth_committer_run(struct berth_committer *committer, const struct berth_transaction *tx,
                                       struct berth_error *err);
BERTH_MUST_USE int berth_committer_setting(struct berth_committer *committer, const char *name, const char *value,
                                           struct berth_error *err);
/* A slice of the keeper's work. */
BERTH_MUST_USE int berth_committer_keep(struct berth_committer *committer, struct berth_error *err);
/* Copy the log into the database as far as readers allow. -ENOSPC does no harm; -EIO is to poison. */
BERTH_MUST_USE int berth_committer_checkpoint(struct berth_committer *committer, struct berth_error *err);
#endif
