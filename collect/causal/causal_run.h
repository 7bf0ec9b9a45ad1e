/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A causal profiling run: runs the command in virtual time, makes experiments, and writes them
 * to a profile. Coz, SOSP'15, sections 2 and 3.2; Blocked Samples, OSDI'24, 3.3.
 *
 * An experiment has two consecutive halves in random order, one with the virtual speedup and one
 * without, so that other load of the machine affects both.
 */
#pragma once

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "abi/delay_area.h"
#include "recording/causal/causal_profile.h"

#define CAUSAL_SETTLE_AUTO UINT64_MAX

/* Arguments of an option that can be given several times. */
struct causal_texts {
	ARRAY(const char *) texts;
};

struct causal_config {
	char *const *argv;
	const char *user; /* whom the command runs as; NULL: as dwell itself */
	sigset_t ignored; /* signals the command is to ignore */
	const char *command_line;
	const char *output;   /* path of the profile, which is appended to */
	uint64_t period_ns;   /* of sampling */
	uint64_t duration_ns; /* of the run; 0: until the command ends */
	size_t table_bytes;   /* of unwind tables */

	struct causal_texts sources;  /* scope: patterns of source files; none: see code.h */
	struct causal_texts without;  /* patterns of source files excluded from scope */
	struct causal_texts binaries; /* patterns of programs and libraries; none: programs */
	bool functions;		      /* random targets are functions, not lines */

	struct causal_texts targets; /* "FILE:LINE", "FUNCTION", "... called from FUNCTION" */
	struct causal_texts classes; /* "io", "sched", "other", "cpu"; kinds: "disk read" ... */
	struct causal_texts also;    /* "TARGET=SPEEDUP": in both halves */
	ARRAY(double) speedups;	     /* to choose from, 0 to 1; none: 5 % to 100 % */

	struct causal_texts progress;	      /* "FILE:LINE", "FUNCTION", "usdt:PROVIDER:NAME" */
	bool breakpoints;		      /* count their visits by breakpoints, not uprobes */
	struct causal_texts progress_sampled; /* the same, sampled */
	bool end_to_end;

	uint64_t half_ns; /* see experiment.h */
	uint64_t min_visits;
	uint64_t warm_up_ns;
	bool fixed_length;
	uint32_t signal;    /* pauses threads; 0: see virtual_time.h */
	uint64_t settle_ns; /* see virtual_time.h; CAUSAL_SETTLE_AUTO: depends on the target */
	uint64_t seed;	    /* of random choices */

	atomic_uint *to_forward; /* see capture_config */

	/*
	 * Called after each experiment with the points and targets so far; true ends the run.
	 * @experiment is valid during the call.
	 */
	bool (*on_experiment)(void *arg, const struct causal_experiment *experiment,
			      const struct causal_target *target);
	/* Called a few times a second while no experiment can begin; @state says why. */
	void (*on_idle)(void *arg, const char *state);
	/*
	 * Called before the command starts, if the code of a target or point is not in it: it may
	 * load or run other code, which is waited for.
	 */
	void (*on_awaited)(void *arg, const char *text);
	/*
	 * Called when the command has ended, but not processes that it started: @goes_on says
	 * whether they are profiled until they end, or dwell is stopped.
	 */
	void (*on_outlived)(void *arg, bool goes_on);
	/* Called when the run has failed, before waiting for the command, which continues. */
	void (*on_error)(void *arg, int err);
	void *arg;
};

struct causal_run_result {
	int status;	/* wait status of the command; -1: it did not start */
	int exec_error; /* errno of its start then */
	uint64_t experiments;
	uint64_t runtime_ns;
	uint64_t delay_ns;
};

/*
 * Runs the command. @stop: see capture__run(). 0, or a negative errno with error__set(); finished
 * experiments are in the profile in any case. -EINVAL also when a target or a
 * progress point that was requested does not exist in anything the command has mapped.
 */
int causal__run(const struct causal_config *config, const volatile sig_atomic_t *stop,
		struct causal_run_result *result);
