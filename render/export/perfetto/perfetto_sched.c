// SPDX-License-Identifier: BSD-2-Clause
/*
 * Scheduling events, made of the timelines of the recorded threads. Between two of them that run on
 * a CPU it is left to the idle task ("swapper"), as other threads are not known.
 *
 * Merged in the order of time, because what ran before on the CPU is part of each event.
 */
#include <errno.h>
#include <stdlib.h>

#include "render/export/perfetto/perfetto_packets.h"

#define MAX_CPUS 65536 /* numbers are 16 bits */

/* prev_state of sched_switch, include/linux/sched.h, Linux 4.14 and newer */
enum {
	STATE_RUNNING = 0,
	STATE_INTERRUPTIBLE = 1,
	STATE_UNINTERRUPTIBLE = 2,
	STATE_DEAD = 16,
	STATE_PREEMPTED = 256, /* and runnable */
};

/* Fields of FtraceEvent. */
enum { FTRACE_SWITCH = 4, FTRACE_BLOCKED_REASON = 18, FTRACE_WAKING = 20 };

/* What happens next to a thread, those at the same time in this order. */
enum sched_step {
	STEP_OUT,
	STEP_WAKING,
	STEP_IN,
	STEP_EXIT,
	STEP_DONE,
};

/* The next step of a thread: of interval @interval, or after the last one its exit. */
struct sched_cursor {
	uint64_t time;
	uint32_t thread;
	enum sched_step step;
	size_t interval;
};

struct sched_cpu {
	uint32_t thread;  /* that runs; 0: none that is known */
	uint32_t leaving; /* that was switched out; its event is written with the next one; 0: none
			   */
	uint32_t state;	  /* of @leaving */
	uint64_t left;	  /* when */
};

struct sched_merge {
	struct perfetto_writer *writer;
	const struct model *model;
	ARRAY(struct sched_cursor) heap; /* the earliest first */
	struct sched_cpu *cpus;
	uint32_t *runs_on; /* by thread: 1 + number of the CPU; 0: it does not run */
	bool has_release;
};

static const struct model_thread *thread_of(const struct sched_merge *merge, uint32_t thread)
{
	return &merge->model->threads.data[thread];
}

/* Sets the time of the cursor's step; false if there is none. */
static bool cursor_set(struct sched_cursor *cursor, const struct model *model)
{
	const struct model_thread *thread = &model->threads.data[cursor->thread];
	const struct model_interval *interval;

	if (cursor->interval < thread->intervals.n) {
		interval = &thread->intervals.data[cursor->interval];
		cursor->time = interval->t_out;
		if (cursor->step >= STEP_WAKING)
			cursor->time += interval->blocked_ns;
		if (cursor->step >= STEP_IN)
			cursor->time += interval->runq_ns;
		return true;
	}
	if (!thread->exited || cursor->step != STEP_OUT)
		return false;
	cursor->step = STEP_EXIT;
	cursor->time = thread->ended;
	return true;
}

static bool cursor_next(struct sched_cursor *cursor, const struct model *model)
{
	if (cursor->step == STEP_EXIT)
		return false;
	if (cursor->step == STEP_IN) {
		cursor->interval++;
		cursor->step = STEP_OUT;
	} else {
		cursor->step++;
	}
	return cursor_set(cursor, model);
}

static bool precedes(const struct sched_cursor *a, const struct sched_cursor *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	return a->step != b->step ? a->step < b->step : a->thread < b->thread;
}

static void sift_down(struct sched_merge *merge, size_t at)
{
	struct sched_cursor *heap = merge->heap.data;

	for (;;) {
		size_t least = at;

		for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++)
			if (child < merge->heap.n && precedes(&heap[child], &heap[least]))
				least = child;
		if (least == at)
			return;
		struct sched_cursor moved = heap[at];

		heap[at] = heap[least];
		heap[least] = moved;
		at = least;
	}
}

/* A packet with one event. @put adds what the event says. */
struct ftrace_event {
	size_t event;
	size_t message;
	uint64_t time;
};

static struct ftrace_event ftrace_begin(struct sched_merge *merge, uint32_t cpu, uint64_t time,
					uint32_t tid, uint32_t field)
{
	struct protobuf *to = &merge->writer->event;
	struct ftrace_event event = {.time = time};

	protobuf__varint(to, 1, cpu);
	event.event = protobuf__begin(to, 2);
	protobuf__varint(to, 1, time);
	protobuf__varint(to, 2, tid);
	event.message = protobuf__begin(to, field);
	return event;
}

