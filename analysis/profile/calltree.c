// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/profile/calltree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t calltree__root(struct calltree *tree)
{
	if (!tree->nodes.n && !array__add(&tree->nodes))
		return 0;
	return array__add(&tree->nodes) ? (uint32_t)tree->nodes.n - 1 : 0;
}

static bool node_same(const struct calltree_node *a, const struct calltree_node *b)
{
	return a->name == b->name && a->dso == b->dso && a->address == b->address &&
	       a->letter == b->letter && a->kernel == b->kernel;
}

/* The child of @parent that equals @wanted, added if there is none; 0 when out of memory. */
static uint32_t calltree_child(struct calltree *tree, uint32_t parent,
			       const struct calltree_node *wanted)
{
	uint64_t key = hash__add(hash__add(parent, (uint64_t)wanted->name << 32 | wanted->dso),
				 wanted->address * 256 + (uint64_t)wanted->letter);

	for (;; key++) {
		uint64_t packed = (uint64_t)parent << 32 | tree->nodes.n;
		uint64_t *at = map64__put(&tree->children, key, packed);
		uint32_t node;

		if (!at)
			return 0;
		node = (uint32_t)*at;
		if (*at == packed) {
			if (array__push(&tree->nodes, *wanted))
				return 0;
			tree->nodes.data[node].next = tree->nodes.data[parent].child;
			tree->nodes.data[parent].child = node;
			return node;
		}
		if (*at >> 32 == parent && node_same(&tree->nodes.data[node], wanted))
			return node;
	}
}

int calltree__add(struct calltree *tree, uint32_t root, const struct model *model,
		  const struct callchain *chain, size_t from, size_t to, enum calltree_order order,
		  char letter, uint64_t ns)
{
	uint32_t at = root;

	tree->nodes.data[at].total_ns += ns;
	for (size_t i = 0; i < to - from; i++) {
		size_t index = order == CALLTREE_CALLER ? to - 1 - i : from + i;
		const struct callchain_frame *frame = &chain->frames.data[index];
		struct calltree_node wanted = {
			.name = frame->name,
			.dso = frame->dso,
			.kernel = frame->kernel,
			.letter = index ? '\0' : letter,
		};

		if (!frame->name)
			wanted.address = model->locations.data[frame->location].address;
		at = calltree_child(tree, at, &wanted);
		if (!at)
			return -ENOMEM;
		tree->nodes.data[at].total_ns += ns;
	}
	tree->nodes.data[at].self_ns += ns;
	return 0;
}

struct sibling {
	uint32_t node;
	uint64_t ns;
};

static int sibling_order(const void *a, const void *b)
{
	const struct sibling *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return (x->node > y->node) - (x->node < y->node);
}

int calltree__sort(struct calltree *tree)
{
	ARRAY(struct sibling) siblings = {};
	int err = 0;

	for (size_t i = 1; i < tree->nodes.n && !err; i++) {
		uint32_t *link = &tree->nodes.data[i].child;

		siblings.n = 0;
		for (uint32_t node = *link; node && !err; node = tree->nodes.data[node].next) {
			struct sibling sibling = {node, tree->nodes.data[node].total_ns};

			err = array__push(&siblings, sibling);
		}
		if (siblings.n)
			qsort(siblings.data, siblings.n, sizeof(*siblings.data), sibling_order);
		for (size_t k = 0; k < siblings.n && !err; k++) {
			*link = siblings.data[k].node;
			link = &tree->nodes.data[*link].next;
			*link = 0;
		}
	}
	array__free(&siblings);
	return err;
}

void calltree__free(struct calltree *tree)
{
	array__free(&tree->nodes);
	map64__free(&tree->children);
}
