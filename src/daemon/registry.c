#include "daemon/registry.h"

#include <errno.h>
#include <string.h>
#include "base/cleanup.h"

struct berth_registry {
	struct berth_cards cards;
	bool is_scanned;
	size_t n;
	struct berth_device_facts devices[BERTH_DEVICES_MAX];
	size_t n_links;
	struct berth_link *links; /* owned */
};

struct berth_registry *berth_registry_new(const struct berth_cards *cards)
{
	struct berth_registry *registry = calloc(1, sizeof(*registry));

	if (registry)
		registry->cards = *cards;
	return registry;
}

void berth_registry_free(struct berth_registry *registry)
{
	if (!registry)
		return;
	free(registry->links);
	free(registry);
}

int berth_registry_scanned(struct berth_registry *registry, const struct berth_device_facts *devices, size_t n,
                           const struct berth_link *links, size_t n_links)
{
	BERTH_AUTO_FREE struct berth_link *copy = calloc(n_links ? n_links : 1, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	registry->is_scanned = true;
	registry->n = 0;
	for (size_t i = 0; i < n && registry->n < BERTH_DEVICES_MAX; i++)
		if (!berth_registry_find(registry, devices[i].uuid))
			registry->devices[registry->n++] = devices[i];
	if (n_links)
		memcpy(copy, links, n_links * sizeof(*copy));
	free(registry->links);
	registry->links = BERTH_TAKE(copy);
	registry->n_links = n_links;
	return 0;
}

bool berth_registry_is_scanned(const struct berth_registry *registry)
{
	return registry->is_scanned;
}

const struct berth_device_facts *berth_registry_find(const struct berth_registry *registry, const char *uuid)
{
	for (size_t i = 0; i < registry->n; i++)
		if (strcmp(registry->devices[i].uuid, uuid) == 0)
			return &registry->devices[i];
	return NULL;
}

const struct berth_device_facts *berth_registry_at(const struct berth_registry *registry, size_t i)
{
	return i < registry->n ? &registry->devices[i] : NULL;
}

bool berth_registry_is_enrolled(const struct berth_registry *registry, const struct berth_device_facts *device)
{
	return berth_cards_has(&registry->cards, device->index, device->uuid);
}

static const char *uuid_of_index(const struct berth_registry *registry, uint32_t index)
{
	for (size_t i = 0; i < registry->n; i++)
		if (registry->devices[i].index == index)
			return registry->devices[i].uuid;
	return NULL;
}

size_t berth_registry_links(const struct berth_registry *registry, const char *uuid, struct berth_link *ret,
                            const char **ret_peer, size_t cap)
{
	const struct berth_device_facts *device = berth_registry_find(registry, uuid);
	size_t n = 0;

	for (size_t i = 0; device && i < registry->n_links; i++) {
		const struct berth_link *link = &registry->links[i];
		const char *peer = NULL;

		if (link->a == device->index)
			peer = uuid_of_index(registry, link->b);
		else if (link->b == device->index)
			peer = uuid_of_index(registry, link->a);
		if (!peer)
			continue;
		if (n < cap) {
			ret[n] = *link;
			ret_peer[n] = peer;
		}
		n++;
	}
	return n;
}

/* The facts being gathered. */
struct missing {
	struct berth_fact *facts;
	size_t n, cap;
};

static struct berth_fact *add(struct missing *missing, enum berth_fact_kind kind)
{
	if (missing->n == missing->cap)
		return NULL; /* the rest is found missing in the next call */
	berth_fact_init(&missing->facts[missing->n], kind);
	return &missing->facts[missing->n++];
}

static bool is_as_seen(const struct berth_device *known, const struct berth_device_facts *seen)
{
	return known->index == seen->index && known->mem_bytes == seen->mem_bytes &&
	       strcmp(known->kind, seen->kind) == 0 && strcmp(known->model, seen->model) == 0;
}

static void add_seen(struct missing *missing, const struct berth_device_facts *seen, uint32_t id)
{
	struct berth_fact *fact = add(missing, BERTH_FACT_DEVICE_SEEN);

	if (!fact)
		return;
	fact->u.device = (struct berth_fact_device){
		.device = id,
		.node = BERTH_REGISTRY_NODE,
		.index = seen->index,
		.uuid = seen->uuid,
		.kind = seen->kind,
		.model = seen->model,
		.mem_bytes = seen->mem_bytes,
	};
}

static void add_drain(struct missing *missing, uint32_t id, bool is_draining)
{
	struct berth_fact *fact = add(missing, BERTH_FACT_DEVICE_DRAIN);

	if (!fact)
		return;
	fact->u.drain = (struct berth_fact_device_drain){
		.device = id,
		.is_draining = is_draining,
		.by = BERTH_REGISTRY_BY,
		.note = is_draining ? BERTH_REGISTRY_NOTE : "",
	};
}

/* A card that the core has not seen is healthy and free for it at once: one that nobody may get is drained in the same
 * post. */
static void add_new(const struct berth_registry *registry, const struct berth_device_facts *seen, uint32_t *next_id,
                    struct missing *missing)
{
	bool is_enrolled = berth_registry_is_enrolled(registry, seen);

	if (missing->cap - missing->n < (is_enrolled ? 1 : 2))
		return;
	add_seen(missing, seen, 0);
	if (!is_enrolled)
		add_drain(missing, *next_id, true);
	(*next_id)++;
}

static void add_health(struct missing *missing, const struct berth_device *known, enum berth_health health)
{
	struct berth_fact *fact = known->health == health ? NULL : add(missing, BERTH_FACT_DEVICE_HEALTH);

	if (fact)
		fact->u.health = (struct berth_fact_device_health){.device = known->id, .health = health};
}

static void compare_seen(const struct berth_registry *registry, const struct berth_device *known,
                         const struct berth_device_facts *seen, const struct berth_registry_view *view,
                         struct missing *missing)
{
	bool is_enrolled = berth_registry_is_enrolled(registry, seen);
	enum berth_health health = view->health(view->arg, seen->uuid);

	if (!is_as_seen(known, seen))
		add_seen(missing, seen, known->id);
	if (!is_enrolled && !known->is_draining)
		add_drain(missing, known->id, true);
	if (is_enrolled && known->is_draining && strcmp(known->drain_by, BERTH_REGISTRY_BY) == 0)
		add_drain(missing, known->id, false);
	if (is_enrolled && !view->is_owned(view->arg, seen->uuid))
		health = BERTH_HEALTH_LOST;
	if (health != BERTH_HEALTH_UNKNOWN)
		add_health(missing, known, health);
}

static void compare_absent(const struct berth_registry *registry, const struct berth_device *known,
                           const struct berth_registry_view *view, struct missing *missing)
{
	/* At a start with another configuration, before anything is scanned: by the number that the card had last. */
	if (!known->is_draining && !berth_cards_has(&registry->cards, known->index, known->uuid))
		add_drain(missing, known->id, true);
	if (registry->is_scanned)
		add_health(missing, known, BERTH_HEALTH_LOST);
	else if (view->is_overdue && known->health == BERTH_HEALTH_OK)
		add_health(missing, known, BERTH_HEALTH_UNKNOWN);
}

size_t berth_registry_diff(const struct berth_registry *registry, const struct berth_core *core,
                           const struct berth_registry_view *view, struct berth_fact *ret, size_t cap)
{
	struct missing missing = {.facts = ret, .cap = cap};
	uint32_t next_id = berth_core_next_device(core);

	for (size_t i = 0; i < registry->n; i++) {
		const struct berth_device_facts *seen = &registry->devices[i];
		const struct berth_device *known = berth_core_device_by_uuid(core, seen->uuid);

		if (known)
			compare_seen(registry, known, seen, view, &missing);
		else
			add_new(registry, seen, &next_id, &missing);
	}
	for (size_t i = 0; i < berth_core_device_count(core); i++) {
		const struct berth_device *known = berth_core_device_at(core, i);

		if (known->node == BERTH_REGISTRY_NODE && !berth_registry_find(registry, known->uuid))
			compare_absent(registry, known, view, &missing);
	}
	return missing.n;
}
