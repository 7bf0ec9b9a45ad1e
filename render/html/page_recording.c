// SPDX-License-Identifier: BSD-2-Clause
#include "render/html/page_recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/path/path_walk.h"
#include "render/format.h"
#include "render/json.h"

enum frame_column {
	FRAME_NAME,
	FRAME_FILE,
	FRAME_LINE,
	FRAME_DSO,
	FRAME_FLAGS,
	FRAME_COLUMNS,
};

enum {
	FRAME_KERNEL = 1,
	FRAME_INLINED = 2,
	FRAME_ADDRESS = 4,
};

enum node_column {
	NODE_UP,
	NODE_FRAME,
	NODE_COLUMNS,
};

#define STACK_COLUMNS 1
#define WAKER_COLUMNS 4

/* From this many intervals on, times are rounded: the page would be larger by a quarter. */
#define MANY_INTERVALS 500000
#define ROUNDED_UNIT   128 /* ns */

void page__block_name(struct page_recording *page, const char *part, char name[static 48])
{
	snprintf(name, 48, "r%zu.%s", page->number, part);
	json_array_append_new(page->blocks, json_string(name));
}

uint64_t page__unit(const struct model *model)
{
	return model->n_intervals < MANY_INTERVALS ? 1 : ROUNDED_UNIT;
}

uint64_t page__length(const struct model *model, uint64_t ns)
{
	uint64_t unit = page__unit(model);

	return (ns + unit / 2) / unit;
}

uint64_t page__time(const struct model *model, uint64_t time)
{
	return page__length(model, time > model->start ? time - model->start : 0);
}

int64_t page__stack(struct page_recording *page, uint32_t kernel, uint32_t user, bool off_cpu)
{
	int64_t node = chain_tree__add(&page->tree, page->model, kernel, user, off_cpu);
	uint64_t *number;

	if (node < 0)
		return node;
	number = map64__put(&page->stacks_seen, (uint64_t)node, page->stacks.rows);
	if (!number)
		return -ENOMEM;
	if (*number == page->stacks.rows)
		table__put(&page->stacks, 0, (uint64_t)node);
	return (int64_t)*number;
}

static int put_frame(struct page_recording *page, struct table *table,
		     const struct chain_frame *frame)
{
	const struct model *model = page->model;
	char address[24];
	int64_t name = page_strings__id(&page->strings, chain_frame__text(frame, model, address));
	int64_t file = page_strings__id(&page->strings, model__string(model, frame->file));
	int64_t dso = page_strings__id(&page->strings,
				       model__string(model, model->dsos.data[frame->dso].name));
	uint64_t flags = (frame->kernel ? FRAME_KERNEL : 0) | (frame->inlined ? FRAME_INLINED : 0) |
			 (frame->name ? 0 : FRAME_ADDRESS);

	if (name < 0 || file < 0 || dso < 0)
		return -ENOMEM;
	table__put(table, FRAME_NAME, (uint64_t)name);
	table__put(table, FRAME_FILE, (uint64_t)file);
	table__put(table, FRAME_LINE, frame->line);
	table__put(table, FRAME_DSO, (uint64_t)dso);
	table__put(table, FRAME_FLAGS, flags);
	return 0;
}

static int write_frames(struct page_recording *page)
{
	struct table table = {};
	char name[48];
	int err = 0;

	for (size_t i = 0; i < page->tree.frames.n && !err; i++)
		err = put_frame(page, &table, &page->tree.frames.data[i]);
	page__block_name(page, "frames", name);
	err = err ? err : table__write(&table, FRAME_COLUMNS, name, page->to);
	table__free(&table);
	return err;
}

static int write_tree(struct page_recording *page)
{
	struct table table = {};
	char name[48];
	int err;

	for (size_t i = 0; i < page->tree.nodes.n; i++) {
		table__put(&table, NODE_UP, i - page->tree.nodes.data[i].parent);
		table__put(&table, NODE_FRAME, page->tree.nodes.data[i].frame);
	}
	page__block_name(page, "nodes", name);
	err = table__write(&table, NODE_COLUMNS, name, page->to);
	table__free(&table);
	return err;
}

static json_t *names_json(const struct page_recording *page, const struct model_thread *thread)
{
	json_t *names = json_array();

	for (size_t i = 0; i < thread->comms.n; i++)
		json_array_append_new(
			names,
			json_pack("[I,o]",
				  (json_int_t)page__time(page->model, thread->comms.data[i].time),
				  json__string(page->model, thread->comms.data[i].name)));
	return names;
}

