#ifndef BERTH_API_OUTLOOK_H
#define BERTH_API_OUTLOOK_H
/* What the core says of everyone who waits, kept while it holds: one pass serves a whole list, a batch of answers or
 * all event streams. */
#include "core/core.h"

/* {0} is empty. Owned by the API, refreshed by whoever is about to write jobs that wait. */
struct berth_outlooks {
	struct berth_outlook *rows; /* owned; in the queue's order */
	size_t n, cap;
	uint32_t *by_job;    /* owned; row numbers by ascending job */
	uint64_t seq, at_ms; /* of what the rows were worked out */
	bool is_valid;
};

/* Work the rows out unless they are of this state of the core and not older than a second. 0 or -ENOMEM (then there are
 * no rows). */
BERTH_MUST_USE int berth_outlooks_refresh(struct berth_outlooks *outlooks, struct berth_core *core, uint64_t now_ms);
/* The same for those who come in crowds and want a forecast only beside their answer: where many jobs make the work
 * long, rows of the last tenth of a second stay as they are, and newer jobs have none. */
BERTH_MUST_USE int berth_outlooks_glance(struct berth_outlooks *outlooks, struct berth_core *core, uint64_t now_ms);
/* The row of a job and its place in the queue from 1; NULL when it does not wait. */
const struct berth_outlook *berth_outlooks_find(const struct berth_outlooks *outlooks, uint64_t job,
                                                size_t *ret_position);
void berth_outlooks_fini(struct berth_outlooks *outlooks);
#endif
