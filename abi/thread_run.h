/* SPDX-License-Identifier: BSD-2-Clause */
/* When recorded threads run, in memory that user space maps: an array by thread number. */
#pragma once

#include <linux/types.h>

#define THREAD_RUNS 65536 /* threads with higher numbers are not there */

/* In and out are 0 as long as nothing is known, and again when the thread has ended. */
struct thread_run {
	__u64 in;	/* when it got a CPU last, ns, CLOCK_MONOTONIC */
	__u64 out;	/* when it lost it last: less than in if it runs */
	__u64 ran;	/* how long it had a CPU until out, since it is recorded */
	__u64 arrivals; /* how often it had got one until out, as in /proc/PID/schedstat; 0:
			 * unknown. The kernel may hide that it got one, so that in is too old.
			 */
};
