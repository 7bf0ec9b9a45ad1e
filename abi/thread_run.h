/* SPDX-License-Identifier: BSD-2-Clause */
/* When recorded threads run, in memory that user space maps: an array by thread number. */
#pragma once

#include <linux/types.h>

#define THREAD_RUNS 65536 /* threads with higher numbers are not there */

/*
 * In and out are 0 as long as nothing is known, and again when the thread has ended. The kernel
 * hides some switches from tracing: then in is older than the thread's current run.
 */
struct thread_run {
	__u64 in;	/* when it got a CPU last, ns, CLOCK_MONOTONIC */
	__u64 out;	/* when it lost it last: less than in if it runs */
	__u64 ran;	/* its CPU time until out, as the kernel counts it, since it is recorded */
	__u64 arrivals; /* number of its runs until out, as in its schedstat; 0: unknown */
	__u64 runnable; /* when it began to wait for a CPU last: out, or when it was woken */
	__u32 cpu;	/* that it got last */
	__u32 reserved;
};
