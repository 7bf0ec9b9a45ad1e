/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Weights of waits from sampling points. All threads are held against the same
 * points, and a wait that holds one is recorded: so at each point it is known who
 * was blocked, and by whom, and the threads that hang on a wait can be counted.
 * Their number times the period is what cascaded redistribution (wPerf, OSDI'18,
 * section 4.2) would give the wait per point, without knowing the waits between.
 */
#pragma once

#include "analysis/waits/waitlist.h"

struct sampled_cascade {
	uint64_t *plain;   /* ns, of each wait in the list */
	uint64_t *weights; /* cascaded, ns */
	double *errors;	   /* of each group's weight: its standard error at most, ns */
	uint64_t points;   /* looked at */
};

/*
 * Estimates the weights of all waits in @list. @groups has a number below @n_groups
 * for each wait. Returns 0 or -ENOMEM; to be freed in any case.
 */
int sampled_cascade__take(const struct waitlist *list, const uint32_t *groups, size_t n_groups,
			  struct sampled_cascade *out);

void sampled_cascade__free(struct sampled_cascade *cascade);
