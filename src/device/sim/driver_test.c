#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "base/clock.h"
#include "device/sim/sim.h"

#define GIB (1024ull * 1024 * 1024)
#define NOW_MS 5000000ull

static const struct berth_driver_ops *const ops = &berth_driver_sim;

static struct berth_driver *opened(const char *arg, const char *identity)
{
	struct berth_driver *driver = NULL;
	struct berth_error err;

	if (ops->open(arg, identity, &driver, &err) < 0)
		fail_msg("%s", err.text);
	return driver;
}

static struct berth_device_facts card(struct berth_driver *driver, size_t i)
{
	struct berth_device_facts facts[BERTH_SIM_CARDS_MAX];
	size_t n = 0;

	assert_int_equal(ops->scan(driver, facts, BERTH_SIM_CARDS_MAX, &n, NULL), 0);
	assert_true(i < n);
	return facts[i];
}

static struct berth_sample sample(struct berth_driver *driver, size_t i, uint64_t now_ms)
{
	const struct berth_device_facts facts = card(driver, i);
	struct berth_sample ret;

	assert_int_equal(ops->sample(driver, facts.uuid, now_ms, &ret, NULL), 0);
	return ret;
}

static int load(struct berth_driver *driver, size_t i, const char *holder, const char *profile)
{
	const struct berth_device_facts facts = card(driver, i);

	return ops->load(driver, facts.uuid, holder, profile, NOW_MS, NULL);
}

static int inject(struct berth_driver *driver, size_t i, const char *what)
{
	const struct berth_device_facts facts = card(driver, i);

	return ops->inject(driver, facts.uuid, what, NOW_MS, NULL);
}

static void test_the_table_has_it(void **state)
{
	assert_ptr_equal(berth_driver_find("sim"), ops);
	assert_null(berth_driver_find("nvml"));
	assert_null(berth_driver_find(""));
	assert_int_equal(ops->abi, BERTH_DEVICE_ABI);
}

static void test_open_refuses_what_is_no_fleet(void **state)
{
	struct berth_driver *driver = NULL;
	struct berth_error err = {0};

	assert_int_equal(ops->open("8xEverest", "me", &driver, &err), -EINVAL);
	assert_null(driver);
	assert_non_null(strstr(err.text, "Everest"));
}

static void test_scan_tells_what_the_model_has(void **state)
{
	struct berth_driver *driver = opened("2xA100-80GB+L40S", "me");
	struct berth_device_facts facts[2];
	size_t n = 0;

	assert_int_equal(ops->scan(driver, facts, 2, &n, NULL), 0);
	assert_int_equal(n, 3);
	assert_string_equal(facts[0].kind, "gpu");
	assert_string_equal(facts[0].model, "A100-80GB");
	assert_int_equal(facts[0].mem_bytes, 80 * GIB);
	assert_int_equal(facts[0].sm_count, 108);
	assert_int_equal(facts[1].index, 1);
	assert_int_equal(facts[1].numa_node, 0);
	assert_string_not_equal(facts[0].bdf, facts[1].bdf);
	assert_string_equal(card(driver, 2).model, "L40S");
	assert_int_equal(card(driver, 2).numa_node, 1);
	ops->close(driver);
}

static void test_links_are_each_pair_once(void **state)
{
	struct berth_driver *driver = opened("4xV100-16GB", "me");
	struct berth_link links[6];
	size_t n = 0;

	assert_int_equal(ops->links(driver, links, 1, &n, NULL), 0);
	assert_int_equal(n, 6);
	assert_int_equal(ops->links(driver, links, 6, &n, NULL), 0);
	for (size_t i = 0; i < 6; i++) {
		assert_true(links[i].a < links[i].b && links[i].b < 4);
		for (size_t k = 0; k < i; k++)
			assert_false(links[i].a == links[k].a && links[i].b == links[k].b);
	}
	ops->close(driver);
}

static void assert_uuid_shape(const char *uuid)
{
	static const char shape[] = "SIM-xxxxxxxx-xxxx-8xxx-yxxx-xxxxxxxxxxxx";

	assert_int_equal(strlen(uuid), strlen(shape));
	for (size_t i = 0; shape[i]; i++) {
		if (shape[i] == 'x')
			assert_true(isdigit((unsigned char)uuid[i]) || (uuid[i] >= 'a' && uuid[i] <= 'f'));
		else if (shape[i] == 'y')
			assert_non_null(strchr("89ab", uuid[i]));
		else
			assert_int_equal(uuid[i], shape[i]);
	}
}

static void test_uuids_are_stable_and_unique(void **state)
{
	struct berth_driver *one = opened("8xA100-80GB", "state-a");
	struct berth_driver *again = opened("8xA100-80GB", "state-a");
	struct berth_driver *other = opened("8xA100-80GB", "state-b");

	for (size_t i = 0; i < 8; i++) {
		const struct berth_device_facts facts = card(one, i);

		assert_uuid_shape(facts.uuid);
		assert_string_equal(facts.uuid, card(again, i).uuid);
		for (size_t k = 0; k < 8; k++) {
			assert_string_not_equal(facts.uuid, card(other, k).uuid);
			if (k != i)
				assert_string_not_equal(facts.uuid, card(one, k).uuid);
		}
	}
	/* For ever: a new version of berth must find the devices of an old state directory again. */
	assert_string_equal(card(one, 0).uuid, "SIM-8c06877e-c97c-8e85-942d-c9bf582c5ecf");
	ops->close(one);
	ops->close(again);
	ops->close(other);
}

