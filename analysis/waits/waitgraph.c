// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/waits/waitgraph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kinds/tcp_holds.h"
#include "analysis/stack_hashes.h"
#include "analysis/waits/sampled_cascade.h"
#include "analysis/waits/polling.h"

struct builder {
	struct waitgraph *graph;
	const struct model *model;
	struct wait_causes *causes;
	const struct idle_waits *idle;
	uint64_t *hashes;	  /* by stack, see stack_hashes__make() */
	uint32_t *edge_of;	  /* by wait */
	uint64_t *plain;	  /* by wait, ns; NULL: the wait's length */
	uint64_t *weights;	  /* by wait, ns, cascaded */
	struct map64 edges;	  /* from and to -> edge */
	struct map64 edge_causes; /* hash -> cause of an edge */
};

static int find_edges(struct builder *builder)
{
	struct waitgraph *graph = builder->graph;
	const struct waitlist *list = &graph->list;
	uint64_t last = 0;

	builder->edge_of = calloc(list->waits.n + 1, sizeof(*builder->edge_of));
	if (!builder->edge_of)
		return -ENOMEM;
	for (size_t i = 0; i < list->waits.n; i++) {
		struct waitgraph_edge fresh = {
			.from = graph->vertex_of[list->waits.data[i].waiter],
			.to = graph->vertex_of[list->waits.data[i].waker],
		};
		uint64_t key = (uint64_t)fresh.from << 32 | fresh.to, *edge;

		if (i && key == last) {
			builder->edge_of[i] = builder->edge_of[i - 1];
			continue;
		}
		last = key;
		edge = map64__put(&builder->edges, key, graph->edges.n);
		if (!edge || (*edge == graph->edges.n && array__push(&graph->edges, fresh)))
			return -ENOMEM;
		builder->edge_of[i] = (uint32_t)*edge;
	}
	return 0;
}

/* When every wait is known. */
static int weigh_exactly(struct builder *builder)
{
	struct waitgraph *graph = builder->graph;
	const struct waitlist *list = &graph->list;

	builder->weights = calloc(list->waits.n + 1, sizeof(*builder->weights));
	if (!builder->weights)
		return -ENOMEM;
	return cascade__weights(list->waits.data, list->waits.n, (uint32_t)list->nodes.n,
				builder->weights, &graph->stats);
}

static int weigh_by_points(struct builder *builder)
{
	struct waitgraph *graph = builder->graph;
	struct sampled_cascade cascade = {};
	int err =
		sampled_cascade__estimate(&graph->list, builder->edge_of, graph->edges.n, &cascade);

	for (size_t i = 0; i < graph->edges.n && !err; i++)
		graph->edges.data[i].error_ns = cascade.errors[i];
	graph->points = cascade.points;
	builder->plain = TAKE_PTR(cascade.plain);
	builder->weights = TAKE_PTR(cascade.weights);
	sampled_cascade__free(&cascade);
	return err;
}

/* The socket on which TCP held something back at @time, for which @interval waited; 0: none. */
static uint32_t held_object(const struct model_thread *thread,
			    const struct model_interval *interval, uint64_t time)
{
	struct model_hold holds[SEGMENT_HOLDS];
	size_t n = model_interval__holds(thread, interval, holds);

	for (size_t i = 0; i < n; i++)
		if (time >= holds[i].from && time < holds[i].until)
			return holds[i].object;
	return 0;
}

static void describe_blocked(const struct builder *builder, const struct wait_node *waiter,
			     uint32_t index, bool is_thread, struct waitgraph_cause *cause)
{
	const struct model_thread *thread = &builder->model->threads.data[waiter->id];
	const struct model_interval *interval = &thread->intervals.data[index];

	cause->class = interval->class;
	cause->kind = wait_causes__kind_beside_holds(builder->causes, interval);
	cause->object = interval->object;
	cause->kernel = interval->kernel;
	cause->user = interval->user;
	/* After an interrupt, the stacks are those of the interrupted thread. */
	if (interval->wake && is_thread) {
		cause->waker_kernel = thread->wakes.data[interval->wake - 1].kernel;
		cause->waker_user = thread->wakes.data[interval->wake - 1].user;
	}
	cause->idle = builder->idle && idle_waits__reason(builder->idle, waiter->id, index);
}

/* What TCP held back is no wait for work. */
static void describe_held(const struct builder *builder, uint32_t object,
			  struct waitgraph_cause *cause)
{
	const struct model_object *objects = builder->model->objects.data;

	cause->object = object;
	cause->kind = tcp_hold__kind((enum hold_reason)objects[object].hold);
	cause->idle = false;
}

/* A blocked thread, as @waiter; from @time on. @waker: what it waits for. */
static void describe_wait(const struct builder *builder, const struct wait_node *waiter,
			  const struct wait_node *waker, uint32_t index, uint64_t time,
			  struct waitgraph_cause *cause)
{
	const struct model_thread *thread = &builder->model->threads.data[waiter->id];
	const struct model_interval *interval = &thread->intervals.data[index];
	uint32_t held = held_object(thread, interval, time);

