/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whom a wait was for: the thread that ended it, or, where that was done by an
 * interrupt, what stood behind it: a block device, a peer on the network, a
 * timer. wPerf (OSDI'18), sections 3.3 and 4.1, knows interrupts by type only.
 */
#pragma once

#include "analysis/kinds/kinds.h"
#include "analysis/own_strings.h"

enum cause_type {
	CAUSE_THREAD = 0,
	CAUSE_DEVICE,
	CAUSE_PEER, /* the other end of a connection, or just the network */
	CAUSE_TIMER,
	CAUSE_INTERRUPT, /* another interrupt */
	CAUSE_UNKNOWN,	 /* the wakeup was not seen */
	CAUSE_END,	 /* nobody: it still waited when the recording ended */
	SOURCE_TYPE_COUNT,
};

/* "thread", "device", "peer", ... */
const char *cause_type__name(enum cause_type type);

struct wait_cause {
	enum cause_type type;
	uint32_t id; /* thread or device, an index in the model; PEER: a string; else 0 */
};

/* Tables of one model: what its stacks and sockets tell. */
struct wait_causes;

/* @model gets new strings. */
int wait_causes__new(struct own_strings *strings, struct kinds *kinds, struct wait_causes **out);
void wait_causes__free(struct wait_causes *causes);

/* What @interval of @thread, an index, waited for. Its blocked_ns is not 0. */
struct wait_cause wait_causes__of(const struct wait_causes *causes, uint32_t thread,
				  const struct model_interval *interval);

/* The kind of wait that @interval is. */
enum wait_kind wait_causes__kind(const struct wait_causes *causes,
				 const struct model_interval *interval);

DEFINE_CLEANUP(struct wait_causes *, wait_causes__free)
#define _cleanup_wait_causes_ _cleanup_(wait_causes__freep)
