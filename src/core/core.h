#ifndef BERTH_CORE_CORE_H
#define BERTH_CORE_CORE_H
/* The core: fold facts, then decide.
 *
 * A state machine without clock, file, socket, environment, thread, randomness or floating point. Its hosts (daemon,
 * simulator, adapters) tell it what happened and what time it is; it says what to do. Equal facts give equal states and
 * equal decisions, on every machine.
 *
 * The host's loop: berth_core_check what people ask -> journal -> berth_core_fold -> berth_core_decide -> journal the
 * decisions -> fold them -> carry them out, idempotently.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "core/fact.h"

struct berth_core; /* one machine room; not thread-safe */

/* A fresh core that has seen nothing; NULL when memory is out. Freed with berth_core_free (NULL allowed). */
struct berth_core *berth_core_new(void);
void berth_core_free(struct berth_core *core);

/* Make room so that folding these n facts, in any order, cannot fail for memory. Called before they are journalled.
 * Holds until the next reserve, which makes room for its own facts only: one call for a whole transaction.
 * 0 or -ENOMEM with the state unchanged. */
BERTH_MUST_USE int berth_core_reserve(struct berth_core *core, const struct berth_fact *facts, size_t n);

/* Would this fact, asked by a person, make sense now? For SUBMITTED, CANCEL_ASKED, HELD, RELEASED, ALTERED,
 * REQUEUE_ASKED, DEVICE_DRAIN. Returns 0 (also when it would change nothing: cancelling a finished job is no error);
 * -ENOENT no such job or device; -ERANGE the request can never be met, ret says why and what would fit;
 * -EBUSY not in this state (hold or resize of a running job, release of one not held, requeue of one that waits);
 * -EINVAL nonsense (0 limit, more than BERTH_NODE_DEVICES_MAX devices …). ret may be NULL; it is NONE unless a
 * request was refused. */
BERTH_MUST_USE int berth_core_check(const struct berth_core *core, const struct berth_fact *fact,
                                    struct berth_reason *ret);

/* What happened. Decides nothing. Returns 0 applied; -ESTALE it no longer applies (state unchanged but for the journal
 * number and time); -EINVAL it contradicts the state or is malformed (a damaged or foreign journal; state unchanged);
 * -ENOMEM only for a fact for which no room was reserved (state unchanged).
 * A decision is as good as its fold: one that comes back stale must not be carried out. */
BERTH_MUST_USE int berth_core_fold(struct berth_core *core, const struct berth_fact *fact);

/* What to do now. Changes nothing.
 * ret->facts is an array of decision facts in the order to journal and carry out, valid until the next call on this
 * core; seq 0, at_ms = now_ms. ret->wake_ms: when to ask again if nothing happens, UINT64_MAX = never.
 * Order: tiers, then submission order (a requeued job keeps its place). A job that cannot start keeps the devices it
 * could have earliest: a later job passes it only if it ends by its limit and grace before that, or uses none of them.
 * Cost: per distinct request shape and device, not per queued job.
 * 0 or -ENOMEM. */
struct berth_plan {
	const struct berth_fact *facts;
	size_t n;
	uint64_t wake_ms;
};
BERTH_MUST_USE int berth_core_decide(struct berth_core *core, uint64_t now_ms, struct berth_plan *ret);

/* --- looking ------------------------------------------------------------------------------------------------- */

struct berth_device {
	uint32_t id, node, index;
	const char *uuid, *kind, *model; /* interned */
	uint64_t mem_bytes;
	enum berth_health health;
	bool is_draining;
	const char *drain_by, *drain_note;
	uint64_t job;                    /* that holds it; 0 = free */
	uint64_t since_ms;               /* job holds it since, or free since; 0 = never held */
};
struct berth_node {
	uint32_t id;
	const char *name;
};

