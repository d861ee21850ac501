#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "base/file.h"
#include "device/sim/fleet.h"

static struct berth_sim_fleet parsed(const char *arg)
{
	struct berth_sim_fleet fleet;
	struct berth_error err;

	if (berth_sim_fleet_parse(arg, &fleet, &err) < 0)
		fail_msg("%s", err.text);
	return fleet;
}

static void refused(const char *arg, int code, const char *says)
{
	struct berth_error err = {0};

	assert_int_equal(berth_sim_arg_check(arg, &err), code);
	if (!strstr(err.text, says))
		fail_msg("'%s' is refused with '%s', which does not say '%s'", arg, err.text, says);
}

static void test_short_form(void **state)
{
	struct berth_sim_fleet fleet = parsed("8xA100-80GB");

	assert_int_equal(fleet.n, 8);
	assert_string_equal(fleet.model[7]->name, "A100-80GB");
	fleet = parsed("4xA100-80GB+2xL40S+t4");
	assert_int_equal(fleet.n, 7);
	assert_string_equal(fleet.model[3]->name, "A100-80GB");
	assert_string_equal(fleet.model[4]->name, "L40S");
	assert_string_equal(fleet.model[6]->name, "T4");
	assert_int_equal(parsed("16xH200").n, 16);
}

static void test_what_is_no_fleet_is_refused(void **state)
{
	refused("", -EINVAL, "8xA100-80GB");
	refused("8x", -EINVAL, "known:");
	refused("8xA100-80G", -EINVAL, "did you mean A100-80GB");
	refused("8xEverest", -EINVAL, "H100-80GB");
	refused("0xT4", -EINVAL, "number of cards");
	refused("17xT4", -EINVAL, "number of cards");
	refused("9xT4+8xL4", -EINVAL, "16 cards");
	refused("4xT4+", -EINVAL, "several kinds");
	refused("+4xT4", -EINVAL, "several kinds");
	refused("no/such/file.yaml", -ENOENT, "no/such/file.yaml");
}

static int yaml(const char *text, struct berth_sim_fleet *ret, struct berth_error *err)
{
	return berth_sim_fleet_parse_yaml(text, strlen(text), "f.yaml", ret, err);
}

static void test_yaml_form(void **state)
{
	struct berth_sim_fleet fleet;
	struct berth_error err = {0};

	assert_int_equal(yaml("devices: [{model: A100-80GB, count: 8}]\n", &fleet, &err), 0);
	assert_int_equal(fleet.n, 8);
	assert_int_equal(yaml("devices:\n  - model: V100-32GB\n    count: 2\n  - model: 'L4'\n", &fleet, &err), 0);
	assert_int_equal(fleet.n, 3);
	assert_string_equal(fleet.model[1]->name, "V100-32GB");
	assert_string_equal(fleet.model[2]->name, "L4");
}

static void yaml_refused(const char *text, const char *says)
{
	struct berth_sim_fleet fleet = {.n = 99};
	struct berth_error err = {0};

	assert_true(yaml(text, &fleet, &err) < 0);
	assert_int_equal(fleet.n, 99);
	if (!strstr(err.text, says))
		fail_msg("'%s' is refused with '%s', which does not say '%s'", text, err.text, says);
}

static void test_yaml_errors_name_line_and_column(void **state)
{
	yaml_refused("", "is empty");
	yaml_refused("[1, 2]", "f.yaml:1:1:");
	yaml_refused("{}", "f.yaml:1:1:");
	yaml_refused("devices: {}\n", "f.yaml:1:10:");
	yaml_refused("devices: []\n", "f.yaml:1:10:");
	yaml_refused("device: [{model: T4}]\n", "f.yaml:1:1: unknown key 'device'; did you mean 'devices'");
	yaml_refused("devices: [{modell: T4}]\n", "f.yaml:1:12: unknown key 'modell'; did you mean 'model'");
	yaml_refused("devices: [{colour: red}]\n", "known is 'model'");
	yaml_refused("devices:\n- model: T5\n", "f.yaml:2:10:");
	yaml_refused("devices:\n- count: 3\n", "model is missing");
	yaml_refused("devices:\n- T4\n", "f.yaml:2:3:");
	yaml_refused("devices:\n- model: T4\n  count: many\n", "f.yaml:3:10:");
	yaml_refused("devices:\n- model: T4\n  count: 17\n", "f.yaml:3:10:");
	yaml_refused("devices:\n- model: [T4]\n", "f.yaml:2:10:");
	yaml_refused("devices:\n- model: \"T4\\0x\"\n", "f.yaml:2:10:");
	yaml_refused("devices:\n- {model: T4, count: 9}\n- {model: L4, count: 8}\n", "16 cards");
	yaml_refused("devices: [\n", "f.yaml:2:1:");
	yaml_refused("? [a]\n: b\n", "unknown key");
	yaml_refused("\x01", "f.yaml:");
}

static void test_yaml_file(void **state)
{
	static const char text[] = "devices: [{model: H100-80GB, count: 2}]\n";
	char dir[] = "/tmp/berth-fleet-XXXXXX";
	struct berth_sim_fleet fleet;
	char path[64];

	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/two.yaml", dir);
	assert_int_equal(berth_file_replace_at(AT_FDCWD, path, text, strlen(text), 0600), 0);
	fleet = parsed(path);
	assert_int_equal(fleet.n, 2);
	assert_int_equal(berth_dir_remove(dir), 0);
}

