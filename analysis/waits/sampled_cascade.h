/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Estimates cascaded weights (wPerf, OSDI'18, section 4.2) from sampling points. All threads have
 * common sampling points, and a wait that contains one is recorded: so the wait-for relation, a
 * forest, is known at each point. The size of the tree below a wait, times the period, is what
 * each point adds to the wait's estimated weight.
 */
#pragma once

#include "analysis/waits/waitlist.h"

struct sampled_cascade {
	uint64_t *plain;   /* by wait: length, ns */
	uint64_t *weights; /* by wait: cascaded weight, ns */
	double *errors;	   /* by group: upper bound of the standard error of its weight, ns */
	uint64_t points;   /* evaluated */
};

/*
 * Estimates the weights of all waits in @list. @groups has the group of each wait, below
 * @n_groups. Returns 0 or -ENOMEM; @out is to be freed in any case.
 */
int sampled_cascade__estimate(const struct waitlist *list, const uint32_t *groups, size_t n_groups,
			      struct sampled_cascade *out);

void sampled_cascade__free(struct sampled_cascade *cascade);
