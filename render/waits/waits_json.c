// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>

#include "base/round.h"
#include "render/json.h"
#include "recording/wait_class.h"
#include "render/waits/waits.h"

static json_t *name_json(const struct waits *waits, uint32_t vertex)
{
	const struct waitgraph *graph = waits->graph;

	return json__text(waitgraph_vertex__name(graph, &graph->vertices.data[vertex]));
}

static void put_device(json_t *entry, const struct model_device *device)
{
	json_object_set_new(entry, "requests", json__number(device->requests));
	json_object_set_new(entry, "bytes", json__number(device->bytes));
	json_object_set_new(entry, "queue_ns", json__number(device->queue_ns));
	json_object_set_new(entry, "service_ns", json__number(device->service_ns));
	json_object_set_new(entry, "idle_ns", json__number(device->idle_ns));
}

static json_t *differs_json(const struct waitgraph_vertex *vertex)
{
	json_t *times = json_array();

	if (vertex->running_differs)
		json_array_append_new(times, json_string("running"));
	if (vertex->runnable_differs)
		json_array_append_new(times, json_string("runnable"));
	if (vertex->blocked_differs)
		json_array_append_new(times, json_string("blocked"));
	return times;
}

static json_t *vertex_json(const struct waits *waits, uint32_t vertex)
{
	static const char *const merged[] = {
		[MERGED_NOT] = "no",
		[MERGED_SHORT_LIVED] = "short-lived",
		[MERGED_SIMILAR] = "similar",
	};
	const struct waitgraph_vertex *of = &waits->graph->vertices.data[vertex];
	json_t *entry = json_object();

	json_object_set_new(entry, "name", name_json(waits, vertex));
	json_object_set_new(entry, "type", json_string(cause_type__name(of->type)));
	json_object_set_new(entry, "recorded", json_boolean(of->recorded));
	json_object_set_new(entry, "inferred", json_boolean(of->inferred));
	json_object_set_new(entry, "related",
			    json_boolean(waits->bottlenecks->relations[vertex] != RELATION_NONE));
	json_object_set_new(entry, "lifetime_ns", json__number(of->lifetime_ns));
	json_object_set_new(entry, "running_ns", json__number(of->running_ns));
	json_object_set_new(entry, "stolen_ns", json__number(of->stolen_ns));
	json_object_set_new(entry, "not_seen_ns", json__number(of->unseen_ns));
	json_object_set_new(entry, "runnable_ns", json__number(of->runnable_ns));
	json_object_set_new(entry, "blocked_ns", json__number(of->blocked_ns));
	if (of->type == CAUSE_DEVICE)
		put_device(entry, &waits->model->devices.data[of->id]);
	if (of->pid)
		json_object_set_new(entry, "pid", json__number(of->pid));
	if (of->type != CAUSE_THREAD)
		return entry;
	json_object_set_new(entry, "differs", differs_json(of));
	json_object_set_new(entry, "polling", json_real(of->polling));
	json_object_set_new(entry, "threads", json__number(of->n));
	json_object_set_new(entry, "merged", json_string(merged[of->merged]));
	json_object_set_new(entry, "pid", json__number(waits->model->threads.data[of->id].tgid));
	json_object_set_new(entry, "tid", json__number(waits->model->threads.data[of->id].tid));
	return entry;
}

static json_t *frames_json(const struct waits *waits, struct callchain *chain)
{
	json_t *frames = json_array();

	for (size_t i = 0; i < chain->frames.n; i++) {
		const struct callchain_frame *frame = &chain->frames.data[i];
		const struct model_frame *code = &waits->model->frames.data[frame->frame];
		json_t *entry = json_object();
		char text[24];

		json_object_set_new(entry, "symbol",
				    json__text(callchain_frame__text(frame, waits->model, text)));
		json_object_set_new(
			entry, "dso",
			json__string(waits->model, waits->model->dsos.data[frame->dso].name));
		json_object_set_new(entry, "kernel", json_boolean(frame->kernel));
		if (code->line) {
			json_object_set_new(entry, "file", json__string(waits->model, code->file));
			json_object_set_new(entry, "line", json__number(code->line));
		}
		json_array_append_new(frames, entry);
	}
	return frames;
}