static void test_idle_card(void **state)
{
	struct berth_driver *driver = opened("2xT4", "me");
	const struct berth_sample idle = sample(driver, 0, NOW_MS);

	assert_int_equal(idle.at_ms, NOW_MS);
	assert_int_equal(idle.valid, BERTH_SAMPLE_UTIL | BERTH_SAMPLE_MEM | BERTH_SAMPLE_HEALTH);
	assert_int_equal(idle.util_permille, 0);
	assert_int_equal(idle.mem_used_bytes, 0);
	assert_int_equal(idle.health, BERTH_DEVICE_HEALTH_OK);
	ops->close(driver);
}

static void test_no_such_card(void **state)
{
	struct berth_driver *driver = opened("2xT4", "me");
	struct berth_sample ret;

	assert_int_equal(ops->sample(driver, "SIM-none", NOW_MS, &ret, NULL), -ENOENT);
	assert_int_equal(ops->load(driver, "SIM-none", "1.1", "", NOW_MS, NULL), -ENOENT);
	assert_int_equal(ops->inject(driver, "SIM-none", "lost", NOW_MS, NULL), -ENOENT);
	ops->close(driver);
}

static void test_load_follows_its_profile(void **state)
{
	struct berth_driver *driver = opened("2xA100-80GB", "me");
	struct berth_sample now;

	assert_int_equal(load(driver, 0, "7.1", "0:10:2G,30:95:40G"), 0);
	now = sample(driver, 0, NOW_MS + 1000);
	assert_int_equal(now.mem_used_bytes, 2 * GIB);
	assert_in_range(now.util_permille, 80, 120);
	now = sample(driver, 0, NOW_MS + 30000);
	assert_int_equal(now.mem_used_bytes, 40 * GIB);
	assert_in_range(now.util_permille, 930, 970);
	assert_int_equal(sample(driver, 1, NOW_MS + 30000).util_permille, 0);
	assert_int_equal(load(driver, 0, "7.1", NULL), 0);
	assert_int_equal(sample(driver, 0, NOW_MS + 31000).mem_used_bytes, 0);
	assert_int_equal(load(driver, 0, "7.1", NULL), 0);
	/* A clock that lies before the holder came is its first moment. */
	assert_int_equal(load(driver, 1, "8.1", "0:0:1G,1:0:2G"), 0);
	assert_int_equal(sample(driver, 1, NOW_MS - 5000).mem_used_bytes, 1 * GIB);
	ops->close(driver);
}

static void test_utilisation_moves_the_same_way_every_time(void **state)
{
	struct berth_driver *driver = opened("2xA100-80GB", "me");
	struct berth_driver *again = opened("2xA100-80GB", "you");
	uint32_t least = 1000;
	uint32_t most = 0;

	assert_int_equal(load(driver, 1, "7.1", "0:50:1G"), 0);
	assert_int_equal(load(again, 1, "9.2", "0:50:1G"), 0);
	for (uint64_t at_ms = NOW_MS; at_ms < NOW_MS + 8000; at_ms += 500) {
		const uint32_t util = sample(driver, 1, at_ms).util_permille;

		assert_int_equal(sample(again, 1, at_ms).util_permille, util);
		assert_in_range(util, 480, 520);
		least = util < least ? util : least;
		most = util > most ? util : most;
	}
	assert_true(most - least >= 20);
	ops->close(driver);
	ops->close(again);
}

static void test_holders_add_up_to_what_the_card_has(void **state)
{
	struct berth_driver *driver = opened("1xT4", "me");
	struct berth_sample now;

	assert_int_equal(load(driver, 0, "1.1", "0:30:6G"), 0);
	assert_int_equal(load(driver, 0, "2.1", "0:30:6G"), 0);
	now = sample(driver, 0, NOW_MS);
	assert_int_equal(now.mem_used_bytes, 12 * GIB);
	assert_in_range(now.util_permille, 580, 620);
	assert_int_equal(load(driver, 0, "3.1", "0:90:100G"), 0);
	now = sample(driver, 0, NOW_MS);
	assert_int_equal(now.mem_used_bytes, 16 * GIB);
	assert_int_equal(now.util_permille, 1000);
	ops->close(driver);
}

