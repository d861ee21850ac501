#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include "core/tree.h"

static void test_orders_by_key_then_id(void **state)
{
	struct berth_tree tree = { 0 };
	struct berth_tree_node a = { 0 }, b = { 0 }, c = { 0 };

	assert_null(tree.first);
	berth_tree_insert(&tree, &a, 5, 9);
	berth_tree_insert(&tree, &b, 5, 2);
	berth_tree_insert(&tree, &c, 1, 100);
	assert_ptr_equal(tree.first, &c);
	assert_ptr_equal(berth_tree_next(&c), &b);
	assert_ptr_equal(berth_tree_next(&b), &a);
	assert_null(berth_tree_next(&a));
	berth_tree_remove(&c);
	assert_ptr_equal(tree.first, &b);
	assert_null(c.tree);
	berth_tree_remove(&c); /* in no set: nothing */
	assert_int_equal(tree.n, 2);
	berth_tree_remove(&a);
	berth_tree_remove(&b);
	assert_null(tree.root);
	assert_null(tree.first);
}

static unsigned depth_of(const struct berth_tree_node *node)
{
	unsigned left, right;

	if (!node)
		return 0;
	left = depth_of(node->left);
	right = depth_of(node->right);
	return 1 + (left > right ? left : right);
}

/* Ids in ascending order, as jobs come, would make a plain tree a list. */
static void test_stays_shallow(void **state)
{
	enum { N = 20000 };
	struct berth_tree_node *node = calloc(N, sizeof(*node));
	struct berth_tree tree = { 0 };

	assert_non_null(node);
	for (uint64_t i = 0; i < N; i++)
		berth_tree_insert(&tree, &node[i], 0, i + 1);
	assert_in_range(depth_of(tree.root), 14, 60);
	free(node);
}

static void test_random_coming_and_going(void **state)
{
	enum { N = 500 };
	static struct berth_tree_node node[N];
	struct berth_tree tree = { 0 };
	uint64_t random = 7;
	size_t n = 0;

	for (int round = 0; round < 40000; round++) {
		size_t i = (random = random * 6364136223846793005u + 1442695040888963407u, (size_t)(random >> 33)) % N;

		if (node[i].tree) {
			berth_tree_remove(&node[i]);
			n--;
		} else {
			berth_tree_insert(&tree, &node[i], random >> 60, i);
			n++;
		}
		if (round % 500 == 0) {
			const struct berth_tree_node *before = NULL;
			size_t seen = 0;

			for (const struct berth_tree_node *at = tree.first; at; at = berth_tree_next(at), seen++) {
				bool is_after = !before || before->key < at->key ||
				                (before->key == at->key && before->id < at->id);

				assert_true(is_after);
				before = at;
			}
			assert_int_equal(seen, n);
			assert_int_equal(tree.n, n);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders_by_key_then_id),
		cmocka_unit_test(test_stays_shallow),
		cmocka_unit_test(test_random_coming_and_going),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
