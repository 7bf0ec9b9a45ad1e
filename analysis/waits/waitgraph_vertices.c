// SPDX-License-Identifier: BSD-2-Clause
/* The vertices of a wait-for graph: groups of threads, devices, and others. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/waits/waitgraph.h"

/*
 * The part of [@from, @from + @ns) that lies in the window, in ns. In sampling mode, the same
 * part of the @sampled time that the interval represents.
 */
static uint64_t time_in_window(const struct waitgraph *graph, uint64_t from, uint64_t ns,
			       uint64_t sampled)
{
	const struct waitlist *list = &graph->list;
	uint64_t begin = from > list->from ? from : list->from;
	uint64_t end = from + ns < list->until ? from + ns : list->until;

	if (begin >= end)
		return 0;
	if (graph->exact)
		return end - begin;
	return end - begin == ns ? sampled
				 : (uint64_t)((double)sampled * (double)(end - begin) / (double)ns);
}

/* Adds the estimated times of @thread in the window. */
static void estimate_times(const struct waitgraph *graph, const struct model_thread *thread,
			   struct waitgraph_vertex *vertex)
{
	const struct waitlist *list = &graph->list;
	const struct model *model = graph->model;
	uint64_t running = 0, runnable = 0, blocked = 0;

	for (size_t i = 0; i < thread->samples.n; i++) {
		const struct model_sample *at = &thread->samples.data[i];

		if (at->time >= list->from && at->time < list->until)
			running += model_thread__time(model, thread, CLASS_CPU, at->weight);
	}
	for (size_t i = 0; i < thread->intervals.n; i++) {
		const struct model_interval *at = &thread->intervals.data[i];

		runnable += time_in_window(
			graph, at->t_out + at->blocked_ns, at->runq_ns,
			model_thread__time(model, thread, CLASS_SCHED, at->runq_points));
		blocked += time_in_window(
			graph, at->t_out, at->blocked_ns,
			model_thread__time(model, thread, at->class, at->blocked_points));
	}
	vertex->running_ns += running;
	vertex->runnable_ns += runnable;
	vertex->blocked_ns += blocked;
}

static void add_times(const struct waitgraph *graph, const struct model_thread *thread,
		      struct waitgraph_vertex *vertex)
{
	const struct waitlist *list = &graph->list;
	uint64_t from = thread->created > list->from ? thread->created : list->from;
	uint64_t until = thread->ended < list->until ? thread->ended : list->until;

	vertex->lifetime_ns += until > from ? until - from : 0;
	if (list->from > graph->model->start || list->until < graph->model->end ||
	    !thread->has_totals) {
		estimate_times(graph, thread, vertex);
		return;
	}
	vertex->running_ns += thread->ns[CLASS_CPU];
	vertex->stolen_ns += thread->stolen_ns;
	vertex->unseen_ns += thread->unseen_ns;
	vertex->runnable_ns += thread->ns[CLASS_SCHED];
	vertex->blocked_ns += thread->ns[CLASS_IO] + thread->ns[CLASS_LOCK] +
			      thread->ns[CLASS_OTHER] + thread->ns[CLASS_STOPPED];
}

/* The sampling errors of the times of a vertex. */
struct vertex_errors {
	struct sampling_error running;
	struct sampling_error runnable;
	struct sampling_error blocked;
};

static void add_errors(struct vertex_errors *errors, const struct model *model,
		       const struct model_thread *thread)
{
	if (!thread->has_totals)
		return;
	sampling_error__add(&errors->running, model, thread, CLASS_CPU);
	if (model->trace)
		return;
	sampling_error__add(&errors->runnable, model, thread, CLASS_SCHED);
	sampling_error__add(&errors->blocked, model, thread, CLASS_IO);
	sampling_error__add(&errors->blocked, model, thread, CLASS_LOCK);
	sampling_error__add(&errors->blocked, model, thread, CLASS_OTHER);
	sampling_error__add(&errors->blocked, model, thread, CLASS_STOPPED);
}

/* Marks times of @graph's first @n vertices, which are threads. */
static void compare_times(struct waitgraph *graph, const struct vertex_errors *errors, size_t n)
{
	const struct model *model = graph->model;

	for (size_t i = 0; i < n; i++) {
		struct waitgraph_vertex *vertex = &graph->vertices.data[i];

		vertex->running_differs = sampling_error__is_exceeded(&errors[i].running, model);
		vertex->runnable_differs = sampling_error__is_exceeded(&errors[i].runnable, model);
		vertex->blocked_differs = sampling_error__is_exceeded(&errors[i].blocked, model);
	}
}

