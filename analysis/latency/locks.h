/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Locks: how long threads waited for each, who held it meanwhile, and how long (LDB, NSDI'24,
 * section 3.3). LDB interposes the functions of pthreads, and records those calls that took longer
 * than a microsecond. Here the kernel's intervals tell: nothing is interposed, and a lock that no
 * thread had to wait for in the kernel does not appear.
 */
#pragma once

#include "analysis/kinds/kinds.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "model/model.h"

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

struct lock {
	uint32_t process; /* of the model; 0: a lock of the kernel, or of a file */
	uint32_t object;
	uint32_t variable; /* string: the variable that it is in; 0: none, or not known */
	uint32_t function; /* string: where threads waited for it longest; 0: unknown */
	uint8_t kind;	   /* enum wait_kind */
	uint64_t waits;	   /* one that is woken but finds the lock taken waits again */
	uint64_t wait_ns;  /* until the wakeup; running again takes longer */
	uint64_t p50_ns;
	uint64_t p99_ns;
	uint64_t max_ns;
	uint64_t contended_ns;		   /* with at least one waiter */
	ARRAY(struct lock_holder) holders; /* by ns, descending */
	ARRAY(struct lock_waiter) waiters; /* by ns, descending */
};

struct locks {
	ARRAY(struct lock) locks; /* by wait_ns, descending */
	uint64_t unknown;	  /* waits for locks whose addresses are not known */
	uint64_t unknown_ns;
};

/*
 * Finds the locks of a recording in trace mode; @model has the names of its functions. Waits for
 * condition variables, semaphores, barriers and ends of threads are not waits for locks. Of futexes
 * of a program's own, idle waits are not. The caller has zeroed @locks, and frees it in any case.
 * Returns 0, -ENOMEM, or -ENODATA with a message: it has not all waits.
 */
int locks__find(const struct model *model, struct kinds *kinds, struct locks *locks);
void locks__free(struct locks *locks);
