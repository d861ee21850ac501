#include <errno.h>
#include "core/model.h"
#include "core/order.h"
#include "core/saturate.h"

struct berth_job_rec *berth_order_rec(struct berth_tree_node *node)
{
	return node ? (struct berth_job_rec *)(void *)((char *)node - offsetof(struct berth_job_rec, link)) : NULL;
}

uint64_t berth_order_due_ms(const struct berth_job *job)
{
	return berth_max_u64(job->asked.begin_ms, job->eligible_ms);
}

bool berth_order_is_before(const struct berth_job *a, const struct berth_job *b)
{
	return a->asked.tier != b->asked.tier ? a->asked.tier < b->asked.tier : a->id < b->id;
}

bool berth_order_has_lost_device(const struct berth_core *core, const struct berth_job *job)
{
	for (uint32_t i = 0; i < job->set.n; i++) {
		if (berth_model_device(core, job->set.share[i].device)->device.health == BERTH_HEALTH_LOST)
			return true;
	}
	return false;
}

bool berth_order_is_todo(const struct berth_core *core, const struct berth_job *job)
{
	bool is_to_be_told = job->state == BERTH_JOB_RUNNING && job->limit_told_ms != job->asked.request.limit_ms;

	if (job->state == BERTH_JOB_PENDING || job->state == BERTH_JOB_HELD)
		return job->is_cancel_asked;
	if (job->state == BERTH_JOB_STARTING || job->state == BERTH_JOB_RUNNING)
		return is_to_be_told || job->is_cancel_asked || job->is_requeue_asked ||
		       berth_order_has_lost_device(core, job);
	return job->state == BERTH_JOB_ENDED;
}

static struct berth_queue *queue_of(struct berth_job_rec *rec)
{
	return &rec->shape->queue[rec->job.asked.tier];
}

static void enqueue(struct berth_order *order, struct berth_job_rec *rec)
{
	struct berth_queue *queue = queue_of(rec);
	struct berth_queue **active = &order->active[queue->tier];

	if (queue->waiting.n == 0) {
		queue->prev = NULL;
		queue->next = *active;
		if (queue->next)
			queue->next->prev = queue;
		*active = queue;
		order->n_active++;
	}
	berth_tree_insert(&queue->waiting, &rec->link, 0, rec->job.id);
}

static void leave_set(struct berth_order *order, struct berth_job_rec *rec)
{
	struct berth_queue *queue = queue_of(rec);
	bool was_queued = rec->link.tree == &queue->waiting;

	berth_tree_remove(&rec->link);
	if (!was_queued || queue->waiting.n > 0)
		return;
	if (queue->next)
		queue->next->prev = queue->prev;
	if (queue->prev)
		queue->prev->next = queue->next;
	else
		order->active[queue->tier] = queue->next;
	order->n_active--;
}

static void join_set(struct berth_core *core, struct berth_job_rec *rec)
{
	struct berth_order *order = &core->order;
	const struct berth_job *job = &rec->job;
	uint64_t due_ms = berth_order_due_ms(job);

	if (berth_order_is_todo(core, job))
		berth_tree_insert(&order->todo, &rec->link, 0, job->id);
	else if (job->state == BERTH_JOB_PENDING && due_ms > order->clock_ms)
		berth_tree_insert(&order->timed, &rec->link, due_ms, job->id);
	else if (job->state == BERTH_JOB_PENDING)
		enqueue(order, rec);
	else if (berth_job_state_is_live(job->state))
		berth_tree_insert(&order->live, &rec->link, 0, job->id);
	else if (berth_job_state_is_final(job->state))
		berth_tree_insert(&order->done, &rec->link, job->finish_ms, job->id);
}

void berth_order_file(struct berth_core *core, struct berth_job_rec *rec)
{
	core->count[rec->job.state][rec->job.asked.tier]++;
	join_set(core, rec);
}

void berth_order_unfile(struct berth_core *core, struct berth_job_rec *rec)
{
	core->count[rec->job.state][rec->job.asked.tier]--;
	leave_set(&core->order, rec);
}

