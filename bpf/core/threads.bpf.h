/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The life of threads. Each function has the part of a tracepoint's program that all products
 * share, and returns the state of the thread, or NULL if it is not recorded.
 */
#pragma once

#include "bpf/core/state.bpf.h"
#include "bpf/core/tasks.bpf.h"
#include "bpf/core/unwind.bpf.h"

/* Whether @child, created by the thread @parent, enters the recorded cgroup by that. */
static __always_inline bool is_created_inside(const struct thread_state *parent,
					      struct task_struct *child)
{
	return settings.target_kind == TARGET_CGROUP && (!parent || parent->flags & STATE_HELPER) &&
	       is_wanted(child);
}

/*
 * sched_process_fork: threads that a recorded thread creates are recorded like that. A process that
 * another one creates in the recorded cgroup is recorded like one that enters it: without a parent,
 * and user space reads what it has mapped.
 */
static __always_inline struct thread_state *thread_created(struct task_struct *parent,
							   struct task_struct *child)
{
	struct thread_state *state;
	__u32 parent_number = 0;
	__u8 flags = 0;

	if (!capture.active || !settings.follow)
		return NULL;
	state = target_state(parent);
	if (!is_created_inside(state, child)) {
		if (!state || (state->flags & STATE_HELPER && !settings.linked))
			return NULL;
		flags = STATE_CREATED | (state->flags & STATE_HELPER);
		parent_number = state->thread;
		if (!(state->flags & STATE_ANNOUNCED))
			announce(parent, state, 0);
	}
	state = begin_state(child, bpf_ktime_get_ns(), STATE_TARGET | flags, RUN_STATE_OFF_CPU);
	if (!state)
		return NULL;
	state->class = CLASS_SCHED;
	state->interval_flags = INTERVAL_FIRST | INTERVAL_PREEMPTED;
	state->voluntary = 0;
	state->involuntary = 0;
	announce(child, state, parent_number);
	unwind_fork(tgid_of(parent), tgid_of(child));
	return state;
}

/*
 * task_rename. Within exec it fires behind the point of no return, before the new program is
 * mapped: a command is recorded from here on.
 */
static __always_inline struct thread_state *thread_renamed(struct task_struct *task,
							   const char *name)
{
	struct event_comm event = {};
	struct thread_state *state;
	__u64 now;

	if (!capture.active)
		return NULL;
	now = bpf_ktime_get_ns();
	state = target_state(task);
	if (!state && settings.command_tgid && tgid_of(task) == settings.command_tgid)
		state = begin_state(task, now, STATE_TARGET | STATE_CREATED, RUN_STATE_ON_CPU);
	if (!state)
		return NULL;
	state->renamed = now;
	if (task_in_exec(task)) {
		state->flags |= STATE_IN_EXEC;
		unwind_exec(tgid_of(task));
	}
	if (!(state->flags & STATE_ANNOUNCED))
		announce(task, state, 0);
	event.header = (struct event_header){EVENT_COMM, state->thread, now};
	bpf_probe_read_kernel_str(event.comm, sizeof(event.comm), name);
	emit(&event, sizeof(event), LOSS_RING_FULL);
	return state;
}

/* sched_process_exec */
static __always_inline struct thread_state *thread_executed(struct task_struct *task)
{
	struct event_exec event = {};
	struct thread_state *state;

	state = capture.active ? target_state(task) : NULL;
	if (!state)
		return NULL;
	state->flags &= ~STATE_IN_EXEC;
	unwind_begin(task);
	event.header = (struct event_header){EVENT_EXEC, state->thread, state->renamed};
	event.tid = tid_of(task);
	READ_STRING(event.comm, task, comm);
	emit(&event, sizeof(event), LOSS_RING_FULL);
	return state;
}

/*
 * sched_process_exit: the last event of a thread that is always seen. (Its last switch is not, if
 * the kernel hides the next task from tracing.) The caller then calls thread_has_ended().
 */
static __always_inline struct thread_state *thread_exits(struct task_struct *task)
{
	struct thread_state *state = capture.active ? target_state(task) : NULL;

	if (!state || state->run_state == RUN_STATE_GONE)
		return NULL;
	if (!(state->flags & STATE_ANNOUNCED))
		announce(task, state, 0);
	return state;
}

/* The task is freed. Loaded only with settings.states_in_hash. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *task)
{
	drop_hashed_state(task);
	return 0;
}

static __always_inline void thread_has_ended(struct thread_state *state)
{
	state->run_state = RUN_STATE_ON_CPU;
	state->flags |= STATE_ENDED;
	__sync_fetch_and_add(&capture.ended, 1);
}
