// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/kinds/lock_holders.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"

/* Parts of one lock, by what they are of: an index in its array. */
struct parts {
	struct map64 holders; /* thread << 32 | function */
	struct map64 waiters; /* thread << 32 | holder */
};

/* Element @key of @array, which @index finds; a new one is zeroed. NULL: no memory. */
#define PART_OF(array, index, key)                                                                 \
	({                                                                                         \
		uint64_t *_at = map64__put((index), (key), (array)->n);                            \
		_at ? *_at < (array)->n ? &(array)->data[*_at] : array__add(array) : NULL;         \
	})

static int add_holder(lock_holders *holders, struct parts *parts, const struct lock_wait *wait,
		      uint64_t held_ns)
{
	uint64_t released = (uint64_t)wait->holder << 32 | wait->released;
	struct lock_holder *holder = PART_OF(holders, &parts->holders, released);

	if (!holder)
		return -ENOMEM;
	holder->thread = wait->holder;
	holder->function = wait->released;
	holder->releases++;
	holder->ns += held_ns;
	return 0;
}

static int add_waiter(lock_waiters *waiters, struct parts *parts, const struct lock_wait *wait)
{
	uint64_t pair = (uint64_t)wait->thread << 32 | wait->holder;
	struct lock_waiter *waiter = PART_OF(waiters, &parts->waiters, pair);

	if (!waiter)
		return -ENOMEM;
	waiter->thread = wait->thread;
	waiter->holder = wait->holder;
	waiter->ns += wait->end - wait->begin;
	return 0;
}

static int holders_by_time(const void *a, const void *b)
{
	const struct lock_holder *one = a, *other = b;

	return (other->ns > one->ns) - (other->ns < one->ns);
}

static int waiters_by_time(const void *a, const void *b)
{
	const struct lock_waiter *one = a, *other = b;

	return (other->ns > one->ns) - (other->ns < one->ns);
}

int lock_holders__find(const struct lock_wait *waits, size_t n, lock_holders *holders,
		       lock_waiters *waiters)
{
	struct parts parts = {};
	uint64_t released = 0;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		const struct lock_wait *wait = &waits[i];

		if (!wait->holder)
			continue;
		err = add_holder(holders, &parts, wait,
				 wait->end - lock_wait__held_since(wait, released));
		if (!err && waiters)
			err = add_waiter(waiters, &parts, wait);
		released = wait->end;
	}
	array__sort(holders, holders_by_time);
	if (waiters)
		array__sort(waiters, waiters_by_time);
	map64__free(&parts.holders);
	map64__free(&parts.waiters);
	return err;
}

static int by_function(const void *a, const void *b)
{
	const struct lock_wait *one = a, *other = b;

	return (one->function > other->function) - (one->function < other->function);
}

uint32_t lock_waits__function(struct lock_wait *waits, size_t n)
{
	uint64_t most = 0, ns = 0;
	uint32_t function = 0;

	if (n)
		qsort(waits, n, sizeof(*waits), by_function);
	for (size_t i = 0; i < n; i++) {
		if (i && waits[i].function != waits[i - 1].function)
			ns = 0;
		ns += waits[i].ns;
		if (ns > most && waits[i].function) {
			most = ns;
			function = waits[i].function;
		}
	}
	return function;
}
