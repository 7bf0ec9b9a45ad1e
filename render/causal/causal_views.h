/* SPDX-License-Identifier: BSD-2-Clause */
/* Output of a causal profile: text, JSON, and Coz's formats. */
#pragma once

#include <stdio.h>

#include "analysis/causal/prediction.h"

struct causal_text_options {
	size_t max_curves; /* drawn for each point; 0: all */
	bool all;	   /* also draw unsure curves and those without effect */
	int width;	   /* of the terminal; 0: 80 */
	bool color;
};

/*
 * Prints a verdict of a few sentences, the curves of each progress point by rank, and
 * diagnostics. Returns 0 or -ENOMEM, as the functions below.
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
