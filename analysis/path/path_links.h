/* SPDX-License-Identifier: BSD-2-Clause */
/* What ended a wait, as paths see it. For analysis/path only. */
#pragma once

#include "analysis/path/path_walk.h"

/*
 * A de facto wait: consecutive waits with the same stack, of which all but the last were ended by
 * timeouts, and which only short runs separate: poll(), with a timeout, in a loop. Recursive
 * Systemic Profiler, section 5.2.6.
 */
struct poll_chain {
	size_t first;
	size_t end; /* intervals [first, end); 0: none was looked for yet */
	struct wait_cause cause;
	bool is_timeout; /* the interval that was asked for is not the last one */
};

/*
 * The cause of interval number @number of @thread; of a wait within a de facto wait, the cause that
 * ended that. @chain: the chain that was found last for the thread; zeroed at first.
 */
struct wait_cause path_links__cause(const struct path_walk *walk, uint32_t thread, size_t number,
				    struct poll_chain *chain);

/* Whether a wait that a timer ended is a sleep, not a wait for something else with a timeout. */
bool path_links__is_sleep(const struct path_walk *walk, uint32_t thread, size_t number);

/*
 * When the first of the requests, by the same thread to the same device, was issued to the driver
 * that completed during @interval, which such a completion ended. 0: not known.
 */
uint64_t path_links__issued(const struct model *model, const struct model_interval *interval);
