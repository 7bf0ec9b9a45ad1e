// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/translate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "collect/record/translator.h"

#define KEPT_THREADS 4096 /* after their end */
#define FEW_ORIGINS  1024 /* are not worth being checked */
/* How many are remembered: once to twice as many. */
#define MANY_STACKS 16384
#define MANY_FILES  4096

int translator__new(struct record_stream *stream, struct translator **out)
{
	struct translator *translator = calloc(1, sizeof(*translator));

	if (!translator)
		return -ENOMEM;
	if (leaving_map__init(&translator->threads, KEPT_THREADS)) {
		free(translator);
		return -ENOMEM;
	}
	translator->stream = stream;
	translator->objects.stream = stream;
	*out = translator;
	return 0;
}

void translator__set_sources(struct translator *translator, const struct span_sources *sources)
{
	translator->sources = sources;
}

uint64_t translator__spans(const struct translator *translator, size_t index)
{
	return translator->spans[index];
}

uint64_t translator__events(const struct translator *translator)
{
	return translator->events;
}

uint32_t translator__comm(struct translator *translator, const char comm[DWELL_COMM_SIZE])
{
	char text[DWELL_COMM_SIZE + 1];

	memcpy(text, comm, DWELL_COMM_SIZE);
	text[DWELL_COMM_SIZE] = '\0';
	return record_stream__string(translator->stream, text);
}

uint32_t translator__write_dso(struct record_stream *stream, const struct code_origin *origin)
{
	static const uint8_t kinds[] = {
		[CODE_FILE] = DSO_FILE, [CODE_GENERATED] = DSO_JIT, [CODE_VDSO] = DSO_VDSO};
	struct record_dso dso = {
		.kind = kinds[origin->kind], .pid = origin->pid, .deleted = origin->deleted};

	dso.path = record_stream__string(stream, origin->path);
	if (origin->kind == CODE_FILE)
		dso.build_id = record_stream__string(stream, origin->build_id);
	return record_stream__dso(stream, &dso);
}

/* The DSO of @origin in the recording, written at the first call. */
static uint32_t dso_number(struct translator *translator, const struct code_origin *origin)
{
	const uint64_t *known = map64__get(&translator->dsos, origin->number);
	uint32_t number;

	if (known)
		return (uint32_t)*known;
	number = translator__write_dso(translator->stream, origin);
	if (number) /* without memory, it is found again by the stream */
		map64__put(&translator->dsos, origin->number, number);
	return number;
}

void translator__mapping(struct translator *translator, const struct code_mapping *mapping)
{
	struct record record = {
		.type = RECORD_MAP,
		.map = {.pid = mapping->pid,
			.time = mapping->time,
			.start = mapping->start,
			.size = mapping->size,
			.offset = mapping->offset,
			.dso = dso_number(translator, mapping->origin)},
	};

	record_stream__put(translator->stream, &record);
}

bool translator__knows_many(const struct translator *translator)
{
	return record_stream__stacks(translator->stream) >= MANY_STACKS ||
	       aging_map__young(&translator->objects.files) >= MANY_FILES;
}

void translator__forget_unused(struct translator *translator)
{
	record_stream__forget_stacks(translator->stream);
	aging_map__age(&translator->objects.files);
	if (translator->addresses)
		addresses__forget_unused(translator->addresses);
}

void translator__forget_origins(struct translator *translator, const struct address_spaces *spaces)
{
	const struct map64 *dsos = &translator->dsos;
	ARRAY(uint32_t) gone = {};

	if (dsos->n < 2 * translator->dsos_checked + FEW_ORIGINS)
		return;
	for (size_t i = 0; i < dsos->capacity; i++)
		if (dsos->slots[i].used &&
		    !address_spaces__origin(spaces, (uint32_t)dsos->slots[i].key) &&
		    array__push(&gone, (uint32_t)dsos->slots[i].key))
			break;
	for (size_t i = 0; i < gone.n; i++)
		map64__remove(&translator->dsos, gone.data[i]);
	array__free(&gone);
	translator->dsos_checked = dsos->n;
}

static void name_thread(struct translator *translator, uint32_t tid, uint32_t thread)
{
	uint64_t *known = map64__put(&translator->tids, tid, thread);

	if (known)
		*known = thread;
}