static void test_told_again_a_load_is_one_load(void **state)
{
	struct berth_driver *driver = opened("1xT4", "me");

	assert_int_equal(load(driver, 0, "1.1", "0:30:6G"), 0);
	assert_int_equal(load(driver, 0, "1.1", "0:30:6G"), 0);
	assert_int_equal(sample(driver, 0, NOW_MS).mem_used_bytes, 6 * GIB);
	assert_int_equal(load(driver, 0, "1.1", "0:30:x"), -EINVAL);
	assert_int_equal(load(driver, 0, "", "0:30:6G"), -EINVAL);
	assert_int_equal(load(driver, 0, "123456789012345678901234567890123456789012345678", ""), -EINVAL);
	for (unsigned i = 2; i <= 8; i++)
		assert_int_equal(load(driver, 0, (const char[]){(char)('0' + i), 0}, ""), 0);
	assert_int_equal(load(driver, 0, "9", ""), -ENOSPC);
	ops->close(driver);
}

static void test_injected_readings_hide_the_loads(void **state)
{
	struct berth_driver *driver = opened("1xA100-80GB", "me");

	assert_int_equal(load(driver, 0, "1.1", "0:30:6G"), 0);
	assert_int_equal(inject(driver, 0, "util 3"), 0);
	assert_int_equal(inject(driver, 0, "mem 77G"), 0);
	assert_int_equal(sample(driver, 0, NOW_MS).util_permille, 30);
	assert_int_equal(sample(driver, 0, NOW_MS).mem_used_bytes, 77 * GIB);
	assert_int_equal(inject(driver, 0, "mem 81G"), -EINVAL);
	assert_int_equal(inject(driver, 0, "nonsense"), -EINVAL);
	assert_int_equal(inject(driver, 0, "mem auto"), 0);
	assert_int_equal(sample(driver, 0, NOW_MS).mem_used_bytes, 6 * GIB);
	assert_int_equal(sample(driver, 0, NOW_MS).util_permille, 30);
	assert_int_equal(inject(driver, 0, "util auto"), 0);
	assert_in_range(sample(driver, 0, NOW_MS).util_permille, 280, 320);
	ops->close(driver);
}

static void test_lost_card_tells_nothing_else(void **state)
{
	struct berth_driver *driver = opened("2xA100-80GB", "me");
	struct berth_sample lost;

	assert_int_equal(load(driver, 0, "1.1", ""), 0);
	assert_int_equal(inject(driver, 0, "lost"), 0);
	lost = sample(driver, 0, NOW_MS);
	assert_int_equal(lost.valid, BERTH_SAMPLE_HEALTH);
	assert_int_equal(lost.health, BERTH_DEVICE_HEALTH_LOST);
	assert_int_equal(lost.util_permille, 0);
	assert_int_equal(sample(driver, 1, NOW_MS).health, BERTH_DEVICE_HEALTH_OK);
	assert_int_equal(inject(driver, 0, "recover"), 0);
	assert_int_equal(sample(driver, 0, NOW_MS).health, BERTH_DEVICE_HEALTH_OK);
	ops->close(driver);
}

static void test_hang_sleeps_in_the_call(void **state)
{
	struct berth_driver *driver = opened("2xA100-80GB", "me");
	const struct berth_device_facts facts = card(driver, 0);
	const uint64_t began_ms = berth_clock_boot_ms();

	assert_int_equal(ops->inject(driver, facts.uuid, "hang 1", began_ms, NULL), 0);
	assert_true(berth_clock_boot_ms() - began_ms < 500);
	assert_int_equal(sample(driver, 1, began_ms).at_ms, began_ms);
	assert_true(sample(driver, 0, berth_clock_boot_ms()).at_ms >= began_ms + 1000);
	assert_true(berth_clock_boot_ms() - began_ms >= 1000);
	/* Once it is over, it is over; one that lies in the past sleeps no more; recover ends one that was not met yet.
	 */
	assert_int_equal(ops->inject(driver, facts.uuid, "hang 1", began_ms, NULL), 0);
	assert_int_equal(ops->inject(driver, card(driver, 1).uuid, "hang 3600", berth_clock_boot_ms(), NULL), 0);
	assert_int_equal(ops->inject(driver, card(driver, 1).uuid, "recover", berth_clock_boot_ms(), NULL), 0);
	(void)sample(driver, 0, berth_clock_boot_ms());
	(void)sample(driver, 1, berth_clock_boot_ms());
	assert_true(berth_clock_boot_ms() - began_ms < 3000);
	ops->close(driver);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_table_has_it),
		cmocka_unit_test(test_open_refuses_what_is_no_fleet),
		cmocka_unit_test(test_scan_tells_what_the_model_has),
		cmocka_unit_test(test_links_are_each_pair_once),
		cmocka_unit_test(test_uuids_are_stable_and_unique),
		cmocka_unit_test(test_idle_card),
		cmocka_unit_test(test_no_such_card),
		cmocka_unit_test(test_load_follows_its_profile),
		cmocka_unit_test(test_utilisation_moves_the_same_way_every_time),
		cmocka_unit_test(test_holders_add_up_to_what_the_card_has),
		cmocka_unit_test(test_told_again_a_load_is_one_load),
		cmocka_unit_test(test_injected_readings_hide_the_loads),
		cmocka_unit_test(test_lost_card_tells_nothing_else),
		cmocka_unit_test(test_hang_sleeps_in_the_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
