#include <string.h>
#include "core/model.h"

/* As the interface promises where no policy was set yet: 10 s doubling to 10 min; finished jobs stay a day. */
static const struct berth_fact_policy default_policy = {
	.backoff_first_ms = 10 * 1000,
	.backoff_max_ms = 10 * 60 * 1000,
	.retain_ms = 24 * 60 * 60 * 1000,
};

struct berth_core *berth_core_new(void)
{
	struct berth_core *core = calloc(1, sizeof(*core));

	if (!core)
		return NULL;
	core->policy = default_policy;
	core->next_job = 1;
	core->next_device = 1;
	core->jobs.item_bytes = sizeof(struct berth_job_rec);
	berth_shapes_init(&core->shapes);
	return core;
}

void berth_core_free(struct berth_core *core)
{
	if (!core)
		return;
	berth_strings_fini(&core->strings);
	berth_pool_fini(&core->jobs);
	berth_table_fini(&core->job_slot);
	berth_shapes_fini(&core->shapes);
	berth_table_fini(&core->device_at);
	berth_table_fini(&core->device_by_uuid);
	berth_arena_fini(&core->pass);
	free(core->by_id);
	free(core->devices);
	free(core->nodes);
	free(core->plan);
	free(core);
}

const struct berth_job *berth_core_job(const struct berth_core *core, uint64_t id)
{
	const struct berth_job_rec *rec = berth_model_job(core, id);

	return rec ? &rec->job : NULL;
}

const struct berth_device *berth_core_device(const struct berth_core *core, uint32_t id)
{
	const struct berth_device_rec *rec = berth_model_device(core, id);

	return rec ? &rec->device : NULL;
}

const struct berth_device *berth_core_device_by_uuid(const struct berth_core *core, const char *uuid)
{
	const char *interned = berth_strings_find(&core->strings, uuid);
	uint32_t at = interned ? berth_table_get(&core->device_by_uuid, (uintptr_t)interned) : BERTH_TABLE_NONE;

	return at == BERTH_TABLE_NONE ? NULL : &core->devices[at].device;
}

const struct berth_node *berth_core_node(const struct berth_core *core, uint32_t id)
{
	const struct berth_node_rec *rec = berth_model_node(core, id);

	return rec ? &rec->node : NULL;
}

const struct berth_job *berth_core_job_at(const struct berth_core *core, size_t i)
{
	return i < core->n_jobs ? &berth_model_job_at(core, i)->job : NULL;
}

const struct berth_device *berth_core_device_at(const struct berth_core *core, size_t i)
{
	return i < core->n_devices ? &core->devices[i].device : NULL;
}

size_t berth_core_job_count(const struct berth_core *core)
{
	return core->n_jobs;
}

size_t berth_core_device_count(const struct berth_core *core)
{
	return core->n_devices;
}

size_t berth_core_count_in(const struct berth_core *core, enum berth_job_state state, enum berth_tier tier)
{
	return state < BERTH_JOB_STATE_COUNT && tier < BERTH_TIER_COUNT ? core->count[state][tier] : 0;
}

uint64_t berth_core_next_job(const struct berth_core *core)
{
	return core->next_job;
}

uint32_t berth_core_next_device(const struct berth_core *core)
{
	return core->next_device;
}

uint64_t berth_core_seq(const struct berth_core *core)
{
	return core->seq;
}

uint64_t berth_core_at_ms(const struct berth_core *core)
{
	return core->at_ms;
}

const struct berth_fact_policy *berth_core_policy(const struct berth_core *core)
{
	return &core->policy;
}
