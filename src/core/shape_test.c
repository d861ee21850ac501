#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "core/shape.h"

struct fixture {
	struct berth_strings strings;
	struct berth_shapes shapes;
};

static struct berth_shape *keep(struct fixture *f, uint32_t gpus, uint64_t limit_ms, uint64_t grace_ms,
                                const char *model)
{
	const struct berth_request request = { .gpus = gpus, .limit_ms = limit_ms, .gpu_model = model };

	assert_int_equal(berth_shapes_reserve(&f->shapes, 1), 0);
	assert_int_equal(berth_strings_pin_lower(&f->strings, model), 0);
	return berth_shapes_keep(&f->shapes, &f->strings, &request, grace_ms);
}

static void open_fixture(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	berth_shapes_init(&f->shapes);
}

static void close_fixture(struct fixture *f)
{
	berth_shapes_fini(&f->shapes);
	berth_strings_fini(&f->strings);
}

static void test_equal_requests_are_one_shape(void **state)
{
	struct fixture f;
	struct berth_shape *a;

	open_fixture(&f);
	a = keep(&f, 2, 60000, 5, "A100");
	assert_ptr_equal(a, keep(&f, 2, 60000, 5, "a100"));
	assert_ptr_not_equal(a, keep(&f, 3, 60000, 5, "a100"));
	assert_ptr_not_equal(a, keep(&f, 2, 60001, 5, "a100"));
	assert_ptr_not_equal(a, keep(&f, 2, 60000, 6, "a100"));
	assert_ptr_not_equal(a, keep(&f, 2, 60000, 5, ""));
	assert_int_equal(a->holders, 2);
	close_fixture(&f);
}

static void test_without_devices_all_are_one(void **state)
{
	struct fixture f;
	struct berth_shape *a;

	open_fixture(&f);
	a = keep(&f, 0, 60000, 5, "A100");
	assert_ptr_equal(a, keep(&f, 0, 1, 0, ""));
	assert_string_equal(a->request.gpu_model, "");
	close_fixture(&f);
}

static void test_a_shape_goes_with_its_last_holder(void **state)
{
	struct fixture f;
	struct berth_shape *a;
	uint32_t slot;

	open_fixture(&f);
	a = keep(&f, 1, 1, 0, "H100");
	slot = a->slot;
	(void)keep(&f, 1, 1, 0, "H100");
	berth_strings_unpin(&f.strings, NULL);
	berth_shapes_drop(&f.shapes, &f.strings, a);
	assert_ptr_equal(keep(&f, 1, 1, 0, "H100"), a);
	berth_shapes_drop(&f.shapes, &f.strings, a);
	berth_shapes_drop(&f.shapes, &f.strings, a);
	berth_strings_unpin(&f.strings, NULL);
	assert_null(berth_strings_find(&f.strings, "h100"));
	assert_int_equal(keep(&f, 7, 7, 0, "")->slot, slot);
	close_fixture(&f);
}

/* Two shapes whose hashes are equal hang in one chain. Hashes of 64 bits do not collide by trying, so the chain is made
 * by hand, as the table would have it. */
static void test_shapes_of_one_hash(void **state)
{
	struct fixture f;
	struct berth_shape *a, *b;

	open_fixture(&f);
	a = keep(&f, 1, 1, 0, "");
	b = keep(&f, 2, 1, 0, "");
	berth_table_remove(&f.shapes.first, b->hash);
	b->hash = a->hash;
	b->next = a->slot;
	berth_table_put(&f.shapes.first, a->hash, b->slot);
	assert_ptr_equal(keep(&f, 1, 1, 0, ""), a);
	berth_shapes_drop(&f.shapes, &f.strings, a);
	berth_shapes_drop(&f.shapes, &f.strings, a);
	assert_int_equal(b->next, BERTH_TABLE_NONE);
	a = keep(&f, 1, 1, 0, "");
	assert_int_equal(a->next, b->slot);
	berth_shapes_drop(&f.shapes, &f.strings, a);
	assert_int_equal(berth_table_get(&f.shapes.first, b->hash), b->slot);
	berth_shapes_drop(&f.shapes, &f.strings, b);
	assert_int_equal(f.shapes.first.n, 0);
	close_fixture(&f);
}

static void test_span_saturates(void **state)
{
	struct berth_shape shape = { .request.limit_ms = 1000, .grace_ms = 30 };

	assert_int_equal(berth_shape_span_ms(&shape), 1030);
	shape.request.limit_ms = UINT64_MAX - 10;
	assert_int_equal(berth_shape_span_ms(&shape), UINT64_MAX);
	shape.request.limit_ms = UINT64_MAX;
	assert_int_equal(berth_shape_span_ms(&shape), UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_requests_are_one_shape),
		cmocka_unit_test(test_without_devices_all_are_one),
		cmocka_unit_test(test_a_shape_goes_with_its_last_holder),
		cmocka_unit_test(test_shapes_of_one_hash),
		cmocka_unit_test(test_span_saturates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
