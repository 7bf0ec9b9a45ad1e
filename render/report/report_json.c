// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "render/format.h"
#include "recording/wait_class.h"
#include "render/json.h"
#include "render/report/report.h"

/* Adds cpu_ns, io_ns, ... to @object. */
static void put_times(json_t *object, const uint64_t ns[CLASS_COUNT])
{
	for (int class = 0; class < CLASS_COUNT; class ++) {
		char key[32];

		snprintf(key, sizeof(key), "%s_ns", wait_class__name(class));
		json_object_set_new(object, key, json__number(ns[class]));
	}
}

static uint64_t sum(const uint64_t ns[CLASS_COUNT])
{
	uint64_t all = 0;

	for (int class = 0; class < CLASS_COUNT; class ++)
		all += ns[class];
	return all;
}

/* The names of classes for which @differs. */
static json_t *differs_json(const bool differs[CLASS_COUNT])
{
	json_t *classes = json_array();

	for (int class = 0; class < CLASS_COUNT; class ++)
		if (differs[class])
			json_array_append_new(classes, json_string(wait_class__name(class)));
	return classes;
}

static json_t *threads_json(const struct report *report)
{
	const struct model *model = report->model;
	json_t *threads = json_array();

	for (size_t i = 0; i < report->threads->threads.n; i++) {
		const struct thread_times *times = &report->threads->threads.data[i];
		const struct model_thread *thread = &model->threads.data[times->thread];
		json_t *entry = json_object();

		json_object_set_new(entry, "pid", json_integer(thread->tgid));
		json_object_set_new(entry, "tid", json_integer(thread->tid));
		json_object_set_new(entry, "comm", json__string(model, times->comm));
		json_object_set_new(entry, "lifetime_ns", json__number(times->lifetime_ns));
		put_times(entry, times->ns);
		json_object_set_new(entry, "stolen_ns", json__number(times->stolen_ns));
		json_object_set_new(entry, "not_seen_ns", json__number(times->unseen_ns));
		json_object_set_new(entry, "not_seen", json_integer(thread->unseen));
		json_object_set_new(entry, "idle_ns", json__number(sum(times->idle_ns)));
		json_object_set_new(entry, "voluntary", json__number(thread->voluntary));
		json_object_set_new(entry, "involuntary", json__number(thread->involuntary));
		json_object_set_new(entry, "exited", json_boolean(thread->exited));
		json_object_set_new(entry, "differs", differs_json(times->differs));
		json_array_append_new(threads, entry);
	}
	return threads;
}

/* @whole: the key of the sum, or NULL. */
static json_t *totals_json(const uint64_t ns[CLASS_COUNT], const char *whole, uint64_t whole_ns)
{
	json_t *totals = json_object();

	put_times(totals, ns);
	if (whole)
		json_object_set_new(totals, whole, json__number(whole_ns));
	return totals;
}

/* The children of a node, recursively; at most as deep as a callchain. */
static json_t *children_json(const struct report *report, uint32_t index)
{
	const struct calltree_node *nodes = report->profile->trees.nodes.data;
	json_t *children = json_array();

	for (uint32_t child = nodes[index].child; child; child = nodes[child].next) {
		const struct calltree_node *node = &nodes[child];
		json_t *entry = json_object();

		json_object_set_new(entry, "symbol", json__string(report->model, node->name));
		json_object_set_new(
			entry, "dso",
			json__string(report->model, report->model->dsos.data[node->dso].name));
		json_object_set_new(entry, "kernel", json_boolean(node->kernel));
		json_object_set_new(entry, "self_ns", json__number(node->self_ns));
		json_object_set_new(entry, "total_ns", json__number(node->total_ns));
		json_object_set_new(entry, "children", children_json(report, child));
		json_array_append_new(children, entry);
	}
	return children;
}

