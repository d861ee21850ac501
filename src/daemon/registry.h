#ifndef BERTH_DAEMON_REGISTRY_H
#define BERTH_DAEMON_REGISTRY_H
/* The cards as the machine shows them, held against the cards as the core knows them.
 *
 * The registry remembers the last scan. berth_registry_diff tells which facts are missing until the core agrees with
 * it: a card that is new or has another index, model or memory is SEEN; one that is gone is LOST; health that changed
 * is told; a card that the configuration leaves out is drained, at a start before the first scan already. It compares
 * whole states, so a fact that got lost on the way (full disk, crash) is simply found missing again.
 */
#include <stdbool.h>
#include <stddef.h>
#include "core/core.h"
#include "daemon/cards.h"
#include "device/device.h"

#define BERTH_REGISTRY_NODE 1u /* id of this machine: the local engine has one */
/* Who drained a card that the configuration leaves out, and why. */
#define BERTH_REGISTRY_BY "configuration"
#define BERTH_REGISTRY_NOTE "not among the cards of the configuration"

struct berth_registry;

/* cards is copied. NULL when memory is out. */
struct berth_registry *berth_registry_new(const struct berth_cards *cards);
void berth_registry_free(struct berth_registry *registry); /* NULL allowed */

/* The devices were scanned: replaces the last scan. A UUID that comes twice counts once. More than BERTH_DEVICES_MAX
 * devices, and links of devices that are not listed, are left out. links: a, b are indexes of devices. 0 or -ENOMEM
 * (the last scan stays). */
BERTH_MUST_USE int berth_registry_scanned(struct berth_registry *registry, const struct berth_device_facts *devices,
                                          size_t n, const struct berth_link *links, size_t n_links);
bool berth_registry_is_scanned(const struct berth_registry *registry);

/* Borrowed until the next scan. NULL: not in the last scan; beyond the last. */
const struct berth_device_facts *berth_registry_find(const struct berth_registry *registry, const char *uuid);
const struct berth_device_facts *berth_registry_at(const struct berth_registry *registry, size_t i);
/* May jobs get this card, by the configuration? */
bool berth_registry_is_enrolled(const struct berth_registry *registry, const struct berth_device_facts *device);
/* Links of one device and the UUID at their other end, at most cap; returns how many there are. Borrowed until the next
 * scan. */
size_t berth_registry_links(const struct berth_registry *registry, const char *uuid, struct berth_link *ret,
                            const char **ret_peer, size_t cap);

/* What the rest of the daemon knows about the cards. */
struct berth_registry_view {
	void *arg;
	enum berth_health (*health)(void *arg, const char *uuid); /* UNKNOWN = nothing new */
	bool (*is_owned)(void *arg, const char *uuid);            /* false: another berth on this machine has it */
	bool is_overdue; /* no scan came although one should have: what was OK is unknown now, so that nothing new
	                    starts there */
};
/* The facts that are missing, at most cap, to be posted as one unit and in this order. Strings borrowed until the next
 * scan. A new card has device 0 and gets the next id from the ledger; its drain, in the same post, counts on that, so
 * nobody else may post new cards meanwhile. With little room the rest is found missing in a later call (2 is the least
 * that gets on). */
size_t berth_registry_diff(const struct berth_registry *registry, const struct berth_core *core,
                           const struct berth_registry_view *view, struct berth_fact *ret, size_t cap);
#endif
