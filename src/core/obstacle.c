#include "core/filter.h"
#include "core/obstacle.h"
#include "core/place.h"

struct supply {
	uint32_t suiting;
	uint32_t in_service;
	uint32_t free;
	uint64_t kept_for; /* the first in line for whom free ones are kept; 0 = nobody */
	size_t keeper;
};

static struct supply supply_on(const struct berth_timeline *timeline, const struct berth_shape *shape, size_t node)
{
	const struct berth_core *core = timeline->core;
	struct supply supply = { 0 };

	for (uint32_t at = core->nodes[node].first_device; at != BERTH_NO_POSITION;
	     at = core->devices[at].next_on_node) {
		if (!berth_filter_suits(shape, &core->devices[at], NULL))
			continue;
		supply.suiting++;
		supply.in_service += berth_filter_is_in_service(&core->devices[at].device);
		if (!timeline->device[at].is_free)
			continue;
		supply.free++;
		if (timeline->device[at].kept_for &&
		    (!supply.kept_for || timeline->device[at].keeper < supply.keeper)) {
			supply.kept_for = timeline->device[at].kept_for;
			supply.keeper = timeline->device[at].keeper;
		}
	}
	return supply;
}

struct berth_reason berth_obstacle_of_shape(const struct berth_timeline *timeline, const struct berth_shape *shape)
{
	const uint32_t asked = shape->request.gpus;
	struct supply most_in_service = { 0 }, most_free = { 0 };
	struct berth_share_set set;
	uint32_t most_suiting = 0;

	if (berth_place_now(timeline, shape, &set))
		return (struct berth_reason){ .code = BERTH_REASON_NONE };
	for (size_t node = 0; node < timeline->core->n_nodes; node++) {
		struct supply supply = supply_on(timeline, shape, node);

		if (supply.in_service > most_in_service.in_service || most_in_service.suiting == 0)
			most_in_service = supply;
		if (supply.free > most_free.free)
			most_free = supply;
		if (supply.suiting > most_suiting)
			most_suiting = supply.suiting;
	}
	if (most_in_service.in_service < asked)
		return (struct berth_reason){ BERTH_REASON_NO_DEVICES, asked,
		                             most_in_service.suiting - most_in_service.in_service,
		                             most_in_service.in_service };
	if (most_free.free >= asked)
		return (struct berth_reason){ .code = BERTH_REASON_PRIORITY, .a = most_free.kept_for };
	return (struct berth_reason){ BERTH_REASON_RESOURCES, asked, most_free.free, most_suiting };
}

struct berth_reason berth_obstacle_of_job(const struct berth_job *job, uint64_t now_ms)
{
	if (job->is_cancel_asked)
		return (struct berth_reason){ .code = BERTH_REASON_CANCELLED };
	if (job->state == BERTH_JOB_HELD)
		return (struct berth_reason){ .code = BERTH_REASON_HELD };
	if (job->asked.begin_ms > now_ms && job->asked.begin_ms >= job->eligible_ms)
		return (struct berth_reason){ .code = BERTH_REASON_BEGIN_TIME, .a = job->asked.begin_ms };
	if (job->eligible_ms > now_ms)
		return (struct berth_reason){ BERTH_REASON_BACK_OFF, job->eligible_ms, job->failures, 0 };
	return (struct berth_reason){ .code = BERTH_REASON_NONE };
}

struct berth_reason berth_obstacle_of_device(const struct berth_timeline *timeline, const struct berth_shape *shape,
                                             size_t position)
{
	const struct berth_device_rec *rec = &timeline->core->devices[position];
	const struct berth_timeline_device *seen = &timeline->device[position];
	const struct berth_job_rec *holder = berth_model_job(timeline->core, rec->device.job);
	struct berth_reason reason = { .code = BERTH_REASON_DEVICE_FREE };

	if (!berth_filter_suits(shape, rec, &reason))
		return reason;
	if (rec->device.health != BERTH_HEALTH_OK)
		reason.code = BERTH_REASON_DEVICE_LOST;
	else if (rec->device.is_draining)
		reason.code = BERTH_REASON_DEVICE_DRAINED;
	else if (holder)
		reason = (struct berth_reason){ BERTH_REASON_DEVICE_BUSY, holder->job.id,
			                        berth_timeline_end_ms(&holder->job, timeline->now_ms), 0 };
	else if (seen->kept_for)
		reason = (struct berth_reason){ BERTH_REASON_DEVICE_RESERVED, seen->kept_for, seen->kept_ms, 0 };
	return reason;
}
