/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Locks: how long threads waited for each, who held it meanwhile, and how long (LDB, NSDI'24,
 * section 3.3). LDB interposes the functions of pthreads, and records those calls that took longer
 * than a microsecond. Here the kernel's intervals tell: nothing is interposed, and a lock that no
 * thread had to wait for in the kernel does not appear.
 */
#pragma once

#include "analysis/kinds/lock_holders.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "model/model.h"

struct lock {
	struct lock_identity identity;
	uint32_t variable; /* string: the variable that it is in; 0: none, or not known */
	uint32_t function; /* string: where threads waited for it longest; 0: unknown */
	uint64_t waits;	   /* one that is woken but finds the lock taken waits again */
	uint64_t wait_ns;  /* until the wakeup; running again takes longer */
	uint64_t p50_ns;
	uint64_t p99_ns;
	uint64_t max_ns;
	uint64_t contended_ns; /* with at least one waiter */
	lock_holders holders;  /* by ns, descending */
	lock_waiters waiters;  /* by ns, descending */
};

struct locks {
	ARRAY(struct lock) locks;	   /* by wait_ns, descending */
	struct lock_waits_left no_address; /* see struct lock_waits */
	struct lock_waits_left unclear;
	struct lock_waits_left conditions;
	struct lock_waits_left goroutines;
};

/*
 * Finds the locks of a recording in trace mode; @model has the names of its functions. What is a
 * wait for a lock is said in analysis/kinds/lock_waits.h. The caller has zeroed @locks, and frees
 * it in any case. Returns 0, -ENOMEM, or -ENODATA with a message: it has not all waits.
 */
int locks__find(const struct model *model, struct kinds *kinds, struct locks *locks);
void locks__free(struct locks *locks);