static void ftrace_end(struct sched_merge *merge, const struct ftrace_event *event)
{
	protobuf__end(&merge->writer->event, event->message);
	protobuf__end(&merge->writer->event, event->event);
	perfetto__packet(merge->writer, PERFETTO_FTRACE_EVENTS, event->time);
}

/* Threads 0 are the idle task. */
static void write_switch(struct sched_merge *merge, uint32_t cpu, uint64_t time, uint32_t from,
			 uint32_t state, uint32_t to)
{
	struct protobuf *event = &merge->writer->event;
	uint32_t from_tid = thread_of(merge, from)->tid, to_tid = thread_of(merge, to)->tid;
	struct ftrace_event written = ftrace_begin(merge, cpu, time, from_tid, FTRACE_SWITCH);

	protobuf__varint(event, 2, from_tid);
	protobuf__varint(event, 3, 120); /* the usual priority: the actual one is not recorded */
	protobuf__varint(event, 4, state);
	protobuf__varint(event, 6, to_tid);
	protobuf__varint(event, 7, 120);
	ftrace_end(merge, &written);
}

/* Writes the switch that is pending on @cpu: to the idle task. */
static void flush_cpu(struct sched_merge *merge, uint32_t cpu)
{
	struct sched_cpu *at = &merge->cpus[cpu];

	if (at->leaving)
		write_switch(merge, cpu, at->left, at->leaving, at->state, 0);
	at->leaving = 0;
}

static void switch_out(struct sched_merge *merge, const struct sched_cursor *cursor, uint32_t state)
{
	uint32_t cpu = merge->runs_on[cursor->thread];
	struct sched_cpu *at;

	merge->runs_on[cursor->thread] = 0;
	if (!cpu)
		return;
	at = &merge->cpus[cpu - 1];
	if (at->thread != cursor->thread)
		return;
	*at = (struct sched_cpu){
		.leaving = cursor->thread,
		.state = state,
		.left = cursor->time,
	};
}

static void switch_in(struct sched_merge *merge, const struct sched_cursor *cursor, uint32_t cpu)
{
	struct sched_cpu *at = &merge->cpus[cpu];
	uint32_t state = STATE_RUNNING, from = at->thread;

	if (at->leaving && at->left == cursor->time) {
		from = at->leaving;
		state = at->state;
		at->leaving = 0;
	}
	flush_cpu(merge, cpu);
	if (at->thread)
		merge->runs_on[at->thread] = 0;
	write_switch(merge, cpu, cursor->time, from, state, cursor->thread);
	at->thread = cursor->thread;
	merge->runs_on[cursor->thread] = cpu + 1;
}

/*
 * The thread that woke another; 0, the idle task, for interrupts: Perfetto ignores the flags of
 * these events, and would take the thread that an interrupt came upon for the waker.
 */
static uint32_t waker_of(const struct sched_merge *merge, const struct sched_cursor *cursor,
			 const struct model_interval *interval)
{
	struct wait_cause cause;

	if (interval->flags & INTERVAL_FIRST)
		return thread_of(merge, cursor->thread)->parent;
	cause = export_waits__cause(&merge->writer->waits, cursor->thread, interval);
	return cause.type == CAUSE_THREAD ? cause.id : 0;
}

static void write_waking(struct sched_merge *merge, const struct sched_cursor *cursor,
			 const struct model_interval *interval)
{
	struct protobuf *to = &merge->writer->event;
	uint32_t target = interval->cpu ? interval->cpu - 1 : 0;
	uint32_t waker = waker_of(merge, cursor, interval);
	uint32_t cpu = merge->runs_on[waker] ? merge->runs_on[waker] - 1 : target;
	struct ftrace_event event =
		ftrace_begin(merge, cpu, cursor->time, thread_of(merge, waker)->tid, FTRACE_WAKING);

	protobuf__varint(to, 2, thread_of(merge, cursor->thread)->tid);
	protobuf__varint(to, 3, 120);
	protobuf__varint(to, 4, 1); /* success */
	protobuf__varint(to, 5, target);
	ftrace_end(merge, &event);
}

