/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * How virtual time passes from thread to thread, by wakeups and by CPUs; docs/virtual-time.md
 * has the reasoning.
 */
#pragma once

#include "abi/proportion.h"
#include "bpf/causal/async_io.bpf.h"
#include "bpf/causal/hits.bpf.h"

#define MAX_OVERTAKEN 65536 /* so that the sum of their times does not overflow */

static __always_inline bool causal_speeds_up_queue(void)
{
	return causal_targets[0].match == CAUSAL_MATCH_CLASS &&
	       causal_targets[0].class == CLASS_SCHED;
}

/* The smaller of two sums that may have wrapped. */
static __always_inline __u64 wrapping_min(__u64 a, __u64 b)
{
	return (__s64)(a - b) < 0 ? a : b;
}

/* (A global function, so that it is verified once.) */
GLOBAL __u64 causal_proportion(__u64 value, __u64 part, __u64 whole)
{
	return proportion(value, part, whole);
}

/*
 * By how much `global` grew while @sleeper slept. If @waker was credited in that time for a wait
 * that began earlier, the share for the earlier part of the wait is left out.
 */
static __always_inline __u64 causal_global_growth(const struct causal_area *area,
						  const struct thread_state *waker,
						  const struct thread_state *sleeper)
{
	__u64 growth = area->global - sleeper->product.global_at_switch_out;
	__u64 length = waker->product.wait_credit_to - waker->product.wait_credit_from, before;

	if (waker->product.wait_credit_at < sleeper->since ||
	    waker->product.wait_credit_from >= sleeper->since || !length)
		return growth;
	before = sleeper->since - waker->product.wait_credit_from;
	before = before < length ? causal_proportion(waker->product.wait_credit_ns, before, length)
				 : waker->product.wait_credit_ns;
	return growth > before ? growth - before : 0;
}

/*
 * @sleeper is woken by @waker, which is recorded too: it inherits the waker's `own`, but keeps the
 * debt from before the wait that the wait was too short to pay.
 */
static __always_inline void causal_wake(struct thread_state *waker, struct thread_state *sleeper,
					__u64 now)
{
	struct causal_area *area = causal_area();
	struct causal_slot *from, *slot;
	__u64 waited, own;

	if (!area || sleeper->run_state != RUN_STATE_OFF_CPU || sleeper->class == CLASS_SCHED)
		return;
	from = causal_slot_of(area, waker);
	slot = causal_slot_of(area, sleeper);
	if (!from || !slot || slot->pausing == CAUSAL_PAUSES)
		return;
	waited = now > sleeper->since ? now - sleeper->since : 0;
	waited += causal_global_growth(area, waker, sleeper);
	own = wrapping_min(from->own, slot->own + waited);
	slot->own = own;
	sleeper->product.woken_by_peer = true;
}

/* ns credited to threads while they ran on @cpu, in all. */
static __always_inline __u64 causal_cpu_credit(struct causal_area *area,
					       const struct cpu_state *cpu)
{
	const struct causal_slot *slot = causal_slot_at(area, cpu->product.slot);

	return slot ? cpu->product.credit + slot->own - cpu->product.own_at_switch_in
		    : cpu->product.credit;
}

/* ns that threads of the program have run on @cpu by @now, in all. */
static __always_inline __u64 causal_cpu_used(const struct cpu_state *cpu, __u64 now)
{
	__u64 switched_in_at = cpu->product.switched_in_at;

	return cpu->product.slot && now > switched_in_at ? cpu->product.used + now - switched_in_at
							 : cpu->product.used;
}

/* Whether @n CPUs are all that @task may run on. Compares counts only, not sets of CPUs. */
static __always_inline bool causal_are_all_cpus(const struct task_struct *task, __u32 n)
{
	__u32 allowed = FIELD(task, nr_cpus_allowed);

	return n >= (allowed < causal_cpus ? allowed : causal_cpus);
}

/*
 * Whether threads of the program have every CPU that @task may run on, or would have if they did
 * not sleep in pauses.
 */
static __always_inline bool causal_cpus_full(const struct task_struct *task)
{
	return causal_are_all_cpus(task, causal_running);
}

/* Likewise threads of any program. */
static __always_inline bool causal_cpus_busy(const struct task_struct *task)
{
	return causal_are_all_cpus(task, causal_running + causal_others_running);
}

/* @cpu runs a thread of another program from now on, or not. */
static __always_inline void causal_note_other(struct cpu_state *cpu, bool runs)
{
	if (cpu->product.runs_other == runs)
		return;
	cpu->product.runs_other = runs;
	__sync_fetch_and_add(&causal_others_running, runs ? 1 : -1);
}

/* Adds @more to causal_running; @more may be negative. */
static __always_inline void causal_count_running(__u32 more)
{
	if (more)
		__sync_fetch_and_add(&causal_running, more);
}

/*
 * Whether other programs wait for the CPU that @task, current, has. Threads of the program that
 * were moved to another run queue while they waited count where they were queued first.
 */
