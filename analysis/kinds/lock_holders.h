/* SPDX-License-Identifier: BSD-2-Clause */
/* Who held a lock while others waited for it, how long, and in which functions. */
#pragma once

#include "analysis/kinds/lock_waits.h"
#include "base/array.h"

/* A thread and function that released the lock, and so ended waits of others. */
struct lock_holder {
	uint32_t thread;
	uint32_t function; /* string: that released it; 0: unknown */
	uint64_t releases; /* waits that it ended */
	/*
	 * The time for which it held the lock, as far as the waits show it. For each release: from
	 * the release before it, or from the start of the wait that it ended, whichever is later.
	 * A lower bound; exact if at each release another thread was waiting already.
	 */
	uint64_t ns;
};

/* Who waited for whom. */
struct lock_waiter {
	uint32_t thread;
	uint32_t holder; /* thread */
	uint64_t ns;
};

typedef ARRAY(struct lock_holder) lock_holders;
typedef ARRAY(struct lock_waiter) lock_waiters;

/* Since when @wait's holder held the lock, if it was released at @released before (0: never). */
static inline uint64_t lock_wait__held_since(const struct lock_wait *wait, uint64_t released)
{
	return wait->begin > released ? wait->begin : released;
}

/*
 * Adds the holders of a lock to @holders, and who waited for them to @waiters (NULL: not wanted),
 * both by ns, descending. @waits are the waits for the lock, sorted by their ends; those without a
 * known holder are left out. 0 or -ENOMEM.
 */
int lock_holders__find(const struct lock_wait *waits, size_t n, lock_holders *holders,
		       lock_waiters *waiters);

/* Of @waits, the function (string) that waits longest; 0: none is known. Sorts them by function. */
uint32_t lock_waits__function(struct lock_wait *waits, size_t n);