void berth_order_set_clock(struct berth_core *core, uint64_t now_ms)
{
	struct berth_order *order = &core->order;
	bool is_back = now_ms < order->clock_ms;

	order->clock_ms = now_ms;
	for (size_t i = 0; is_back && i < core->n_jobs; i++) {
		struct berth_job_rec *rec = berth_model_job_at(core, i);

		if (rec->job.state == BERTH_JOB_PENDING) {
			leave_set(order, rec);
			join_set(core, rec);
		}
	}
	while (order->timed.first && order->timed.first->key <= now_ms) {
		struct berth_job_rec *rec = berth_order_rec(order->timed.first);

		leave_set(order, rec);
		join_set(core, rec);
	}
}

/* --- the list: two looks at the jobs in id order, so nothing is sorted ------------------------------------------ */

#define LINES (2 * BERTH_TIER_COUNT)

/* In which part of the list: by tier, those in line before those whose time has not come; LINES = in none. */
static size_t line_of(const struct berth_job *job, uint64_t now_ms)
{
	bool is_waiting = job->state == BERTH_JOB_PENDING || job->state == BERTH_JOB_HELD;
	bool is_behind = job->state == BERTH_JOB_HELD || berth_order_due_ms(job) > now_ms;

	return is_waiting && !job->is_cancel_asked ? 2 * (size_t)job->asked.tier + is_behind : LINES;
}

size_t berth_order_list(const struct berth_core *core, uint64_t now_ms, uint64_t *ret_ids, size_t cap)
{
	size_t n[LINES + 1] = { 0 };
	size_t place = 0;

	for (size_t i = 0; i < core->n_jobs; i++)
		n[line_of(&berth_model_job_at(core, i)->job, now_ms)]++;
	for (size_t line = 0; line < LINES; line++) {
		size_t behind = place + n[line];

		n[line] = place;
		place = behind;
	}
	for (size_t i = 0; i < core->n_jobs && cap > 0; i++) {
		const struct berth_job *job = &berth_model_job_at(core, i)->job;
		size_t line = line_of(job, now_ms);

		if (line < LINES && n[line] < cap)
			ret_ids[n[line]] = job->id;
		n[line]++;
	}
	return place;
}

/* --- the walk: a binary heap of heads -------------------------------------------------------------------------- */

static bool is_above(const struct berth_walk *walk, size_t a, size_t b)
{
	return berth_order_is_before(&walk->heap[a]->job, &walk->heap[b]->job);
}

static void swap(struct berth_walk *walk, size_t a, size_t b)
{
	struct berth_job_rec *was = walk->heap[a];

	walk->heap[a] = walk->heap[b];
	walk->heap[b] = was;
}

static void sink(struct berth_walk *walk, size_t i)
{
	for (;;) {
		size_t best = i;

		for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < walk->n; child++) {
			if (is_above(walk, child, best))
				best = child;
		}
		if (best == i)
			return;
		swap(walk, i, best);
		i = best;
	}
}

int berth_walk_begin(struct berth_walk *walk, struct berth_core *core, struct berth_arena *arena,
                     struct berth_job_rec *const *extra, size_t n)
{
	*walk = (struct berth_walk){ 0 };
	walk->heap = berth_arena_alloc(arena, (core->order.n_active + n + 1) * sizeof(*walk->heap));
	if (!walk->heap)
		return -ENOMEM;
	for (unsigned tier = 0; tier < BERTH_TIER_COUNT; tier++) {
		for (struct berth_queue *queue = core->order.active[tier]; queue; queue = queue->next)
			walk->heap[walk->n++] = berth_order_rec(queue->waiting.first);
	}
	for (size_t i = 0; i < n; i++)
		walk->heap[walk->n++] = extra[i];
	for (size_t i = walk->n / 2; i-- > 0;)
		sink(walk, i);
	return 0;
}

struct berth_job_rec *berth_walk_job(const struct berth_walk *walk)
{
	return walk->n ? walk->heap[0] : NULL;
}

void berth_walk_next(struct berth_walk *walk)
{
	struct berth_job_rec *rec = walk->heap[0];
	bool is_queued = rec->link.tree == &queue_of(rec)->waiting;
	struct berth_job_rec *behind = is_queued ? berth_order_rec(berth_tree_next(&rec->link)) : NULL;

	if (!behind) {
		berth_walk_skip(walk);
		return;
	}
	walk->heap[0] = behind;
	sink(walk, 0);
}

void berth_walk_skip(struct berth_walk *walk)
{
	walk->heap[0] = walk->heap[--walk->n];
	sink(walk, 0);
}
