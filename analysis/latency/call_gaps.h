/* SPDX-License-Identifier: BSD-2-Clause */
/* What a scanner of shadow stacks has not looked at, and how far times may be off for it. */
#pragma once

#include <stdint.h>

#include "model/model.h"

/* Of a thread, or summed over several. */
struct call_gaps {
	uint64_t ran_ns;    /* by the thread */
	uint64_t unseen_ns; /* of that, before the first look, or after the last one */
	double n;	    /* long gaps, about */
	double square;	    /* of their lengths, sum, at most */
};

/* Adds those of a thread. @longest: gap between two looks, ns. */
void call_gaps__add(struct call_gaps *gaps, const struct model_coverage *coverage,
		    uint64_t longest);

void call_gaps__sum(struct call_gaps *gaps, const struct call_gaps *other);

/*
 * The variance of a row's time, @total_ns, by long gaps: their time counts for the calls at their
 * ends. Each belongs to the row with the probability that the row runs. If it was in none of n,
 * that is up to 3 / n.
 */
double call_gaps__variance(const struct call_gaps *gaps, double total_ns);
