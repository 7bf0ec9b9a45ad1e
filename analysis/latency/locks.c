// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/latency/locks.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/kinds/idle.h"
#include "analysis/latency/call_names.h"
#include "analysis/latency/futex_use.h"
#include "base/error.h"
#include "base/hash.h"

/* A wait for a lock. */
struct lock_wait {
	uint64_t begin;
	uint64_t end;  /* the wakeup */
	uint32_t lock; /* index */
	uint32_t thread;
	uint32_t holder;   /* thread that ended it; 0: none, or unknown */
	uint32_t released; /* string: the holder's function */
	uint32_t function; /* string: the waiter's */
};

/* What a user stack says, looked up once. */
struct stack_facts {
	uint32_t function; /* string: the innermost outside the C library */
	uint8_t use;	   /* enum futex_use */
	bool is_known;
};

struct search {
	const struct model *model;
	struct kinds *kinds;
	struct idle_waits *idle;
	struct stack_facts *facts; /* by stack */
	struct map64 uses;	   /* lock_key() to enum futex_use, as far as stacks tell */
	struct map64 index;	   /* lock_key() to an index in locks */
	struct locks *locks;
	ARRAY(struct lock_wait) waits;
};

/* Parts of one lock, by what they are of: 1 + index in its array. */
struct parts {
	struct map64 holders; /* thread << 32 | function */
	struct map64 waiters; /* thread << 32 | holder */
};

static int facts_of(struct search *search, uint32_t stack, struct stack_facts *out)
{
	struct stack_facts *facts = &search->facts[stack];
	int err = 0;

	if (!facts->is_known) {
		facts->use = (uint8_t)futex_use__by_stack(search->model, stack);
		err = call_names__program(search->model, stack, &facts->function);
		facts->is_known = !err;
	}
	*out = *facts;
	return err;
}

static uint64_t lock_key(uint32_t process, uint32_t object)
{
	return (uint64_t)process << 32 | object;
}

/* A wait of a class or kind of locks, before it is known whether it was for one. */
struct candidate {
	const struct model_thread *thread;
	const struct model_interval *interval;
	enum wait_kind kind;
	enum futex_use use;
	struct lock_wait wait;
};

/*
 * What a futex wait was for. One in a condition variable's functions that was ended by a release
 * was for the mutex that these functions take again.
 */
static enum futex_use use_of(const struct stack_facts *waiter, const struct stack_facts *waker)
{
	if (waiter->use == FUTEX_USE_LOCK || waker->use == FUTEX_USE_LOCK)
		return FUTEX_USE_LOCK;
	return waiter->use ? (enum futex_use)waiter->use : (enum futex_use)waker->use;
}

static int examine(struct search *search, uint32_t thread, size_t i, struct candidate *candidate)
{
	const struct model_thread *of = &search->model->threads.data[thread];
	const struct model_interval *interval = &of->intervals.data[i];
	const struct model_wake *wake = interval->wake ? &of->wakes.data[interval->wake - 1] : NULL;
	bool by_task = interval->waker_context == WAKER_TASK;
	struct stack_facts waiter, waker = {};
	int err = facts_of(search, interval->user, &waiter);

	*candidate = (struct candidate){
		.thread = of,
		.interval = interval,
		.wait = {.begin = interval->t_out,
			 .end = interval->t_out + interval->blocked_ns,
			 .thread = thread,
			 .holder = by_task ? interval->waker : 0},
	};
	if (!err && wake && candidate->wait.holder)
		err = facts_of(search, wake->user, &waker);
	candidate->wait.function = waiter.function;
	candidate->wait.released = waker.function;
	candidate->use = use_of(&waiter, &waker);
	return err;
}

/* Notes what the futex is used for: a stack that cannot be read tells nothing of its wait. */
static int note_use(struct search *search, const struct candidate *candidate)
{
	uint64_t key = lock_key(candidate->thread->process, candidate->interval->object);
	uint64_t *use;

	if (candidate->use == FUTEX_USE_UNKNOWN)
		return 0;
	use = map64__put(&search->uses, key, candidate->use);
	if (!use)
		return -ENOMEM;
	if (candidate->use == FUTEX_USE_LOCK)
		*use = FUTEX_USE_LOCK;
	return 0;
}

