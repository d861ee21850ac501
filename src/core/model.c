#include <errno.h>
#include <string.h>
#include "core/model.h"
#include "core/saturate.h"

/* Room for `need` items of `size` bytes in an array that grows by doubling. 0 or -ENOMEM. */
static int grow_array(void **at, size_t *cap, size_t need, size_t size)
{
	size_t n = *cap ? *cap : 16;
	void *grown;

	if (need <= *cap)
		return 0;
	while (n < need)
		n = n > SIZE_MAX / 2 ? need : n * 2;
	if (n > SIZE_MAX / size)
		return -ENOMEM;
	grown = realloc(*at, n * size);
	if (!grown)
		return -ENOMEM;
	*at = grown;
	*cap = n;
	return 0;
}

struct berth_job_rec *berth_model_job(const struct berth_core *core, uint64_t id)
{
	uint32_t slot = berth_table_get(&core->job_slot, id);

	return slot == BERTH_TABLE_NONE ? NULL : berth_pool_at(&core->jobs, slot);
}

struct berth_job_rec *berth_model_job_at(const struct berth_core *core, size_t i)
{
	return berth_pool_at(&core->jobs, core->by_id[core->first_by_id + i]);
}

struct berth_device_rec *berth_model_device(const struct berth_core *core, uint32_t id)
{
	uint32_t at = berth_table_get(&core->device_at, id);

	return at == BERTH_TABLE_NONE ? NULL : &core->devices[at];
}

struct berth_node_rec *berth_model_node(const struct berth_core *core, uint32_t id)
{
	size_t low = 0, high = core->n_nodes;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (core->nodes[mid].node.id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < core->n_nodes && core->nodes[low].node.id == id ? &core->nodes[low] : NULL;
}

int berth_model_reserve_jobs(struct berth_core *core, size_t n)
{
	int r;

	if (n > UINT32_MAX - core->n_jobs)
		return -ENOMEM;
	/* What left at the front makes room at the back; moved only when at least half has gone, so it stays cheap. */
	if (core->first_by_id > core->n_jobs && core->first_by_id + core->n_jobs + n > core->cap_by_id) {
		memmove(core->by_id, core->by_id + core->first_by_id, core->n_jobs * sizeof(*core->by_id));
		core->first_by_id = 0;
	}
	r = grow_array((void **)&core->by_id, &core->cap_by_id, core->first_by_id + core->n_jobs + n,
	               sizeof(*core->by_id));
	if (r == 0)
		r = berth_pool_reserve(&core->jobs, n);
	if (r == 0)
		r = berth_table_reserve(&core->job_slot, n);
	return r;
}

int berth_model_reserve_devices(struct berth_core *core, size_t n)
{
	int r = grow_array((void **)&core->devices, &core->cap_devices, core->n_devices + n, sizeof(*core->devices));

	if (r == 0)
		r = berth_table_reserve(&core->device_at, n);
	if (r == 0)
		r = berth_table_reserve(&core->device_by_uuid, n);
	return r;
}

int berth_model_reserve_nodes(struct berth_core *core, size_t n)
{
	return grow_array((void **)&core->nodes, &core->cap_nodes, core->n_nodes + n, sizeof(*core->nodes));
}

void berth_model_set_string(struct berth_core *core, const char **at, const char *s)
{
	const char *was = *at;

	*at = berth_strings_keep(&core->strings, s);
	if (was)
		berth_strings_drop(&core->strings, was);
}

/* The interned strings of a job. */
#define JOB_STRINGS 4
static void strings_of(struct berth_fact_submit *asked, const char **ret[JOB_STRINGS])
{
	ret[0] = &asked->user;
	ret[1] = &asked->name;
	ret[2] = &asked->spec;
	ret[3] = &asked->request.gpu_model;
}

struct berth_job_rec *berth_model_add_job(struct berth_core *core, const struct berth_fact_submit *asked)
{
	uint32_t slot = berth_pool_take(&core->jobs);
	struct berth_job_rec *rec = berth_pool_at(&core->jobs, slot);
	const char **string[JOB_STRINGS];

