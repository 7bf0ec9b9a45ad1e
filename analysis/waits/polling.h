/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that poll without blocking (a submission thread of io_uring, epoll_wait() and the like
 * again and again with a timeout of 0): they run, but wait for what they poll. Known by samples of
 * what they run in. A thread that spins on memory looks like one that computes, if it does not say
 * so (dwell.h).
 */
#pragma once

#include "analysis/waits/waitgraph.h"

/* A thread with this part of its samples in polls waits for what it polls. */
#define POLLING_SHARE 0.8

/* Sets polling of all vertices that are threads, by the samples of the window. 0 or -ENOMEM. */
int polling__find(struct waitgraph *graph);

static inline bool waitgraph_vertex__polls(const struct waitgraph_vertex *vertex)
{
	return vertex->polling >= POLLING_SHARE;
}
