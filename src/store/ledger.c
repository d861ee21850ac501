#include "store/ledger.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "store/flight.h"
#include "store/picture.h"
#include "store/post_queue.h"

#define RETRY_MS 1000
#define SNAPSHOT_EVERY_DEFAULT 20000

struct berth_ledger {
	struct berth_ledger_host host;
	struct berth_store *store;
	struct berth_core *core;
	struct berth_post_queue queue; /* waits for the next transaction */
	struct berth_flight flight;    /* the one being written */
	bool is_flying;
	bool is_calling; /* a callback runs: what it posts only waits */
	bool wants_decision;
	bool is_full;
	bool has_failed;
	struct berth_error failure;
	uint64_t wake_ms;  /* of the last plan */
	uint64_t retry_ms; /* nothing is tried before; 0 = no wait */
	uint64_t snapshot_every;
	uint64_t snapshot_seq; /* the last one begun */
};

static uint64_t now(const struct berth_ledger *ledger)
{
	uint64_t now_ms = ledger->host.now_ms(ledger->host.arg), at_ms = berth_core_at_ms(ledger->core);

	return now_ms > at_ms ? now_ms : at_ms;
}

/* --- opening --------------------------------------------------------------------------------------------- */

struct loader {
	struct berth_core *core;
	uint64_t snapshot_seq; /* facts up to it are the snapshot's */
	struct berth_error *err;
};

/* A report that contradicts the state was refused when it came, and is refused again, with the same result. A decision
 * is the core's own, made on exactly this state, and so is a snapshot. */
static int load_fact(void *arg, const struct berth_fact *fact)
{
	struct loader *loader = arg;
	const struct berth_fact_shape *shape = berth_fact_shape(fact->kind);
	const bool is_image = fact->seq <= loader->snapshot_seq;
	int r = berth_core_fold(loader->core, fact);

	if (r == -EINVAL && (is_image || shape->is_decision))
		return berth_error_set(loader->err, -EBADMSG,
		                       "table %s, row %" PRIu64 ", a %s, contradicts what stands before it: start the "
		                       "version of berth that wrote it",
		                       is_image ? "snapshot" : "journal", fact->seq, shape->name);
	return r == -ENOMEM ? berth_error_set(loader->err, r, "no memory to load the journal") : 0;
}

int berth_ledger_open(const char *dir, const struct berth_ledger_host *host, struct berth_ledger **ret,
                      struct berth_error *err)
{
	struct berth_ledger *ledger = calloc(1, sizeof(*ledger));
	struct loader loader = {.err = err};
	int r;

	if (!ledger)
		return berth_error_set(err, -ENOMEM, "no memory to open %s", dir);
	ledger->host = *host;
	ledger->wants_decision = true;
	ledger->wake_ms = UINT64_MAX;
	ledger->snapshot_every = SNAPSHOT_EVERY_DEFAULT;
	ledger->core = loader.core = berth_core_new();
	r = ledger->core ? berth_store_open(dir, &ledger->store, err)
	                 : berth_error_set(err, -ENOMEM, "no memory to open %s", dir);
	if (r == 0) {
		ledger->snapshot_seq = loader.snapshot_seq = berth_store_snapshot_seq(ledger->store);
		r = berth_store_load(ledger->store, load_fact, &loader, err);
	}
	if (r < 0) {
		berth_store_close(ledger->store);
		berth_core_free(ledger->core);
		free(ledger);
		return r;
	}
	*ret = ledger;
	return 0;
}

/* --- taking off ------------------------------------------------------------------------------------------ */

/* A job is forgotten together with its history row, or not yet. */
static bool take_along(void *arg, struct berth_flight *flight, const struct berth_fact *decision)
{
	struct berth_ledger *ledger = arg;
	const struct berth_job *job;
	struct berth_history_row row = {0};

	if (decision->kind != BERTH_FACT_JOB_FORGOTTEN)
		return true;
	job = berth_core_job(ledger->core, decision->u.job.job);
	if (!job || ledger->host.history(ledger->host.arg, job, &flight->arena, &row) < 0) {
		ledger->wake_ms = now(ledger) + RETRY_MS;
		return false;
	}
	flight->history[flight->n_history++] = row;
	return true;
}

static int decide(struct berth_ledger *ledger, uint64_t now_ms, struct berth_plan *ret)
{
	int r;

	if (!ledger->wants_decision && now_ms < ledger->wake_ms)
		return 0;
	r = berth_core_decide(ledger->core, now_ms, ret);
	if (r < 0)
		return r;
	ledger->wants_decision = false;
	ledger->wake_ms = ret->wake_ms;
	return 0;
}

