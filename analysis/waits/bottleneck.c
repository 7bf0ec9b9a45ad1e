// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/waits/bottleneck.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/waits/activity.h"
#include "analysis/waits/knots.h"
#include "analysis/waits/polling.h"
#include "base/hash.h"

/*
 * Edges whose plain weight is less than this fraction of the recording's length are ignored: no
 * more than that can be gained there, even if they close a cycle. (wPerf's analyzer applies 0.01
 * to the cascaded weight: then short waits inside of a condition variable form a knot when enough
 * threads wait behind them.)
 */
#define MIN_EDGE_FRACTION 0.03

/* A knot or sink whose active share is less is limited by something else than itself. */
#define BUSY_FRACTION 0.75

static const char *const names[] = {
	[BOTTLENECK_KNOT] = "knot",	 [BOTTLENECK_WORK] = "work",
	[BOTTLENECK_MORE_CPUS] = "cpus", [BOTTLENECK_OUTSIDE] = "outside",
	[BOTTLENECK_SLEEP] = "sleep",	 [BOTTLENECK_LIMIT] = "limit",
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

void bottleneck__free(struct bottleneck *bottleneck)
{
	array__free(&bottleneck->members);
	array__free(&bottleneck->edges);
}

struct search {
	const struct waitgraph *graph;
	struct bottlenecks *out;
	struct activity *activity;
	ARRAY(struct graph_edge) edges;
	ARRAY(uint32_t) graph_edges; /* by edge: its index in the graph */
	bool *has_edge;		     /* by vertex */
	bool *excluded;		     /* by vertex: a member of a background bottleneck */
};

static uint64_t edge_key(uint32_t from, uint32_t to)
{
	return (uint64_t)from << 32 | to;
}

static bool is_excluded(const struct search *search, const struct waitgraph_edge *edge)
{
	const struct waitgraph_vertex *vertices = search->graph->vertices.data;

	return waitgraph_vertex__outside(&vertices[edge->from]) ||
	       waitgraph_vertex__outside(&vertices[edge->to]) || search->excluded[edge->from] ||
	       search->excluded[edge->to];
}

static int choose_edge(struct search *search, uint32_t index, uint64_t weight)
{
	const struct waitgraph_edge *edge = &search->graph->edges.data[index];
	struct graph_edge chosen = {edge->from, edge->to, weight};

	search->has_edge[edge->from] = search->has_edge[edge->to] = true;
	return array__push(&search->edges, chosen) ?: array__push(&search->graph_edges, index);
}

/*
 * A peer that was not recorded waits for a thread as far as that waits for the peer: it is in the
 * search if the thread's wait is, and leaves it right before. Else a thread that seldom asks a peer
 * would be what the peer mostly waits for.
 */
static int choose_edges_of_peers(struct search *search, const struct map64 *chosen)
{
	const struct waitgraph *graph = search->graph;
	int err = 0;

	for (uint32_t i = 0; i < graph->edges.n && !err; i++) {
		const struct waitgraph_edge *edge = &graph->edges.data[i];
		const uint64_t *weight = map64__get(chosen, edge_key(edge->to, edge->from));

		if (graph->vertices.data[edge->from].inferred && weight)
			err = choose_edge(search, i, *weight ? *weight - 1 : 0);
	}
	return err;
}

/* Chooses the edges that count: of sufficient length, between recorded vertices and peers. */
static int choose_edges(struct search *search)
{
	const struct waitgraph *graph = search->graph;
	struct map64 chosen = {};
	int err = 0;

	search->edges.n = search->graph_edges.n = 0;
	memset(search->has_edge, 0, graph->vertices.n * sizeof(*search->has_edge));
	for (uint32_t i = 0; i < graph->edges.n && !err; i++) {
		const struct waitgraph_edge *edge = &graph->edges.data[i];

		if (edge->plain_ns < search->out->min_edge_ns || is_excluded(search, edge) ||
		    graph->vertices.data[edge->from].inferred)
			continue;
		err = choose_edge(search, i, edge->weight_ns);
		if (!err && !map64__put(&chosen, edge_key(edge->from, edge->to), edge->weight_ns))
			err = -ENOMEM;
	}
	err = err ? err : choose_edges_of_peers(search, &chosen);
	map64__free(&chosen);
	return err;
}

/* Sets impact_ns, running_ns and runnable_ns. */
static void add_times(const struct waitgraph *graph, struct bottleneck *bottleneck)
{
	for (size_t i = 0; i < bottleneck->members.n; i++) {
		const struct waitgraph_vertex *vertex =
			&graph->vertices.data[bottleneck->members.data[i]];

		bottleneck->impact_ns += vertex->running_ns;
		if (vertex->type != CAUSE_THREAD)
			continue;
		bottleneck->impact_ns += vertex->runnable_ns;
		bottleneck->running_ns += vertex->running_ns;
		bottleneck->runnable_ns += vertex->runnable_ns;
	}
	for (size_t i = 0; i < graph->edges.n; i++)
		if (bottleneck__has(bottleneck, graph->edges.data[i].to))
			bottleneck->impact_ns += graph->edges.data[i].weight_ns;
}

static bool has_device(const struct waitgraph *graph, const struct bottleneck *bottleneck)
{
	for (size_t i = 0; i < bottleneck->members.n; i++) {
		enum cause_type type = graph->vertices.data[bottleneck->members.data[i]].type;

		if (type == CAUSE_DEVICE || type == CAUSE_TCP || type == CAUSE_QUEUE)
			return true;
	}
	return false;
}

static bool has_peer(const struct waitgraph *graph, const struct bottleneck *bottleneck)
{
	for (size_t i = 0; i < bottleneck->members.n; i++)
		if (graph->vertices.data[bottleneck->members.data[i]].inferred)
			return true;
	return false;
}

/* The type of a sink by what its members waited for while none was active. */
static enum bottleneck_type type_when_idle(const struct bottleneck *bottleneck)
{
	const double *idle = bottleneck->idle_for;
	double outside = idle[CAUSE_THREAD] + idle[CAUSE_PEER] + idle[CAUSE_UNKNOWN] +
			 idle[CAUSE_UNFINISHED] + idle[CAUSE_INTERRUPT];

	if (idle[CAUSE_LIMIT] >= outside && idle[CAUSE_LIMIT] > idle[CAUSE_TIMER])
		return BOTTLENECK_LIMIT;
	return outside > idle[CAUSE_TIMER] ? BOTTLENECK_OUTSIDE : BOTTLENECK_SLEEP;
}

/* Whether the threads of a knot work for longer than they wait for its peers. */
static bool work_exceeds_peers(const struct waitgraph *graph, const struct bottleneck *bottleneck)
{
	uint64_t waited = 0;

	for (size_t i = 0; i < graph->edges.n; i++) {
		const struct waitgraph_edge *edge = &graph->edges.data[i];

		if (graph->vertices.data[edge->to].inferred &&
		    bottleneck__has(bottleneck, edge->from) &&
		    bottleneck__has(bottleneck, edge->to))
			waited += edge->plain_ns - edge->idle_ns;
	}
	return bottleneck->running_ns + bottleneck->runnable_ns > waited;
}

/*
 * In wPerf, a knot without devices is in the background if its threads use less than one CPU. That
 * would include threads that take turns and wake up slowly. What is not allowed to run is not idle.
 */
static bool is_background(const struct waitgraph *graph, const struct bottleneck *bottleneck)
{
	return bottleneck->polls ||
	       (bottleneck->has_peer && work_exceeds_peers(graph, bottleneck)) ||
	       (bottleneck->active + bottleneck->idle_for[CAUSE_LIMIT] < BUSY_FRACTION &&
		!has_device(graph, bottleneck));
}

/* Whether all members are threads that poll. */
static bool is_polling(const struct waitgraph *graph, const struct bottleneck *bottleneck)
{
	for (size_t i = 0; i < bottleneck->members.n; i++)
		if (!waitgraph_vertex__polls(&graph->vertices.data[bottleneck->members.data[i]]))
			return false;
	return bottleneck->members.n;
}

int bottleneck__classify(const struct waitgraph *graph, struct activity *activity, bool sink,
			 struct bottleneck *bottleneck)
{
	double idle = 0;
	int err = activity__of(activity, bottleneck->members.data, bottleneck->members.n,
			       &bottleneck->active, bottleneck->idle_for);

	if (err)
		return err;
	add_times(graph, bottleneck);
	for (int type = 0; type < CAUSE_TYPE_COUNT; type++)
		idle += bottleneck->idle_for[type];
	bottleneck->sleeps = idle > 0 && type_when_idle(bottleneck) == BOTTLENECK_SLEEP;
	if (!sink)
		bottleneck->type = BOTTLENECK_KNOT;
	else if (bottleneck->active < idle)
		bottleneck->type = type_when_idle(bottleneck);
	else if (bottleneck->runnable_ns > bottleneck->running_ns)
		bottleneck->type = BOTTLENECK_MORE_CPUS;
	else
		bottleneck->type = BOTTLENECK_WORK;
	bottleneck->polls = sink && is_polling(graph, bottleneck);
	bottleneck->has_peer = has_peer(graph, bottleneck);
	bottleneck->background = is_background(graph, bottleneck);
	return 0;
}

/* Adds the edges of @knot, waits for work last: nothing can be gained there. */
static int take_edges(struct search *search, const struct knot *knot, struct bottleneck *bottleneck)
{
	for (int idle = 0; idle < 2; idle++) {
		for (size_t i = 0; i < knot->edges.n; i++) {
			uint32_t index = search->graph_edges.data[knot->edges.data[i]];
			const struct waitgraph_edge *edge = &search->graph->edges.data[index];

			if (waitgraph_edge__is_idle(edge) == idle &&
			    array__push(&bottleneck->edges, index))
				return -ENOMEM;
		}
	}
	return 0;
}

/*
 * Whether the waits of a knot are short compared with the running time of one of its members,
 * *@worker: then that member is the bottleneck, like a sink.
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

static int add_knot(struct search *search, const struct knot *knot)
{
	struct bottleneck *bottleneck = array__add(&search->out->all);
	int err = bottleneck ? 0 : -ENOMEM;
	uint32_t worker = 0;

	for (size_t i = 0; i < knot->members.n && !err; i++)
		err = array__push(&bottleneck->members, knot->members.data[i]);
	err = err ? err : take_edges(search, knot, bottleneck);
	err = err ? err
		  : bottleneck__classify(search->graph, search->activity, knot->sink, bottleneck);
	if (err || knot->sink || bottleneck->background ||
	    !is_mostly_work(search, bottleneck, &worker) ||
	    waitgraph_vertex__polls(&search->graph->vertices.data[worker]))
		return err;
	/* From here on it is that of the worker alone. */
	bottleneck->running_ns = search->graph->vertices.data[worker].running_ns;
	bottleneck->runnable_ns = search->graph->vertices.data[worker].runnable_ns;
	bottleneck->type = bottleneck->runnable_ns > bottleneck->running_ns ? BOTTLENECK_MORE_CPUS
									    : BOTTLENECK_WORK;
	bottleneck->members.data[0] = worker;
	bottleneck->members.n = 1;
	bottleneck->has_peer = false;
	return activity__of(search->activity, &worker, 1, &bottleneck->active,
			    bottleneck->idle_for);
}

