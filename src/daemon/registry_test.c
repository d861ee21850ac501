#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "daemon/registry.h"

/* A core without a ledger: facts are folded at once, new cards get their numbers here. */
struct bench {
	struct berth_registry *registry;
	struct berth_core *core;
	uint64_t seq;
	enum berth_health health; /* of every card that berth has */
	const char *foreign;      /* UUID of a card that another berth has; NULL = none */
	bool is_overdue;
};

static enum berth_health view_health(void *arg, const char *uuid)
{
	return ((struct bench *)arg)->health;
}

static bool view_is_owned(void *arg, const char *uuid)
{
	const struct bench *bench = arg;

	return !bench->foreign || strcmp(bench->foreign, uuid) != 0;
}

static size_t diff(struct bench *bench, struct berth_fact *facts, size_t cap)
{
	struct berth_registry_view view = {bench, view_health, view_is_owned, bench->is_overdue};

	return berth_registry_diff(bench->registry, bench->core, &view, facts, cap);
}

static void fold(struct bench *bench, struct berth_fact *fact)
{
	fact->seq = ++bench->seq;
	fact->at_ms = 1000 + bench->seq;
	if (fact->kind == BERTH_FACT_DEVICE_SEEN && fact->u.device.device == 0)
		fact->u.device.device = berth_core_next_device(bench->core);
	assert_int_equal(berth_core_reserve(bench->core, fact, 1), 0);
	assert_int_equal(berth_core_fold(bench->core, fact), 0);
}

/* Until nothing is missing: how many facts it took. The rule that ends it is what is tested: a fact that changes
 * nothing would go on for ever. */
static size_t settle(struct bench *bench)
{
	struct berth_fact facts[8];
	size_t total = 0;

	for (int round = 0; round < 50; round++) {
		size_t n = diff(bench, facts, 8);

		if (n == 0)
			return total;
		for (size_t i = 0; i < n; i++)
			fold(bench, &facts[i]);
		total += n;
	}
	fail_msg("the registry and the core never agree");
	return 0;
}

static void scan(struct bench *bench, size_t n, uint32_t first_index)
{
	struct berth_device_facts devices[16] = {0};

	for (size_t i = 0; i < n; i++) {
		(void)snprintf(devices[i].uuid, sizeof(devices[i].uuid), "SIM-%zu", i);
		(void)snprintf(devices[i].kind, sizeof(devices[i].kind), "gpu");
		(void)snprintf(devices[i].model, sizeof(devices[i].model), "A100-80GB");
		devices[i].index = first_index + (uint32_t)i;
		devices[i].mem_bytes = UINT64_C(80) << 30;
	}
	assert_int_equal(berth_registry_scanned(bench->registry, devices, n, NULL, 0), 0);
}

static void start(struct bench *bench, const char *cards)
{
	struct berth_cards list = berth_cards_all();
	struct berth_fact node;

	if (cards) {
		list = (struct berth_cards){0};
		assert_int_equal(berth_cards_add(&list, cards, NULL), 0);
	}
	*bench = (struct bench){
		.registry = berth_registry_new(&list), .core = berth_core_new(), .health = BERTH_HEALTH_OK};
	assert_non_null(bench->registry);
	berth_fact_init(&node, BERTH_FACT_NODE_SEEN);
	node.u.node.node = BERTH_REGISTRY_NODE;
	node.u.node.name = "gpu01";
	fold(bench, &node);
}

static void stop(struct bench *bench)
{
	berth_registry_free(bench->registry);
	berth_core_free(bench->core);
}

static void test_first_scan(void **state)
{
	struct bench bench;
	const struct berth_device *device;

	start(&bench, NULL);
	assert_false(berth_registry_is_scanned(bench.registry));
	assert_int_equal(settle(&bench), 0);
	scan(&bench, 4, 0);
	assert_int_equal(settle(&bench), 4); /* a card that is seen counts as healthy */
	assert_int_equal(berth_core_device_count(bench.core), 4);
	device = berth_core_device_by_uuid(bench.core, "SIM-3");
	assert_int_equal(device->index, 3);
	assert_int_equal(device->node, BERTH_REGISTRY_NODE);
	assert_int_equal(device->health, BERTH_HEALTH_OK);
	assert_int_equal(device->mem_bytes, UINT64_C(80) << 30);
	assert_string_equal(device->model, "A100-80GB");
	assert_string_equal(device->kind, "gpu");
	assert_false(device->is_draining);
	assert_int_equal(settle(&bench), 0);
	stop(&bench);
}

