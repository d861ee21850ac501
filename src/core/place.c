#include "core/filter.h"
#include "core/place.h"
#include "core/saturate.h"

/* A handful of devices of one node, the best of all that were offered: at most `want`, in order of preference. */
struct hand {
	uint32_t want, n;
	struct candidate {
		uint32_t position;
		uint32_t id;
		uint64_t free_ms;
		uint64_t mem_bytes;
	} card[BERTH_NODE_DEVICES_MAX];
};
typedef bool prefers(const struct candidate *a, const struct candidate *b);

static bool prefers_small(const struct candidate *a, const struct candidate *b)
{
	return a->mem_bytes != b->mem_bytes ? a->mem_bytes < b->mem_bytes : a->id < b->id;
}

static bool prefers_early(const struct candidate *a, const struct candidate *b)
{
	return a->free_ms != b->free_ms ? a->free_ms < b->free_ms : prefers_small(a, b);
}

static bool prefers_late(const struct candidate *a, const struct candidate *b)
{
	return a->free_ms != b->free_ms ? a->free_ms > b->free_ms : prefers_small(a, b);
}

/* Insertion by preference; what falls off the end is dropped. want is at least 1. */
static void offer(struct hand *hand, const struct candidate *card, prefers *is_better)
{
	uint32_t i = hand->n;

	if (hand->n == hand->want) {
		if (!is_better(card, &hand->card[hand->n - 1]))
			return;
		i--;
	} else {
		hand->n++;
	}
	for (; i > 0 && is_better(card, &hand->card[i - 1]); i--)
		hand->card[i] = hand->card[i - 1];
	hand->card[i] = *card;
}

static uint64_t memory_of(const struct hand *hand)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < hand->n; i++)
		sum = berth_add_sat(sum, hand->card[i].mem_bytes);
	return sum;
}

/* Ascending by id, as share sets are. */
static void write_set(const struct hand *hand, struct berth_share_set *ret)
{
	*ret = (struct berth_share_set){ .n = hand->n };
	for (uint32_t i = 0; i < hand->n; i++) {
		uint32_t at = i;

		for (; at > 0 && ret->share[at - 1].device > hand->card[i].id; at--)
			ret->share[at] = ret->share[at - 1];
		ret->share[at].device = hand->card[i].id;
	}
}

static struct candidate candidate_of(const struct berth_timeline *timeline, uint32_t position)
{
	const struct berth_device *device = &timeline->core->devices[position].device;

	return (struct candidate){ position, device->id, timeline->device[position].free_ms, device->mem_bytes };
}

static bool may_use_now(const struct berth_timeline *timeline, const struct berth_shape *shape, uint32_t position,
                        uint64_t end_ms)
{
	const struct berth_timeline_device *device = &timeline->device[position];

	if (!device->is_free || !berth_filter_suits(shape, &timeline->core->devices[position], NULL))
		return false;
	return device->kept_for == 0 || (end_ms != UINT64_MAX && end_ms <= device->kept_ms);
}

bool berth_place_now(const struct berth_timeline *timeline, const struct berth_shape *shape,
                     struct berth_share_set *ret)
{
	const struct berth_core *core = timeline->core;
	uint64_t end_ms = berth_add_sat(timeline->now_ms, berth_shape_span_ms(shape));
	struct hand best = { 0 };
	uint64_t best_memory = 0;
	uint32_t best_left = 0;

	if (shape->request.gpus == 0) {
		*ret = (struct berth_share_set){ 0 };
		return true;
	}
	for (size_t node = 0; node < core->n_nodes && timeline->n_free >= shape->request.gpus; node++) {
		struct hand hand = { .want = shape->request.gpus };
		uint32_t left = timeline->free_on_node[node] - shape->request.gpus;

		if (timeline->free_on_node[node] < shape->request.gpus)
			continue;
		for (uint32_t at = core->nodes[node].first_device; at != BERTH_NO_POSITION;
		     at = core->devices[at].next_on_node) {
			struct candidate card = candidate_of(timeline, at);

			if (may_use_now(timeline, shape, at, end_ms))
				offer(&hand, &card, prefers_small);
		}
		if (hand.n < hand.want)
			continue;
		if (best.n == 0 || memory_of(&hand) < best_memory ||
		    (memory_of(&hand) == best_memory && left < best_left)) {
			best = hand;
			best_memory = memory_of(&hand);
			best_left = left;
		}
	}
	if (best.n == 0)
		return false;
	write_set(&best, ret);
	return true;
}

/* Offer all devices of a node that suit and are in service, free by until_ms at the latest. */
static void offer_node(struct hand *hand, const struct berth_timeline *timeline, const struct berth_shape *shape,
                       size_t node, uint64_t until_ms, prefers *is_better)
{
	const struct berth_core *core = timeline->core;

	for (uint32_t at = core->nodes[node].first_device; at != BERTH_NO_POSITION;
	     at = core->devices[at].next_on_node) {
		struct candidate card = candidate_of(timeline, at);

		if (card.free_ms <= until_ms && berth_filter_is_in_service(&core->devices[at].device) &&
		    berth_filter_suits(shape, &core->devices[at], NULL))
			offer(hand, &card, is_better);
	}
}

bool berth_place_earliest(const struct berth_timeline *timeline, const struct berth_shape *shape,
                          struct berth_share_set *ret_set, uint64_t *ret_start_ms)
{
	struct hand best = { 0 };
	uint64_t best_start_ms = 0;

	if (shape->request.gpus == 0) {
		*ret_set = (struct berth_share_set){ 0 };
		*ret_start_ms = timeline->now_ms;
		return true;
	}
	for (size_t node = 0; node < timeline->core->n_nodes; node++) {
		struct hand early = { .want = shape->request.gpus };
		struct hand late = early;
		uint64_t start_ms;

		offer_node(&early, timeline, shape, node, UINT64_MAX, prefers_early);
		if (early.n < early.want)
			continue;
		start_ms = early.card[early.n - 1].free_ms;
		offer_node(&late, timeline, shape, node, start_ms, prefers_late);
		if (best.n == 0 || start_ms < best_start_ms ||
		    (start_ms == best_start_ms && memory_of(&late) < memory_of(&best))) {
			best = late;
			best_start_ms = start_ms;
		}
	}
	if (best.n == 0)
		return false;
	write_set(&best, ret_set);
	*ret_start_ms = best_start_ms;
	return true;
}
