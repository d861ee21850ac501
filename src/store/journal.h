#ifndef BERTH_STORE_JOURNAL_H
#define BERTH_STORE_JOURNAL_H
/* The journal table: one row per fact, numbered without gaps, each sealed together with the seal of the row before. */
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>
#include "base/text.h"
#include "core/fact.h"
#include "store/head.h"

#define BERTH_JOURNAL_TABLE "journal"

/* Appending. One per connection; db is borrowed. */
struct berth_journal {
	sqlite3_stmt *append;
	struct berth_text body; /* of the row being written */
};

BERTH_MUST_USE int berth_journal_init(struct berth_journal *journal, sqlite3 *db, struct berth_error *err);
void berth_journal_fini(struct berth_journal *journal);
/* Append facts behind *head, inside the caller's transaction, and move *head on. -EINVAL when their numbers do not
 * follow it; other errors as berth_db_code. */
BERTH_MUST_USE int berth_journal_append(struct berth_journal *journal, const struct berth_fact *facts, size_t n,
                                        struct berth_head *head, struct berth_error *err);

/* Check all rows behind from, which must follow it without a gap: the seals, and at the row numbered cross->seq (when
 * it is among them) that its seal is the one that cross says. cross may be NULL. *ret: the last row, from itself when
 * there is none. -EBADMSG names the row. */
BERTH_MUST_USE int berth_journal_verify(sqlite3 *db, const struct berth_head *from, const struct berth_head *cross,
                                        struct berth_head *ret, struct berth_error *err);
/* The seal of a row: -ENOENT when it is not there any more. */
BERTH_MUST_USE int berth_journal_seal(sqlite3 *db, uint64_t seq, struct berth_seal *ret, struct berth_error *err);

/* Every fact behind after, in order, valid for the call; a non-zero answer of each ends it and is returned. -EBADMSG
 * for a row that cannot be understood. */
BERTH_MUST_USE int berth_journal_read(sqlite3 *db, uint64_t after,
                                      int (*each)(void *arg, const struct berth_fact *fact), void *arg,
                                      struct berth_error *err);
#endif
