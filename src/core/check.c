#include <errno.h>
#include <string.h>
#include "core/check.h"
#include "core/filter.h"
#include "core/fold.h"

static bool is_model(const struct berth_device_rec *rec, const char *model)
{
	const char *at = rec->model_lower;

	for (; *at && *model; at++, model++) {
		if (*at != (*model >= 'A' && *model <= 'Z' ? *model - 'A' + 'a' : *model))
			return false;
	}
	return *at == *model;
}

/* What the devices of the site could do for a request, in or out of service. */
struct supply {
	bool has_model;
	uint64_t most_mem_bytes; /* of a device of the model */
	uint64_t indexes;        /* of devices of the model with the memory, and not only those asked */
	uint32_t most_on_node;   /* that meet all of the request */
};

static struct supply supply_for(const struct berth_core *core, const struct berth_request *request)
{
	struct supply supply = { 0 };

	for (size_t node = 0; node < core->n_nodes; node++) {
		uint32_t n = 0;

		for (uint32_t at = core->nodes[node].first_device; at != BERTH_NO_POSITION;
		     at = core->devices[at].next_on_node) {
			const struct berth_device_rec *rec = &core->devices[at];
			uint64_t bit = berth_filter_index_bit(rec->device.index);

			if (*request->gpu_model && !is_model(rec, request->gpu_model))
				continue;
			supply.has_model = true;
			if (rec->device.mem_bytes > supply.most_mem_bytes)
				supply.most_mem_bytes = rec->device.mem_bytes;
			if (rec->device.mem_bytes < request->gpu_mem_bytes)
				continue;
			supply.indexes |= bit;
			n += request->index_mask == 0 || (request->index_mask & bit);
		}
		if (n > supply.most_on_node)
			supply.most_on_node = n;
	}
	return supply;
}

int berth_check_request(const struct berth_core *core, const struct berth_request *request, struct berth_reason *ret)
{
	struct supply supply;

	if (request->gpus == 0)
		return 0;
	supply = supply_for(core, request);
	if (supply.most_on_node >= request->gpus)
		return 0;
	if (core->n_devices == 0)
		*ret = (struct berth_reason){ .code = BERTH_REASON_NO_NODE };
	else if (!supply.has_model)
		*ret = (struct berth_reason){ .code = BERTH_REASON_NO_SUCH_MODEL };
	else if (supply.most_mem_bytes < request->gpu_mem_bytes)
		*ret = (struct berth_reason){ BERTH_REASON_GPU_TOO_SMALL, request->gpu_mem_bytes,
			                      supply.most_mem_bytes, 0 };
	else if (request->index_mask & ~supply.indexes)
		*ret = (struct berth_reason){ BERTH_REASON_NO_SUCH_INDEX, request->index_mask, supply.indexes, 0 };
	else
		*ret = (struct berth_reason){ BERTH_REASON_TOO_MANY_GPUS, request->gpus, supply.most_on_node, 0 };
	return -ERANGE;
}

static int check_submit(const struct berth_core *core, const struct berth_fact_submit *submit, struct berth_reason *ret)
{
	if (submit->job < core->next_job || submit->tier >= BERTH_TIER_COUNT || submit->request.limit_ms == 0)
		return -EINVAL;
	if (submit->request.gpus > BERTH_NODE_DEVICES_MAX) {
		*ret = (struct berth_reason){ BERTH_REASON_TOO_MANY_GPUS, submit->request.gpus,
			                      supply_for(core, &submit->request).most_on_node, 0 };
		return -EINVAL;
	}
	return berth_check_request(core, &submit->request, ret);
}

static int check_alter(const struct berth_core *core, const struct berth_job *job, const struct berth_fact_alter *alter,
                       struct berth_reason *ret)
{
	bool is_waiting = job->state == BERTH_JOB_PENDING || job->state == BERTH_JOB_HELD;
	struct berth_request request = job->asked.request;

	if (!berth_fold_is_alter(alter) || ((alter->fields & BERTH_ALTER_TIER) && alter->tier >= BERTH_TIER_COUNT))
		return -EINVAL;
	if (berth_job_state_is_final(job->state) || (!is_waiting && (alter->fields & BERTH_ALTER_WAITING_ONLY)))
		return -EBUSY;
	berth_fold_apply_request(&request, alter);
	return is_waiting ? berth_check_request(core, &request, ret) : 0;
}

static int check_hold(const struct berth_job *job)
{
	return job->state == BERTH_JOB_HELD || (job->state == BERTH_JOB_PENDING && !job->is_cancel_asked) ? 0 : -EBUSY;
}

static int check_requeue(const struct berth_core *core, const struct berth_job *job, struct berth_reason *ret)
{
	if (job->state == BERTH_JOB_PENDING || job->state == BERTH_JOB_HELD ||
	    (job->is_cancel_asked && !berth_job_state_is_final(job->state)))
		return -EBUSY;
	return berth_job_state_is_final(job->state) ? berth_check_request(core, &job->asked.request, ret) : 0;
}

int berth_core_check(const struct berth_core *core, const struct berth_fact *fact, struct berth_reason *ret)
{
	struct berth_reason unasked;
	const struct berth_job *job;

	ret = ret ? ret : &unasked;
	*ret = (struct berth_reason){ .code = BERTH_REASON_NONE };
	if (fact->kind == BERTH_FACT_JOB_SUBMITTED)
		return check_submit(core, &fact->u.submit, ret);
	if (fact->kind == BERTH_FACT_DEVICE_DRAIN)
		return berth_core_device(core, fact->u.drain.device) ? 0 : -ENOENT;
	if (fact->kind == BERTH_FACT_JOB_ALTERED) {
		job = berth_core_job(core, fact->u.alter.job);
		return job ? check_alter(core, job, &fact->u.alter, ret) : -ENOENT;
	}
	if (fact->kind < BERTH_FACT_JOB_CANCEL_ASKED || fact->kind > BERTH_FACT_JOB_REQUEUE_ASKED)
		return -EINVAL;
	job = berth_core_job(core, fact->u.job.job);
	if (!job)
		return -ENOENT;
	if (fact->kind == BERTH_FACT_JOB_HELD)
		return check_hold(job);
	if (fact->kind == BERTH_FACT_JOB_RELEASED)
		return job->state == BERTH_JOB_HELD && !job->is_cancel_asked ? 0 : -EBUSY;
	return fact->kind == BERTH_FACT_JOB_REQUEUE_ASKED ? check_requeue(core, job, ret) : 0;
}
