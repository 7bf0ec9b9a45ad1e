// SPDX-License-Identifier: BSD-2-Clause
#include "render/script/script.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/callchain.h"
#include "analysis/kinds/tcp_holds.h"
#include "arch/syscalls.h"
#include "recording/stack_end.h"
#include "recording/wait_class.h"
#include "render/fields.h"
#include "render/script/script_events.h"
#include "render/format.h"

const char script_format[] =
	"One event is one line: its name, then key=value fields in a fixed order; new\n"
	"fields are only ever added at the end. Text is in double quotes, with \\\" \\\\ \\n \\t\n"
	"and \\xNN. Times are seconds since the recording began. Lines that begin with a\n"
	"tab are the event's stack, innermost frame first: address, function, (file),\n"
	"and, where known, SOURCE:LINE; \"inlined\" ends a function inlined into the next.\n"
	"\n"
	"  thread    a thread was created or first seen\n"
	"  exec      the thread's process executes another program\n"
	"  comm      the thread changes its name\n"
	"  sample    the thread was running (class cpu); points is the sample's weight\n"
	"  interval  the thread was off the CPU: blocked from t_out to t_wake (class, "
	"blocked_points),\n"
	"            then waiting for a CPU until t_in (runq_points); time is t_out\n"
	"  wake      the thread was woken; the stack is the waker's\n"
	"  segment   TCP had held back what the thread waited for until this wakeup: its data was\n"
	"            written and left so many ns before; reasons, one after the other, and how\n"
	"            many ns before the wakeup each of them ended\n"
	"  idle      a block device had nothing in flight until t_in, when the thread sent\n"
	"            it a request; the stack is the sender's\n"
	"  block     a request to a block device of the thread has completed: it was queued for\n"
	"            queue_ns, then the device worked on it for service_ns\n"
	"  request   the thread ended a request (--request of dwell record), which arrived at\n"
	"            t_arrived, and was read, or begun, at t_begun\n"
	"  annotation  the program reported busy waiting or a false wakeup, or the start or end\n"
	"            of a request, or which thread works on one (dwell.h)\n"
	"  exit      the thread ended, or the recording (exited=0); has the exact times\n"
	"\n"
	"With --json each event is one JSON object on one line; times are *_ns.\n";

struct writer {
	const struct script *script;
	const struct model *model;
	const char *machine;
	struct fields fields;
	uint64_t from;
	uint64_t until;
};

static void put_time(struct writer *writer, const char *key, uint64_t time)
{
	fields__time(&writer->fields, key, (int64_t)(time - writer->model->start));
}

static void put_head(struct writer *writer, const char *event, uint64_t time, uint32_t thread_index)
{
	const struct model *model = writer->model;
	const struct model_thread *thread = &model->threads.data[thread_index];
	uint32_t comm = model_thread__comm(thread, time);

	fields__begin(&writer->fields, event);
	put_time(writer, "time", time);
	fields__number(&writer->fields, "pid", thread->tgid);
	fields__number(&writer->fields, "tid", thread->tid);
	fields__text(&writer->fields, "comm", model__string(model, comm));
}

static void put_waker(struct writer *writer, uint32_t waker, uint32_t context, uint64_t time)
{
	const struct model *model = writer->model;
	const struct model_thread *thread = &model->threads.data[waker];

	fields__word(&writer->fields, "waker_context", waker_context__name(context));
	fields__number(&writer->fields, "waker_pid", thread->tgid);
	fields__number(&writer->fields, "waker_tid", thread->tid);
	fields__text(&writer->fields, "waker_comm",
		     waker ? model__string(model, model_thread__comm(thread, time)) : "");
}

static void put_frame_text(struct writer *writer, const struct callchain_frame *frame)
{
	const struct model *model = writer->model;
	const struct model_frame *at = &model->frames.data[frame->frame];
	FILE *to = writer->fields.to;

	fprintf(to, "\t%" PRIx64 " ", model->locations.data[frame->location].address);
	format__safe(to, frame->name ? model__string(model, frame->name) : "[unknown]");
	fputs(" (", to);
	format__safe(to, model__string(model, model->dsos.data[frame->dso].path));
	fputc(')', to);
	if (at->line) {
		fputc(' ', to);
		format__safe(to, model__string(model, at->file));
		fprintf(to, ":%u", at->line);
	}
	fputs(frame->inlined ? " inlined\n" : "\n", to);
}

