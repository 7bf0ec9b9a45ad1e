/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The iterators over all tasks that user space runs at the end of a recording: freeze_targets ends
 * the times of each recorded thread, and sends its totals; finish_targets then sends the intervals
 * that had not ended.
 */
#pragma once

#include "bpf/record/interval.bpf.h"
#include "bpf/record/totals.bpf.h"

/* At least any event's size, below that of a scratch: a bound for the verifier. */
#define INTERVAL_BYTES_MASK 8191

_Static_assert(sizeof(struct event_interval) + MAX_FRAMES * sizeof(__u64) < INTERVAL_BYTES_MASK &&
		       sizeof(struct scratch) > INTERVAL_BYTES_MASK,
	       "INTERVAL_BYTES_MASK");

/* What is written for a frozen thread: events in this order, each preceded by its size. */
struct frozen {
	__u64 thread_size;
	struct event_thread thread;
	__u64 totals_size;
	struct event_totals totals;
};

/* Ends the times of @task at @now. */
static __always_inline void freeze(struct task_struct *task, struct thread_state *state, __u64 now)
{
	bool was_running = state->run_state == RUN_STATE_ON_CPU || has_run_since_mark(state);
	bool running = knows_cpu(task) ? has_cpu(task) : was_running;
	__u64 counted = run_time(task, running, now), length = now - state->since;
	__u32 runs = ended_runs(task, running);

	if (running && was_running && in_next_run(state, runs))
		runs = state->runs;
	if (runs != state->runs || running != was_running) {
		skip_unseen(state, counted, runs);
	} else if (running) {
		if (counted > state->counted + length)
			counted = state->counted + length;
		/* As if the run ended here. */
		end_run(state, counted, runs + 1, now);
	} else {
		find_earlier_stop(task, state);
		if (end_wait(state, now, 0)) {
			state->pending_flags |= INTERVAL_UNFINISHED;
			state->flags |= STATE_INTERVAL_PENDING;
		}
	}
	state->since = now;
}

/*
 * Each thread is frozen at a time of its own, while the others are still recorded: so its state and
 * the kernel's counts are of the same time. Afterwards, and after the kernel side was stopped, user
 * space runs this again for threads that were created meanwhile.
 */
SEC("iter/task")
int freeze_targets(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread_state *state;
	struct frozen out = {};

	if (!task)
		return 0;
	state = state_of(task);
	/* A dead task has sent its totals: at its last switch, or else in on_exit(). */
	if (!state || !(state->flags & STATE_TARGET) || state->run_state == RUN_STATE_GONE ||
	    state->product.frozen_totals || FIELD(task, __state) & TASK_DEAD)
		return 0;
	/* The iterator visits a task again if the reader's buffer was full. */
	if (!(state->flags & STATE_FROZEN)) {
		state->flags |= STATE_FROZEN;
		freeze(task, state, bpf_ktime_get_ns());
	}
	out.thread_size = sizeof(out.thread);
	describe_thread(&out.thread, task, state, 0);
	out.totals_size = sizeof(out.totals);
	fill_totals(&out.totals, task, state, state->since);
	if (state->flags & STATE_ENDED)
		out.totals.flags |= TOTALS_EXITED;
	if (!bpf_seq_write(ctx->meta->seq, &out, sizeof(out)))
		state->product.frozen_totals = 1;
	return 0;
}

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

static __always_inline int finish(struct bpf_iter__task *ctx, bool user)
{
	struct task_struct *task = ctx->task;
	struct scratch *scratch = scratch_for(SCRATCH_FINISH);
	struct event_interval *event;
	struct thread_state *state;
	__u32 frames;
	__u64 size;

	if (!task || !scratch)
		return 0;
	state = state_of(task);
	if (!state || !(state->flags & STATE_FROZEN) || !(state->flags & STATE_INTERVAL_PENDING))
		return 0;
	event = SCRATCH_HEAD(scratch, event_interval);
	fill_interval(event, state);
	if (event->flags & INTERVAL_UNFINISHED)
		event->cpu = 0;
	find_object(event, task, state, false);
	take_sleeper_stacks(task, scratch, &event->stack, user && has_user_stack(task, state));
	frames = (__u32)event->stack.kernel_depth + event->stack.user_depth;
	size = sizeof(*event) + (frames < MAX_FRAMES ? frames : MAX_FRAMES) * sizeof(__u64);
	bpf_seq_write(ctx->meta->seq, &size, sizeof(size));
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
