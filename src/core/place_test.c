#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "core/filter.h"
#include "core/place.h"
#include "core/stage_test.h"

/* The shape of a job that asks this. */
static const struct berth_shape *shape_of(struct stage *stage, struct berth_request request)
{
	struct berth_fact fact = stage_submission(stage, request.gpus, STAGE_MINUTE);

	fact.u.submit.request = request;
	fact.u.submit.is_held = true;
	if (!fact.u.submit.request.limit_ms)
		fact.u.submit.request.limit_ms = STAGE_MINUTE;
	if (!fact.u.submit.request.gpu_model)
		fact.u.submit.request.gpu_model = "";
	assert_int_equal(stage_fold(stage, &fact), 0);
	return berth_model_job(stage->core, fact.u.submit.job)->shape;
}

static bool place(struct stage *stage, struct berth_request request, struct berth_share_set *set)
{
	const struct berth_shape *shape = shape_of(stage, request);
	struct berth_timeline timeline;

	assert_int_equal(berth_timeline_draw(&timeline, stage->core, stage->now_ms), 0);
	return berth_place_now(&timeline, shape, set);
}

static void assert_set(const struct berth_share_set *set, size_t n, const uint32_t *ids)
{
	assert_int_equal(set->n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(set->share[i].device, ids[i]);
}
#define ASSERT_SET(set, ...) \
	assert_set(set, sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), (const uint32_t[]){ __VA_ARGS__ })

static void test_ties_go_to_the_lowest_ids(void **state)
{
	struct berth_share_set set;
	struct stage stage;

	stage_open(&stage, 8);
	assert_true(place(&stage, (struct berth_request){ .gpus = 3 }, &set));
	ASSERT_SET(&set, 1, 2, 3);
	stage_close(&stage);
}

static void test_the_smallest_that_suffices(void **state)
{
	struct berth_share_set set;
	struct stage stage;

	stage_open(&stage, 2);
	stage_device(&stage, 3, 1, 2, "L40S", 48 * STAGE_GIB);
	stage_device(&stage, 4, 1, 3, "T4", 16 * STAGE_GIB);
	assert_true(place(&stage, (struct berth_request){ .gpus = 1 }, &set));
	ASSERT_SET(&set, 4);
	assert_true(place(&stage, (struct berth_request){ .gpus = 1, .gpu_mem_bytes = 17 * STAGE_GIB }, &set));
	ASSERT_SET(&set, 3);
	assert_true(place(&stage, (struct berth_request){ .gpus = 1, .gpu_mem_bytes = 48 * STAGE_GIB + 1 }, &set));
	ASSERT_SET(&set, 1);
	assert_true(place(&stage, (struct berth_request){ .gpus = 3 }, &set));
	ASSERT_SET(&set, 1, 3, 4);
	assert_false(place(&stage, (struct berth_request){ .gpus = 1, .gpu_mem_bytes = 81 * STAGE_GIB }, &set));
	stage_close(&stage);
}

static void test_the_fuller_node_first(void **state)
{
	struct berth_share_set set;
	struct stage stage;

	stage_open(&stage, 4);
	for (uint32_t i = 0; i < 2; i++)
		stage_device(&stage, 5 + i, 2, i, "A100-80GB", 80 * STAGE_GIB);
	assert_true(place(&stage, (struct berth_request){ .gpus = 1 }, &set));
	ASSERT_SET(&set, 5);
	assert_true(place(&stage, (struct berth_request){ .gpus = 3 }, &set));
	ASSERT_SET(&set, 1, 2, 3);
	assert_false(place(&stage, (struct berth_request){ .gpus = 5 }, &set)); /* six are free, four on one node */
	stage_close(&stage);
}

static void test_model_and_index(void **state)
{
	struct berth_share_set set;
	struct stage stage;

	stage_open(&stage, 4);
	stage_device(&stage, 5, 1, 4, "H100", 80 * STAGE_GIB);
	assert_true(place(&stage, (struct berth_request){ .gpus = 1, .gpu_model = "h100" }, &set));
	ASSERT_SET(&set, 5);
	assert_true(place(&stage, (struct berth_request){ .gpus = 2, .index_mask = 0x0a }, &set));
	ASSERT_SET(&set, 2, 4);
	assert_false(place(&stage, (struct berth_request){ .gpus = 2, .gpu_model = "H100" }, &set));
	assert_false(place(&stage, (struct berth_request){ .gpus = 1, .index_mask = 1, .gpu_model = "H100" }, &set));
	stage_close(&stage);
}

static void test_an_index_beyond_every_mask(void **state)
{
	struct berth_share_set set;
	struct stage stage;

	assert_int_equal(berth_filter_index_bit(63), (uint64_t)1 << 63);
	assert_int_equal(berth_filter_index_bit(64), 0);
	stage_open(&stage, 0);
	stage_device(&stage, 1, 1, 64, "A100", STAGE_GIB);
	stage_device(&stage, 2, 1, UINT32_MAX, "A100", STAGE_GIB);
	assert_false(place(&stage, (struct berth_request){ .gpus = 1, .index_mask = UINT64_MAX }, &set));
	assert_true(place(&stage, (struct berth_request){ .gpus = 2 }, &set));
	stage_close(&stage);
}

static void test_nothing_asked_is_always_there(void **state)
{
	struct berth_share_set set = { .n = 9 };
	struct stage stage;

	stage_open(&stage, 0);
	assert_true(place(&stage, (struct berth_request){ .gpus = 0 }, &set));
	assert_int_equal(set.n, 0);
	stage_close(&stage);
}

