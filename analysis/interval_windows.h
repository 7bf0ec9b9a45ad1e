/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The intervals of all threads, roughly in the order of time: window of time by window of time, and
 * within a window thread by thread. An analysis that looks up what other threads did at the time of
 * an interval finds that close to what it looked up last, in the CPU's cache.
 */
#pragma once

#include "model/model.h"

struct interval_windows {
	const struct model *model;
	ARRAY(uint32_t) threads; /* that have intervals */
	ARRAY(uint64_t) ends;	 /* of all windows but the last one; ascending */
	size_t *next;		 /* by thread: its first interval that was not returned */
	size_t window;		 /* the current one, */
	size_t at;		 /* and the next of @threads in it */
};

/* Some intervals of one thread that begin in the same window. */
struct interval_range {
	uint32_t thread;
	size_t first;
	size_t until; /* not included */
};

/*
 * Divides the time of @model's intervals into windows: each has a few intervals for each thread, on
 * average. Returns 0 or -ENOMEM. @windows is to be freed in any case.
 */
int interval_windows__make(const struct model *model, struct interval_windows *windows);
void interval_windows__free(struct interval_windows *windows);

/*
 * Sets @range to the next intervals. False: there are no more. Each interval is in one range. Those
 * of a thread come in their order.
 */
bool interval_windows__next(struct interval_windows *windows, struct interval_range *range);
