// SPDX-License-Identifier: BSD-2-Clause
#include "render/export/sqlite/sqlite.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/chain_tree.h"
#include "arch/syscalls.h"
#include "base/version.h"
#include "recording/wait_class.h"
#include "render/export/export_waits.h"
#include "render/export/sqlite/sqlite_rows.h"
#include "render/export/sqlite/sqlite_schema.h"

/* The parts of an interval that were visited, to be one row. */
struct sqlite_interval {
	const struct model_interval *interval; /* NULL: none */
	struct weighted_sample blocked;	       /* not visited: all 0 */
	struct weighted_sample queued;
};

struct sqlite_writer {
	const struct export *export;
	const struct model *model;
	const char *machine;
	struct sqlite_rows rows;
	struct export_waits waits;
	struct chain_tree tree;
	size_t n_nodes; /* of the tree, that were written */
	size_t n_frames;
	uint64_t wakes; /* written before those of the thread that is visited */
	struct sqlite_interval pending;
	struct buffer text;
	bool no_memory;
};

static int64_t since_start(const struct sqlite_writer *writer, uint64_t time)
{
	return (int64_t)(time - writer->model->start);
}

static const char *string(const struct sqlite_writer *writer, uint32_t id)
{
	return id ? model__string(writer->model, id) : NULL;
}

static void put_meta(struct sqlite_writer *writer, const char *key, const char *value)
{
	sqlite_row__begin(&writer->rows, TABLE_META);
	sqlite_row__text(&writer->rows, key);
	sqlite_row__text(&writer->rows, value);
	sqlite_row__end(&writer->rows);
}

static void put_meta_number(struct sqlite_writer *writer, const char *key, uint64_t value)
{
	sqlite_row__begin(&writer->rows, TABLE_META);
	sqlite_row__text(&writer->rows, key);
	sqlite_row__number(&writer->rows, (int64_t)value);
	sqlite_row__end(&writer->rows);
}

static void write_meta(struct sqlite_writer *writer)
{
	static const char *const keys[] = {"command", "target",	 "hostname", "kernel",
					   "machine", "version", "rung"};
	const struct model *model = writer->model;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (model__meta(model, keys[i]))
			put_meta(writer, keys[i], model__meta(model, keys[i]));
	put_meta(writer, "recording", writer->export->name);
	put_meta(writer, "mode", model->trace ? "trace" : "sampling");
	put_meta(writer, "exporter_version", dwell_version);
	put_meta_number(writer, "period_ns", model->period_ns);
	put_meta_number(writer, "start_monotonic_ns", model->start);
	put_meta_number(writer, "duration_ns", model->end - model->start);
	put_meta_number(writer, "idle_waits", writer->export->idle);
	for (size_t i = 0; i < model->losts.n; i++) {
		char key[128];

		snprintf(key, sizeof(key), "lost: %s",
			 model__string(model, model->losts.data[i].cause));
		put_meta_number(writer, key, model->losts.data[i].count);
	}
}

static void write_processes(struct sqlite_writer *writer)
{
	const struct model *model = writer->model;
	struct sqlite_rows *rows = &writer->rows;

	for (size_t i = 1; i < model->processes.n; i++) {
		const struct model_process *process = &model->processes.data[i];

		sqlite_row__begin(rows, TABLE_PROCESSES);
		sqlite_row__number(rows, (int64_t)i);
		sqlite_row__number(rows, process->pid);
		sqlite_row__text(rows, export_thread__name(model, process->leader));
		sqlite_row__id(rows, process->parent);
		sqlite_row__number(rows, since_start(writer, process->created));
		if (process->ended == MODEL_FOREVER)
			sqlite_row__id(rows, 0);
		else
			sqlite_row__number(rows, since_start(writer, process->ended));
		sqlite_row__end(rows);
	}
}

/* A number of a thread's totals. */
static void put_total(struct sqlite_writer *writer, const struct model_thread *thread,
		      uint64_t value)
{
	if (thread->has_totals)
		sqlite_row__number(&writer->rows, (int64_t)value);
	else
		sqlite_row__id(&writer->rows, 0);
}

