// SPDX-License-Identifier: BSD-2-Clause
#include "collect/clocks/clocks.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "abi/capture.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "collect/clocks/clock_jitter.h"
#include "collect/clocks/clock_throttle.h"
#include "collect/kernel/refusal.h"
#include "collect/clocks/tick_overhead.h"

/* The least cost of a tick's program, for a stack of a few frames. */
#define PROGRAM_NS 3000

/*
 * The clock of a CPU. Each has a rate of its own: with the same rate, set at the same time, the
 * ticks of two CPUs would keep their distance, and what the tick of one causes (a pause of another
 * thread, which it makes owe virtual time) would always be seen at the same phase by the other.
 */
struct cpu_clock {
	int event; /* perf event */
	struct clock_jitter jitter;
};

struct clocks {
	ARRAY(struct cpu_clock) events;
	ARRAY(struct bpf_link *) links;
	struct clock_throttle *throttle;
	const struct capture_cpu *costs; /* by CPU */
	uint64_t *seen;			 /* by CPU: ticks that the throttle knows */
	size_t cpus;
	uint64_t overhead_ns; /* cost of a tick without its program */
	uint64_t period_ns;   /* as asked for */
	struct random random;
};

static uint32_t random_number(struct clocks *clocks)
{
	return (uint32_t)random__next(&clocks->random);
}

/* ns between ticks on average, now. */
static uint64_t spacing_ns(const struct clocks *clocks)
{
	return clocks->period_ns << clock_throttle__shift(clocks->throttle);
}

/* Errors: -ENODEV: the CPU is offline. */
static int add_clock(struct clocks *clocks, struct bpf_program *on_tick, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
	};
	struct cpu_clock clock;
	struct bpf_link *link;

	clock_jitter__start(&clock.jitter, spacing_ns(clocks), random_number(clocks),
			    now_ns(CLOCK_MONOTONIC));
	attr.sample_period = clock.jitter.tick;
	clock.event = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (clock.event < 0 && errno == ENODEV)
		return -ENODEV;
	if (clock.event < 0)
		return refusal__error(-errno, "open the sampling clock");
	if (array__push(&clocks->events, clock))
		return close(clock.event), -ENOMEM;
	link = bpf_program__attach_perf_event(on_tick, clock.event);
	if (!link)
		return error__errno(-errno, "cannot attach to the clock of CPU %d", cpu);
	if (array__push(&clocks->links, link))
		return bpf_link__destroy(link), -ENOMEM;
	return 0;
}

int clocks__new(struct bpf_program *on_tick, uint32_t period_ns, const struct capture_cpu *costs,
		struct clocks **out)
{
	_cleanup_(clocks__freep) struct clocks *clocks = calloc(1, sizeof(*clocks));
	int cpus = libbpf_num_possible_cpus();
	int err;

	if (!clocks)
		return -ENOMEM;
	clocks->costs = costs;
	clocks->random.state = random__seed();
	clocks->overhead_ns = tick_overhead__measure();
	clocks->period_ns = period_ns;
	clocks->cpus = cpus < CAPTURE_MAX_CPUS ? (size_t)cpus : CAPTURE_MAX_CPUS;
	clocks->seen = calloc(clocks->cpus, sizeof(*clocks->seen));
	err = clock_throttle__new(period_ns, clocks->cpus, clocks->overhead_ns + PROGRAM_NS,
				  now_ns(CLOCK_MONOTONIC), &clocks->throttle);
	if (err || !clocks->seen)
		return -ENOMEM;
	for (int cpu = 0; cpu < cpus; cpu++) {
		err = add_clock(clocks, on_tick, cpu);
		if (err && err != -ENODEV)
			return err;
	}
	*out = TAKE_PTR(clocks);
	return 0;
}

/* Passes the new ticks of CPU @cpu to the throttle, as far as their costs are still there. */
static void read_costs(struct clocks *clocks, size_t cpu)
{
	const struct capture_cpu *from = &clocks->costs[cpu];
	uint64_t ticks = __atomic_load_n(&from->ticks, __ATOMIC_ACQUIRE);
	uint64_t i = clocks->seen[cpu];

	if (ticks - i > CAPTURE_TICK_COSTS)
		i = ticks - CAPTURE_TICK_COSTS;
	for (; i < ticks; i++) {
		const struct capture_tick *cost = &from->costs[i % CAPTURE_TICK_COSTS];
		uint64_t ns = __atomic_load_n(&cost->ns, __ATOMIC_RELAXED);
		uint32_t work = __atomic_load_n(&cost->work, __ATOMIC_RELAXED);

		clock_throttle__tick(clocks->throttle, cpu, ns + clocks->overhead_ns, work);
	}
	clocks->seen[cpu] = ticks;
}

/* Adapts the throttle to the cost of ticks. True: the distance of ticks has changed. */
static bool throttle(struct clocks *clocks, uint64_t now)
{
	for (size_t i = 0; i < clocks->cpus; i++)
		read_costs(clocks, i);
	return clock_throttle__step(clocks->throttle, now);
}

void clocks__adjust(struct clocks *clocks)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	bool is_new = throttle(clocks, now);

	for (size_t i = 0; i < clocks->events.n; i++) {
		struct cpu_clock *clock = &clocks->events.data[i];

		if (is_new)
			clock_jitter__set_period(&clock->jitter, spacing_ns(clocks),
						 random_number(clocks), now);
		else if (!clock_jitter__step(&clock->jitter, random_number(clocks), now))
			continue;
		ioctl(clock->event, PERF_EVENT_IOC_PERIOD, &clock->jitter.tick);
	}
}

uint64_t clocks__slowest(const struct clocks *clocks, uint64_t *share)
{
	return clock_throttle__slowest(clocks->throttle, share);
}

void clocks__free(struct clocks *clocks)
{
	for (size_t i = 0; i < clocks->links.n; i++)
		bpf_link__destroy(clocks->links.data[i]);
	for (size_t i = 0; i < clocks->events.n; i++)
		close(clocks->events.data[i].event);
	if (clocks->throttle)
		clock_throttle__free(clocks->throttle);
	free(clocks->seen);
	array__free(&clocks->links);
	array__free(&clocks->events);
	free(clocks);
}
