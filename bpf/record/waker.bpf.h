/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The thread that causes a wakeup or a request to a device. */
#pragma once

#include "abi/targets.h"
#include "bpf/record/thread.bpf.h"
#include "bpf/core/context.bpf.h"
#include "bpf/core/interval.bpf.h"
#include "bpf/core/state.bpf.h"

const volatile __u32 helpers; /* enum helper_threads */

/*
 * The state of @waker, which is current. A thread that is not recorded gets one in WAKER_TASK
 * context. NULL: the idle task, or it has none.
 */
static __always_inline struct thread_state *waker_state(struct task_struct *waker,
							enum waker_context context, __u64 now)
{
	struct thread_state *state;

	if (!FIELD(waker, pid))
		return NULL;
	state = state_of(waker);
	if (!state && context == WAKER_TASK)
		state = begin_state(waker, now, 0, RUN_STATE_UNKNOWN);
	if (state && !(state->flags & STATE_ANNOUNCED))
		announce(waker, state, 0);
	return state;
}

/* Its number, or 0. */
static __always_inline __u32 waker_number(struct task_struct *waker, enum waker_context context,
					  __u64 now)
{
	const struct thread_state *state = waker_state(waker, context, now);

	return state ? state->thread : 0;
}

/* dwell itself, or the command before its exec: then it is dwell, too. */
static __always_inline bool is_dwell(struct task_struct *task)
{
	return is_own(task) || tgid_of(task) == settings.command_tgid;
}

static __always_inline bool is_helper(struct task_struct *task)
{
	if (is_dwell(task))
		return false;
	return helpers >= HELPERS_ALL ||
	       (helpers == HELPERS_KERNEL && FIELD(task, flags) & PF_KTHREAD);
}

/*
 * @task, which is current and has @state or NULL, wakes a recorded thread. It becomes a helper if
 * it may be one.
 */
static __always_inline void record_helper(struct task_struct *task, struct thread_state *state,
					  enum waker_context context, __u64 now)
{
	if (!state || state->flags & STATE_TARGET || context != WAKER_TASK || !is_helper(task))
		return;
	begin_times(task, state, now);
	state->run_state = RUN_STATE_ON_CPU;
	state->flags = STATE_TARGET | STATE_HELPER; /* announced once more, as that */
	announce(task, state, 0);
}

/*
 * Whether @waker, which is current, wakes a thread itself. In a softirq: if it is in a system call,
 * it may be sending over loopback; otherwise an interrupt came while it ran.
 */
static __always_inline bool wakes_itself(struct task_struct *waker, enum waker_context context)
{
	return context == WAKER_TASK ||
	       (context == WAKER_SOFTIRQ && syscall_of(waker) != SYSCALL_NONE);
}

/*
 * Current wakes @task, which is not recorded, and is off the CPU or about to be. If current is
 * recorded, @task becomes a helper, whose state is returned; otherwise NULL. Not if current is a
 * kernel thread, which works for the whole machine.
 */
static __always_inline struct thread_state *record_wakee(struct task_struct *task)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct thread_state *state;

	if (helpers != HELPERS_LINKED || FIELD(waker, flags) & PF_KTHREAD || is_dwell(task) ||
	    !target_state(waker) || !wakes_itself(waker, context_of(waker)))
		return NULL;
	state = begin_state(task, bpf_ktime_get_ns(), 0, RUN_STATE_UNKNOWN);
	if (!state) {
		count_loss(LOSS_THREAD_STATE);
		return NULL;
	}
	begin_marked(task, state);
	state->flags = STATE_TARGET | STATE_HELPER;
	announce(task, state, 0);
	return state;
}