static unsigned links_of(const struct berth_sim_fleet *fleet, size_t card)
{
	unsigned n = 0;

	for (size_t i = 0; i < fleet->n; i++) {
		const struct berth_link link = berth_sim_fleet_link(fleet, i < card ? i : card, i < card ? card : i);

		if (i != card && link.kind == BERTH_LINK_NVLINK)
			n += link.mbyte_per_s / 25000;
	}
	return n;
}

static void test_cube_mesh_is_symmetrical(void **state)
{
	const struct berth_sim_fleet fleet = parsed("8xV100-32GB");

	for (size_t a = 0; a < 8; a++) {
		/* A V100 has six links, and all of them lead to another card of the eight. */
		assert_int_equal(links_of(&fleet, a), 6);
		for (size_t b = 0; b < 8; b++) {
			const struct berth_link there = berth_sim_fleet_link(&fleet, a, b);
			const struct berth_link back = berth_sim_fleet_link(&fleet, b, a);

			if (a == b)
				continue;
			assert_int_equal(there.kind, back.kind);
			assert_int_equal(there.mbyte_per_s, back.mbyte_per_s);
			assert_int_equal(there.a, a);
			assert_int_equal(there.b, b);
		}
	}
	assert_int_equal(berth_sim_fleet_link(&fleet, 0, 3).mbyte_per_s, 50000);
	assert_int_equal(berth_sim_fleet_link(&fleet, 0, 1).mbyte_per_s, 25000);
	assert_int_equal(berth_sim_fleet_link(&fleet, 0, 5).kind, BERTH_LINK_PCIE);
}

static void test_two_meshes_are_not_joined(void **state)
{
	const struct berth_sim_fleet fleet = parsed("16xV100-16GB");

	assert_int_equal(berth_sim_fleet_link(&fleet, 8, 11).mbyte_per_s, 50000);
	for (size_t a = 0; a < 8; a++)
		for (size_t b = 8; b < 16; b++)
			assert_int_equal(berth_sim_fleet_link(&fleet, a, b).kind, BERTH_LINK_PCIE);
}

static void test_switch_pairs_and_plain_pcie(void **state)
{
	struct berth_sim_fleet fleet = parsed("8xA100-80GB");

	for (size_t a = 0; a < 8; a++) {
		for (size_t b = a + 1; b < 8; b++) {
			assert_int_equal(berth_sim_fleet_link(&fleet, a, b).kind, BERTH_LINK_NVSWITCH);
			assert_int_equal(berth_sim_fleet_link(&fleet, a, b).mbyte_per_s, 300000);
		}
	}
	fleet = parsed("4xA30");
	assert_int_equal(berth_sim_fleet_link(&fleet, 0, 1).kind, BERTH_LINK_NVLINK);
	assert_int_equal(berth_sim_fleet_link(&fleet, 1, 2).kind, BERTH_LINK_PCIE);
	assert_int_equal(berth_sim_fleet_link(&fleet, 2, 3).mbyte_per_s, 100000);
	fleet = parsed("2xL40S");
	assert_int_equal(berth_sim_fleet_link(&fleet, 0, 1).kind, BERTH_LINK_PCIE);
	assert_int_equal(berth_sim_fleet_link(&fleet, 0, 1).mbyte_per_s, 31508);
}

static void test_different_models_meet_at_the_slower_ones_rate(void **state)
{
	const struct berth_sim_fleet fleet = parsed("2xH100-80GB+2xT4");

	assert_int_equal(berth_sim_fleet_link(&fleet, 0, 1).kind, BERTH_LINK_NVSWITCH);
	assert_int_equal(berth_sim_fleet_link(&fleet, 1, 2).kind, BERTH_LINK_PCIE);
	assert_int_equal(berth_sim_fleet_link(&fleet, 1, 2).mbyte_per_s, 15754);
}

static void test_every_model_is_whole(void **state)
{
	for (const struct berth_sim_model *model = berth_sim_models; model->name; model++) {
		assert_true(model->mem_bytes >= 1ull << 30 && model->sm_count > 0 && model->pcie_mbyte_per_s > 0);
		assert_int_equal(model->layout == BERTH_SIM_PCIE, model->link_mbyte_per_s == 0);
		assert_true(model->link_mbyte_per_s == 0 || model->link_mbyte_per_s > model->pcie_mbyte_per_s);
		assert_ptr_equal(berth_sim_model_find(model->name), model);
	}
	assert_null(berth_sim_model_find("A100"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_form),
		cmocka_unit_test(test_what_is_no_fleet_is_refused),
		cmocka_unit_test(test_yaml_form),
		cmocka_unit_test(test_yaml_errors_name_line_and_column),
		cmocka_unit_test(test_yaml_file),
		cmocka_unit_test(test_cube_mesh_is_symmetrical),
		cmocka_unit_test(test_two_meshes_are_not_joined),
		cmocka_unit_test(test_switch_pairs_and_plain_pcie),
		cmocka_unit_test(test_different_models_meet_at_the_slower_ones_rate),
		cmocka_unit_test(test_every_model_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