static void on_thread(struct translator *translator, const struct event_thread *event)
{
	struct known_thread *thread = translator__thread(translator, event->header.thread);
	struct record record = {
		.type = RECORD_THREAD,
		.thread = {.thread = event->header.thread,
			   .tid = event->tid,
			   .tgid = event->tgid,
			   .parent = event->parent,
			   .flags = event->flags & ~(uint32_t)THREAD_OCCUPANT,
			   .comm = translator__comm(translator, event->comm),
			   .time = event->header.time},
	};

	if (!thread)
		return;
	/* The final walk over all tasks sends every thread again, without its parent. */
	if (thread->announced && !event->parent)
		return;
	thread->tid = event->tid;
	thread->tgid = event->tgid;
	thread->announced = event->flags & THREAD_TARGET;
	if (thread->announced)
		name_thread(translator, event->tid, event->header.thread);
	record_stream__put(translator->stream, &record);
}

static void on_exec(struct translator *translator, const struct event_exec *event)
{
	struct known_thread *thread = translator__find_thread(translator, event->header.thread);
	struct record record = {
		.type = RECORD_EXEC,
		.exec = {.thread = event->header.thread,
			 .tid = event->tid,
			 .comm = translator__comm(translator, event->comm),
			 .time = event->header.time},
	};

	if (thread)
		thread->tid = thread->tgid = event->tid;
	name_thread(translator, event->tid, event->header.thread);
	record_stream__put(translator->stream, &record);
}

static void on_comm(struct translator *translator, const struct event_comm *event)
{
	struct record record = {
		.type = RECORD_COMM,
		.comm = {.thread = event->header.thread,
			 .comm = translator__comm(translator, event->comm),
			 .time = event->header.time},
	};

	record_stream__put(translator->stream, &record);
}

void translator__put_totals(struct translator *translator, const struct event_totals *event)
{
	struct record record = {
		.type = RECORD_TOTALS,
		.totals = {.thread = event->header.thread,
			   .flags = event->flags & (uint16_t)~TOTALS_PROVISIONAL,
			   .time = event->header.time,
			   .stolen_ns = event->stolen,
			   .last_stolen_ns = event->last_stolen,
			   .unseen = event->unseen,
			   .sequence = event->sequence,
			   .voluntary = event->voluntary,
			   .involuntary = event->involuntary},
	};

	memcpy(record.totals.ns, event->ns, sizeof(record.totals.ns));
	record_stream__put(translator->stream, &record);
}

static void forget_totals(struct known_thread *thread)
{
	free(thread->exiting);
	thread->exiting = NULL;
}

/* Events of different CPUs are not in the order of their times. */
static void keep_totals(struct known_thread *thread, const struct event_totals *event)
{
	if (thread->has_totals ||
	    (thread->exiting && thread->exiting->header.time > event->header.time))
		return;
	forget_totals(thread);
	thread->exiting = malloc(sizeof(*event));
	if (thread->exiting)
		*thread->exiting = *event;
}

static void was_there(struct known_thread *thread, uint64_t time)
{
	if (thread && thread->last < time)
		thread->last = time;
}

static void on_totals(struct translator *translator, const struct event_totals *event)
{
	struct known_thread *thread = translator__thread(translator, event->header.thread);

	if (!thread)
		return;
	thread->exited = event->flags & TOTALS_EXITED;
	was_there(thread, event->header.time);
	if (event->flags & TOTALS_PROVISIONAL) {
		keep_totals(thread, event);
		translator__thread_ended(translator, event->header.thread);
		return;
	}
	forget_totals(thread);
	thread->has_totals = true;
	translator__put_totals(translator, event);
	if (thread->exited)
		translator__thread_ended(translator, event->header.thread);
}

/*
 * Sets *@kernel and *@user to the stacks of an event of @who, and writes the frames that it has in
 * @sent, of which there are @left bytes. False: the event is malformed.
 */