static bool is_for_lock(const struct search *search, const struct candidate *candidate, size_t i)
{
	uint64_t key = lock_key(candidate->thread->process, candidate->interval->object);
	const uint64_t *use = map64__get(&search->uses, key);

	if (candidate->kind != KIND_FUTEX || candidate->use == FUTEX_USE_LOCK)
		return true;
	if (candidate->use == FUTEX_USE_OTHER)
		return false;
	if (use)
		return *use == FUTEX_USE_LOCK;
	return idle_waits__reason(search->idle, candidate->wait.thread, i) == IDLE_NOT;
}

static int add_to_lock(struct search *search, const struct candidate *candidate, uint32_t process)
{
	uint32_t object = candidate->interval->object;
	struct lock_wait wait = candidate->wait;
	uint64_t *index =
		map64__put(&search->index, lock_key(process, object), search->locks->locks.n);
	struct lock *lock;

	if (!index)
		return -ENOMEM;
	wait.lock = (uint32_t)*index;
	if (*index == search->locks->locks.n) {
		lock = array__add(&search->locks->locks);
		if (!lock)
			return -ENOMEM;
		lock->process = process;
		lock->object = object;
		lock->kind = (uint8_t)candidate->kind;
		lock->variable = model__variable(search->model, process, object);
	}
	return array__push(&search->waits, wait);
}

static int add_wait(struct search *search, const struct candidate *candidate, size_t i)
{
	const struct model_object *object =
		&search->model->objects.data[candidate->interval->object];

	if (!is_for_lock(search, candidate, i))
		return 0;
	if (object->type == OBJECT_FUTEX)
		return add_to_lock(search, candidate, candidate->thread->process);
	/* Both are shared by all processes. */
	if (object->type == OBJECT_KLOCK ||
	    (object->type == OBJECT_FILE && candidate->kind == KIND_FILE_LOCK))
		return add_to_lock(search, candidate, 0);
	search->locks->unknown++;
	search->locks->unknown_ns += candidate->interval->blocked_ns;
	return 0;
}

static enum wait_kind kind_of(const struct search *search, const struct model_interval *interval)
{
	const struct wait_description wait = {.class = interval->class,
					      .flags = interval->flags,
					      .syscall = interval->syscall,
					      .kernel = interval->kernel,
					      .object = interval->object};

	return kinds__of(search->kinds, &wait);
}

/* First all uses are noted, then waits are added. */
static int add_waits(struct search *search, bool only_uses)
{
	const struct model *model = search->model;
	struct candidate candidate;
	int err = 0;

	for (uint32_t t = 1; t < model->threads.n && !err; t++) {
		const struct model_thread *thread = &model->threads.data[t];

		if (model_thread__is_helper(thread))
			continue;
		for (size_t i = 0; i < thread->intervals.n && !err; i++) {
			enum wait_kind kind = kind_of(search, &thread->intervals.data[i]);

			if (!thread->intervals.data[i].blocked_ns ||
			    kind__info(kind)->role != KIND_ROLE_LOCK)
				continue;
			err = examine(search, t, i, &candidate);
			candidate.kind = kind;
			if (!err)
				err = only_uses ? note_use(search, &candidate)
						: add_wait(search, &candidate, i);
		}
	}
	return err;
}

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

static int by_function(const void *a, const void *b)
{
	const struct lock_wait *one = a, *other = b;

	return (one->function > other->function) - (one->function < other->function);
}

/* Element @key of @array, which @index finds; a new one is zeroed. NULL: no memory. */
#define PART_OF(array, index, key)                                                                 \
	({                                                                                         \
		uint64_t *_at = map64__put((index), (key), (array)->n);                            \
		_at ? *_at < (array)->n ? &(array)->data[*_at] : array__add(array) : NULL;         \
	})

