/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The sampling clock of each CPU. A tick belongs to the thread that ran when it was due.
 *
 * The tick's interrupt comes some us late: interrupts are off in the scheduler, and the host of
 * a virtual machine delays it. By then another thread may run, and the last us of each run would
 * never be sampled. So a tick that is due when a thread is switched out is taken there.
 */
#pragma once

#include "abi/grid.h"
#include "bpf/core/state.bpf.h"

#define NOT_DUE (~0ULL)

/*
 * Sampling points of the tick due at @due in a run from @run_begin to @now: one, and
 * one for each further period until @now, for which there will be no ticks (a host
 * did not run us, interrupts were off). None when it was due before the run.
 */
static __always_inline __u64 points_due(const struct cpu_state *cpu, __u64 due, __u64 run_begin,
					__u64 now)
{
	return ticks_within(due, cpu->tick ? cpu->tick : settings.period_ns, run_begin, now);
}

/*
 * The points of a tick that is due, if the thread that ran from @run_begin to
 * @now is to take it along, and in @due when it was; 0: there is none.
 */
static __always_inline __u64 take_due_tick(struct cpu_state *cpu, __u64 run_begin, __u64 now,
					   __u64 *due)
{
	__u64 points;

	if (now < cpu->tick_due || !cpu->clock)
		return 0;
	/* The clock may have been set anew since its last tick. */
	*due = clock_expires(cpu->clock);
	if (*due > now) {
		cpu->tick_due = *due;
		return 0;
	}
	points = points_due(cpu, *due, run_begin, now);
	if (!points)
		return 0;
	cpu->tick_due = NOT_DUE;
	cpu->taken = *due;
	return points;
}

/*
 * To be called at a tick, in its interrupt: when it was due. False: the thread
 * that ran then has taken it along.
 */
static __always_inline bool tick_begin(struct cpu_state *cpu, struct bpf_perf_event_data *ctx,
				       __u64 now, __u64 *due)
{
	struct perf_event *clock = event_of(ctx);
	__u64 expires = clock_expires(clock);

	*due = expires && expires < now ? expires : now;
	cpu->clock = expires ? clock : NULL;
	cpu->tick = BPF_CORE_READ(clock, hw.sample_period);
	cpu->tick_due = *due + cpu->tick;
	return *due != cpu->taken;
}