/* In trace mode: the times of @thread that are neither waits nor runs, because events were lost. */
static json_t *unseen_json(const struct page_recording *page, const struct model_thread *thread)
{
	const struct model_interval *intervals = thread->intervals.data;
	uint64_t from = thread->created, until;
	json_t *list = json_array();

	for (size_t i = 0; i <= thread->intervals.n && page->model->trace; i++) {
		until = i < thread->intervals.n ? intervals[i].t_out : thread->ended;
		if (until > from && model_thread__lost_before(thread, i))
			json_array_append_new(
				list, json_pack("[I,I]", (json_int_t)page__time(page->model, from),
						(json_int_t)page__time(page->model, until)));
		if (i < thread->intervals.n)
			from = until + intervals[i].blocked_ns + intervals[i].runq_ns;
	}
	return list;
}

/* In trace mode: stolen time of the thread's last run. */
static uint64_t last_stolen(const struct page_recording *page, const struct model_thread *thread)
{
	struct model_run run;

	if (!page->model->trace || !model_thread__run_before(thread, thread->intervals.n, &run))
		return 0;
	return page__length(page->model, run.stolen_ns);
}

static json_t *thread_json(const struct page_recording *page, const struct model_thread *thread)
{
	json_t *ns = json_array(), *factors = json_array(), *differs = json_array();

	for (int class = 0; class < CLASS_COUNT; class ++) {
		json_array_append_new(ns, json__number(thread->ns[class]));
		json_array_append_new(factors, json_real(thread->factor[class]));
		if (model_thread__is_calibrated(page->model, thread, class))
			json_array_append_new(differs, json_integer(class));
	}
	return json_pack(
		"{s:I, s:I, s:o, s:I, s:b, s:b, s:I, s:I, s:b, s:o, s:o, s:o, s:o, s:I, s:o, s:o}",
		"tid", (json_int_t)thread->tid, "process", (json_int_t)thread->process, "names",
		names_json(page, thread), "parent", (json_int_t)thread->parent, "recorded",
		model_thread__is_recorded(thread), "waker_only", model_thread__is_helper(thread),
		"created", (json_int_t)page__time(page->model, thread->created), "ended",
		(json_int_t)page__time(page->model, thread->ended), "exited", thread->exited, "ns",
		ns, "factor", factors, "differs", differs, "stolen",
		json__number(thread->stolen_ns), "last_stolen",
		(json_int_t)last_stolen(page, thread), "not_seen", json__number(thread->unseen_ns),
		"unseen", unseen_json(page, thread));
}

/* The classes in which the exact time of all threads differs by more than chance from samples. */
static json_t *differs_json(const struct model *model)
{
	json_t *differs = json_array();

	for (int class = 0; class < CLASS_COUNT; class ++) {
		struct sampling_error error = {};

		for (size_t i = 1; i < model->threads.n; i++) {
			const struct model_thread *thread = &model->threads.data[i];

			if (thread->has_totals && !model_thread__is_helper(thread))
				sampling_error__add(&error, model, thread, class);
		}
		if ((!model->trace || class == CLASS_CPU) &&
		    sampling_error__is_exceeded(&error, model))
			json_array_append_new(differs, json_integer(class));
	}
	return differs;
}

static json_t *process_json(const struct page_recording *page, const struct model_process *process)
{
	const struct model_thread *leader = &page->model->threads.data[process->leader];
	uint32_t name = leader->comms.n ? model_thread__comm(leader, leader->ended) : 0;

	return json_pack("{s:I, s:o, s:I}", "pid", (json_int_t)process->pid, "name",
			 json__string(page->model, name), "parent", (json_int_t)process->parent);
}

static json_t *diagnostics_json(const struct model *model)
{
	json_t *list = json_array();

	for (size_t i = 0; i < model->diagnostics.n; i++) {
		const struct model_diagnostic *diagnostic = &model->diagnostics.data[i];

		json_array_append_new(list, json_pack("{s:s, s:o, s:b}", "label", diagnostic->label,
						      "text", json__text(diagnostic->text), "well",
						      diagnostic->all_well));
	}
	return list;
}

static json_t *meta_json(const struct model *model, const char *key)
{
	const char *value = model__meta(model, key);

	return json__text(value ? value : "");
}

