/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bounds what the recording of waits costs. A program with many threads that
 * wait for long (hackbench) has a sampling point in every wait: recording them
 * all would be tracing. When more arrive than are wanted, the points that waits
 * are held against are moved apart, by powers of two, and each counts for as
 * many more; as soon as few arrive, together again. Weights stay unbiased, and
 * waits longer than the distance are still all there.
 */
#pragma once

#include <stdint.h>

struct wait_throttle {
	uint64_t limit; /* wanted at most, per second; 0: no limit */
	uint64_t period_ns;
	unsigned int widest;  /* the spacing is at most 2^widest periods */
	unsigned int spacing; /* at present: 2^spacing periods */
	uint64_t since;	      /* begin of the present window, ns */
	uint64_t waits;	      /* that arrived within it */
};

/*
 * @per_period waits are wanted at most, per period of @period_ns and CPU; 0: no
 * limit. @now is any clock's time in ns, here and below.
 */
void wait_throttle__start(struct wait_throttle *throttle, uint64_t per_period, uint64_t period_ns,
			  uint64_t cpus, uint64_t now);

/* Takes note of @waits that arrived, and decides. Returns throttle->spacing. */
unsigned int wait_throttle__step(struct wait_throttle *throttle, uint64_t waits, uint64_t now);
