// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/interval_windows.h"

#include <errno.h>
#include <stdlib.h>

/* The begin of each interval whose number is a multiple of this is considered as a window's end. */
#define SPACING 64

/* Intervals of a window, on average: for each thread, and at least. */
#define PER_THREAD 4
#define AT_LEAST   256

static int compare_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Begins of every SPACINGth interval, sorted; and the threads that have any. */
static int find_begins(struct interval_windows *windows)
{
	const struct model *model = windows->model;
	size_t at = SPACING;

	for (uint32_t t = 1; t < model->threads.n; t++) {
		const struct model_thread *thread = &model->threads.data[t];

		if (!thread->intervals.n)
			continue;
		if (array__push(&windows->threads, t))
			return -ENOMEM;
		for (; at < thread->intervals.n; at += SPACING)
			if (array__push(&windows->ends, thread->intervals.data[at].t_out))
				return -ENOMEM;
		at -= thread->intervals.n;
	}
	if (windows->ends.n)
		qsort(windows->ends.data, windows->ends.n, sizeof(*windows->ends.data),
		      compare_times);
	return 0;
}

int interval_windows__make(const struct model *model, struct interval_windows *windows)
{
	size_t intervals, step, n = 0;

	*windows = (struct interval_windows){.model = model};
	windows->next = calloc(model->threads.n, sizeof(*windows->next));
	if (!windows->next || find_begins(windows))
		return -ENOMEM;
	/* Of these begins, as many as windows are wanted. */
	intervals = windows->threads.n * PER_THREAD;
	step = (intervals > AT_LEAST ? intervals : AT_LEAST) / SPACING;
	for (size_t i = step; i < windows->ends.n; i += step)
		windows->ends.data[n++] = windows->ends.data[i];
	windows->ends.n = n;
	return 0;
}

void interval_windows__free(struct interval_windows *windows)
{
	array__free(&windows->threads);
	array__free(&windows->ends);
	free(windows->next);
	windows->next = NULL;
}

bool interval_windows__next(struct interval_windows *windows, struct interval_range *range)
{
	for (; windows->window <= windows->ends.n; windows->window++, windows->at = 0) {
		uint64_t end = windows->window < windows->ends.n
				       ? windows->ends.data[windows->window]
				       : MODEL_FOREVER;

		while (windows->at < windows->threads.n) {
			uint32_t t = windows->threads.data[windows->at++];
			const struct model_thread *thread = &windows->model->threads.data[t];
			size_t first = windows->next[t], until = first;

			while (until < thread->intervals.n &&
			       (thread->intervals.data[until].t_out < end || end == MODEL_FOREVER))
				until++;
			if (until == first)
				continue;
			windows->next[t] = until;
			*range = (struct interval_range){t, first, until};
			return true;
		}
	}
	return false;
}
