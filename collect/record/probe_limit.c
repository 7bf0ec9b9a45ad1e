// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/probe_limit.h"

/* A program that hardly runs is not slowed down by probes that take less of a CPU than this. */
#define NEGLIGIBLE 0.001

double probe_limit__budget(double percent, uint64_t step_ns, uint64_t cpu_ns)
{
	double share = percent / 100 * (double)cpu_ns, least = NEGLIGIBLE * (double)step_ns;

	return share > least ? share : least;
}

static double cost_of(const struct function_cost *costs, size_t n, bool thinned)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		if (costs[i].thinned == thinned)
			sum += (double)costs[i].ns;
	return sum;
}

static struct function_cost *most_expensive(struct function_cost *costs, size_t n)
{
	struct function_cost *most = NULL;

	for (size_t i = 0; i < n; i++)
		if (!costs[i].thinned && (!most || costs[i].ns > most->ns))
			most = &costs[i];
	return most;
}

bool probe_limit__thin(struct function_cost *costs, size_t n, double budget_ns)
{
	struct function_cost *most;
	bool any = false;

	while (cost_of(costs, n, false) > budget_ns && (most = most_expensive(costs, n)))
		most->thinned = any = true;
	return any;
}

void probe_means__add(struct probe_means *means, const struct function_cost *costs, size_t n,
		      double budget_ns, bool set)
{
	double left = budget_ns - cost_of(costs, n, false);

	means->left_ns += left < budget_ns / 4 ? budget_ns / 4 : left;
	means->steps++;
	means->wanted_ns += cost_of(costs, n, true);
	means->set_steps += set;
}

void probe_means__add_change(struct probe_means *means, const struct function_cost *costs, size_t n)
{
	means->wanted_ns += cost_of(costs, n, true);
}

uint64_t probe_means__pause(const struct probe_means *means, uint64_t step_ns)
{
	double left, wanted;

	if (!means->steps || !means->set_steps)
		return 0;
	left = means->left_ns / (double)means->steps;
	wanted = means->wanted_ns / (double)means->set_steps;
	return wanted <= left ? 0 : (uint64_t)((wanted / left - 1) * (double)step_ns);
}