static __always_inline bool causal_others_want_cpu(struct task_struct *task)
{
	return runnable_beside(task) > 1 + this_cpu()->product.queued;
}

/* @state's thread no longer waits for a CPU. */
static __always_inline void causal_end_queueing(struct thread_state *state)
{
	struct cpu_state *cpu =
		&cpu_states[(state->product.ready_cpu - 1) & (CAPTURE_MAX_CPUS - 1)];

	if (!state->product.counted_queued)
		return;
	state->product.counted_queued = false;
	__sync_fetch_and_add(&cpu->product.queued, -1);
}

/* @state's thread is on @cpu's run queue from now on. */
static __always_inline void causal_begin_queueing(struct thread_state *state, struct cpu_state *cpu,
						  __u64 now)
{
	struct causal_area *area = causal_area();

	if (!area)
		return;
	causal_end_queueing(state);
	state->product.ready_cpu = (__u32)(cpu - cpu_states) + 1;
	if (state->run_state == RUN_STATE_OFF_CPU) {
		state->product.counted_queued = true;
		__sync_fetch_and_add(&cpu->product.queued, 1);
	}
	state->product.cpu_credit_at_ready = causal_cpu_credit(area, cpu);
	state->product.cpu_used_at_ready = causal_cpu_used(cpu, now);
}

/* @state's thread runs on @cpu from now on. */
static __always_inline void causal_begin_run(struct cpu_state *cpu, struct thread_state *state,
					     const struct causal_slot *slot, __u64 now)
{
	causal_count_running(1 - state->product.counted_running - !!cpu->product.slot);
	state->product.counted_running = false;
	cpu->product.slot = state->product.slot;
	cpu->product.own_at_switch_in = slot->own;
	cpu->product.switched_in_at = now;
}

/* @state's thread, paused or not, leaves its CPU. */
static __always_inline void causal_switch_out(struct cpu_state *cpu, struct thread_state *state,
					      __u64 now)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot = area ? causal_slot_of(area, state) : NULL;
	bool counted_running;

	if (area) {
		cpu->product.credit = causal_cpu_credit(area, cpu);
		cpu->product.used = causal_cpu_used(cpu, now);
	}
	counted_running = slot && slot->pausing == CAUSAL_PAUSES && state->class != CLASS_SCHED;
	causal_count_running(counted_running - state->product.counted_running -
			     !!cpu->product.slot);
	state->product.counted_running = counted_running;
	cpu->product.slot = 0;
	state->product.last_cpu = (__u32)(cpu - cpu_states) + 1;
	state->product.last_cpu_runs = cpu->product.runs;
	causal_end_queueing(state); /* its switch-in may have been hidden */
	state->product.ready_cpu = 0;
	state->product.cpus_full = state->product.cpus_busy = false;
	if (!slot)
		return;
	state->product.global_at_switch_out = area->global;
	state->product.woken_by_peer = false;
	if (state->class == CLASS_SCHED)
		causal_begin_queueing(state, cpu, now);
}

/*
 * @state's thread runs after it waited for its CPU. It gets the credits that the threads that ran
 * there meanwhile got, up to its debt: their time was shorter in virtual time, so the wait was too.
 */
static __always_inline void causal_credit_queueing(struct causal_area *area,
						   const struct thread_state *state,
						   struct causal_slot *slot)
{
	__u64 credit, debt = causal_debt(area, slot);

	if (!state->product.ready_cpu || causal_speeds_up_queue())
		return;
	credit = causal_cpu_credit(
			 area,
			 &cpu_states[(state->product.ready_cpu - 1) & (CAPTURE_MAX_CPUS - 1)]) -
		 state->product.cpu_credit_at_ready;
	__sync_fetch_and_add(&slot->own, credit < debt ? credit : debt);
}

/* ns that peers ran on the CPU that @state's thread waited for until @now. */
static __always_inline __u64 causal_peers_ran(const struct thread_state *state, __u64 now)
{
	const struct cpu_state *cpu =
		&cpu_states[(state->product.ready_cpu - 1) & (CAPTURE_MAX_CPUS - 1)];

	return state->product.ready_cpu
		       ? causal_cpu_used(cpu, now) - state->product.cpu_used_at_ready
		       : 0;
}

/*
 * A paused thread runs again. The time that it slept and waited for the CPU was pause, except while
 * peers had the CPU. Nothing is counted if the pause was forgiven meanwhile.
 */
static __always_inline void causal_resume_pause(const struct causal_area *area,
						struct thread_state *state,
						struct causal_slot *slot, __u64 wake, __u64 now)
{
	__u64 queued = now > wake ? now - wake : 0;
	__s64 later; /* debt that this pause does not pay */

	if (state->class == CLASS_SCHED)
		return;
	if (wake > state->since && (__s64)(slot->until - slot->own) > 0)
		__sync_fetch_and_add(&slot->own,
				     now - state->since -
					     wrapping_min(causal_peers_ran(state, now), queued));
	later = area->global - slot->until;
	state->product.off_cpu_debt = later > 0 ? later : 0;
}

