#include <errno.h>
#include "core/fold.h"

static berth_fold_fn *const folds[BERTH_FACT_COUNT] = {
	[BERTH_FACT_POLICY_SET] = berth_fold_policy_set,
	[BERTH_FACT_NODE_SEEN] = berth_fold_node_seen,
	[BERTH_FACT_DEVICE_SEEN] = berth_fold_device_seen,
	[BERTH_FACT_DEVICE_HEALTH] = berth_fold_device_health,
	[BERTH_FACT_DEVICE_DRAIN] = berth_fold_device_drain,
	[BERTH_FACT_JOB_SUBMITTED] = berth_fold_submitted,
	[BERTH_FACT_JOB_CANCEL_ASKED] = berth_fold_cancel_asked,
	[BERTH_FACT_JOB_HELD] = berth_fold_held,
	[BERTH_FACT_JOB_RELEASED] = berth_fold_released,
	[BERTH_FACT_JOB_ALTERED] = berth_fold_altered,
	[BERTH_FACT_JOB_REQUEUE_ASKED] = berth_fold_requeue_asked,
	[BERTH_FACT_ATTEMPT_STARTED] = berth_fold_started,
	[BERTH_FACT_ATTEMPT_REFUSED] = berth_fold_refused,
	[BERTH_FACT_ATTEMPT_ENDED] = berth_fold_ended,
	[BERTH_FACT_ATTEMPT_ASSIGNED] = berth_fold_assigned,
	[BERTH_FACT_STOP_ASKED] = berth_fold_stop_asked,
	[BERTH_FACT_LIMIT_SET] = berth_fold_limit_set,
	[BERTH_FACT_JOB_REQUEUED] = berth_fold_requeued,
	[BERTH_FACT_JOB_FINISHED] = berth_fold_finished,
	[BERTH_FACT_JOB_FORGOTTEN] = berth_fold_forgotten,
	[BERTH_FACT_JOB_IMAGE] = berth_fold_image,
	[BERTH_FACT_DEVICE_FREE] = berth_fold_device_free,
	[BERTH_FACT_COUNTERS] = berth_fold_counters,
};

static bool is_share_set(const struct berth_share_set *set)
{
	if (set->n > BERTH_NODE_DEVICES_MAX)
		return false;
	for (uint32_t i = 1; i < set->n; i++) {
		if (set->share[i].device <= set->share[i - 1].device)
			return false;
	}
	return true;
}

static bool is_well_formed(const struct berth_fact *fact)
{
	const struct berth_fact_shape *shape = berth_fact_shape(fact->kind);

	if (!shape)
		return false;
	for (const struct berth_field *field = shape->fields; field->type != BERTH_FIELD_END; field++) {
		const void *at = (const char *)fact + field->offset;

		if (field->type == BERTH_FIELD_STR && !*(const char *const *)at)
			return false;
		if (field->type == BERTH_FIELD_ENUM && *(const uint32_t *)at >= field->n_names)
			return false;
		if (field->type == BERTH_FIELD_SHARES && !is_share_set(at))
			return false;
	}
	return true;
}

/* --- room ----------------------------------------------------------------------------------------------------- */

/* The model that a fact may bring: the state also keeps it in lower case. */
static const char *model_of(const struct berth_fact *fact)
{
	switch (fact->kind) {
	case BERTH_FACT_DEVICE_SEEN:
		return fact->u.device.model;
	case BERTH_FACT_JOB_SUBMITTED:
		return fact->u.submit.request.gpu_model;
	case BERTH_FACT_JOB_ALTERED:
		return fact->u.alter.request.gpu_model;
	case BERTH_FACT_JOB_IMAGE:
		return fact->u.image.asked.request.gpu_model;
	default:
		return "";
	}
}

/* All strings of the fact, whether the state will keep them or not: to pin one too many does no harm. */
static int pin_strings(struct berth_core *core, const struct berth_fact *fact)
{
	int r = berth_strings_pin_lower(&core->strings, model_of(fact));

	for (const struct berth_field *field = berth_fact_shape(fact->kind)->fields;
	     field->type != BERTH_FIELD_END && r == 0; field++) {
		if (field->type == BERTH_FIELD_STR)
			r = berth_strings_pin(&core->strings,
			                      *(const char *const *)((const char *)fact + field->offset));
	}
	return r;
}

static int make_room(struct berth_core *core, const struct berth_fact *facts, size_t n)
{
	size_t jobs = 0, shapes = 0, devices = 0, nodes = 0;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		enum berth_fact_kind kind = facts[i].kind;

		if (!is_well_formed(&facts[i]))
			continue;
		jobs += kind == BERTH_FACT_JOB_SUBMITTED || kind == BERTH_FACT_JOB_IMAGE;
		shapes += kind == BERTH_FACT_JOB_SUBMITTED || kind == BERTH_FACT_JOB_IMAGE ||
		          kind == BERTH_FACT_JOB_ALTERED;
		devices += kind == BERTH_FACT_DEVICE_SEEN;
		nodes += kind == BERTH_FACT_NODE_SEEN;
		r = pin_strings(core, &facts[i]);
	}
	if (r == 0 && jobs)
		r = berth_model_reserve_jobs(core, jobs);
	if (r == 0 && shapes)
		r = berth_shapes_reserve(&core->shapes, shapes);
	if (r == 0 && devices)
		r = berth_model_reserve_devices(core, devices);
	if (r == 0 && nodes)
		r = berth_model_reserve_nodes(core, nodes);
	return r;
}

int berth_core_reserve(struct berth_core *core, const struct berth_fact *facts, size_t n)
{
	berth_strings_unpin(&core->strings, NULL);
	return make_room(core, facts, n);
}

int berth_core_fold(struct berth_core *core, const struct berth_fact *fact)
{
	const struct berth_string *mark = core->strings.pinned;
	int r = 0;

	if (!is_well_formed(fact) || fact->at_ms < core->at_ms || (fact->seq && fact->seq < core->seq))
		return -EINVAL;
	r = make_room(core, fact, 1);
	if (r == 0)
		r = folds[fact->kind](core, fact);
	berth_strings_unpin(&core->strings, mark);
	if (r == 0 || r == -ESTALE) {
		core->at_ms = fact->at_ms;
		if (fact->seq)
			core->seq = fact->seq;
	}
	return r;
}
