// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/latency/locks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

static int compare_times(uint64_t one, uint64_t other)
{
	return (one > other) - (one < other);
}

static int by_lock_and_end(const void *a, const void *b)
{
	const struct lock_wait *one = a, *other = b;

	if (one->lock != other->lock)
		return one->lock < other->lock ? -1 : 1;
	return compare_times(one->end, other->end);
}

static int by_begin(const void *a, const void *b)
{
	const struct lock_wait *one = a, *other = b;

	return compare_times(one->begin, other->begin);
}

static int by_length(const void *a, const void *b)
{
	const struct lock_wait *one = a, *other = b;

	return compare_times(one->end - one->begin, other->end - other->begin);
}

static void add_times(struct lock *lock, struct lock_wait *waits, size_t n)
{
	uint64_t until = 0;

	qsort(waits, n, sizeof(*waits), by_begin);
	for (size_t i = 0; i < n; i++) {
		uint64_t since = waits[i].begin > until ? waits[i].begin : until;

		lock->wait_ns += waits[i].end - waits[i].begin;
		lock->contended_ns += waits[i].end > since ? waits[i].end - since : 0;
		until = waits[i].end > until ? waits[i].end : until;
	}
	lock->waits = n;
	qsort(waits, n, sizeof(*waits), by_length);
	lock->p50_ns = waits[(n - 1) / 2].end - waits[(n - 1) / 2].begin;
	lock->p99_ns = waits[n - 1 - n / 100].end - waits[n - 1 - n / 100].begin;
	lock->max_ns = waits[n - 1].end - waits[n - 1].begin;
}

static int finish_lock(struct lock *lock, struct lock_wait *waits, size_t n)
{
	int err = lock_holders__find(waits, n, &lock->holders, &lock->waiters);

	add_times(lock, waits, n);
	lock->function = lock_waits__function(waits, n);
	return err;
}

static int by_waiting(const void *a, const void *b)
{
	const struct lock *one = a, *other = b;

	if (one->wait_ns != other->wait_ns)
		return compare_times(other->wait_ns, one->wait_ns);
	return (one->identity.object > other->identity.object) -
	       (one->identity.object < other->identity.object);
}

static int add_lock(const struct model *model, const struct lock_identity *identity,
		    struct locks *locks)
{
	struct lock *lock = array__add(&locks->locks);

	if (!lock)
		return -ENOMEM;
	lock->identity = *identity;
	lock->variable =
		identity->place ? 0 : model__variable(model, identity->process, identity->object);
	return 0;
}

/* Sorts @found->waits. */
static int add_locks(const struct model *model, struct lock_waits *found, struct locks *locks)
{
	size_t n = found->waits.n, until;
	int err = 0;

	for (size_t i = 0; i < found->locks.n && !err; i++)
		err = add_lock(model, &found->locks.data[i], locks);
	if (n)
		qsort(found->waits.data, n, sizeof(*found->waits.data), by_lock_and_end);
	for (size_t first = 0; first < n && !err; first = until) {
		struct lock_wait *waits = &found->waits.data[first];
		uint32_t lock = waits->lock;

		for (until = first; until < n && found->waits.data[until].lock == lock; until++)
			;
		err = finish_lock(&locks->locks.data[lock], waits, until - first);
	}
	if (locks->locks.n)
		qsort(locks->locks.data, locks->locks.n, sizeof(*locks->locks.data), by_waiting);
	return err;
}

int locks__find(const struct model *model, struct kinds *kinds, struct locks *locks)
{
	_cleanup_idle_waits_ struct idle_waits *idle = NULL;
	struct lock_waits found = {};
	int err;

	if (!model->trace) {
		error__set(-ENODATA, "this recording has samples of waits, but not all of them");
		error__hint("record them with: dwell record --trace, or dwell latency run");
		return -ENODATA;
	}
	err = idle_waits__new(model, kinds, &idle);
	err = err ? err : lock_waits__find(model, kinds, idle, &found);
	err = err ? err : add_locks(model, &found, locks);
	locks->no_address = found.no_address;
	locks->unclear = found.unclear;
	locks->conditions = found.conditions;
	locks->goroutines = found.goroutines;
	lock_waits__free(&found);
	return err;
}

void locks__free(struct locks *locks)
{
	for (size_t i = 0; i < locks->locks.n; i++) {
		array__free(&locks->locks.data[i].holders);
		array__free(&locks->locks.data[i].waiters);
	}
	array__free(&locks->locks);
}