static void put_frame_json(struct writer *writer, const struct callchain_frame *frame, bool first)
{
	const struct model *model = writer->model;
	const struct model_frame *at = &model->frames.data[frame->frame];
	struct fields fields = {.to = writer->fields.to, .json = true};
	char address[24];

	fputs(first ? "{" : ",{", fields.to);
	fields__text(&fields, "symbol", model__string(model, frame->name));
	fields__text(&fields, "dso", model__string(model, model->dsos.data[frame->dso].path));
	snprintf(address, sizeof(address), "0x%" PRIx64,
		 model->locations.data[frame->location].address);
	fields__word(&fields, "address", address);
	if (frame->kernel)
		fields__number(&fields, "kernel", 1);
	if (at->line) {
		fields__text(&fields, "file", model__string(model, at->file));
		fields__number(&fields, "line", at->line);
	}
	if (frame->inlined)
		fields__number(&fields, "inlined", 1);
	fputc('}', fields.to);
}

/* Ends the event, with its stack. */
static int put_stack(struct writer *writer, uint32_t kernel, uint32_t user)
{
	struct callchain chain = {};
	int err = 0;

	if (writer->script->no_stacks) {
		fields__end(&writer->fields);
		return 0;
	}
	err = callchain__set(&chain, writer->model, kernel, user, false);
	fputs(writer->script->json ? ",\"stack\":[" : "\n", writer->fields.to);
	for (size_t i = 0; i < chain.frames.n && !err; i++) {
		if (writer->script->json)
			put_frame_json(writer, &chain.frames.data[i], !i);
		else
			put_frame_text(writer, &chain.frames.data[i]);
	}
	fputs(writer->script->json ? "]}\n" : "", writer->fields.to);
	callchain__free(&chain);
	return err;
}

static void put_stack_end(struct writer *writer, uint32_t kernel, uint32_t user)
{
	const struct model *model = writer->model;
	uint32_t stack = user ? user : kernel;

	fields__word(&writer->fields, "stack_end",
		     stack_end__name(stack ? model->stacks.data[stack].end : STACK_COMPLETE));
}

static bool has_class(const struct writer *writer, enum wait_class class)
{
	unsigned int classes = writer->script->filter->classes;

	return !classes || classes & 1U << class;
}

static int write_thread(struct writer *writer, const struct script_event *event)
{
	const struct model *model = writer->model;
	const struct model_thread *thread = &model->threads.data[event->thread];

	put_head(writer, "thread", event->time, event->thread);
	fields__number(&writer->fields, "created", !!(thread->flags & THREAD_CREATED));
	fields__number(&writer->fields, "kernel", !!(thread->flags & THREAD_KERNEL));
	fields__number(&writer->fields, "target", !!(thread->flags & THREAD_TARGET));
	fields__number(&writer->fields, "parent_tid", model->threads.data[thread->parent].tid);
	fields__end(&writer->fields);
	return 0;
}

static int write_comm(struct writer *writer, const struct script_event *event)
{
	put_head(writer, "comm", event->time, event->thread);
	fields__end(&writer->fields);
	return 0;
}

static int write_exec(struct writer *writer, const struct script_event *event)
{
	put_head(writer, "exec", event->time, event->thread);
	fields__end(&writer->fields);
	return 0;
}

static int write_wake(struct writer *writer, const struct script_event *event)
{
	const struct model_wake *wake =
		&writer->model->threads.data[event->thread].wakes.data[event->index];

	if (writer->script->filter->classes)
		return 0;
	put_head(writer, "wake", event->time, event->thread);
	put_waker(writer, wake->waker, wake->context, wake->time);
	return put_stack(writer, wake->kernel, wake->user);
}