	describe_blocked(builder, waiter, index, waker->type == CAUSE_THREAD || waker->pid, cause);
	if (held)
		describe_held(builder, held, cause);
	else if (waker->type == CAUSE_TCP)
		describe_held(builder, model_interval__object(interval), cause);
}

static struct waitgraph_cause describe(const struct builder *builder, size_t wait)
{
	const struct waitlist *list = &builder->graph->list;
	const struct wait_source *source = &list->sources.data[wait];
	const struct wait_node *waiter = &list->nodes.data[list->waits.data[wait].waiter];
	const struct wait_node *waker = &list->nodes.data[list->waits.data[wait].waker];
	struct waitgraph_cause cause = {
		.origin = source->origin,
		.class = CLASS_OTHER,
		.edge = builder->edge_of[wait],
	};

	switch ((enum wait_origin)source->origin) {
	case WAIT_BLOCKED:
		describe_wait(builder, waiter, waker, source->index, list->waits.data[wait].begin,
			      &cause);
		break;
	case WAIT_SPIN:
		cause.class = CLASS_CPU;
		break;
	case WAIT_DEVICE_IDLE: {
		const struct model_device *device = &builder->model->devices.data[waiter->id];

		cause.idle = true;
		cause.waker_kernel = device->idles.data[source->index].kernel;
		cause.waker_user = device->idles.data[source->index].user;
		break;
	}
	case WAIT_TCP_IDLE:
	case WAIT_PEER_IDLE:
	case WAIT_NO_TASK:
		cause.idle = true;
		break;
	}
	return cause;
}

/* Distinguishes causes by functions, not by addresses or objects. */
static uint64_t cause_key(const struct builder *builder, const struct waitgraph_cause *cause)
{
	const uint64_t *hashes = builder->hashes;
	uint64_t hash = hash__add(cause->edge, cause->origin);

	hash = hash__add(hash, (uint64_t)cause->kind << 8 | cause->class);
	hash = hash__add(hash__add(hash, hashes[cause->kernel]), hashes[cause->user]);
	return hash__add(hash__add(hash, hashes[cause->waker_kernel]), hashes[cause->waker_user]);
}

static int add_cause(struct builder *builder, size_t wait)
{
	struct waitgraph *graph = builder->graph;
	const struct wait *of = &graph->list.waits.data[wait];
	struct waitgraph_cause fresh = describe(builder, wait), *cause;
	struct waitgraph_edge *edge = &graph->edges.data[fresh.edge];
	uint64_t *index =
		map64__put(&builder->edge_causes, cause_key(builder, &fresh), graph->causes.n);
	uint64_t length = builder->weights[wait] ? of->end - of->begin : 0; /* 0: overlapping */
	uint64_t plain = builder->plain ? builder->plain[wait] : length;
	/* Event loops of one vertex that wake each other work together: that is no wait for work.
	 */
	bool may_idle = edge->from != edge->to || fresh.kind != KIND_EPOLL;

	if (!index || (*index == graph->causes.n && array__push(&graph->causes, fresh)))
		return -ENOMEM;
	graph->cause_of[wait] = (uint32_t)*index;
	graph->weightless[wait] = !builder->weights[wait];
	cause = &graph->causes.data[*index];
	cause->count++;
	cause->plain_ns += plain;
	cause->weight_ns += builder->weights[wait];
	if (of->end - of->begin > cause->longest_ns) {
		cause->longest_ns = of->end - of->begin;
		cause->object = fresh.object;
	}
	edge->count++;
	edge->plain_ns += plain;
	edge->weight_ns += builder->weights[wait];
	edge->idle_ns += fresh.idle && may_idle ? plain : 0;
	return 0;
}

static int edge_order(const void *a, const void *b)
{
	const struct waitgraph_edge *one = a, *two = b;

	if (one->weight_ns != two->weight_ns)
		return one->weight_ns < two->weight_ns ? 1 : -1;
	if (one->from != two->from)
		return one->from < two->from ? -1 : 1;
	return (one->to > two->to) - (one->to < two->to);
}

/* qsort_r() order of indices of causes. */
static int cause_order(const void *a, const void *b, void *arg)
{
	const struct waitgraph_cause *causes = arg;
	const struct waitgraph_cause *one = &causes[*(const uint32_t *)a];
	const struct waitgraph_cause *two = &causes[*(const uint32_t *)b];

	if (one->edge != two->edge)
		return one->edge < two->edge ? -1 : 1;
	if (one->weight_ns != two->weight_ns)
		return one->weight_ns < two->weight_ns ? 1 : -1;
	return (one->longest_ns < two->longest_ns) - (one->longest_ns > two->longest_ns);
}

