#ifndef BERTH_CORE_TREE_H
#define BERTH_CORE_TREE_H
/* Ordered sets of records, by (key, id). The links lie in the record, so moving a record between sets needs no memory
 * and cannot fail.
 *
 * A treap (Seidel and Aragon 1996) whose priorities are hashes of the ids: expected depth O(log n), and its form
 * depends on its members alone, not on the order in which they came.
 */
#include <stddef.h>
#include <stdint.h>

struct berth_tree;
struct berth_tree_node { /* {0} is in no set */
	struct berth_tree_node *parent, *left, *right;
	struct berth_tree *tree; /* the set it is in; NULL = none */
	uint64_t key;
	uint64_t id;
};
struct berth_tree { /* {0} is empty; must not move while it has members */
	struct berth_tree_node *root;
	struct berth_tree_node *first;
	size_t n;
};

/* Add a node that is in no set. Borrowed: it must stay where it is until removed. */
void berth_tree_insert(struct berth_tree *tree, struct berth_tree_node *node, uint64_t key, uint64_t id);
/* Take a node out of the set it is in; nothing happens when it is in none. */
void berth_tree_remove(struct berth_tree_node *node);
/* The node after this one in its set; NULL behind the last. The first is tree->first. */
struct berth_tree_node *berth_tree_next(const struct berth_tree_node *node);
#endif
