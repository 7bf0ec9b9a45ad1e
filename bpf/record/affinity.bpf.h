/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Threads that wait for a CPU while another one is idle which their affinity forbids. The idle time
 * of CPUs is counted here, from when the first thread that may not use all of them waits.
 */
#pragma once

#include "abi/capture.h"
#include "bpf/core/kernel.bpf.h"
#include "bpf/core/settings.bpf.h"
#include "bpf/core/verifier.bpf.h"

#define MASK_WORDS (CAPTURE_MAX_CPUS / 64)
#define CPU_IDLES  (1ULL << 63)

struct cpu_set {
	__u64 words[MASK_WORDS];
};

/*
 * One word, so that other CPUs read it at any time: how long the CPU has been idle, or, if it has
 * CPU_IDLES, the time at which it would have become idle, had it been busy only before.
 */
static struct {
	__u64 mark;
} __attribute__((aligned(64))) idle_marks[CAPTURE_MAX_CPUS];

static bool counts_idle;

/* This CPU switches from @prev to @next. */
static __always_inline void count_idle(struct task_struct *prev, struct task_struct *next)
{
	__u64 *mark, now;

	if (!counts_idle || (FIELD(prev, pid) && FIELD(next, pid)))
		return;
	mark = &idle_marks[bpf_get_smp_processor_id() & (CAPTURE_MAX_CPUS - 1)].mark;
	now = bpf_ktime_get_ns();
	if (FIELD(next, pid)) {
		if (*mark & CPU_IDLES)
			*mark = now - (*mark & ~CPU_IDLES);
	} else if (!(*mark & CPU_IDLES)) {
		*mark = (now - *mark) | CPU_IDLES;
	}
}

/* ns that CPU @cpu has been idle up to @now, since they are counted. */
static __always_inline __u64 idle_time(__u32 cpu, __u64 now)
{
	__u64 mark = idle_marks[masked(cpu, CAPTURE_MAX_CPUS)].mark, since = mark & ~CPU_IDLES;

	if (!(mark & CPU_IDLES))
		return mark;
	return now > since ? now - since : 0;
}

/*
 * Run queues of CPUs, of which the kernel tells programs only by their tasks: each CPU has kernel
 * threads of its own.
 */
static __u64 queues[CAPTURE_MAX_CPUS];

SEC("iter/task")
int find_queues(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct rq *queue;

	if (!task || !bpf_core_field_exists(task->se.cfs_rq))
		return 0;
	queue = BPF_CORE_READ(task, se.cfs_rq, rq);
	queues[masked((__u32)READ(queue, cpu), CAPTURE_MAX_CPUS)] = (__u64)queue;
	return 0;
}

static __always_inline struct rq *queue_of(__u32 cpu)
{
	return (void *)queues[masked(cpu, CAPTURE_MAX_CPUS)];
}

static __always_inline bool runs_idle_task(struct rq *queue)
{
	return queue && !READ(queue, curr, pid);
}

/* Sets whether CPU @cpu is idle, which has not become or ceased to be so since that is counted. */
static __noinline void find_idle(__u32 cpu, __u64 now)
{
	__u64 *mark = &idle_marks[masked(cpu, CAPTURE_MAX_CPUS)].mark;
	struct rq *queue = queue_of(cpu);

	if (!runs_idle_task(queue)) {
		__sync_val_compare_and_swap(mark, 0, 1);
		return;
	}
	__sync_val_compare_and_swap(mark, 0, now | CPU_IDLES);
	if (!runs_idle_task(queue)) /* it ceased to be before there was a mark */
		__sync_val_compare_and_swap(mark, now | CPU_IDLES, 1);
}

static __always_inline bool is_idle(__u32 cpu, __u64 now)
{
	__u64 *mark = &idle_marks[masked(cpu, CAPTURE_MAX_CPUS)].mark;

	if (!*mark)
		find_idle(cpu, now);
	return *mark & CPU_IDLES;
}

/* One that is not seems to be idle. */
static __always_inline bool is_online(__u32 cpu)
{
	struct rq *queue = queue_of(cpu);

	return !queue || READ(queue, online);
}

/* Bytes of the kernel's CPU masks that mean something. */
static __always_inline __u32 cpu_set_size(void)
{
	__u32 size = (settings.n_cpus + 63) / 64 * 8;

	return size < sizeof(struct cpu_set) ? size : sizeof(struct cpu_set);
}

static __always_inline void read_affinity(__u64 address, struct cpu_set *set)
{
	struct task_struct *task = (void *)address;

	bpf_probe_read_kernel(set, cpu_set_size(), BPF_CORE_READ(task, cpus_ptr));
}

/*
 * Bounds of what is looked at when a thread is queued: what is known of other CPUs is not in this
 * one's cache. A thread that may use more than MAX_ALLOWED is not restricted.
 */
#define MAX_ALLOWED   32
#define MAX_FORBIDDEN 16

/* Where idle CPUs are looked for first: at the one that was found last. */
static __u32 first_cpu;

/*
 * A CPU, + 1, that the task at @address may not use, one that is idle at @now if one is found. 0:
 * there is none, or a CPU that the task may use is idle: then it waits for that.
 */
GLOBAL __u32 forbidden_cpu(__u64 address, __u64 now)
{
	__u32 first = *(volatile __u32 *)&first_cpu, busy = 0, idle = 0, looked_at = 0;
	struct cpu_set set = {};

	read_affinity(address, &set);
	for (__u32 i = 0; i < CAPTURE_MAX_CPUS && i < settings.n_cpus; i++) {
		__u32 cpu = first + i < settings.n_cpus ? first + i : first + i - settings.n_cpus;
		bool allowed = set.words[masked(cpu / 64, MASK_WORDS)] >> cpu % 64 & 1;

		if (!allowed && (idle || looked_at == MAX_FORBIDDEN))
			continue;
		looked_at += !allowed;
		if (!is_idle(cpu, now)) {
			busy = allowed ? busy : cpu + 1;
			continue;
		}
		if (!is_online(cpu))
			continue;
		if (allowed)
			return 0;
		idle = cpu + 1;
	}
	first += MAX_FORBIDDEN;
	first = idle ? idle - 1 : first < settings.n_cpus ? first : 0;
	if (first != first_cpu) /* all CPUs share it */
		first_cpu = first;
	return idle ? idle : busy;
}

/* A number for the affinity of the task at @address, which is not 0. */
GLOBAL __u64 affinity_id(__u64 address)
{
	struct cpu_set set = {};
	__u64 id = 0;

	read_affinity(address, &set);
	for (int i = 0; i < MASK_WORDS; i++)
		id = (id ^ set.words[i]) * 0x9e3779b97f4a7c15;
	return id ? id : 1;
}

/* Whether @task may not use all CPUs. Those of a kernel thread are the kernel's affair. */
static __always_inline bool is_restricted(struct task_struct *task)
{
	__u32 n = FIELD(task, nr_cpus_allowed);

	return bpf_core_field_exists(((struct rq *)0)->online) && n < settings.n_cpus &&
	       n <= MAX_ALLOWED && !(FIELD(task, flags) & PF_KTHREAD);
}
