// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/waits/verdict_lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kinds/lock_holders.h"

/* A lock is reported if the waits for it that members ended are this share of the window. */
#define NOTEWORTHY 0.05

/* Waits of holders while they hold the lock, with the same kind and user stack. */
struct activity_of_holder {
	uint64_t ns;
	const struct model_interval *longest;
	uint64_t longest_ns;
	enum wait_kind kind;
};

/* The waits in the window for one lock. */
struct waits_for_lock {
	size_t first; /* in search.waits */
	size_t n;
	uint64_t ns;
	uint32_t function;
	uint64_t ended_ns; /* of those that members of the current bottleneck ended */
};

/* Waits for a lock that threads of one vertex ended. */
struct ended_waits {
	uint32_t vertex;
	uint32_t lock;
	uint64_t ns;
};

struct search {
	const struct waitgraph *graph;
	struct kinds *kinds;
	const struct lock_waits *found;
	ARRAY(struct lock_wait) waits; /* in the window, by lock and end */
	struct waits_for_lock *locks;
	ARRAY(struct ended_waits) ended; /* by vertex */
	/* Of one bottleneck: */
	bool *is_member;      /* by vertex */
	lock_holders holders; /* of its lock */
	struct map64 index;   /* kind and stack to an index in activities */
	ARRAY(struct activity_of_holder) activities;
	uint64_t slept_ns; /* by members, with the lock held */
};

static bool is_in_window(const struct search *search, const struct lock_wait *wait)
{
	return wait->end > search->graph->list.from && wait->end <= search->graph->list.until;
}

static int by_lock_and_end(const void *a, const void *b)
{
	const struct lock_wait *one = a, *other = b;

	if (one->lock != other->lock)
		return one->lock < other->lock ? -1 : 1;
	return (one->end > other->end) - (one->end < other->end);
}

static int by_vertex(const void *a, const void *b)
{
	const struct ended_waits *one = a, *other = b;

	return (one->vertex > other->vertex) - (one->vertex < other->vertex);
}

/* Sets the waits of each lock. */
static int collect_waits(struct search *search)
{
	size_t n_locks = search->found->locks.n;

	search->locks = calloc(n_locks + 1, sizeof(*search->locks));
	if (!search->locks)
		return -ENOMEM;
	for (size_t i = 0; i < search->found->waits.n; i++) {
		const struct lock_wait *wait = &search->found->waits.data[i];

		if (!is_in_window(search, wait))
			continue;
		if (array__push(&search->waits, *wait))
			return -ENOMEM;
		search->locks[wait->lock].n++;
		search->locks[wait->lock].ns += wait->ns;
	}
	array__sort(&search->waits, by_lock_and_end);
	for (size_t i = 0, first = 0; i < n_locks; i++) {
		search->locks[i].first = first;
		first += search->locks[i].n;
	}
	for (size_t i = 0; i < n_locks; i++)
		if (search->locks[i].n)
			search->locks[i].function = lock_waits__function(
				&search->waits.data[search->locks[i].first], search->locks[i].n);
	array__sort(&search->waits, by_lock_and_end); /* they were sorted by function */
	return 0;
}

/* Sets what threads of each vertex ended. */
static int collect_ended(struct search *search)
{
	struct map64 index = {};
	int err = 0;

	for (size_t i = 0; i < search->waits.n && !err; i++) {
		const struct lock_wait *wait = &search->waits.data[i];
		struct ended_waits ended = {.lock = wait->lock};
		uint64_t *known;

		if (!wait->holder)
			continue;
		ended.vertex = search->graph->vertex_of[wait->holder];
		known = map64__put(&index, (uint64_t)ended.vertex << 32 | ended.lock,
				   search->ended.n);
		if (!known || (*known == search->ended.n && array__push(&search->ended, ended)))
			err = -ENOMEM;
		else
			search->ended.data[*known].ns += wait->ns;
	}
	map64__free(&index);
	array__sort(&search->ended, by_vertex);
	return err;
}

/* The number of elements of @ended before those of @vertex. */
static size_t first_ended(const struct search *search, uint32_t vertex)
{
	size_t low = 0, high = search->ended.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (search->ended.data[middle].vertex < vertex)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The lock that members ended most waits for, or NULL. */
static struct waits_for_lock *choose(struct search *search, const struct bottleneck *bottleneck)
{
	struct waits_for_lock *most = NULL;
	uint64_t most_ns = 0;

	/* First the sums, then, with @pass 1, their reset. */
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < bottleneck->members.n; i++) {
			uint32_t vertex = bottleneck->members.data[i];

			for (size_t k = first_ended(search, vertex);
			     k < search->ended.n && search->ended.data[k].vertex == vertex; k++) {
				const struct ended_waits *ended = &search->ended.data[k];
				struct waits_for_lock *lock = &search->locks[ended->lock];

				lock->ended_ns = pass ? 0 : lock->ended_ns + ended->ns;
				if (lock->ended_ns > most_ns) {
					most_ns = lock->ended_ns;
					most = lock;
				}
			}
		}
	}
	return (double)most_ns >= NOTEWORTHY * (double)search->graph->duration_ns ? most : NULL;
}

