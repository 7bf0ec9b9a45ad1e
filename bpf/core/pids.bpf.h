/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Pids in dwell's pid namespace, as its user sees them, for example in a container. Events, maps
 * and settings have no others. In the initial namespace there is nothing to look up.
 */
#pragma once

#include "bpf/core/settings.bpf.h"

#define PID_NAMESPACES 32 /* the kernel's limit of nesting */

/* The pid of @task in dwell's namespace, or DWELL_PID_OUTSIDE | @pid if it has none there. */
static __always_inline __u32 pid_here(struct task_struct *task, __u32 pid)
{
	struct pid *numbers = BPF_CORE_READ(task, thread_pid);
	unsigned int level = numbers ? READ(numbers, level) : 0;

	for (unsigned int i = 1; i < PID_NAMESPACES && i <= level; i++) {
		struct upid *number = number_of(numbers, i);

		if (READ(number, ns, ns.inum) == settings.pid_namespace)
			return READ(number, nr);
	}
	return DWELL_PID_OUTSIDE | pid;
}

static __always_inline __u32 tid_of(struct task_struct *task)
{
	return settings.pid_namespace ? pid_here(task, FIELD(task, pid)) : FIELD(task, pid);
}

static __always_inline __u32 tgid_of(struct task_struct *task)
{
	if (!settings.pid_namespace)
		return FIELD(task, tgid);
	return pid_here(BPF_CORE_READ(task, group_leader), FIELD(task, tgid));
}

/* tgid_of() by any pointer to a task. */
static __always_inline __u32 read_tgid(struct task_struct *task)
{
	__u32 tgid = READ(task, tgid);

	return settings.pid_namespace ? pid_here(BPF_CORE_READ(task, group_leader), tgid) : tgid;
}

/* Whether @task is dwell, or one of the processes that read files for it. */
static __always_inline bool is_own(struct task_struct *task)
{
	__u32 tgid = tgid_of(task), parent_tgid;

	if (tgid == settings.own_tgid)
		return true;
	if (!settings.zygote_tgid)
		return false;
	parent_tgid = read_tgid(BPF_CORE_READ(task, real_parent));
	return tgid == settings.zygote_tgid || parent_tgid == settings.zygote_tgid;
}
