/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of each kind of waiting. Whoever adds a kind adds a value to
 * abi/wait_kind.h, a row to kind_table.c, and to kind_clues.c what tells it from others.
 */
#pragma once

#include <stddef.h>

#include "abi/wait_kind.h"

/* What a wait of the kind means. */
enum kind_role {
	/* Blocked until something is done: shorter when that is done faster. */
	KIND_ROLE_WAIT = 0,
	/* Blocked until another thread is done: shorter when that thread is faster. */
	KIND_ROLE_LOCK = 1,
	/* Has nothing to do until there is a request: idle, and no fault of anybody's. */
	KIND_ROLE_IDLE = 2,
	/* Not blocked at all. */
	KIND_ROLE_NO_WAIT = 3,
	/* Blocked, and nothing is known but the class. */
	KIND_ROLE_UNKNOWN = 4,
};

/* What ends a wait of the kind when the recording does not tell. */
enum kind_ender {
	KIND_ENDER_UNKNOWN = 0,
	KIND_ENDER_TIMER = 1,
	KIND_ENDER_PEER = 2, /* the other end of a connection, perhaps on another machine */
};

/* Groups of kinds that have a name of their own, a bit each. */
enum kind_group {
	KIND_GROUP_DISK = 1 << 0,
	KIND_GROUP_NETWORK = 1 << 1,
	KIND_GROUP_PIPE = 1 << 2,
	KIND_GROUP_JOURNAL = 1 << 3,
};

struct kind_info {
	const char *name; /* "disk read"; of KIND_NONE "" */
	enum kind_role role;
	unsigned int groups; /* enum kind_group */
	enum kind_ender ender;
};

/* The row of @kind; that of KIND_NONE for a number that is no kind. */
const struct kind_info *kind__info(enum wait_kind kind);

/* "disk read", "futex", ... */
const char *kind__name(enum wait_kind kind);

/* The name of group @index, counted from 0; NULL: there are not so many. */
const char *kind_group__name(size_t index);

/* The group of that name (enum kind_group); 0: there is none. */
unsigned int kind_group__find(const char *name);