json_t *waits__frames(const struct waits *waits, uint32_t kernel, uint32_t user)
{
	struct callchain chain = {};
	json_t *frames = callchain__set(&chain, waits->model, kernel, user, true)
				 ? json_array()
				 : frames_json(waits, &chain);

	callchain__free(&chain);
	return frames;
}

static const char *const origins[] = {
	[WAIT_BLOCKED] = "blocked",   [WAIT_SPIN] = "spin",	      [WAIT_DEVICE_IDLE] = "idle",
	[WAIT_TCP_IDLE] = "tcp idle", [WAIT_PEER_IDLE] = "peer idle", [WAIT_NO_TASK] = "no task",
};

static json_t *cause_json(const struct waits *waits, const struct waitgraph_cause *cause,
			  struct callchain *chain)
{
	const struct model *model = waits->model;
	json_t *entry = json_object();
	char text[512];

	cause__text(model, cause, text, sizeof(text));
	json_object_set_new(entry, "what", json__text(text));
	json_object_set_new(entry, "origin", json_string(origins[cause->origin]));
	json_object_set_new(entry, "kind", json_string(kind__name(cause->kind)));
	json_object_set_new(entry, "class", json_string(wait_class__name(cause->class)));
	json_object_set_new(entry, "for_work", json_boolean(cause->idle));
	json_object_set_new(entry, "count", json__number(cause->count));
	json_object_set_new(entry, "plain_ns", json__number(cause->plain_ns));
	json_object_set_new(entry, "weight_ns", json__number(cause->weight_ns));
	json_object_set_new(entry, "longest_ns", json__number(cause->longest_ns));
	if (callchain__set(chain, model, cause->kernel, cause->user, true))
		return entry;
	json_object_set_new(entry, "waiter", frames_json(waits, chain));
	if (callchain__set(chain, model, cause->waker_kernel, cause->waker_user, false))
		return entry;
	json_object_set_new(entry, "waker", frames_json(waits, chain));
	return entry;
}

/* Plain time by kind of wait. */
static json_t *kinds_json(const struct waits *waits, const struct waitgraph_edge *edge)
{
	json_t *kinds = json_object();

	for (uint32_t i = 0; i < edge->n_causes; i++) {
		const struct waitgraph_cause *cause = &waits->graph->causes.data[edge->cause + i];
		const char *name = cause->origin == WAIT_BLOCKED ? kind__name(cause->kind)
								 : origins[cause->origin];
		uint64_t sum = (uint64_t)json_integer_value(json_object_get(kinds, name));

		if (__builtin_add_overflow(sum, cause->plain_ns, &sum))
			sum = UINT64_MAX;
		json_object_set_new(kinds, name, json__number(sum));
	}
	return kinds;
}

static json_t *edge_json(const struct waits *waits, const struct waitgraph_edge *edge,
			 struct callchain *chain)
{
	json_t *entry = json_object(), *stacks = json_array();

	json_object_set_new(entry, "from", name_json(waits, edge->from));
	json_object_set_new(entry, "to", name_json(waits, edge->to));
	json_object_set_new(entry, "weight_ns", json__number(edge->weight_ns));
	json_object_set_new(entry, "plain_ns", json__number(edge->plain_ns));
	json_object_set_new(entry, "error_ns", json__number(round__uint64(edge->error_ns)));
	json_object_set_new(entry, "for_work_ns", json__number(edge->idle_ns));
	json_object_set_new(entry, "share",
			    json_real(waits__percent(waits, edge->weight_ns) / 100));
	json_object_set_new(entry, "plain_share",
			    json_real(waits__percent(waits, edge->plain_ns) / 100));
	json_object_set_new(entry, "count", json__number(edge->count));
	json_object_set_new(entry, "kinds", kinds_json(waits, edge));
	for (uint32_t i = 0; i < edge->n_causes && (!waits->max_causes || i < waits->max_causes);
	     i++)
		json_array_append_new(
			stacks,
			cause_json(waits, &waits->graph->causes.data[edge->cause + i], chain));
	json_object_set_new(entry, "stacks", stacks);
	return entry;
}

