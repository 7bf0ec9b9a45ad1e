/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The CPU time of threads as the scheduler counts it (se.sum_exec_runtime). It does not count what
 * a hypervisor stole (where the guest is told) nor, if the kernel is configured so, interrupts.
 *
 * At a switch of the thread the count is up to date. In the middle of a run it is as of the last
 * tick or so; what was added since then follows from the clocks of the run queue. These are read
 * relative to CLOCK_MONOTONIC by read_clocks, which user space runs.
 */
#pragma once

#include "bpf/core/settings.bpf.h"
#include "bpf/core/verifier.bpf.h"

#define COUNT_READS 3

/* At a switch of @task: ns that it has been on CPUs. */
static __always_inline __u64 counted_time(const struct task_struct *task)
{
	return FIELD(task, se.sum_exec_runtime);
}

/* ns that @task, which has a CPU, has run at @now without being counted yet: an estimate. */
static __always_inline __u64 uncounted_time(struct task_struct *task, __u64 now)
{
	__u64 clock, clock_task, counted_to;
	__s64 ahead = capture.clock_ahead, since_clock, ns;

	if (!bpf_core_field_exists(task->se.cfs_rq) ||
	    !bpf_core_field_exists(task->se.exec_start) ||
	    !bpf_core_field_exists(((struct rq *)0)->clock_task) ||
	    !bpf_core_field_exists(((struct rq *)0)->clock))
		return 0;
	counted_to = READ(task, se.exec_start);
	clock_task = READ(task, se.cfs_rq, rq, clock_task);
	clock = READ(task, se.cfs_rq, rq, clock);
	since_clock = now - ahead - clock;
	ns = clock_task - counted_to;
	if (ahead && since_clock > 0)
		ns += since_clock;
	return ns > 0 ? ns : 0;
}

/* ns that the task at @address, which has a CPU, has been on CPUs at @now, the present. */
GLOBAL __u64 time_of_running(__u64 address, __u64 now)
{
	struct task_struct *task = (struct task_struct *)address;
	__u64 counted = 0, more = 0;

	/* The scheduler of its CPU may add to the count meanwhile. */
	for (int i = 0; i < COUNT_READS; i++) {
		counted = READ(task, se.sum_exec_runtime);
		more = uncounted_time(task, now);
		if (READ(task, se.sum_exec_runtime) == counted)
			break;
		more = 0;
	}
	return counted + more;
}

/* ns that @task has been on CPUs at @now, the present; @running: it has one. */
static __always_inline __u64 run_time(struct task_struct *task, bool running, __u64 now)
{
	return running ? time_of_running(address_in(task), now) : counted_time(task);
}

/* Reads the clock of this CPU's run queue, which is up to date if current has just slept. */
SEC("raw_tp")
int read_clocks(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (bpf_core_field_exists(task->se.cfs_rq) &&
	    bpf_core_field_exists(((struct rq *)0)->clock))
		capture.clock_read = bpf_ktime_get_ns() - READ(task, se.cfs_rq, rq, clock);
	return 0;
}
