// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/addresses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How often an address is looked for: its mapping may be in a buffer that is read later. */
#define TRIES 3
/* By the mappings of so many users of its stack it is looked for: what none of them has is no code.
 */
#define USERS 16
/* What is located at once. */
#define MAX_RAW (1U << 20)
/* What may be located by the mappings of others. */
#define MAX_UNLOCATED (1U << 16)

/*
 * What is known of a stack: its innermost address, 0 before its frames came, and above it how it
 * was referred to, and whether some of its addresses could not be located.
 */
#define SEEN_EXACT     (1ULL << 63)
#define SEEN_RETURN    (1ULL << 62)
#define SEEN_UNLOCATED (1ULL << 61)
#define SEEN_AS(exact) ((exact) ? SEEN_EXACT : SEEN_RETURN)
#define INNERMOST      (SEEN_UNLOCATED - 1)

int addresses__init(struct addresses *addresses)
{
	*addresses = (struct addresses){};
	return array__add(&addresses->origins) ? 0 : -ENOMEM; /* the kernel */
}

static void add_raw(struct addresses *addresses, const struct stack_user *user, uint64_t stack,
		    uint64_t address, bool data)
{
	struct raw_address raw = {.pid = user->pid,
				  .thread = user->thread,
				  .time = user->time,
				  .address = address,
				  .stack = stack,
				  .data = data};

	if (addresses->raw.n >= MAX_RAW || array__push(&addresses->raw, raw))
		addresses->left_out++;
}

/* The stack with this @hash, in which some addresses were not located, is of @user, too. */
static void try_user(struct addresses *addresses, const struct stack_user *user, uint64_t hash)
{
	if (!array__push(&addresses->others, *user))
		map64__put(&addresses->by_stack, hash, addresses->others.n - 1);
}

void addresses__refer(struct addresses *addresses, const struct stack_user *user, uint64_t hash,
		      bool exact)
{
	uint64_t *seen = aging_map__put(&addresses->stacks, hash, 0);

	if (seen && *seen & SEEN_UNLOCATED) {
		*seen &= ~SEEN_UNLOCATED;
		try_user(addresses, user, hash);
	}
	if (!seen || *seen & SEEN_AS(exact))
		return;
	*seen |= SEEN_AS(exact);
	if (*seen & INNERMOST)
		add_raw(addresses, user, hash, (*seen & INNERMOST) - !exact, false);
}

void addresses__add_user(struct addresses *addresses, const struct stack_user *user, uint64_t hash,
			 const uint64_t *frames, size_t depth)
{
	uint64_t *seen = depth ? aging_map__put(&addresses->stacks, hash, 0) : NULL;

	if (!seen || *seen & INNERMOST)
		return;
	*seen |= frames[0] & INNERMOST;
	if (*seen & SEEN_EXACT)
		add_raw(addresses, user, hash, frames[0], false);
	if (*seen & SEEN_RETURN)
		add_raw(addresses, user, hash, frames[0] - 1, false);
	for (size_t i = 1; i < depth; i++)
		add_raw(addresses, user, hash, frames[i] - 1, false);
}

void addresses__add_futex(struct addresses *addresses, const struct stack_user *user,
			  uint64_t address)
{
	uint64_t key = hash__add(hash__add(user->pid, user->thread), address);
	uint64_t *seen = aging_map__put(&addresses->futexes, key, 0);

	if (seen && !*seen)
		add_raw(addresses, user, 0, address, true);
	if (seen)
		*seen = 1;
}

/* Keeps an address of the origin at @index, unless it is known. */
static void keep(struct addresses *addresses, uint32_t index, uint64_t address, bool data)
{
	struct kept_address added = {.origin = index, .data = data, .address = address};
	size_t n = addresses->kept.n;

	/* Keys are hashes: linear probing on collisions. */
	for (uint64_t key = hash__add(index << 1 | data, address);; key++) {
		const struct kept_address *known;
		uint64_t *place = map64__get(&addresses->by_place, key);

		if (!place) {
			if (n >= ADDRESSES_MAX || array__reserve(&addresses->kept, 1) ||
			    !map64__put(&addresses->by_place, key, n))
				addresses->left_out++;
			else
				addresses->kept.data[addresses->kept.n++] = added;
			return;
		}
		known = &addresses->kept.data[*place];
		if (known->origin == index && known->address == address && known->data == data)
			return;
	}
}

void addresses__add_kernel(struct addresses *addresses, const uint64_t *frames, size_t depth)
{
	for (size_t i = 0; i < depth; i++)
		keep(addresses, ADDRESSES_KERNEL, frames[i] - (i ? 1 : 0), false);
}

