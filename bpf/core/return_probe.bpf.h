/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * While a function with a return probe runs, its return address on the stack is that of the
 * kernel's trampoline. The kernel keeps the original one.
 */
#pragma once

#include "bpf/core/state.bpf.h"

#define PAGE_BYTES  4096
#define MAX_RETURNS 64 /* functions with return probes that a thread is in at a time */

/* Where functions with return probes return to in the process of @task; 0: nowhere. */
static __noinline __u64 return_trampoline(struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct xol_area *area = mm ? BPF_CORE_READ(mm, uprobes_state.xol_area) : NULL;

	return area ? READ(area, vaddr) : 0;
}

/*
 * The original return address at @slot, by the struct uprobe_task at @address; @otherwise if it is
 * unknown. (Global: its loop would be verified for each path that leads to it.)
 */
GLOBAL __u64 return_kept_by(__u64 address, __u64 slot, __u64 otherwise)
{
	struct uprobe_task *probes = (struct uprobe_task *)address;
	struct return_instance *at = probes ? BPF_CORE_READ(probes, return_instances) : NULL;

	for (int i = 0; i < MAX_RETURNS && at; i++) {
		if (READ(at, stack) == slot)
			return READ(at, orig_ret_vaddr);
		at = BPF_CORE_READ(at, next);
	}
	return otherwise;
}

/* The original return address at @slot of the stack of @task; @otherwise if it is unknown. */
static __always_inline __u64 original_return(struct task_struct *task, __u64 slot, __u64 otherwise)
{
	return return_kept_by((__u64)BPF_CORE_READ(task, utask), slot, otherwise);
}

/* Whether @ip is in the page of the trampoline, but not at its begin. */
static __always_inline bool is_in_trampoline_page(__u64 trampoline, __u64 ip)
{
	return trampoline && ip > trampoline && ip - trampoline < PAGE_BYTES;
}

/* The address of the instruction that @task single-steps in a copy. */
static __noinline __u64 single_stepped(struct task_struct *task, __u64 otherwise)
{
	struct uprobe_task *probes = BPF_CORE_READ(task, utask);

	return probes ? READ(probes, vaddr) : otherwise;
}
