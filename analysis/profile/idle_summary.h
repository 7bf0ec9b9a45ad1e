/* SPDX-License-Identifier: BSD-2-Clause */
/* Idle waits by place in the code: what a profile leaves out, of which threads, and why. */
#pragma once

#include "analysis/kinds/kinds.h"
#include "analysis/weighted_samples.h"

/* The idle waits of one process with the same reason, kind, and functions on the stack. */
struct idle_place {
	enum idle_reason reason;
	enum wait_kind kind;
	uint32_t thread;    /* the one with most of the time */
	uint32_t comm;	    /* string: its name */
	uint32_t n_threads; /* that wait there */
	uint32_t kernel;    /* stacks of one of the waits */
	uint32_t user;
	uint64_t ns;
};

struct idle_summary {
	ARRAY(struct idle_place) places; /* most time first */
	uint32_t n_threads;		 /* that were idle at all */
	uint64_t ns;
};

/*
 * Sums up the idle waits among @groups. The caller has zeroed @out. Returns 0 or -ENOMEM; @out is
 * to be freed in any case.
 */
int idle_summary__make(const struct model *model, struct kinds *kinds,
		       const struct sample_groups *groups, struct idle_summary *out);
void idle_summary__free(struct idle_summary *summary);
