#ifndef BERTH_STORE_HEAD_H
#define BERTH_STORE_HEAD_H
/* The head file: number and seal of the last journal row, beside the database.
 *
 * SQLite takes a database whose WAL was lost or cut for an older healthy one. The head is written after each commit,
 * without a flush of its own: it costs no time, and after a power failure it may be older than the journal, torn or
 * absent, which says nothing. But it is never newer than what was durable; a head newer than the journal proves that
 * rows are missing.
 */
#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "store/seal.h"

#define BERTH_HEAD_NAME "berth.head"

struct berth_head {
	uint64_t seq; /* 0 = empty journal */
	struct berth_seal seal;
};

/* Open, or make, the head file in dirfd; the caller closes *ret_fd. *ret is what it says; *ret_is_known false when it
 * is new or torn. */
BERTH_MUST_USE int berth_head_open(int dirfd, int *ret_fd, struct berth_head *ret, bool *ret_is_known,
                                   struct berth_error *err);
/* Overwrite it in place. A failure is nobody's loss: the old head stays true. */
void berth_head_write(int fd, const struct berth_head *head);
#endif