static void test_a_card_that_leaves_and_returns(void **state)
{
	struct bench bench;

	start(&bench, NULL);
	scan(&bench, 4, 0);
	(void)settle(&bench);
	scan(&bench, 3, 0);
	assert_int_equal(settle(&bench), 1);
	assert_int_equal(berth_core_device_by_uuid(bench.core, "SIM-3")->health, BERTH_HEALTH_LOST);
	assert_int_equal(berth_core_device_by_uuid(bench.core, "SIM-2")->health, BERTH_HEALTH_OK);
	scan(&bench, 4, 0);
	assert_int_equal(settle(&bench), 1);
	assert_int_equal(berth_core_device_by_uuid(bench.core, "SIM-3")->health, BERTH_HEALTH_OK);
	assert_int_equal(berth_core_device_count(bench.core), 4); /* the same card, the same id */
	stop(&bench);
}

static void test_renumbered_cards_keep_their_ids(void **state)
{
	struct bench bench;
	uint32_t id;

	start(&bench, NULL);
	scan(&bench, 2, 0);
	(void)settle(&bench);
	id = berth_core_device_by_uuid(bench.core, "SIM-1")->id;
	scan(&bench, 2, 4);
	assert_int_equal(settle(&bench), 2);
	assert_int_equal(berth_core_device_by_uuid(bench.core, "SIM-1")->id, id);
	assert_int_equal(berth_core_device_by_uuid(bench.core, "SIM-1")->index, 5);
	stop(&bench);
}

static void test_health_follows_telemetry(void **state)
{
	struct bench bench;

	start(&bench, NULL);
	scan(&bench, 2, 0);
	bench.health = BERTH_HEALTH_UNKNOWN; /* no sample yet: nothing to tell */
	assert_int_equal(settle(&bench), 2);
	bench.health = BERTH_HEALTH_OK;
	assert_int_equal(settle(&bench), 0);
	bench.health = BERTH_HEALTH_LOST;
	assert_int_equal(settle(&bench), 2);
	assert_int_equal(berth_core_device_by_uuid(bench.core, "SIM-0")->health, BERTH_HEALTH_LOST);
	bench.health = BERTH_HEALTH_UNKNOWN;
	assert_int_equal(settle(&bench), 0);
	bench.health = BERTH_HEALTH_OK;
	assert_int_equal(settle(&bench), 2);
	stop(&bench);
}

static void test_a_card_of_another_berth(void **state)
{
	struct bench bench;

	start(&bench, NULL);
	scan(&bench, 2, 0);
	bench.foreign = "SIM-1";
	(void)settle(&bench);
	assert_int_equal(berth_core_device_by_uuid(bench.core, "SIM-0")->health, BERTH_HEALTH_OK);
	assert_int_equal(berth_core_device_by_uuid(bench.core, "SIM-1")->health, BERTH_HEALTH_LOST);
	bench.foreign = NULL;
	assert_int_equal(settle(&bench), 1);
	assert_int_equal(berth_core_device_by_uuid(bench.core, "SIM-1")->health, BERTH_HEALTH_OK);
	stop(&bench);
}

