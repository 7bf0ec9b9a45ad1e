// SPDX-License-Identifier: BSD-2-Clause
/* Who ran while threads of the path waited for a CPU. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/path/path_parts.h"
#include "base/cleanup.h"

static int compare_queued(const void *a, const void *b)
{
	const struct path_queued *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

/* Sorts by CPU and time. What several requests waited for at once counts once. */
static void sort_queued(path_queued_times *queued)
{
	size_t n = 0;

	if (queued->n)
		qsort(queued->data, queued->n, sizeof(*queued->data), compare_queued);
	for (size_t i = 0; i < queued->n; i++) {
		struct path_queued one = queued->data[i];

		if (n && queued->data[n - 1].cpu == one.cpu && queued->data[n - 1].until > one.from)
			one.from = queued->data[n - 1].until;
		if (one.from < one.until)
			queued->data[n++] = one;
	}
	queued->n = n;
}

/* The first of @queued that is on @cpu and ends after @time, or on a later CPU. */
static size_t first_queued(const path_queued_times *queued, uint32_t cpu, uint64_t time)
{
	size_t low = 0, high = queued->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct path_queued *one = &queued->data[middle];

		if (one->cpu < cpu || (one->cpu == cpu && one->until <= time))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The time of run [@from, @until) on @cpu during which a thread of the path waited for the CPU. */
static uint64_t explain(path_queued_times *queued, uint32_t cpu, uint64_t from, uint64_t until)
{
	uint64_t ns = 0;

	for (size_t i = first_queued(queued, cpu, from);
	     i < queued->n && queued->data[i].cpu == cpu && queued->data[i].from < until; i++) {
		struct path_queued *one = &queued->data[i];
		uint64_t begin = one->from > from ? one->from : from;
		uint64_t end = one->until < until ? one->until : until;

		one->explained += end - begin;
		ns += end - begin;
	}
	return ns;
}

/* Whether a thread of the path waited for @cpu at @time. */
static bool is_queued(const path_queued_times *queued, uint32_t cpu, uint64_t time)
{
	size_t i = first_queued(queued, cpu, time);

	return i < queued->n && queued->data[i].cpu == cpu && queued->data[i].from <= time;
}

/* The thread's runs that others waited for, and the sample in them that is the most frequent. */
static struct path_competitor measure(const struct model_thread *thread, uint32_t index,
				      path_queued_times *queued, struct map64 *stacks)
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
		found.ns += explain(queued, interval->cpu, from, until);
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

/* What recorded threads leave: of the thread that was seen at the end, if it was not recorded. */
static int add_others(struct path *path, const path_queued_times *queued)
{
	_cleanup_free_ uint64_t *ns = calloc(path->model->threads.n, sizeof(*ns));

	if (!ns)
		return -ENOMEM;
	for (size_t i = 0; i < queued->n; i++) {
		const struct path_queued *one = &queued->data[i];
		uint64_t length = one->until - one->from;
		bool is_known =
			model_thread__is_recorded(&path->model->threads.data[one->previous]);

		if (one->explained < length)
			ns[is_known ? 0 : one->previous] += length - one->explained;
	}
	for (uint32_t t = 0; t < path->model->threads.n; t++) {
		struct path_competitor found = {.thread = t, .ns = ns[t]};

		if (ns[t] && array__push(&path->competitors, found))
			return -ENOMEM;
	}
	return 0;
}

int path_competitors__find(struct path *path, path_queued_times *queued)
{
	const struct model *model = path->model;

	sort_queued(queued);
	for (uint32_t t = 1; t < model->threads.n && queued->n; t++) {
		struct map64 stacks = {};
		struct path_competitor found = measure(&model->threads.data[t], t, queued, &stacks);

		map64__free(&stacks);
		if (found.ns && array__push(&path->competitors, found))
			return -ENOMEM;
	}
	if (add_others(path, queued))
		return -ENOMEM;
	if (path->competitors.n)
		qsort(path->competitors.data, path->competitors.n, sizeof(*path->competitors.data),
		      compare_competitors);
	return 0;
}
