#include "store/flight.h"

#include <errno.h>
#include <string.h>
#include "store/fact_copy.h"

struct totals {
	size_t facts, blobs, submissions;
};

static struct totals count(const struct berth_plan *plan, const struct berth_post_queue *queue)
{
	struct totals totals = {.facts = plan->n};

	for (const struct berth_queued_post *queued = queue->first; queued; queued = queued->next) {
		totals.facts += queued->post.n_facts;
		totals.blobs += queued->post.n_blobs;
		totals.submissions += queued->post.submission ? 1 : 0;
	}
	return totals;
}

static bool make_room(struct berth_flight *flight, const struct totals *totals, size_t n_decisions)
{
	struct berth_arena *arena = &flight->arena;

	flight->facts = berth_arena_alloc(arena, totals->facts * sizeof(*flight->facts));
	flight->blobs = berth_arena_alloc(arena, totals->blobs * sizeof(*flight->blobs));
	flight->submissions = berth_arena_alloc(arena, totals->submissions * sizeof(*flight->submissions));
	flight->history = berth_arena_alloc(arena, n_decisions * sizeof(*flight->history));
	return flight->facts && flight->blobs && flight->submissions && flight->history;
}

/* Copied before the filter sees them: it may ask the core, and the plan lives only until then. */
static int load_decisions(struct berth_flight *flight, const struct berth_plan *plan, berth_flight_filter *filter,
                          void *arg)
{
	for (size_t i = 0; i < plan->n; i++) {
		if (berth_fact_copy(&flight->facts[i], &plan->facts[i], &flight->arena, NULL) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0, n = plan->n; i < n; i++) {
		if (filter(arg, flight, &flight->facts[i]))
			flight->facts[flight->n_facts++] = flight->facts[i];
	}
	flight->n_decisions = flight->n_facts;
	return 0;
}

static void load_post(struct berth_flight *flight, struct berth_queued_post *queued)
{
	const struct berth_post *post = &queued->post;

	queued->at = flight->n_facts;
	if (post->n_facts > 0)
		memcpy(flight->facts + flight->n_facts, post->facts, post->n_facts * sizeof(*post->facts));
	if (post->n_blobs > 0)
		memcpy(flight->blobs + flight->n_blobs, post->blobs, post->n_blobs * sizeof(*post->blobs));
	flight->n_facts += post->n_facts;
	flight->n_blobs += post->n_blobs;
}

static void number_facts(struct berth_flight *flight, const struct berth_core *core, uint64_t seq, uint64_t now_ms)
{
	uint64_t next_job = berth_core_next_job(core);
	uint32_t next_device = berth_core_next_device(core);

	for (size_t i = 0; i < flight->n_facts; i++) {
		struct berth_fact *fact = &flight->facts[i];

		fact->seq = ++seq;
		fact->at_ms = now_ms;
		if (fact->kind == BERTH_FACT_JOB_SUBMITTED && fact->u.submit.job == 0)
			fact->u.submit.job = next_job++;
		if (fact->kind == BERTH_FACT_DEVICE_SEEN && fact->u.device.device == 0)
			fact->u.device.device = next_device++;
	}
}

/* The first job that a post submits, now that it has an id. */
static uint64_t first_job(const struct berth_flight *flight, const struct berth_queued_post *queued)
{
	for (size_t i = queued->at; i < queued->at + queued->post.n_facts; i++) {
		if (flight->facts[i].kind == BERTH_FACT_JOB_SUBMITTED)
			return flight->facts[i].u.submit.job;
	}
	return 0;
}

static void load_submissions(struct berth_flight *flight)
{
	for (struct berth_queued_post *queued = flight->posts.first; queued; queued = queued->next) {
		if (!queued->post.submission)
			continue;
		queued->submission.first_job = first_job(flight, queued);
		flight->submissions[flight->n_submissions++] = queued->submission;
	}
}

static void close_up(struct berth_flight *flight)
{
	flight->tx = (struct berth_transaction){
		.facts = flight->facts,
		.n_facts = flight->n_facts,
		.blobs = flight->blobs,
		.n_blobs = flight->n_blobs,
		.history = flight->history,
		.n_history = flight->n_history,
		.submissions = flight->submissions,
		.n_submissions = flight->n_submissions,
	};
}

int berth_flight_load(struct berth_flight *flight, struct berth_core *core, uint64_t after_seq, uint64_t now_ms,
                      const struct berth_plan *plan, berth_flight_filter *filter, void *arg,
                      struct berth_post_queue *queue)
{
	const struct totals totals = count(plan, queue);
	int r = make_room(flight, &totals, plan->n) ? load_decisions(flight, plan, filter, arg) : -ENOMEM;

	if (r == 0) {
		flight->posts = *queue;
		*queue = (struct berth_post_queue){0};
		for (struct berth_queued_post *queued = flight->posts.first; queued; queued = queued->next)
			load_post(flight, queued);
		number_facts(flight, core, after_seq, now_ms);
		load_submissions(flight);
		close_up(flight);
		r = berth_core_reserve(core, flight->facts, flight->n_facts);
	}
	if (r < 0) {
		berth_post_queue_put_back(queue, &flight->posts);
		berth_flight_clear(flight);
	}
	return r;
}

void berth_flight_clear(struct berth_flight *flight)
{
	struct berth_arena arena = flight->arena;

	berth_arena_reset(&arena);
	*flight = (struct berth_flight){.arena = arena};
}

void berth_flight_fini(struct berth_flight *flight)
{
	berth_post_queue_fini(&flight->posts);
	berth_arena_fini(&flight->arena);
}
