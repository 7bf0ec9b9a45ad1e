// SPDX-License-Identifier: BSD-2-Clause
#include "collect/clocks/tick_costs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CLASSES	   33  /* of work: 0, then by its highest bit */
#define LATEST	   256 /* ticks of a class that its typical cost is made from */
#define MIN_LATEST 16
#define IN_WINDOW  64 /* ticks of a CPU between two calls of tick_costs__take(), the latest ones */

/* The latest ticks of a class. */
struct work_class {
	uint64_t ns[LATEST]; /* tick i at i % LATEST */
	size_t ticks;	     /* so far */
	uint64_t typical;    /* cost; 0: unknown */
	bool is_new;	     /* there are ticks since that was computed */
};

struct window {
	struct {
		uint64_t ns;
		unsigned int class;
	} ticks[IN_WINDOW]; /* tick i at i % IN_WINDOW */
	size_t n;
};

struct tick_costs {
	struct work_class classes[CLASSES];
	size_t cpus;
	struct window windows[];
};

int tick_costs__new(size_t cpus, struct tick_costs **out)
{
	struct tick_costs *costs = calloc(1, sizeof(*costs) + cpus * sizeof(costs->windows[0]));

	if (!costs)
		return -ENOMEM;
	costs->cpus = cpus;
	*out = costs;
	return 0;
}

void tick_costs__add(struct tick_costs *costs, size_t cpu, uint64_t ns, uint32_t work)
{
	unsigned int number = work ? 32 - (unsigned int)__builtin_clz(work) : 0;
	struct work_class *class = &costs->classes[number];
	struct window *window = &costs->windows[cpu];

	class->ns[class->ticks++ % LATEST] = ns;
	class->is_new = true;
	window->ticks[window->n % IN_WINDOW].ns = ns;
	window->ticks[window->n++ % IN_WINDOW].class = number;
}

static int ns_order(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;

	return (one > two) - (one < two);
}

static void find_typical_cost(struct work_class *class)
{
	size_t n = class->ticks < LATEST ? class->ticks : LATEST;
	uint64_t sorted[LATEST];

	if (!class->is_new || n < MIN_LATEST)
		return;
	memcpy(sorted, class->ns, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), ns_order);
	class->typical = sorted[n / 2];
	class->is_new = false;
}

/* The mean cost of the ticks in @window; 0: unknown. */
static uint64_t mean_cost(const struct tick_costs *costs, const struct window *window)
{
	size_t ticks = window->n < IN_WINDOW ? window->n : IN_WINDOW, known = 0;
	uint64_t sum = 0;

	for (size_t i = 0; i < ticks; i++) {
		uint64_t typical = costs->classes[window->ticks[i].class].typical;
		uint64_t most = typical * TICK_COST_CAP, ns = window->ticks[i].ns;

		known += typical != 0;
		sum += ns < most ? ns : most;
	}
	return known ? sum / known : 0;
}

uint64_t tick_costs__take(struct tick_costs *costs)
{
	uint64_t highest = 0;
	size_t most = 0;

	for (size_t i = 0; i < CLASSES; i++)
		find_typical_cost(&costs->classes[i]);
	for (size_t i = 0; i < costs->cpus; i++)
		if (costs->windows[i].n > most)
			most = costs->windows[i].n;
	for (size_t i = 0; i < costs->cpus; i++) {
		struct window *window = &costs->windows[i];
		uint64_t mean = window->n && window->n >= most / 8 ? mean_cost(costs, window) : 0;

		if (mean > highest)
			highest = mean;
		window->n = 0;
	}
	return highest;
}

void tick_costs__free(struct tick_costs *costs)
{
	free(costs);
}
