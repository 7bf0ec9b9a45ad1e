// SPDX-License-Identifier: BSD-2-Clause
#include "render/export/script.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/callchain.h"
#include "base/syscalls.h"
#include "recording/stack_end.h"
#include "recording/wait_class.h"
#include "render/export/fields.h"
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
	"  idle      a block device had nothing in flight until t_in, when the thread sent\n"
	"            it a request; the stack is the sender's\n"
	"  annotation  the program reported busy waiting or a false wakeup (dwell.h)\n"
	"  exit      the thread ended, or the recording (exited=0); has the exact times\n"
	"\n"
	"With --json each event is one JSON object on one line; times are *_ns.\n";

/* The kinds of lines. Lines of one thread at the same time are in this order. */
enum line_kind {
	LINE_THREAD,
	LINE_COMM,
	LINE_EXEC,
	LINE_WAKE,
	LINE_SAMPLE,
	LINE_INTERVAL,
	LINE_ANNOTATION,
	LINE_EXIT,
	LINE_IDLE, /* of a device */
	LINE_COUNT,
};

/* The next event of one kind of one thread: an entry of the merge heap. */
struct next_event {
	uint64_t time;
	uint32_t thread;
	uint32_t device; /* of LINE_IDLE */
	uint32_t kind;	 /* enum line_kind */
	size_t index;
};

struct writer {
	const struct script *script;
	const struct model *model;
	const char *machine;
	struct fields fields;
	ARRAY(struct next_event) heap; /* the earliest first */
	uint64_t from;
	uint64_t until;
};

static bool event_precedes(const struct next_event *a, const struct next_event *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	if (a->thread != b->thread)
		return a->thread < b->thread;
	return a->kind < b->kind;
}

static void sift_down(struct writer *writer, size_t at)
{
	struct next_event *heap = writer->heap.data;

	for (;;) {
		size_t least = at;

		for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++)
			if (child < writer->heap.n && event_precedes(&heap[child], &heap[least]))
				least = child;
		if (least == at)
			return;
		struct next_event moved = heap[at];

		heap[at] = heap[least];
		heap[least] = moved;
		at = least;
	}
}

/* Sets @next to event @next->index of its kind; false if there is none. */
static bool event_set(struct next_event *next, const struct model *model)
{
	const struct model_thread *thread = &model->threads.data[next->thread];
	const struct model_device *device = &model->devices.data[next->device];
	size_t i = next->index;
	bool there = false;

	switch (next->kind) {
	case LINE_THREAD:
		there = i < 1 && thread->announced;
		next->time = thread->created;
		break;
	case LINE_COMM:
		/* The first name is part of LINE_THREAD. */
		there = i + 1 < thread->comms.n;
		next->time = there ? thread->comms.data[i + 1].time : 0;
		break;
	case LINE_EXEC:
		there = i < thread->execs.n;
		next->time = there ? thread->execs.data[i].time : 0;
		break;
	case LINE_WAKE:
		there = i < thread->wakes.n;
		next->time = there ? thread->wakes.data[i].time : 0;
		break;
	case LINE_SAMPLE:
		there = i < thread->samples.n;
		next->time = there ? thread->samples.data[i].time : 0;
		break;
	case LINE_INTERVAL:
		there = i < thread->intervals.n;
		next->time = there ? thread->intervals.data[i].t_out : 0;
		break;
	case LINE_ANNOTATION:
		there = i < thread->annotations.n;
		next->time = there ? thread->annotations.data[i].time : 0;
		break;
	case LINE_EXIT:
		there = i < 1 && thread->has_totals;
		next->time = thread->ended;
		break;
	case LINE_IDLE:
		there = i < device->idles.n;
		next->time = there ? device->idles.data[i].since : 0;
		next->thread = there ? device->idles.data[i].thread : 0;
		break;
	}
	return there;
}

static int fill_heap(struct writer *writer)
{
	const struct model *model = writer->model;

	for (size_t i = 1; i < model->threads.n; i++) {
		const struct model_thread *thread = &model->threads.data[i];

		if (!sample_filter__thread(writer->script->filter, thread))
			continue;
		for (uint32_t kind = 0; kind < LINE_IDLE; kind++) {
			struct next_event next = {.thread = (uint32_t)i, .kind = kind};

			if (event_set(&next, model) && array__push(&writer->heap, next))
				return -ENOMEM;
		}
	}
	for (uint32_t i = 1; i < model->devices.n; i++) {
		struct next_event next = {.device = i, .kind = LINE_IDLE};

		if (event_set(&next, model) && array__push(&writer->heap, next))
			return -ENOMEM;
	}
	for (size_t i = writer->heap.n / 2 + 1; i--;)
		sift_down(writer, i);
	return 0;
}

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
	static const char *const contexts[] = {
		[WAKER_UNKNOWN] = "unknown", [WAKER_TASK] = "task", [WAKER_SOFTIRQ] = "softirq",
		[WAKER_HARDIRQ] = "hardirq", [WAKER_NMI] = "nmi",
	};
	const struct model *model = writer->model;
	const struct model_thread *thread = &model->threads.data[waker];

	fields__word(&writer->fields, "waker_context",
		     context < ARRAY_SIZE(contexts) ? contexts[context] : "unknown");
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

