#include <stdlib.h>
#include <strings.h>
#include "play.h"

bool oracle_suits(const struct berth_job *job, const struct berth_device *device)
{
	const struct berth_request *request = &job->asked.request;

	return device->mem_bytes >= request->gpu_mem_bytes &&
	       (!request->index_mask || (device->index < 64 && (request->index_mask >> device->index & 1))) &&
	       (!*request->gpu_model || strcasecmp(request->gpu_model, device->model) == 0);
}

bool oracle_is_in_line(const struct berth_job *job, uint64_t now_ms)
{
	return job->state == BERTH_JOB_PENDING && !job->is_cancel_asked && job->asked.begin_ms <= now_ms &&
	       job->eligible_ms <= now_ms;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	uint64_t c;

	return __builtin_add_overflow(a, b, &c) ? UINT64_MAX : c;
}

static uint64_t free_from(const struct berth_core *core, const struct berth_device *device, uint64_t now_ms,
                          const uint64_t *without, size_t n)
{
	const struct berth_job *job = berth_core_job(core, device->job);
	uint64_t end_ms;

	for (size_t i = 0; job && i < n; i++) {
		if (without[i] == job->id)
			job = NULL;
	}
	if (!job)
		return now_ms;
	end_ms = sum(sum(job->start_ms ? job->start_ms : now_ms, job->asked.request.limit_ms), job->asked.grace_ms);
	if (job->state == BERTH_JOB_STOPPING && job->stop_deadline_ms < end_ms)
		end_ms = job->stop_deadline_ms;
	return end_ms > now_ms ? end_ms : now_ms + 1;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

uint64_t oracle_start(const struct berth_core *core, const struct berth_job *job, uint64_t now_ms,
                      const uint64_t *without, size_t n, bool *ret_is_possible)
{
	uint64_t best_ms = UINT64_MAX;
	uint32_t gpus = job->asked.request.gpus;

	*ret_is_possible = gpus == 0;
	for (uint32_t node = 1; node < 30; node++) {
		uint64_t free_ms[128];
		size_t n_free = 0;

		for (size_t i = 0; i < berth_core_device_count(core); i++) {
			const struct berth_device *device = berth_core_device_at(core, i);

			if (device->node == node && device->health == BERTH_HEALTH_OK && !device->is_draining &&
			    oracle_suits(job, device) && n_free < 128)
				free_ms[n_free++] = free_from(core, device, now_ms, without, n);
		}
		if (gpus == 0 || n_free < gpus)
			continue;
		*ret_is_possible = true;
		qsort(free_ms, n_free, sizeof(*free_ms), compare);
		if (free_ms[gpus - 1] < best_ms)
			best_ms = free_ms[gpus - 1];
	}
	return gpus == 0 ? now_ms : best_ms;
}

const struct berth_job *oracle_first(const struct berth_core *core, uint64_t now_ms)
{
	const struct berth_job *first = NULL;

	for (size_t i = 0; i < berth_core_job_count(core); i++) {
		const struct berth_job *job = berth_core_job_at(core, i);
		bool is_possible;

		if (!oracle_is_in_line(job, now_ms) || (first && first->asked.tier <= job->asked.tier))
			continue;
		(void)oracle_start(core, job, now_ms, NULL, 0, &is_possible);
		if (is_possible)
			first = job;
	}
	return first;
}