/* TCP held back what the thread waited for, or sent it again. */
static int write_segment(struct writer *writer, const struct script_event *event)
{
	static const char *const roles[SEGMENT_ROLE_COUNT] = {"data", "connect", "space", "request",
							      "no_answer"};
	const struct model *model = writer->model;
	const struct model_segment *segment =
		&model->threads.data[event->thread].segments.data[event->index];
	const struct model_object *object = &model->objects.data[segment->objects[0]];
	char reasons[256] = "", until[256] = "";

	if (writer->script->filter->classes)
		return 0;
	for (size_t i = 0; i < segment->n; i++) {
		format__append(reasons, sizeof(reasons), "%s%s", i ? "," : "",
			       tcp_hold__name((enum hold_reason)segment->reasons[i]));
		format__append(until, sizeof(until), "%s%" PRIu64, i ? "," : "",
			       segment->time - segment->until[i]);
	}
	put_head(writer, "segment", event->time, event->thread);
	fields__word(&writer->fields, "role", roles[segment->role]);
	fields__text(&writer->fields, "peer", model__string(model, object->name));
	fields__text(&writer->fields, "local", model__string(model, object->local));
	fields__number(&writer->fields, "writer_tid", model->threads.data[segment->writer].tid);
	fields__number(&writer->fields, "written_before_ns",
		       segment->written ? (int64_t)(segment->time - segment->written) : -1);
	fields__number(&writer->fields, "left_before_ns", (int64_t)(segment->time - segment->left));
	fields__word(&writer->fields, "reasons", reasons);
	fields__word(&writer->fields, "until_before_ns", until);
	fields__number(&writer->fields, "owner_pid", object->owner_pid);
	fields__text(&writer->fields, "owner_comm", model__string(model, object->owner));
	fields__end(&writer->fields);
	return 0;
}

static int write_sample(struct writer *writer, const struct script_event *event)
{
	const struct model_sample *sample =
		&writer->model->threads.data[event->thread].samples.data[event->index];

	if (!has_class(writer, CLASS_CPU))
		return 0;
	put_head(writer, "sample", event->time, event->thread);
	fields__word(&writer->fields, "class", wait_class__name(CLASS_CPU));
	fields__word(&writer->fields, "level", sample->kernel ? "kernel" : "user");
	fields__number(&writer->fields, "points", sample->weight);
	put_stack_end(writer, sample->kernel, sample->user);
	return put_stack(writer, sample->kernel, sample->user);
}

static void put_flags(struct writer *writer, unsigned int flags)
{
	static const struct {
		enum interval_flags flag;
		const char *name;
	} table[] = {
		{INTERVAL_PREEMPTED, "preempted"},
		{INTERVAL_FIRST, "first"},
		{INTERVAL_UNFINISHED, "unfinished"},
		{INTERVAL_BEGUN_BEFORE, "begun-before"},
		{INTERVAL_UNINTERRUPTIBLE, "uninterruptible"},
	};
	char text[128] = "";
	int n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (!(flags & table[i].flag))
			continue;
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%s", n ? "," : "",
			      table[i].name);
	}
	fields__word(&writer->fields, "flags", n ? text : "none");
}

static void put_wait(struct writer *writer, const struct model_interval *interval)
{
	bool blocked = interval->blocked_ns || interval->blocked_points;
	const char *name = syscalls__name(writer->machine, interval->syscall);
	const struct wait_description description = {
		.class = blocked ? interval->class : CLASS_SCHED,
		.flags = interval->flags,
		.syscall = interval->syscall,
		.kernel = interval->kernel,
		.object = model_interval__object(interval),
	};
	char text[512];

	if (!name) {
		snprintf(text, sizeof(text), "%d", interval->syscall);
		name = interval->syscall < 0 ? "none" : text;
	}
	fields__word(&writer->fields, "syscall", name);
	fields__text(&writer->fields, "kind",
		     kind__name(kinds__of(writer->script->kinds, &description)));
	object__text(writer->model, model_interval__object(interval), text, sizeof(text));
	fields__text(&writer->fields, "object", text);
}

static int write_interval(struct writer *writer, const struct script_event *event)
{
	const struct model_interval *interval =
		&writer->model->threads.data[event->thread].intervals.data[event->index];
	uint64_t t_wake = interval->t_out + interval->blocked_ns;
	bool blocked = interval->blocked_ns || interval->blocked_points;
	bool queued = interval->runq_ns || interval->runq_points || !blocked;
	const struct idle_waits *idle = writer->script->filter->idle;

	if (!(blocked && has_class(writer, interval->class)) &&
	    !(queued && has_class(writer, CLASS_SCHED)))
		return 0;
	put_head(writer, "interval", event->time, event->thread);
	fields__word(&writer->fields, "class",
		     wait_class__name(blocked ? interval->class : CLASS_SCHED));
	put_time(writer, "t_out", interval->t_out);
	put_time(writer, "t_wake", t_wake);
	put_time(writer, "t_in", t_wake + interval->runq_ns);
	fields__number(&writer->fields, "blocked_points", interval->blocked_points);
	fields__number(&writer->fields, "runq_points", interval->runq_points);
	fields__number(&writer->fields, "stolen_before_ns", (int64_t)interval->stolen_ns);
	fields__number(&writer->fields, "spacing", 1U << INTERVAL_SPACING(interval->flags));
	put_flags(writer, interval->flags);
	put_wait(writer, interval);
	if (idle)
		fields__word(
			&writer->fields, "idle",
			idle_reason__name(idle_waits__reason(idle, event->thread, event->index)));
	put_waker(writer, interval->waker, interval->waker_context, t_wake);
	put_stack_end(writer, interval->kernel, interval->user);
	return put_stack(writer, interval->kernel, interval->user);
}

