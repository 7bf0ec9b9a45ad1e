/* SPDX-License-Identifier: BSD-2-Clause */
/* What the curves of a causal profile mean, in words. */
#pragma once

#include <stddef.h>

#include "analysis/causal/prediction.h"

#define CAUSAL_WORDS 2048

/* "DBImpl::Get", "env.cc:120 (PosixRead)", "io waits, called from f". */
void causal_words__target(const struct causal_profile *profile, uint32_t index, char *text,
			  size_t size);

/* The same with what else is sped up: "f, once g=50% is done". */
void causal_words__curve(const struct causal_profile *profile, const struct causal_curve *curve,
			 char *text, size_t size);

/* "Throughput at iteration", "Latency of request" ... */
void causal_words__point(const struct causal_point *point, char *text, size_t size);

/* How many times the throughput a program speedup is: 0.5 is 2; 0 when it is without bounds. */
double causal_words__times(double program_speedup);

/*
 * The verdict, sentence by sentence: the best of each point, what gets in the way, or why
 * there is nothing to say.
 */
void causal_words__verdict(const struct causal_effects *effects,
			   void (*each)(void *context, const char *text), void *context);