/* Put a transaction together and hand it to the writer; nothing when there is nothing to write. -ENOMEM: nothing was
 * taken out of the queue. */
static int take_off(struct berth_ledger *ledger, bool with_decisions)
{
	const uint64_t now_ms = now(ledger);
	struct berth_plan plan = {.wake_ms = UINT64_MAX};
	int r = with_decisions ? decide(ledger, now_ms, &plan) : 0;

	if (r == 0 && plan.n == 0 && !ledger->queue.first && !ledger->is_full)
		return 0;
	if (r == 0)
		r = berth_flight_load(&ledger->flight, ledger->core, berth_store_last_seq(ledger->store), now_ms, &plan,
		                      take_along, ledger, &ledger->queue);
	if (r < 0) {
		ledger->wants_decision = true;
		return r;
	}
	/* Nothing may be left when all decisions were put off. On a full disk an empty transaction asks whether it
	 * still is. */
	if (ledger->flight.n_facts == 0 && !ledger->flight.posts.first && !ledger->is_full) {
		berth_flight_clear(&ledger->flight);
		return 0;
	}
	r = berth_store_commit(ledger->store, &ledger->flight.tx);
	assert(r == 0); /* only one transaction flies at a time */
	ledger->is_flying = true;
	return 0;
}

/* --- landing --------------------------------------------------------------------------------------------- */

static void tell(const struct berth_queued_post *queued, int result, const struct berth_fact *facts)
{
	if (queued->post.done)
		queued->post.done(queued->post.done_arg, result, facts, queued->post.n_facts);
}

static int fold(struct berth_ledger *ledger, const struct berth_fact *fact)
{
	int r = berth_core_fold(ledger->core, fact);

	assert(r != -ENOMEM); /* room was reserved */
	ledger->host.seen(ledger->host.arg, fact, r);
	return r;
}

/* Its decisions are carried out unless the ledger is closing; whoever opens it next finds them in the state. */
static void land(struct berth_ledger *ledger, bool is_closing)
{
	struct berth_flight *flight = &ledger->flight;
	struct berth_queued_post *queued;

	for (size_t i = 0; i < flight->n_decisions; i++) {
		if (fold(ledger, &flight->facts[i]) == 0 && !is_closing)
			ledger->host.carry_out(ledger->host.arg, &flight->facts[i]);
	}
	while ((queued = berth_post_queue_take(&flight->posts))) {
		int result = 0;

		for (size_t i = 0; i < queued->post.n_facts; i++) {
			int r = fold(ledger, &flight->facts[queued->at + i]);

			result = result ? result : r;
		}
		tell(queued, result, flight->facts + queued->at);
		berth_queued_post_free(queued);
	}
	ledger->wants_decision |= flight->n_facts > 0;
	ledger->is_full = false;
}

/* All posts, or all but those to be kept, which go back into the queue. */
static void refuse(struct berth_ledger *ledger, struct berth_post_queue *posts, int result, bool is_keeping)
{
	struct berth_post_queue kept = {0}, refused = *posts;
	struct berth_queued_post *queued;

	*posts = (struct berth_post_queue){0};
	while ((queued = berth_post_queue_take(&refused))) {
		if (is_keeping && queued->post.keep) {
			berth_post_queue_add(&kept, queued);
			continue;
		}
		tell(queued, result, queued->post.facts);
		berth_queued_post_free(queued);
	}
	berth_post_queue_put_back(&ledger->queue, &kept);
}

static bool is_passing(int r)
{
	return r == -ENOSPC || r == -EDQUOT || r == -ENOMEM;
}

static void fail(struct berth_ledger *ledger, struct berth_post_queue *posts, int result, const struct berth_error *err)
{
	ledger->wants_decision = true;
	if (is_passing(result)) {
		ledger->is_full = result != -ENOMEM;
		ledger->retry_ms = now(ledger) + RETRY_MS;
		refuse(ledger, posts, ledger->is_full ? -ENOSPC : result, true);
		return;
	}
	ledger->has_failed = true;
	ledger->failure = *err;
	refuse(ledger, posts, result, false);
	ledger->host.failed(ledger->host.arg, &ledger->failure);
}

/* --- snapshots ------------------------------------------------------------------------------------------- */

/* No sooner than the live state could have changed as a whole: writing it costs no more than the facts since the last
 * one. */
static void maybe_snapshot(struct berth_ledger *ledger)
{
	const uint64_t seq = berth_store_last_seq(ledger->store), jobs = berth_core_job_count(ledger->core);
	const uint64_t every = jobs > ledger->snapshot_every ? jobs : ledger->snapshot_every;
	struct berth_snapshot *snapshot;

	if (seq - ledger->snapshot_seq < every || berth_store_is_snapshotting(ledger->store))
		return;
	/* One that cannot be made or written is made up for by the next; the journal is kept until then. */
	ledger->snapshot_seq = seq;
	snapshot = berth_picture_take(ledger->core, seq);
	if (snapshot)
		(void)berth_store_snapshot(ledger->store, snapshot);
}

