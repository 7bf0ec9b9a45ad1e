// SPDX-License-Identifier: BSD-2-Clause
/* Divides runs that were not sampled among the functions that samples of similar runs show. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/path/path_tree_parts.h"
#include "base/cleanup.h"

int path_tree__add_run(struct path_tree *tree, uint32_t node, const struct path_step *step)
{
	uint64_t key = hash__add(hash__mix(node), step->group);
	uint64_t *known = map64__put(&tree->estimated, key, tree->estimates.n);
	struct path_estimate *estimate;

	if (!known)
		return -ENOMEM;
	if (*known == tree->estimates.n) {
		estimate = array__add(&tree->estimates);
		if (!estimate)
			return -ENOMEM;
		estimate->node = node;
		estimate->group = step->group;
	}
	estimate = &tree->estimates.data[*known];
	if (step->doing == PATH_ESTIMATED)
		estimate->ns += step->until - step->from;
	else
		estimate->sampled_ns += step->until - step->from;
	estimate->samples += step->doing == PATH_RUNNING && step->sample;
	return 0;
}

uint32_t path_tree__add_likely(struct path_tree *tree, uint32_t node, uint32_t group)
{
	const struct run_group *of = run_groups__at(tree->runs, group);
	const struct run_share *most = &run_groups__shares(tree->runs, group)[of->most];

	return path_tree__add_stack(tree, node, most->kernel, most->user, false);
}

/* The weight of samples in and below the nodes that an estimate divides its time among. */
typedef ARRAY(struct weighted_node {
	uint32_t node;
	struct run_weight self;
	struct run_weight total;
}) weighted_nodes;

static struct weighted_node *find_node(weighted_nodes *nodes, struct map64 *index, uint32_t node)
{
	uint64_t *known = map64__put(index, node, nodes->n);
	struct weighted_node *added;

	if (!known || *known < nodes->n)
		return known ? &nodes->data[*known] : NULL;
	added = array__add(nodes);
	if (added)
		added->node = node;
	return added;
}

/* Adds @weight to @node, and to all between it and @thread. */
static int add_weight(const struct path_tree *tree, weighted_nodes *nodes, struct map64 *index,
		      uint32_t thread, uint32_t node, const struct run_weight *weight)
{
	for (uint32_t at = node; at != thread && at; at = tree->nodes.data[at].parent) {
		struct weighted_node *of = find_node(nodes, index, at);

		if (!of)
			return -ENOMEM;
		run_weight__add(&of->total, weight);
		if (at == node)
			run_weight__add(&of->self, weight);
	}
	return 0;
}

/* Whether all runs of the group are in the function at @node: it is on both stacks around them. */
static bool is_certain(const struct path_tree *tree, const struct run_group *group,
		       const struct weighted_node *node, uint32_t common)
{
	if (node->total.points < group->weight.points)
		return false;
	for (uint32_t at = common; at; at = tree->nodes.data[at].parent)
		if (at == node->node)
			return true;
	return false;
}

static double variance(const struct run_group *group, const struct run_weight *weight,
		       const struct path_estimate *estimate)
{
	return run_group__variance(group, weight, estimate->ns, estimate->sampled_ns,
				   estimate->samples);
}

static int add_variances(struct path_tree *tree, const struct path_estimate *estimate,
			 const weighted_nodes *nodes)
{
	const struct run_group *group = run_groups__at(tree->runs, estimate->group);
	uint32_t common = estimate->node;

	if (group->before && group->after)
		common = path_tree__add_common(tree, estimate->node, group->before, group->after);
	if (!common)
		return -ENOMEM;
	for (size_t i = 0; i < nodes->n; i++) {
		const struct weighted_node *of = &nodes->data[i];
		struct path_node *node = &tree->nodes.data[of->node];

		if (of->self.points)
			node->self_variance += variance(group, &of->self, estimate);
		if (!is_certain(tree, group, of, common))
			node->total_variance += variance(group, &of->total, estimate);
	}
	return 0;
}

static int divide(struct path_tree *tree, const struct path_estimate *estimate,
		  weighted_nodes *nodes, struct map64 *index)
{
	const struct run_group *group = run_groups__at(tree->runs, estimate->group);
	const struct run_share *shares = run_groups__shares(tree->runs, estimate->group);
	uint64_t weight = 0, given = 0;

	for (size_t i = 0; i < group->n; i++) {
		uint32_t node;
		uint64_t until;

		/* A function that none of these runs is in has no node. */
		if (!estimate->ns &&
		    !path_tree__has_stack(tree, estimate->node, shares[i].kernel, shares[i].user))
			continue;
		node = path_tree__add_stack(tree, estimate->node, shares[i].kernel, shares[i].user,
					    false);
		if (!node ||
		    add_weight(tree, nodes, index, estimate->node, node, &shares[i].weight))
			return -ENOMEM;
		weight += shares[i].weight.unsampled;
		until = (uint64_t)((__uint128_t)estimate->ns * weight / group->weight.unsampled);
		tree->nodes.data[node].self_ns += until - given;
		tree->nodes.data[node].estimated_ns += until - given;
		given = until;
	}
	return add_variances(tree, estimate, nodes);
}

int path_tree__divide(struct path_tree *tree)
{
	struct map64 index = {};
	weighted_nodes nodes = {};
	int err = 0;

	for (size_t i = 0; i < tree->estimates.n && !err; i++) {
		err = divide(tree, &tree->estimates.data[i], &nodes, &index);
		map64__clear(&index);
		nodes.n = 0;
	}
	map64__free(&index);
	array__free(&nodes);
	map64__clear(&tree->estimated);
	tree->estimates.n = 0;
	return err;
}
