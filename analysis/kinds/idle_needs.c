// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/kinds/idle_needs.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/kinds/idle.h"

/* Longer chains of threads that wait for each other are cut off. */
#define MAX_ROUNDS 64

/* A wait of another thread for the one in whose list it is. */
struct need {
	uint64_t begin;
	uint64_t end;
	uint32_t waiter; /* thread, and its interval */
	uint32_t interval;
	bool for_end; /* it waits for the end of the thread */
};

/* By thread: the waits of others for it, the latest end first. */
struct need_list {
	ARRAY(struct need) needs;
	bool changed; /* a need became one that counts, since the list was applied */
};

struct applier {
	const struct wait_sites *sites;
	const struct site_judgement *judgements; /* by site */
	uint8_t **reasons;
	struct need_list *lists; /* by thread */
};

static int need__order(const void *a, const void *b)
{
	const struct need *one = a, *two = b;

	return (one->end < two->end) - (one->end > two->end);
}

static bool may_be_idle(const struct applier *applier, uint32_t thread)
{
	size_t n = applier->sites->model->threads.data[thread].intervals.n;

	for (size_t i = 0; i < n; i++)
		if (applier->reasons[thread][i])
			return true;
	return false;
}

static int add_need(struct applier *applier, uint32_t thread, uint32_t i)
{
	const struct site_wait *wait = &applier->sites->waits[thread][i];
	const struct model_interval *interval =
		&applier->sites->model->threads.data[thread].intervals.data[i];
	const struct wait_site *site = &applier->sites->sites.data[wait->site];
	struct need need = {
		.begin = interval->t_out,
		.end = interval->t_out + interval->blocked_ns,
		.waiter = thread,
		.interval = i,
		.for_end = wait_site__is_for_end(site),
	};

	return array__push(&applier->lists[wait->waker].needs, need);
}

static int collect_needs(struct applier *applier)
{
	const struct model *model = applier->sites->model;
	_cleanup_free_ bool *wanted = calloc(model->threads.n, sizeof(*wanted));
	int err = 0;

	if (!wanted)
		return -ENOMEM;
	for (uint32_t t = 1; t < model->threads.n; t++)
		wanted[t] = may_be_idle(applier, t);
	for (uint32_t t = 1; t < model->threads.n && !err; t++)
		for (uint32_t i = 0; i < model->threads.data[t].intervals.n && !err; i++)
			if (wanted[applier->sites->waits[t][i].waker])
				err = add_need(applier, t, i);
	for (uint32_t t = 1; t < model->threads.n && !err; t++) {
		struct need_list *list = &applier->lists[t];

		list->changed = list->needs.n;
		if (list->needs.n)
			qsort(list->needs.data, list->needs.n, sizeof(*list->needs.data),
			      need__order);
	}
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
 * Goes back in time over the waits of @thread. Of the needs that end later than a wait, only the
 * earliest begin matters: if it lies after the wait's end, so do those of the others.
 */
static void apply_list(struct applier *applier, uint32_t thread, bool sleeps)
{
	const struct model_thread *of = &applier->sites->model->threads.data[thread];
	const struct need_list *list = &applier->lists[thread];
	uint64_t first = UINT64_MAX;
	size_t next = 0;

	for (size_t i = of->intervals.n; i--;) {
		const struct model_interval *interval = &of->intervals.data[i];
		uint64_t begin = interval->t_out, end = begin + interval->blocked_ns;
		enum idle_reason reason = applier->reasons[thread][i];

		for (; next < list->needs.n && list->needs.data[next].end >= end; next++) {
			const struct need *need = &list->needs.data[next];

			if (need->begin < first && counts(applier, need, sleeps))
				first = need->begin;
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
			if (!applier.lists[t].changed)
				continue;
			applier.lists[t].changed = false;
			apply_list(&applier, t, false);
			apply_list(&applier, t, true);
			any = true;
		}
	}
	for (uint32_t t = 0; applier.lists && t < model->threads.n; t++)
		array__free(&applier.lists[t].needs);
	free(applier.lists);
	return err;
}
