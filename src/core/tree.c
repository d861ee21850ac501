#include <stdbool.h>
#include "base/hash.h"
#include "core/tree.h"

static bool is_before(const struct berth_tree_node *a, const struct berth_tree_node *b)
{
	return a->key != b->key ? a->key < b->key : a->id < b->id;
}

static uint64_t priority_of(const struct berth_tree_node *node)
{
	return berth_hash_u64(node->id);
}

/* The pointer that points at a node: in its parent, or the root. */
static struct berth_tree_node **pointer_to(struct berth_tree_node *node)
{
	if (!node->parent)
		return &node->tree->root;
	return node->parent->left == node ? &node->parent->left : &node->parent->right;
}

/* Lift a node into the place of its parent. */
static void rotate_up(struct berth_tree_node *node)
{
	struct berth_tree_node *parent = node->parent;
	struct berth_tree_node **place = pointer_to(parent);
	struct berth_tree_node *moved;

	if (parent->left == node) {
		moved = node->right;
		parent->left = moved;
		node->right = parent;
	} else {
		moved = node->left;
		parent->right = moved;
		node->left = parent;
	}
	if (moved)
		moved->parent = parent;
	node->parent = parent->parent;
	parent->parent = node;
	*place = node;
}

void berth_tree_insert(struct berth_tree *tree, struct berth_tree_node *node, uint64_t key, uint64_t id)
{
	struct berth_tree_node *parent = NULL;
	struct berth_tree_node **place = &tree->root;

	*node = (struct berth_tree_node){ .tree = tree, .key = key, .id = id };
	while (*place) {
		parent = *place;
		place = is_before(node, parent) ? &parent->left : &parent->right;
	}
	*place = node;
	node->parent = parent;
	while (node->parent && priority_of(node) < priority_of(node->parent))
		rotate_up(node);
	if (!tree->first || is_before(node, tree->first))
		tree->first = node;
	tree->n++;
}

void berth_tree_remove(struct berth_tree_node *node)
{
	struct berth_tree *tree = node->tree;

	if (!tree)
		return;
	if (tree->first == node)
		tree->first = berth_tree_next(node);
	while (node->left && node->right)
		rotate_up(priority_of(node->left) < priority_of(node->right) ? node->left : node->right);
	*pointer_to(node) = node->left ? node->left : node->right;
	if (node->left)
		node->left->parent = node->parent;
	if (node->right)
		node->right->parent = node->parent;
	tree->n--;
	*node = (struct berth_tree_node){ 0 };
}

struct berth_tree_node *berth_tree_next(const struct berth_tree_node *node)
{
	if (node->right) {
		node = node->right;
		while (node->left)
			node = node->left;
	} else {
		while (node->parent && node->parent->right == node)
			node = node->parent;
		node = node->parent;
	}
	return (struct berth_tree_node *)(uintptr_t)node;
}
