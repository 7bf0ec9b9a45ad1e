/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Virtual time: threads with debt are paused, by a signal that is sent only where it cannot
 * interrupt a system call.
 */
#pragma once

#include "bpf/causal/time.bpf.h"

/*
 * Not reported when shorter: the C library blocks all signals while a thread is created or exits.
 */
#define CAUSAL_SIGNAL_BLOCKED_NS 20000000

/*
 * Whether @task is about to restart a system call that a stop or the freezer interrupted: a
 * signal handler would make the call fail with EINTR.
 */
static __always_inline bool causal_restarts_syscall(struct task_struct *task)
{
	const struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	return REGS_RESTARTS(regs);
}

/* The part of its debt that current has to pay now, in ns; see causal_settle. */
static __always_inline __u64 causal_due(struct causal_area *area, struct causal_slot *slot,
					struct thread_state *state, __u64 now)
{
	__u64 debt = causal_debt(area, slot), due = 0;

	if (!causal_settle)
		return debt;
	if (debt < state->product.least_debt)
		state->product.least_debt = debt;
	if (now >= state->product.settle_at) {
		due = state->product.least_debt;
		state->product.least_debt = debt;
		state->product.settle_at = now + causal_settle;
	}
	return due;
}

/*
 * The part of a pause of @due that @task, current, sleeps: its debt that arose while it had no CPU,
 * which is reduced by that. For the rest it keeps the CPU. All of it if the target is the class
 * sched; and if other programs wait for the CPU, because a fair scheduler would take the time of a
 * pause that is spun from the thread's own work.
 */
static __always_inline __u64 causal_sleep_part(struct task_struct *task, struct thread_state *state,
					       __u64 due, __u64 debt)
{
	__u64 asleep = due;

	if (state->product.off_cpu_debt > debt)
		state->product.off_cpu_debt = debt;
	if (asleep > state->product.off_cpu_debt && !causal_speeds_up_queue() &&
	    !causal_others_want_cpu(task))
		asleep = state->product.off_cpu_debt;
	state->product.off_cpu_debt -=
		asleep < state->product.off_cpu_debt ? asleep : state->product.off_cpu_debt;
	return asleep;
}

/*
 * Whether current should pause now for @due. Sleeping costs two context switches and a timer, which
 * on busy CPUs delays other threads: there, a slept pause is postponed until it is as long as a
 * period.
 */
static __always_inline bool causal_should_pause(const struct task_struct *task,
						const struct thread_state *state, __u64 due)
{
	__u64 held = due > state->product.off_cpu_debt ? due - state->product.off_cpu_debt : 0;

	if (due < causal_min_pause)
		return false;
	return held >= causal_min_pause || due >= settings.period_ns || causal_speeds_up_queue() ||
	       !causal_cpus_busy(task);
}

/*
 * A pause of @task, current, failed. It is tried again at every tick and system call, but counted
 * once for each pause that there would have been.
 */
static __always_inline void causal_pause_failed(const struct causal_area *area,
						struct task_struct *task,
						struct thread_state *state,
						enum causal_unpaused why)
{
	if (!causal_should_pause(task, state, area->global - state->product.failed_global))
		return;
	state->product.failed_global = area->global;
	causal_count_unpaused(why, tid_of(task));
}

/* Whether the signal would reach libdwell.so's handler. If not, counts why. */
static __always_inline bool causal_can_pause(const struct causal_area *area,
					     struct task_struct *task, struct thread_state *state,
					     __u64 now)
{
	__u32 index = (causal_signal - 1) & 63;

	if (signal_handler_mask(task, index) != CAUSAL_HANDLER_MASK) {
		causal_pause_failed(area, task, state, CAUSAL_NO_HANDLER);
		return false;
	}
	if (blocked_signals(task) >> index & 1) {
		if (!state->product.signal_blocked_at)
			state->product.signal_blocked_at = now;
		else if (now - state->product.signal_blocked_at > CAUSAL_SIGNAL_BLOCKED_NS)
			causal_pause_failed(area, task, state, CAUSAL_BLOCKED);
		return false;
	}
	state->product.signal_blocked_at = 0;
	return true;
}

/*
 * Pauses current, thread @number, if it has enough debt. It must be about to return to user mode,
 * so that no system call can be interrupted. (Global: verified once.)
 */
GLOBAL int causal_pay(__u32 number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = target_state(task);
	struct causal_area *area = causal_area();
	struct causal_slot *slot;
	__u64 now, due;

	if (!state || !area || !number || state->product.slot != number)
		return 0;
	slot = causal_slot_of(area, state);
	/* Workers of io_uring, for example, run in the kernel only: what they do is I/O. */
	if (!slot || area->ended || !has_user_mode(task) || causal_restarts_syscall(task))
		return 0;
	now = bpf_ktime_get_ns();
	if (causal_in_pause(slot, now))
		return 0;
	due = causal_due(area, slot, state, now);
	if (!causal_should_pause(task, state, due) || !causal_can_pause(area, task, state, now))
		return 0;
	causal_count_run(state, slot, now);
	slot->until = slot->own + due;
	slot->asleep = causal_sleep_part(task, state, due, causal_debt(area, slot));
	slot->asked = now;
	slot->away = 0;
	slot->pausing = CAUSAL_ASKED;
	state->product.least_debt = causal_debt(area, slot) - due;
	if (bpf_send_signal_thread(causal_signal)) {
		slot->pausing = CAUSAL_RUNS;
		causal_pause_failed(area, task, state, CAUSAL_NOT_SENT);
	}
	return 0;
}

/* Whether thread @number may have enough debt to be paused. Called at every system call. */
static __always_inline bool causal_owes(__u32 number)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot = area ? causal_slot_at(area, number) : NULL;

	return slot && (__s64)(area->global - slot->own) >= (__s64)causal_min_pause;
}
