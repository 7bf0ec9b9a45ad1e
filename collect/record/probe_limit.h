/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits what probes at functions cost. Functions that cost too much are thinned out: their probes
 * are set for a while, then not for a while, and each call counts for those that were missed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the probes of a function cost in a step. */
struct function_cost {
	uint64_t ns;
	bool thinned;
};

/* What probes may cost in a step of @step_ns in which the programs ran for @cpu_ns. */
double probe_limit__budget(double percent, uint64_t step_ns, uint64_t cpu_ns);

/*
 * Thins out the functions that cost most, until the others take at most @budget_ns together. True:
 * there is a new one.
 */
bool probe_limit__thin(struct function_cost *costs, size_t n, double budget_ns);

/*
 * Means of all steps since the last function was thinned out. What a single step costs must not
 * decide how long the pause after it is: probes would mostly be set while the programs wait, and
 * those waits be counted for all of the time.
 */
struct probe_means {
	double left_ns; /* for thinned functions, of all steps: what others leave, at least a
			   quarter */
	uint64_t steps;
	double wanted_ns; /* by thinned functions, of the steps in which they were set */
	uint64_t set_steps;
};

/* Adds a step. @set: the thinned functions had their probes, and this is not only the rest of it.
 */
void probe_means__add(struct probe_means *means, const struct function_cost *costs, size_t n,
		      double budget_ns, bool set);

/* Adds what thinned functions cost while their probes were being set or removed. */
void probe_means__add_change(struct probe_means *means, const struct function_cost *costs,
			     size_t n);

/* How long the thinned functions are to be without probes, after they had them for @step_ns. */
uint64_t probe_means__pause(const struct probe_means *means, uint64_t step_ns);
