/* SPDX-License-Identifier: BSD-2-Clause */
/* `dwell script`: every event of a recording in time order, for other programs. */
#pragma once

#include <stdio.h>

#include "analysis/kinds/kinds.h"
#include "analysis/weighted_samples.h"

struct script {
	const struct model *model;
	struct kinds *kinds;
	const struct sample_filter *filter;
	bool json;	/* one object per line */
	bool no_stacks; /* header lines only */
};

/* Describes the output, for --help. */
extern const char script_format[];

/* Streams: memory does not grow with the output. Returns 0 or -ENOMEM. */
int script__write(const struct script *script, FILE *to);

enum folded_unit {
	FOLDED_POINTS, /* periods of calibrated time */
	FOLDED_MICROSECONDS,
};

/*
 * Stacks in the format of flame graph tools: "comm;outermost;...;innermost N".
 * Kernel frames end in _[k]; the innermost frame of an off-CPU stack ends in its
 * class: _[I], _[L], _[S] or _[B]. Lines are sorted, and equal ones added up.
 * If @idle_ns is not NULL, idle waits are left out and their time is stored there.
 * Returns 0 or -ENOMEM.
 */
int folded__write(const struct model *model, const struct sample_filter *filter,
		  enum folded_unit unit, uint64_t *idle_ns, FILE *to);