/* A time that is of no class. */
static void put_rest(struct sqlite_writer *writer, const struct model_thread *thread, uint64_t ns)
{
	if (thread->counted)
		sqlite_row__number(&writer->rows, (int64_t)ns);
	else
		sqlite_row__id(&writer->rows, 0);
}

/* What was stolen from one run: what was found is known, also where the rest is not. */
static void put_stolen(struct sqlite_writer *writer, const struct model_thread *thread, uint64_t ns)
{
	if (ns)
		sqlite_row__number(&writer->rows, (int64_t)ns);
	else
		put_rest(writer, thread, 0);
}

static void write_names(struct sqlite_writer *writer, uint32_t index)
{
	const struct model_thread *thread = &writer->model->threads.data[index];
	struct sqlite_rows *rows = &writer->rows;

	for (size_t i = 0; i < thread->comms.n; i++) {
		sqlite_row__begin(rows, TABLE_THREAD_NAMES);
		sqlite_row__number(rows, index);
		sqlite_row__number(rows, since_start(writer, thread->comms.data[i].time));
		sqlite_row__text(rows, model__string(writer->model, thread->comms.data[i].name));
		sqlite_row__end(rows);
	}
}

static void write_thread(struct sqlite_writer *writer, uint32_t index)
{
	const struct model *model = writer->model;
	const struct model_thread *thread = &model->threads.data[index];
	struct sqlite_rows *rows = &writer->rows;

	sqlite_row__begin(rows, TABLE_THREADS);
	sqlite_row__number(rows, index);
	sqlite_row__number(rows, thread->tid);
	sqlite_row__id(rows, thread->process);
	sqlite_row__text(rows, export_thread__name(model, index));
	sqlite_row__id(rows, thread->parent);
	sqlite_row__number(rows, model_thread__is_helper(thread));
	sqlite_row__number(rows, sample_filter__thread(writer->export->filter, thread));
	sqlite_row__number(rows, since_start(writer, thread->created));
	sqlite_row__number(rows, since_start(writer, thread->ended));
	sqlite_row__number(rows, thread->exited);
	for (int class = 0; class < CLASS_COUNT; class ++)
		put_total(writer, thread, thread->ns[class]);
	put_rest(writer, thread, thread->stolen_ns);
	put_stolen(writer, thread, thread->last_stolen_ns);
	put_rest(writer, thread, thread->unseen_ns);
	put_total(writer, thread, thread->voluntary);
	put_total(writer, thread, thread->involuntary);
	sqlite_row__end(rows);
	write_names(writer, index);
}

static void write_objects(struct sqlite_writer *writer)
{
	static const char *const types[] = {
		[OBJECT_NONE] = "none",	  [OBJECT_FILE] = "file",   [OBJECT_SOCKET] = "socket",
		[OBJECT_FUTEX] = "futex", [OBJECT_CHILD] = "child", [OBJECT_KLOCK] = "klock",
		[OBJECT_LIMIT] = "limit",
	};
	const struct model *model = writer->model;
	char text[1024];

	for (uint32_t i = 1; i < model->objects.n; i++) {
		uint8_t type = model->objects.data[i].type;

		object__text(model, i, text, sizeof(text));
		sqlite_row__begin(&writer->rows, TABLE_OBJECTS);
		sqlite_row__number(&writer->rows, i);
		sqlite_row__text(&writer->rows, types[type < ARRAY_SIZE(types) ? type : 0]);
		sqlite_row__text(&writer->rows, text);
		sqlite_row__end(&writer->rows);
	}
}

static void write_frame(struct sqlite_writer *writer, size_t index)
{
	const struct chain_frame *frame = &writer->tree.frames.data[index];
	struct sqlite_rows *rows = &writer->rows;
	char address[24];

	sqlite_row__begin(rows, TABLE_FRAMES);
	sqlite_row__number(rows, (int64_t)index);
	sqlite_row__text(rows, chain_frame__text(frame, writer->model, address));
	sqlite_row__text(rows, string(writer, frame->file));
	sqlite_row__id(rows, frame->line);
	sqlite_row__text(rows, string(writer, writer->model->dsos.data[frame->dso].path));
	sqlite_row__number(rows, frame->kernel);
	sqlite_row__number(rows, frame->inlined);
	sqlite_row__end(rows);
}

