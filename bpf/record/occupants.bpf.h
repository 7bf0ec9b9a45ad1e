/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Trace mode: who has each CPU while a recorded thread waits for it, if that is a thread that is
 * not recorded. (Runs of recorded threads are known from their intervals.) The last runs on a CPU
 * are kept, those of one thread within CPU_RUN_MERGED_NS as one, and sent when a recorded thread
 * gets the CPU that had waited for it since one of them.
 */
#pragma once

#include "bpf/core/verifier.bpf.h"
#include "bpf/core/state.bpf.h"

#define OTHER_RUNS	  64 /* of a CPU; a power of two */
#define OTHER_RUNS_MERGED 4  /* of these, a new run can be added to one of the latest */

struct other_run {
	__u64 from;
	__u64 until;
	__u64 ns;
	__u32 thread; /* 0: there is none, or it was sent */
};

struct occupants {
	__u64 since;	   /* a thread that is not recorded has the CPU since then; 0: none has */
	__u64 known_since; /* who had it before is forgotten; 0: nothing was seen yet */
	__u32 next;	   /* number of the next run */
} __attribute__((aligned(64)));

static struct occupants occupants[CAPTURE_MAX_CPUS];

struct other_runs {
	struct other_run runs[OTHER_RUNS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct other_runs);
} other_runs SEC(".maps");

/* Keeps a run of a thread, which is not recorded, on this CPU. (The result has no meaning.) */
GLOBAL int keep_other_run(__u32 thread, __u64 from, __u64 until)
{
	struct occupants *of = &occupants[bpf_get_smp_processor_id() & (CAPTURE_MAX_CPUS - 1)];
	__u32 zero = 0;
	struct other_runs *kept = bpf_map_lookup_elem(&other_runs, &zero);
	struct other_run *run;

	if (!kept)
		return 0;
	for (__u32 i = 1; i <= OTHER_RUNS_MERGED; i++) {
		run = &kept->runs[masked(of->next - i, OTHER_RUNS)];
		if (run->thread == thread && until - run->from <= CPU_RUN_MERGED_NS) {
			run->until = until;
			run->ns += until - from;
			return 0;
		}
	}
	run = &kept->runs[masked(of->next++, OTHER_RUNS)];
	if (run->thread && run->until > of->known_since)
		of->known_since = run->until;
	run->from = from;
	run->until = until;
	run->ns = until - from;
	run->thread = thread;
	return 0;
}

/*
 * Sends runs on this CPU that ended after @since, the latest first. 1 if all that happened since is
 * sent, otherwise 0.
 */
GLOBAL int send_other_runs(__u64 since)
{
	__u32 cpu = bpf_get_smp_processor_id(), zero = 0;
	struct occupants *of = &occupants[cpu & (CAPTURE_MAX_CPUS - 1)];
	struct other_runs *kept = bpf_map_lookup_elem(&other_runs, &zero);
	int complete = of->known_since && of->known_since <= since;

	if (!kept)
		return 0;
	for (__u32 i = 1; i <= OTHER_RUNS; i++) {
		struct other_run *run = &kept->runs[masked(of->next - i, OTHER_RUNS)];
		struct event_cpu_run event = {.header.type = EVENT_CPU_RUN};

		/* One before may have been merged with what followed this one. */
		if (run->until + CPU_RUN_MERGED_NS <= since)
			break;
		if (!run->thread || run->until <= since)
			continue;
		event.header.thread = run->thread;
		event.header.time = run->until;
		event.from = run->from;
		event.ns = run->ns;
		event.cpu = (__u16)(cpu + 1);
		run->thread = 0;
		if (!emit(&event, sizeof(event), LOSS_RING_FULL))
			complete = 0;
	}
	return complete;
}

/* Who had a CPU before a switch. */
struct passed_cpu {
	__u32 thread; /* 0: unknown, or idle */
	__u64 since;  /* if it is not recorded; otherwise 0 */
};

/* Sends the name of @task, whose stacks and files nobody will ask for. */
static __noinline void name_occupant(struct task_struct *task, struct thread_state *state)
{
	struct event_thread event = {};

	describe_thread(&event, task, state, 0);
	event.flags |= THREAD_OCCUPANT;
	state->product.named = emit(&event, sizeof(event), LOSS_RING_FULL);
}

/* The number of @task, which is current, and not the idle task. 0: it has no state. */
static __always_inline __u32 occupant_number(struct task_struct *task, __u64 now)
{
	struct thread_state *state = state_of(task);

	if (!state)
		state = begin_state(task, now, 0, RUN_STATE_UNKNOWN);
	if (!state)
		return 0;
	if (!(state->flags & STATE_ANNOUNCED) && !state->product.named)
		name_occupant(task, state);
	return state->thread;
}

/*
 * This CPU passes from @prev to @next at @now; @out and @in are their states if they are recorded.
 * Returns who had it.
 */
static __always_inline struct passed_cpu pass_cpu(struct task_struct *prev,
						  struct task_struct *next,
						  const struct thread_state *out,
						  const struct thread_state *in, __u64 now)
{
	struct occupants *of = &occupants[bpf_get_smp_processor_id() & (CAPTURE_MAX_CPUS - 1)];
	struct passed_cpu passed = {.since = of->since};

	if (!of->known_since)
		of->known_since = now;
	of->since = !in && FIELD(next, pid) ? now : 0;
	if (out)
		passed.thread = out->thread;
	else if (FIELD(prev, pid))
		passed.thread = occupant_number(prev, now);
	if (!passed.since)
		return passed;
	if (!passed.thread)
		of->known_since = now;
	else /* a thread may be recorded from some time within its run on */
		keep_other_run(passed.thread, passed.since,
			       out && out->seen > passed.since ? out->seen : now);
	if (out)
		passed.since = 0;
	return passed;
}

/*
 * A recorded thread gets this CPU at @now, for which it waited since @wake. Whether it will be
 * known who had the CPU meanwhile: the one before, @since then, or those that are sent.
 */
static __always_inline bool tell_occupants(__u64 wake, __u64 now, __u64 since)
{
	if (wake >= now)
		return false;
	if (since && since <= wake)
		return true;
	return send_other_runs(wake) & 1;
}
