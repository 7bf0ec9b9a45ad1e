/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The exact times of a thread, sent when it exits and at the end of the recording. */
#pragma once

#include "bpf/record/thread.bpf.h"
#include "bpf/core/state.bpf.h"

/*
 * Less than 0: where a wakeup makes the scheduler switch, the kernel counts the run from the wakeup
 * on. That is no time in the run queue.
 */
static __always_inline void put_stolen(struct event_totals *event, __s64 stolen)
{
	__u64 early = stolen < 0 ? -stolen : 0, *queued = &event->ns[CLASS_SCHED];

	event->stolen = stolen < 0 ? 0 : stolen;
	*queued -= early < *queued ? early : *queued;
}

static __always_inline void fill_totals(struct event_totals *event, struct task_struct *task,
					const struct thread_state *state, __u64 now)
{
	event->header.type = EVENT_TOTALS;
	event->header.thread = state->thread;
	event->header.time = now;
	__builtin_memcpy(event->ns, state->product.ns, sizeof(event->ns));
	put_stolen(event, state->product.stolen);
	event->last_stolen = state->product.run_stolen;
	event->unseen = state->product.unseen;
	event->flags = TOTALS_COUNTED;
	event->sequence = state->product.sequence;
	event->voluntary = (__u32)(FIELD(task, nvcsw) - state->voluntary);
	event->involuntary = (__u32)(FIELD(task, nivcsw) - state->involuntary);
}
