/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks with their times, for flame graphs. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "analysis/weighted_samples.h"

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
