// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/waits/verdict.h"

#include <stdlib.h>

#include "base/hash.h"

/* Shares of the window below this are not worth a word. */
#define NOTEWORTHY 0.05

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

struct machine_use verdict__machine(const struct waitgraph *graph,
				    const struct bottlenecks *bottlenecks)
{
	uint64_t busy = model__meta_number(graph->model, "machine_busy_ns", 0);
	uint64_t idle = model__meta_number(graph->model, "machine_idle_ns", 0);
	uint64_t running = 0, runnable = 0, recorded = 0;
	struct machine_use use = {.busy = -1};

	for (size_t i = 0; i < graph->vertices.n; i++) {
		const struct waitgraph_vertex *vertex = &graph->vertices.data[i];

		if (vertex->type != CAUSE_THREAD)
			continue;
		recorded += vertex->running_ns;
		if (bottlenecks->relations[i] != RELATION_ASKED_FOR)
			continue;
		running += vertex->running_ns;
		runnable += vertex->runnable_ns;
	}
	/* It is that of the whole recording, not of a window. */
	if (!busy || graph->duration_ns < graph->model->end - graph->model->start)
		return use;
	use.busy = share(busy, busy + idle);
	use.recorded = share(recorded, busy + idle);
	if (use.recorded > use.busy)
		use.recorded = use.busy;
	use.full = 1 - use.busy < VERDICT_FULL_IDLE &&
		   share(runnable, running + runnable) >= VERDICT_LITTLE &&
		   share(runnable, graph->duration_ns) >= VERDICT_LITTLE;
	return use;
}

static uint64_t not_idle_ns(const struct waitgraph_edge *edge)
{
	return edge->plain_ns - edge->idle_ns;
}

struct verdict verdict__of(const struct waitgraph *graph, const struct bottleneck *bottleneck)
{
	struct verdict verdict = {};

	for (size_t i = 0; i < bottleneck->members.n; i++) {
		const struct waitgraph_vertex *vertex =
			&graph->vertices.data[bottleneck->members.data[i]];

		if (vertex->type == CAUSE_THREAD)
			verdict.lifetime_ns += vertex->lifetime_ns;
	}
	for (size_t i = 0; i < graph->edges.n; i++) {
		const struct waitgraph_edge *edge = &graph->edges.data[i];

		if (bottleneck__has(bottleneck, edge->to) &&
		    !bottleneck__has(bottleneck, edge->from) && !waitgraph_edge__is_idle(edge) &&
		    (!verdict.awaited || edge->plain_ns > verdict.awaited->plain_ns))
			verdict.awaited = edge;
		if (!bottleneck__has(bottleneck, edge->from) ||
		    graph->vertices.data[edge->from].type != CAUSE_THREAD)
			continue;
		if (bottleneck__has(bottleneck, edge->to)) {
			verdict.work_ns += edge->idle_ns;
			verdict.inside_ns += edge->plain_ns;
			continue;
		}
		/* A kernel worker waits for its next work, from anybody. */
		if (graph->vertices.data[edge->from].kernel) {
			verdict.kernel_ns += edge->plain_ns;
			continue;
		}
		verdict.work_ns += edge->idle_ns;
		verdict.outside_ns += edge->plain_ns;
		if (graph->vertices.data[edge->to].type == CAUSE_LIMIT) {
			verdict.stopped_ns += edge->plain_ns;
			if (!verdict.limit || edge->plain_ns > verdict.limit->plain_ns)
				verdict.limit = edge;
		}
		if (!verdict.other || edge->plain_ns > verdict.other->plain_ns)
			verdict.other = edge;
	}
	return verdict;
}

/* The name of the innermost function of @sample in user mode, or which called the kernel; 0: none.
 */
static uint32_t function_of(const struct model *model, const struct model_sample *sample)
{
	const struct model_stack *stack = &model->stacks.data[sample->user];

	if (!sample->user || !stack->depth)
		return 0;
	return model->frames.data[model__location(model, stack, 0)->frame].name;
}

/* Adds the samples of @thread to @weights, by function. Returns their weight. */
static uint64_t add_samples(const struct waitgraph *graph, const struct model_thread *thread,
			    struct map64 *weights, struct verdict_code *most, uint64_t *most_weight)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < thread->samples.n; i++) {
		const struct model_sample *sample = &thread->samples.data[i];
		uint32_t name = function_of(graph->model, sample);
		uint64_t *weight;

		if (sample->time < graph->list.from || sample->time >= graph->list.until)
			continue;
		sum += sample->weight;
		weight = name ? map64__put(weights, name, 0) : NULL;
		if (!weight)
			continue;
		*weight += sample->weight;
		if (*weight > *most_weight) {
			*most_weight = *weight;
			most->name = name;
		}
	}
	return sum;
}

struct verdict_code verdict__code(const struct waitgraph *graph,
				  const struct bottleneck *bottleneck)
{
	_cleanup_free_ bool *is_member = calloc(graph->vertices.n + 1, sizeof(*is_member));
	struct verdict_code most = {};
	uint64_t all = 0, most_weight = 0;
	struct map64 weights = {};

	for (size_t i = 0; is_member && i < bottleneck->members.n; i++)
		is_member[bottleneck->members.data[i]] = true;
	for (size_t i = 1; is_member && i < graph->model->threads.n; i++)
		if (is_member[graph->vertex_of[i]])
			all += add_samples(graph, &graph->model->threads.data[i], &weights, &most,
					   &most_weight);
	most.share = share(most_weight, all);
	map64__free(&weights);
	return most;
}

struct no_verdict verdict__none(const struct waitgraph *graph,
				const struct bottlenecks *bottlenecks)
{
	struct no_verdict none = {};
	double other = 0;

	for (size_t i = 0; i < graph->vertices.n; i++) {
		const struct waitgraph_vertex *vertex = &graph->vertices.data[i];
		double busy = share(vertex->running_ns + vertex->runnable_ns, graph->duration_ns);

		if (bottlenecks->relations[i] == RELATION_ASKED_FOR && busy > none.busy)
			none.busy = busy;
	}
	for (size_t i = 0; i < graph->edges.n; i++) {
		const struct waitgraph_edge *edge = &graph->edges.data[i];
		double part = share(not_idle_ns(edge), graph->duration_ns);

		if (bottlenecks->relations[edge->to] == RELATION_ASKED_FOR && part >= NOTEWORTHY &&
		    !graph->vertices.data[edge->from].kernel)
			none.awaited = true;
		if (bottlenecks->relations[edge->from] != RELATION_ASKED_FOR)
			continue;
		if (graph->vertices.data[edge->to].type != CAUSE_TIMER)
			other += part;
		if (!none.longest || part > none.longest_share) {
			none.longest = edge;
			none.longest_share = part;
		}
	}
	none.only_sleeps = none.busy < NOTEWORTHY && other < NOTEWORTHY;
	return none;
}
