#ifndef BERTH_STORE_POST_H
#define BERTH_STORE_POST_H
/* What is posted to the ledger (store/ledger.h). */
#include <stdbool.h>
#include "store/store.h"

/* How a post ended. result: 0 durable and folded; -ESTALE durable but one of them was void; -EINVAL the same, since it
 * contradicts the state (a defect of its poster); -ENOSPC refused, disk full; -ENOMEM refused; -ECANCELED the ledger
 * closed first; other: failed. facts: the posted ones, with seq and ids if durable; valid for the call. */
typedef void berth_ledger_done(void *arg, int result, const struct berth_fact *facts, size_t n);

/* Facts posted as one unit: one transaction has all of them or none. Everything is copied; text that is no UTF-8 is
 * cleaned (store/clean.h). They are not checked: berth_core_check is the poster's duty. */
struct berth_post {
	const struct berth_fact *facts; /* seq and at_ms are given by the ledger. JOB_SUBMITTED with job = 0 and
	                                   DEVICE_SEEN with device = 0 get the next ids, consecutive within the post */
	size_t n_facts;
	const struct berth_blob *blobs; /* into the same transaction */
	size_t n_blobs;
	const struct berth_submission *submission; /* the same; NULL = none. first_job is filled in. A key that is known
	                                              already stays with its first jobs: so ask first */
	bool keep; /* must not get lost on a full disk (reports about attempts): tried until it goes through. Others are
	              refused then */
	berth_ledger_done *done; /* NULL = not told */
	void *done_arg;
};
#endif