/* The stack's number in the database; 0: none. Writes what is new of the tree. */
static uint64_t stack_id(struct sqlite_writer *writer, uint32_t kernel, uint32_t user, bool off_cpu)
{
	struct chain_tree *tree = &writer->tree;
	int64_t node = chain_tree__add(tree, writer->model, kernel, user, off_cpu);

	if (node < 0) {
		writer->no_memory = true;
		return 0;
	}
	for (; writer->n_frames < tree->frames.n; writer->n_frames++)
		write_frame(writer, writer->n_frames);
	/* Node 0 stands for no stack. */
	for (size_t i = writer->n_nodes ? writer->n_nodes : 1; i < tree->nodes.n; i++) {
		sqlite_row__begin(&writer->rows, TABLE_STACKS);
		sqlite_row__number(&writer->rows, (int64_t)i);
		sqlite_row__id(&writer->rows, tree->nodes.data[i].parent);
		sqlite_row__number(&writer->rows, tree->nodes.data[i].frame);
		sqlite_row__end(&writer->rows);
	}
	writer->n_nodes = tree->nodes.n;
	return (uint64_t)node;
}

static void write_wakes(struct sqlite_writer *writer, uint32_t index)
{
	const struct model_thread *thread = &writer->model->threads.data[index];

	for (size_t i = 0; i < thread->wakes.n; i++) {
		const struct model_wake *wake = &thread->wakes.data[i];
		uint64_t stack = stack_id(writer, wake->kernel, wake->user, false);

		sqlite_row__begin(&writer->rows, TABLE_WAKES);
		sqlite_row__number(&writer->rows, (int64_t)(writer->wakes + i + 1));
		sqlite_row__number(&writer->rows, index);
		sqlite_row__number(&writer->rows, since_start(writer, wake->time));
		sqlite_row__id(&writer->rows, wake->waker);
		sqlite_row__text(&writer->rows, waker_context__name(wake->context));
		sqlite_row__id(&writer->rows, stack);
		sqlite_row__end(&writer->rows);
	}
}

static void write_sample(struct sqlite_writer *writer, const struct weighted_sample *sample)
{
	uint64_t stack = stack_id(writer, sample->kernel, sample->user, false);

	sqlite_row__begin(&writer->rows, TABLE_SAMPLES);
	sqlite_row__id(&writer->rows, 0); /* the next number */
	sqlite_row__number(&writer->rows, sample->thread);
	sqlite_row__number(&writer->rows, since_start(writer, sample->from));
	sqlite_row__number(&writer->rows, (int64_t)sample->points);
	sqlite_row__number(&writer->rows, (int64_t)sample->ns);
	sqlite_row__number(&writer->rows, !!sample->kernel);
	sqlite_row__id(&writer->rows, stack);
	sqlite_row__end(&writer->rows);
}

static void put_syscall(struct sqlite_writer *writer, int16_t number)
{
	const char *name = syscalls__name(writer->machine, number);
	char text[16];

	snprintf(text, sizeof(text), "%d", number);
	sqlite_row__text(&writer->rows, name ? name : number >= 0 ? text : NULL);
}

static void put_cause(struct sqlite_writer *writer, uint32_t thread,
		      const struct model_interval *interval)
{
	struct wait_cause cause = export_waits__cause(&writer->waits, thread, interval);
	bool named = cause.type == CAUSE_THREAD || cause.type == CAUSE_DEVICE ||
		     cause.type == CAUSE_PEER || cause.type == CAUSE_LIMIT ||
		     cause.type == CAUSE_TCP || cause.type == CAUSE_QUEUE;
	uint64_t time = interval->t_out + interval->blocked_ns;

	sqlite_row__text(&writer->rows, cause_type__name(cause.type));
	sqlite_row__id(&writer->rows, cause.type == CAUSE_THREAD ? cause.id : 0);
	sqlite_row__text(&writer->rows, named ? export_waits__cause_text(&writer->waits, cause,
									 time, &writer->text)
					      : NULL);
}

