// SPDX-License-Identifier: BSD-2-Clause
#include "render/export/script.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/callchain.h"
#include "base/syscalls.h"
#include "recording/wait_class.h"
#include "render/export/fields.h"
#include "render/format.h"
#include "render/header.h"
#include "render/report/report.h"

const char script_format[] =
	"One event is one line: its name, then key=value fields in a fixed order; new\n"
	"fields are only ever added at the end. Text is in double quotes, with \\\" \\\\ \\n \\t\n"
	"and \\xNN. Times are seconds since the recording began. Lines that begin with a\n"
	"tab are the event's stack, innermost frame first: address, function, (file),\n"
	"and, where known, SOURCE:LINE; \"inlined\" ends a function inlined into the next.\n"
	"\n"
	"  thread    a thread was created or first seen\n"
	"  exec      it runs another program from now on\n"
	"  comm      it has another name from now on\n"
	"  sample    it was found running (class cpu): points it stands for\n"
	"  interval  it was off the CPU: blocked from t_out to t_wake (class, blocked_points),\n"
	"            then waiting for a CPU until t_in (runq_points); time is t_out\n"
	"  wake      it was woken; the stack is the waker's\n"
	"  idle      a block device had nothing in flight until t_in, when the thread fed it\n"
	"  annotation  the program told of busy waiting or a false wakeup (dwell.h)\n"
	"  exit      it ended, or the recording did (exited=0): its exact times\n"
	"\n"
	"With --json each event is one JSON object on one line; times are *_ns.\n";

/* Where the next event of a thread comes from, in order at equal times. */
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

/* The next event of one source of one thread. */
struct upcoming {
	uint64_t time;
	uint32_t thread;
	uint32_t device; /* of LINE_IDLE */
	uint32_t source; /* enum line_kind */
	size_t index;
};

struct writer {
	const struct script *script;
	const struct model *model;
	const char *machine;
	struct fields fields;
	ARRAY(struct upcoming) heap; /* the earliest first */
	uint64_t from;
	uint64_t until;
};

static bool upcoming__before(const struct upcoming *a, const struct upcoming *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	if (a->thread != b->thread)
		return a->thread < b->thread;
	return a->source < b->source;
}

static void heap__sink(struct writer *writer, size_t at)
{
	struct upcoming *heap = writer->heap.data;

	for (;;) {
		size_t least = at;

		for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++)
			if (child < writer->heap.n && upcoming__before(&heap[child], &heap[least]))
				least = child;
		if (least == at)
			return;
		struct upcoming moved = heap[at];

		heap[at] = heap[least];
		heap[least] = moved;
		at = least;
	}
}

/* Sets @next to event @next->index of its source; false: there is none. */
static bool upcoming__set(struct upcoming *next, const struct model *model)
{
	const struct model_thread *thread = &model->threads.data[next->thread];
	const struct model_device *device = &model->devices.data[next->device];
	size_t i = next->index;
	bool there = false;

	switch (next->source) {
	case LINE_THREAD:
		there = i < 1 && thread->announced;
		next->time = thread->created;
		break;
	case LINE_COMM:
		/* The first is the one of LINE_THREAD. */
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

static int writer__fill(struct writer *writer)
{
	const struct model *model = writer->model;

	for (size_t i = 1; i < model->threads.n; i++) {
		const struct model_thread *thread = &model->threads.data[i];

		if (!sample_filter__thread(writer->script->filter, thread))
			continue;
		for (uint32_t source = 0; source < LINE_IDLE; source++) {
			struct upcoming next = {.thread = (uint32_t)i, .source = source};

			if (upcoming__set(&next, model) && array__push(&writer->heap, next))
				return -ENOMEM;
		}
	}
	for (uint32_t i = 1; i < model->devices.n; i++) {
		struct upcoming next = {.device = i, .source = LINE_IDLE};

		if (upcoming__set(&next, model) && array__push(&writer->heap, next))
			return -ENOMEM;
	}
	for (size_t i = writer->heap.n / 2 + 1; i--;)
		heap__sink(writer, i);
	return 0;
}

static void put__time(struct writer *writer, const char *key, uint64_t time)
{
	fields__time(&writer->fields, key, (int64_t)(time - writer->model->start));
}

static void put__head(struct writer *writer, const char *event, uint64_t time,
		      uint32_t thread_index)
{
	const struct model *model = writer->model;
	const struct model_thread *thread = &model->threads.data[thread_index];
	uint32_t comm = model_thread__comm(thread, time);

	fields__begin(&writer->fields, event);
	put__time(writer, "time", time);
	fields__number(&writer->fields, "pid", thread->tgid);
	fields__number(&writer->fields, "tid", thread->tid);
	fields__text(&writer->fields, "comm", model__string(model, comm));
}

static void put__waker(struct writer *writer, uint32_t waker, uint32_t context, uint64_t time)
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

static void put__frame_text(struct writer *writer, const struct callchain_frame *frame)
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

static void put__frame_json(struct writer *writer, const struct callchain_frame *frame, bool first)
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
static int put__stack(struct writer *writer, uint32_t kernel, uint32_t user)
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
			put__frame_json(writer, &chain.frames.data[i], !i);
		else
			put__frame_text(writer, &chain.frames.data[i]);
	}
	fputs(writer->script->json ? "]}\n" : "", writer->fields.to);
	callchain__free(&chain);
	return err;
}

