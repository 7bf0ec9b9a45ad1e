/* SPDX-License-Identifier: BSD-2-Clause */
/* The status line of a causal run, and its stopping rule. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "recording/causal/causal_profile.h"

struct causal_live {
	const char *profile; /* all runs in it count, earlier ones too */
	bool terminal;	     /* standard error is one: show the status line */
	double width;	  /* stopping rule: the interval's half width (0.03: 3 points); 0: none */
	bool all_targets; /* it must hold for every target, not only the best */
	uint64_t experiments;
	uint64_t next_check; /* CLOCK_MONOTONIC of the next check of the profile */
	bool rule_met;
	bool error_printed;
	char best[160]; /* the best target so far, as text */
};

/*
 * Callbacks of struct causal_config, with @arg a struct causal_live: after each experiment
 * (returns true once the stopping rule is met), and when the run's state changes.
 */
bool causal_live__experiment(void *arg, const struct causal_experiment *experiment,
			     const struct causal_target *target);
void causal_live__state(void *arg, const char *state);

/* Says that the code of @text, a target or point, is not in the command, which may load it later.
 */
void causal_live__awaited(void *arg, const char *text);

/* Says that processes outlive the command; @goes_on: they are profiled until they end. */
void causal_live__outlived(void *arg, bool goes_on);

/* Prints the error @err at once. */
void causal_live__error(void *arg, int err);

/* Erases the status line. */
void causal_live__clear(const struct causal_live *live);