static bool take_stacks(struct translator *translator, const struct event_stack *stack,
			const struct stack_user *who, const __u64 *sent, size_t left,
			uint32_t *kernel, uint32_t *user)
{
	const uint64_t *frames = (const void *)sent;
	const struct record_stack kernel_frames = {.frames = frames,
						   .depth = stack->kernel_depth,
						   .kernel = 1,
						   .end = stack->kernel_end};
	const struct record_stack user_frames = {.frames = frames + stack->kernel_depth,
						 .depth = stack->user_depth,
						 .end = stack->user_end};

	if (((size_t)stack->kernel_depth + stack->user_depth) * sizeof(*frames) > left)
		return false;
	*kernel = *user = 0;
	if (stack->kernel_hash)
		*kernel = record_stream__stack_by_hash(translator->stream, stack->kernel_hash);
	if (stack->user_hash)
		*user = record_stream__stack_by_hash(translator->stream, stack->user_hash);
	if (stack->kernel_depth)
		translator__frames(translator, who, stack->kernel_hash, &kernel_frames);
	if (stack->user_depth)
		translator__frames(translator, who, stack->user_hash, &user_frames);
	return true;
}

static void on_sample(struct translator *translator, const struct event_sample *event, size_t size)
{
	struct record record = {
		.type = RECORD_SAMPLE,
		.sample = {.thread = event->header.thread,
			   .weight = event->weight,
			   .time = event->header.time},
	};
	const struct stack_user who = {.thread = event->header.thread, .time = event->header.time};

	/* The end of a recording is after its last sample. */
	was_there(translator__thread(translator, event->header.thread), event->header.time + 1);
	translator__refer(translator, &who, event->stack.user_hash, true);
	if (take_stacks(translator, &event->stack, &who, event->frames, size - sizeof(*event),
			&record.sample.kernel_stack, &record.sample.user_stack))
		record_stream__put(translator->stream, &record);
}

static void on_wake(struct translator *translator, const struct event_wake *event, size_t size)
{
	struct record record = {
		.type = RECORD_WAKE,
		.wake = {.thread = event->header.thread,
			 .waker = event->waker,
			 .context = event->context,
			 .time = event->header.time},
	};
	const struct stack_user who = {.thread = event->waker, .time = event->header.time};

	translator__refer(translator, &who, event->stack.user_hash, true);
	if (take_stacks(translator, &event->stack, &who, event->frames, size - sizeof(*event),
			&record.wake.kernel_stack, &record.wake.user_stack))
		record_stream__put(translator->stream, &record);
}

static void on_stacks(struct translator *translator, const struct event_stacks *event, size_t size)
{
	const struct stack_user who = {
		.pid = event->pid, .thread = event->header.thread, .time = event->header.time};
	uint32_t kernel, user;

	take_stacks(translator, &event->stack, &who, event->frames, size - sizeof(*event), &kernel,
		    &user);
}

/* The process that ended a wait for any child, or 0. */
static uint32_t waited_child(const struct translator *translator,
			     const struct event_interval *event)
{
	const struct known_thread *waker;

	if ((event->syscall != SYS_wait4 && event->syscall != SYS_waitid) ||
	    event->waker_context != WAKER_TASK)
		return 0;
	waker = translator__find_thread(translator, event->waker);
	return waker ? waker->tgid : 0;
}

uint32_t translator__object(struct translator *translator, uint32_t thread,
			    const struct event_object *object)
{
	const struct known_thread *known = translator__thread(translator, thread);

	return objects__number(&translator->objects, object, known ? known->tgid : 0);
}

static uint32_t object_of_interval(struct translator *translator,
				   const struct event_interval *event)
{
	struct event_object object = event->object;

	if (object.type == OBJECT_NONE) {
		object.id = waited_child(translator, event);
		object.type = object.id ? OBJECT_CHILD : OBJECT_NONE;
	}
	return translator__object(translator, event->header.thread, &object);
}

