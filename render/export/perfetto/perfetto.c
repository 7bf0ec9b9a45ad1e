// SPDX-License-Identifier: BSD-2-Clause
#include "render/export/perfetto/perfetto.h"

#include <errno.h>
#include <stdlib.h>

#include "recording/wait_class.h"
#include "render/export/perfetto/perfetto_packets.h"

/* BuiltinClock */
enum { CLOCK_ID_REALTIME = 1, CLOCK_ID_MONOTONIC = 3, CLOCK_ID_BOOTTIME = 6 };

static void put_clock(struct perfetto_writer *writer, uint32_t id, uint64_t time)
{
	size_t mark = protobuf__begin(&writer->event, 1);

	protobuf__varint(&writer->event, 1, id);
	protobuf__varint(&writer->event, 2, time);
	protobuf__end(&writer->event, mark);
}

/*
 * All times are CLOCK_MONOTONIC. Scheduling events cannot name that clock, and are taken to be
 * CLOCK_BOOTTIME: which the recording does not have, and which is set equal.
 */
static void write_clocks(struct perfetto_writer *writer)
{
	const struct model *model = writer->model;
	uint64_t realtime = model__meta_number(model, "start_realtime", 0);

	put_clock(writer, CLOCK_ID_MONOTONIC, model->start);
	put_clock(writer, CLOCK_ID_BOOTTIME, model->start);
	if (realtime)
		put_clock(writer, CLOCK_ID_REALTIME, realtime);
	protobuf__varint(&writer->event, 2, CLOCK_ID_MONOTONIC); /* primary_trace_clock */
	perfetto__packet(writer, PERFETTO_CLOCK_SNAPSHOT, 0);
}

/* The kernel's version decides how the states of threads are coded. */
static void write_system(struct perfetto_writer *writer)
{
	const struct model *model = writer->model;
	const char *release = model__meta(model, "kernel"),
		   *machine = model__meta(model, "machine");
	size_t mark = protobuf__begin(&writer->event, 1);

	protobuf__string(&writer->event, 1, "Linux");
	if (release)
		protobuf__string(&writer->event, 3, export_text(&writer->text, release));
	if (machine)
		protobuf__string(&writer->event, 4, export_text(&writer->text, machine));
	protobuf__end(&writer->event, mark);
	perfetto__packet(writer, PERFETTO_SYSTEM_INFO, 0);
}

static void put_process(struct perfetto_writer *writer, const struct model_process *process)
{
	size_t mark = protobuf__begin(&writer->event, 1);
	const char *name = export_thread__name(writer->model, process->leader);

	protobuf__varint(&writer->event, 1, process->pid);
	protobuf__varint(&writer->event, 2, writer->model->processes.data[process->parent].pid);
	protobuf__string(&writer->event, 3, export_text(&writer->text, name));
	protobuf__end(&writer->event, mark);
}

/* Names of all threads, those that are only wakers, too. */
static void write_process_tree(struct perfetto_writer *writer)
{
	const struct model *model = writer->model;

	for (size_t i = 1; i < model->processes.n; i++)
		put_process(writer, &model->processes.data[i]);
	for (uint32_t i = 1; i < model->threads.n; i++) {
		size_t mark = protobuf__begin(&writer->event, 2);

		protobuf__varint(&writer->event, 1, model->threads.data[i].tid);
		protobuf__string(&writer->event, 2,
				 export_text(&writer->text, export_thread__name(model, i)));
		protobuf__varint(&writer->event, 3, model->threads.data[i].tgid);
		protobuf__end(&writer->event, mark);
	}
	perfetto__packet(writer, PERFETTO_PROCESS_TREE, model->start);
}

static void write_thread_track(struct perfetto_writer *writer, uint32_t index)
{
	const struct model_thread *thread = &writer->model->threads.data[index];
	struct protobuf *event = &writer->event;
	size_t mark;

	protobuf__varint(event, 1, perfetto__track(TRACK_THREAD, index));
	mark = protobuf__begin(event, 4);
	protobuf__varint(event, 1, thread->tgid);
	protobuf__varint(event, 2, thread->tid);
	protobuf__string(event, 5,
			 export_text(&writer->text, export_thread__name(writer->model, index)));
	protobuf__end(event, mark);
	perfetto__packet(writer, PERFETTO_TRACK_DESCRIPTOR, 0);
}

