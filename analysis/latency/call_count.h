/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many calls there were, from those that a scanner of shadow stacks saw
 * (collect/probes/observed_call.h).
 *
 * A call is counted if it ends between two looks that are close together: the time between them is
 * so short that the look before must have seen a call of that length, wherever it began. The
 * scanner does not choose its gaps by what the program does, so the probability of that is the
 * share of the thread's run time that lies in such gaps, whatever the length: each counted call
 * stands for the inverse of the share, its *weight* (Horvitz and Thompson). Short calls are counted
 * in the gaps between the looks of pairs, longer ones in longer gaps, and those that are much
 * longer than all gaps one by one.
 *
 * Generations rise by 2 with each push, so the difference of two that were seen is exactly twice
 * the number of calls between them. That gives the number of all calls of a thread, which is
 * compared with the sum of the weights:
 *
 * - If there were fewer calls, the thread made fewer of them in long gaps than their share of time
 *   (an interrupt takes the CPU from both, the program and the thread that looks), or the gaps of
 *   pairs were longer than they seemed: weights are too large by that ratio.
 * - If there were a little more (a look delays the program's next push, and so some ends, beyond
 *   the pair), they are too small by that ratio.
 * - If there were many more, calls were shorter than pairs, and seen too seldom. They belong to
 *   functions whose calls that were seen are short as well, and of which only a lower bound is
 *   known. Together they have the calls that are missing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"

/* Calls of a thread that are counted. */
struct counted_calls {
	uint64_t in_pairs;	      /* in the gaps of pairs */
	uint64_t by_class[SCAN_GAPS]; /* in gaps of at most scan_gap__limit(class) */
};

struct call_weight {
	double weight; /* calls that one stands for; 0: nothing was seen */
	double low;    /* bounds of it */
	double high;
};

struct call_weights {
	struct call_weight in_pairs;
	struct call_weight by_class[SCAN_GAPS];
	double all;  /* calls that the thread made; NaN: not known */
	double most; /* all, or INFINITY if they were not counted all the time; NaN likewise */
	double unexplained; /* those that no call stands for, at least 0; NaN: not known */
};

/* @all: the coverage of all threads, for one whose own, @coverage, is unknown. */
struct call_weights call_weights__make(const struct model_coverage *coverage,
				       const struct model_coverage *all,
				       const struct counted_calls *counted);

/*
 * The class of the gaps in which calls of length @ns that end are counted, or -1: they are counted
 * in pairs.
 */
int call_weights__class(uint64_t ns);

/* The number of calls of a row, as it is added up. Zeroed: none. */
struct call_count {
	double calls; /* estimate */
	double low;   /* what it is by the bounds of the weights */
	double high;
	double variance;    /* of the estimate, as it is a sample */
	double heaviest;    /* the largest weight */
	double seen;	    /* calls that were seen: there were at least as many */
	double unexplained; /* sum of its threads'; NaN: not known */
	double most;	    /* calls of its threads; INFINITY, NaN: not known */
};

/* Once for each thread that has calls in the row. */
void call_count__add_thread(struct call_count *count, const struct call_weights *weights);
/*
 * Adds @n calls, each of which stands for @weight. 0: none is counted, and there are calls which
 * would be if they had ended in such gaps.
 */
void call_count__add(struct call_count *count, const struct call_weight *weight, uint64_t n);

/* The number of calls, and its confidence interval of 95%. */
struct call_interval {
	double calls;
	double low;    /* at most calls */
	double high;   /* at least calls; INFINITY: not known */
	bool is_bound; /* some are too short to be seen: calls is a lower bound, too */
};

/* @is_bound: as call_count__is_short() says. */
struct call_interval call_count__interval(const struct call_count *count, bool is_bound);

/*
 * Whether short calls are so short that pairs may miss them: less than two pairs long, on average.
 * @looks first looks of pairs saw one, and @ended of these calls had ended at the second look. One
 * of length L is still there then, w later, with probability 1 - w / L.
 */
bool call_count__is_short(uint64_t looks, uint64_t ended);