static int add_groups(struct waitgraph *graph, const struct thread_similarity *similarity)
{
	_cleanup_free_ struct vertex_errors *errors =
		calloc(similarity->groups.n + 1, sizeof(*errors));
	const struct model *model = graph->model;
	int err = errors ? 0 : -ENOMEM;

	for (size_t g = 1; g < similarity->groups.n && !err; g++) {
		const struct thread_group *group = &similarity->groups.data[g];

		err = array__push(
			&graph->vertices,
			((struct waitgraph_vertex){
				.type = CAUSE_THREAD,
				.merged = group->merged,
				.name = group->name,
				.id = group->leader,
				.n = group->n,
				.kernel = model->threads.data[group->leader].flags & THREAD_KERNEL,
			}));
	}
	for (uint32_t i = 1; i < model->threads.n && !err; i++) {
		const struct model_thread *thread = &model->threads.data[i];
		uint32_t at = similarity->group_of[i] - 1;

		graph->vertex_of[i] = at;
		if (!graph->list.nodes.data[i].waits_known)
			continue;
		graph->vertices.data[at].recorded = true;
		add_times(graph, thread, &graph->vertices.data[at]);
		add_errors(&errors[at], model, thread);
	}
	if (!err)
		compare_times(graph, errors, graph->vertices.n);
	return err;
}

/*
 * The idle time of @device in the window: its exact total for the whole recording, else the sum
 * of the recorded idle times.
 */
static uint64_t idle_time(const struct waitgraph *graph, const struct model_device *device)
{
	uint64_t idle = 0;

	if (graph->list.from <= graph->model->start && graph->list.until >= graph->model->end)
		return device->idle_ns;
	for (size_t i = 0; i < device->idles.n; i++) {
		const struct model_idle *at = &device->idles.data[i];

		idle += time_in_window(graph, at->since, at->ns,
				       at->points * graph->model->period_ns);
	}
	return idle;
}

static struct waitgraph_vertex device_vertex(const struct waitgraph *graph, uint32_t id)
{
	const struct model_device *device = &graph->model->devices.data[id];
	uint64_t from = device->seen > graph->list.from ? device->seen : graph->list.from;
	struct waitgraph_vertex vertex = {
		.type = CAUSE_DEVICE,
		.name = device->name,
		.id = id,
		.n = 1,
		.recorded = true,
		.lifetime_ns = graph->list.until > from ? graph->list.until - from : 0,
		.blocked_ns = idle_time(graph, device),
	};

	if (vertex.blocked_ns < vertex.lifetime_ns)
		vertex.running_ns = vertex.lifetime_ns - vertex.blocked_ns;
	return vertex;
}

/* TCP or the queue of a network device, which is node @node: busy while a thread waits for it. */
static struct waitgraph_vertex tcp_vertex(const struct waitgraph *graph, uint32_t node)
{
	const struct waitlist *list = &graph->list;
	struct waitgraph_vertex vertex = {
		.type = list->nodes.data[node].type,
		.name = list->nodes.data[node].id,
		.n = 1,
		.recorded = true,
		.lifetime_ns = list->until - list->from,
	};

	for (size_t i = 0; i < list->waits.n; i++)
		if (list->waits.data[i].waiter == node)
			vertex.blocked_ns += list->waits.data[i].end - list->waits.data[i].begin;
	vertex.running_ns = vertex.lifetime_ns - vertex.blocked_ns;
	return vertex;
}

/* Adds what a peer, @vertex, does for one of its clients, as @part. */
static void add_part(const struct waitgraph *graph, const struct wait_node *part,
		     struct waitgraph_vertex *vertex)
{
	uint64_t ended = graph->model->threads.data[part->client].ended;
	uint64_t until = ended < graph->list.until ? ended : graph->list.until;

	vertex->lifetime_ns += until > part->since ? until - part->since : 0;
}

