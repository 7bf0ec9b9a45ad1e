/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The iterator over all tasks that user space runs at the end of a recording: sends the totals of
 * recorded threads, and the intervals that have not ended.
 */
#pragma once

#include "bpf/record/interval.bpf.h"
#include "bpf/record/totals.bpf.h"

__u64 stopped_at; /* end of the recording, written by user space */

/* At least any event's size, below that of a scratch: a bound for the verifier. */
#define INTERVAL_BYTES_MASK 8191

_Static_assert(sizeof(struct event_interval) + MAX_FRAMES * sizeof(__u64) < INTERVAL_BYTES_MASK &&
		       sizeof(struct scratch) > INTERVAL_BYTES_MASK,
	       "INTERVAL_BYTES_MASK");

/* What is written for a thread: events in this order, each preceded by its size. */
struct finish_head {
	__u64 thread_size;
	struct event_thread thread;
	__u64 totals_size;
	struct event_totals totals;
	__u64 interval_size; /* 0: there is none; else the interval follows */
};

struct finish_scratch {
	struct finish_head head;
	struct thread_state last; /* a copy of its state, continued to the end */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct finish_scratch);
} finish_scratches SEC(".maps");

static __always_inline void take_sleeper_stacks(struct task_struct *task, struct scratch *scratch,
						struct event_stack *stack, bool user)
{
	long size =
		bpf_get_task_stack(task, scratch->raw, DWELL_MAX_KERNEL_FRAMES * sizeof(__u64), 0);
	__u32 at, n;

	__builtin_memset(stack, 0, sizeof(*stack));
	if (size > 0)
		take_kernel_stack(scratch, SCRATCH_FINISH, stack, (__u32)size / sizeof(__u64),
				  settings.schedule_range);
	if (!user)
		return;
	at = stack->kernel_depth & (RAW_FRAMES - 1);
	n = unwind_user(task, SCRATCH_FINISH, at, &stack->user_end, true);
	take_user_stack(stack, SCRATCH_FINISH, at, n);
}

/* Builds the event for the current interval of @task. Returns its size; 0: it is not emitted. */
static __always_inline __u32 unfinished_interval(struct task_struct *task,
						 struct thread_state *state,
						 struct scratch *scratch, bool user)
{
	struct event_interval *event = SCRATCH_HEAD(scratch, event_interval);
	__u32 frames;

	if (!end_wait(state, stopped_at, 0))
		return 0;
	fill_interval(event, state);
	event->flags |= INTERVAL_UNFINISHED;
	event->cpu = 0;
	find_object(event, task, state, false);
	take_sleeper_stacks(task, scratch, &event->stack, user && has_user_stack(task, state));
	frames = (__u32)event->stack.kernel_depth + event->stack.user_depth;
	return sizeof(*event) + (frames < MAX_FRAMES ? frames : MAX_FRAMES) * sizeof(__u64);
}

/* Whether @state's thread was running at the end of the recording. */
static __always_inline bool was_running(const struct task_struct *task,
					const struct thread_state *state)
{
	return state->run_state == RUN_STATE_ON_CPU || (has_run_since_mark(state) && has_cpu(task));
}

static __always_inline int finish(struct bpf_iter__task *ctx, bool user)
{
	struct task_struct *task = ctx->task;
	struct scratch *scratch = scratch_for(SCRATCH_FINISH);
	struct finish_scratch *out;
	struct thread_state *state;
	__u32 zero = 0, size = 0;

	if (!task || !scratch)
		return 0;
	state = target_state(task);
	out = bpf_map_lookup_elem(&finish_scratches, &zero);
	/* A dead task has sent its totals: at its last switch, or else in on_exit(). */
	if (!state || !out || state->run_state == RUN_STATE_GONE ||
	    FIELD(task, __state) & TASK_DEAD)
		return 0;
	/* On a copy: the iterator visits a task again if the reader's buffer was full. */
	out->last = *state;
	/* Later: of a program that still ran at the stop. */
	if (out->last.since >= stopped_at)
		size = 0;
	else if (was_running(task, &out->last))
		out->last.product.ns[CLASS_CPU] += stopped_at - out->last.since;
	else
		size = unfinished_interval(task, &out->last, scratch, user);
	out->head.interval_size = size;
	out->head.thread_size = sizeof(out->head.thread);
	describe_thread(&out->head.thread, task, &out->last, 0);
	out->head.totals_size = sizeof(out->head.totals);
	out->head.totals.flags = 0;
	fill_totals(&out->head.totals, task, &out->last, stopped_at);
	bpf_seq_write(ctx->meta->seq, &out->head, sizeof(out->head));
	if (size)
		bpf_seq_write(ctx->meta->seq, scratch, size & INTERVAL_BYTES_MASK);
	return 0;
}

SEC("iter.s/task")
int finish_targets(struct bpf_iter__task *ctx)
{
	return finish(ctx, true);
}

/* Before 5.18: user memory of another task cannot be read. */
SEC("iter/task")
int finish_targets_kernel_only(struct bpf_iter__task *ctx)
{
	return finish(ctx, false);
}