static void test_more_devices_than_a_set_holds(void **state)
{
	struct berth_share_set set;
	struct stage stage;

	stage_open(&stage, 24); /* cards that were replaced stay known */
	assert_true(place(&stage, (struct berth_request){ .gpus = 16 }, &set));
	assert_int_equal(set.n, 16);
	assert_int_equal(set.share[15].device, 16);
	stage_close(&stage);
}

/* --- against every set there is -------------------------------------------------------------------------------- */

struct choice {
	bool is_any;
	uint64_t memory;
	uint32_t left;
	uint32_t mask;
};

/* The best of all subsets of free suiting devices of one node, tried one by one. */
static struct choice best_choice(const struct stage *stage, const struct berth_shape *shape)
{
	struct choice best = { 0 };
	size_t n = berth_core_device_count(stage->core);

	for (uint32_t mask = 1; mask < 1u << n; mask++) {
		struct choice choice = { true, 0, 0, mask };
		uint32_t node = 0;
		bool is_possible = (uint32_t)__builtin_popcount(mask) == shape->request.gpus;

		for (size_t i = 0; i < n && is_possible; i++) {
			const struct berth_device_rec *rec = &stage->core->devices[i];

			if (!(mask >> i & 1))
				continue;
			is_possible = rec->device.job == 0 && berth_filter_suits(shape, rec, NULL) &&
			              (!node || node == rec->device.node);
			node = rec->device.node;
			choice.memory += rec->device.mem_bytes;
		}
		for (size_t i = 0; i < n; i++)
			choice.left += stage->core->devices[i].device.node == node &&
			               !stage->core->devices[i].device.job;
		if (is_possible && (!best.is_any || choice.memory < best.memory ||
		                    (choice.memory == best.memory && choice.left < best.left)))
			best = choice;
	}
	return best;
}

static void test_no_set_is_better(void **state)
{
	uint64_t random = 3;

	for (int round = 0; round < 150; round++) {
		struct stage stage;
		struct berth_share_set set;
		const struct berth_shape *shape;
		struct berth_timeline timeline;
		struct choice best;
		uint64_t memory = 0;

		stage_open(&stage, 0);
		for (uint32_t i = 0; i < 9; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			stage_device(&stage, i + 1, 1 + (random >> 33) % 2, i, random >> 40 & 1 ? "A" : "B",
			             ((random >> 50) % 3 + 1) * 8);
		}
		stage_submit(&stage, (uint32_t)(random >> 20) % 3, STAGE_MINUTE);
		stage_settle(&stage);
		shape = shape_of(&stage, (struct berth_request){ .gpus = 1 + (uint32_t)(random >> 45) % 4,
			                                         .gpu_mem_bytes = (random >> 60) % 2 * 16 });
		assert_int_equal(berth_timeline_draw(&timeline, stage.core, stage.now_ms), 0);
		best = best_choice(&stage, shape);
		assert_int_equal(berth_place_now(&timeline, shape, &set), best.is_any);
		for (uint32_t i = 0; best.is_any && i < set.n; i++)
			memory += berth_core_device(stage.core, set.share[i].device)->mem_bytes;
		if (best.is_any)
			assert_int_equal(memory, best.memory);
		stage_close(&stage);
	}
}

/* --- later ----------------------------------------------------------------------------------------------------- */

static void test_the_earliest_set_leaves_what_is_free(void **state)
{
	struct berth_share_set set;
	struct berth_timeline timeline;
	struct stage stage;
	uint64_t start_ms = 0;
	const struct berth_shape *shape;

	stage_open(&stage, 8);
	stage_submit(&stage, 4, 10 * STAGE_MINUTE);
	stage_submit(&stage, 2, 30 * STAGE_MINUTE);
	stage_settle(&stage);
	shape = shape_of(&stage, (struct berth_request){ .gpus = 5 });
	assert_int_equal(berth_timeline_draw(&timeline, stage.core, stage.now_ms), 0);
	assert_true(berth_place_earliest(&timeline, shape, &set, &start_ms));
	assert_int_equal(start_ms, stage.now_ms + 10 * STAGE_MINUTE);
	ASSERT_SET(&set, 1, 2, 3, 4, 7); /* the four that come free then and one of the two free ones */
	stage_close(&stage);
}

static void test_without_limit_nothing_can_be_told(void **state)
{
	struct berth_share_set set;
	struct berth_timeline timeline;
	struct stage stage;
	uint64_t start_ms = 0;
	const struct berth_shape *shape;

	stage_open(&stage, 2);
	stage_submit(&stage, 1, UINT64_MAX);
	stage_settle(&stage);
	shape = shape_of(&stage, (struct berth_request){ .gpus = 2 });
	assert_int_equal(berth_timeline_draw(&timeline, stage.core, stage.now_ms), 0);
	assert_true(berth_place_earliest(&timeline, shape, &set, &start_ms));
	assert_int_equal(start_ms, UINT64_MAX);
	assert_int_equal(stage_drain(&stage, 2, true), 0);
	assert_int_equal(berth_timeline_draw(&timeline, stage.core, stage.now_ms), 0);
	assert_false(berth_place_earliest(&timeline, shape, &set, &start_ms));
	stage_close(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ties_go_to_the_lowest_ids),
		cmocka_unit_test(test_the_smallest_that_suffices),
		cmocka_unit_test(test_the_fuller_node_first),
		cmocka_unit_test(test_model_and_index),
		cmocka_unit_test(test_an_index_beyond_every_mask),
		cmocka_unit_test(test_nothing_asked_is_always_there),
		cmocka_unit_test(test_more_devices_than_a_set_holds),
		cmocka_unit_test(test_no_set_is_better),
		cmocka_unit_test(test_the_earliest_set_leaves_what_is_free),
		cmocka_unit_test(test_without_limit_nothing_can_be_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
