// SPDX-License-Identifier: BSD-2-Clause
/* Chooses the main bottleneck among knots and sinks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/waits/bottleneck.h"

/* Whether it is limited by itself, not by what it waits for. */
static bool is_at_work(const struct bottleneck *bottleneck)
{
	return bottleneck->type < BOTTLENECK_OUTSIDE;
}

static int bottleneck_order(const void *a, const void *b)
{
	const struct bottleneck *one = a, *two = b;

	if (one->background != two->background)
		return one->background ? 1 : -1;
	if (one->relevant != two->relevant)
		return one->relevant ? -1 : 1;
	if (is_at_work(one) != is_at_work(two))
		return is_at_work(one) ? -1 : 1;
	return (one->impact_ns < two->impact_ns) - (one->impact_ns > two->impact_ns);
}

static bool makes_relation(const struct bottlenecks *bottlenecks, const struct waitgraph_edge *edge)
{
	return edge->weight_ns >= bottlenecks->min_edge_ns && !waitgraph_edge__is_idle(edge);
}

/* Follows waits from threads that were asked for. */
static int find_relations(const struct waitgraph *graph, struct bottlenecks *bottlenecks)
{
	uint8_t *relations = calloc(graph->vertices.n + 1, sizeof(*relations));
	bool more = true;

	bottlenecks->relations = relations;
	if (!relations)
		return -ENOMEM;
	for (size_t i = 1; i < graph->model->threads.n; i++)
		if (!model_thread__is_helper(&graph->model->threads.data[i]))
			relations[graph->vertex_of[i]] = RELATION_ASKED_FOR;
	while (more) {
		more = false;
		for (size_t i = 0; i < graph->edges.n; i++) {
			const struct waitgraph_edge *edge = &graph->edges.data[i];

			if (!relations[edge->from] || relations[edge->to] ||
			    !makes_relation(bottlenecks, edge))
				continue;
			relations[edge->to] = RELATION_AWAITED;
			more = true;
		}
	}
	for (size_t i = 0; i < graph->edges.n; i++) {
		const struct waitgraph_edge *edge = &graph->edges.data[i];

		if (!relations[edge->from] && relations[edge->to] == RELATION_ASKED_FOR &&
		    makes_relation(bottlenecks, edge))
			relations[edge->from] = RELATION_WAITER;
	}
	return 0;
}

static void mark_relevant(struct bottlenecks *bottlenecks)
{
	for (size_t i = 0; i < bottlenecks->all.n; i++) {
		struct bottleneck *at = &bottlenecks->all.data[i];

		for (size_t k = 0; k < at->members.n; k++)
			at->relevant |=
				bottlenecks->relations[at->members.data[k]] >= RELATION_AWAITED;
	}
}

/* The edge with most plain weight from a recorded user thread outside to a member, or NULL. */
static const struct waitgraph_edge *longest_into(const struct waitgraph *graph,
						 const struct bottleneck *bottleneck)
{
	const struct waitgraph_edge *longest = NULL;

	for (size_t i = 0; i < graph->edges.n; i++) {
		const struct waitgraph_edge *edge = &graph->edges.data[i];
		const struct waitgraph_vertex *from = &graph->vertices.data[edge->from];

		if (bottleneck__has(bottleneck, edge->to) &&
		    !bottleneck__has(bottleneck, edge->from) && from->recorded && !from->kernel &&
		    (!longest || edge->plain_ns > longest->plain_ns))
			longest = edge;
	}
	return longest;
}

/* Makes @sleeper a bottleneck of type BOTTLENECK_SLEEP, with its edges to timers. */
static int restore_sleeper(const struct waitgraph *graph, struct bottleneck *sleeper,
			   const struct waitgraph_edge *awaited)
{
	sleeper->background = false;
	sleeper->type = BOTTLENECK_SLEEP;
	sleeper->awaited_by = awaited;
	sleeper->edges.n = 0;
	for (uint32_t i = 0; i < graph->edges.n; i++) {
		const struct waitgraph_edge *edge = &graph->edges.data[i];

		if (bottleneck__has(sleeper, edge->from) &&
		    graph->vertices.data[edge->to].type == CAUSE_TIMER &&
		    array__push(&sleeper->edges, i))
			return -ENOMEM;
	}
	return 0;
}

/* What its threads do themselves. */
static uint64_t own_ns(const struct bottleneck *bottleneck)
{
	return bottleneck->running_ns + bottleneck->runnable_ns;
}

/*
 * When nothing else is at work, restores a background bottleneck: the sleeper for which a thread
 * waits longest, if for longer than the threshold (it sleeps within its task, unlike a periodic
 * thread); else the one that does not sleep with the largest impact; else what computes longest
 * between its sleeps.
 */
static int restore_background(const struct waitgraph *graph, struct bottlenecks *bottlenecks)
{
	const struct waitgraph_edge *most_awaited = NULL;
	struct bottleneck *sleeper = NULL, *other = NULL, *computes = NULL;

	for (size_t i = 0; i < bottlenecks->all.n; i++) {
		struct bottleneck *at = &bottlenecks->all.data[i];
		const struct waitgraph_edge *awaited = longest_into(graph, at);

		if (!at->background || !at->relevant)
			continue;
		if (!at->sleeps) {
			other = other && other->impact_ns >= at->impact_ns ? other : at;
		} else if (awaited && awaited->plain_ns > bottlenecks->threshold_ns &&
			   (!most_awaited || awaited->plain_ns > most_awaited->plain_ns)) {
			most_awaited = awaited;
			sleeper = at;
		}
		if (own_ns(at) > bottlenecks->min_edge_ns &&
		    (!computes || own_ns(at) > own_ns(computes)))
			computes = at;
	}
	if (sleeper)
		return restore_sleeper(graph, sleeper, most_awaited);
	if (other || computes)
		(other ? other : computes)->background = false;
	return 0;
}

int bottlenecks__choose(const struct waitgraph *graph, struct bottlenecks *bottlenecks)
{
	bool found = false;
	int err = find_relations(graph, bottlenecks);

	if (!err)
		mark_relevant(bottlenecks);
	for (size_t i = 0; i < bottlenecks->all.n; i++) {
		const struct bottleneck *at = &bottlenecks->all.data[i];

		found |= !at->background && at->relevant && is_at_work(at);
	}
	if (!err && !found)
		err = restore_background(graph, bottlenecks);
	if (!err && bottlenecks->all.n)
		qsort(bottlenecks->all.data, bottlenecks->all.n, sizeof(struct bottleneck),
		      bottleneck_order);
	return err;
}
