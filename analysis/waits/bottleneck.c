// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/waits/bottleneck.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/waits/activity.h"
#include "analysis/waits/knots.h"

/*
 * Edges of less than this part of the recording, of what the waiter itself waits, are not
 * looked at: however they close a circle, and whoever waits behind, no more can be gained
 * there. (wPerf's analyzer takes 0.01 of what is cascaded: then a wait within a condition
 * variable makes a knot, if only enough wait behind it.)
 */
#define LEAST_EDGE 0.03

/* Of a knot that was active for less of the time, something else than itself is the limit. */
#define SATURATED 0.75

static const char *const names[] = {
	[BOTTLENECK_KNOT] = "knot",	 [BOTTLENECK_WORK] = "work",
	[BOTTLENECK_MORE_CPUS] = "cpus", [BOTTLENECK_OUTSIDE] = "outside",
	[BOTTLENECK_SLEEP] = "sleep",
};

const char *bottleneck_type__name(enum bottleneck_type type)
{
	return names[type];
}

const struct bottleneck *bottlenecks__first(const struct bottlenecks *bottlenecks)
{
	const struct bottleneck *first = bottlenecks->all.data;

	return bottlenecks->all.n && !first->background && first->relevant ? first : NULL;
}

bool bottleneck__has(const struct bottleneck *bottleneck, uint32_t vertex)
{
	for (size_t i = 0; i < bottleneck->members.n; i++)
		if (bottleneck->members.data[i] == vertex)
			return true;
	return false;
}

static void bottleneck__free(struct bottleneck *bottleneck)
{
	array__free(&bottleneck->members);
	array__free(&bottleneck->edges);
}

struct search {
	const struct waitgraph *graph;
	struct bottlenecks *out;
	struct activity *activity;
	ARRAY(struct graph_edge) edges;
	ARRAY(uint32_t) origins; /* of each: its index in the graph */
	bool *has_edge;		 /* by vertex */
	bool *set_aside;	 /* by vertex: a member of what only sleeps */
};

/* The edges that count: between what was recorded, and long enough to say something. */
static int choose_edges(struct search *search)
{
	const struct waitgraph *graph = search->graph;

	search->edges.n = search->origins.n = 0;
	memset(search->has_edge, 0, graph->vertices.n * sizeof(*search->has_edge));
	for (uint32_t i = 0; i < graph->edges.n; i++) {
		const struct waitgraph_edge *edge = &graph->edges.data[i];
		struct graph_edge chosen = {edge->from, edge->to, edge->weight_ns};

		if (edge->plain_ns < search->out->least_ns ||
		    waitgraph_vertex__outside(&graph->vertices.data[edge->from]) ||
		    waitgraph_vertex__outside(&graph->vertices.data[edge->to]) ||
		    search->set_aside[edge->from] || search->set_aside[edge->to])
			continue;
		search->has_edge[edge->from] = search->has_edge[edge->to] = true;
		if (array__push(&search->edges, chosen) || array__push(&search->origins, i))
			return -ENOMEM;
	}
	return 0;
}

/* Time that others waited for a member, and that members spent themselves. */
static void weigh(const struct waitgraph *graph, struct bottleneck *bottleneck)
{
	for (size_t i = 0; i < bottleneck->members.n; i++) {
		const struct waitgraph_vertex *vertex =
			&graph->vertices.data[bottleneck->members.data[i]];

		bottleneck->pull_ns += vertex->running_ns;
		if (vertex->type != CAUSE_THREAD)
			continue;
		bottleneck->pull_ns += vertex->runnable_ns;
		bottleneck->running_ns += vertex->running_ns;
		bottleneck->runnable_ns += vertex->runnable_ns;
	}
	for (size_t i = 0; i < graph->edges.n; i++)
		if (bottleneck__has(bottleneck, graph->edges.data[i].to))
			bottleneck->pull_ns += graph->edges.data[i].weight_ns;
}

static bool has_device(const struct waitgraph *graph, const struct bottleneck *bottleneck)
{
	for (size_t i = 0; i < bottleneck->members.n; i++)
		if (graph->vertices.data[bottleneck->members.data[i]].type == CAUSE_DEVICE)
			return true;
	return false;
}

