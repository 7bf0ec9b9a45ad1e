// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * The kernel side of a recording: an event for each off-CPU interval that contains a sampling point
 * (every interval in trace mode), samples at clock ticks, and exact totals. Blocked Samples,
 * OSDI'24, section 3.1.
 *
 * A switch costs two timestamps and some arithmetic. Stacks are taken only for events, when the
 * thread runs again.
 */
#include "bpf/record/thread.bpf.h"
#include "bpf/core/clock.bpf.h"
#include "bpf/core/locks.bpf.h"
#include "bpf/core/stack.bpf.h"
#include "bpf/core/state.bpf.h"
#include "bpf/core/tasks.bpf.h"
#include "bpf/core/threads.bpf.h"
#include "bpf/record/calls.bpf.h"
#include "bpf/record/device.bpf.h"
#include "bpf/record/finish.bpf.h"
#include "bpf/record/interval.bpf.h"
#include "bpf/record/occupants.bpf.h"
#include "bpf/record/runs.bpf.h"
#include "bpf/record/segments.bpf.h"
#include "bpf/record/spans.bpf.h"
#include "bpf/record/totals.bpf.h"
#include "bpf/record/waker.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __noinline void thread_gone(struct task_struct *task, struct thread_state *state, __u64 now)
{
	struct event_totals event = {};

	fill_totals(&event, task, state, now);
	event.voluntary--; /* without this last switch */
	event.flags |= TOTALS_EXITED;
	if (!(state->flags & STATE_ANNOUNCED))
		announce(task, state, 0);
	emit(&event, sizeof(event), LOSS_RING_FULL);
}

/* Emits an on-CPU sample of @task, which is current: at a tick, or at its switch-out. */
static __always_inline void emit_sample(void *ctx, struct task_struct *task,
					struct thread_state *state, __u64 time, __u64 points,
					bool switch_out)
{
	static const __u64 all[2] = {};
	__u32 use = switch_out ? SCRATCH_INTERVAL : SCRATCH_TICK;
	struct scratch *scratch = scratch_for(use);
	struct event_sample *event;

	if (!scratch)
		return;
	if (!(state->flags & STATE_ANNOUNCED))
		announce(task, state, 0);
	event = SCRATCH_HEAD(scratch, event_sample);
	event->header = (struct event_header){EVENT_SAMPLE, state->thread, time};
	event->weight = points;
	event->reserved = 0;
	take_stacks(ctx, scratch, use, &event->stack, switch_out ? settings.schedule_range : all,
		    has_user_stack(task, state));
	emit_with_stack(scratch, sizeof(*event), &event->stack, LOSS_RING_FULL);
}

/*
 * On the last rung: takes the stacks of each thread that is switched out, as it is not known yet
 * whether its interval will be emitted.
 */
static __always_inline void take_stacks_at_switch_out(void *ctx, struct task_struct *task,
						      struct thread_state *state, __u64 now)
{
	struct scratch *scratch = scratch_for(SCRATCH_INTERVAL);
	struct event_stacks *event;

	if (!scratch)
		return;
	event = SCRATCH_HEAD(scratch, event_stacks);
	event->header = (struct event_header){EVENT_STACKS, state->thread, now};
	event->pid = event->reserved = 0;
	take_stacks(ctx, scratch, SCRATCH_INTERVAL, &event->stack, settings.schedule_range,
		    has_user_stack(task, state));
	state->product.kernel_hash = event->stack.kernel_hash;
	state->product.user_hash = event->stack.user_hash;
	if (event->stack.kernel_depth || event->stack.user_depth)
		emit_with_stack(scratch, sizeof(*event), &event->stack, LOSS_RING_FULL);
}

/* Ends the wait of @task, whose switch-in was not seen, alone. True: it is to be emitted. */
static __always_inline bool end_hidden_wait(struct task_struct *task, struct thread_state *state,
					    __u64 now)
{
	__u64 begin = hidden_switch_in(task, state, now);
	bool emitted = end_wait(state, begin, hidden_queue_length(task, state));

	begin_run(state, begin);
	tell_run(state, begin);
	return emitted;
}

/* end_hidden_wait(), too late for the stack: lost, but for a new thread, which has none. */
static __always_inline void lose_hidden_wait(struct task_struct *task, struct thread_state *state,
					     __u64 now)
{
	if (state->interval_flags & INTERVAL_BEGUN_BEFORE &&
	    hidden_switch_in(task, state, now) == state->since) {
		begin_run(state, state->since); /* it got the CPU while it was marked */
		return;
	}
	if (!(state->interval_flags & INTERVAL_FIRST))
		count_loss(LOSS_HIDDEN_SWITCH);
	if (end_hidden_wait(task, state, now))
		emit_interval_bare(task, state);
}

