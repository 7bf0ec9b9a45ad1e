/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bounds the cost of recording waits. In a program with many threads that wait for long
 * (hackbench), every wait contains a sampling point: recording them all would be tracing. When more
 * waits arrive than the limit, the spacing of sampling points is multiplied by a power of two; when
 * few arrive, it is halved again. From the first step on, half of the points are each thread's own
 * (abi/grid.h). Estimates stay unbiased, and waits longer than two spacings are still all recorded.
 */
#pragma once

#include <stdint.h>

struct wait_throttle {
	uint64_t limit; /* waits per second; 0: no limit */
	uint64_t period_ns;
	unsigned int max_spacing; /* the spacing is at most 2^max_spacing periods */
	unsigned int spacing;	  /* at present: a wait's points lie 2^spacing periods apart */
	uint64_t since;		  /* begin of the current window, ns */
	uint64_t waits;		  /* that arrived within it */
};

/*
 * Sets the limit to @per_period waits per period of @period_ns and CPU; 0: no limit. @now is the
 * time of any clock in ns, here and below.
 */
void wait_throttle__start(struct wait_throttle *throttle, uint64_t per_period, uint64_t period_ns,
			  uint64_t cpus, uint64_t now);

/* Adds @waits that arrived since the last call, and adapts the spacing, which it returns. */
unsigned int wait_throttle__step(struct wait_throttle *throttle, uint64_t waits, uint64_t now);
