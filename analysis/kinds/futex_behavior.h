/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells from the waits for a futex whether it is a lock: threads wait for it, and the thread that
 * ends a wait has itself waited for it before. See lock_waits.h. For analysis/kinds only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct futex_wait {
	uint64_t futex;
	uint32_t place; /* the function that waits */
	uint64_t begin;
	uint64_t end; /* the wakeup */
	uint64_t ran; /* when the waiter ran again */
	uint64_t ns;  /* its weight */
	uint32_t thread;
	uint32_t waker; /* 0: none, or not known */
};

enum futex_role {
	FUTEX_UNCLEAR = 0,
	FUTEX_LOCK = 1,
	FUTEX_OF_WAITER = 2, /* one waiter's own; with those of others it stands for locks */
};

struct futex_behavior;

/* All return 0 or -ENOMEM. After the last wait was added, they are judged. */
int futex_behavior__new(struct futex_behavior **out);
int futex_behavior__add(struct futex_behavior *behavior, const struct futex_wait *wait);
/* @all: every wait was added, not only samples of them. */
int futex_behavior__judge(struct futex_behavior *behavior, bool all);
void futex_behavior__free(struct futex_behavior *behavior);

enum futex_role futex_behavior__of(const struct futex_behavior *behavior,
				   const struct futex_wait *wait);