static void put__ends(struct writer *writer, uint32_t kernel, uint32_t user)
{
	const struct model *model = writer->model;
	uint32_t stack = user ? user : kernel;

	fields__word(&writer->fields, "stack_end",
		     stack_end__name(stack ? model->stacks.data[stack].end : STACK_COMPLETE));
}

static bool writer__class(const struct writer *writer, enum wait_class class)
{
	unsigned int classes = writer->script->filter->classes;

	return !classes || classes & 1U << class;
}

static int write__thread(struct writer *writer, const struct upcoming *event)
{
	const struct model *model = writer->model;
	const struct model_thread *thread = &model->threads.data[event->thread];

	put__head(writer, "thread", event->time, event->thread);
	fields__number(&writer->fields, "created", !!(thread->flags & THREAD_CREATED));
	fields__number(&writer->fields, "kernel", !!(thread->flags & THREAD_KERNEL));
	fields__number(&writer->fields, "target", !!(thread->flags & THREAD_TARGET));
	fields__number(&writer->fields, "parent_tid", model->threads.data[thread->parent].tid);
	fields__end(&writer->fields);
	return 0;
}

static int write__comm(struct writer *writer, const struct upcoming *event)
{
	put__head(writer, "comm", event->time, event->thread);
	fields__end(&writer->fields);
	return 0;
}

static int write__exec(struct writer *writer, const struct upcoming *event)
{
	put__head(writer, "exec", event->time, event->thread);
	fields__end(&writer->fields);
	return 0;
}

static int write__wake(struct writer *writer, const struct upcoming *event)
{
	const struct model_wake *wake =
		&writer->model->threads.data[event->thread].wakes.data[event->index];

	if (writer->script->filter->classes)
		return 0;
	put__head(writer, "wake", event->time, event->thread);
	put__waker(writer, wake->waker, wake->context, wake->time);
	return put__stack(writer, wake->kernel, wake->user);
}

static int write__sample(struct writer *writer, const struct upcoming *event)
{
	const struct model_sample *sample =
		&writer->model->threads.data[event->thread].samples.data[event->index];

	if (!writer__class(writer, CLASS_CPU))
		return 0;
	put__head(writer, "sample", event->time, event->thread);
	fields__word(&writer->fields, "class", wait_class__name(CLASS_CPU));
	fields__word(&writer->fields, "level", sample->kernel ? "kernel" : "user");
	fields__number(&writer->fields, "points", sample->weight);
	put__ends(writer, sample->kernel, sample->user);
	return put__stack(writer, sample->kernel, sample->user);
}

static void put__flags(struct writer *writer, unsigned int flags)
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

static void put__wait(struct writer *writer, const struct model_interval *interval)
{
	bool blocked = interval->blocked_ns || interval->blocked_points;
	const char *name = syscalls__name(writer->machine, interval->syscall);
	const struct kind_question question = {
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
		     kind__name(kinds__of(writer->script->kinds, &question)));
	object__text(writer->model, interval->object, text, sizeof(text));
	fields__text(&writer->fields, "object", text);
}