/* Adds devices, peers, timers: the nodes up to @end that are no threads, and the unknown one. */
static int add_others(struct waitgraph *graph, size_t end)
{
	const struct model *model = graph->model;
	const struct waitlist *list = &graph->list;
	int err = 0;

	for (size_t i = model->threads.n; i < end && !err; i++) {
		const struct wait_node *waiter = &list->nodes.data[i];
		struct waitgraph_vertex vertex = {
			.type = waiter->type,
			.n = 1,
			.inferred = waiter->divided,
			.pid = waiter->pid,
		};

		if (waiter->client) {
			graph->vertex_of[i] = graph->vertex_of[waiter->whole];
			add_part(graph, waiter, &graph->vertices.data[graph->vertex_of[i]]);
			continue;
		}
		if (waiter->type == CAUSE_DEVICE)
			vertex = device_vertex(graph, waiter->id);
		else if (waiter->type == CAUSE_PEER || waiter->type == CAUSE_LIMIT)
			vertex.name = waiter->id;
		else if (waiter->type == CAUSE_TCP || waiter->type == CAUSE_QUEUE)
			vertex = tcp_vertex(graph, (uint32_t)i);
		else
			vertex.name = own_strings__add(&graph->strings,
						       waiter->type == CAUSE_UNFINISHED
							       ? "no wakeup yet"
							       : cause_type__name(waiter->type));
		graph->vertex_of[i] = (uint32_t)graph->vertices.n;
		err = array__push(&graph->vertices, vertex);
	}
	graph->vertex_of[0] = (uint32_t)graph->vertices.n;
	return err ? err
		   : array__push(&graph->vertices,
				 ((struct waitgraph_vertex){
					 .type = CAUSE_UNKNOWN,
					 .n = 1,
					 .name = own_strings__add(&graph->strings,
								  cause_type__name(CAUSE_UNKNOWN)),
				 }));
}

static int life_order(const void *a, const void *b)
{
	const struct model_thread *one = *(const struct model_thread *const *)a;
	const struct model_thread *two = *(const struct model_thread *const *)b;

	return (one->created > two->created) - (one->created < two->created);
}

/*
 * Adds a node for merged short-lived threads, with a wait for the creator's next task whenever
 * none of them exists (wPerf, section 3.3).
 */
static int add_no_tasks(struct waitgraph *graph, const struct thread_similarity *similarity,
			uint32_t g)
{
	const struct thread_group *group = &similarity->groups.data[g];
	const struct model *model = graph->model;
	_cleanup_free_ const struct model_thread **lives = calloc(group->n, sizeof(*lives));
	uint32_t waiter = waitlist__add_short_lived(&graph->list, group->creator);
	uint64_t ended = MODEL_FOREVER;
	size_t n = 0;
	int err = 0;

	if (!lives || waiter == NO_NODE)
		return -ENOMEM;
	for (uint32_t i = group->leader; i < model->threads.n && n < group->n; i++)
		if (similarity->group_of[i] == g && graph->list.nodes.data[i].waits_known)
			lives[n++] = &model->threads.data[i];
	qsort(lives, n, sizeof(const struct model_thread *), life_order);
	for (size_t i = 0; i < n && !err; i++) {
		if (lives[i]->created > ended)
			err = waitlist__add_no_task(&graph->list, waiter, ended, lives[i]->created);
		if (ended == MODEL_FOREVER || lives[i]->ended > ended)
			ended = lives[i]->ended;
	}
	return err;
}

static int add_virtual(struct waitgraph *graph, const struct thread_similarity *similarity)
{
	int err = 0;

	for (uint32_t g = 1; g < similarity->groups.n && !err; g++)
		if (similarity->groups.data[g].merged == MERGED_SHORT_LIVED)
			err = add_no_tasks(graph, similarity, g);
	return err;
}

/* Appends the tid to names that several vertices have: "mysqld/4711". */
static int tell_apart(struct waitgraph *graph)
{
	struct map64 names = {};
	int err = 0;

	for (size_t v = 0; v < graph->vertices.n && !err; v++) {
		uint64_t *count = map64__put(&names, graph->vertices.data[v].name, 0);

		err = count ? (++*count, 0) : -ENOMEM;
	}
	for (size_t v = 0; v < graph->vertices.n && !err; v++) {
		struct waitgraph_vertex *vertex = &graph->vertices.data[v];
		char text[128];

		if (vertex->type != CAUSE_THREAD || *map64__get(&names, vertex->name) < 2)
			continue;
		snprintf(text, sizeof(text), "%s/%" PRIu32,
			 own_strings__text(&graph->strings, vertex->name),
			 graph->model->threads.data[vertex->id].tid);
		vertex->name = own_strings__add(&graph->strings, text);
	}
	map64__free(&names);
	return err;
}

int waitgraph__vertices(struct waitgraph *graph, const struct thread_similarity *similarity)
{
	size_t others = graph->list.nodes.n;
	int err = add_virtual(graph, similarity);

	graph->vertex_of = calloc(graph->list.nodes.n + 1, sizeof(*graph->vertex_of));
	if (!graph->vertex_of)
		return -ENOMEM;
	err = err ? err : add_groups(graph, similarity);
	err = err ? err : add_others(graph, others);
	for (uint32_t g = 1, at = (uint32_t)others; g < similarity->groups.n && !err; g++)
		if (similarity->groups.data[g].merged == MERGED_SHORT_LIVED)
			graph->vertex_of[at++] = g - 1;
	return err ? err : tell_apart(graph);
}
