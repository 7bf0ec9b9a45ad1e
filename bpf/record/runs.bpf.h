/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Tells user space which recorded threads run. */
#pragma once

#include "abi/thread_run.h"
#include "bpf/core/state.bpf.h"

const volatile bool tells_runs;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, THREAD_RUNS);
	__type(key, __u32);
	__type(value, struct thread_run);
} thread_runs SEC(".maps");

static __always_inline struct thread_run *run_of(const struct thread_state *state)
{
	__u32 number = state->thread;

	return tells_runs ? bpf_map_lookup_elem(&thread_runs, &number) : NULL;
}

static __always_inline void tell_run(const struct thread_state *state, __u64 now)
{
	struct thread_run *run = run_of(state);

	if (!run)
		return;
	*(volatile __u32 *)&run->cpu = bpf_get_smp_processor_id();
	*(volatile __u64 *)&run->in = now;
}

static __always_inline void tell_wakeup(const struct thread_state *state, __u64 now)
{
	struct thread_run *run = run_of(state);

	if (run)
		*(volatile __u64 *)&run->runnable = now;
}

/* @task loses its CPU, and its run is counted. @ended: it will not run again. */
static __always_inline void tell_pause(const struct task_struct *task,
				       const struct thread_state *state, __u64 now, bool ended)
{
	struct thread_run *run = run_of(state);

	if (!run)
		return;
	run->ran = state->product.ns[CLASS_CPU];
	*(volatile __u64 *)&run->arrivals = arrivals(task);
	if (!ended && state->class == CLASS_SCHED)
		*(volatile __u64 *)&run->runnable = now;
	if (ended)
		*(volatile __u64 *)&run->in = 0;
	*(volatile __u64 *)&run->out = ended ? 0 : now;
}
