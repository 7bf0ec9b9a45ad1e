// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/kinds/idle_joins.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/kinds/idle.h"

/* The least part of a thread's life for which its end is waited for. */
#define JOIN_SHARE 0.01

/* What was waited for the ends of some threads, in all, and until when. */
struct joins {
	uint64_t ns;
	uint64_t until;
};

struct search {
	const struct wait_sites *sites;
	uint8_t **reasons;
	struct joins *of_threads; /* by thread: waits for its own end */
	uint64_t *last_wait;	  /* by thread: when its last wait began; 0: it has none */
	struct map64 index;	  /* group_of() to an index in groups */
	ARRAY(struct joins) groups;
	bool *joined;	     /* by thread */
	struct map64 places; /* where joined threads sleep: place_of() */
};

static bool is_leader(const struct model_thread *thread)
{
	return thread->tid == thread->tgid;
}

/* The threads, or processes, that one thread created. 0: it is not known who did. */
static uint64_t group_of(const struct model_thread *thread)
{
	return (uint64_t)thread->parent << 1 | is_leader(thread);
}

static bool is_known(const struct model_thread *thread)
{
	return thread->parent && thread->flags & THREAD_CREATED;
}

/* Not to be allowed to run is no wait: nothing is done by that. */
static uint64_t find_last_wait(const struct model_thread *thread)
{
	for (size_t i = thread->intervals.n; i--;)
		if (thread->intervals.data[i].blocked_ns &&
		    thread->intervals.data[i].class != CLASS_STOPPED)
			return thread->intervals.data[i].t_out;
	return 0;
}

/* Whether @thread ended the wait at @time as the last thing that it did before it exited. */
static bool is_last_act(const struct search *search, uint32_t thread, uint64_t time)
{
	return search->sites->model->threads.data[thread].exited &&
	       search->last_wait[thread] < time;
}

static uint64_t wait_time(const struct model *model, const struct model_interval *interval)
{
	return model->trace ? interval->blocked_ns : interval->blocked_points * model->period_ns;
}

static void add_time(struct joins *joins, uint64_t ns, uint64_t end)
{
	joins->ns += ns;
	joins->until = end > joins->until ? end : joins->until;
}

/* Until the waiter runs again, others may end, whose joins then need not wait. */
static int add_wait(struct search *search, uint32_t thread, size_t i)
{
	const struct model *model = search->sites->model;
	const struct model_interval *interval = &model->threads.data[thread].intervals.data[i];
	const struct site_wait *wait = &search->sites->waits[thread][i];
	const struct model_thread *ended = &model->threads.data[wait->waker];
	uint64_t end = interval->t_out + interval->blocked_ns, ns = wait_time(model, interval);
	uint64_t *group;

	if (!wait->waker || search->reasons[thread][i] ||
	    (!wait_site__is_for_end(&search->sites->sites.data[wait->site]) &&
	     !is_last_act(search, wait->waker, end)))
		return 0;
	end += interval->runq_ns;
	add_time(&search->of_threads[wait->waker], ns, end);
	if (!is_known(ended))
		return 0;
	group = map64__put(&search->index, group_of(ended), search->groups.n);
	if (!group || (*group == search->groups.n && !array__add(&search->groups)))
		return -ENOMEM;
	add_time(&search->groups.data[*group], ns, end);
	return 0;
}

static bool is_enough(const struct joins *joins, const struct model_thread *thread)
{
	return joins->ns &&
	       (double)joins->ns >= JOIN_SHARE * (double)(thread->ended - thread->created);
}

/* Waits that are shorter may have no sampling point: in each period is one. */
static uint64_t longest_unseen(const struct model *model)
{
	return model->trace ? 0 : 2 * model->period_ns << model->spacing;
}

/* In the order of the threads' ends: one that ended soon after the others was waited for, too. */
static bool is_joined(const struct search *search, uint32_t thread)
{
	const struct model *model = search->sites->model;
	const struct model_thread *of = &model->threads.data[thread];
	const uint64_t *index = is_known(of) ? map64__get(&search->index, group_of(of)) : NULL;
	struct joins *group = index ? &search->groups.data[*index] : NULL;

	if (is_enough(&search->of_threads[thread], of))
		return true;
	if (!group || !of->exited || of->ended > group->until + longest_unseen(model) ||
	    !is_enough(group, of))
		return false;
	group->until = of->ended > group->until ? of->ended : group->until;
	return true;
}