/* What it was that kept it from working, when it did not. */
static enum bottleneck_type type_of_idle(const struct bottleneck *bottleneck)
{
	const double *idle = bottleneck->idle_for;
	double outside = idle[CAUSE_THREAD] + idle[CAUSE_PEER] + idle[CAUSE_UNKNOWN] +
			 idle[CAUSE_END] + idle[CAUSE_INTERRUPT];

	return outside > idle[CAUSE_TIMER] ? BOTTLENECK_OUTSIDE : BOTTLENECK_SLEEP;
}

/*
 * wPerf takes a knot without devices whose threads need less than one CPU for one in the
 * background. That would be any two threads that take turns and are slow to wake.
 */
static bool is_background(const struct waitgraph *graph, const struct bottleneck *bottleneck)
{
	return bottleneck->active < SATURATED && !has_device(graph, bottleneck);
}

static int judge(struct search *search, struct bottleneck *bottleneck, bool sink)
{
	double idle = 0;
	int err = activity__of(search->activity, bottleneck->members.data, bottleneck->members.n,
			       &bottleneck->active, bottleneck->idle_for);

	if (err)
		return err;
	weigh(search->graph, bottleneck);
	for (int type = 0; type < SOURCE_TYPE_COUNT; type++)
		idle += bottleneck->idle_for[type];
	bottleneck->sleeps = idle > 0 && type_of_idle(bottleneck) == BOTTLENECK_SLEEP;
	if (!sink)
		bottleneck->type = BOTTLENECK_KNOT;
	else if (bottleneck->active < idle)
		bottleneck->type = type_of_idle(bottleneck);
	else if (bottleneck->runnable_ns > bottleneck->running_ns)
		bottleneck->type = BOTTLENECK_MORE_CPUS;
	else
		bottleneck->type = BOTTLENECK_WORK;
	bottleneck->background = is_background(search->graph, bottleneck);
	return 0;
}

/* Waits for work last: nothing can be gained there. */
static int take_edges(struct search *search, const struct knot *knot, struct bottleneck *bottleneck)
{
	for (int idle = 0; idle < 2; idle++) {
		for (size_t i = 0; i < knot->edges.n; i++) {
			uint32_t index = search->origins.data[knot->edges.data[i]];
			const struct waitgraph_edge *edge = &search->graph->edges.data[index];

			if (waitgraph_edge__is_idle(edge) == idle &&
			    array__push(&bottleneck->edges, index))
				return -ENOMEM;
		}
	}
	return 0;
}

/*
 * Whether the waits of a knot are short against what one of its members does by itself:
 * then that is the place to look at, as of a sink. *@worker is the member.
 */
static bool is_mostly_work(const struct search *search, const struct bottleneck *bottleneck,
			   uint32_t *worker)
{
	const struct waitgraph *graph = search->graph;
	uint64_t most_run = 0, most_waited = 0;

	for (size_t i = 0; i < bottleneck->members.n; i++) {
		uint32_t member = bottleneck->members.data[i];
		const struct waitgraph_vertex *vertex = &graph->vertices.data[member];

		if (vertex->type != CAUSE_THREAD || vertex->running_ns <= most_run)
			continue;
		most_run = vertex->running_ns;
		*worker = member;
	}
	for (size_t i = 0; i < bottleneck->edges.n; i++) {
		const struct waitgraph_edge *edge = &graph->edges.data[bottleneck->edges.data[i]];

		if (!waitgraph_edge__is_idle(edge) && edge->weight_ns > most_waited)
			most_waited = edge->weight_ns;
	}
	return most_waited < search->out->threshold_ns && most_waited < most_run / 2;
}

