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

/* What the lines mean, for --help and the man page. */
extern const char script_format[];

/* Writes while it goes: memory does not grow with the output. Returns 0 or -ENOMEM. */
int script__write(const struct script *script, FILE *to);

enum folded_unit {
	FOLDED_POINTS,
	FOLDED_MICROSECONDS,
};

/*
 * Stacks in the format of flame graph tools: "comm;outermost;...;innermost N".
 * Kernel frames end in _[k], the innermost frame of what is off the CPU in its
 * class: _[I], _[L], _[S], _[B]. Equal lines are added up; sorted. Returns 0 or
 * -ENOMEM.
 */
int folded__write(const struct model *model, const struct sample_filter *filter,
		  enum folded_unit unit, FILE *to);