static void write_interval(struct sqlite_writer *writer)
{
	const struct sqlite_interval *pending = &writer->pending;
	const struct model_interval *interval = pending->interval;
	bool blocked = interval->blocked_ns || interval->blocked_points;
	const struct weighted_sample *any =
		pending->blocked.interval ? &pending->blocked : &pending->queued;
	struct weighted_sample what = *any;
	uint64_t stack = stack_id(writer, interval->kernel, interval->user, true);
	uint64_t wake = interval->t_out + interval->blocked_ns;
	struct sqlite_rows *rows = &writer->rows;

	/* If the filter leaves out the blocked part, too: it tells the class of the row. */
	what.class = blocked ? interval->class : CLASS_SCHED;
	sqlite_row__begin(rows, TABLE_INTERVALS);
	sqlite_row__id(rows, 0); /* the next number */
	sqlite_row__number(rows, any->thread);
	sqlite_row__number(rows, since_start(writer, interval->t_out));
	sqlite_row__number(rows, since_start(writer, wake));
	sqlite_row__number(rows, since_start(writer, wake + interval->runq_ns));
	sqlite_row__text(rows, wait_class__name(what.class));
	sqlite_row__text(rows, kind__name(export_waits__kind(&writer->waits, &what)));
	sqlite_row__id(rows, export_waits__object(&what));
	sqlite_row__text(rows,
			 pending->blocked.idle ? idle_reason__name(pending->blocked.idle) : NULL);
	put_syscall(writer, interval->syscall);
	sqlite_row__number(rows, (int64_t)pending->blocked.points);
	sqlite_row__number(rows, (int64_t)pending->blocked.ns);
	sqlite_row__number(rows, (int64_t)pending->queued.points);
	sqlite_row__number(rows, (int64_t)pending->queued.ns);
	put_cause(writer, any->thread, interval);
	sqlite_row__id(rows, interval->wake ? writer->wakes + interval->wake : 0);
	sqlite_row__number(rows, !!(interval->flags & INTERVAL_PREEMPTED));
	sqlite_row__number(rows, !!(interval->flags & INTERVAL_UNFINISHED));
	if (interval->cpu)
		sqlite_row__number(rows, interval->cpu - 1);
	else
		sqlite_row__id(rows, 0);
	put_stolen(writer, &writer->model->threads.data[any->thread], interval->stolen_ns);
	sqlite_row__id(rows, stack);
	sqlite_row__end(rows);
}

static void flush_interval(struct sqlite_writer *writer)
{
	if (writer->pending.interval)
		write_interval(writer);
	writer->pending = (struct sqlite_interval){};
}

static int visit(void *context, const struct weighted_sample *sample)
{
	struct sqlite_writer *writer = context;
	struct sqlite_interval *pending = &writer->pending;

	if (sample->idle && !writer->export->idle)
		return 0;
	if (!sample->interval || sample->interval != pending->interval)
		flush_interval(writer);
	if (!sample->interval) {
		write_sample(writer, sample);
	} else {
		pending->interval = sample->interval;
		*(export_waits__is_blocked(sample) ? &pending->blocked : &pending->queued) =
			*sample;
	}
	return writer->no_memory ? -ENOMEM : writer->rows.failed ? -EIO : 0;
}

static int write_activity(struct sqlite_writer *writer)
{
	const struct model *model = writer->model;
	int err = 0;

	for (uint32_t i = 1; i < model->threads.n && !err; i++) {
		if (!sample_filter__thread(writer->export->filter, &model->threads.data[i]))
			continue;
		write_wakes(writer, i);
		err = weighted_samples__visit_thread(model, writer->export->filter, i, visit,
						     writer);
		flush_interval(writer);
		writer->wakes += model->threads.data[i].wakes.n;
	}
	return writer->no_memory ? -ENOMEM : err;
}

