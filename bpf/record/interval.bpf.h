/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Events for off-CPU intervals, and exact times, which are added up at the end of each. */
#pragma once

#include "bpf/core/interval.bpf.h"
#include "bpf/core/object.bpf.h"
#include "bpf/core/stack.bpf.h"
#include "bpf/record/senders.bpf.h"

/* end_interval(), and adds its times to the totals, and keeps its waker for the event. */
static __always_inline bool end_wait(struct thread_state *state, __u64 now, __u64 queued)
{
	struct product_thread *mine = &state->product;
	bool known = state->class != CLASS_SCHED && was_woken(state);
	__u64 wake = interval_wake(state, now, queued);

	mine->ns[state->class & (CLASS_SLOTS - 1)] += wake - state->since;
	if (now > wake)
		mine->ns[CLASS_SCHED] += now - wake;
	if (!end_interval(state, now, queued))
		return false;
	mine->pending_waker = known ? mine->waker : 0;
	mine->pending_context = known ? state->waker_context : WAKER_UNKNOWN;
	mine->pending_device = known ? mine->device : 0;
	mine->pending_request = known && state->waker_context != WAKER_TASK ? mine->request : 0;
	mine->pending_previous = 0;
	mine->sequence = mine->sequence % INTERVAL_SEQUENCES + 1;
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
	event->waker = state->product.pending_waker;
	event->waker_context = state->product.pending_context;
	event->device = state->product.pending_device;
	event->request = state->product.pending_request;
	event->previous = state->product.pending_previous;
	event->cpu = bpf_get_smp_processor_id() + 1;
	event->sequence = state->product.sequence;
	event->class = state->pending_class;
	event->flags = state->pending_flags;
	event->syscall = SYSCALL_NONE;
}

/* Emits the interval of @task, which is current, that ended when its current run began. */
static __always_inline void emit_interval(void *ctx, struct task_struct *task,
					  struct thread_state *state)
{
	struct scratch *scratch = scratch_for(SCRATCH_INTERVAL);
	struct event_interval *event;
	bool user = has_user_stack(task, state);

	state->flags &= ~STATE_INTERVAL_PENDING;
	if (!scratch)
		return;
	if (!(state->flags & STATE_ANNOUNCED))
		announce(task, state, 0);
	event = SCRATCH_HEAD(scratch, event_interval);
	fill_interval(event, state);
	find_object(event, task, state, true);
	if (settings.trace_mode &&
	    (event->waker_context == WAKER_SOFTIRQ || event->waker_context == WAKER_HARDIRQ))
		event->sender = sender_to(&event->object);
	take_stacks(ctx, scratch, SCRATCH_INTERVAL, &event->stack, settings.schedule_range, user);
	emit_with_stack(scratch, sizeof(*event), &event->stack, LOSS_RING_FULL);
}

/*
 * Emits the interval of @task without taking stacks: a new thread has none at its first run; on
 * the last rung they were taken at the switch-out.
 */
static __noinline void emit_interval_bare(struct task_struct *task, struct thread_state *state)
{
	struct event_interval event;

	state->flags &= ~STATE_INTERVAL_PENDING;
	if (!(state->flags & STATE_ANNOUNCED))
		announce(task, state, 0);
	fill_interval(&event, state);
	if (settings.stack_at_switch_out) {
		find_object(&event, task, state, false);
		event.stack.kernel_hash = state->product.kernel_hash;
		event.stack.user_hash = state->product.user_hash;
	}
	emit(&event, sizeof(event), LOSS_RING_FULL);
}
