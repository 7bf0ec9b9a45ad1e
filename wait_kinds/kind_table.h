/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Properties of each kind of wait. A new kind needs a value in abi/wait_kind.h, a row in
 * kind_table.c, clues in kind_clues.c, and a case in tests/unit/kind_cases.h.
 */
#pragma once

#include <stddef.h>

#include "abi/wait_kind.h"

/* What a wait of the kind means. */
enum kind_role {
	/* Blocked until an operation (I/O, a timer, ...) is done, or until there is a request. */
	KIND_ROLE_WAIT = 0,
	/* Blocked by a lock; it becomes shorter only if the lock's holder is faster. */
	KIND_ROLE_LOCK = 1,
	/* Running or runnable, not blocked. */
	KIND_ROLE_NO_WAIT = 2,
	/* Blocked; only the class is known. */
	KIND_ROLE_UNKNOWN = 3,
};

/* What ends a wait of the kind, if the recording does not say. */
enum kind_ender {
	KIND_ENDER_UNKNOWN = 0,
	KIND_ENDER_TIMER = 1,
	KIND_ENDER_PEER = 2, /* the other end of a connection, maybe on another machine */
};

/* Whether a wait of the kind can be a wait for work, see analysis/kinds/idle.h. */
enum kind_idle {
	KIND_IDLE_NEVER = 0,	/* for the end of an operation, or for a lock of the kernel */
	KIND_IDLE_REQUEST = 1,	/* a wait for requests or events */
	KIND_IDLE_RECEIVE = 2,	/* for requests if it has the server's end, for a reply if not */
	KIND_IDLE_HANDOVER = 3, /* for another thread, or for completions: see rule 5 there */
	KIND_IDLE_TIMER = 4,	/* a sleep */
	KIND_IDLE_KERNEL = 5,	/* of a kernel thread without work */
};

/* Named groups of kinds, one bit each. */
enum kind_group {
	KIND_GROUP_DISK = 1 << 0,
	KIND_GROUP_NETWORK = 1 << 1,
	KIND_GROUP_PIPE = 1 << 2,
	KIND_GROUP_JOURNAL = 1 << 3,
};

struct kind_info {
	const char *name; /* such as "disk read"; "" for KIND_NONE */
	enum kind_role role;
	unsigned int groups; /* bits of enum kind_group */
	enum kind_ender ender;
	enum kind_idle idle;
};

/* The properties of @kind; those of KIND_NONE if the value is not a kind. */
const struct kind_info *kind__info(enum wait_kind kind);

/* "disk read", "futex", ... */
const char *kind__name(enum wait_kind kind);

/* The name of group number @index, from 0; NULL after the last. */
const char *kind_group__name(size_t index);

/* The group called @name (enum kind_group); 0: there is none. */
unsigned int kind_group__find(const char *name);
