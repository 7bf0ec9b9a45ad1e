/* SPDX-License-Identifier: BSD-2-Clause */
/* Labels of curves and progress points, and the verdict in sentences. */
#pragma once

#include <stddef.h>

#include "analysis/causal/prediction.h"

#define CAUSAL_LABEL_SIZE 2048

/* "DBImpl::Get", "env.cc:120 (PosixRead)", with --also "f, once g=50% is done". */
void causal_label__curve(const struct causal_profile *profile, const struct causal_curve *curve,
			 char *text, size_t size);

/* "Throughput at iteration", "Latency of request" ... */
void causal_label__point(const struct causal_point *point, char *text, size_t size);

/* "f", with --also "f, once g=50% is done", and unless @refusal is of all points, "at request". */
void causal_label__refusal(const struct causal_profile *profile,
			   const struct causal_refusal *refusal, char *text, size_t size);

/* The throughput factor of a program speedup: 2 for 0.5; 0 when it is unbounded. */
double causal_label__throughput_factor(double program_speedup);

/* An estimate on a curve: the program speedup at a speedup of the target, with 95% confidence. */
struct causal_quote {
	double speedup;
	double value, low, high;
};

/*
 * The estimate for @curve, which has results, that reports state: its plateau, its effect at 100%
 * if it is contention, else its largest gain. With too few results for a fit it is the measured
 * one, if the curve is sure.
 */
struct causal_quote causal_verdict__quote(const struct causal_curve *curve);

/*
 * Calls @each with each sentence of the verdict: the best target of each progress point,
 * contention, or why there is no result.
 */
void causal_verdict__sentences(const struct causal_effects *effects,
			       void (*each)(void *context, const char *text), void *context);
