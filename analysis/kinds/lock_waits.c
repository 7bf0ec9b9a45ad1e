// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/kinds/lock_waits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/kinds/call_names.h"
#include "analysis/kinds/futex_behavior.h"
#include "analysis/kinds/futex_use.h"

/* So many functions are the place of a wait for a lock without an address. */
#define PLACE_FUNCTIONS 3

/* What the functions of a user stack tell; found once for each stack. */
struct stack_facts {
	uint32_t functions[PLACE_FUNCTIONS]; /* strings: the innermost outside the C library */
	uint8_t use;			     /* enum futex_use */
	bool is_known;
};

/* A wait of a class or kind of locks, before it is known whether it was for one. */
struct candidate {
	struct lock_wait wait;
	uint32_t process;
	uint32_t object;
	uint32_t user; /* stack */
	uint8_t kind;  /* enum wait_kind */
	uint8_t use;   /* enum futex_use */
	bool idle;
};

struct search {
	const struct model *model;
	struct kinds *kinds;
	const struct idle_waits *idle;
	struct stack_facts *facts; /* by stack */
	ARRAY(struct candidate) candidates;
	struct map64 uses;  /* futex_key() to enum futex_use, as far as stacks tell */
	struct map64 index; /* a key to an index in the locks */
	struct futex_behavior *behavior;
	struct lock_waits *out;
};

static int facts_of(struct search *search, uint32_t stack, struct stack_facts *out)
{
	struct stack_facts *facts = &search->facts[stack];
	int err = 0;

	if (!facts->is_known) {
		facts->use = (uint8_t)futex_use__by_stack(search->model, stack);
		err = call_names__programs(search->model, stack, facts->functions, PLACE_FUNCTIONS);
		facts->is_known = !err;
	}
	*out = *facts;
	return err;
}

static uint64_t futex_key(uint32_t process, uint32_t object)
{
	return (uint64_t)process << 32 | object;
}

static bool tells(enum futex_use use)
{
	return use != FUTEX_USE_UNKNOWN && use != FUTEX_USE_SEMAPHORE;
}

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

static int add_candidate(struct search *search, uint32_t thread, size_t i, enum wait_kind kind)
{
	const struct model *model = search->model;
	const struct model_thread *of = &model->threads.data[thread];
	const struct model_interval *interval = &of->intervals.data[i];
	const struct model_wake *wake = interval->wake ? &of->wakes.data[interval->wake - 1] : NULL;
	bool by_task = interval->waker_context == WAKER_TASK;
	struct stack_facts waiter, waker = {};
	struct candidate candidate = {
		.wait = {.begin = interval->t_out,
			 .end = interval->t_out + interval->blocked_ns,
			 .ns = model->trace ? interval->blocked_ns
					    : interval->blocked_points * model->period_ns,
			 .thread = thread,
			 .interval = (uint32_t)i,
			 .holder = by_task ? interval->waker : 0},
		.process = of->process,
		.object = interval->object,
		.user = interval->user,
		.kind = (uint8_t)kind,
		.idle = search->idle && idle_waits__reason(search->idle, thread, i),
	};
	int err = facts_of(search, interval->user, &waiter);

	if (!err && wake && candidate.wait.holder)
		err = facts_of(search, wake->user, &waker);
	candidate.wait.function = waiter.functions[0];
	candidate.wait.released = waker.functions[0];
	candidate.use = (uint8_t)use_of(&waiter, &waker);
	return err ? err : array__push(&search->candidates, candidate);
}

static int collect(struct search *search)
{
	const struct model *model = search->model;
	int err = 0;

	for (uint32_t t = 1; t < model->threads.n && !err; t++) {
		const struct model_thread *thread = &model->threads.data[t];

		if (model_thread__is_helper(thread))
			continue;
		for (size_t i = 0; i < thread->intervals.n && !err; i++) {
			const struct model_interval *interval = &thread->intervals.data[i];
			enum wait_kind kind =
				kinds__of_interval(search->kinds, interval, interval->object);

			if (interval->blocked_ns && kind__info(kind)->role == KIND_ROLE_LOCK)
				err = add_candidate(search, t, i, kind);
		}
	}
	return err;
}

