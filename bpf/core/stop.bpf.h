/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Threads that are off the run queue because they are not allowed to run. */
#pragma once

#include "abi/event.h"
#include "bpf/core/kernel.bpf.h"
#include "bpf/core/settings.bpf.h"

/* Whether @task sleeps because its group has more than memory.high; no other sleep looks like that.
 */
static __always_inline bool waits_for_memory_high(struct task_struct *task, __u32 state)
{
	return state == (TASK_UNINTERRUPTIBLE | TASK_WAKEKILL) &&
	       bpf_core_field_exists(task->in_memstall) && BIT_FIELD(task, in_memstall) &&
	       !BIT_FIELD(task, in_iowait);
}

/*
 * What stops @task, which is blocked: enum stop_cause. The bit "frozen" is set in other stops, too,
 * so that these come first.
 */
static __always_inline enum stop_cause stop_of_blocked(struct task_struct *task)
{
	__u32 state = FIELD(task, __state);

	if (state & TASK_STOPPED)
		return STOP_SIGNAL;
	if (state & TASK_TRACED)
		return STOP_TRACER;
	if (settings.frozen_flag ? FIELD(task, flags) & settings.frozen_flag : state & TASK_FROZEN)
		return STOP_FREEZER;
	if (state & TASK_INTERRUPTIBLE && bpf_core_field_exists(task->frozen) &&
	    BIT_FIELD(task, frozen))
		return STOP_FREEZER;
	return waits_for_memory_high(task, state) ? STOP_MEMORY : STOP_NONE;
}