static void on_interval(struct translator *translator, const struct event_interval *event,
			size_t size)
{
	struct record record = {
		.type = RECORD_INTERVAL,
		.interval = {.thread = event->header.thread,
			     .waker = event->waker,
			     .waker_context = event->waker_context,
			     .class = event->class,
			     .flags = event->flags,
			     .syscall = event->syscall,
			     .t_out = event->t_out,
			     .blocked_ns = event->t_wake - event->t_out,
			     .runq_ns = event->header.time - event->t_wake,
			     .blocked_points = event->blocked_points,
			     .runq_points = event->runq_points,
			     .object = object_of_interval(translator, event),
			     .device = event->device,
			     .request = event->request,
			     .previous = event->previous,
			     .sender = event->sender,
			     .cpu = event->cpu,
			     .sequence = event->sequence,
			     .stolen_ns = event->stolen},
	};
	const struct stack_user who = {.thread = event->header.thread, .time = event->t_out};

	if (event->t_out > event->t_wake || event->t_wake > event->header.time ||
	    event->stopped > event->header.time - event->t_wake || event->stop >= STOP_CAUSE_COUNT)
		return;
	was_there(translator__thread(translator, event->header.thread), event->header.time);
	/* In a system call, the innermost address is behind the instruction. */
	translator__refer(translator, &who, event->stack.user_hash, event->syscall < 0);
	if (event->object.type == OBJECT_FUTEX && translator->addresses)
		addresses__add_futex(translator->addresses, &who, event->object.id);
	if (take_stacks(translator, &event->stack, &who, event->frames, size - sizeof(*event),
			&record.interval.kernel_stack, &record.interval.user_stack))
		translator__put_interval(translator, event, &record);
}

static void on_device(struct translator *translator, const struct event_device *event)
{
	char name[DWELL_DISK_NAME_SIZE + 1];
	struct record record = {
		.type = RECORD_DEVICE,
		.device = {.device = event->device,
			   .dev = event->dev,
			   .time = event->header.time,
			   .requests = event->requests,
			   .bytes = event->bytes,
			   .queue_ns = event->queue_ns,
			   .service_ns = event->service_ns,
			   .idle_ns = event->idle_ns},
	};

	snprintf(name, sizeof(name), "%.*s", DWELL_DISK_NAME_SIZE, event->name);
	record.device.name = record_stream__string(translator->stream, name);
	record_stream__put(translator->stream, &record);
}

static void on_idle(struct translator *translator, const struct event_idle *event, size_t size)
{
	struct record record = {
		.type = RECORD_IDLE,
		.idle = {.device = event->device,
			 .thread = event->header.thread,
			 .since = event->since,
			 .ns = event->header.time - event->since,
			 .points = event->points,
			 .flags = event->flags},
	};
	const struct stack_user who = {.thread = event->header.thread, .time = event->header.time};

	if (event->since > event->header.time)
		return;
	translator__refer(translator, &who, event->stack.user_hash, true);
	if (take_stacks(translator, &event->stack, &who, event->frames, size - sizeof(*event),
			&record.idle.kernel_stack, &record.idle.user_stack))
		record_stream__put(translator->stream, &record);
}

static void on_request(struct translator *translator, const struct event_request *event)
{
	struct record record = {
		.type = RECORD_REQUEST,
		.request = {.number = event->number,
			    .device = event->device,
			    .thread = event->header.thread,
			    .time = event->header.time,
			    .queue_ns = event->issued - event->begun,
			    .service_ns = event->header.time - event->issued,
			    .sector = event->sector,
			    .bytes = event->bytes,
			    .op = event->op},
	};

	if (event->begun <= event->issued && event->issued <= event->header.time)
		record_stream__put(translator->stream, &record);
}

static void on_cpu_run(struct translator *translator, const struct event_cpu_run *event)
{
	struct record record = {
		.type = RECORD_CPU_RUN,
		.cpu_run = {.thread = event->header.thread,
			    .time = event->header.time,
			    .length = event->header.time - event->from,
			    .ns = event->ns,
			    .cpu = event->cpu},
	};

	if (event->from <= event->header.time && event->ns <= record.cpu_run.length && event->cpu)
		record_stream__put(translator->stream, &record);
}

static void on_span(struct translator *translator, const struct event_span *event)
{
	const struct span_sources *sources = translator->sources;
	struct record record = {
		.type = RECORD_SPAN,
		.span = {.thread = event->header.thread,
			 .begun_by = event->begun_by,
			 .time = event->header.time,
			 .queue_ns = event->begun - event->arrived,
			 .ns = event->header.time - event->begun,
			 .flags = event->flags},
	};

	if (!sources || !event->source || event->source > sources->sources.n ||
	    event->arrived > event->begun || event->begun > event->header.time)
		return;
	record.span.name = record_stream__string(translator->stream,
						 sources->sources.data[event->source - 1].text);
	translator->spans[event->source - 1]++;
	record.span.object = translator__object(translator, event->header.thread, &event->object);
	record_stream__put(translator->stream, &record);
}

