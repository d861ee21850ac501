#include "core/saturate.h"
#include "core/suggest.h"

#define MINUTE_MS 60000u

struct search {
	const struct berth_forecast_view *view;
	const struct berth_job_rec *rec;
	uint64_t start_ms;          /* to be beaten */
	struct berth_suggestion best;
};

/* Try one change; of those that do not start at once the first tried stays, so try small changes first.
 * Returns whether the search is over. */
static bool try_change(struct search *search, uint32_t field, const struct berth_request *changed)
{
	struct berth_shape shape = { .request = *changed, .grace_ms = search->rec->job.asked.grace_ms };
	uint64_t starts_ms;

	/* Shapes compare models by their interned lower case; a change either keeps the model or drops it. */
	shape.request.gpu_model = *changed->gpu_model ? search->rec->shape->request.gpu_model : "";
	starts_ms = berth_forecast_start(search->view, &shape, NULL);
	if (starts_ms >= search->start_ms)
		return false;
	if (search->best.fields == 0 || starts_ms == search->view->pass.timeline.now_ms)
		search->best = (struct berth_suggestion){ field, *changed, starts_ms };
	return starts_ms == search->view->pass.timeline.now_ms;
}

static void try_fewer_devices(struct search *search)
{
	struct berth_request changed = search->rec->job.asked.request;
	bool is_over = false;

	while (!is_over && changed.gpus > 1) {
		changed.gpus--;
		is_over = try_change(search, BERTH_ALTER_GPUS, &changed);
	}
}

/* The memory sizes that devices have, downwards: in between nothing changes. */
static void try_less_memory(struct search *search)
{
	const struct berth_core *core = search->view->pass.timeline.core;
	struct berth_request changed = search->rec->job.asked.request;
	bool is_over = false;

	while (!is_over && changed.gpu_mem_bytes > 0) {
		uint64_t next = 0;

		for (size_t i = 0; i < core->n_devices; i++) {
			uint64_t mem_bytes = core->devices[i].device.mem_bytes;

			if (mem_bytes < changed.gpu_mem_bytes && mem_bytes > next)
				next = mem_bytes;
		}
		changed.gpu_mem_bytes = next;
		is_over = try_change(search, BERTH_ALTER_GPU_MEM, &changed);
	}
}

/* So short that it ends before a job ahead could start on devices kept for it; whole minutes where there are any. */
static uint64_t limit_before(const struct search *search, uint64_t kept_ms)
{
	uint64_t taken_ms = berth_add_sat(search->view->pass.timeline.now_ms, search->rec->job.asked.grace_ms);
	uint64_t limit_ms = kept_ms > taken_ms ? kept_ms - taken_ms : 0;

	return limit_ms > MINUTE_MS ? limit_ms - limit_ms % MINUTE_MS : limit_ms;
}

static void try_shorter_limit(struct search *search)
{
	const struct berth_timeline *timeline = &search->view->pass.timeline;
	struct berth_request changed = search->rec->job.asked.request;
	bool is_over = false;

	while (!is_over) {
		uint64_t next = 0;

		for (size_t i = 0; i < timeline->core->n_devices; i++) {
			uint64_t limit_ms = timeline->device[i].kept_for
			                            ? limit_before(search, timeline->device[i].kept_ms)
			                            : 0;

			if (limit_ms < changed.limit_ms && limit_ms > next)
				next = limit_ms;
		}
		if (next == 0)
			return;
		changed.limit_ms = next;
		is_over = try_change(search, BERTH_ALTER_LIMIT, &changed);
	}
}

static void try_any_model(struct search *search)
{
	struct berth_request changed = search->rec->job.asked.request;

	if (!*changed.gpu_model)
		return;
	changed.gpu_model = "";
	(void)try_change(search, BERTH_ALTER_MODEL, &changed);
}

static void try_any_index(struct search *search)
{
	struct berth_request changed = search->rec->job.asked.request;

	if (!changed.index_mask)
		return;
	changed.index_mask = 0;
	(void)try_change(search, BERTH_ALTER_INDEX, &changed);
}

/* Into the list, soonest first; the latest falls off a full one. */
static size_t insert(struct berth_suggestion *list, size_t n, const struct berth_suggestion *found)
{
	size_t at = n;

	for (; at > 0 && list[at - 1].starts_ms > found->starts_ms; at--) {
		if (at < BERTH_WHY_SUGGESTIONS_MAX)
			list[at] = list[at - 1];
	}
	if (at < BERTH_WHY_SUGGESTIONS_MAX)
		list[at] = *found;
	return n < BERTH_WHY_SUGGESTIONS_MAX ? n + 1 : n;
}

size_t berth_suggest(const struct berth_forecast_view *view, const struct berth_job_rec *rec, uint64_t start_ms,
                     struct berth_suggestion *ret)
{
	void (*const kind[])(struct search *) = { try_fewer_devices, try_less_memory, try_shorter_limit, try_any_model,
		                                  try_any_index };
	size_t n = 0;

	for (size_t i = 0; i < sizeof(kind) / sizeof(*kind); i++) {
		struct search search = { .view = view, .rec = rec, .start_ms = start_ms };

		kind[i](&search);
		if (search.best.fields)
			n = insert(ret, n, &search.best);
	}
	return n;
}