static void write_request(struct sqlite_writer *writer, size_t index)
{
	const struct model *model = writer->model;
	const struct model_span *span = &model->spans.data[index];
	struct sqlite_rows *rows = &writer->rows;

	sqlite_row__begin(rows, TABLE_REQUESTS);
	sqlite_row__number(rows, (int64_t)index + 1);
	sqlite_row__text(rows, model__string(model, span->name));
	sqlite_row__id(rows, span->thread);
	sqlite_row__id(rows, span->begun_by);
	sqlite_row__number(rows, since_start(writer, span->arrived));
	sqlite_row__number(rows, since_start(writer, span->begun));
	sqlite_row__number(rows, since_start(writer, span->ended));
	if (span->n_parts)
		sqlite_row__number(rows, (int64_t)span->id);
	else
		sqlite_row__id(rows, 0);
	sqlite_row__text(rows, string(writer, model->objects.data[span->object].name));
	sqlite_row__end(rows);
	for (uint32_t i = 0; i < span->n_parts; i++) {
		const struct model_span_part *part = &model->span_parts.data[span->part + i];
		char queue[24];

		snprintf(queue, sizeof(queue), "0x%" PRIx64, part->queue);
		sqlite_row__begin(rows, TABLE_REQUEST_PARTS);
		sqlite_row__number(rows, (int64_t)index + 1);
		sqlite_row__id(rows, part->thread);
		sqlite_row__number(rows, since_start(writer, part->begin));
		sqlite_row__number(rows, since_start(writer, part->end));
		sqlite_row__text(rows, part->queue ? queue : NULL);
		sqlite_row__end(rows);
	}
}

static void write_block_request(struct sqlite_writer *writer, const struct model_request *request)
{
	static const char *const ops[REQUEST_OP_COUNT] = {"read", "write", "flush", "other"};
	const struct model *model = writer->model;
	struct sqlite_rows *rows = &writer->rows;

	sqlite_row__begin(rows, TABLE_BLOCK_REQUESTS);
	sqlite_row__id(rows, 0); /* the next number */
	sqlite_row__text(rows, model__string(model, model->devices.data[request->device].name));
	sqlite_row__text(rows, ops[request->op < REQUEST_OP_COUNT ? request->op : REQUEST_OTHER]);
	sqlite_row__id(rows, request->thread);
	sqlite_row__number(rows, since_start(writer, request->begun));
	sqlite_row__number(rows, since_start(writer, request->issued));
	sqlite_row__number(rows, since_start(writer, request->completed));
	sqlite_row__number(rows, (int64_t)request->sector);
	sqlite_row__number(rows, (int64_t)request->bytes);
	sqlite_row__end(rows);
}

/* Requests, to servers and to block devices, of threads that are selected. */
static void write_requests(struct sqlite_writer *writer)
{
	const struct model *model = writer->model;
	struct sample_filter filter = *writer->export->filter;

	/* Threads that are only helpers may send requests for those that are not. */
	filter.helpers = true;
	for (size_t i = 0; i < model->spans.n; i++)
		if (sample_filter__thread(&filter,
					  &model->threads.data[model->spans.data[i].thread]))
			write_request(writer, i);
	for (size_t i = 0; i < model->requests.n; i++)
		if (sample_filter__thread(&filter,
					  &model->threads.data[model->requests.data[i].thread]))
			write_block_request(writer, &model->requests.data[i]);
}

static int write_tables(struct sqlite_writer *writer)
{
	char pragma[64];
	int err;

	write_meta(writer);
	write_processes(writer);
	for (uint32_t i = 1; i < writer->model->threads.n; i++)
		write_thread(writer, i);
	write_objects(writer);
	err = write_activity(writer);
	if (err)
		return err;
	write_requests(writer);
	sqlite_rows__execute(&writer->rows, sqlite_indices);
	sqlite_rows__execute(&writer->rows, sqlite_views);
	snprintf(pragma, sizeof(pragma), "PRAGMA user_version = %d; COMMIT;",
		 SQLITE_SCHEMA_VERSION);
	sqlite_rows__execute(&writer->rows, pragma);
	return 0;
}

int sqlite__write(const struct export *export, int fd, const char *path)
{
	struct sqlite_writer writer = {
		.export = export,
		.model = export->model,
		.machine = model__meta(export->model, "machine"),
	};
	int err = export_waits__begin(&writer.waits, export);

	if (!err) {
		sqlite_rows__create(&writer.rows, fd);
		err = write_tables(&writer);
	}
	if (err != -ENOMEM)
		err = sqlite_rows__error(&writer.rows, path);
	sqlite_rows__free(&writer.rows);
	chain_tree__free(&writer.tree);
	export_waits__free(&writer.waits);
	buffer__free(&writer.text);
	return err;
}
