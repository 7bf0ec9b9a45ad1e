// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/round.h"
#include "recording/wait_class.h"
#include "render/format.h"
#include "render/json.h"
#include "render/path/path_views.h"

static void put_thread(json_t *entry, const struct path_view *view, uint32_t thread, uint64_t time)
{
	const struct model_thread *of = &view->model->threads.data[thread];

	json_object_set_new(entry, "pid", json__number(of->tgid));
	json_object_set_new(entry, "tid", json__number(of->tid));
	json_object_set_new(entry, "comm", json__string(view->model, model_thread__comm(of, time)));
}

static void put_what(json_t *entry, const struct path_view *view, const struct path_node *node)
{
	const struct model_thread *thread = &view->model->threads.data[node->thread];
	char text[512];

	switch ((enum path_node_type)node->type) {
	case PATH_NODE_THREAD:
		/* Null if the node stands for several. */
		json_object_set_new(entry, "pid",
				    node->processes ? json_null() : json__number(thread->tgid));
		json_object_set_new(entry, "tid",
				    node->several ? json_null() : json__number(thread->tid));
		json_object_set_new(entry, "comm", json__string(view->model, node->name));
		json_object_set_new(entry, "process", json__string(view->model, node->process));
		if (node->had_cpu)
			json_object_set_new(entry, "had_cpu", json_true());
		break;
	case PATH_NODE_FRAME:
		path_node__text(view, node, text, sizeof(text));
		json_object_set_new(entry, "frame", json__text(text));
		json_object_set_new(entry, "kernel", json_boolean(node->kernel));
		break;
	case PATH_NODE_WAIT:
		json_object_set_new(entry, "kind", json_string(kind__name(node->kind)));
		object__text(view->model, node->object, text, sizeof(text));
		json_object_set_new(entry, "object", *text ? json__text(text) : json_null());
		json_object_set_new(entry, "class",
				    json_string(wait_class__name((enum wait_class)node->class)));
		break;
	case PATH_NODE_LEAF:
		json_object_set_new(
			entry, "category",
			json_string(path_category__name((enum path_category)node->category)));
		path_node__text(view, node, text, sizeof(text));
		json_object_set_new(entry, "text", json__text(text));
		break;
	}
}

static void put_compared(json_t *entry, const struct path_tree *tree, uint32_t node)
{
	const struct path_node_times *times;

	if (!tree->compared.n)
		return;
	times = &tree->compared.data[node];
	json_object_set_new(entry, "compared_self_ns", json__number(times->self_ns));
	json_object_set_new(entry, "compared_total_ns", json__number(times->total_ns));
	json_object_set_new(entry, "compared_count", json__number(times->count));
}

/* How much of its time is estimated, and the standard errors of its times: only if not 0. */
static void put_estimate(json_t *entry, const struct path_node *node)
{
	if (node->estimated_ns)
		json_object_set_new(entry, "estimated_ns", json__number(node->estimated_ns));
	if (node->self_variance > 0)
		json_object_set_new(entry, "self_error_ns",
				    json__number(round__uint64(sqrt(node->self_variance))));
	if (node->total_variance > 0)
		json_object_set_new(entry, "total_error_ns",
				    json__number(round__uint64(sqrt(node->total_variance))));
}

/* A node without its children. */
static json_t *node_json(const struct path_view *view, const struct path_tree *tree, uint32_t node)
{
	const struct path_node *at = &tree->nodes.data[node];
	json_t *entry = json_object();

	put_what(entry, view, at);
	json_object_set_new(entry, "self_ns", json__number(at->self_ns));
	json_object_set_new(entry, "total_ns", json__number(at->total_ns));
	json_object_set_new(entry, "count", json__number(at->count));
	put_estimate(entry, at);
	put_compared(entry, tree, node);
	return entry;
}

/* Writes the children of the root of @tree, with all that is below, as member @name. */
static void write_tree(struct json_stream *stream, const char *name, const struct path_view *view,
		       const struct path_tree *tree)
{
	uint32_t node = tree->nodes.data[0].child;

	json_stream__open_array(stream, name);
	while (node) {
		json_stream__open_object(stream, node_json(view, tree, node));
		json_stream__open_array(stream, "children");
		if (tree->nodes.data[node].child) {
			node = tree->nodes.data[node].child;
			continue;
		}
		json_stream__close_array(stream);
		json_stream__close_object(stream);
		/* To the next sibling of the closest node, this or above, that has one. */
		while (node && !tree->nodes.data[node].next) {
			node = tree->nodes.data[node].parent;
			if (!node)
				break;
			json_stream__close_array(stream);
			json_stream__close_object(stream);
		}
		node = node ? tree->nodes.data[node].next : 0;
	}
	json_stream__close_array(stream);
}

json_t *path_categories__json(const uint64_t ns[PATH_CATEGORY_COUNT])
{
	json_t *entry = json_object();
	char name[64];

	for (int i = 0; i < PATH_CATEGORY_COUNT; i++) {
		snprintf(name, sizeof(name), "%s_ns", path_category__name((enum path_category)i));
		json_object_set_new(entry, name, json__number(ns[i]));
	}
	return entry;
}

