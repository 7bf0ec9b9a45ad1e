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
struct probe_cost {
	uint64_t ns;
	bool thinned;
};

/* What probes may cost in a step of @step_ns in which the programs ran for @cpu_ns. */
double probe_limit__budget(double percent, uint64_t step_ns, uint64_t cpu_ns);

/*
 * Thins out the functions that cost most, until the others take at most @budget_ns together. True:
 * there is a new one.
 */
bool probe_limit__thin(struct probe_cost *costs, size_t n, double budget_ns);

/*
 * How long the thinned functions are to be without probes, after they had them for @step_ns. They
 * get what others leave of @budget_ns, at least a quarter.
 */
uint64_t probe_limit__pause(const struct probe_cost *costs, size_t n, double budget_ns,
			    uint64_t step_ns);
