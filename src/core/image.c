#include <string.h>
#include "base/hash.h"
#include "core/model.h"

struct emitter {
	const struct berth_core *core;
	int (*emit)(void *arg, const struct berth_fact *fact);
	void *arg;
};

static void begin_fact(const struct emitter *to, struct berth_fact *fact, enum berth_fact_kind kind)
{
	berth_fact_init(fact, kind);
	fact->seq = to->core->seq;
	fact->at_ms = to->core->at_ms;
}

static int emit_policy(const struct emitter *to)
{
	struct berth_fact fact;

	begin_fact(to, &fact, BERTH_FACT_POLICY_SET);
	fact.u.policy = to->core->policy;
	return to->emit(to->arg, &fact);
}

static int emit_nodes(const struct emitter *to)
{
	int r = 0;

	for (size_t i = 0; i < to->core->n_nodes && r == 0; i++) {
		const struct berth_node *node = &to->core->nodes[i].node;
		struct berth_fact fact;

		begin_fact(to, &fact, BERTH_FACT_NODE_SEEN);
		fact.u.node = (struct berth_fact_node){ node->id, node->name };
		r = to->emit(to->arg, &fact);
	}
	return r;
}

static int emit_device(const struct emitter *to, const struct berth_device *device)
{
	struct berth_fact fact;
	int r;

	begin_fact(to, &fact, BERTH_FACT_DEVICE_SEEN);
	fact.u.device = (struct berth_fact_device){ device->id,   device->node,  device->index,    device->uuid,
		                                    device->kind, device->model, device->mem_bytes };
	r = to->emit(to->arg, &fact);
	if (r != 0)
		return r;
	begin_fact(to, &fact, BERTH_FACT_DEVICE_HEALTH);
	fact.u.health = (struct berth_fact_device_health){ device->id, device->health };
	r = to->emit(to->arg, &fact);
	if (r != 0)
		return r;
	begin_fact(to, &fact, BERTH_FACT_DEVICE_DRAIN);
	fact.u.drain = (struct berth_fact_device_drain){ device->id, device->is_draining, device->drain_by,
	                                                device->drain_note };
	return to->emit(to->arg, &fact);
}

static int emit_devices(const struct emitter *to)
{
	int r = 0;

	for (size_t i = 0; i < to->core->n_devices && r == 0; i++)
		r = emit_device(to, &to->core->devices[i].device);
	return r;
}

static int emit_jobs(const struct emitter *to)
{
	int r = 0;

	for (size_t i = 0; i < to->core->n_jobs && r == 0; i++) {
		struct berth_fact fact;

		begin_fact(to, &fact, BERTH_FACT_JOB_IMAGE);
		fact.u.image = berth_model_job_at(to->core, i)->job;
		r = to->emit(to->arg, &fact);
	}
	return r;
}

static int emit_free(const struct emitter *to)
{
	int r = 0;

	for (size_t i = 0; i < to->core->n_devices && r == 0; i++) {
		const struct berth_device *device = &to->core->devices[i].device;
		struct berth_fact fact;

		if (device->job || !device->since_ms)
			continue;
		begin_fact(to, &fact, BERTH_FACT_DEVICE_FREE);
		fact.u.free = (struct berth_fact_device_free){ device->id, device->since_ms };
		r = to->emit(to->arg, &fact);
	}
	return r;
}

static int emit_counters(const struct emitter *to)
{
	struct berth_fact fact;

	begin_fact(to, &fact, BERTH_FACT_COUNTERS);
	fact.u.counters = (struct berth_fact_counters){ to->core->next_job, to->core->next_device };
	return to->emit(to->arg, &fact);
}

int berth_core_image(const struct berth_core *core, int (*emit)(void *arg, const struct berth_fact *fact), void *arg)
{
	const struct emitter to = { core, emit, arg };
	/* Devices before the jobs that hold them; the free ones again behind, when it is known which those are. */
	int (*const part[])(const struct emitter *) = { emit_policy, emit_nodes, emit_devices,
	                                               emit_jobs,   emit_free,  emit_counters };
	int r = 0;

	for (size_t i = 0; i < sizeof(part) / sizeof(*part) && r == 0; i++)
		r = part[i](&to);
	return r;
}

/* --- the hash: of the facts of the image, field by field, so that padding and addresses do not count ---------- */

static uint64_t hash_number(uint64_t h, uint64_t number)
{
	return berth_hash_u64(h ^ (number + 0x9e3779b97f4a7c15u));
}

static uint64_t hash_shares(uint64_t h, const struct berth_share_set *set)
{
	h = hash_number(h, set->n);
	for (uint32_t i = 0; i < set->n; i++)
		h = hash_number(h, set->share[i].device);
	return h;
}

static uint64_t hash_field(uint64_t h, const struct berth_field *field, const void *at)
{
	switch (field->type) {
	case BERTH_FIELD_U64:
		return hash_number(h, *(const uint64_t *)at);
	case BERTH_FIELD_U32:
	case BERTH_FIELD_I32:
	case BERTH_FIELD_ENUM:
		return hash_number(h, *(const uint32_t *)at);
	case BERTH_FIELD_BOOL:
		return hash_number(h, *(const bool *)at);
	case BERTH_FIELD_STR:
		return berth_hash_bytes(h, *(const char *const *)at, strlen(*(const char *const *)at) + 1);
	case BERTH_FIELD_SHARES:
		return hash_shares(h, at);
	case BERTH_FIELD_END:
		break;
	}
	return h;
}

static int hash_fact(void *arg, const struct berth_fact *fact)
{
	uint64_t *h = arg;

	*h = hash_number(*h, fact->kind);
	for (const struct berth_field *field = berth_fact_shape(fact->kind)->fields; field->type != BERTH_FIELD_END;
	     field++)
		*h = hash_field(*h, field, (const char *)fact + field->offset);
	return 0;
}

uint64_t berth_core_hash(const struct berth_core *core)
{
	uint64_t h = BERTH_HASH_SEED;

	return berth_core_image(core, hash_fact, &h) == 0 ? h : 0;
}
