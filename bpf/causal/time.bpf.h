/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * How virtual time passes from thread to thread, by wakeups and by CPUs; docs/virtual-time.md
 * has the reasoning.
 */
#pragma once

#include "bpf/causal/hits.bpf.h"

static __always_inline bool causal_speeds_up_queue(void)
{
	return causal_targets[0].match == CAUSAL_MATCH_CLASS &&
	       causal_targets[0].class == CLASS_SCHED;
}

static __always_inline __u64 lesser(__u64 a, __u64 b)
{
	return (__s64)(a - b) < 0 ? a : b;
}

/*
 * How far the largest time advanced while @sleeper slept. Of what @waker was given in that time
 * for a wait that began earlier, the part that was due before is left out.
 */
static __always_inline __u64 causal_gone_on(const struct causal_area *area,
					    const struct thread_state *waker,
					    const struct thread_state *sleeper)
{
	__u64 gone = area->global - sleeper->product.global_then;
	__u64 length = waker->product.hit_to - waker->product.hit_from, before;

	if (waker->product.hit_at < sleeper->since || waker->product.hit_from >= sleeper->since ||
	    !length)
		return gone;
	before = sleeper->since - waker->product.hit_from;
	before = before < length ? waker->product.hit_ns * before / length : waker->product.hit_ns;
	return gone > before ? gone - before : 0;
}

/*
 * @sleeper is woken by @waker, which is recorded too: it takes over the waker's time, but for
 * debt from before the wait that the wait was too short to cover.
 */
static __always_inline void causal_wake(struct thread_state *waker, struct thread_state *sleeper,
					__u64 now)
{
	struct causal_area *area = causal_area();
	struct causal_slot *from, *slot;
	__u64 waited, own;

	if (!area || sleeper->where != WHERE_OFF_CPU || sleeper->class == CLASS_SCHED)
		return;
	from = causal_slot_of(area, waker);
	slot = causal_slot_of(area, sleeper);
	if (!from || !slot || slot->pausing == CAUSAL_PAUSES)
		return;
	waited = now > sleeper->since ? now - sleeper->since : 0;
	waited += causal_gone_on(area, waker, sleeper);
	own = lesser(from->own, slot->own + waited);
	slot->own = own;
	sleeper->product.carried = true;
}

/* What threads were given while they had @cpu. */
static __always_inline __u64 causal_given(struct causal_area *area, const struct cpu_state *cpu)
{
	const struct causal_slot *slot = causal_slot_at(area, cpu->product.slot);

	return slot ? cpu->product.given + slot->own - cpu->product.own_in : cpu->product.given;
}

/* How long threads have had @cpu. */
static __always_inline __u64 causal_used(const struct cpu_state *cpu, __u64 now)
{
	__u64 in_at = cpu->product.in_at;

	return cpu->product.slot && now > in_at ? cpu->product.used + now - in_at
						: cpu->product.used;
}

/*
 * Whether threads of the program have every CPU that @task may run on, or would have if they did
 * not pause asleep.
 */
static __always_inline bool causal_is_full(const struct task_struct *task)
{
	__u32 allowed = task->nr_cpus_allowed;

	return causal_running >= (allowed < causal_cpus ? allowed : causal_cpus);
}

/* Adds @more to causal_running; @more may be negative. */
static __always_inline void causal_count_running(__u32 more)
{
	if (more)
		__sync_fetch_and_add(&causal_running, more);
}

/* @state's thread waits for @cpu from now on. */
static __always_inline void causal_ready(struct thread_state *state, struct cpu_state *cpu,
					 __u64 now)
{
	struct causal_area *area = causal_area();

	if (!area)
		return;
	state->product.ready_cpu = (__u32)(cpu - cpu_states) + 1;
	state->product.given_then = causal_given(area, cpu);
	state->product.used_then = causal_used(cpu, now);
}

/* @state's thread has @cpu from now on. */
static __always_inline void causal_have_cpu(struct cpu_state *cpu, struct thread_state *state,
					    const struct causal_slot *slot, __u64 now)
{
	causal_count_running(1 - state->product.counted - !!cpu->product.slot);
	state->product.counted = false;
	cpu->product.slot = state->product.slot;
	cpu->product.own_in = slot->own;
	cpu->product.in_at = now;
}

/* @state's thread, paused or not, leaves its CPU. */
static __always_inline void causal_switch_out(struct cpu_state *cpu, struct thread_state *state,
					      __u64 now)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot = area ? causal_slot_of(area, state) : NULL;
	bool counted;

	if (area) {
		cpu->product.given = causal_given(area, cpu);
		cpu->product.used = causal_used(cpu, now);
	}
	counted = slot && slot->pausing == CAUSAL_PAUSES && state->class != CLASS_SCHED;
	causal_count_running(counted - state->product.counted - !!cpu->product.slot);
	state->product.counted = counted;
	cpu->product.slot = 0;
	state->product.left_cpu = (__u32)(cpu - cpu_states) + 1;
	state->product.left_runs = cpu->product.runs;
	state->product.ready_cpu = 0;
	state->product.full = false;
	if (!slot)
		return;
	state->product.global_then = area->global;
	state->product.carried = false;
	if (state->class == CLASS_SCHED)
		causal_ready(state, cpu, now);
}

