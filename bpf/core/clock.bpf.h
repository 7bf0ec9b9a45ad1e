/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The sampling clock of each CPU. A tick belongs to the thread that ran when the tick was due.
 *
 * The tick's interrupt comes some us late: interrupts are off in the scheduler, and a hypervisor
 * may delay it. By then another thread may run, and the last us of each run would never be
 * sampled. So a tick that is due when a thread is switched out is handled at the switch.
 */
#pragma once

#include "abi/grid.h"
#include "bpf/core/context.bpf.h"
#include "bpf/core/state.bpf.h"

#define NOT_DUE	      (~0ULL)
#define SHORTEST_TICK 10000 /* ns: the kernel's minimum */

/* Updates @cpu from the period of @clock, its sampling clock. */
static __always_inline void read_period(struct cpu_state *cpu, struct perf_event *clock)
{
	__u64 tick = READ(clock, hw.sample_period);

	if (tick < SHORTEST_TICK)
		tick = SHORTEST_TICK;
	if (tick == cpu->tick)
		return;
	cpu->tick = tick;
	cpu->points = points_per_tick(tick, settings.period_ns);
}

/*
 * The number of ticks that were due in the run from @run_begin to @now and are not counted
 * yet; the clock's current tick was due at @due. There is more than one if the hypervisor did
 * not run this CPU, if interrupts were off, or if a tick's interrupt took longer than a period.
 */
static __always_inline __u64 count_ticks(struct cpu_state *cpu, __u64 due, __u64 run_begin,
					 __u64 now)
{
	__u64 tick = cpu->tick ?: SHORTEST_TICK, first = due;

	if (cpu->last_tick && due >= cpu->last_tick && (due - cpu->last_tick) % tick == 0)
		first = cpu->last_tick + ((cpu->counted_to - cpu->last_tick) / tick + 1) * tick;
	cpu->last_tick = due;
	cpu->counted_to = now;
	return ticks_within(first, tick, run_begin, now);
}

/*
 * Handles a tick that is due by @now for the thread that ran from @run_begin to @now: returns
 * count_ticks(), and sets *@due to when it was due. 0: there is none.
 */
static __always_inline __u64 take_due_tick(struct cpu_state *cpu, __u64 run_begin, __u64 now,
					   __u64 *due)
{
	if (now < cpu->tick_due || !cpu->clock)
		return 0;
	/* The clock may have been restarted since its last tick. */
	*due = clock_expires(cpu->clock);
	if (*due > now) {
		cpu->tick_due = *due;
		return 0;
	}
	cpu->tick_due = NOT_DUE;
	read_period(cpu, cpu->clock);
	return count_ticks(cpu, *due, run_begin, now);
}

/* The time from the last tick of @cpu, the current one, to @now, at most a tick's. */
static __always_inline __u64 since_tick(const struct cpu_state *cpu, __u64 now)
{
	__u64 last = cpu->tick_due == NOT_DUE ? cpu->last_tick : cpu->tick_due - cpu->tick;

	if (!cpu->clock || last > now)
		return 0;
	return now - last < cpu->tick ? now - last : cpu->tick;
}

/* To be called in the interrupt of a tick. Sets *@due to when the tick was due. */
static __always_inline void tick_begin(struct cpu_state *cpu, struct bpf_perf_event_data *ctx,
				       __u64 now, __u64 *due)
{
	struct perf_event *clock = event_of(ctx);
	__u64 expires = clock_expires(clock);

	*due = expires && expires < now ? expires : now;
	cpu->clock = expires ? clock : NULL;
	read_period(cpu, clock);
	cpu->tick_due = *due + cpu->tick;
	cpu->stolen = stolen_ns(bpf_get_current_task_btf());
	cpu->work = 0;
}

/* To be called at the end of a tick's program, which began at @begin: stores its cost. */
static __always_inline void tick_end(struct cpu_state *cpu, __u64 begin)
{
	struct capture_cpu *counts = this_capture_cpu();
	struct capture_tick *cost = &counts->costs[counts->ticks & (CAPTURE_TICK_COSTS - 1)];
	__u64 ns = bpf_ktime_get_ns() - begin;
	__u64 stolen = stolen_ns(bpf_get_current_task_btf()) - cpu->stolen;

	ns -= stolen < ns ? stolen : ns;
	cost->ns = ns < (__u32)~0U ? ns : ~0U;
	cost->work = cpu->work;
	counts->ticks++;
}