static bool is_sleep(const struct search *search, uint32_t thread, size_t i)
{
	uint32_t site = search->sites->waits[thread][i].site;

	return kind__info(search->sites->sites.data[site].kind)->idle == KIND_IDLE_TIMER;
}

/* Where a thread sleeps: equal for threads, or processes, of one creator in the same functions. */
static uint64_t place_of(const struct search *search, uint32_t thread, size_t i)
{
	const struct wait_sites *sites = search->sites;

	return hash__add(group_of(&sites->model->threads.data[thread]),
			 sites->sites.data[sites->waits[thread][i].site].stack);
}

static int add_places(struct search *search, uint32_t thread)
{
	const struct model_thread *of = &search->sites->model->threads.data[thread];

	if (!is_known(of))
		return 0;
	for (size_t i = 0; i < of->intervals.n; i++)
		if (is_sleep(search, thread, i) &&
		    !map64__put(&search->places, place_of(search, thread, i), thread))
			return -ENOMEM;
	return 0;
}

/* The last of several equal threads may end too soon after the others for its own join to count. */
static bool is_like_joined(const struct search *search, uint32_t thread)
{
	const struct model_thread *of = &search->sites->model->threads.data[thread];

	if (!search->of_threads[thread].ns || !is_known(of))
		return false;
	for (size_t i = 0; i < of->intervals.n; i++)
		if (is_sleep(search, thread, i) &&
		    map64__get(&search->places, place_of(search, thread, i)))
			return true;
	return false;
}

static void keep_sleeps(const struct search *search, uint32_t thread)
{
	const struct model_thread *of = &search->sites->model->threads.data[thread];

	for (size_t i = 0; i < of->intervals.n; i++)
		if (search->reasons[thread][i] == IDLE_INTERVALS && is_sleep(search, thread, i))
			search->reasons[thread][i] = IDLE_NOT;
}

static int by_end(const void *a, const void *b, void *context)
{
	const struct model_thread *threads = context;
	uint64_t one = threads[*(const uint32_t *)a].ended,
		 other = threads[*(const uint32_t *)b].ended;

	return (one > other) - (one < other);
}

static int find_joined(struct search *search)
{
	const struct model *model = search->sites->model;
	_cleanup_free_ uint32_t *order = calloc(model->threads.n, sizeof(*order));
	int err = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t t = 0; t < model->threads.n; t++)
		order[t] = t;
	qsort_r(order, model->threads.n, sizeof(*order), by_end, model->threads.data);
	for (size_t i = 0; i < model->threads.n && !err; i++) {
		if (!order[i] || !is_joined(search, order[i]))
			continue;
		search->joined[order[i]] = true;
		err = add_places(search, order[i]);
	}
	return err;
}

static int apply(struct search *search)
{
	int err = find_joined(search);

	for (uint32_t t = 1; t < search->sites->model->threads.n && !err; t++)
		if (search->joined[t] || is_like_joined(search, t))
			keep_sleeps(search, t);
	return err;
}

int idle_joins__apply(const struct wait_sites *sites, uint8_t **reasons)
{
	const struct model *model = sites->model;
	struct search search = {.sites = sites, .reasons = reasons};
	int err;

	search.of_threads = calloc(model->threads.n, sizeof(*search.of_threads));
	search.last_wait = calloc(model->threads.n, sizeof(*search.last_wait));
	search.joined = calloc(model->threads.n, sizeof(*search.joined));
	err = search.of_threads && search.last_wait && search.joined ? 0 : -ENOMEM;
	for (uint32_t t = 1; t < model->threads.n && !err; t++)
		search.last_wait[t] = find_last_wait(&model->threads.data[t]);
	for (uint32_t t = 1; t < model->threads.n && !err; t++)
		for (size_t i = 0; i < model->threads.data[t].intervals.n && !err; i++)
			err = add_wait(&search, t, i);
	err = err ? err : apply(&search);
	free(search.of_threads);
	free(search.last_wait);
	free(search.joined);
	map64__free(&search.index);
	map64__free(&search.places);
	array__free(&search.groups);
	return err;
}