/*
 * @state's thread runs after it waited for its CPU. In that time the CPU was used for less
 * virtual than real time, by what the threads that had it were given: so is the wait.
 */
static __always_inline void causal_take_cpu(struct causal_area *area,
					    const struct thread_state *state,
					    struct causal_slot *slot)
{
	__u64 given, debt = causal_debt(area, slot);

	if (!state->product.ready_cpu || causal_speeds_up_queue())
		return;
	given = causal_given(area,
			     &cpu_states[(state->product.ready_cpu - 1) & (CAPTURE_MAX_CPUS - 1)]) -
		state->product.given_then;
	__sync_fetch_and_add(&slot->own, given < debt ? given : debt);
}

/* For how long threads of the program had the CPU that @state's thread waited for until @now. */
static __always_inline __u64 causal_used_meanwhile(const struct thread_state *state, __u64 now)
{
	const struct cpu_state *cpu =
		&cpu_states[(state->product.ready_cpu - 1) & (CAPTURE_MAX_CPUS - 1)];

	return state->product.ready_cpu ? causal_used(cpu, now) - state->product.used_then : 0;
}

/*
 * A paused thread runs again, and its pause was not forgiven: the pause has passed while it
 * slept and while it waited for the CPU, but not while other threads of the program had the CPU.
 */
static __always_inline void causal_resume_pause(const struct causal_area *area,
						struct thread_state *state,
						struct causal_slot *slot, __u64 wake, __u64 now)
{
	__u64 queued = now > wake ? now - wake : 0;
	__s64 later; /* debt that this pause is not for */

	if (state->class == CLASS_SCHED)
		return;
	if (wake > state->since && (__s64)(slot->until - slot->own) > 0)
		__sync_fetch_and_add(&slot->own,
				     now - state->since -
					     lesser(causal_used_meanwhile(state, now), queued));
	later = area->global - slot->until;
	state->product.slept_debt = later > 0 ? later : 0;
}

/*
 * How much of the wait that ended at @wake would be no gain because all CPUs were busy: a thread
 * that comes back sooner overtakes others, each of which then waits for as long as it runs. If
 * all threads are alike, none gains anything; a thread that runs briefly among others that
 * compute gains nearly all.
 */
static __always_inline __u64 causal_in_vain(struct thread_state *state, __u64 wake, __u64 now)
{
	const struct cpu_state *left =
		&cpu_states[(state->product.left_cpu - 1) & (CAPTURE_MAX_CPUS - 1)];
	__u64 ran = state->since - state->ran_at, waited = wake - state->since;
	__u64 in_vain;
	__u32 others;

	if (!state->product.full || !state->product.left_cpu || wake <= state->since)
		return 0;
	others = left->product.runs - state->product.left_runs;
	state->product.overtaken += others * ran * waited / (now - state->since);
	in_vain = lesser(state->product.overtaken, waited);
	state->product.overtaken -= in_vain;
	return in_vain;
}

/* @state's thread is back from a wait that was no pause. */
static __always_inline void causal_come_back(struct causal_area *area, struct thread_state *state,
					     struct causal_slot *slot, __u64 wake, __u64 now)
{
	__u64 own;

	/* Waits for another thread of the program become shorter when that thread is faster. */
	state->product.hit_at = 0;
	if (state->class != CLASS_SCHED && state->class != CLASS_LOCK && !state->product.carried) {
		own = slot->own;
		state->product.in_vain = causal_in_vain(state, wake, now);
		causal_class_time(area, slot, state->class, wake - state->since,
				  state->product.in_vain);
		state->product.hit_at = now;
		state->product.hit_from = state->since;
		state->product.hit_to = wake;
		state->product.hit_ns = slot->own - own;
		state->product.blocked_ns = causal_kinds_wanted ? wake - state->since : 0;
	}
	if (now > wake)
		causal_class_time(area, slot, CLASS_SCHED, now - wake, 0);
	if (state->class != CLASS_SCHED)
		state->product.slept_debt = causal_debt(area, slot);
}

/* @state's thread runs again, at @now; what it waited for came at @wake. */
static __always_inline void causal_switch_in(struct cpu_state *cpu, struct thread_state *state,
					     __u64 wake, __u64 now)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot = area ? causal_slot_of(area, state) : NULL;

	state->product.blocked_ns = state->product.used = state->product.in_vain = 0;
	if (!slot)
		return;
	if (state->product.full)
		state->product.used = causal_used_meanwhile(state, now);
	if (slot->pausing != CAUSAL_RUNS)
		slot->away += now - state->since;
	if (slot->pausing == CAUSAL_PAUSES) {
		causal_resume_pause(area, state, slot, wake, now);
		causal_take_cpu(area, state, slot);
	} else {
		causal_take_cpu(area, state, slot);
		causal_come_back(area, state, slot, wake, now);
		cpu->product.runs++;
	}
	cpu->product.waited = state->product.blocked_ns;
	causal_have_cpu(cpu, state, slot, now);
}

/* @state's thread, current, begins another program, under another tid maybe. */
static __always_inline void causal_exec(struct task_struct *task, struct thread_state *state,
					__u64 now)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot;

	causal_end(state);
	causal_begin(task, state, NULL);
	slot = area ? causal_slot_at(area, state->product.slot) : NULL;
	if (slot)
		causal_have_cpu(this_cpu(), state, slot, now);
}
