/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Intervals off the CPU: of which class, when what was waited for came, which sampling points
 * lie in them, and the events that tell of them. Blocked Samples, OSDI'24, section 3.1.
 */
#pragma once

#include "abi/grid.h"
#include "bpf/core/object.bpf.h"
#include "bpf/core/stack.bpf.h"
#include "bpf/core/state.bpf.h"

static __always_inline enum wait_class blocked_class(struct task_struct *task,
						     const struct thread_state *state)
{
	long nr;

	if (state->lock)
		return CLASS_LOCK;
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		return CLASS_IO;
	nr = syscall_of(task);
	if (nr == NR_FUTEX || nr == NR_FUTEX_WAITV || nr == NR_FUTEX_WAIT)
		return CLASS_LOCK;
	return CLASS_OTHER;
}

/* Whether the last wakeup seen is of the present sleep, not of an older one. */
static __always_inline bool was_woken(const struct thread_state *state)
{
	return state->t_wake >= state->ran_at;
}

static __always_inline void count_hidden_wake(const struct thread_state *state)
{
	if (state->class != CLASS_SCHED && !was_woken(state) &&
	    !(state->interval_flags & INTERVAL_BEGUN_BEFORE))
		lose(LOSS_HIDDEN_WAKE);
}

/*
 * The wakeup that ended the interval [since, now]. It may have come while the
 * thread was still on its way to sleep. One that nothing told of (it came from
 * code that the kernel hides from tracing) put the thread into a queue @queued
 * ns ago.
 */
static __always_inline __u64 interval_wake(const struct thread_state *state, __u64 now,
					   __u64 queued)
{
	__u64 wake = was_woken(state) ? state->t_wake : now - queued;

	if (state->class == CLASS_SCHED || wake < state->since)
		return state->since;
	return wake < now ? wake : now;
}

/* Whether there can be a sampling point between the end of the last wait and @now. */
static __always_inline bool may_be_sampled(const struct thread_state *state, __u64 now, __u8 shift)
{
	return now > state->next_point || state->spacing != shift;
}

/* Counts the sampling points of the off-CPU interval that ends at @now. False: there are none. */
static __always_inline bool count_points(struct thread_state *state, __u64 wake, __u64 now)
{
	__u8 shift = present_spacing();
	__u32 apart = period_ns << shift;

	state->blocked_points = 0;
	state->runq_points = 0;
	if (!may_be_sampled(state, now, shift))
		return false;
	state->blocked_points = sample_grid__points(state->since, wake, apart, grid_seed) << shift;
	state->runq_points = sample_grid__points(wake, now, apart, grid_seed) << shift;
	state->next_point = sample_grid__next(now, apart, grid_seed);
	state->spacing = shift;
	return state->blocked_points || state->runq_points;
}

static __always_inline void count_wait(struct thread_state *state, __u64 wake, __u64 now)
{
	state->ns[state->class & (CLASS_SLOTS - 1)] += wake - state->since;
	if (now > wake)
		state->ns[CLASS_SCHED] += now - wake;
}

/* Ends the off-CPU interval in @state at @now (see interval_wake()). True: it is to be emitted. */
static __always_inline bool end_interval(struct thread_state *state, __u64 now, __u64 queued)
{
	__u64 wake = interval_wake(state, now, queued);
	bool known = state->class != CLASS_SCHED && was_woken(state);
	bool sampled = count_points(state, wake, now);

	if (!causal)
		count_wait(state, wake, now);
	state->t_in = now;
	if (!sampled && !trace_mode)
		return false;
	state->t_out = state->since;
	state->pending_wake = wake;
	state->pending_class = state->class;
	state->pending_flags = state->interval_flags | state->spacing << INTERVAL_SPACING_SHIFT;
	state->pending_waker = known ? state->waker : 0;
	state->pending_context = known ? state->waker_context : WAKER_UNKNOWN;
	state->pending_device = known ? state->device : 0;
	return true;
}

static __always_inline void fill_interval(struct event_interval *event,
					  const struct thread_state *state)
{
	__builtin_memset(event, 0, sizeof(*event));
	event->header.type = EVENT_INTERVAL;
	event->header.thread = state->thread;
	event->header.time = state->t_in;
	event->t_out = state->t_out;
	event->t_wake = state->pending_wake;
	event->blocked_points = state->blocked_points;
	event->runq_points = state->runq_points;
	event->waker = state->pending_waker;
	event->waker_context = state->pending_context;
	event->device = state->pending_device;
	event->class = state->pending_class;
	event->flags = state->pending_flags;
	event->syscall = SYSCALL_NONE;
}

/* Emits the interval that ended with the present run of @task, which is current. */
static __always_inline void emit_interval(void *ctx, struct task_struct *task,
					  struct thread_state *state)
{
	struct scratch *scratch = scratch_for(SCRATCH_INTERVAL);
	struct event_interval *event;
	bool user = has_user_stack(task, state);

	state->flags &= ~STATE_PENDING;
	if (!scratch)
		return;
	if (!(state->flags & STATE_ANNOUNCED))
		announce(task, state, 0);
	event = SCRATCH_HEAD(scratch, event_interval);
	fill_interval(event, state);
	find_object(event, task, state, true);
	capture(ctx, scratch, SCRATCH_INTERVAL, &event->stack, schedule_range, user);
	emit_with_stack(scratch, sizeof(*event), &event->stack, LOSS_RING_FULL);
}

/*
 * Emits the interval of @task without taking a stack: of a new thread's first
 * run there is none; on the last rung it was taken at switch-out.
 */
static __noinline void emit_interval_bare(struct task_struct *task, struct thread_state *state)
{
	struct event_interval event;

	state->flags &= ~STATE_PENDING;
	if (causal)
		return;
	if (!(state->flags & STATE_ANNOUNCED))
		announce(task, state, 0);
	fill_interval(&event, state);
	if (stack_at_switch_out) {
		find_object(&event, task, state, false);
		event.stack.kernel_hash = state->kernel_hash;
		event.stack.user_hash = state->user_hash;
	}
	emit(&event, sizeof(event), LOSS_RING_FULL);
}