/* Adds @vertex, as a sink, if it has no edge that counts and is on a CPU or runnable for long. */
static int add_edgeless(struct search *search, uint32_t vertex)
{
	const struct waitgraph_vertex *of = &search->graph->vertices.data[vertex];
	uint64_t busy = of->running_ns + of->runnable_ns;
	struct bottleneck *bottleneck;
	int err;

	if (search->has_edge[vertex] || search->excluded[vertex] || !of->recorded ||
	    of->type != CAUSE_THREAD || busy < search->out->min_edge_ns || !busy)
		return 0;
	bottleneck = array__add(&search->out->all);
	err = bottleneck ? array__push(&bottleneck->members, vertex) : -ENOMEM;
	return err ? err : bottleneck__classify(search->graph, search->activity, true, bottleneck);
}

/*
 * Excludes the members of background bottlenecks from number @from on. Of one with a peer only
 * that: without it, its threads may be a bottleneck. False: there are none.
 */
static bool exclude_background(struct search *search, size_t from)
{
	const struct waitgraph *graph = search->graph;
	bool found = false;

	for (size_t i = from; i < search->out->all.n; i++) {
		const struct bottleneck *at = &search->out->all.data[i];

		for (size_t k = 0; at->background && k < at->members.n; k++)
			if (!at->has_peer || graph->vertices.data[at->members.data[k]].inferred)
				search->excluded[at->members.data[k]] = found = true;
	}
	return found;
}

