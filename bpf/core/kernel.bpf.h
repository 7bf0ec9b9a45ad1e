/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What dwell reads of the kernel where versions differ, from 5.15 on.
 *
 * A field that some kernels lack is read here only, by a function that says what replaces it. A
 * field that every kernel has, in one of these versions, is not checked for: where it is missing,
 * the load fails and names it. So does one whose lack says that the kernel is unknown, not older.
 */
#pragma once

#include "bpf/core/kernel_types.bpf.h"

/* Whether the kernel delays the dequeue of tasks that sleep: it counts those. */
static __always_inline bool counts_delayed(void)
{
	return bpf_core_field_exists(struct cfs_rq, h_nr_runnable) ||
	       bpf_core_field_exists(struct cfs_rq, h_nr_delayed);
}

/*
 * Whether @task is off the run queue, or (6.12 and later) on it only because its dequeue is
 * delayed. Stable while the run-queue lock is held, as in sched_switch; and right if a pending
 * signal made the scheduler treat a sleep as a yield, unlike the task's state.
 */
static __always_inline bool task_blocked(struct task_struct *task)
{
	if (!FIELD(task, on_rq))
		return true;
	if (bpf_core_field_exists(task->se.sched_delayed) || counts_delayed())
		return FIELD(task, se.sched_delayed);
	return false;
}

/* Whether has_cpu() is known: not in kernels for one CPU. */
static __always_inline bool knows_cpu(const struct task_struct *task)
{
	return bpf_core_field_exists(task->on_cpu) || bpf_core_field_exists(task->wake_cpu);
}

/*
 * Whether @task has a CPU; false in kernels for one CPU, in which dwell has it. A switch changes
 * the run queue's curr just before the tracepoint, and on_cpu of both tasks behind it, up to where
 * the stacks are switched: a task seen between would be off its CPU, and still on it.
 */
static __always_inline bool has_cpu(const struct task_struct *task)
{
	if (!knows_cpu(task))
		return false;
	if (bpf_core_field_exists(task->se.cfs_rq))
		return BPF_CORE_READ(task, se.cfs_rq, rq, curr) == task;
	return FIELD(task, on_cpu);
}

/*
 * Pointers in kernel structures are followed by BPF_CORE_READ(): for each that code follows itself,
 * the verifier (6.4 and later) searches all of the kernel's BTF, up to four times.
 */

/* ns since @then by the clock of @task's run queue; 0: unknown. */
static __always_inline __u64 rq_time_since(struct task_struct *task, __u64 then)
{
	__u64 clock;

	if (!then || !bpf_core_field_exists(task->se.cfs_rq))
		return 0;
	clock = READ(task, se.cfs_rq, rq, clock);
	return clock > then ? clock - then : 0;
}

/* ns that @task, which is being switched out, has been running; 0: unknown. */
static __always_inline __u64 run_length(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->sched_info.last_arrival))
		return 0;
	return rq_time_since(task, FIELD(task, sched_info.last_arrival));
}

/* ns that @task, which is being switched in, has been queued; 0: unknown. */
static __always_inline __u64 queue_length(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->sched_info.last_queued))
		return 0;
	return rq_time_since(task, FIELD(task, sched_info.last_queued));
}

/* ns that @task has been in run queues, up to its current or last run; 0: unknown. */
static __always_inline __u64 run_delay(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->sched_info.run_delay))
		return 0;
	return FIELD(task, sched_info.run_delay);
}

/* Number of runs of @task, the current one included; 0: unknown. */
static __always_inline __u64 arrivals(const struct task_struct *task)
{
	if (!bpf_core_field_exists(task->sched_info.pcount))
		return 0;
	return FIELD(task, sched_info.pcount);
}

/*
 * Number of runs of @task that have ended; @running: it is in one that has not. The kernel does not
 * count a run of a task that it has not queued before, as happens in 7.2.
 */
static __always_inline __u32 ended_runs(const struct task_struct *task, bool running)
{
	if (!bpf_core_field_exists(task->sched_info.pcount))
		return FIELD(task, nvcsw) + FIELD(task, nivcsw);
	return FIELD(task, sched_info.pcount) - running;
}

/* Number of tasks that have the CPU of @task or wait for it; 0: unknown. */
static __always_inline __u32 runnable_beside(struct task_struct *task)
{
	struct rq *rq;
	__u32 delayed = 0;

	if (!bpf_core_field_exists(task->se.cfs_rq))
		return 0;
	rq = task->se.cfs_rq->rq;
	if (bpf_core_field_exists(rq->cfs.h_nr_delayed))
		delayed = FIELD(rq, cfs.h_nr_delayed);
	else if (bpf_core_field_exists(rq->cfs.h_nr_runnable) ||
		 bpf_core_field_exists(task->se.sched_delayed))
		delayed = FIELD(rq, cfs.h_nr_queued) - FIELD(rq, cfs.h_nr_runnable);
	return FIELD(rq, nr_running) - delayed;
}

/* The perf event for which a program of type perf_event is called. */
static __always_inline struct perf_event *event_of(struct bpf_perf_event_data *ctx)
{
	return BPF_CORE_READ((struct bpf_perf_event_data_kern *)ctx, event);
}

/* When the timer of a clock event expires, or expired if that is being handled; 0: unknown. */
static __always_inline __u64 clock_expires(struct perf_event *clock)
{
	if (!bpf_core_field_exists(clock->hw.hrtimer.node.expires))
		return 0;
	return READ(clock, hw.hrtimer.node.expires);
}

/* The number of @pid in the namespace at @level, where 0 is the initial one. */
static __always_inline struct upid *number_of(struct pid *pid, unsigned int level)
{
	return (void *)pid + bpf_core_field_offset(struct pid, numbers) +
	       level * bpf_core_type_size(struct upid);
}

/* The tid of @task in its own pid namespace, as gettid() returns it. 0: the task has exited. */
static __always_inline __u32 own_tid(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	struct upid *number;

	if (!pid)
		return 0;
	number = number_of(pid, READ(pid, level));
	return READ(number, nr);
}

/* The signal mask of @task's handler for signal @index + 1; 0: no handler. */
static __always_inline __u64 signal_handler_mask(struct task_struct *task, __u32 index)
{
	struct sighand_struct *sighand = BPF_CORE_READ(task, sighand);
	const struct k_sigaction *action;
	__u64 mask[1] = {};

	if (!sighand)
		return 0;
	action = (void *)sighand + bpf_core_field_offset(struct sighand_struct, action) +
		 index * bpf_core_type_size(struct k_sigaction);
	if ((unsigned long)BPF_CORE_READ(action, sa.sa_handler) <= 1)
		return 0;
	READ_BYTES(mask, action, sa.sa_mask.sig);
	return mask[0];
}

static __always_inline __u64 blocked_signals(struct task_struct *task)
{
	__u64 mask[1] = {};

	READ_BYTES(mask, task, blocked.sig);
	return mask[0];
}

/* Whether @task is within execve(). */
static __always_inline bool task_in_exec(struct task_struct *task)
{
	return bpf_core_field_exists(task->in_execve) && BIT_FIELD(task, in_execve);
}

/* The CPU that @task runs on, or is queued at. */
static __always_inline __u32 cpu_of(struct task_struct *task)
{
	const struct task_struct___before_5_16 *old = (const void *)task;

	if (bpf_core_field_exists(task->thread_info.cpu))
		return FIELD(task, thread_info.cpu);
	return FIELD(old, cpu);
}
