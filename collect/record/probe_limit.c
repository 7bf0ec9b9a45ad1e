// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/probe_limit.h"

/* A program that hardly runs is not slowed down by probes that take less of a CPU than this. */
#define NEGLIGIBLE 0.001

double probe_limit__budget(double percent, uint64_t step_ns, uint64_t cpu_ns)
{
	double share = percent / 100 * (double)cpu_ns, least = NEGLIGIBLE * (double)step_ns;

	return share > least ? share : least;
}

static double cost_of(const struct probe_cost *costs, size_t n, bool thinned)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		if (costs[i].thinned == thinned)
			sum += (double)costs[i].ns;
	return sum;
}

static struct probe_cost *most_expensive(struct probe_cost *costs, size_t n)
{
	struct probe_cost *most = NULL;

	for (size_t i = 0; i < n; i++)
		if (!costs[i].thinned && (!most || costs[i].ns > most->ns))
			most = &costs[i];
	return most;
}

bool probe_limit__thin(struct probe_cost *costs, size_t n, double budget_ns)
{
	struct probe_cost *most;
	bool any = false;

	while (cost_of(costs, n, false) > budget_ns && (most = most_expensive(costs, n)))
		most->thinned = any = true;
	return any;
}

uint64_t probe_limit__pause(const struct probe_cost *costs, size_t n, double budget_ns,
			    uint64_t step_ns)
{
	double left = budget_ns - cost_of(costs, n, false), wanted = cost_of(costs, n, true);

	if (left < budget_ns / 4)
		left = budget_ns / 4;
	return wanted <= left ? 0 : (uint64_t)((wanted / left - 1) * (double)step_ns);
}