/* Sends the totals of @task, which is exiting, in case its last switch is not seen. */
static __noinline void emit_provisional_totals(struct task_struct *task, struct thread_state *state,
					       __u64 now)
{
	struct event_totals event = {};
	__s64 ran, length = now - state->since;

	fill_totals(&event, task, state, now);
	if (state->run_state == RUN_STATE_ON_CPU) {
		ran = run_time(task, true, now) - state->counted;
		ran = ran < 0 ? 0 : ran > length ? length : ran;
		event.ns[CLASS_CPU] += ran;
		event.last_stolen = 0;
		if (in_next_run(state, ended_runs(task, true))) {
			event.stolen += length - ran;
			if (length - ran >= STOLEN_MIN)
				event.last_stolen = length - ran;
		}
	}
	event.flags |= TOTALS_EXITED | TOTALS_PROVISIONAL;
	emit(&event, sizeof(event), LOSS_RING_FULL);
}

static __always_inline void switch_out(struct task_struct *task, struct thread_state *state,
				       struct task_struct *next, __u64 now)
{
	__u32 runs = ended_runs(task, false);

	if (state->run_state == RUN_STATE_OFF_CPU && runs - state->runs == 1)
		lose_hidden_wait(task, state, now);
	end_run(state, counted_time(task), runs, now);
	if (!begin_interval(task, state, now)) {
		thread_gone(task, state, now);
		return;
	}
	begin_stop(task, next, state);
	if (state->flags & STATE_ENDED) /* it blocks or is preempted within do_exit() */
		emit_provisional_totals(task, state, now);
}

/* @task gets the CPU that another thread had: @passed, in trace mode. */
static __always_inline void switch_in(struct cpu_state *cpu, const struct passed_cpu *passed,
				      struct task_struct *task, struct thread_state *state,
				      __u64 now)
{
	bool first = state->interval_flags & INTERVAL_FIRST;
	__u64 counted = counted_time(task);

	if (state->run_state == RUN_STATE_ON_CPU || (__s64)(counted - state->counted) > 0) {
		skip_unseen(state, counted, ended_runs(task, false));
		begin_run(state, now);
		return;
	}
	count_hidden_wake(state);
	if (end_wait(state, now, unseen_queue_length(task, state))) {
		if (settings.trace_mode) {
			state->product.pending_previous = passed->thread;
			if (tell_occupants(state->pending_wake, now, passed->since))
				state->pending_flags |= INTERVAL_CPU_SEEN;
		}
		if (first || settings.stack_at_switch_out) {
			emit_interval_bare(task, state);
		} else {
			state->flags |= STATE_INTERVAL_PENDING;
			cpu->pending = FIELD(task, pid);
		}
	}
	begin_run(state, now);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct cpu_state *cpu = this_cpu();
	struct thread_state *out, *in;
	struct passed_cpu passed = {};
	__u64 now, due, ticks = 0;

	cpu->product.given = FIELD(next, pid);
	cpu->product.ready.until = 0;
	count_idle(prev, next);
	if (!recorded_switch(prev, next, &out, &in)) {
		if (settings.trace_mode && capture.active)
			pass_cpu(prev, next, NULL, NULL, bpf_ktime_get_ns());
		return 0;
	}
	now = bpf_ktime_get_ns();
	if (settings.trace_mode)
		passed = pass_cpu(prev, next, out, in, now);
	if (out) {
		if (out->flags & STATE_INTERVAL_PENDING)
			emit_interval_bare(prev, out);
		if (out->run_state == RUN_STATE_ON_CPU)
			ticks = take_due_tick(cpu, out->since, now, &due);
		if (ticks)
			emit_sample(ctx, prev, out, due, ticks * cpu->points, true);
		switch_out(prev, out, next, now);
		tell_pause(prev, out, now, out->run_state == RUN_STATE_GONE);
		if (settings.stack_at_switch_out && out->run_state != RUN_STATE_GONE)
			take_stacks_at_switch_out(ctx, prev, out, now);
	}
	if (in) {
		switch_in(cpu, &passed, next, in, now);
		tell_run(in, now);
	}
	return 0;
}

/*
 * @task runs again after a switch-in that was not seen. True: its interval is to be emitted. False
 * also if there were more such switches.
 */
static __always_inline bool hidden_wait_ends(struct task_struct *task, struct thread_state *state)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 runs = ended_runs(task, true);

	if (in_next_run(state, runs))
		return end_hidden_wait(task, state, now);
	now = hidden_switch_in(task, state, now);
	skip_unseen(state, counted_time(task), runs);
	begin_run(state, now);
	tell_run(state, now);
	return false;
}

/*
 * Called in the thread that runs again: emits its pending interval, or that which ends with a
 * switch that was not seen.
 */
static __always_inline void thread_runs_again(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpu_state *cpu = this_cpu();
	struct thread_state *state;

	if (!cpu->pending && cpu->product.given == FIELD(task, pid))
		return;
	cpu->pending = 0;
	cpu->product.given = FIELD(task, pid);
	state = target_state(task);
	if (!state)
		return;
	if (state->flags & STATE_INTERVAL_PENDING ||
	    (capture.active && state->run_state == RUN_STATE_OFF_CPU &&
	     !(state->interval_flags & INTERVAL_FIRST) && hidden_wait_ends(task, state)))
		emit_interval(ctx, task, state);
}

