/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits for locks, and who held them. Locks of the kernel and of files are known as such. What a
 * futex is for is known by the functions that wait for it and wake it, where they are those of
 * mutexes, condition variables or ends of threads; semaphores and futexes of a program's own are
 * locks by behavior:
 *
 * - Waiting for it is not idle (analysis/kinds/idle.h).
 * - Its holders wait for it, too: at least half of the waiting time was ended by threads that
 *   themselves wait for it at other times. A thread that adds to a queue does not wait there.
 * - It has one holder at a time. A thread that ends a second wait while the waiter of the first one
 *   already runs, and has not released the lock, does not pass on a lock: the futex is a barrier,
 * or a signal to all.
 *
 * If every waiter has a futex of its own, as the processes of PostgreSQL have, the futex is not the
 * lock. Then the second rule is applied to all waits in the same function, and waits with the same
 * callers count as waits for one lock, whose address is not known.
 */
#pragma once

#include "analysis/kinds/idle.h"

/* A lock: by its address, or by the place where it is waited for. */
struct lock_identity {
	uint32_t process; /* of the model; 0: a lock of the kernel or of a file, or a place */
	uint32_t object;
	uint32_t place; /* 0, or the user stack of one of its waits: no address is known */
	uint8_t kind;	/* enum wait_kind */
};

struct lock_wait {
	uint64_t begin;
	uint64_t end;  /* the wakeup */
	uint64_t ns;   /* its length; in sampling mode an unbiased estimate */
	uint32_t lock; /* index */
	uint32_t thread;
	uint32_t interval;
	uint32_t holder;   /* thread that ended it; 0: none, or unknown */
	uint32_t released; /* string: the holder's function */
	uint32_t function; /* string: the waiter's */
};

/* Waits that are not for locks, or of which that is not known. */
struct lock_waits_left {
	uint64_t n;
	uint64_t ns;
};

struct lock_waits {
	ARRAY(struct lock_identity) locks;
	ARRAY(struct lock_wait) waits;	   /* by thread and time */
	struct lock_waits_left no_address; /* of locks, but it is not known which */
	/* Not idle, for semaphores and futexes of a program's own that behave unlike locks, or not
	 * long enough like them. */
	struct lock_waits_left unclear;
	struct lock_waits_left conditions; /* not idle, for condition variables */
	struct lock_waits_left goroutines; /* of threads that have no goroutine to run */
};

/*
 * Finds the waits for locks of @model, which has the names of its functions; in sampling mode those
 * that were recorded. The caller has zeroed @out. Returns 0 or -ENOMEM; @out is to be freed in any
 * case.
 */
int lock_waits__find(const struct model *model, struct kinds *kinds, const struct idle_waits *idle,
		     struct lock_waits *out);
void lock_waits__free(struct lock_waits *waits);

/*
 * The name of @lock: "settings.lock", "lock at 0x55d0", "mmap lock 0xffff8881", "file lock /tmp/x",
 * "locks of PGSemaphoreLock <- LWLockAcquire <- XLogFlush".
 */
void lock_identity__text(const struct model *model, const struct lock_identity *lock, char *text,
			 size_t size);
