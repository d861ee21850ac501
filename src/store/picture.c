#include "store/picture.h"

#include <errno.h>
#include <string.h>
#include "store/fact_copy.h"

struct painter {
	struct berth_snapshot *snapshot;
	size_t cap;
	struct berth_copy_memory memory;
};

static int grow(struct painter *painter)
{
	struct berth_snapshot *snapshot = painter->snapshot;
	size_t cap = painter->cap * 2;
	struct berth_fact *facts = berth_arena_alloc(&snapshot->arena, cap * sizeof(*facts));

	if (!facts)
		return -ENOMEM;
	if (snapshot->n > 0)
		memcpy(facts, snapshot->facts, snapshot->n * sizeof(*facts));
	snapshot->facts = facts;
	painter->cap = cap;
	return 0;
}

static int paint(void *arg, const struct berth_fact *fact)
{
	struct painter *painter = arg;
	struct berth_snapshot *snapshot = painter->snapshot;
	int r = snapshot->n == painter->cap || !snapshot->facts ? grow(painter) : 0;

	return r < 0 ? r : berth_fact_copy(&snapshot->facts[snapshot->n++], fact, &snapshot->arena, &painter->memory);
}

struct berth_snapshot *berth_picture_take(const struct berth_core *core, uint64_t seq)
{
	struct berth_snapshot *snapshot = calloc(1, sizeof(*snapshot));
	struct painter *painter = calloc(1, sizeof(*painter));
	int r = -ENOMEM;

	if (snapshot && painter) {
		/* Half of what it will need, since grow doubles: jobs, four facts of each device, a few more. */
		painter->cap = (berth_core_job_count(core) + 4 * berth_core_device_count(core) + 64) / 2;
		painter->snapshot = snapshot;
		snapshot->seq = seq;
		snapshot->at_ms = berth_core_at_ms(core);
		r = berth_core_image(core, paint, painter);
	}
	free(painter);
	if (r < 0) {
		berth_snapshot_free(snapshot);
		return NULL;
	}
	return snapshot;
}
