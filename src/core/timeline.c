#include <errno.h>
#include "core/filter.h"
#include "core/saturate.h"
#include "core/timeline.h"

uint64_t berth_timeline_end_ms(const struct berth_job *job, uint64_t now_ms)
{
	uint64_t from_ms = job->start_ms ? job->start_ms : now_ms;
	uint64_t end_ms = berth_add_sat(berth_add_sat(from_ms, job->asked.request.limit_ms), job->asked.grace_ms);

	if (job->state == BERTH_JOB_STOPPING)
		end_ms = berth_min_u64(end_ms, job->stop_deadline_ms);
	return berth_max_u64(end_ms, berth_add_sat(now_ms, 1));
}

int berth_timeline_draw(struct berth_timeline *timeline, struct berth_core *core, uint64_t now_ms)
{
	struct berth_timeline_device *device = berth_arena_alloc(&core->pass, (core->n_devices + 1) * sizeof(*device));
	uint32_t *free_on_node = berth_arena_alloc(&core->pass, (core->n_nodes + 1) * sizeof(*free_on_node));
	size_t n_free = 0;

	if (!device || !free_on_node)
		return -ENOMEM;
	for (size_t i = 0; i < core->n_devices; i++) {
		const struct berth_device_rec *rec = &core->devices[i];
		const struct berth_job_rec *holder = berth_model_job(core, rec->device.job);

		device[i].free_ms = holder ? berth_timeline_end_ms(&holder->job, now_ms) : now_ms;
		device[i].is_free = !holder && berth_filter_is_in_service(&rec->device);
		free_on_node[rec->node] += device[i].is_free;
		n_free += device[i].is_free;
	}
	*timeline = (struct berth_timeline){ core, now_ms, device, free_on_node, n_free };
	return 0;
}

static struct berth_timeline_device *device_of(struct berth_timeline *timeline, const struct berth_share *share)
{
	return &timeline->device[berth_model_device(timeline->core, share->device) - timeline->core->devices];
}

void berth_timeline_occupy(struct berth_timeline *timeline, const struct berth_shape *shape,
                           const struct berth_share_set *set, uint64_t start_ms)
{
	uint64_t end_ms = berth_add_sat(start_ms, berth_shape_span_ms(shape));

	for (uint32_t i = 0; i < set->n; i++) {
		struct berth_timeline_device *device = device_of(timeline, &set->share[i]);

		device->free_ms = berth_max_u64(device->free_ms, end_ms);
	}
}

void berth_timeline_take(struct berth_timeline *timeline, const struct berth_shape *shape,
                         const struct berth_share_set *set)
{
	berth_timeline_occupy(timeline, shape, set, timeline->now_ms);
	for (uint32_t i = 0; i < set->n; i++) {
		device_of(timeline, &set->share[i])->is_free = false;
		timeline->free_on_node[berth_model_device(timeline->core, set->share[i].device)->node]--;
		timeline->n_free--;
	}
}

void berth_timeline_keep(struct berth_timeline *timeline, const struct berth_job_rec *rec,
                         const struct berth_share_set *set, uint64_t start_ms, size_t keeper)
{
	for (uint32_t i = 0; i < set->n; i++) {
		struct berth_timeline_device *device = device_of(timeline, &set->share[i]);

		if (device->kept_for)
			continue;
		device->kept_for = rec->job.id;
		device->kept_ms = start_ms;
		device->keeper = keeper;
	}
	berth_timeline_occupy(timeline, rec->shape, set, start_ms);
}

void berth_timeline_hasten(struct berth_timeline *timeline, const struct berth_job *job, uint64_t end_ms)
{
	for (uint32_t i = 0; i < job->set.n; i++) {
		struct berth_timeline_device *device = device_of(timeline, &job->set.share[i]);

		device->free_ms = berth_min_u64(device->free_ms, end_ms);
		device->free_ms = berth_max_u64(device->free_ms, berth_add_sat(timeline->now_ms, 1));
	}
}