static int write_annotation(struct writer *writer, const struct script_event *event)
{
	static const char *const names[ANNOTATION_COUNT] = {
		[ANNOTATION_NONE] = "unknown",
		[ANNOTATION_SPIN_BEGIN] = "spin-begin",
		[ANNOTATION_SPIN_END] = "spin-end",
		[ANNOTATION_SPIN_RELEASE] = "spin-release",
		[ANNOTATION_WOKEN_FOR_NOTHING] = "woken-for-nothing",
		[ANNOTATION_BEGIN] = "begin",
		[ANNOTATION_END] = "end",
		[ANNOTATION_REQUEST_BEGIN] = "request-begin",
		[ANNOTATION_REQUEST_BLOCK] = "request-block",
		[ANNOTATION_REQUEST_END] = "request-end",
		[ANNOTATION_REQUEST_END_ALL] = "request-end-all",
	};
	const struct model *model = writer->model;
	const struct model_annotation *at =
		&model->threads.data[event->thread].annotations.data[event->index];
	char address[24], queue[24];

	if (writer->script->filter->classes)
		return 0;
	put_head(writer, "annotation", event->time, event->thread);
	fields__word(&writer->fields, "type", names[at->type < ANNOTATION_COUNT ? at->type : 0]);
	snprintf(address, sizeof(address), "0x%" PRIx64, at->address);
	fields__word(&writer->fields, "address", address);
	fields__number(&writer->fields, "other_tid", model->threads.data[at->other].tid);
	if (at->name)
		fields__text(&writer->fields, "name", model__string(model, at->name));
	snprintf(queue, sizeof(queue), "0x%" PRIx64, at->queue);
	if (at->queue)
		fields__word(&writer->fields, "queue", queue);
	fields__end(&writer->fields);
	return 0;
}

/*
 * Events that are not in a thread's timeline: whether they are of a thread that is wanted, or, as
 * they may be asked for by themselves, of one that is only @helper.
 */
static bool is_wanted(const struct writer *writer, uint32_t thread, bool helper)
{
	struct sample_filter filter = *writer->script->filter;

	filter.helpers |= helper;
	return !filter.classes &&
	       sample_filter__thread(&filter, &writer->model->threads.data[thread]);
}

/* A block device was idle, until the event's thread sent it a request. */
static int write_idle(struct writer *writer, const struct script_event *event)
{
	const struct model_device *device = &writer->model->devices.data[event->device];
	const struct model_idle *idle = &device->idles.data[event->index];

	if (!is_wanted(writer, event->thread, false))
		return 0;
	put_head(writer, "idle", event->time, event->thread);
	fields__text(&writer->fields, "device", model__string(writer->model, device->name));
	put_time(writer, "t_in", idle->since + idle->ns);
	fields__number(&writer->fields, "points", idle->points);
	return put_stack(writer, idle->kernel, idle->user);
}

static int write_block(struct writer *writer, const struct script_event *event)
{
	static const char *const ops[REQUEST_OP_COUNT] = {"read", "write", "flush", "other"};
	const struct model *model = writer->model;
	const struct model_request *request = &model->requests.data[event->index];
	uint32_t device = model->devices.data[request->device].name;

	if (!is_wanted(writer, event->thread, true))
		return 0;
	put_head(writer, "block", event->time, event->thread);
	fields__text(&writer->fields, "device", model__string(model, device));
	fields__word(&writer->fields, "op",
		     ops[request->op < REQUEST_OP_COUNT ? request->op : REQUEST_OTHER]);
	fields__number(&writer->fields, "sector", (int64_t)request->sector);
	fields__number(&writer->fields, "bytes", (int64_t)request->bytes);
	fields__number(&writer->fields, "queue_ns", (int64_t)(request->issued - request->begun));
	fields__number(&writer->fields, "service_ns",
		       (int64_t)(request->completed - request->issued));
	fields__end(&writer->fields);
	return 0;
}

