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
	if (one->has_peer != two->has_peer) /* what it does is not known as well */
		return one->has_peer ? 1 : -1;
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

		if (!at->background || !at->relevant || at->polls)
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

/* The thread that @bottleneck is: a sink that works, but not all the time; else NULL. */
static const struct model_thread *part_time_worker(const struct waitgraph *graph,
						   const struct bottleneck *bottleneck)
{
	const struct waitgraph_vertex *vertex = &graph->vertices.data[bottleneck->members.data[0]];

	if (!bottleneck->background || !bottleneck->relevant || bottleneck->members.n != 1 ||
	    !is_at_work(bottleneck) || vertex->type != CAUSE_THREAD)
		return NULL;
	return &graph->model->threads.data[vertex->id];
}

static uint32_t comm_of(const struct model_thread *thread)
{
	return thread ? model_thread__comm(thread, thread->ended) : 0;
}

/* Sets @joined to all of them that have the name @comm. */
static int join_alike(const struct waitgraph *graph, struct activity *activity,
		      const struct bottlenecks *bottlenecks, uint32_t comm,
		      struct bottleneck *joined)
{
	for (size_t i = 0; i < bottlenecks->all.n; i++) {
		const struct bottleneck *at = &bottlenecks->all.data[i];

		if (comm_of(part_time_worker(graph, at)) == comm &&
		    array__push(&joined->members, at->members.data[0]))
			return -ENOMEM;
	}
	joined->alike = joined->relevant = true;
	return bottleneck__classify(graph, activity, true, joined);
}

/* Replaces those with the name @comm by @joined. */
static int replace_alike(const struct waitgraph *graph, struct bottlenecks *bottlenecks,
			 uint32_t comm, const struct bottleneck *joined)
{
	size_t kept = 0;

	for (size_t i = 0; i < bottlenecks->all.n; i++) {
		struct bottleneck *at = &bottlenecks->all.data[i];

		if (comm_of(part_time_worker(graph, at)) == comm)
			bottleneck__free(at);
		else
			bottlenecks->all.data[kept++] = *at;
	}
	bottlenecks->all.n = kept;
	return array__push(&bottlenecks->all, *joined);
}

/*
 * Processes that follow each other, as the compilers of a build, are sinks of which none is busy
 * for long. Joins those of one name if one or another of them is: the name with the largest impact.
 * *@found: there is one.
 */
static int join_successors(const struct waitgraph *graph, struct activity *activity,
			   struct bottlenecks *bottlenecks, bool *found)
{
	struct bottleneck best = {};
	struct map64 tried = {};
	uint32_t best_comm = 0;
	int err = 0;

	for (size_t i = 0; i < bottlenecks->all.n && !err; i++) {
		uint32_t comm = comm_of(part_time_worker(graph, &bottlenecks->all.data[i]));
		struct bottleneck joined = {};
		uint64_t *seen = comm ? map64__put(&tried, comm, 0) : NULL;

		if (!seen || (*seen)++)
			continue;
		err = join_alike(graph, activity, bottlenecks, comm, &joined);
		if (!err && !joined.background && joined.members.n > 1 &&
		    (!best_comm || joined.impact_ns > best.impact_ns)) {
			bottleneck__free(&best);
			best = joined;
			best_comm = comm;
		} else {
			bottleneck__free(&joined);
		}
	}
	map64__free(&tried);
	if (!err && best_comm)
		err = replace_alike(graph, bottlenecks, best_comm, &best);
	*found = best_comm && !err;
	if (!*found)
		bottleneck__free(&best);
	return err;
}

int bottlenecks__choose(const struct waitgraph *graph, struct activity *activity,
			struct bottlenecks *bottlenecks)
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
		err = join_successors(graph, activity, bottlenecks, &found);
	if (!err && !found)
		err = restore_background(graph, bottlenecks);
	if (!err && bottlenecks->all.n)
		qsort(bottlenecks->all.data, bottlenecks->all.n, sizeof(struct bottleneck),
		      bottleneck_order);
	return err;
}
