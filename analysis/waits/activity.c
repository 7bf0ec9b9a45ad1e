// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/waits/activity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/grid.h"

#define POINTS 2000

struct activity {
	const struct waitgraph *graph;
	size_t *first;	 /* [node]: its first wait in waits; [nodes.n]: the end */
	uint32_t *waits; /* indices in the list, by node and begin */
	uint64_t points[POINTS];
	size_t n_points;
};

static const struct wait *wait_at(const struct activity *activity, size_t i)
{
	return &activity->graph->list.waits.data[activity->waits[i]];
}

static int wait_order(const void *a, const void *b, void *context)
{
	const struct activity *activity = context;
	const struct wait *waits = activity->graph->list.waits.data;
	uint64_t one = waits[*(const uint32_t *)a].begin, two = waits[*(const uint32_t *)b].begin;

	return (one > two) - (one < two);
}

static bool is_sorted(const struct activity *activity, size_t waiter)
{
	for (size_t i = activity->first[waiter] + 1; i < activity->first[waiter + 1]; i++)
		if (wait_at(activity, i - 1)->begin > wait_at(activity, i)->begin)
			return false;
	return true;
}

/* Sorts the waits by node and begin. Only spins are not in the order of time in the list. */
static void sort_waits(struct activity *activity)
{
	const struct waitlist *list = &activity->graph->list;

	for (size_t i = 0; i < list->waits.n; i++)
		activity->first[list->waits.data[i].waiter + 2]++;
	for (size_t w = 0; w < list->nodes.n; w++)
		activity->first[w + 2] += activity->first[w + 1];
	for (size_t i = 0; i < list->waits.n; i++)
		activity->waits[activity->first[list->waits.data[i].waiter + 1]++] = (uint32_t)i;
	for (size_t w = 0; w < list->nodes.n; w++)
		if (!is_sorted(activity, w))
			qsort_r(activity->waits + activity->first[w],
				activity->first[w + 1] - activity->first[w],
				sizeof(*activity->waits), wait_order, activity);
}

static void choose_points(struct activity *activity)
{
	const struct waitlist *list = &activity->graph->list;
	const struct model *model = list->model;
	uint32_t apart = (uint32_t)(model->period_ns << model->spacing);
	uint64_t step = activity->graph->list.until - activity->graph->list.from;

	step = step / POINTS + 1;
	for (size_t i = 0; i < POINTS; i++) {
		uint64_t at = list->from + i * step + step / 2;

		if (apart)
			at = sample_grid__next(at, apart, model->grid_seed);
		if (at < list->until)
			activity->points[activity->n_points++] = at;
	}
}

int activity__new(const struct waitgraph *graph, struct activity **out)
{
	_cleanup_(activity__freep) struct activity *activity = calloc(1, sizeof(*activity));

	if (!activity)
		return -ENOMEM;
	activity->graph = graph;
	activity->first = calloc(graph->list.nodes.n + 2, sizeof(*activity->first));
	activity->waits = calloc(graph->list.waits.n + 1, sizeof(*activity->waits));
	if (!activity->first || !activity->waits)
		return -ENOMEM;
	sort_waits(activity);
	choose_points(activity);
	*out = TAKE_PTR(activity);
	return 0;
}

void activity__free(struct activity *activity)
{
	if (!activity)
		return;
	free(activity->first);
	free(activity->waits);
	free(activity);
}

/* The wait of @waiter at @time, or NULL. */
static const struct wait *find_wait(const struct activity *activity, uint32_t waiter, uint64_t time)
{
	size_t begin = activity->first[waiter], low = begin, high = activity->first[waiter + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (wait_at(activity, middle)->begin <= time)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == begin || wait_at(activity, low - 1)->end <= time)
		return NULL;
	return wait_at(activity, low - 1);
}

/* Whether @node exists at @time, and is active when it is in no wait. */
static bool is_present(const struct activity *activity, uint32_t node, uint64_t time)
{
	const struct waitlist *list = &activity->graph->list;
	const struct wait_node *of = &list->nodes.data[node];

	if (of->type == CAUSE_DEVICE)
		return list->model->devices.data[of->id].seen <= time;
	if (of->type == CAUSE_TCP || of->type == CAUSE_QUEUE)
		return true;
	if (of->client)
		return of->since <= time && list->model->threads.data[of->client].ended > time;
	if (of->creator)
		return false; /* its threads are nodes themselves */
	if (!of->waits_known)
		return false; /* without a wait it is not known to be active */
	return of->type == CAUSE_THREAD && list->model->threads.data[of->id].created <= time &&
	       list->model->threads.data[of->id].ended > time;
}

/* Adds the point @time to @idle_for, or sets *@active. */
static void count_at_point(const struct activity *activity, const uint32_t *nodes, size_t n,
			   const bool *inside, uint64_t time, bool *active,
			   double idle_for[CAUSE_TYPE_COUNT])
{
	const struct waitgraph *graph = activity->graph;
	size_t counts[CAUSE_TYPE_COUNT] = {}, outside = 0;

	*active = false;
	for (size_t i = 0; i < n; i++) {
		const struct wait *wait = find_wait(activity, nodes[i], time);
		uint32_t source;

		if (!is_present(activity, nodes[i], time))
			continue;
		if (!wait) {
			*active = true;
			return;
		}
		source = graph->vertex_of[wait->waker];
		if (inside[source])
			continue;
		counts[graph->vertices.data[source].type]++;
		outside++;
	}
	for (int type = 0; outside && type < CAUSE_TYPE_COUNT; type++)
		idle_for[type] += (double)counts[type] / (double)outside;
}

int activity__of(struct activity *activity, const uint32_t *vertices, size_t n, double *active,
		 double idle_for[CAUSE_TYPE_COUNT])
{
	const struct waitgraph *graph = activity->graph;
	_cleanup_free_ bool *inside = calloc(graph->vertices.n + 1, sizeof(*inside));
	_cleanup_free_ uint32_t *nodes = calloc(graph->list.nodes.n, sizeof(*nodes));
	double points = activity->n_points ? (double)activity->n_points : 1;
	size_t n_nodes = 0, at_work = 0;

	if (!inside || !nodes)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		inside[vertices[i]] = true;
	for (uint32_t w = 1; w < graph->list.nodes.n; w++)
		if (inside[graph->vertex_of[w]])
			nodes[n_nodes++] = w;
	memset(idle_for, 0, CAUSE_TYPE_COUNT * sizeof(*idle_for));
	for (size_t i = 0; i < activity->n_points; i++) {
		bool works;

		count_at_point(activity, nodes, n_nodes, inside, activity->points[i], &works,
			       idle_for);
		at_work += works;
	}
	*active = (double)at_work / points;
	for (int type = 0; type < CAUSE_TYPE_COUNT; type++)
		idle_for[type] /= points;
	return 0;
}
