// SPDX-License-Identifier: BSD-2-Clause
#include "collect/clocks/tick_overhead.h"

#include <linux/perf_event.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define PERIOD_NS 250000ULL
#define TICKS	  32
#define LOW	  24  /* of the largest gaps, in descending order */
#define ROUNDS	  100 /* of a ms, at most: other threads may use the CPU meanwhile */

/* Keeps the TICKS largest gaps, the largest first. */
static void keep_largest(uint64_t largest[TICKS], uint64_t gap)
{
	size_t at = TICKS;

	for (; at && gap > largest[at - 1]; at--)
		if (at < TICKS)
			largest[at] = largest[at - 1];
	if (at < TICKS)
		largest[at] = gap;
}

/* ns that this thread has run since the clock @fd was opened. */
static uint64_t run_time(int fd)
{
	uint64_t ns;

	return read(fd, &ns, sizeof(ns)) == sizeof(ns) ? ns : UINT64_MAX;
}

uint64_t tick_overhead__measure(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = PERIOD_NS,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	uint64_t largest[TICKS] = {}, smallest = UINT64_MAX;

	if (fd < 0)
		return 0;
	for (int round = 0; round < ROUNDS && run_time(fd) < TICKS * PERIOD_NS; round++) {
		uint64_t before = now_ns(CLOCK_MONOTONIC), end = before + TICKS * PERIOD_NS / 4;

		while (before < end) {
			uint64_t now = now_ns(CLOCK_MONOTONIC), gap = now - before;

			before = now;
			if (gap > largest[TICKS - 1])
				keep_largest(largest, gap);
			if (gap < smallest)
				smallest = gap;
		}
	}
	close(fd);
	/*
	 * Each tick makes a gap: a low quantile of them, when nothing else ran. The largest gaps
	 * are those in which other threads or other guests ran.
	 */
	return largest[LOW] > smallest ? largest[LOW] - smallest : 0;
}
