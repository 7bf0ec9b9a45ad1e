// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/latency/call_count.h"

#include <math.h>

/* Two-sided, of a standard normal variable; and of a count of which 0 were seen. */
#define Z_95	1.959964
#define NONE_95 3.688879

/*
 * Weights that the number of pushes exceeds by more than this are right, and calls are missing.
 * Below it, the looks have delayed ends (docs/call-latency.md has measurements).
 */
#define MOST_DELAYED 1.3
/* The error of weights if nothing tells how many calls there were. */
#define LEAST_SHARE 0.8
#define MOST_SHARE  1.25
/* The least error of weights that were compared with pushes: functions differ a little. */
#define LEAST_ERROR 0.03

/* The number of calls of a thread, by generations; NaN: they were counted for too little of it. */
static double all_calls(const struct model_coverage *coverage)
{
	if (!coverage->pushes || !coverage->pushes_ns || coverage->pushes_ns < coverage->ns / 4)
		return NAN;
	return (double)coverage->pushes * (double)coverage->ns / (double)coverage->pushes_ns;
}

/* Part of the run time in which generations have to count calls, for their number to be exact. */
#define COUNTED_SHARE 0.98

static bool is_counted(const struct model_coverage *coverage)
{
	return (double)coverage->pushes_ns >= COUNTED_SHARE * (double)coverage->ns;
}

int call_weights__class(uint64_t ns)
{
	int class = -1;

	while (class + 2 < SCAN_GAPS && 2 * scan_gap__limit((unsigned)class + 1) <= ns)
		class ++;
	return class;
}

/*
 * The share of run time without long gaps, and without what was before the first look or after the
 * last one. If the program did nothing in these (while interrupts took both CPUs), weights are too
 * large by so much; if it did most of its work in them (because it took the CPU of the thread that
 * looks), too small.
 */
static double looked_share(const struct model_coverage *coverage)
{
	uint64_t ns = 0, looked = 0;

	for (unsigned class = 0; class < SCAN_GAPS; class ++) {
		ns += coverage->gap_ns[class];
		looked += class < SCAN_GAP_UNLOOKED ? coverage->gap_ns[class] : 0;
	}
	ns = ns < coverage->ns ? coverage->ns : ns;
	return ns ? (double)looked / (double)ns : 1;
}

/*
 * That of calls which are counted in gaps, when those in pairs need @factor. Ends that a look has
 * delayed are beyond the pair, but not beyond such a gap: what was not looked at may be the rest of
 * it.
 */
static double factor_in_gaps(const struct model_coverage *coverage, double factor)
{
	return factor > 1 ? 1 + (factor - 1) * (1 - looked_share(coverage)) : factor;
}

/* What each call stands for by the share of time, and all calls together. */
static double weigh_by_time(const struct model_coverage *coverage,
			    const struct counted_calls *counted, double factor,
			    struct call_weights *weights)
{
	double sum =
		coverage->pair_ns ? factor * (double)coverage->ns / (double)coverage->pair_ns : 0;
	double in_gaps = factor_in_gaps(coverage, factor);
	uint64_t below = 0, ns = 0;

	weights->in_pairs.weight = sum > 0 ? fmax(1, sum) : 0;
	sum = weights->in_pairs.weight * (double)counted->in_pairs;
	for (unsigned class = 0; class < SCAN_GAPS; class ++)
		ns += coverage->gap_ns[class];
	ns = ns < coverage->ns ? coverage->ns : ns;
	for (unsigned class = 0; class < SCAN_GAPS; class ++) {
		struct call_weight *weight = &weights->by_class[class];

		below += coverage->gap_ns[class];
		weight->weight = below ? fmax(1, in_gaps * (double)ns / (double)below) : !ns;
		sum += weight->weight * (double)counted->by_class[class];
	}
	return sum;
}

/* The factor of the weights by which they stand for @calls, at most 1 + what delays explain. */
static double find_factor(const struct model_coverage *coverage,
			  const struct counted_calls *counted, double calls,
			  struct call_weights *weights)
{
	double low = 0, high = MOST_DELAYED;

	if (weigh_by_time(coverage, counted, high, weights) < calls)
		return 1;
	for (int i = 0; i < 50; i++) {
		double middle = (low + high) / 2;

		if (weigh_by_time(coverage, counted, middle, weights) < calls)
			low = middle;
		else
			high = middle;
	}
	return high;
}