/* --- the loop -------------------------------------------------------------------------------------------- */

/* The decided transaction, if there is one: told to all whom it concerns. */
static void settle(struct berth_ledger *ledger, bool is_closing)
{
	struct berth_error err = {0};
	int result = 0;
	int r = berth_store_take(ledger->store, &result, &err); /* also quiets the descriptor, whatever flies */

	if (!ledger->is_flying || r == 0)
		return;
	ledger->is_flying = false;
	ledger->is_calling = true;
	if (result == 0)
		land(ledger, is_closing);
	else
		fail(ledger, &ledger->flight.posts, result, &err);
	ledger->is_calling = false;
	berth_flight_clear(&ledger->flight);
	if (result == 0 && !is_closing)
		maybe_snapshot(ledger);
}

static void advance(struct berth_ledger *ledger)
{
	int r;

	if (ledger->is_flying)
		return;
	ledger->is_calling = true;
	if (ledger->has_failed) {
		refuse(ledger, &ledger->queue, ledger->failure.code, false);
	} else if (now(ledger) >= ledger->retry_ms) {
		ledger->retry_ms = 0;
		r = take_off(ledger, true);
		if (r < 0)
			fail(ledger, &ledger->queue, r, NULL);
	}
	ledger->is_calling = false;
}

int berth_ledger_post(struct berth_ledger *ledger, const struct berth_post *post)
{
	struct berth_queued_post *queued = berth_queued_post_new(post);

	if (!queued)
		return -ENOMEM;
	berth_post_queue_add(&ledger->queue, queued);
	/* Without memory it stays in the queue, and the next tick tries or refuses it. */
	if (!ledger->is_flying && !ledger->is_calling && !ledger->has_failed && ledger->retry_ms == 0)
		(void)take_off(ledger, false);
	return 0;
}

int berth_ledger_submission_pending(const struct berth_ledger *ledger, uint32_t uid, const char *key)
{
	return berth_post_queue_has_submission(&ledger->queue, uid, key) ||
	       berth_post_queue_has_submission(&ledger->flight.posts, uid, key);
}

void berth_ledger_nudge(struct berth_ledger *ledger)
{
	ledger->wants_decision = true;
}

void berth_ledger_dispatch(struct berth_ledger *ledger)
{
	settle(ledger, false);
	advance(ledger);
}

uint64_t berth_ledger_wake_ms(const struct berth_ledger *ledger)
{
	if (ledger->is_flying)
		return UINT64_MAX;
	if (ledger->has_failed)
		return ledger->queue.first ? 0 : UINT64_MAX;
	if (ledger->retry_ms > 0)
		return ledger->retry_ms;
	return ledger->wants_decision || ledger->queue.first ? 0 : ledger->wake_ms;
}

void berth_ledger_tick(struct berth_ledger *ledger)
{
	if (!ledger->is_flying && now(ledger) >= berth_ledger_wake_ms(ledger))
		advance(ledger);
}

/* --- closing and looking --------------------------------------------------------------------------------- */

static void flush(struct berth_ledger *ledger)
{
	if (!ledger->is_flying)
		return;
	berth_store_wait(ledger->store);
	settle(ledger, true);
}

void berth_ledger_close(struct berth_ledger *ledger)
{
	if (!ledger)
		return;
	flush(ledger);
	if (ledger->queue.first && !ledger->has_failed) {
		ledger->is_full = false;
		(void)take_off(ledger, false);
		flush(ledger);
	}
	refuse(ledger, &ledger->queue, -ECANCELED, false);
	berth_flight_fini(&ledger->flight);
	berth_post_queue_fini(&ledger->queue);
	berth_store_close(ledger->store);
	berth_core_free(ledger->core);
	free(ledger);
}

struct berth_core *berth_ledger_core(struct berth_ledger *ledger)
{
	return ledger->core;
}

struct berth_store *berth_ledger_store(struct berth_ledger *ledger)
{
	return ledger->store;
}

int berth_ledger_fd(const struct berth_ledger *ledger)
{
	return berth_store_fd(ledger->store);
}

bool berth_ledger_is_full(const struct berth_ledger *ledger)
{
	return ledger->is_full;
}

void berth_ledger_set_snapshot_every(struct berth_ledger *ledger, uint64_t facts)
{
	ledger->snapshot_every = facts;
}