static json_t *bottleneck_json(const struct waits *waits, const struct bottleneck *bottleneck)
{
	const struct waitgraph *graph = waits->graph;
	json_t *entry = json_object(), *members = json_array(), *edges = json_array();
	json_t *idle_for = json_object();
	char text[2048];

	verdict__text(waits, bottleneck, text, sizeof(text));
	for (size_t i = 0; i < bottleneck->members.n; i++)
		json_array_append_new(members, name_json(waits, bottleneck->members.data[i]));
	for (size_t i = 0; i < bottleneck->edges.n; i++) {
		const struct waitgraph_edge *edge = &graph->edges.data[bottleneck->edges.data[i]];
		json_t *pair = json_object();

		json_object_set_new(pair, "from", name_json(waits, edge->from));
		json_object_set_new(pair, "to", name_json(waits, edge->to));
		json_object_set_new(pair, "for_work", json_boolean(waitgraph_edge__is_idle(edge)));
		json_array_append_new(edges, pair);
	}
	for (int type = 0; type < CAUSE_TYPE_COUNT; type++)
		json_object_set_new(idle_for, cause_type__name(type),
				    json_real(bottleneck->idle_for[type]));
	json_object_set_new(entry, "type", json_string(bottleneck_type__name(bottleneck->type)));
	json_object_set_new(entry, "members", members);
	json_object_set_new(entry, "edges", edges);
	json_object_set_new(entry, "background", json_boolean(bottleneck->background));
	json_object_set_new(entry, "relevant", json_boolean(bottleneck->relevant));
	json_object_set_new(entry, "why", json__text(text));
	verdict__note(waits, bottleneck, text, sizeof(text));
	json_object_set_new(entry, "note", json__text(text));
	json_object_set_new(entry, "lock", waits__lock_json(waits, bottleneck));
	json_object_set_new(entry, "active", json_real(bottleneck->active));
	json_object_set_new(entry, "idle_for", idle_for);
	json_object_set_new(entry, "running_ns", json__number(bottleneck->running_ns));
	json_object_set_new(entry, "runnable_ns", json__number(bottleneck->runnable_ns));
	return entry;
}

static void append_limitation(void *context, const char *text)
{
	json_array_append_new(context, json__text(text));
}

/* The first knot or sink that is not in the background, and limitations. */
static json_t *verdict_json(const struct waits *waits)
{
	const struct bottleneck *first = bottlenecks__first(waits->bottlenecks);
	json_t *verdict, *unknown = json_array();
	char text[2048];

	verdict = first ? bottleneck_json(waits, first) : json_object();
	if (!first)
		json_object_set_new(verdict, "type", json_string("none"));
	verdict__text(waits, first, text, sizeof(text));
	json_object_set_new(verdict, "text", json__text(text));
	verdict__cpus(waits, text, sizeof(text));
	json_object_set_new(verdict, "cpus", json__text(text));
	verdict__limitations(waits, append_limitation, unknown);
	json_object_set_new(verdict, "unknown", unknown);
	return verdict;
}

int waits__json(const struct waits *waits, FILE *to)
{
	const struct waitgraph *graph = waits->graph;
	json_t *document = json_object(), *threads = json_array(), *edges = json_array();
	json_t *knots = json_array();
	struct callchain chain = {};

	json__put_recording(document, waits->model);
	json_object_set_new(document, "exact", json_boolean(graph->exact));
	json_object_set_new(document, "points", json__number(graph->points));
	json_object_set_new(document, "window_ns", json__number(graph->duration_ns));
	json_object_set_new(document, "waits", json__number(graph->list.waits.n));
	json_object_set_new(document, "circular", json__number(graph->stats.circular));
	json_object_set_new(document, "overlapping", json__number(graph->stats.overlapping));
	json_object_set_new(document, "false_wakeups", json__number(graph->list.false_wakeups));
	json_object_set_new(document, "verdict", verdict_json(waits));
	for (size_t i = 0; i < waits->bottlenecks->all.n; i++)
		json_array_append_new(knots,
				      bottleneck_json(waits, &waits->bottlenecks->all.data[i]));
	json_object_set_new(document, "knots", knots);
	for (uint32_t v = 0; v < graph->vertices.n; v++)
		json_array_append_new(threads, vertex_json(waits, v));
	json_object_set_new(document, "threads", threads);
	for (size_t i = 0; i < graph->edges.n; i++)
		if (waits__percent(waits, graph->edges.data[i].weight_ns) >= waits->percent_limit ||
		    waits__is_shown(waits, &graph->edges.data[i]))
			json_array_append_new(edges,
					      edge_json(waits, &graph->edges.data[i], &chain));
	json_object_set_new(document, "edges", edges);
	callchain__free(&chain);
	return json__write(document, to);
}
