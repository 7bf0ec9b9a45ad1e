/* SPDX-License-Identifier: BSD-2-Clause */
/* A causal profile as text, JSON, and in the formats of Coz. */
#pragma once

#include <stdio.h>

#include "analysis/causal/prediction.h"

struct causal_text_options {
	size_t max_curves; /* drawn, of each point; 0: all that say something */
	bool all;	   /* those without effect, and unsure ones, too */
	int width;	   /* of the terminal; 0: 80 */
	bool color;
};

/*
 * A verdict of a few sentences first, then the curves by rank; throughput and latency
 * points apart; then what hampered it.
 */
int causal_text__print(const struct causal_effects *effects,
		       const struct causal_text_options *options, FILE *to);

int causal_json__print(const struct causal_effects *effects, FILE *to);

/*
 * Coz's profile formats, tab-separated (coz before 0.2.3) and JSON lines, for its viewer.
 * Each half is an experiment; base halves have a speedup of 0.
 */
int causal_coz__print(const struct causal_profile *profile, FILE *to);
int causal_coz__print_jsonl(const struct causal_profile *profile, FILE *to);