static int add_holder(struct lock *lock, struct parts *parts, const struct lock_wait *wait,
		      uint64_t held_ns)
{
	uint64_t released = (uint64_t)wait->holder << 32 | wait->released;
	uint64_t pair = (uint64_t)wait->thread << 32 | wait->holder;
	struct lock_holder *holder = PART_OF(&lock->holders, &parts->holders, released);
	struct lock_waiter *waiter = PART_OF(&lock->waiters, &parts->waiters, pair);

	if (!holder || !waiter)
		return -ENOMEM;
	holder->thread = wait->holder;
	holder->function = wait->released;
	holder->releases++;
	holder->ns += held_ns;
	waiter->thread = wait->thread;
	waiter->holder = wait->holder;
	waiter->ns += wait->end - wait->begin;
	return 0;
}

/* @waits are sorted by their ends. */
static int add_holders(struct lock *lock, const struct lock_wait *waits, size_t n)
{
	struct parts parts = {};
	uint64_t released = 0;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		const struct lock_wait *wait = &waits[i];
		uint64_t since = wait->begin > released ? wait->begin : released;

		if (!wait->holder)
			continue;
		err = add_holder(lock, &parts, wait, wait->end - since);
		released = wait->end;
	}
	map64__free(&parts.holders);
	map64__free(&parts.waiters);
	return err;
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

static void set_function(struct lock *lock, struct lock_wait *waits, size_t n)
{
	uint64_t most = 0, ns = 0;

	qsort(waits, n, sizeof(*waits), by_function);
	for (size_t i = 0; i < n; i++) {
		if (i && waits[i].function != waits[i - 1].function)
			ns = 0;
		ns += waits[i].end - waits[i].begin;
		if (ns > most && waits[i].function) {
			most = ns;
			lock->function = waits[i].function;
		}
	}
}

static int holders_by_time(const void *a, const void *b)
{
	const struct lock_holder *one = a, *other = b;

	return compare_times(other->ns, one->ns);
}

static int waiters_by_time(const void *a, const void *b)
{
	const struct lock_waiter *one = a, *other = b;

	return compare_times(other->ns, one->ns);
}

static int finish_lock(struct lock *lock, struct lock_wait *waits, size_t n)
{
	int err = add_holders(lock, waits, n);

	add_times(lock, waits, n);
	set_function(lock, waits, n);
	if (lock->holders.n)
		qsort(lock->holders.data, lock->holders.n, sizeof(*lock->holders.data),
		      holders_by_time);
	if (lock->waiters.n)
		qsort(lock->waiters.data, lock->waiters.n, sizeof(*lock->waiters.data),
		      waiters_by_time);
	return err;
}

static int by_waiting(const void *a, const void *b)
{
	const struct lock *one = a, *other = b;

	if (one->wait_ns != other->wait_ns)
		return compare_times(other->wait_ns, one->wait_ns);
	return (one->object > other->object) - (one->object < other->object);
}

static int finish(struct search *search)
{
	struct locks *locks = search->locks;
	size_t n = search->waits.n, until;
	int err = 0;

	if (n)
		qsort(search->waits.data, n, sizeof(*search->waits.data), by_lock_and_end);
	for (size_t first = 0; first < n && !err; first = until) {
		struct lock_wait *waits = &search->waits.data[first];
		uint32_t lock = waits->lock;

		for (until = first; until < n && search->waits.data[until].lock == lock; until++)
			;
		err = finish_lock(&locks->locks.data[lock], waits, until - first);
	}
	if (locks->locks.n)
		qsort(locks->locks.data, locks->locks.n, sizeof(*locks->locks.data), by_waiting);
	return err;
}

int locks__find(const struct model *model, struct kinds *kinds, struct locks *locks)
{
	struct search search = {.model = model, .kinds = kinds, .locks = locks};
	int err;

	if (!model->trace) {
		error__set(-ENODATA, "this recording has samples of waits, but not all of them");
		error__hint("record them with: dwell record --trace, or dwell latency run");
		return -ENODATA;
	}
	search.facts = calloc(model->stacks.n, sizeof(*search.facts));
	err = search.facts ? idle_waits__new(model, kinds, &search.idle) : -ENOMEM;
	err = err ? err : add_waits(&search, true);
	err = err ? err : add_waits(&search, false);
	err = err ? err : finish(&search);
	idle_waits__free(search.idle);
	free(search.facts);
	map64__free(&search.uses);
	map64__free(&search.index);
	array__free(&search.waits);
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