	rec->slot = slot;
	rec->job.id = asked->job;
	rec->job.asked = *asked;
	strings_of(&rec->job.asked, string);
	for (size_t i = 0; i < JOB_STRINGS; i++)
		*string[i] = berth_strings_keep(&core->strings, *string[i]);
	rec->shape = berth_shapes_keep(&core->shapes, &core->strings, &rec->job.asked.request, asked->grace_ms);
	core->by_id[core->first_by_id + core->n_jobs++] = slot;
	berth_table_put(&core->job_slot, asked->job, slot);
	core->next_job = asked->job + 1;
	return rec;
}

static size_t position_of_job(const struct berth_core *core, uint64_t id)
{
	size_t low = 0, high = core->n_jobs;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (berth_model_job_at(core, mid)->job.id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Jobs are mostly forgotten oldest first: the shorter side moves. */
static void close_gap(struct berth_core *core, size_t i)
{
	uint32_t *first = core->by_id + core->first_by_id;

	if (i < core->n_jobs / 2) {
		memmove(first + 1, first, i * sizeof(*first));
		core->first_by_id++;
	} else {
		memmove(first + i, first + i + 1, (core->n_jobs - i - 1) * sizeof(*first));
	}
	core->n_jobs--;
}

void berth_model_remove_job(struct berth_core *core, struct berth_job_rec *rec)
{
	const char **string[JOB_STRINGS];

	close_gap(core, position_of_job(core, rec->job.id));
	berth_table_remove(&core->job_slot, rec->job.id);
	berth_shapes_drop(&core->shapes, &core->strings, rec->shape);
	strings_of(&rec->job.asked, string);
	for (size_t i = 0; i < JOB_STRINGS; i++)
		berth_strings_drop(&core->strings, *string[i]);
	berth_pool_give(&core->jobs, rec->slot);
}

void berth_model_reshape_job(struct berth_core *core, struct berth_job_rec *rec)
{
	struct berth_shape *was = rec->shape;

	rec->shape = berth_shapes_keep(&core->shapes, &core->strings, &rec->job.asked.request, rec->job.asked.grace_ms);
	berth_shapes_drop(&core->shapes, &core->strings, was);
}

struct berth_node_rec *berth_model_add_node(struct berth_core *core, uint32_t id)
{
	size_t at = core->n_nodes;

	while (at > 0 && core->nodes[at - 1].node.id > id)
		at--;
	memmove(core->nodes + at + 1, core->nodes + at, (core->n_nodes - at) * sizeof(*core->nodes));
	core->n_nodes++;
	for (size_t i = 0; i < core->n_devices; i++) {
		if (core->devices[i].node >= at && core->devices[i].node != BERTH_NO_POSITION)
			core->devices[i].node++;
	}
	core->nodes[at] = (struct berth_node_rec){ .first_device = BERTH_NO_POSITION };
	core->nodes[at].node = (struct berth_node){ .id = id, .name = "" };
	return &core->nodes[at];
}

void berth_model_move_device(struct berth_core *core, struct berth_device_rec *rec, uint32_t node)
{
	uint32_t position = (uint32_t)(rec - core->devices);
	uint32_t *at;

	if (rec->node == node)
		return;
	if (rec->node != BERTH_NO_POSITION) {
		at = &core->nodes[rec->node].first_device;
		while (*at != position)
			at = &core->devices[*at].next_on_node;
		*at = rec->next_on_node;
	}
	at = &core->nodes[node].first_device;
	while (*at != BERTH_NO_POSITION && *at < position)
		at = &core->devices[*at].next_on_node;
	rec->next_on_node = *at;
	rec->node = node;
	rec->device.node = core->nodes[node].node.id;
	*at = position;
}

struct berth_device_rec *berth_model_add_device(struct berth_core *core, const struct berth_fact_device *seen)
{
	uint32_t position = (uint32_t)core->n_devices++;
	struct berth_device_rec *rec = &core->devices[position];

	*rec = (struct berth_device_rec){ .node = BERTH_NO_POSITION, .next_on_node = BERTH_NO_POSITION };
	rec->model_lower = "";
	rec->device = (struct berth_device){ .id = seen->device, .health = BERTH_HEALTH_OK };
	rec->device.drain_by = "";
	rec->device.drain_note = "";
	rec->device.uuid = berth_strings_keep(&core->strings, seen->uuid);
	rec->device.kind = "";
	rec->device.model = "";
	berth_table_put(&core->device_at, seen->device, position);
	berth_table_put(&core->device_by_uuid, (uintptr_t)rec->device.uuid, position);
	core->next_device = seen->device + 1;
	return rec;
}

void berth_model_take_devices(struct berth_core *core, struct berth_job_rec *rec, const struct berth_share_set *set,
                              uint64_t at_ms)
{
	rec->job.set = *set;
	for (uint32_t i = 0; i < set->n; i++) {
		struct berth_device *device = &berth_model_device(core, set->share[i].device)->device;

		device->job = rec->job.id;
		device->since_ms = at_ms;
	}
}

void berth_model_free_devices(struct berth_core *core, struct berth_job_rec *rec, uint64_t at_ms)
{
	for (uint32_t i = 0; i < rec->job.set.n; i++) {
		struct berth_device *device = &berth_model_device(core, rec->job.set.share[i].device)->device;

		device->job = 0;
		device->since_ms = at_ms;
	}
	rec->job.last_set = rec->job.set;
	rec->job.set = (struct berth_share_set){ 0 };
}