/*
 * The part of the wait that ended at @wake that would be no gain if it were shorter, because all
 * CPUs were busy: a thread that comes back sooner overtakes others, each of which then waits for
 * as long as it runs. If all threads are similar, none gains; a thread that runs briefly among
 * others that compute gains nearly everything. Unused overtaking debt is kept for the next wait.
 */
static __always_inline __u64 causal_overtaking_discount(struct thread_state *state, __u64 wake,
							__u64 now)
{
	const struct cpu_state *left =
		&cpu_states[(state->product.last_cpu - 1) & (CAPTURE_MAX_CPUS - 1)];
	__u64 ran = state->since - state->ran_at, waited = wake - state->since;
	__u64 discount, others;

	if (!state->product.cpus_full || !state->product.last_cpu || wake <= state->since)
		return 0;
	others = (__u32)(left->product.runs - state->product.last_cpu_runs);
	if (others > MAX_OVERTAKEN)
		others = MAX_OVERTAKEN;
	state->product.overtaking_debt +=
		others * causal_proportion(ran, waited, now - state->since);
	discount = wrapping_min(state->product.overtaking_debt, waited);
	state->product.overtaking_debt -= discount;
	return discount;
}

#define CAUSAL_TIMER_ABSTIME 1

/* Counts a wait of @task of @ns, which no peer ended, by what it was for. */
static __always_inline void causal_count_outside(struct task_struct *task,
						 const struct thread_state *state, __u64 ns)
{
	const struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u32 wait = causal_syscall(syscall_of(task))->wait;
	enum causal_outside_wait what;

	if (wait == CAUSAL_SYSCALL_SLEEP ||
	    (wait == CAUSAL_SYSCALL_DEADLINE && !(REGS_ARG2(regs) & CAUSAL_TIMER_ABSTIME)))
		return;
	if (causal_asks_for_io(wait))
		what = CAUSAL_WAIT_IO;
	else if (state->class == CLASS_IO)
		return; /* it began with the wait */
	else if (wait == CAUSAL_SYSCALL_DEADLINE || state->waker_context == WAKER_HARDIRQ)
		what = CAUSAL_WAIT_TIMERS;
	else
		what = CAUSAL_WAIT_REQUESTS;
	__sync_fetch_and_add(&causal_outside_ns[what], ns);
}

/* @state's thread, @task, runs again after a wait that was not a pause. */
static __always_inline void causal_end_wait(struct causal_area *area, struct task_struct *task,
					    struct thread_state *state, struct causal_slot *slot,
					    __u64 wake, __u64 now)
{
	__u64 own;

	/* A wait that a peer ended is not credited: it is shorter only if the peer is faster. */
	state->product.wait_credit_at = 0;
	if (state->class != CLASS_SCHED && state->class != CLASS_LOCK &&
	    !state->product.woken_by_peer) {
		own = slot->own;
		if (causal_pause_tested)
			causal_count_outside(task, state, wake - state->since);
		state->product.overtaking_discount = causal_overtaking_discount(state, wake, now);
		causal_class_time(area, slot, state->class, wake - state->since,
				  state->product.overtaking_discount);
		state->product.wait_credit_at = now;
		state->product.wait_credit_from = state->since;
		state->product.wait_credit_to = wake;
		state->product.wait_credit_ns = slot->own - own;
		state->product.blocked_ns = causal_kinds_wanted ? wake - state->since : 0;
	}
	if (now > wake)
		causal_class_time(area, slot, CLASS_SCHED, now - wake, 0);
	if (state->class != CLASS_SCHED)
		state->product.off_cpu_debt = causal_debt(area, slot);
}

/* @state's thread, @task, runs again at @now; it was woken at @wake. */
static __always_inline void causal_switch_in(struct cpu_state *cpu, struct task_struct *task,
					     struct thread_state *state, __u64 wake, __u64 now)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot = area ? causal_slot_of(area, state) : NULL;

	state->product.blocked_ns = state->product.overtaking_discount = 0;
	causal_end_queueing(state);
	if (!slot)
		return;
	if (slot->pausing != CAUSAL_RUNS)
		slot->away += now - state->since;
	if (slot->pausing == CAUSAL_PAUSES) {
		causal_resume_pause(area, state, slot, wake, now);
		causal_credit_queueing(area, state, slot);
	} else {
		causal_credit_queueing(area, state, slot);
		causal_end_wait(area, task, state, slot, wake, now);
		cpu->product.runs++;
	}
	cpu->product.kind_pending = state->product.blocked_ns;
	causal_begin_run(cpu, state, slot, now);
}

/* @state's thread, current, executes a new program; its tid may have changed. */
static __always_inline void causal_exec(struct task_struct *task, struct thread_state *state,
					__u64 now)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot;

	causal_end(state);
	causal_begin(task, state, NULL);
	slot = area ? causal_slot_at(area, state->product.slot) : NULL;
	if (slot)
		causal_begin_run(this_cpu(), state, slot, now);
}