static json_t *row_json(const struct report *report, const struct profile_row *row,
			unsigned int keys)
{
	const struct model *model = report->model;
	char address[24], object[512];
	json_t *entry = json_object();

	json_object_set_new(entry, "comm", json__string(model, row->comm));
	if (row->pid)
		json_object_set_new(entry, "pid", json_integer(row->pid));
	if (row->tid)
		json_object_set_new(entry, "tid", json_integer(row->tid));
	json_object_set_new(
		entry, "dso",
		json__text(keys & 1U << PROFILE_DSO ? profile_row__dso(model, row) : ""));
	json_object_set_new(entry, "symbol",
			    json__text(keys & 1U << PROFILE_SYMBOL
					       ? profile_row__symbol(model, row, address)
					       : ""));
	json_object_set_new(entry, "class", json_string(wait_class__name(row->class)));
	json_object_set_new(entry, "kind", json_string(kind__name(row->kind)));
	json_object_set_new(entry, "kernel", json__string(model, row->kernel));
	if (keys & 1U << PROFILE_OBJECT) {
		object__text(model, row->object, object, sizeof(object));
		json_object_set_new(entry, "object", json__text(object));
	}
	if (keys & 1U << PROFILE_LINE) {
		json_object_set_new(entry, "file", json__string(model, row->file));
		json_object_set_new(entry, "line", json_integer(row->line));
	}
	json_object_set_new(entry, "weight", json__number(row->points));
	json_object_set_new(entry, "self_ns", json__number(row->self_ns));
	json_object_set_new(entry, "total_ns", json__number(row->total_ns));
	json_object_set_new(entry, "idle_ns", json__number(row->idle_ns));
	json_object_set_new(entry, "count", json__number(row->count));
	json_object_set_new(
		entry, "percent",
		json_real(format__percent(report->children ? row->total_ns : row->self_ns,
					  report->profile->ns)));
	if (row->tree)
		json_object_set_new(entry, "tree", children_json(report, row->tree));
	return entry;
}

static json_t *rows_json(const struct report *report)
{
	json_t *rows = json_array();
	unsigned int keys = 0;

	for (size_t k = 0; k < report->n_keys; k++)
		keys |= 1U << report->keys[k];
	for (size_t i = 0; i < report->profile->rows.n; i++) {
		const struct profile_row *row = &report->profile->rows.data[i];

		if (format__percent(row->total_ns, report->profile->ns) >= report->percent_limit)
			json_array_append_new(rows, row_json(report, row, keys));
	}
	return rows;
}

static json_t *idle_json(const struct report *report)
{
	json_t *places = json_array();

	for (size_t i = 0; i < report->idle->places.n; i++) {
		const struct idle_place *place = &report->idle->places.data[i];
		const struct model_thread *thread = &report->model->threads.data[place->thread];
		json_t *entry = json_object();

		json_object_set_new(entry, "reason", json_string(idle_reason__name(place->reason)));
		json_object_set_new(entry, "kind", json_string(kind__name(place->kind)));
		json_object_set_new(entry, "comm", json__string(report->model, place->comm));
		json_object_set_new(entry, "pid", json_integer(thread->tgid));
		json_object_set_new(entry, "tid", json_integer(thread->tid));
		json_object_set_new(entry, "threads", json_integer(place->n_threads));
		json_object_set_new(entry, "ns", json__number(place->ns));
		json_array_append_new(places, entry);
	}
	return places;
}

static json_t *document_json(const struct report *report)
{
	const struct model *model = report->model;
	const char *advice, *empty = report__why_empty(report, &advice);
	const struct sample_groups *sampled = &report->profile->groups;
	json_t *document = json_object(), *exact;

	json__put_recording(document, model);
	json_object_set_new(document, "samples", json__number(model->n_samples));
	json_object_set_new(document, "intervals", json__number(model->n_intervals));
	json_object_set_new(document, "weight", json__number(report->profile->points));
	json_object_set_new(document, "total_ns", json__number(report->profile->ns));
	json_object_set_new(document, "idle_ns", json__number(report->idle->ns));
	json_object_set_new(document, "idle_shown", json_boolean(report->idle_shown));
	json_object_set_new(document, "idle", idle_json(report));
	if (empty)
		json_object_set_new(document, "empty", json__text(empty));
	exact = totals_json(report->threads->ns, "lifetime_ns", report->threads->lifetime_ns);
	json_object_set_new(exact, "stolen_ns", json__number(report->threads->stolen_ns));
	json_object_set_new(exact, "not_seen_ns", json__number(report->threads->unseen_ns));
	json_object_set_new(document, "exact", exact);
	json_object_set_new(document, "sampled",
			    totals_json(sampled->sampled_ns, "total_ns", sum(sampled->sampled_ns)));
	json_object_set_new(document, "standard_error",
			    totals_json(report->threads->error_ns, NULL, 0));
	json_object_set_new(document, "differs", differs_json(report->threads->differs));
	json_object_set_new(document, "threads", threads_json(report));
	json_object_set_new(document, "rows", rows_json(report));
	return document;
}

int report__json(const struct report *report, FILE *to)
{
	return json__write(document_json(report), to);
}