/* Borrowed, valid until the next fold; NULL when there is none. */
const struct berth_job *berth_core_job(const struct berth_core *core, uint64_t id);
const struct berth_device *berth_core_device(const struct berth_core *core, uint32_t id);
const struct berth_device *berth_core_device_by_uuid(const struct berth_core *core, const char *uuid);
const struct berth_node *berth_core_node(const struct berth_core *core, uint32_t id);
/* All, in id order: i from 0; NULL beyond the last. Jobs: live and recently finished ones. */
const struct berth_job *berth_core_job_at(const struct berth_core *core, size_t i);
const struct berth_device *berth_core_device_at(const struct berth_core *core, size_t i);
size_t berth_core_job_count(const struct berth_core *core);
size_t berth_core_device_count(const struct berth_core *core);
/* Jobs in a state. O(1). */
size_t berth_core_count_in(const struct berth_core *core, enum berth_job_state state, enum berth_tier tier);
uint64_t berth_core_next_job(const struct berth_core *core);
uint32_t berth_core_next_device(const struct berth_core *core);
uint64_t berth_core_seq(const struct berth_core *core);   /* of the last fact folded */
uint64_t berth_core_at_ms(const struct berth_core *core); /* its time */
const struct berth_fact_policy *berth_core_policy(const struct berth_core *core);

/* Jobs that wait, in the order in which the scheduler looks at them (those that cannot start yet, held or not before a
 * time, behind the others of their tier). Writes at most cap ids, returns how many there are. */
size_t berth_core_queue(const struct berth_core *core, uint64_t now_ms, uint64_t *ret_ids, size_t cap);

/* Why a job does not run (or how it ended): every reason, most binding first; and for each device why it does not serve
 * this job. Also what would help, each suggestion tried on a copy of the question: it is listed only if it would start
 * now or earlier. */
#define BERTH_WHY_REASONS_MAX 8
#define BERTH_WHY_DEVICES_MAX 64
#define BERTH_WHY_SUGGESTIONS_MAX 4
struct berth_device_reason {
	uint32_t device;
	struct berth_reason reason;
};
struct berth_suggestion {          /* one change of the request (fields as in berth_fact_alter) */
	uint32_t fields;
	struct berth_request request;
	uint64_t starts_ms;        /* latest start with it; now_ms = at once */
};
/* When it starts. earliest: nothing forbids it from then on. latest: every job ahead runs to its limit and grace and
 * nothing new comes ahead. UINT64_MAX = cannot be told (a job without limit is in the way, it is held …). The likely
 * moment needs history and is told only once there is some. */
struct berth_forecast {
	uint64_t earliest_ms;
	uint64_t latest_ms;
};
struct berth_why {
	uint64_t job;
	size_t n_reasons;
	struct berth_reason reasons[BERTH_WHY_REASONS_MAX];
	size_t n_devices;
	struct berth_device_reason devices[BERTH_WHY_DEVICES_MAX];
	size_t n_suggestions;
	struct berth_suggestion suggestions[BERTH_WHY_SUGGESTIONS_MAX];
	struct berth_forecast forecast;
};
/* 0, -ENOENT, -ENOMEM. */
BERTH_MUST_USE int berth_core_why(struct berth_core *core, uint64_t job, uint64_t now_ms, struct berth_why *ret);

/* The same for the whole queue at once, short: the first reason and the forecast of each waiting job, in the order of
 * berth_core_queue. Writes at most cap rows, returns how many there are, or -ENOMEM. Forecasts are worked out for the
 * first 1,000 jobs of the queue. */
struct berth_outlook {
	uint64_t job;
	struct berth_reason reason;
	struct berth_forecast forecast;
};
BERTH_MUST_USE ssize_t berth_core_outlook(struct berth_core *core, uint64_t now_ms, struct berth_outlook *ret,
                                          size_t cap);

/* Dry run: what would become of this SUBMITTED fact? As berth_core_check, and on 0 the forecast as if it stood in the
 * queue now. ret_set: the devices it would get now, n = 0 when it would wait; then ret_reason (may be NULL) says why.
 * */
BERTH_MUST_USE int berth_core_try(struct berth_core *core, const struct berth_fact *fact, uint64_t now_ms,
                                  struct berth_reason *ret_reason, struct berth_forecast *ret_forecast,
                                  struct berth_share_set *ret_set);

/* --- saving --------------------------------------------------------------------------------------------------- */

/* Facts that, folded into a fresh core, give this state; they carry its journal number and time. emit is called for
 * each in order; a non-zero return ends it and is returned. Facts and their strings live for the call only. */
BERTH_MUST_USE int berth_core_image(const struct berth_core *core,
                                    int (*emit)(void *arg, const struct berth_fact *fact), void *arg);

/* A number that two cores share exactly when their states are equal (up to chance 2^-64). The journal number and time
 * are a place in the journal, not state: they do not count. Costs a look at every job. */
uint64_t berth_core_hash(const struct berth_core *core);
#endif