/* Whether the wait was for I/O, and in which function: the kernel says it of disk sleeps, too. */
static void write_reason(struct sched_merge *merge, const struct sched_cursor *cursor,
			 const struct model_interval *interval)
{
	struct perfetto_writer *writer = merge->writer;
	int64_t node = chain_tree__add(&writer->tree, merge->model, interval->kernel, 0, true);
	struct ftrace_event event;
	uint64_t function = 0;
	char address[24];

	if (node < 0)
		writer->failed = true;
	if (node > 0)
		function = perfetto__intern(
			writer, INTERNED_KERNEL_SYMBOL,
			export_text(&writer->text,
				    chain_frame__text(
					    &writer->tree.frames
						     .data[writer->tree.nodes.data[node].frame],
					    merge->model, address)));
	event = ftrace_begin(merge, 0, cursor->time, 0, FTRACE_BLOCKED_REASON);
	protobuf__varint(&writer->event, 1, thread_of(merge, cursor->thread)->tid);
	if (function)
		protobuf__varint(&writer->event, 2, function);
	protobuf__varint(&writer->event, 3, interval->class == CLASS_IO);
	ftrace_end(merge, &event);
}

static bool is_blocked(const struct model_interval *interval)
{
	return !(interval->flags & (INTERVAL_PREEMPTED | INTERVAL_FIRST)) && interval->blocked_ns;
}

static uint32_t state_of(const struct sched_merge *merge, const struct model_interval *interval)
{
	if (is_blocked(interval))
		return interval->flags & INTERVAL_UNINTERRUPTIBLE ? STATE_UNINTERRUPTIBLE
								  : STATE_INTERRUPTIBLE;
	return interval->flags & INTERVAL_PREEMPTED && merge->has_release ? STATE_PREEMPTED
									  : STATE_RUNNING;
}

static void take_step(struct sched_merge *merge, const struct sched_cursor *cursor)
{
	const struct model_thread *thread = thread_of(merge, cursor->thread);
	const struct model_interval *interval;

	if (cursor->step == STEP_EXIT) {
		switch_out(merge, cursor, STATE_DEAD);
		return;
	}
	interval = &thread->intervals.data[cursor->interval];
	if (cursor->step == STEP_OUT) {
		switch_out(merge, cursor, state_of(merge, interval));
	} else if (interval->flags & INTERVAL_UNFINISHED && interval->runq_ns == 0) {
		return; /* it was not woken, and did not run */
	} else if (cursor->step == STEP_WAKING) {
		if (is_blocked(interval) && interval->class == CLASS_IO)
			write_reason(merge, cursor, interval);
		if (is_blocked(interval) || interval->flags & INTERVAL_FIRST)
			write_waking(merge, cursor, interval);
	} else if (interval->cpu && !(interval->flags & INTERVAL_UNFINISHED) &&
		   !model_thread__lost_before(thread, cursor->interval + 1)) {
		switch_in(merge, cursor, interval->cpu - 1);
	}
}

static int begin(struct sched_merge *merge)
{
	const struct model *model = merge->model;

	merge->cpus = calloc(MAX_CPUS, sizeof(*merge->cpus));
	merge->runs_on = calloc(model->threads.n + 1, sizeof(*merge->runs_on));
	if (!merge->cpus || !merge->runs_on)
		return -ENOMEM;
	for (uint32_t i = 1; i < model->threads.n; i++) {
		struct sched_cursor cursor = {.thread = i};

		if (sample_filter__thread(merge->writer->export->filter, &model->threads.data[i]) &&
		    cursor_set(&cursor, model) && array__push(&merge->heap, cursor))
			return -ENOMEM;
	}
	for (size_t i = merge->heap.n / 2 + 1; i--;)
		sift_down(merge, i);
	return 0;
}

static int merge_all(struct sched_merge *merge)
{
	const struct sample_filter *filter = merge->writer->export->filter;
	uint64_t start = merge->model->start;
	int err = 0;

	while (merge->heap.n && !err) {
		struct sched_cursor *first = &merge->heap.data[0];

		if (first->time >= start + filter->from &&
		    (!filter->until || first->time < start + filter->until))
			take_step(merge, first);
		if (!cursor_next(first, merge->model))
			*first = merge->heap.data[--merge->heap.n];
		sift_down(merge, 0);
		err = perfetto__error(merge->writer);
	}
	for (uint32_t cpu = 0; cpu < MAX_CPUS; cpu++)
		flush_cpu(merge, cpu);
	return err;
}

int perfetto_sched__write(struct perfetto_writer *writer)
{
	struct sched_merge merge = {
		.writer = writer,
		.model = writer->model,
		.has_release = model__meta(writer->model, "kernel"),
	};
	int err;

	/* Filters that leave out times of a thread would make it run in them. */
	if (!writer->model->trace || writer->export->filter->classes ||
	    writer->export->filter->comms.n)
		return 0;
	err = begin(&merge);
	err = err ? err : merge_all(&merge);
	array__free(&merge.heap);
	free(merge.cpus);
	free(merge.runs_on);
	return err;
}
