#include <errno.h>
#include "core/pass.h"
#include "core/place.h"

int berth_pass_begin(struct berth_pass *pass, struct berth_core *core, uint64_t now_ms)
{
	berth_arena_reset(&core->pass);
	berth_order_set_clock(core, now_ms);
	*pass = (struct berth_pass){ .last_start = &pass->starts };
	pass->shape = berth_arena_alloc(&core->pass, ((size_t)core->shapes.pool.n_used + 1) * sizeof(*pass->shape));
	return pass->shape ? berth_timeline_draw(&pass->timeline, core, now_ms) : -ENOMEM;
}

static int start(struct berth_pass *pass, struct berth_job_rec *rec, const struct berth_share_set *set)
{
	struct berth_start *added = berth_arena_alloc(&pass->timeline.core->pass, sizeof(*added));

	if (!added)
		return -ENOMEM;
	*added = (struct berth_start){ .rec = rec, .set = *set };
	*pass->last_start = added;
	pass->last_start = &added->next;
	berth_timeline_take(&pass->timeline, rec->shape, set);
	return 0;
}

/* The first of its shape that cannot start. One that waits for devices to come back into service keeps none: nobody
 * knows how long that takes. */
static void block(struct berth_pass *pass, const struct berth_job_rec *rec)
{
	struct berth_pass_shape *shape = &pass->shape[rec->shape->slot];
	struct berth_share_set set;

	shape->is_blocked = true;
	if (pass->n_keepers == BERTH_PASS_KEEPERS_MAX ||
	    !berth_place_earliest(&pass->timeline, rec->shape, &set, &shape->start_ms))
		return;
	berth_timeline_keep(&pass->timeline, rec, &set, shape->start_ms, ++pass->n_keepers);
}

int berth_pass_run(struct berth_pass *pass, struct berth_job_rec *const *extra, size_t n, const struct berth_job *until)
{
	struct berth_core *core = pass->timeline.core;
	struct berth_walk walk;
	int r = berth_walk_begin(&walk, core, &core->pass, extra, n);

	if (r < 0)
		return r;
	for (struct berth_job_rec *rec = berth_walk_job(&walk); rec; rec = berth_walk_job(&walk)) {
		bool is_blocked = pass->shape[rec->shape->slot].is_blocked;
		struct berth_share_set set;

		if (until && !berth_order_is_before(&rec->job, until))
			return 0;
		if (!is_blocked && berth_place_now(&pass->timeline, rec->shape, &set)) {
			r = start(pass, rec, &set);
			if (r < 0)
				return r;
			berth_walk_next(&walk);
			continue;
		}
		if (!is_blocked)
			block(pass, rec);
		berth_walk_skip(&walk);
	}
	return 0;
}