static int write_thread(struct writer *writer, const struct next_event *event)
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

static int write_comm(struct writer *writer, const struct next_event *event)
{
	put_head(writer, "comm", event->time, event->thread);
	fields__end(&writer->fields);
	return 0;
}

static int write_exec(struct writer *writer, const struct next_event *event)
{
	put_head(writer, "exec", event->time, event->thread);
	fields__end(&writer->fields);
	return 0;
}

static int write_wake(struct writer *writer, const struct next_event *event)
{
	const struct model_wake *wake =
		&writer->model->threads.data[event->thread].wakes.data[event->index];

	if (writer->script->filter->classes)
		return 0;
	put_head(writer, "wake", event->time, event->thread);
	put_waker(writer, wake->waker, wake->context, wake->time);
	return put_stack(writer, wake->kernel, wake->user);
}

static int write_sample(struct writer *writer, const struct next_event *event)
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
		.object = interval->object,
	};
	char text[512];

	if (!name) {
		snprintf(text, sizeof(text), "%d", interval->syscall);
		name = interval->syscall < 0 ? "none" : text;
	}
	fields__word(&writer->fields, "syscall", name);
	fields__text(&writer->fields, "kind",
		     kind__name(kinds__of(writer->script->kinds, &description)));
	object__text(writer->model, interval->object, text, sizeof(text));
	fields__text(&writer->fields, "object", text);
}

static int write_interval(struct writer *writer, const struct next_event *event)
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

static int write_annotation(struct writer *writer, const struct next_event *event)
{
	static const char *const names[ANNOTATION_COUNT] = {
		[ANNOTATION_NONE] = "unknown",
		[ANNOTATION_SPIN_BEGIN] = "spin-begin",
		[ANNOTATION_SPIN_END] = "spin-end",
		[ANNOTATION_SPIN_RELEASE] = "spin-release",
		[ANNOTATION_WOKEN_FOR_NOTHING] = "woken-for-nothing",
		[ANNOTATION_BEGIN] = "begin",
		[ANNOTATION_END] = "end",
	};
	const struct model *model = writer->model;
	const struct model_annotation *at =
		&model->threads.data[event->thread].annotations.data[event->index];
	char address[24];

	if (writer->script->filter->classes)
		return 0;
	put_head(writer, "annotation", event->time, event->thread);
	fields__word(&writer->fields, "type", names[at->type < ANNOTATION_COUNT ? at->type : 0]);
	snprintf(address, sizeof(address), "0x%" PRIx64, at->address);
	fields__word(&writer->fields, "address", address);
	fields__number(&writer->fields, "other_tid", model->threads.data[at->other].tid);
	if (at->name)
		fields__text(&writer->fields, "name", model__string(model, at->name));
	fields__end(&writer->fields);
	return 0;
}

/* A block device was idle, until the event's thread sent it a request. */
static int write_idle(struct writer *writer, const struct next_event *event)
{
	const struct model_device *device = &writer->model->devices.data[event->device];
	const struct model_idle *idle = &device->idles.data[event->index];

	if (writer->script->filter->classes ||
	    !sample_filter__thread(writer->script->filter,
				   &writer->model->threads.data[event->thread]))
		return 0;
	put_head(writer, "idle", event->time, event->thread);
	fields__text(&writer->fields, "device", model__string(writer->model, device->name));
	put_time(writer, "t_in", idle->since + idle->ns);
	fields__number(&writer->fields, "points", idle->points);
	return put_stack(writer, idle->kernel, idle->user);
}

static int write_exit(struct writer *writer, const struct next_event *event)
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
	fields__number(&writer->fields, "voluntary", (int64_t)thread->voluntary);
	fields__number(&writer->fields, "involuntary", (int64_t)thread->involuntary);
	fields__end(&writer->fields);
	return 0;
}

static int (*const writers[LINE_COUNT])(struct writer *, const struct next_event *) = {
	[LINE_THREAD] = write_thread,
	[LINE_COMM] = write_comm,
	[LINE_EXEC] = write_exec,
	[LINE_WAKE] = write_wake,
	[LINE_SAMPLE] = write_sample,
	[LINE_INTERVAL] = write_interval,
	[LINE_ANNOTATION] = write_annotation,
	[LINE_EXIT] = write_exit,
	[LINE_IDLE] = write_idle,
};

/* The end of @event: intervals that overlap the time window are printed. */
static uint64_t event_end(const struct writer *writer, const struct next_event *event)
{
	const struct model_interval *interval;

	if (event->kind != LINE_INTERVAL)
		return event->time;
	interval = &writer->model->threads.data[event->thread].intervals.data[event->index];
	return interval->t_out + interval->blocked_ns + interval->runq_ns;
}

static bool passes_filter(const struct writer *writer, const struct next_event *event)
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
	int err = fill_heap(&writer);

	while (writer.heap.n && !err) {
		struct next_event *next = &writer.heap.data[0];

		if (passes_filter(&writer, next))
			err = writers[next->kind](&writer, next);
		next->index++;
		if (!event_set(next, writer.model))
			*next = writer.heap.data[--writer.heap.n];
		sift_down(&writer, 0);
		/* A closed pipe ends the output. */
		if (ferror(to))
			break;
	}
	array__free(&writer.heap);
	return err;
}