/*
 * Sets what each futex is used for, from the waits whose stacks tell: those of other waits for it
 * may be unreadable.
 */
static int note_uses(struct search *search)
{
	for (size_t i = 0; i < search->candidates.n; i++) {
		const struct candidate *candidate = &search->candidates.data[i];
		uint64_t *use;

		if (candidate->use == FUTEX_USE_UNKNOWN)
			continue;
		use = map64__put(&search->uses, futex_key(candidate->process, candidate->object),
				 candidate->use);
		if (!use)
			return -ENOMEM;
		if (candidate->use == FUTEX_USE_LOCK || !tells((enum futex_use) * use))
			*use = candidate->use;
	}
	return 0;
}

static enum futex_use known_use(const struct search *search, const struct candidate *candidate)
{
	const uint64_t *use =
		map64__get(&search->uses, futex_key(candidate->process, candidate->object));

	if (candidate->kind != KIND_FUTEX)
		return FUTEX_USE_LOCK;
	return tells((enum futex_use)candidate->use) || !use ? (enum futex_use)candidate->use
							     : (enum futex_use) * use;
}

static bool has_address(const struct search *search, const struct candidate *candidate)
{
	return search->model->objects.data[candidate->object].type == OBJECT_FUTEX;
}

/* When the waiter ran after its wait: it may have been woken, but not allowed to run. */
static uint64_t ran_after(const struct model_thread *thread, size_t interval)
{
	const struct model_interval *at = &thread->intervals.data[interval];
	uint64_t ran = at->t_out + at->blocked_ns + at->runq_ns;

	while (++interval < thread->intervals.n) {
		at = &thread->intervals.data[interval];
		if (at->class != CLASS_STOPPED || at->t_out > ran)
			break;
		ran = at->t_out + at->blocked_ns + at->runq_ns;
	}
	return ran;
}

static struct futex_wait behavior_of(const struct search *search, const struct candidate *candidate)
{
	const struct model_thread *waiter = &search->model->threads.data[candidate->wait.thread];

	return (struct futex_wait){
		.futex = futex_key(candidate->process, candidate->object),
		.place = candidate->wait.function,
		.begin = candidate->wait.begin,
		.end = candidate->wait.end,
		.ran = ran_after(waiter, candidate->wait.interval),
		.ns = candidate->wait.ns,
		.thread = candidate->wait.thread,
		.waker = candidate->wait.holder,
	};
}

static int judge(struct search *search)
{
	int err = futex_behavior__new(&search->behavior);

	for (size_t i = 0; i < search->candidates.n && !err; i++) {
		const struct candidate *candidate = &search->candidates.data[i];
		struct futex_wait wait = behavior_of(search, candidate);

		if (!candidate->idle && has_address(search, candidate) &&
		    !tells(known_use(search, candidate)))
			err = futex_behavior__add(search->behavior, &wait);
	}
	return err ? err : futex_behavior__judge(search->behavior, search->model->trace);
}

static uint64_t place_key(const struct stack_facts *facts)
{
	uint64_t key = UINT64_MAX;

	for (int i = 0; i < PLACE_FUNCTIONS; i++)
		key = hash__add(key, facts->functions[i]);
	return key | 1ULL << 63; /* that of a futex does not have */
}

static int add_to(struct search *search, struct lock_wait wait, uint64_t key,
		  struct lock_identity identity)
{
	struct lock_waits *out = search->out;
	uint64_t *index = map64__put(&search->index, key, out->locks.n);

	if (!index || (*index == out->locks.n && array__push(&out->locks, identity)))
		return -ENOMEM;
	wait.lock = (uint32_t)*index;
	return array__push(&out->waits, wait);
}

static int add_to_lock(struct search *search, const struct candidate *candidate, uint32_t process)
{
	return add_to(search, candidate->wait, futex_key(process, candidate->object),
		      (struct lock_identity){.process = process,
					     .object = candidate->object,
					     .kind = candidate->kind});
}

static int add_to_place(struct search *search, const struct candidate *candidate)
{
	return add_to(search, candidate->wait, place_key(&search->facts[candidate->user]),
		      (struct lock_identity){.object = candidate->object,
					     .place = candidate->user,
					     .kind = candidate->kind});
}

