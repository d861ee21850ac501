#include <errno.h>
#include "core/filter.h"
#include "core/pass.h"
#include "core/place.h"
#include "core/saturate.h"

uint64_t berth_pass_end_ms(const struct berth_job *job, uint64_t now_ms)
{
	uint64_t from_ms = job->start_ms ? job->start_ms : now_ms;
	uint64_t end_ms = berth_add_sat(berth_add_sat(from_ms, job->asked.request.limit_ms), job->asked.grace_ms);

	if (job->state == BERTH_JOB_STOPPING)
		end_ms = berth_min_u64(end_ms, job->stop_deadline_ms);
	return berth_max_u64(end_ms, berth_add_sat(now_ms, 1));
}

int berth_pass_draw(struct berth_pass *pass, struct berth_core *core, uint64_t now_ms)
{
	*pass = (struct berth_pass){ .core = core, .now_ms = now_ms };
	pass->last_start = &pass->starts;
	pass->device = berth_arena_alloc(&core->pass, (core->n_devices + 1) * sizeof(*pass->device));
	pass->free_on_node = berth_arena_alloc(&core->pass, (core->n_nodes + 1) * sizeof(*pass->free_on_node));
	pass->shape = berth_arena_alloc(&core->pass, ((size_t)core->shapes.pool.n_used + 1) * sizeof(*pass->shape));
	if (!pass->device || !pass->free_on_node || !pass->shape)
		return -ENOMEM;
	for (size_t i = 0; i < core->n_devices; i++) {
		const struct berth_device_rec *rec = &core->devices[i];
		const struct berth_job_rec *holder = berth_model_job(core, rec->device.job);

		pass->device[i].free_ms = holder ? berth_pass_end_ms(&holder->job, pass->now_ms) : pass->now_ms;
		pass->device[i].is_free = !holder && berth_filter_is_in_service(&rec->device);
		if (pass->device[i].is_free) {
			pass->free_on_node[rec->node]++;
			pass->n_free++;
		}
	}
	return 0;
}

int berth_pass_begin(struct berth_pass *pass, struct berth_core *core, uint64_t now_ms)
{
	berth_arena_reset(&core->pass);
	berth_order_set_clock(core, now_ms);
	return berth_pass_draw(pass, core, now_ms);
}

void berth_pass_occupy(struct berth_pass *pass, const struct berth_shape *shape, const struct berth_share_set *set,
                       uint64_t start_ms)
{
	uint64_t end_ms = berth_add_sat(start_ms, berth_shape_span_ms(shape));

	for (uint32_t i = 0; i < set->n; i++) {
		const struct berth_device_rec *rec = berth_model_device(pass->core, set->share[i].device);
		struct berth_pass_device *device = &pass->device[rec - pass->core->devices];

		device->free_ms = berth_max_u64(device->free_ms, end_ms);
	}
}

void berth_pass_hasten(struct berth_pass *pass, const struct berth_job *job, uint64_t end_ms)
{
	for (uint32_t i = 0; i < job->set.n; i++) {
		const struct berth_device_rec *rec = berth_model_device(pass->core, job->set.share[i].device);
		struct berth_pass_device *device = &pass->device[rec - pass->core->devices];

		device->free_ms = berth_max_u64(berth_min_u64(device->free_ms, end_ms), berth_add_sat(pass->now_ms, 1));
	}
}

static int start(struct berth_pass *pass, struct berth_job_rec *rec, const struct berth_share_set *set)
{
	struct berth_start *added = berth_arena_alloc(&pass->core->pass, sizeof(*added));

	if (!added)
		return -ENOMEM;
	*added = (struct berth_start){ .rec = rec, .set = *set };
	*pass->last_start = added;
	pass->last_start = &added->next;
	berth_pass_occupy(pass, rec->shape, set, pass->now_ms);
	for (uint32_t i = 0; i < set->n; i++) {
		const struct berth_device_rec *taken = berth_model_device(pass->core, set->share[i].device);

		pass->device[taken - pass->core->devices].is_free = false;
		pass->free_on_node[taken->node]--;
		pass->n_free--;
	}
	return 0;
}

/* Keep the devices that the job could have earliest. One that waits for devices to come back into service keeps none:
 * nobody knows how long that takes. */
static void keep_devices(struct berth_pass *pass, const struct berth_job_rec *rec)
{
	struct berth_share_set set;
	uint64_t start_ms;

	if (pass->n_keepers == BERTH_PASS_KEEPERS_MAX || !berth_place_earliest(pass, rec->shape, &set, &start_ms))
		return;
	pass->n_keepers++;
	pass->shape[rec->shape->slot].start_ms = start_ms;
	for (uint32_t i = 0; i < set.n; i++) {
		const struct berth_device_rec *kept = berth_model_device(pass->core, set.share[i].device);
		struct berth_pass_device *device = &pass->device[kept - pass->core->devices];

		if (device->kept_for == 0) {
			device->kept_for = rec->job.id;
			device->kept_ms = start_ms;
			device->keeper = pass->n_keepers;
		}
	}
	berth_pass_occupy(pass, rec->shape, &set, start_ms);
}

int berth_pass_run(struct berth_pass *pass, struct berth_job_rec *const *extra, size_t n, const struct berth_job *until)
{
	struct berth_walk walk;
	int r = berth_walk_begin(&walk, pass->core, &pass->core->pass, extra, n);

	if (r < 0)
		return r;
	for (struct berth_job_rec *rec = berth_walk_job(&walk); rec; rec = berth_walk_job(&walk)) {
		struct berth_share_set set;

		if (until && !berth_order_is_before(&rec->job, until))
			return 0;
		if (!pass->shape[rec->shape->slot].is_blocked && berth_place_now(pass, rec->shape, &set)) {
			r = start(pass, rec, &set);
			if (r < 0)
				return r;
			berth_walk_next(&walk);
			continue;
		}
		if (!pass->shape[rec->shape->slot].is_blocked)
			keep_devices(pass, rec);
		pass->shape[rec->shape->slot].is_blocked = true;
		berth_walk_skip(&walk);
	}
	return 0;
}
