// SPDX-License-Identifier: BSD-2-Clause
/* Who ran while threads of the path waited for a CPU. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/path/path_account.h"
#include "base/cleanup.h"

/* The first of @queued that ends after @time. */
static size_t first_queued(const path_queued_times *queued, uint64_t time)
{
	size_t low = 0, high = queued->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (queued->data[middle].until <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The time of run [@from, @until) on @cpu during which a thread of the path waited for the CPU. */
static uint64_t overlap(const path_queued_times *queued, uint32_t cpu, uint64_t from,
			uint64_t until)
{
	uint64_t ns = 0;

	for (size_t i = first_queued(queued, from); i < queued->n && queued->data[i].from < until;
	     i++) {
		const struct path_queued *one = &queued->data[i];
		uint64_t begin = one->from > from ? one->from : from;
		uint64_t end = one->until < until ? one->until : until;

		if (one->cpu == cpu && begin < end)
			ns += end - begin;
	}
	return ns;
}

/* Whether a thread of the path waited for @cpu at @time. */
static bool is_queued(const path_queued_times *queued, uint32_t cpu, uint64_t time)
{
	size_t i = first_queued(queued, time);

	return i < queued->n && queued->data[i].cpu == cpu && queued->data[i].from <= time;
}

/* The thread's runs that others waited for, and the sample in them that is the most frequent. */
static struct path_competitor measure(const struct model_thread *thread, uint32_t index,
				      const path_queued_times *queued, struct map64 *stacks)
{
	struct path_competitor found = {.thread = index};
	uint64_t most = 0;
	size_t sample = 0;

	for (size_t i = 0; i < thread->intervals.n; i++) {
		const struct model_interval *interval = &thread->intervals.data[i];
		uint64_t from = interval->t_out + interval->blocked_ns + interval->runq_ns;
		uint64_t until = i + 1 < thread->intervals.n ? interval[1].t_out : thread->ended;

		if (!interval->cpu || interval->flags & INTERVAL_UNFINISHED || until <= from)
			continue;
		found.ns += overlap(queued, interval->cpu, from, until);
		while (sample < thread->samples.n && thread->samples.data[sample].time < from)
			sample++;
		for (; sample < thread->samples.n && thread->samples.data[sample].time < until;
		     sample++) {
			const struct model_sample *at = &thread->samples.data[sample];
			uint64_t key = (uint64_t)at->kernel << 32 | at->user, *weight;

			if (!is_queued(queued, interval->cpu, at->time))
				continue;
			weight = map64__put(stacks, key, 0);
			if (!weight || (*weight += at->weight) <= most)
				continue;
			most = *weight;
			found.kernel = at->kernel;
			found.user = at->user;
		}
	}
	return found;
}

static int compare_competitors(const void *a, const void *b)
{
	const struct path_competitor *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

int path_competitors__find(struct path *path, const path_queued_times *queued)
{
	const struct model *model = path->model;
	struct path_competitor others = {};

	for (size_t i = 0; i < queued->n; i++)
		others.ns += queued->data[i].until - queued->data[i].from;
	for (uint32_t t = 1; t < model->threads.n && queued->n; t++) {
		struct map64 stacks = {};
		struct path_competitor found = measure(&model->threads.data[t], t, queued, &stacks);

		map64__free(&stacks);
		if (!found.ns)
			continue;
		others.ns -= found.ns < others.ns ? found.ns : others.ns;
		if (array__push(&path->competitors, found))
			return -ENOMEM;
	}
	if (others.ns && array__push(&path->competitors, others))
		return -ENOMEM;
	if (path->competitors.n)
		qsort(path->competitors.data, path->competitors.n, sizeof(*path->competitors.data),
		      compare_competitors);
	return 0;
}
