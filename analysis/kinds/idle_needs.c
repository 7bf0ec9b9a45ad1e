// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/kinds/idle_needs.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/interval_windows.h"
#include "analysis/kinds/idle.h"
#include "base/sorted.h"

/* Longer chains of threads that wait for each other are cut off. */
#define MAX_ROUNDS 64

/* A wait of another thread for the one in whose list it is. */
struct need {
	uint64_t begin;
	uint32_t waiter; /* thread, and its interval */
	uint32_t interval;
	uint32_t next; /* 1 + index of the next one in the same place; 0: none */
	bool for_end;  /* it waits for the end of the thread */
};

/*
 * A wait of a thread that may be idle, with the needs of others that end after it does, but before
 * the next such wait does.
 */
struct need_place {
	uint64_t end; /* when this interval or a later one of the thread ends first */
	uint32_t interval;
	uint32_t first; /* 1 + index of a need; 0: none */
};

struct need_list {
	ARRAY(struct need_place) places; /* by time; ends ascend */
	ARRAY(struct need) needs;
	size_t found;  /* the place that was found last */
	bool overlaps; /* in damaged recordings: some of the intervals do */
	bool sleeps;   /* some of the waits may be IDLE_INTERVALS */
	bool changed;  /* a need became one that counts, since the list was applied */
};

struct applier {
	const struct wait_sites *sites;
	const struct site_judgement *judgements; /* by site */
	uint8_t **reasons;
	struct need_list *lists; /* by thread */
};

/* Finds the waits of @thread that may be idle. */
static int add_places(const struct applier *applier, uint32_t thread)
{
	const struct model_thread *of = &applier->sites->model->threads.data[thread];
	const uint8_t *reasons = applier->reasons[thread];
	struct need_list *list = &applier->lists[thread];
	uint64_t first_end = UINT64_MAX;
	size_t n;

	for (size_t i = 0; i < of->intervals.n; i++) {
		struct need_place place = {.interval = (uint32_t)i};

		list->sleeps |= reasons[i] == IDLE_INTERVALS;
		if (reasons[i] && array__push(&list->places, place))
			return -ENOMEM;
	}
	n = list->places.n;
	for (size_t i = of->intervals.n; n; i--) {
		const struct model_interval *interval = &of->intervals.data[i - 1];
		uint64_t end = interval->t_out + interval->blocked_ns;

		list->overlaps |= end > first_end;
		first_end = end < first_end ? end : first_end;
		if (list->places.data[n - 1].interval == i - 1)
			list->places.data[--n].end = first_end;
	}
	return 0;
}

/* The number of places whose ends are not after @time. Fast if it is close to the last one. */
static size_t places_until(struct need_list *list, uint64_t time)
{
	list->found = SORTED_COUNT_UNTIL(list->places.data, list->places.n, end, time, list->found);
	return list->found;
}

static int add_need(struct applier *applier, uint32_t thread, uint32_t i)
{
	const struct model_thread *of = &applier->sites->model->threads.data[thread];
	const struct site_wait *wait = &applier->sites->waits[thread][i];
	const struct model_interval *interval = &of->intervals.data[i];
	struct need_list *list = &applier->lists[wait->waker];
	struct need need = {.begin = interval->t_out, .waiter = thread, .interval = i};
	struct need_place *place;
	size_t n;

	if (!list->places.n)
		return 0;
	n = places_until(list, interval->t_out + interval->blocked_ns);
	if (!n)
		return 0;
	place = &list->places.data[n - 1];
	/* If it begins after that wait of the thread, it begins after all earlier ones, too. */
	if (need.begin >= place->end && !list->overlaps)
		return 0;
	need.for_end = wait_site__is_for_end(&applier->sites->sites.data[wait->site]);
	need.next = place->first;
	place->first = (uint32_t)list->needs.n + 1;
	list->changed = true;
	return array__push(&list->needs, need);
}

/* In the order of time: places are found close to the last one then. */
static int collect_needs(struct applier *applier)
{
	const struct model *model = applier->sites->model;
	struct interval_windows windows;
	struct interval_range range;
	int err = interval_windows__make(model, &windows);

	for (uint32_t t = 1; t < model->threads.n && !err; t++)
		err = add_places(applier, t);
	while (!err && interval_windows__next(&windows, &range))
		for (size_t i = range.first; i < range.until && !err; i++)
			err = add_need(applier, range.thread, (uint32_t)i);
	interval_windows__free(&windows);
	return err;
}

/* The wait is not idle, so it is a need for the thread that it waits for. */
static void set_needed(struct applier *applier, uint32_t thread, size_t i)
{
	applier->reasons[thread][i] = IDLE_NOT;
	applier->lists[applier->sites->waits[thread][i].waker].changed = true;
}

static bool counts(const struct applier *applier, const struct need *need, bool sleep)
{
	return !applier->reasons[need->waiter][need->interval] && (sleep || !need->for_end);
}

/*
 * Goes back in time over the waits of @thread that may be idle. Of the needs that end later than a
 * wait, only the earliest begin matters: if it lies after the wait's end, so do those of the
 * others.
 */
static void apply_list(struct applier *applier, uint32_t thread, bool sleeps)
{
	const struct model_thread *of = &applier->sites->model->threads.data[thread];
	const struct need_list *list = &applier->lists[thread];
	uint64_t first = UINT64_MAX;

	for (size_t n = list->places.n; n--;) {
		uint32_t i = list->places.data[n].interval;
		const struct model_interval *interval = &of->intervals.data[i];
		uint64_t begin = interval->t_out, end = begin + interval->blocked_ns;
		enum idle_reason reason = applier->reasons[thread][i];

		for (uint32_t next = list->places.data[n].first; next;) {
			const struct need *need = &list->needs.data[next - 1];

			if (need->begin < first && counts(applier, need, sleeps))
				first = need->begin;
			next = need->next;
		}
		if (!reason || (sleeps && reason != IDLE_INTERVALS) || first >= end ||
		    applier->judgements[applier->sites->waits[thread][i].site].is_sure)
			continue;
		if (first <= begin || (end - first) * 2 >= end - begin)
			set_needed(applier, thread, i);
	}
}

int idle_needs__apply(const struct wait_sites *sites, const struct site_judgement *judgements,
		      uint8_t **reasons)
{
	const struct model *model = sites->model;
	struct applier applier = {.sites = sites, .judgements = judgements, .reasons = reasons};
	bool any = true;
	int err;

	applier.lists = calloc(model->threads.n, sizeof(*applier.lists));
	err = applier.lists ? collect_needs(&applier) : -ENOMEM;
	for (int round = 0; round < MAX_ROUNDS && any && !err; round++) {
		any = false;
		for (uint32_t t = 1; t < model->threads.n; t++) {
			struct need_list *list = &applier.lists[t];

			if (!list->changed || !list->needs.n)
				continue;
			list->changed = false;
			apply_list(&applier, t, false);
			if (list->sleeps)
				apply_list(&applier, t, true);
			any = true;
		}
	}
	for (uint32_t t = 0; applier.lists && t < model->threads.n; t++) {
		array__free(&applier.lists[t].needs);
		array__free(&applier.lists[t].places);
	}
	free(applier.lists);
	return err;
}
