/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The context in which a BPF program runs: the current task's, or an interrupt's. */
#pragma once

#include "abi/event.h"
#include "bpf/core/state.bpf.h"

/*
 * The run queue of this CPU, where @current runs; it never changes. Only for kernels whose tasks
 * have se.cfs_rq.
 */
static __always_inline struct rq *this_run_queue(struct task_struct *current)
{
	struct cpu_state *cpu = this_cpu();

	if (!cpu->run_queue)
		cpu->run_queue = BPF_CORE_READ(current, se.cfs_rq, rq);
	return cpu->run_queue;
}

/*
 * The per-CPU preempt count, which includes the context; -1: unknown. Its address is in kallsyms
 * only with CONFIG_KALLSYMS_ALL, but BTF has the per-CPU offsets of both it and the run queue, to
 * which every task points. (It is a member of pcpu_hot from 6.2 to 6.14, else a variable of its
 * own.)
 */
static __always_inline int preempt_count(struct task_struct *current)
{
	int count = -1;

	if (settings.preempt_count_from_rq && bpf_core_field_exists(current->se.cfs_rq))
		bpf_probe_read_kernel(&count, sizeof(count),
				      (void *)this_run_queue(current) +
					      settings.preempt_count_from_rq);
	return count;
}

/*
 * ns for which the hypervisor, KVM, did not run this CPU although it wanted to run: it adds to them
 * before it runs it again. 0: unknown. @current: see this_run_queue().
 */
static __always_inline __u64 stolen_ns(struct task_struct *current)
{
	__u64 ns = 0;

	if (settings.steal_time_from_rq && bpf_core_field_exists(current->se.cfs_rq))
		bpf_probe_read_kernel(&ns, sizeof(ns),
				      (void *)this_run_queue(current) +
					      settings.steal_time_from_rq);
	return ns;
}

/* include/linux/preempt.h: bits 8..15 softirq (bit 8: being served), 16..19 hardirq, 20..23 NMI. */
#define PREEMPT_SOFTIRQ_SERVING 0x00000100
#define PREEMPT_HARDIRQ_MASK	0x000f0000
#define PREEMPT_NMI_MASK	0x00f00000

static __always_inline enum waker_context context_of(struct task_struct *current)
{
	int count = preempt_count(current);

	if (count == -1)
		return WAKER_UNKNOWN;
	if (count & PREEMPT_NMI_MASK)
		return WAKER_NMI;
	if (count & PREEMPT_HARDIRQ_MASK)
		return WAKER_HARDIRQ;
	if (count & PREEMPT_SOFTIRQ_SERVING)
		return WAKER_SOFTIRQ;
	return WAKER_TASK;
}
