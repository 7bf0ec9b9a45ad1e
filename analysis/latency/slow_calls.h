/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the time of slow calls went: by the intervals of their threads. */
#pragma once

#include "analysis/latency/call_latency.h"

/* So many calls of a function are looked at, the longest. */
#define SLOW_CALLS_MOST 1000

struct slow_calls {
	const struct model *model;
	const struct wait_causes *causes;
	struct latency_function *function; /* that the times are added to */
};

/* Adds call @number of thread @index. Returns 0 or -ENOMEM. */
int slow_calls__add(struct slow_calls *slow, uint32_t index, uint32_t number);

/* Sorts the waits and the competitors. */
void slow_calls__finish(struct slow_calls *slow);