static void test_cards_left_out_are_shown_and_never_given(void **state)
{
	struct bench bench;
	struct berth_fact facts[16], undrain;
	const struct berth_device *device;
	struct berth_cards all = berth_cards_all();
	size_t n;

	start(&bench, "0-1");
	scan(&bench, 4, 0);
	bench.foreign = "SIM-3"; /* another berth has it: none of our business, as we do not give it */
	n = diff(&bench, facts, 16);
	assert_int_equal(n, 6);
	assert_int_equal(facts[2].kind, BERTH_FACT_DEVICE_SEEN);
	assert_int_equal(facts[3].kind, BERTH_FACT_DEVICE_DRAIN); /* with its first sight, or a job could slip in */
	for (size_t i = 0; i < n; i++)
		fold(&bench, &facts[i]);
	assert_string_equal(berth_core_device(bench.core, facts[3].u.drain.device)->uuid, "SIM-2");
	assert_int_equal(settle(&bench), 0);
	device = berth_core_device_by_uuid(bench.core, "SIM-3");
	assert_true(device->is_draining);
	assert_string_equal(device->drain_by, BERTH_REGISTRY_BY);
	assert_int_equal(device->health, BERTH_HEALTH_OK);
	assert_false(berth_core_device_by_uuid(bench.core, "SIM-1")->is_draining);
	assert_true(berth_registry_is_enrolled(bench.registry, berth_registry_find(bench.registry, "SIM-1")));
	assert_false(berth_registry_is_enrolled(bench.registry, berth_registry_find(bench.registry, "SIM-2")));

	/* somebody puts it into service all the same: it is taken out again */
	berth_fact_init(&undrain, BERTH_FACT_DEVICE_DRAIN);
	undrain.u.drain.device = device->id;
	undrain.u.drain.by = "lin";
	fold(&bench, &undrain);
	assert_int_equal(settle(&bench), 1);
	assert_true(berth_core_device_by_uuid(bench.core, "SIM-3")->is_draining);

	/* a daemon whose configuration has all cards gives them back; the drain of a person stays */
	berth_registry_free(bench.registry);
	bench.registry = berth_registry_new(&all);
	bench.foreign = NULL;
	berth_fact_init(&undrain, BERTH_FACT_DEVICE_DRAIN);
	undrain.u.drain = (struct berth_fact_device_drain){berth_core_device_by_uuid(bench.core, "SIM-0")->id, true,
	                                                   "lin", "fan"};
	fold(&bench, &undrain);
	scan(&bench, 4, 0);
	assert_int_equal(settle(&bench), 2);
	assert_false(berth_core_device_by_uuid(bench.core, "SIM-2")->is_draining);
	assert_false(berth_core_device_by_uuid(bench.core, "SIM-3")->is_draining);
	assert_true(berth_core_device_by_uuid(bench.core, "SIM-0")->is_draining);
	stop(&bench);
}

/* After a restart no scan comes: what was healthy may not be called so, but nothing is killed for it. */
static void test_no_scan_at_all(void **state)
{
	struct bench bench;
	struct berth_cards all = berth_cards_all();

	start(&bench, NULL);
	scan(&bench, 2, 0);
	(void)settle(&bench);
	berth_registry_free(bench.registry);
	bench.registry = berth_registry_new(&all);
	assert_int_equal(settle(&bench), 0);
	bench.is_overdue = true;
	assert_int_equal(settle(&bench), 2);
	assert_int_equal(berth_core_device_by_uuid(bench.core, "SIM-0")->health, BERTH_HEALTH_UNKNOWN);
	scan(&bench, 2, 0);
	bench.is_overdue = false;
	assert_int_equal(settle(&bench), 2);
	assert_int_equal(berth_core_device_by_uuid(bench.core, "SIM-0")->health, BERTH_HEALTH_OK);
	stop(&bench);
}

/* A start with other cards than before: what waits may be started before the first scan, and must not get them. */
static void test_cards_left_out_since_are_drained_before_the_first_scan(void **state)
{
	struct berth_cards list = {0};
	struct bench bench;

	start(&bench, NULL);
	scan(&bench, 4, 0);
	(void)settle(&bench);
	berth_registry_free(bench.registry);
	assert_int_equal(berth_cards_add(&list, "1-2", NULL), 0);
	bench.registry = berth_registry_new(&list);
	assert_int_equal(settle(&bench), 2);
	for (size_t i = 0; i < 4; i++) {
		const struct berth_device *device = berth_core_device_at(bench.core, i);

		assert_int_equal(device->is_draining, i == 0 || i == 3);
		assert_string_equal(device->drain_by, device->is_draining ? BERTH_REGISTRY_BY : "");
		assert_int_equal(device->health, BERTH_HEALTH_OK);
	}
	scan(&bench, 4, 0);
	assert_int_equal(settle(&bench), 0);
	stop(&bench);
}

