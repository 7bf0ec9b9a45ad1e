// SPDX-License-Identifier: BSD-2-Clause
/*
 * Busy waiting, by annotations: the scheduler sees the thread run; in the wait-for graph it waits
 * for the holder of what it spins on (wPerf, OSDI'18, sections 3.3 and 4.1).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/waits/waitlist.h"

/* The release that ends a spin may be annotated up to this long after the end of the spin. */
#define SLACK_NS 2000

struct release {
	uint64_t address;
	uint64_t time;
	uint32_t thread;
};

struct releases {
	ARRAY(struct release) all; /* by address and time */
};

static int release_order(const void *a, const void *b)
{
	const struct release *one = a, *two = b;

	if (one->address != two->address)
		return one->address < two->address ? -1 : 1;
	return (one->time > two->time) - (one->time < two->time);
}

static int collect_releases(const struct model *model, struct releases *releases)
{
	for (uint32_t i = 1; i < model->threads.n; i++) {
		const struct model_thread *thread = &model->threads.data[i];

		for (size_t k = 0; k < thread->annotations.n; k++) {
			const struct model_annotation *at = &thread->annotations.data[k];
			struct release release = {at->address, at->time, i};

			if (at->type == ANNOTATION_SPIN_RELEASE &&
			    array__push(&releases->all, release))
				return -ENOMEM;
		}
	}
	if (releases->all.n)
		qsort(releases->all.data, releases->all.n, sizeof(struct release), release_order);
	return 0;
}

/* The thread other than @thread that last released @address before @time; 0: none. */
static uint32_t holder_of(const struct releases *releases, uint64_t address, uint64_t time,
			  uint32_t thread)
{
	size_t low = 0, high = releases->all.n;
	const struct release *all = releases->all.data;
	const struct release wanted = {address, time + SLACK_NS, 0};

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (release_order(&all[middle], &wanted) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	while (low-- && all[low].address == address)
		if (all[low].thread != thread)
			return all[low].thread;
	return 0;
}

/* The first interval of @thread that ends after @time. */
static size_t first_after(const struct model_thread *thread, uint64_t time)
{
	size_t low = 0, high = thread->intervals.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct model_interval *at = &thread->intervals.data[middle];

		if (at->t_out + at->blocked_ns + at->runq_ns <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Adds @wait without the times when the thread was blocked: those are waits already. */
static int add_spin(struct waitlist *list, struct wait wait, uint32_t annotation)
{
	const struct model_thread *spinner = &list->model->threads.data[wait.waiter];
	struct wait_source source = {
		.index = annotation,
		.origin = WAIT_SPIN,
		.spacing = (uint8_t)list->model->spacing,
	};
	uint64_t end = wait.end;
	int err = 0;

	for (size_t i = first_after(spinner, wait.begin); i < spinner->intervals.n && !err; i++) {
		const struct model_interval *interval = &spinner->intervals.data[i];
		uint64_t woken = interval->t_out + interval->blocked_ns;

		if (interval->t_out >= end)
			break;
		if (woken <= wait.begin || !interval->blocked_ns)
			continue;
		wait.end = interval->t_out;
		err = waitlist__add(list, wait, source);
		wait.begin = woken;
	}
	wait.end = end;
	return err ? err : waitlist__add(list, wait, source);
}

static int add_thread_spins(struct waitlist *list, const struct releases *releases, uint32_t index)
{
	const struct model_thread *thread = &list->model->threads.data[index];
	const struct model_annotation *begin = NULL;
	int err = 0;

	for (size_t i = 0; i < thread->annotations.n && !err; i++) {
		const struct model_annotation *at = &thread->annotations.data[i];
		struct wait wait = {.waiter = index};

		if (at->type == ANNOTATION_SPIN_BEGIN)
			begin = at;
		if (at->type != ANNOTATION_SPIN_END || !begin || begin->address != at->address)
			continue;
		wait.begin = begin->time;
		wait.end = at->time;
		wait.waker = begin->other ? begin->other
					  : holder_of(releases, at->address, at->time, index);
		err = add_spin(list, wait, (uint32_t)(begin - thread->annotations.data));
		begin = NULL;
	}
	return err;
}

int waitlist__add_spins(struct waitlist *list)
{
	struct releases releases = {};
	int err = collect_releases(list->model, &releases);

	for (uint32_t i = 1; i < list->model->threads.n && !err; i++)
		if (list->nodes.data[i].waits_known)
			err = add_thread_spins(list, &releases, i);
	array__free(&releases.all);
	return err;
}