/* @holder waited in @interval for @ns of the time for which it held the lock. */
static int add_blocked(struct search *search, uint32_t holder,
		       const struct model_interval *interval, uint64_t ns)
{
	enum wait_kind kind =
		kinds__of_interval(search->kinds, interval, model_interval__object(interval));
	uint64_t *index = map64__put(&search->index, (uint64_t)kind << 32 | interval->user,
				     search->activities.n);
	struct activity_of_holder *activity;

	if (!index || (*index == search->activities.n && !array__add(&search->activities)))
		return -ENOMEM;
	activity = &search->activities.data[*index];
	activity->kind = kind;
	activity->ns += ns;
	if (ns > activity->longest_ns) {
		activity->longest_ns = ns;
		activity->longest = interval;
	}
	if (kind == KIND_SLEEP && search->is_member[search->graph->vertex_of[holder]])
		search->slept_ns += ns;
	return 0;
}

/* @thread held the lock in [@since, @end). */
static int add_held(struct search *search, uint32_t thread, uint64_t since, uint64_t end)
{
	const struct model_thread *of = &search->graph->model->threads.data[thread];
	int err = 0;

	for (size_t i = model_thread__intervals_until(of, end, of->intervals.n); i-- && !err;) {
		const struct model_interval *interval = &of->intervals.data[i];
		uint64_t until = interval->t_out + interval->blocked_ns;
		uint64_t from = interval->t_out > since ? interval->t_out : since;

		if (until + interval->runq_ns <= since)
			break;
		until = until < end ? until : end;
		if (until > from)
			err = add_blocked(search, thread, interval, until - from);
	}
	return err;
}

/* Sets who held the lock longest, of @holders. */
static int set_holder(const lock_holders *holders, struct verdict_lock *out)
{
	struct map64 threads = {};
	int err = 0;

	for (size_t i = 0; i < holders->n && !err; i++) {
		uint64_t *held = map64__put(&threads, holders->data[i].thread, 0);

		if (!held) {
			err = -ENOMEM;
			break;
		}
		*held += holders->data[i].ns;
		out->held_ns += holders->data[i].ns;
		if (*held > out->holder_ns) {
			out->holder_ns = *held;
			out->holder = holders->data[i].thread;
		}
	}
	for (size_t i = holders->n; i--;) /* the first is that with most time */
		if (holders->data[i].thread == out->holder)
			out->released = holders->data[i].function;
	map64__free(&threads);
	return err;
}

static void set_activity(const struct search *search, struct verdict_lock *out)
{
	for (size_t i = 0; i < search->activities.n; i++) {
		const struct activity_of_holder *activity = &search->activities.data[i];

		if (activity->ns <= out->blocked_ns || !activity->longest)
			continue;
		out->blocked_ns = activity->ns;
		out->kind = activity->kind;
		out->object = model_interval__object(activity->longest);
		out->kernel = activity->longest->kernel;
		out->user = activity->longest->user;
	}
	out->sleeps = search->slept_ns > out->held_ns / 2;
}

static int examine(struct search *search, const struct waits_for_lock *lock,
		   struct verdict_lock *out)
{
	const struct lock_wait *waits = &search->waits.data[lock->first];
	uint64_t released = 0;
	int err;

	search->holders.n = search->activities.n = search->slept_ns = 0;
	map64__clear(&search->index);
	err = lock_holders__find(waits, lock->n, &search->holders, NULL);
	err = err ? err : set_holder(&search->holders, out);
	for (size_t i = 0; i < lock->n && !err; i++) {
		if (!waits[i].holder)
			continue;
		err = add_held(search, waits[i].holder, lock_wait__held_since(&waits[i], released),
			       waits[i].end);
		released = waits[i].end;
	}
	set_activity(search, out);
	return err;
}

static int find_lock(struct search *search, const struct bottleneck *bottleneck,
		     struct verdict_lock *out)
{
	const struct waits_for_lock *lock = choose(search, bottleneck);
	int err;

	if (!lock)
		return 0;
	out->lock = &search->found->locks.data[lock - search->locks];
	out->wait_ns = lock->ns;
	out->function = lock->function;
	for (size_t i = 0; i < bottleneck->members.n; i++)
		search->is_member[bottleneck->members.data[i]] = true;
	err = examine(search, lock, out);
	for (size_t i = 0; i < bottleneck->members.n; i++)
		search->is_member[bottleneck->members.data[i]] = false;
	return err;
}

int verdict_locks__find(const struct waitgraph *graph, struct kinds *kinds,
			const struct lock_waits *waits, const struct bottlenecks *bottlenecks,
			struct verdict_locks *out)
{
	struct search search = {.graph = graph, .kinds = kinds, .found = waits};
	int err = collect_waits(&search);

	out->bottlenecks = bottlenecks;
	search.is_member = calloc(graph->vertices.n + 1, sizeof(*search.is_member));
	if (!search.is_member)
		err = -ENOMEM;
	err = err ? err : collect_ended(&search);
	for (size_t i = 0; i < bottlenecks->all.n && !err; i++) {
		struct verdict_lock *lock = array__add(&out->all);

		err = lock ? find_lock(&search, &bottlenecks->all.data[i], lock) : -ENOMEM;
	}
	free(search.locks);
	free(search.is_member);
	array__free(&search.waits);
	array__free(&search.ended);
	array__free(&search.holders);
	array__free(&search.activities);
	map64__free(&search.index);
	return err;
}

void verdict_locks__free(struct verdict_locks *locks)
{
	array__free(&locks->all);
}

const struct verdict_lock *verdict_locks__of(const struct verdict_locks *locks,
					     const struct bottleneck *bottleneck)
{
	size_t i = (size_t)(bottleneck - locks->bottlenecks->all.data);

	return i < locks->all.n && locks->all.data[i].lock ? &locks->all.data[i] : NULL;
}