/* By edge, then by weight. */
static int sort_causes(struct waitgraph *graph)
{
	size_t n = graph->causes.n;
	_cleanup_free_ uint32_t *order = calloc(n + 1, sizeof(*order));
	_cleanup_free_ uint32_t *place = calloc(n + 1, sizeof(*place));
	_cleanup_free_ struct waitgraph_cause *sorted = calloc(n + 1, sizeof(*sorted));

	if (!order || !place || !sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), cause_order, graph->causes.data);
	for (uint32_t i = 0; i < n; i++) {
		place[order[i]] = i;
		sorted[i] = graph->causes.data[order[i]];
	}
	if (n)
		memcpy(graph->causes.data, sorted, n * sizeof(*sorted));
	for (size_t i = 0; i < graph->list.waits.n; i++)
		graph->cause_of[i] = place[graph->cause_of[i]];
	return 0;
}

/* Sorts edges by weight; causes by edge, then by weight. */
static int sort(struct builder *builder)
{
	struct waitgraph *graph = builder->graph;
	size_t n = graph->edges.n;
	_cleanup_free_ uint32_t *place = calloc(n + 1, sizeof(*place));
	int err;

	if (!place)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		graph->edges.data[i].cause = i;
	if (n)
		qsort(graph->edges.data, n, sizeof(struct waitgraph_edge), edge_order);
	for (uint32_t i = 0; i < n; i++)
		place[graph->edges.data[i].cause] = i;
	for (size_t i = 0; i < graph->causes.n; i++)
		graph->causes.data[i].edge = place[graph->causes.data[i].edge];
	err = sort_causes(graph);
	for (uint32_t i = (uint32_t)graph->causes.n; i--;) {
		struct waitgraph_edge *edge = &graph->edges.data[graph->causes.data[i].edge];

		edge->cause = i;
		edge->n_causes++;
	}
	return err;
}

/* A peer is at work while it is waited for: while it does not wait itself. */
static void set_peer_times(struct waitgraph *graph)
{
	for (size_t i = 0; i < graph->edges.n; i++) {
		struct waitgraph_vertex *from = &graph->vertices.data[graph->edges.data[i].from];

		if (from->inferred)
			from->blocked_ns += graph->edges.data[i].plain_ns;
	}
	for (size_t i = 0; i < graph->vertices.n; i++) {
		struct waitgraph_vertex *vertex = &graph->vertices.data[i];

		if (vertex->inferred && vertex->blocked_ns > vertex->lifetime_ns)
			vertex->blocked_ns = vertex->lifetime_ns; /* an estimate may exceed it */
		if (vertex->inferred)
			vertex->running_ns = vertex->lifetime_ns - vertex->blocked_ns;
	}
}

static int build(struct builder *builder, const struct waitgraph_options *options)
{
	struct waitgraph *graph = builder->graph;
	struct thread_similarity similarity = {};
	int err = waitlist__make(builder->model, builder->causes, &options->filter, &graph->list);
	err = err ? err : thread_similarity__find(&graph->strings, &options->merge, &similarity);
	err = err ? err : waitgraph__vertices(graph, &similarity);
	err = err ? err : polling__find(graph);
	thread_similarity__free(&similarity);
	err = err ? err : find_edges(builder);
	if (!err)
		err = graph->exact ? weigh_exactly(builder) : weigh_by_points(builder);
	graph->cause_of = calloc(graph->list.waits.n + 1, sizeof(*graph->cause_of));
	graph->weightless = calloc(graph->list.waits.n + 1, sizeof(*graph->weightless));
	if (!graph->cause_of || !graph->weightless)
		return -ENOMEM;
	for (size_t i = 0; i < graph->list.waits.n && !err; i++)
		err = add_cause(builder, i);
	set_peer_times(graph);
	return err ? err : sort(builder);
}

int waitgraph__make(const struct model *model, struct kinds *kinds,
		    const struct waitgraph_options *options, struct waitgraph *graph)
{
	struct builder builder = {.graph = graph, .model = model, .idle = options->filter.idle};
	int err;

	graph->strings.model = model;
	err = wait_causes__new(&graph->strings, kinds, &builder.causes);

	graph->model = model;
	graph->exact = graph->list.exact = model->trace && !options->sampled;
	builder.hashes = err ? NULL : stack_hashes__make(model);
	if (!err)
		err = builder.hashes ? build(&builder, options) : -ENOMEM;
	graph->duration_ns =
		graph->list.until > graph->list.from ? graph->list.until - graph->list.from : 0;
	wait_causes__free(builder.causes);
	map64__free(&builder.edges);
	map64__free(&builder.edge_causes);
	free(builder.hashes);
	free(builder.edge_of);
	free(builder.plain);
	free(builder.weights);
	return err;
}

void waitgraph__free(struct waitgraph *graph)
{
	array__free(&graph->vertices);
	array__free(&graph->edges);
	array__free(&graph->causes);
	waitlist__free(&graph->list);
	free(graph->vertex_of);
	free(graph->cause_of);
	free(graph->weightless);
	own_strings__free(&graph->strings);
	*graph = (struct waitgraph){};
}