/* The index of @origin in origins, 0: there is no room. */
static uint32_t index_of(struct addresses *addresses, const struct code_origin *origin)
{
	const uint64_t *known = map64__get(&addresses->by_number, origin->number);
	struct code_origin copy = *origin;

	if (known)
		return (uint32_t)*known;
	copy.fd = -1;
	if (addresses->origins.n >= ADDRESSES_MAX_ORIGINS ||
	    (origin->kind == CODE_GENERATED && addresses->n_jits >= ADDRESSES_MAX_JITS))
		return 0;
	copy.path = strdup(origin->path);
	if (!copy.path || array__push(&addresses->origins, copy)) {
		free(copy.path);
		return 0;
	}
	if (!map64__put(&addresses->by_number, origin->number, addresses->origins.n - 1)) {
		free(addresses->origins.data[--addresses->origins.n].path);
		return 0;
	}
	addresses->n_jits += origin->kind == CODE_GENERATED;
	return (uint32_t)addresses->origins.n - 1;
}

/* False: it may be found later. */
static bool locate(struct addresses *addresses, const struct address_spaces *spaces,
		   const struct raw_address *raw, uint32_t pid)
{
	struct code_location location;
	uint32_t index;

	if (!pid ||
	    !address_spaces__locate(spaces, pid, raw->time, raw->address, raw->data, &location))
		return false;
	if (raw->data && location.origin->kind != CODE_FILE)
		return true;
	index = index_of(addresses, location.origin);
	if (index)
		keep(addresses, index, location.address, raw->data);
	else
		addresses->left_out++;
	return true;
}

/* Moves what may be located by the mappings of others to raw. */
static void take_others(struct addresses *addresses)
{
	size_t left = 0;

	if (!addresses->others.n)
		return;
	for (size_t i = 0; i < addresses->unlocated.n; i++) {
		struct raw_address raw = addresses->unlocated.data[i];
		const uint64_t *index = map64__get(&addresses->by_stack, raw.stack);

		if (!index) {
			addresses->unlocated.data[left++] = raw;
			continue;
		}
		raw.pid = addresses->others.data[*index].pid;
		raw.thread = addresses->others.data[*index].thread;
		raw.time = addresses->others.data[*index].time;
		if (array__push(&addresses->raw, raw))
			addresses->left_out++;
	}
	addresses->unlocated.n = left;
	addresses->others.n = 0;
	map64__clear(&addresses->by_stack);
}

/* @raw could not be located by the mappings of its process. */
static void give_up(struct addresses *addresses, const struct raw_address *raw)
{
	uint64_t *seen = raw->stack ? aging_map__get(&addresses->stacks, raw->stack) : NULL;

	if (!seen || raw->tries >= TRIES * USERS || addresses->unlocated.n >= MAX_UNLOCATED ||
	    array__push(&addresses->unlocated, *raw))
		return;
	*seen |= SEEN_UNLOCATED;
}

void addresses__locate(struct addresses *addresses, const struct address_spaces *spaces,
		       address_process_fn process_of, void *arg)
{
	size_t left = 0;

	take_others(addresses);
	for (size_t i = 0; i < addresses->raw.n; i++) {
		struct raw_address raw = addresses->raw.data[i];
		uint32_t pid = raw.pid ? raw.pid : process_of(arg, raw.thread);

		if (locate(addresses, spaces, &raw, pid))
			continue;
		if (++raw.tries % TRIES)
			addresses->raw.data[left++] = raw;
		else
			give_up(addresses, &raw);
	}
	addresses->raw.n = left;
}

void addresses__forget_unused(struct addresses *addresses)
{
	size_t left = 0;

	aging_map__age(&addresses->stacks);
	for (size_t i = 0; i < addresses->unlocated.n; i++)
		if (map64__get(&addresses->stacks.old, addresses->unlocated.data[i].stack))
			addresses->unlocated.data[left++] = addresses->unlocated.data[i];
	addresses->unlocated.n = left;
	aging_map__age(&addresses->futexes);
}

static int compare(const void *a, const void *b)
{
	const struct kept_address *x = a, *y = b;

	if (x->origin != y->origin)
		return x->origin < y->origin ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

void addresses__sort(struct addresses *addresses)
{
	map64__free(&addresses->by_place);
	array__sort(&addresses->kept, compare);
}

void addresses__free(struct addresses *addresses)
{
	for (size_t i = 0; i < addresses->origins.n; i++)
		free(addresses->origins.data[i].path);
	array__free(&addresses->origins);
	array__free(&addresses->kept);
	array__free(&addresses->raw);
	array__free(&addresses->unlocated);
	array__free(&addresses->others);
	map64__free(&addresses->by_stack);
	aging_map__free(&addresses->stacks);
	aging_map__free(&addresses->futexes);
	map64__free(&addresses->by_place);
	map64__free(&addresses->by_number);
}