static int write_request(struct writer *writer, const struct script_event *event)
{
	const struct model *model = writer->model;
	const struct model_span *span = &model->spans.data[event->index];
	uint32_t peer = model->objects.data[span->object].name;
	char id[24];

	if (!is_wanted(writer, event->thread, true))
		return 0;
	put_head(writer, "request", event->time, event->thread);
	fields__text(&writer->fields, "source", model__string(model, span->name));
	snprintf(id, sizeof(id), "%" PRIu64, span->id);
	if (span->n_parts && span->id > INT64_MAX)
		fields__word(&writer->fields, "id", id);
	else if (span->n_parts)
		fields__number(&writer->fields, "id", (int64_t)span->id);
	put_time(writer, "t_arrived", span->arrived);
	put_time(writer, "t_begun", span->begun);
	fields__number(&writer->fields, "length_ns", (int64_t)(span->ended - span->arrived));
	fields__number(&writer->fields, "begun_by_tid", model->threads.data[span->begun_by].tid);
	if (peer)
		fields__text(&writer->fields, "peer", model__string(model, peer));
	fields__end(&writer->fields);
	return 0;
}

static int write_exit(struct writer *writer, const struct script_event *event)
{
	const struct model_thread *thread = &writer->model->threads.data[event->thread];

	put_head(writer, "exit", event->time, event->thread);
	fields__number(&writer->fields, "exited", thread->exited);
	fields__number(&writer->fields, "lifetime_ns", (int64_t)(thread->ended - thread->created));
	for (int class = 0; class < CLASS_COUNT; class ++) {
		char key[32];

		snprintf(key, sizeof(key), "%s_ns", wait_class__name(class));
		fields__number(&writer->fields, key, (int64_t)thread->ns[class]);
	}
	fields__number(&writer->fields, "stolen_ns", (int64_t)thread->stolen_ns);
	fields__number(&writer->fields, "last_stolen_ns", (int64_t)thread->last_stolen_ns);
	fields__number(&writer->fields, "not_seen_ns", (int64_t)thread->unseen_ns);
	fields__number(&writer->fields, "voluntary", (int64_t)thread->voluntary);
	fields__number(&writer->fields, "involuntary", (int64_t)thread->involuntary);
	fields__end(&writer->fields);
	return 0;
}

static int (*const writers[LINE_COUNT])(struct writer *, const struct script_event *) = {
	[LINE_THREAD] = write_thread,	  [LINE_COMM] = write_comm,
	[LINE_EXEC] = write_exec,	  [LINE_WAKE] = write_wake,
	[LINE_SEGMENT] = write_segment,	  [LINE_SAMPLE] = write_sample,
	[LINE_INTERVAL] = write_interval, [LINE_ANNOTATION] = write_annotation,
	[LINE_EXIT] = write_exit,	  [LINE_IDLE] = write_idle,
	[LINE_BLOCK] = write_block,	  [LINE_REQUEST] = write_request,
};

/* The end of @event: intervals that overlap the time window are printed. */
static uint64_t event_end(const struct writer *writer, const struct script_event *event)
{
	const struct model_interval *interval;

	if (event->kind != LINE_INTERVAL)
		return event->time;
	interval = &writer->model->threads.data[event->thread].intervals.data[event->index];
	return interval->t_out + interval->blocked_ns + interval->runq_ns;
}

static bool passes_filter(const struct writer *writer, const struct script_event *event)
{
	const struct model_thread *thread = &writer->model->threads.data[event->thread];
	uint32_t comm = model_thread__comm(thread, event->time);

	if (event->time >= writer->until || event_end(writer, event) < writer->from)
		return false;
	return sample_filter__comm(writer->script->filter, model__string(writer->model, comm));
}

int script__write(const struct script *script, FILE *to)
{
	const struct sample_filter *filter = script->filter;
	struct writer writer = {
		.script = script,
		.model = script->model,
		.machine = model__meta(script->model, "machine"),
		.fields = {.to = to, .json = script->json},
		.from = filter->from ? script->model->start + filter->from : 0,
		.until = filter->until ? script->model->start + filter->until : MODEL_FOREVER,
	};
	const struct script_event *event;
	struct script_events events = {};
	int err = script_events__begin(&events, script->model, filter);

	while (!err && (event = script_events__first(&events))) {
		if (passes_filter(&writer, event))
			err = writers[event->kind](&writer, event);
		script_events__advance(&events);
		/* A closed pipe ends the output. */
		if (ferror(to))
			break;
	}
	script_events__free(&events);
	return err;
}
