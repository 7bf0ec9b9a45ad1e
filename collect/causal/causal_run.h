/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A causal profiling run: the command in virtual time, experiment after experiment, written
 * to a profile. Coz, SOSP'15, sections 2 and 3.2; Blocked Samples, OSDI'24, 3.3.
 *
 * An experiment has two halves in random order, one directly after the other: one with the
 * virtual speedup and one without. Disturbances by the machine are in both.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "abi/delay_area.h"
#include "abi/kind_steps.h"
#include "recording/causal/causal_profile.h"

#define CAUSAL_SETTLE UINT64_MAX

/* Texts of the command line. */
struct causal_texts {
	ARRAY(const char *) texts;
};

/* Finer kinds of waiting, for --class: analysis/kinds/kind_target.h, in a layer above. */
struct causal_kinds {
	bool (*find)(const char *name, struct kind_set *kinds);
	char *(*names)(void);
	const char *(*function)(size_t index, struct kind_clue *clue);
	uint8_t (*of_call)(int nr);
};

struct causal_config {
	char *const *argv;
	const char *user; /* whom the command runs as; NULL: as dwell itself */
	sigset_t ignored; /* signals the command is to ignore */
	const char *command_line;
	const char *output;   /* the profile, appended to */
	uint64_t period_ns;   /* of sampling */
	uint64_t duration_ns; /* of the run; 0: until the command ends */
	size_t table_bytes;   /* of unwind tables */

	struct causal_texts sources;  /* scope: patterns of source files; none: see code.h */
	struct causal_texts without;  /* patterns of source files that are not in it */
	struct causal_texts binaries; /* patterns of programs and libraries; none: programs */
	bool functions;		      /* random targets are functions, not lines */

	struct causal_texts targets; /* "FILE:LINE", "FUNCTION", "... called from FUNCTION" */
	struct causal_texts classes; /* "io", "sched", "other", "cpu"; kinds: "disk read" ... */
	const struct causal_kinds *kinds;
	struct causal_texts also; /* "TARGET=SPEEDUP": in both halves */
	ARRAY(double) speedups;	  /* to choose from, 0 to 1; none: 5 % to 100 % */

	struct causal_texts progress;	   /* "FILE:LINE", "FUNCTION", "usdt:PROVIDER:NAME" */
	bool breakpoints;		   /* visits of those are counted by breakpoints */
	struct causal_texts progress_seen; /* the same, sampled */
	bool end_to_end;

	uint64_t half_ns;    /* of an experiment at first */
	uint64_t min_visits; /* fewer in a half, and experiments get longer */
	uint64_t warm_up_ns; /* before each half, with its speedup */
	bool fixed_length;   /* they do not */
	uint32_t signal;     /* by which threads are paused; 0: see virtual_time.h */
	uint64_t settle_ns;  /* see virtual_time.h; CAUSAL_SETTLE: as suits the target */
	uint64_t seed;	     /* of random choices */

	volatile sig_atomic_t *to_forward; /* a signal for the command; 0: none */

	/*
	 * Called after each experiment with the points and targets so far; true ends the run.
	 * @experiment is valid during the call.
	 */
	bool (*on_experiment)(void *arg, const struct causal_experiment *experiment,
			      const struct causal_target *target);
	/* Called a few times a second while there is no result to report. */
	void (*on_turn)(void *arg, const char *state);
	/* Called when the run has failed, before the command, which goes on, is waited for. */
	void (*on_error)(void *arg, int err);
	void *arg;
};

struct causal_run_result {
	int status;	/* wait status of the command, -1 it did not start */
	int exec_error; /* its errno then */
	uint64_t experiments;
	uint64_t runtime_ns;
	uint64_t delay_ns;
};

/*
 * Runs it. @stop as in capture__run(). 0, or a negative errno with error__set() done;
 * finished experiments are in the profile in any case. -EINVAL also when a target or a
 * progress point that was asked for does not exist in anything the command has mapped.
 */
int causal__run(const struct causal_config *config, const volatile sig_atomic_t *stop,
		struct causal_run_result *result);