/* Drops the bottlenecks from number @from on that are not in the background, or have peers. */
static void keep_background(struct search *search, size_t from)
{
	struct bottlenecks *out = search->out;
	size_t kept = from;

	for (size_t i = from; i < out->all.n; i++) {
		if (out->all.data[i].background && !out->all.data[i].has_peer)
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
		err = add_knot(search, &knots.all.data[i]);
	knots__release(&knots);
	for (uint32_t v = 0; v < search->graph->vertices.n && !err; v++)
		err = add_edgeless(search, v);
	return err;
}

/*
 * Removes background knots and sinks from the graph and searches again, until there are none
 * (wPerf, section 3.3).
 */
static int find(struct search *search)
{
	int err = activity__new(search->graph, &search->activity);
	size_t from = 0;

	while (!err) {
		err = find_once(search);
		if (err || !exclude_background(search, from))
			break;
		keep_background(search, from);
		from = search->out->all.n;
	}
	return err ? err : bottlenecks__choose(search->graph, search->activity, search->out);
}

int bottlenecks__find(const struct waitgraph *graph, double threshold, struct bottlenecks *out)
{
	struct search search = {.graph = graph, .out = out};
	int err;

	out->threshold_ns = (uint64_t)((double)graph->duration_ns * threshold);
	out->min_edge_ns = (uint64_t)((double)graph->duration_ns * MIN_EDGE_FRACTION);
	search.has_edge = calloc(graph->vertices.n + 1, sizeof(*search.has_edge));
	search.excluded = calloc(graph->vertices.n + 1, sizeof(*search.excluded));
	err = search.has_edge && search.excluded ? find(&search) : -ENOMEM;
	activity__free(search.activity);
	array__free(&search.edges);
	array__free(&search.graph_edges);
	free(search.has_edge);
	free(search.excluded);
	return err;
}

void bottlenecks__free(struct bottlenecks *bottlenecks)
{
	for (size_t i = 0; i < bottlenecks->all.n; i++)
		bottleneck__free(&bottlenecks->all.data[i]);
	array__free(&bottlenecks->all);
	free(bottlenecks->relations);
}