static void write_sample(struct perfetto_writer *writer, const struct weighted_sample *sample)
{
	const struct model_thread *thread = &writer->model->threads.data[sample->thread];
	uint64_t stack = perfetto__callstack(writer, sample->kernel, sample->user, false);
	struct protobuf *event = &writer->event;
	size_t mark = protobuf__begin(event, 1); /* task_context */

	protobuf__varint(event, 2, thread->tgid);
	protobuf__varint(event, 3, thread->tid);
	protobuf__end(event, mark);
	mark = protobuf__begin(event, 3); /* execution_context */
	protobuf__varint(event, 3, sample->kernel ? 2 : 1);
	protobuf__end(event, mark);
	if (stack)
		protobuf__varint(event, 6, stack);
	protobuf__varint(event, 11, sample->ns); /* primary_weight */
	perfetto__packet(writer, PERFETTO_STACK_SAMPLE, sample->from);
}

/* What is known of the blocked part of an interval. */
static void put_wait(struct perfetto_writer *writer, const struct weighted_sample *sample)
{
	const struct model_interval *interval = sample->interval;
	struct wait_cause cause = export_waits__cause(&writer->waits, sample->thread, interval);
	uint64_t wake_time = interval->t_out + interval->blocked_ns;

	if (sample->idle)
		perfetto__put_annotation(writer, "idle", idle_reason__name(sample->idle));
	perfetto__put_annotation(
		writer, "ended_by",
		export_waits__cause_text(&writer->waits, cause, wake_time, &writer->waker));
}

/* A part of an interval as a slice. */
static void write_part(struct perfetto_writer *writer, const struct weighted_sample *sample)
{
	uint64_t track = perfetto__track(TRACK_THREAD, sample->thread);
	uint64_t stack = perfetto__callstack(writer, sample->kernel, sample->user, true);

	perfetto__begin_event(writer, PERFETTO_BEGIN, track);
	perfetto__put_name(writer, export_waits__label(&writer->waits, sample, &writer->text));
	perfetto__put_category(writer, wait_class__name(sample->class));
	if (sample->idle)
		perfetto__put_category(writer, "idle");
	if (stack)
		protobuf__varint(&writer->event, 56, stack);	  /* callstack_iid */
	protobuf__double(&writer->event, 57, (double)sample->ns); /* callstack_weight */
	if (export_waits__is_blocked(sample))
		put_wait(writer, sample);
	if (sample->ns != sample->until - sample->from)
		perfetto__put_number(writer, "stands_for_ns", sample->ns);
	/* Slices of a track must not overlap, also where a damaged recording says so. */
	if (writer->last_track != track || sample->from > writer->last_end)
		writer->last_end = sample->from;
	perfetto__packet(writer, PERFETTO_TRACK_EVENT, writer->last_end);
	if (sample->until > writer->last_end)
		writer->last_end = sample->until;
	perfetto__slice_end(writer, track, writer->last_end);
	writer->last_track = track;
}

static int visit(void *context, const struct weighted_sample *sample)
{
	struct perfetto_writer *writer = context;

	if (sample->idle && !writer->export->idle)
		return 0;
	if (sample->interval)
		write_part(writer, sample);
	else
		write_sample(writer, sample);
	return perfetto__error(writer);
}

static int write_threads(struct perfetto_writer *writer)
{
	const struct model *model = writer->model;
	const struct sample_filter *filter = writer->export->filter;

	for (uint32_t i = 1; i < model->threads.n; i++)
		if (sample_filter__thread(filter, &model->threads.data[i]))
			write_thread_track(writer, i);
	return weighted_samples__visit(model, filter, visit, writer);
}

int perfetto__write(const struct export *export, FILE *to)
{
	struct perfetto_writer writer = {.export = export, .model = export->model, .to = to};
	int err = export_waits__begin(&writer.waits, export);

	if (!err) {
		write_clocks(&writer);
		write_system(&writer);
		write_process_tree(&writer);
		err = write_threads(&writer);
	}
	err = err ? err : perfetto_sched__write(&writer);
	if (!err)
		perfetto_stolen__write(&writer);
	err = err ? err : perfetto_path__write(&writer);
	err = err ? err : perfetto_requests__write(&writer);
	err = err ? err : perfetto__error(&writer);
	export_waits__free(&writer.waits);
	perfetto_packets__free(&writer);
	return err;
}