static int take_knot(struct search *search, const struct knot *knot)
{
	struct bottleneck *bottleneck = array__add(&search->out->all);
	int err = bottleneck ? 0 : -ENOMEM;
	uint32_t worker = 0;

	for (size_t i = 0; i < knot->members.n && !err; i++)
		err = array__push(&bottleneck->members, knot->members.data[i]);
	err = err ? err : take_edges(search, knot, bottleneck);
	err = err ? err : judge(search, bottleneck, knot->sink);
	if (err || knot->sink || bottleneck->background ||
	    !is_mostly_work(search, bottleneck, &worker))
		return err;
	bottleneck->type = bottleneck->runnable_ns > bottleneck->running_ns ? BOTTLENECK_MORE_CPUS
									    : BOTTLENECK_WORK;
	bottleneck->members.data[0] = worker;
	bottleneck->members.n = 1;
	return 0;
}

/* Vertices without an edge that counts are sinks, too, if they do anything. */
static int take_single(struct search *search, uint32_t vertex)
{
	const struct waitgraph_vertex *of = &search->graph->vertices.data[vertex];
	uint64_t busy = of->running_ns + of->runnable_ns;
	struct bottleneck *bottleneck;
	int err;

	if (search->has_edge[vertex] || search->set_aside[vertex] || !of->recorded ||
	    of->type != CAUSE_THREAD || busy < search->out->least_ns || !busy)
		return 0;
	bottleneck = array__add(&search->out->all);
	err = bottleneck ? array__push(&bottleneck->members, vertex) : -ENOMEM;
	return err ? err : judge(search, bottleneck, true);
}

/* What is not busy limits nobody: its members are taken out. False: there is none such. */
static bool set_aside(struct search *search, size_t from)
{
	bool found = false;

	for (size_t i = from; i < search->out->all.n; i++) {
		const struct bottleneck *at = &search->out->all.data[i];

		for (size_t k = 0; at->background && k < at->members.n; k++)
			search->set_aside[at->members.data[k]] = found = true;
	}
	return found;
}

/* Forgets those from @from on that are no background. */
static void forget_others(struct search *search, size_t from)
{
	struct bottlenecks *out = search->out;
	size_t kept = from;

	for (size_t i = from; i < out->all.n; i++) {
		if (out->all.data[i].background)
			out->all.data[kept++] = out->all.data[i];
		else
			bottleneck__free(&out->all.data[i]);
	}
	out->all.n = kept;
}

static int find_once(struct search *search)
{
	struct knots knots = {};
	int err = choose_edges(search);

	err = err ? err
		  : knots__find(search->edges.data, search->edges.n,
				(uint32_t)search->graph->vertices.n, search->out->threshold_ns,
				&knots);
	for (size_t i = 0; i < knots.all.n && !err; i++)
		err = take_knot(search, &knots.all.data[i]);
	knots__release(&knots);
	for (uint32_t v = 0; v < search->graph->vertices.n && !err; v++)
		err = take_single(search, v);
	return err;
}

/*
 * Background knots and sinks are kept, taken out of the graph, and the rest is
 * looked at again, until there is none (wPerf, section 3.3).
 */
static int find(struct search *search)
{
	int err = activity__new(search->graph, &search->activity);
	size_t from = 0;

	while (!err) {
		err = find_once(search);
		if (err || !set_aside(search, from))
			break;
		forget_others(search, from);
		from = search->out->all.n;
	}
	return err ? err : bottlenecks__choose(search->graph, search->out);
}

int bottlenecks__find(const struct waitgraph *graph, double threshold, struct bottlenecks *out)
{
	struct search search = {.graph = graph, .out = out};
	int err;

	out->threshold_ns = (uint64_t)((double)graph->duration_ns * threshold);
	out->least_ns = (uint64_t)((double)graph->duration_ns * LEAST_EDGE);
	search.has_edge = calloc(graph->vertices.n + 1, sizeof(*search.has_edge));
	search.set_aside = calloc(graph->vertices.n + 1, sizeof(*search.set_aside));
	err = search.has_edge && search.set_aside ? find(&search) : -ENOMEM;
	activity__free(search.activity);
	array__free(&search.edges);
	array__free(&search.origins);
	free(search.has_edge);
	free(search.set_aside);
	return err;
}

void bottlenecks__free(struct bottlenecks *bottlenecks)
{
	for (size_t i = 0; i < bottlenecks->all.n; i++)
		bottleneck__free(&bottlenecks->all.data[i]);
	array__free(&bottlenecks->all);
}