/* The names of the threads of a chain, the base first. */
static json_t *names_json(const struct path_view *view, const struct path_chain *chain)
{
	json_t *names = json_array();
	char text[128];

	while (chain) {
		path_node__thread(view, &view->path->tree.nodes.data[chain->node], text,
				  sizeof(text));
		json_array_insert_new(names, 0, json__text(text));
		chain = chain->parent ? &view->path->chains.data[chain->parent] : NULL;
	}
	return names;
}

static json_t *chains_json(const struct path_view *view)
{
	json_t *array = json_array();

	for (size_t i = 1; i < view->path->chains.n; i++) {
		const struct path_chain *chain = &view->path->chains.data[i];
		json_t *entry = json_object();

		json_object_set_new(entry, "threads", names_json(view, chain));
		json_object_set_new(entry, "self_ns", json__number(chain->self_ns));
		json_object_set_new(entry, "total_ns", json__number(chain->total_ns));
		json_object_set_new(entry, "count", json__number(chain->count));
		json_array_append_new(array, entry);
	}
	return array;
}

static json_t *gaps_json(const struct path_view *view)
{
	json_t *array = json_array();

	for (size_t i = 0; i < view->path->gaps.n; i++) {
		const struct path_gap *gap = &view->path->gaps.data[i];
		json_t *entry = json_object();

		put_thread(entry, view, gap->thread, gap->from);
		json_object_set_new(entry, "from_ns", json__number(gap->from - view->model->start));
		json_object_set_new(entry, "ns", json__number(gap->until - gap->from));
		json_array_append_new(array, entry);
	}
	return array;
}

static json_t *competitors_json(const struct path_view *view)
{
	json_t *array = json_array();

	for (size_t i = 0; i < view->path->competitors.n; i++) {
		const struct path_competitor *one = &view->path->competitors.data[i];
		json_t *entry = json_object();

		if (one->thread)
			put_thread(entry, view, one->thread,
				   view->model->threads.data[one->thread].ended);
		json_object_set_new(entry, "recorded",
				    json_boolean(model_thread__is_recorded(
					    &view->model->threads.data[one->thread])));
		json_object_set_new(entry, "ns", json__number(one->ns));
		json_array_append_new(array, entry);
	}
	return array;
}

static json_t *background_json(const struct path_view *view)
{
	json_t *array = json_array();

	for (size_t i = 0; i < view->path->background.n; i++) {
		const struct path_background *one = &view->path->background.data[i];
		json_t *entry = json_object();
		char text[128];

		put_thread(entry, view, one->thread, one->first);
		path_thread__text(view, one->starter, one->first, text, sizeof(text));
		json_object_set_new(entry, "started_by", json__text(text));
		json_object_set_new(entry, "ns", json__number(one->ns));
		json_object_set_new(entry, "count", json__number(one->count));
		json_array_append_new(array, entry);
	}
	return array;
}

int path_view__json(const struct path_view *view, FILE *to)
{
	const struct path *path = view->path;
	json_t *document = json_object(), *target = json_object();
	struct json_stream stream;
	char verdict[1024];
	int err = path_view__verdict(view, verdict, sizeof(verdict));

	json__put_recording(document, view->model);
	put_thread(target, view, path->thread, path->from);
	json_object_set_new(document, "target", target);
	if (view->requests)
		json_object_set_new(document, "requests", path_requests__json(view));
	json_object_set_new(document, "from_ns",
			    json__number(path->from > view->model->start
						 ? path->from - view->model->start
						 : 0));
	json_object_set_new(document, "wall_ns", json__number(path->wall_ns));
	json_object_set_new(document, "total_ns", json__number(path->total_ns));
	json_object_set_new(document, "accounted_ns", json__number(path->accounted_ns));
	json_object_set_new(document, "accounted_percent",
			    json_real(format__percent(path->accounted_ns, path->wall_ns)));
	json_object_set_new(document, "slack_ns", json__number(path->walk.slack_ns));
	json_object_set_new(document, "categories", path_categories__json(path->ns));
	json_object_set_new(document, "verdict", json__text(verdict));
	json_object_set_new(document, "control_paths", chains_json(view));
	json_object_set_new(document, "gaps", gaps_json(view));
	json_object_set_new(document, "tree_is_full", json_boolean(path->tree.is_full));
	json_object_set_new(document, "ran_instead", competitors_json(view));
	json_object_set_new(document, "not_waited_for", background_json(view));
	if (err) {
		json_decref(document);
		return err;
	}
	/* The trees come last: they can be larger than memory. */
	json_stream__begin(&stream, document, to);
	write_tree(&stream, "tree", view, &path->tree);
	if (path->background_tree.levels.capacity) /* it was asked for */
		write_tree(&stream, "background", view, &path->background_tree);
	return json_stream__end(&stream);
}
