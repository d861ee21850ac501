#ifndef BERTH_STORE_FLIGHT_H
#define BERTH_STORE_FLIGHT_H
/* One transaction of the ledger, from its making to its landing: decisions at the head, then posts in their order. */
#include "base/arena.h"
#include "core/core.h"
#include "store/post_queue.h"

struct berth_flight {
	struct berth_arena arena; /* holds all below, but for what the posts hold */
	struct berth_fact *facts; /* numbered, dated, with ids */
	size_t n_facts, n_decisions;
	struct berth_history_row *history;
	size_t n_history;
	struct berth_blob *blobs;
	size_t n_blobs;
	struct berth_submission *submissions;
	size_t n_submissions;
	struct berth_post_queue posts; /* owned */
	struct berth_transaction tx;   /* the same, for the store */
};

/* Called for a decision that is about to be taken along; false leaves it out (it will be made again). May add a history
 * row to the flight with memory of its arena. */
typedef bool berth_flight_filter(void *arg, struct berth_flight *flight, const struct berth_fact *decision);

/* Take along the n decisions that pass the filter and all posts of queue, and get ready: number from the core's state
 * on, dated now_ms, room reserved in the core. On -ENOMEM the flight is empty and queue as before. */
BERTH_MUST_USE int berth_flight_load(struct berth_flight *flight, struct berth_core *core, uint64_t after_seq,
                                     uint64_t now_ms, const struct berth_plan *plan, berth_flight_filter *filter,
                                     void *arg, struct berth_post_queue *queue);
/* Forget everything but the posts still in it, which must have been taken out before. */
void berth_flight_clear(struct berth_flight *flight);
void berth_flight_fini(struct berth_flight *flight);
#endif
