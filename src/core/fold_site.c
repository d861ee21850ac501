#include <errno.h>
#include "core/fold.h"
#include "core/saturate.h"

int berth_fold_policy_set(struct berth_core *core, const struct berth_fact *fact)
{
	core->policy = fact->u.policy;
	return 0;
}

int berth_fold_node_seen(struct berth_core *core, const struct berth_fact *fact)
{
	const struct berth_fact_node *seen = &fact->u.node;
	struct berth_node_rec *rec = berth_model_node(core, seen->node);

	if (seen->node == 0)
		return -EINVAL;
	if (!rec)
		rec = berth_model_add_node(core, seen->node);
	berth_model_set_string(core, &rec->node.name, seen->name);
	return 0;
}

/* A new id with a new uuid, or a known id with its own. */
static bool is_consistent(const struct berth_core *core, const struct berth_fact_device *seen,
                          const struct berth_device_rec *rec)
{
	const struct berth_device *same = berth_core_device_by_uuid(core, seen->uuid);

	if (!*seen->uuid || seen->device == BERTH_NO_DEVICE || !berth_model_node(core, seen->node))
		return false;
	return rec ? same == &rec->device : !same && seen->device >= core->next_device;
}

int berth_fold_device_seen(struct berth_core *core, const struct berth_fact *fact)
{
	const struct berth_fact_device *seen = &fact->u.device;
	struct berth_device_rec *rec = berth_model_device(core, seen->device);
	const char *was_lower;

	if (!is_consistent(core, seen, rec))
		return -EINVAL;
	if (!rec)
		rec = berth_model_add_device(core, seen);
	was_lower = rec->model_lower;
	rec->model_lower = berth_strings_keep_lower(&core->strings, seen->model);
	berth_strings_drop(&core->strings, was_lower);
	berth_model_set_string(core, &rec->device.kind, seen->kind);
	berth_model_set_string(core, &rec->device.model, seen->model);
	rec->device.index = seen->index;
	rec->device.mem_bytes = seen->mem_bytes;
	berth_model_move_device(core, rec, (uint32_t)(berth_model_node(core, seen->node) - core->nodes));
	return 0;
}

int berth_fold_device_health(struct berth_core *core, const struct berth_fact *fact)
{
	struct berth_device_rec *rec = berth_model_device(core, fact->u.health.device);
	struct berth_job_rec *holder;

	if (!rec)
		return -EINVAL;
	holder = berth_model_job(core, rec->device.job);
	if (holder)
		berth_order_unfile(core, holder);
	rec->device.health = fact->u.health.health;
	if (holder)
		berth_order_file(core, holder);
	return 0;
}

int berth_fold_device_drain(struct berth_core *core, const struct berth_fact *fact)
{
	const struct berth_fact_device_drain *drain = &fact->u.drain;
	struct berth_device_rec *rec = berth_model_device(core, drain->device);

	if (!rec)
		return -EINVAL;
	rec->device.is_draining = drain->is_draining;
	berth_model_set_string(core, &rec->device.drain_by, drain->by);
	berth_model_set_string(core, &rec->device.drain_note, drain->note);
	return 0;
}

int berth_fold_device_free(struct berth_core *core, const struct berth_fact *fact)
{
	struct berth_device_rec *rec = berth_model_device(core, fact->u.free.device);

	if (!rec)
		return -EINVAL;
	if (rec->device.job)
		return -ESTALE;
	rec->device.since_ms = fact->u.free.since_ms;
	return 0;
}

int berth_fold_counters(struct berth_core *core, const struct berth_fact *fact)
{
	core->next_job = berth_max_u64(core->next_job, fact->u.counters.next_job);
	if (fact->u.counters.next_device > core->next_device)
		core->next_device = fact->u.counters.next_device;
	return 0;
}