static void test_little_room_takes_more_rounds(void **state)
{
	struct bench bench;
	struct berth_fact facts[2];
	size_t n = 0, got;

	start(&bench, "7");
	scan(&bench, 3, 0);
	assert_int_equal(diff(&bench, facts, 0), 0);
	assert_int_equal(diff(&bench, facts, 1), 0); /* never seen without its drain */
	while ((got = diff(&bench, facts, 2)) > 0 && n < 100) {
		for (size_t i = 0; i < got; i++)
			fold(&bench, &facts[i]);
		n += got;
	}
	assert_int_equal(n, 6);
	stop(&bench);
}

static void test_links_and_strange_scans(void **state)
{
	static const struct berth_link links[] = {
		{.a = 4, .b = 5, .mbyte_per_s = 300000, .kind = BERTH_LINK_NVLINK},
		{.a = 5, .b = 6, .mbyte_per_s = 1, .kind = BERTH_LINK_PCIE},
		{.a = 4, .b = 9},
	};
	struct berth_device_facts devices[BERTH_DEVICES_MAX + 5] = {0};
	struct berth_link found[4];
	const char *peers[4];
	struct berth_cards all = berth_cards_all();
	struct berth_registry *registry = berth_registry_new(&all);

	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		(void)snprintf(devices[i].uuid, sizeof(devices[i].uuid), "SIM-%zu", i);
		devices[i].index = (uint32_t)i + 4;
	}
	(void)snprintf(devices[3].uuid, sizeof(devices[3].uuid), "SIM-0"); /* twice */
	assert_int_equal(berth_registry_scanned(registry, devices, 4, links, 3), 0);
	assert_non_null(berth_registry_at(registry, 2));
	assert_null(berth_registry_at(registry, 3));
	assert_int_equal(berth_registry_find(registry, "SIM-0")->index, 4);
	assert_null(berth_registry_find(registry, "SIM-9"));

	assert_int_equal(berth_registry_links(registry, "SIM-1", found, peers, 4), 2);
	assert_string_equal(peers[0], "SIM-0");
	assert_int_equal(found[0].kind, BERTH_LINK_NVLINK);
	assert_int_equal(found[0].mbyte_per_s, 300000);
	assert_string_equal(peers[1], "SIM-2");
	assert_int_equal(berth_registry_links(registry, "SIM-1", found, peers, 1), 2); /* told how many, written one */
	assert_int_equal(berth_registry_links(registry, "SIM-0", found, peers, 4),
	                 1); /* its end at index 9 does not exist */
	assert_int_equal(berth_registry_links(registry, "SIM-9", found, peers, 4), 0);

	assert_int_equal(berth_registry_scanned(registry, devices, BERTH_DEVICES_MAX + 5, NULL, 0), 0);
	assert_non_null(berth_registry_at(registry, BERTH_DEVICES_MAX - 1));
	assert_null(berth_registry_at(registry, BERTH_DEVICES_MAX));
	assert_int_equal(berth_registry_links(registry, "SIM-1", found, peers, 4), 0);
	berth_registry_free(registry);
	berth_registry_free(NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_scan),
		cmocka_unit_test(test_a_card_that_leaves_and_returns),
		cmocka_unit_test(test_renumbered_cards_keep_their_ids),
		cmocka_unit_test(test_health_follows_telemetry),
		cmocka_unit_test(test_a_card_of_another_berth),
		cmocka_unit_test(test_cards_left_out_are_shown_and_never_given),
		cmocka_unit_test(test_no_scan_at_all),
		cmocka_unit_test(test_cards_left_out_since_are_drained_before_the_first_scan),
		cmocka_unit_test(test_little_room_takes_more_rounds),
		cmocka_unit_test(test_links_and_strange_scans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
