/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Which tasks are recorded: iterators over all tasks, run by user space, mark and count targets. */
#pragma once

#include "abi/targets.h"
#include "bpf/core/interval.bpf.h"
#include "bpf/core/state.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u32); /* enum listed_as */
} targets SEC(".maps");

static __always_inline bool in_cgroup(struct task_struct *task)
{
	struct cgroup *group = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	struct cgroup_subsys_state *parent;

	for (int depth = 0; depth < 32; depth++) {
		if (READ(group, kn, id) == settings.target_cgroup)
			return true;
		parent = BPF_CORE_READ(group, self.parent);
		if (!parent)
			return false;
		group = BPF_CORE_READ(parent, cgroup);
	}
	return false;
}

static __always_inline bool is_listed(__u32 id, __u32 as)
{
	__u32 *found = bpf_map_lookup_elem(&targets, &id);

	return found && *found == as;
}

static __always_inline bool is_wanted(struct task_struct *task)
{
	if (!FIELD(task, pid) || is_own(task))
		return false;
	switch (settings.target_kind) {
	case TARGET_ALL:
		return true;
	case TARGET_LISTED:
		return is_listed(tgid_of(task), LISTED_PROCESS) ||
		       is_listed(tid_of(task), LISTED_THREAD);
	case TARGET_CGROUP:
		return in_cgroup(task);
	default:
		return false;
	}
}

/* @helper: 0, or STATE_HELPER. */
static __always_inline void mark(struct task_struct *task, __u8 helper)
{
	struct thread_state *state = state_of(task);

	if (state && state->flags & STATE_TARGET) {
		if (state->flags & STATE_HELPER &&
		    !helper) /* becomes a target, and is announced as such */
			state->flags &= ~(STATE_HELPER | STATE_ANNOUNCED);
		return;
	}
	state = begin_state(task, bpf_ktime_get_ns(), 0, RUN_STATE_UNKNOWN);
	if (!state) {
		count_loss(LOSS_THREAD_STATE);
		return;
	}
	begin_marked(task, state);
	state->flags = STATE_TARGET | helper;
	if (!helper)
		capture.marked++;
}

SEC("iter/task")
int mark_targets(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task || FIELD(task, flags) & PF_EXITING)
		return 0;
	if (is_wanted(task))
		mark(task, 0);
	else if (settings.linked && FIELD(task, pid) && FIELD(task, flags) & PF_KTHREAD)
		mark(task, STATE_HELPER);
	return 0;
}

SEC("iter/task")
int count_targets(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread_state *state;

	if (!task)
		return 0;
	state = target_state(task);
	if (state && state->run_state != RUN_STATE_GONE &&
	    !(state->flags & (STATE_ENDED | STATE_HELPER)))
		capture.left++;
	return 0;
}

/*
 * A task that is moved into the recorded cgroup becomes a target. @threadgroup: the other threads
 * of its process are moved with it; user space walks over the tasks to mark them.
 */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(on_cgroup_attach, struct cgroup *group, const char *path, struct task_struct *task,
	     bool threadgroup)
{
	if (!capture.active || !is_wanted(task))
		return 0;
	mark(task, 0);
	if (threadgroup)
		__sync_fetch_and_add(&capture.entered, 1);
	return 0;
}
