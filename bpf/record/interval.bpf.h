/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Events for off-CPU intervals, and exact times, which are added up at the end of each. */
#pragma once

#include "bpf/core/interval.bpf.h"
#include "bpf/core/object.bpf.h"
#include "bpf/core/stack.bpf.h"
#include "bpf/record/faults.bpf.h"
#include "bpf/record/flows.bpf.h"
#include "bpf/record/stops.bpf.h"

static __always_inline void next_sequence(struct product_thread *mine)
{
	mine->sequence = mine->sequence % INTERVAL_SEQUENCES + 1;
}

/* Adds to the CPU time what the kernel has counted since the last switch that was seen. */
static __always_inline __u64 add_counted(struct thread_state *state, __u64 counted, __u32 runs)
{
	__s64 ran = counted - state->counted;

	if (ran < 0) /* a count in the middle of a run was an estimate */
		ran = 0;
	state->product.ns[CLASS_CPU] += ran;
	state->counted = counted;
	state->runs = runs;
	return ran;
}

/*
 * The time since the last switch of @state's thread that was seen is neither a run nor a wait:
 * there were switches that were not seen. Its CPU time is known.
 */
static __always_inline void skip_unseen(struct thread_state *state, __u64 counted, __u32 runs)
{
	add_counted(state, counted, runs);
	state->product.run_stolen = 0;
	state->product.unseen++;
	next_sequence(&state->product); /* no run before the next interval */
	count_loss(LOSS_UNSEEN);
}

/*
 * Ends the run of @state's thread at @now, when it has been on CPUs for @counted ns and @runs runs
 * have ended.
 */
static __always_inline void end_run(struct thread_state *state, __u64 counted, __u32 runs,
				    __u64 now)
{
	struct product_thread *mine = &state->product;
	__s64 length = now - state->since, stolen;
	__u32 ended = runs - state->runs;

	/* One whose begin was seen may not be counted, see ended_runs(). */
	if (ended != 1 && (ended || state->run_state != RUN_STATE_ON_CPU)) {
		skip_unseen(state, counted, runs);
		return;
	}
	/* The count at the begin of its first run was an estimate if it ran already. */
	if (state->since == state->seen && (__s64)(counted - state->counted) > length)
		state->counted = counted - length;
	stolen = length - add_counted(state, counted, runs);
	mine->run_stolen = stolen >= STOLEN_MIN ? stolen : 0;
	mine->stolen += stolen;
}

/* Takes the points of the stopped part from those of the run queue, see struct event_interval. */
static __always_inline void keep_stop(struct thread_state *state)
{
	struct product_thread *mine = &state->product;
	__u64 from = state->pending_wake;

	mine->stopped_points =
		points_between(state->thread, from, from + mine->stopped, state->spacing);
	state->runq_points -= mine->stopped_points;
	if (state->class != CLASS_SCHED)
		next_sequence(mine);
}

/* end_interval() of one that may be sampled: keeps its waker, too, if it is to be emitted. */
GLOBAL bool keep_wait(struct thread_state *state, __u64 now, __u64 queued)
{
	struct product_thread *mine;
	bool known;

	if (!state || !end_interval(state, now, queued))
		return false;
	mine = &state->product;
	known = state->class != CLASS_SCHED && was_woken(state);
	mine->pending_waker = known ? mine->waker : 0;
	mine->pending_context = known ? state->waker_context : WAKER_UNKNOWN;
	mine->pending_device = known ? mine->device : 0;
	mine->pending_request = known && state->waker_context != WAKER_TASK ? mine->request : 0;
	mine->pending_previous = 0;
	mine->pending_sender = known && state->waker_context != WAKER_TASK ? mine->sender : 0;
	next_sequence(mine);
	if (mine->stopped)
		keep_stop(state);
	return true;
}

/* Ends the wait at @now, and adds its times to the totals. True: it is to be emitted. */
static __always_inline bool end_wait(struct thread_state *state, __u64 now, __u64 queued)
{
	struct product_thread *mine = &state->product;
	__u64 wake = interval_wake(state, now, queued);
	/* A class is below CLASS_COUNT; the mask is for the verifier. */
	__u64 *blocked = mine->ns + (state->class & 7);

	*blocked += wake - state->since;
	end_stop(state, wake, now);
	mine->ns[CLASS_STOPPED] += mine->stopped;
	mine->ns[CLASS_SCHED] += now - wake - mine->stopped;
	if (!settings.trace_mode && !may_be_sampled(state, now, present_spacing()))
		return false;
	return keep_wait(state, now, queued);
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
	event->stolen = state->product.run_stolen;
	event->blocked_points = state->blocked_points;
	event->runq_points = state->runq_points;
	event->waker = state->product.pending_waker;
	event->waker_context = state->product.pending_context;
	event->device = state->product.pending_device;
	event->request = state->product.pending_request;
	event->previous = state->product.pending_previous;
	event->sender = state->product.pending_sender;
	event->cpu = bpf_get_smp_processor_id() + 1;
	event->sequence = state->product.sequence;
	event->class = state->pending_class;
	event->stop = state->product.stop;
	event->stopped = state->product.stopped;
	event->stopped_by = state->product.stopped_by;
	event->stopped_points = state->product.stopped_points;
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
	if (settings.trace_mode && !event->sender &&
	    (event->waker_context == WAKER_SOFTIRQ || event->waker_context == WAKER_HARDIRQ))
		event->sender = sender_to(&event->object);
	take_stacks(ctx, scratch, SCRATCH_INTERVAL, &event->stack, settings.schedule_range, user);
	find_fault(event, scratch, state);
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