/* The size of an event's fixed part, 0 for an unknown type. */
static size_t head_size(uint32_t type)
{
	static const size_t sizes[] = {
		[EVENT_THREAD] = sizeof(struct event_thread),
		[EVENT_EXEC] = sizeof(struct event_exec),
		[EVENT_COMM] = sizeof(struct event_comm),
		[EVENT_TOTALS] = sizeof(struct event_totals),
		[EVENT_SAMPLE] = sizeof(struct event_sample),
		[EVENT_INTERVAL] = sizeof(struct event_interval),
		[EVENT_WAKE] = sizeof(struct event_wake),
		[EVENT_FILE] = sizeof(struct event_file),
		[EVENT_STACKS] = sizeof(struct event_stacks),
		[EVENT_DEVICE] = sizeof(struct event_device),
		[EVENT_IDLE] = sizeof(struct event_idle),
		[EVENT_REQUEST] = sizeof(struct event_request),
		[EVENT_CPU_RUN] = sizeof(struct event_cpu_run),
		[EVENT_SPAN] = sizeof(struct event_span),
		[EVENT_CALL] = sizeof(struct event_call),
		[EVENT_LIMIT] = sizeof(struct event_limit),
		[EVENT_SEGMENT] = sizeof(struct event_segment),
	};

	return type < ARRAY_SIZE(sizes) ? sizes[type] : 0;
}

/* Devices and what is measured: requests to them, requests that programs handle, calls. */
static void on_measured(struct translator *translator, const struct event_header *event,
			size_t size)
{
	switch (event->type) {
	case EVENT_DEVICE:
		on_device(translator, (const void *)event);
		break;
	case EVENT_IDLE:
		on_idle(translator, (const void *)event, size);
		break;
	case EVENT_REQUEST:
		on_request(translator, (const void *)event);
		break;
	case EVENT_CPU_RUN:
		on_cpu_run(translator, (const void *)event);
		break;
	case EVENT_SPAN:
		on_span(translator, (const void *)event);
		break;
	case EVENT_CALL:
		translator__probed_call(translator, (const void *)event);
		break;
	case EVENT_SEGMENT:
		translator__segment(translator, (const void *)event);
		break;
	}
}

void translator__event(struct translator *translator, const struct event_header *event, size_t size)
{
	size_t head = head_size(event->type);

	if (!head || size < head)
		return;
	translator->events++;
	switch ((enum event_type)event->type) {
	case EVENT_THREAD:
		on_thread(translator, (const void *)event);
		break;
	case EVENT_EXEC:
		on_exec(translator, (const void *)event);
		break;
	case EVENT_COMM:
		on_comm(translator, (const void *)event);
		break;
	case EVENT_TOTALS:
		on_totals(translator, (const void *)event);
		break;
	case EVENT_SAMPLE:
		on_sample(translator, (const void *)event, size);
		break;
	case EVENT_INTERVAL:
		on_interval(translator, (const void *)event, size);
		break;
	case EVENT_WAKE:
		on_wake(translator, (const void *)event, size);
		break;
	case EVENT_FILE:
		objects__file(&translator->objects, (const void *)event, size);
		break;
	case EVENT_LIMIT:
		objects__limit(&translator->objects, (const void *)event, size);
		break;
	case EVENT_STACKS:
		on_stacks(translator, (const void *)event, size);
		break;
	case EVENT_DEVICE:
	case EVENT_IDLE:
	case EVENT_REQUEST:
	case EVENT_CPU_RUN:
	case EVENT_SPAN:
	case EVENT_CALL:
	case EVENT_SEGMENT:
		on_measured(translator, event, size);
		break;
	case EVENT_DEFERRED: /* never passed to sinks */
		break;
	}
}

void translator__free(struct translator *translator)
{
	translator__free_threads(translator);
	map64__free(&translator->dsos);
	objects__free(&translator->objects);
	socket_owners__free(&translator->owners);
	free(translator);
}
