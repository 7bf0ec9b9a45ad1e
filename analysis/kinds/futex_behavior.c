// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/kinds/futex_behavior.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"

/* To release a lock, take it again, and release it again takes longer, if it is held for anything.
 */
#define AT_ONCE_NS 20000

/* What waits have in common: a futex, or the function in which several futexes are waited for. */
struct group {
	uint64_t ns;	  /* of waits that a thread ended */
	uint64_t held_ns; /* those of them that a thread ended that waits there, too */
	/* See compare_ends(): how often two waits that overlap were ended as by a lock's holders,
	 */
	uint64_t passed;
	uint64_t kept;	 /* and as no lock does: by one thread that was not the holder */
	uint32_t waiter; /* one of them */
	bool several;	 /* waiters */
};

struct futex_behavior {
	ARRAY(struct futex_wait) waits;
	ARRAY(struct group) groups;
	struct map64 futexes; /* futex to the index of its group */
	struct map64 places;  /* place to the index of its group */
	struct map64 waiters; /* group << 32 | thread */
};

int futex_behavior__new(struct futex_behavior **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

/* Adds the waiter to the group with @key in @map. */
static int add_waiter(struct futex_behavior *behavior, struct map64 *map, uint64_t key,
		      uint32_t thread)
{
	uint64_t *index = map64__put(map, key, behavior->groups.n);
	struct group *group;

	if (!index || (*index == behavior->groups.n && !array__add(&behavior->groups)))
		return -ENOMEM;
	group = &behavior->groups.data[*index];
	group->several |= group->waiter && group->waiter != thread;
	group->waiter = thread;
	return map64__put(&behavior->waiters, *index << 32 | thread, 1) ? 0 : -ENOMEM;
}

int futex_behavior__add(struct futex_behavior *behavior, const struct futex_wait *wait)
{
	int err = array__push(&behavior->waits, *wait);

	return err ? err : add_waiter(behavior, &behavior->futexes, wait->futex, wait->thread);
}

static struct group *group_of(const struct futex_behavior *behavior, const struct map64 *map,
			      uint64_t key)
{
	const uint64_t *index = map64__get(map, key);

	return index ? &behavior->groups.data[*index] : NULL;
}

static void add_time(const struct futex_behavior *behavior, struct group *group,
		     const struct futex_wait *wait)
{
	uint64_t index = group ? (uint64_t)(group - behavior->groups.data) : 0;

	if (!group || !wait->waker)
		return;
	group->ns += wait->ns;
	if (map64__get(&behavior->waiters, index << 32 | wait->waker))
		group->held_ns += wait->ns;
}

static int by_futex_and_end(const void *a, const void *b)
{
	const struct futex_wait *one = a, *other = b;

	if (one->futex != other->futex)
		return one->futex < other->futex ? -1 : 1;
	return (one->end > other->end) - (one->end < other->end);
}

/*
 * Two waits for one futex of which @next was under way when @last ended. If the waiter of @last ran
 * and did not have to wait again, the lock is its own, until it ends @next. Who finds the lock
 * taken waits again, from @again on. To end two waits at once is to let both go on.
 */
static void compare_ends(struct group *group, const struct futex_wait *last,
			 const struct futex_wait *next, uint64_t again)
{
	bool same = next->waker == last->waker;
	bool at_once = same && next->end - last->end < AT_ONCE_NS;

	if (!last->waker || !next->waker || next->begin >= last->end ||
	    last->thread == next->thread || again < next->end ||
	    (last->ran >= next->end && !at_once))
		return;
	if (same && next->waker != last->thread)
		group->kept++;
	else
		group->passed++;
}

/* Of waits by futex and end. */
static int compare_all(struct futex_behavior *behavior)
{
	struct map64 begins = {}; /* by thread: of its latest wait for the futex */
	int err = 0;

	for (size_t i = behavior->waits.n; i-- && !err;) {
		const struct futex_wait *wait = &behavior->waits.data[i];
		const uint64_t *again = map64__get(&begins, wait->thread);
		bool is_last = i + 1 == behavior->waits.n || wait[1].futex != wait->futex;
		uint64_t *begin;

		if (is_last)
			map64__clear(&begins);
		else
			compare_ends(group_of(behavior, &behavior->futexes, wait->futex), wait,
				     &wait[1], again ? *again : UINT64_MAX);
		begin = map64__put(&begins, wait->thread, wait->begin);
		if (begin)
			*begin = wait->begin;
		else
			err = -ENOMEM;
	}
	map64__free(&begins);
	return err;
}

static bool has_several(const struct futex_behavior *behavior, uint64_t futex)
{
	return group_of(behavior, &behavior->futexes, futex)->several;
}

/* Places of futexes that have one waiter each. */
static int add_places(struct futex_behavior *behavior)
{
	int err = 0;

	for (size_t i = 0; i < behavior->waits.n && !err; i++) {
		const struct futex_wait *wait = &behavior->waits.data[i];

		if (wait->place && !has_several(behavior, wait->futex))
			err = add_waiter(behavior, &behavior->places, wait->place, wait->thread);
	}
	return err;
}

int futex_behavior__judge(struct futex_behavior *behavior, bool all)
{
	int err = add_places(behavior);

	for (size_t i = 0; i < behavior->waits.n && !err; i++) {
		const struct futex_wait *wait = &behavior->waits.data[i];

		if (has_several(behavior, wait->futex))
			add_time(behavior, group_of(behavior, &behavior->futexes, wait->futex),
				 wait);
		else
			add_time(behavior, group_of(behavior, &behavior->places, wait->place),
				 wait);
	}
	if (err || !all || !behavior->waits.n)
		return err;
	qsort(behavior->waits.data, behavior->waits.n, sizeof(*behavior->waits.data),
	      by_futex_and_end);
	return compare_all(behavior);
}

static bool is_held(const struct group *group)
{
	return group && group->ns && group->held_ns >= group->ns - group->held_ns &&
	       group->kept <= group->passed;
}

enum futex_role futex_behavior__of(const struct futex_behavior *behavior,
				   const struct futex_wait *wait)
{
	const struct group *futex = group_of(behavior, &behavior->futexes, wait->futex);
	const struct group *place = group_of(behavior, &behavior->places, wait->place);

	if (futex && futex->several)
		return is_held(futex) ? FUTEX_LOCK : FUTEX_UNCLEAR;
	return is_held(place) ? FUTEX_OF_WAITER : FUTEX_UNCLEAR;
}

void futex_behavior__free(struct futex_behavior *behavior)
{
	if (!behavior)
		return;
	array__free(&behavior->waits);
	array__free(&behavior->groups);
	map64__free(&behavior->futexes);
	map64__free(&behavior->places);
	map64__free(&behavior->waiters);
	free(behavior);
}