#include "bpf/core/rungs.bpf.h"

const volatile bool stacks_of_lock_wakers_only;

/* A sleeper that is still on its CPU may be about to wait for a lock. */
static __always_inline bool wants_waker_stack(const struct thread_state *sleeper)
{
	return !stacks_of_lock_wakers_only || sleeper->run_state == RUN_STATE_ON_CPU ||
	       sleeper->class == CLASS_LOCK;
}

static __always_inline void emit_wake(void *ctx, struct task_struct *waker,
				      const struct thread_state *sleeper, __u64 now)
{
	struct scratch *scratch = scratch_for(SCRATCH_WAKE);
	enum waker_context context = sleeper->waker_context;
	struct event_wake *event;
	bool user;

	if (!scratch)
		return;
	/* The user stack is of no interest if a hard interrupt interrupted the thread. */
	user = FIELD(waker, pid) && has_user_memory(waker) &&
	       (context == WAKER_TASK || context == WAKER_SOFTIRQ);
	event = SCRATCH_HEAD(scratch, event_wake);
	event->header = (struct event_header){EVENT_WAKE, sleeper->thread, now};
	event->waker = sleeper->product.waker;
	event->context = context;
	if (wants_waker_stack(sleeper))
		take_stacks(ctx, scratch, SCRATCH_WAKE, &event->stack, settings.wakeup_range, user);
	else
		__builtin_memset(&event->stack, 0, sizeof(event->stack));
	emit_with_stack(scratch, sizeof(*event), &event->stack, LOSS_WAKE_SKIPPED);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	struct thread_state *state, *waking;
	struct task_struct *waker;
	bool wanted;
	__u64 now;
	__u8 shift;

	if (!capture.active)
		return 0;
	state = target_state(task);
	if (!state)
		state = record_wakee(task);
	if (!state)
		return 0;
	now = bpf_ktime_get_ns();
	woken_stop(task, state);
	waker = bpf_get_current_task_btf();
	state->waker_context = context_of(waker);
	if (state->waker_context == WAKER_TASK)
		note_wakeup(task);
	shift = present_spacing();
	waking = waker_state(waker, state->waker_context, now);
	state->product.waker = waking ? waking->thread : 0;
	record_helper(waker, waking, state->waker_context, now);
	state->product.device = this_cpu()->product.device;
	state->product.request = this_cpu()->product.request;
	state->product.sender = 0;
	state->t_wake = now;
	tell_wakeup(state, now);
	/* In trace mode even on a CPU: it may be about to sleep. */
	wanted = settings.trace_mode ||
		 (state->run_state != RUN_STATE_ON_CPU && state->class != CLASS_SCHED &&
		  may_be_sampled(state, now, shift) &&
		  points_between(state->thread, state->since, now, shift));
	if (!wanted)
		return 0;
	if (is_socket_ready(task, state->waker_context, now))
		segment_wakes(state, now);
	emit_wake(ctx, waker, state, now);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	thread_created(parent, child);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct thread_state *state = thread_exits(task);
	__u64 now;

	if (!state)
		return 0;
	now = bpf_ktime_get_ns();
	if (state->run_state == RUN_STATE_OFF_CPU && in_next_run(state, ended_runs(task, true)))
		lose_hidden_wait(task, state, now);
	state->run_state = RUN_STATE_ON_CPU;
	emit_provisional_totals(task, state, now);
	thread_has_ended(state);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *name)
{
	thread_renamed(task, name);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_pid)
{
	thread_executed(task);
	return 0;
}

/* Samples current at @now, for a tick that was due at @due. */
static __always_inline void sample_current(struct bpf_perf_event_data *ctx, struct cpu_state *cpu,
					   __u64 due, __u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state;
	__u64 ticks;

	state = FIELD(task, pid) ? target_state(task) : NULL;
	if (!state || state->run_state == RUN_STATE_GONE)
		return;
	ticks = count_ticks(cpu, due, state->run_state == RUN_STATE_ON_CPU ? state->since : due,
			    now);
	if (has_run_since_mark(state))
		state->run_state = RUN_STATE_ON_CPU;
	if (ticks)
		emit_sample(ctx, task, state, due, ticks * cpu->points, false);
}

SEC("perf_event")
int on_tick(struct bpf_perf_event_data *ctx)
{
	struct cpu_state *cpu = this_cpu();
	__u64 now, due;

	if (!capture.active)
		return 0;
	now = bpf_ktime_get_ns();
	tick_begin(cpu, ctx, now, &due);
	sample_current(ctx, cpu, due, now);
	tick_end(cpu, now);
	return 0;
}