static void set_bounds(struct call_weight *weight, double least, double most)
{
	weight->low = fmin(weight->weight, fmax(1, weight->weight * least));
	weight->high = weight->weight > 1 ? weight->weight * most : weight->weight;
}

struct call_weights call_weights__make(const struct model_coverage *coverage,
				       const struct model_coverage *all,
				       const struct counted_calls *counted)
{
	const struct model_coverage *of = coverage->ns ? coverage : all;
	double calls = coverage->ns ? all_calls(coverage) : NAN;
	double looked = looked_share(of);
	double least = LEAST_SHARE * looked, most = looked > 0 ? MOST_SHARE / looked : INFINITY;
	double n = (double)counted->in_pairs;
	struct call_weights weights = {
		.all = calls,
		.most = isnan(calls) || is_counted(of) ? calls : INFINITY,
		.unexplained = NAN,
	};
	double factor = 1;

	for (int i = 0; i < SCAN_GAPS; i++)
		n += (double)counted->by_class[i];
	if (!isnan(calls) && n > 0) {
		double error;

		weights.unexplained = calls - weigh_by_time(of, counted, 1, &weights);
		factor = find_factor(of, counted, calls, &weights);
		error = fmax(LEAST_ERROR, fmax(fabs(factor - 1) / 2, (1 - looked) / 4));
		error += Z_95 / sqrt(n);
		if (weights.unexplained <= 0 || factor != 1) {
			least = fmax(0, 1 - error);
			most = 1 + error;
		}
		weights.unexplained = fmax(0, weights.unexplained);
	}
	weigh_by_time(of, counted, factor, &weights);
	set_bounds(&weights.in_pairs, least, most);
	for (int i = 0; i < SCAN_GAPS; i++)
		set_bounds(&weights.by_class[i], least, most);
	return weights;
}

void call_count__add_thread(struct call_count *count, const struct call_weights *weights)
{
	count->unexplained += weights->unexplained;
	count->most += weights->most;
}

void call_count__add(struct call_count *count, const struct call_weight *weight, uint64_t n)
{
	double calls = (double)n * weight->weight;

	count->calls += calls;
	count->low += (double)n * weight->low;
	count->high += (double)n * weight->high;
	count->variance += calls * fmax(0, weight->weight - 1);
	/* There was no such gap: nothing is known of such calls. */
	count->heaviest = fmax(count->heaviest, weight->weight > 0 ? weight->weight : INFINITY);
}

/*
 * The bounds of the mean of a Poisson variable of which @n was drawn (Garwood's, by Wilson and
 * Hilferty's approximation). 95%.
 */
static double poisson_low(double n)
{
	double root = 1 - 1 / (9 * n) - Z_95 / (3 * sqrt(n));

	return n > 0 && root > 0 ? n * root * root * root : 0;
}

static double poisson_high(double n)
{
	double root = 1 - 1 / (9 * (n + 1)) + Z_95 / (3 * sqrt(n + 1));

	return n > 0 ? (n + 1) * root * root * root : NONE_95;
}

struct call_interval call_count__interval(const struct call_count *count, bool is_bound)
{
	double calls = count->calls, weight = calls > 0 ? 1 + count->variance / calls : 1;
	/* A part of all is drawn: the more, the smaller the error. */
	double finite = sqrt(fmax(0, 1 - 1 / weight)), n = calls / weight;
	struct call_interval found = {.calls = fmax(calls, count->seen), .is_bound = is_bound};

	if (calls > 0) {
		found.low =
			(calls - (calls - weight * poisson_low(n)) * finite) * count->low / calls;
		found.high =
			(calls + (weight * poisson_high(n) - calls) * finite) * count->high / calls;
	}
	/* None may have been counted of those that count most. */
	if (count->heaviest > 1)
		found.high = fmax(found.high, calls + NONE_95 * count->heaviest);
	found.low = fmin(fmax(found.low, count->seen), found.calls);
	if (!isnan(count->most))
		found.high = fmin(found.high, count->most);
	found.high = fmax(found.high, found.calls);
	if (is_bound)
		found.high = isnan(count->unexplained)
				     ? INFINITY
				     : fmax(found.high, found.calls + count->unexplained);
	return found;
}

bool call_count__is_short(uint64_t looks, uint64_t ended)
{
	return ended > looks / 2;
}