/* "host, Linux 6.1.0, x86_64, 2 CPUs" */
static json_t *machine_json(const struct model *model)
{
	static const char *const keys[] = {"hostname", "kernel", "machine", "cpus"};
	static const char *const formats[] = {"%s", "Linux %s", "%s", "%s CPUs"};
	char text[512] = "";

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *value = model__meta(model, keys[i]);

		if (!value)
			continue;
		if (*text)
			format__append(text, sizeof(text), ", ");
		format__append(text, sizeof(text), formats[i], value);
	}
	return json__text(text);
}

static void describe(struct page_recording *page)
{
	const struct model *model = page->model;
	json_t *threads = json_array(), *processes = json_array(), *objects = json_array();
	const char *command = model__meta(model, "command");

	for (size_t i = 0; i < model->threads.n; i++)
		json_array_append_new(threads, thread_json(page, &model->threads.data[i]));
	for (size_t i = 0; i < model->processes.n; i++)
		json_array_append_new(processes, process_json(page, &model->processes.data[i]));
	page_strings__id(&page->objects, "");
	for (size_t i = 0; i < page->objects.texts.n; i++)
		json_array_append_new(objects, json_string(intern__bytes(&page->objects.texts,
									 (uint32_t)i, NULL)));
	json_object_set_new(page->entry, "name", json__text(page->from->name));
	json_object_set_new(page->entry, "command",
			    meta_json(model, command ? "command" : "target"));
	json_object_set_new(page->entry, "machine", machine_json(model));
	json_object_set_new(page->entry, "duration_ns", json__number(model->end - model->start));
	json_object_set_new(page->entry, "mode", json_string(model->trace ? "trace" : "sampling"));
	json_object_set_new(page->entry, "period_ns", json__number(model->period_ns));
	json_object_set_new(page->entry, "unit_ns", json__number(page__unit(page->model)));
	json_object_set_new(page->entry, "diagnostics", diagnostics_json(model));
	json_object_set_new(page->entry, "differs", differs_json(model));
	json_object_set_new(page->entry, "threads", threads);
	json_object_set_new(page->entry, "processes", processes);
	json_object_set_new(page->entry, "objects", objects);
}

static int write_tables(struct page_recording *page)
{
	char name[48];
	int err = write_frames(page);

	err = err ? err : write_tree(page);
	page__block_name(page, "stacks", name);
	err = err ? err : table__write(&page->stacks, STACK_COLUMNS, name, page->to);
	page__block_name(page, "wakers", name);
	err = err ? err : table__write(&page->wakers, WAKER_COLUMNS, name, page->to);
	page__block_name(page, "strings", name);
	return err ? err : page_strings__write(&page->strings, name, page->to);
}

/* Row 0 of `nodes`, `frames`, `stacks` and `wakers`. */
static int begin_tables(struct page_recording *page)
{
	return page__stack(page, 0, 0, false) < 0 ? -ENOMEM : page_wakers__begin(page);
}

static void release(struct page_recording *page)
{
	page_strings__free(&page->strings);
	page_strings__free(&page->objects);
	chain_tree__free(&page->tree);
	table__free(&page->stacks);
	map64__free(&page->stacks_seen);
	map64__free(&page->objects_seen);
	table__free(&page->wakers);
	intern__free(&page->waits_seen);
	intern__free(&page->wakers_seen);
}

int html__recording(struct html *html, const struct html_recording *recording, size_t *number)
{
	json_t *list = json_object_get(html->index, "recordings");
	struct page_recording page = {
		.from = recording,
		.model = recording->model,
		.number = json_array_size(list),
		.to = html->to,
		.entry = json_object(),
		.chunks = json_array(),
		.waits = json_array(),
		.blocks = json_array(),
	};
	int err = begin_tables(&page);

	*number = page.number;
	json_array_append_new(list, page.entry);
	json_object_set_new(page.entry, "chunks", page.chunks);
	json_object_set_new(page.entry, "waits", page.waits);
	json_object_set_new(page.entry, "blocks", page.blocks);
	err = err ? err : page_intervals__write(&page);
	err = err ? err : page_samples__write(&page);
	if (!err && recording->path)
		err = page_path__write(&page, recording->path);
	err = err ? err : write_tables(&page);
	if (!err)
		describe(&page);
	release(&page);
	return err;
}