static int write__interval(struct writer *writer, const struct upcoming *event)
{
	const struct model_interval *interval =
		&writer->model->threads.data[event->thread].intervals.data[event->index];
	uint64_t t_wake = interval->t_out + interval->blocked_ns;
	bool blocked = interval->blocked_ns || interval->blocked_points;
	bool queued = interval->runq_ns || interval->runq_points || !blocked;

	if (!(blocked && writer__class(writer, interval->class)) &&
	    !(queued && writer__class(writer, CLASS_SCHED)))
		return 0;
	put__head(writer, "interval", event->time, event->thread);
	fields__word(&writer->fields, "class",
		     wait_class__name(blocked ? interval->class : CLASS_SCHED));
	put__time(writer, "t_out", interval->t_out);
	put__time(writer, "t_wake", t_wake);
	put__time(writer, "t_in", t_wake + interval->runq_ns);
	fields__number(&writer->fields, "blocked_points", interval->blocked_points);
	fields__number(&writer->fields, "runq_points", interval->runq_points);
	fields__number(&writer->fields, "spacing", 1U << INTERVAL_SPACING(interval->flags));
	put__flags(writer, interval->flags);
	put__wait(writer, interval);
	put__waker(writer, interval->waker, interval->waker_context, t_wake);
	put__ends(writer, interval->kernel, interval->user);
	return put__stack(writer, interval->kernel, interval->user);
}

static int write__annotation(struct writer *writer, const struct upcoming *event)
{
	static const char *const names[ANNOTATION_COUNT] = {
		[ANNOTATION_NONE] = "unknown",
		[ANNOTATION_SPIN_BEGIN] = "spin-begin",
		[ANNOTATION_SPIN_END] = "spin-end",
		[ANNOTATION_SPIN_RELEASE] = "spin-release",
		[ANNOTATION_WOKEN_FOR_NOTHING] = "woken-for-nothing",
	};
	const struct model *model = writer->model;
	const struct model_annotation *at =
		&model->threads.data[event->thread].annotations.data[event->index];
	char address[24];

	if (writer->script->filter->classes)
		return 0;
	put__head(writer, "annotation", event->time, event->thread);
	fields__word(&writer->fields, "type", names[at->type < ANNOTATION_COUNT ? at->type : 0]);
	snprintf(address, sizeof(address), "0x%" PRIx64, at->address);
	fields__word(&writer->fields, "address", address);
	fields__number(&writer->fields, "other_tid", model->threads.data[at->other].tid);
	fields__end(&writer->fields);
	return 0;
}

/* A device had nothing to do, until the thread whose event this is gave it something. */
static int write__idle(struct writer *writer, const struct upcoming *event)
{
	const struct model_device *device = &writer->model->devices.data[event->device];
	const struct model_idle *idle = &device->idles.data[event->index];

	if (writer->script->filter->classes ||
	    !sample_filter__thread(writer->script->filter,
				   &writer->model->threads.data[event->thread]))
		return 0;
	put__head(writer, "idle", event->time, event->thread);
	fields__text(&writer->fields, "device", model__string(writer->model, device->name));
	put__time(writer, "t_in", idle->since + idle->ns);
	fields__number(&writer->fields, "points", idle->points);
	return put__stack(writer, idle->kernel, idle->user);
}

static int write__exit(struct writer *writer, const struct upcoming *event)
{
	const struct model_thread *thread = &writer->model->threads.data[event->thread];

	put__head(writer, "exit", event->time, event->thread);
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

static int (*const writers[LINE_COUNT])(struct writer *, const struct upcoming *) = {
	[LINE_THREAD] = write__thread,
	[LINE_COMM] = write__comm,
	[LINE_EXEC] = write__exec,
	[LINE_WAKE] = write__wake,
	[LINE_SAMPLE] = write__sample,
	[LINE_INTERVAL] = write__interval,
	[LINE_ANNOTATION] = write__annotation,
	[LINE_EXIT] = write__exit,
	[LINE_IDLE] = write__idle,
};

/* The end of @event: intervals that reach into the window belong to it. */
static uint64_t writer__end(const struct writer *writer, const struct upcoming *event)
{
	const struct model_interval *interval;

	if (event->source != LINE_INTERVAL)
		return event->time;
	interval = &writer->model->threads.data[event->thread].intervals.data[event->index];
	return interval->t_out + interval->blocked_ns + interval->runq_ns;
}

static bool writer__passes(const struct writer *writer, const struct upcoming *event)
{
	const struct model_thread *thread = &writer->model->threads.data[event->thread];
	uint32_t comm = model_thread__comm(thread, event->time);

	if (event->time >= writer->until || writer__end(writer, event) < writer->from)
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
	int err = writer__fill(&writer);

	while (writer.heap.n && !err) {
		struct upcoming *next = &writer.heap.data[0];

		if (writer__passes(&writer, next))
			err = writers[next->source](&writer, next);
		next->index++;
		if (!upcoming__set(next, writer.model))
			*next = writer.heap.data[--writer.heap.n];
		heap__sink(&writer, 0);
		/* Nobody reads on: a closed pipe ends the work. */
		if (ferror(to))
			break;
	}
	array__free(&writer.heap);
	return err;
}
