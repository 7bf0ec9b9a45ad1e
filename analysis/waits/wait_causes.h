/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whom a wait was for: the thread that ended it, or, where that was done by an
 * interrupt, what stood behind it: a block device, a peer on the network, a
 * timer. wPerf (OSDI'18), sections 3.3 and 4.1, knows interrupts by type only.
 */
#pragma once

#include "analysis/kinds/kinds.h"
#include "analysis/own_strings.h"

enum source_type {
	SOURCE_THREAD = 0,
	SOURCE_DEVICE,
	SOURCE_PEER, /* the other end of a connection, or just the network */
	SOURCE_TIMER,
	SOURCE_INTERRUPT, /* another interrupt */
	SOURCE_UNKNOWN,	  /* the wakeup was not seen */
	SOURCE_END,	  /* nobody: it still waited when the recording ended */
	SOURCE_TYPE_COUNT,
};

/* "thread", "device", "peer", ... */
const char *source_type__name(enum source_type type);

struct source {
	enum source_type type;
	uint32_t id; /* thread or device, an index in the model; PEER: a string; else 0 */
};

/* Tables of one model: what its stacks and sockets tell. */
struct sources;

/* @model gets new strings. */
int sources__new(struct own_strings *strings, struct kinds *kinds, struct sources **out);
void sources__free(struct sources *sources);

/* What @interval of @thread, an index, waited for. Its blocked_ns is not 0. */
struct source sources__of(const struct sources *sources, uint32_t thread,
			  const struct model_interval *interval);

/* The kind of wait that @interval is. */
enum wait_kind sources__kind(const struct sources *sources, const struct model_interval *interval);

DEFINE_CLEANUP(struct sources *, sources__free)
#define _cleanup_sources_ _cleanup_(sources__freep)