static void leave(struct lock_waits_left *left, const struct candidate *candidate)
{
	left->n++;
	left->ns += candidate->wait.ns;
}

/* Adds a wait for a semaphore, or for a futex of the program's own, if that behaves like a lock. */
static int add_by_behavior(struct search *search, const struct candidate *candidate)
{
	struct futex_wait wait = behavior_of(search, candidate);

	if (candidate->idle)
		return 0;
	switch (futex_behavior__of(search->behavior, &wait)) {
	case FUTEX_LOCK:
		return add_to_lock(search, candidate, candidate->process);
	case FUTEX_OF_WAITER:
		return add_to_place(search, candidate);
	default:
		leave(&search->out->unclear, candidate);
		return 0;
	}
}

static int add_wait(struct search *search, const struct candidate *candidate)
{
	const struct model_object *object = &search->model->objects.data[candidate->object];
	enum futex_use use = known_use(search, candidate);

	if (use == FUTEX_USE_GOROUTINE)
		leave(&search->out->goroutines, candidate);
	else if (use == FUTEX_USE_CONDITION && !candidate->idle)
		leave(&search->out->conditions, candidate);
	if (use != FUTEX_USE_LOCK && tells(use))
		return 0;
	if (object->type == OBJECT_FUTEX)
		return use == FUTEX_USE_LOCK ? add_to_lock(search, candidate, candidate->process)
					     : add_by_behavior(search, candidate);
	/* Both are shared by all processes. */
	if (object->type == OBJECT_KLOCK ||
	    (object->type == OBJECT_FILE && candidate->kind == KIND_FILE_LOCK))
		return add_to_lock(search, candidate, 0);
	if (use == FUTEX_USE_LOCK || !candidate->idle)
		leave(&search->out->no_address, candidate);
	return 0;
}

int lock_waits__find(const struct model *model, struct kinds *kinds, const struct idle_waits *idle,
		     struct lock_waits *out)
{
	struct search search = {.model = model, .kinds = kinds, .idle = idle, .out = out};
	int err;

	search.facts = calloc(model->stacks.n, sizeof(*search.facts));
	err = search.facts ? collect(&search) : -ENOMEM;
	err = err ? err : note_uses(&search);
	err = err ? err : judge(&search);
	for (size_t i = 0; i < search.candidates.n && !err; i++)
		err = add_wait(&search, &search.candidates.data[i]);
	futex_behavior__free(search.behavior);
	free(search.facts);
	array__free(&search.candidates);
	map64__free(&search.uses);
	map64__free(&search.index);
	return err;
}

void lock_waits__free(struct lock_waits *waits)
{
	array__free(&waits->locks);
	array__free(&waits->waits);
}

static void place_text(const struct model *model, uint32_t stack, char *text, size_t size)
{
	uint32_t names[PLACE_FUNCTIONS];
	size_t n = (size_t)snprintf(text, size, "locks of");

	if (call_names__programs(model, stack, names, PLACE_FUNCTIONS))
		return;
	for (int i = 0; i < PLACE_FUNCTIONS && names[i] && n < size; i++)
		n += (size_t)snprintf(text + n, size - n, "%s %s", i ? " <-" : "",
				      model__string(model, names[i]));
}

void lock_identity__text(const struct model *model, const struct lock_identity *lock, char *text,
			 size_t size)
{
	uint64_t address = model->objects.data[lock->object].id;
	uint32_t variable = lock->place ? 0 : model__variable(model, lock->process, lock->object);

	if (lock->place)
		place_text(model, lock->place, text, size);
	else if (variable)
		snprintf(text, size, "%s", model__string(model, variable));
	else if (lock->process)
		snprintf(text, size, "lock at 0x%" PRIx64, address);
	else if (lock->kind == KIND_FILE_LOCK)
		kind__describe(model, KIND_FILE_LOCK, lock->object, text, size);
	else
		snprintf(text, size, "%s 0x%" PRIx64, kind__name((enum wait_kind)lock->kind),
			 address);
}
