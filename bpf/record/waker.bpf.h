/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The thread that causes a wakeup or a request to a device. */
#pragma once

#include "abi/targets.h"
#include "bpf/record/thread.bpf.h"
#include "bpf/core/context.bpf.h"
#include "bpf/core/state.bpf.h"

const volatile __u32 helpers; /* enum helper_threads */

/*
 * The number of @waker, which is current. A thread that is not recorded gets one in WAKER_TASK
 * context. 0: the idle task, or it has none.
 */
static __always_inline __u32 waker_number(struct task_struct *waker, enum waker_context context,
					  __u64 now)
{
	struct thread_state *state;

	if (!waker->pid)
		return 0;
	state = state_of(waker);
	if (!state && context == WAKER_TASK)
		state = begin_state(waker, now, 0, RUN_STATE_UNKNOWN);
	if (!state)
		return 0;
	if (!(state->flags & STATE_ANNOUNCED))
		announce(waker, state, 0);
	return state->thread;
}

static __always_inline bool is_helper(struct task_struct *task)
{
	if (tgid_of(task) == settings.own_tgid)
		return false;
	return helpers == HELPERS_ALL || (helpers == HELPERS_KERNEL && task->flags & PF_KTHREAD);
}

/* @task, which is current, wakes a recorded thread. It becomes a helper if it may be one. */
static __always_inline void record_helper(struct task_struct *task, enum waker_context context,
					  __u64 now)
{
	struct thread_state *state;

	if (context != WAKER_TASK || !task->pid || !is_helper(task))
		return;
	state = state_of(task);
	if (!state || state->flags & STATE_TARGET)
		return;
	begin_times(task, state, now);
	state->run_state = RUN_STATE_ON_CPU;
	state->flags = STATE_TARGET | STATE_HELPER; /* announced once more, as that */
	announce(task, state, 0);
}
