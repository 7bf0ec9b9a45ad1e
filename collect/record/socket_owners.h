/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which process has the other end of a connection on this machine, as /proc says when it is asked:
 * that which listens at the port, or does not read. Each connection is looked for once, and all of
 * that takes a second at most.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/event.h"
#include "base/array.h"
#include "base/hash.h"

struct socket_owner {
	uint32_t pid; /* 0: not found */
	char comm[DWELL_COMM_SIZE];
};

/* Zeroed at first. */
struct socket_owners {
	struct map64 known; /* hash of what was looked for -> index in found */
	ARRAY(struct socket_owner) found;
	uint64_t spent_ns;
};

/*
 * The process at the other end of @socket, an Internet socket of process @pid, in whose network
 * namespace it is looked for; @listens: it listens at that port. Its pid is 0 if it is not known.
 */
struct socket_owner socket_owners__find(struct socket_owners *owners, uint32_t pid,
					const struct event_object *socket, bool listens);
void socket_owners__free(struct socket_owners *owners);
