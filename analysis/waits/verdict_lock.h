/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lock that the members of a bottleneck hold while others wait for it, and what its holders do
 * in that time.
 */
#pragma once

#include "analysis/kinds/lock_waits.h"
#include "analysis/waits/bottleneck.h"

struct verdict_lock {
	const struct lock_identity *lock; /* NULL: there is none that matters */
	uint32_t function;		  /* string: where it is waited for longest; 0: unknown */
	uint64_t wait_ns;		  /* of all waits for it that ended within the window */
	uint64_t held_ns;   /* it was held so long during these waits, as far as is known */
	uint32_t holder;    /* thread that held it longest, */
	uint64_t holder_ns; /* for how long, */
	uint32_t released;  /* string: and in which function it released it, after
			       holding it longest; 0: unknown */
	/* What its holders waited for most of @held_ns: */
	uint64_t blocked_ns;
	enum wait_kind kind;
	uint32_t object;
	uint32_t kernel; /* stacks */
	uint32_t user;
	bool sleeps; /* members of the bottleneck slept for more than half of @held_ns */
};

/* The locks of all bottlenecks of a graph. */
struct verdict_locks {
	const struct bottlenecks *bottlenecks;
	ARRAY(struct verdict_lock) all; /* by bottleneck */
};

/*
 * Finds, for each of @bottlenecks: of the locks that its members were seen to release, that which
 * was waited for longest, if it was for a noteworthy part of the window. @waits are those of the
 * graph's model; like @bottlenecks, they must outlive @out, which the caller has zeroed and frees
 * in any case. Returns 0 or -ENOMEM.
 */
int verdict_locks__find(const struct waitgraph *graph, struct kinds *kinds,
			const struct lock_waits *waits, const struct bottlenecks *bottlenecks,
			struct verdict_locks *out);
void verdict_locks__free(struct verdict_locks *locks);

/* The lock of @bottleneck, one of those that they were found for; NULL: there is none. */
const struct verdict_lock *verdict_locks__of(const struct verdict_locks *locks,
					     const struct bottleneck *bottleneck);
