// SPDX-License-Identifier: BSD-2-Clause
/* Which functions are thinned out, and for how long, against costs that are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "collect/record/probe_limit.h"

#define MS 1000000ULL
#define US 1000ULL

/* After one step in which all probes were set. */
static uint64_t pause_after(const struct function_cost *costs, size_t n)
{
	struct probe_means means = {};

	probe_means__add(&means, costs, n, 10.0 * MS, true);
	return probe_means__pause(&means, 100 * MS);
}

static void cheap_probes_stay(void **state)
{
	struct function_cost costs[] = {{.ns = 4 * MS}, {.ns = 5 * MS}};

	assert_false(probe_limit__thin(costs, 2, 10.0 * MS));
	assert_int_equal(pause_after(costs, 2), 0);
}

static void the_most_expensive_are_thinned_out(void **state)
{
	struct function_cost costs[] = {
		{.ns = 4 * MS}, {.ns = 50 * MS}, {.ns = 3 * MS}, {.ns = 30 * MS}};

	assert_true(probe_limit__thin(costs, 4, 10.0 * MS));
	assert_false(costs[0].thinned);
	assert_true(costs[1].thinned);
	assert_false(costs[2].thinned);
	assert_true(costs[3].thinned);
	assert_false(probe_limit__thin(costs, 4, 10.0 * MS)); /* again: nothing new */
}

/* Over a step and the pause after it, all probes together cost what they may. */
static void pauses_keep_to_the_budget(void **state)
{
	static const uint64_t thinned[] = {11, 30, 100, 900};

	for (size_t i = 0; i < sizeof(thinned) / sizeof(*thinned); i++) {
		struct function_cost costs[] = {{.ns = 2 * MS},
						{.ns = thinned[i] * MS, .thinned = true}};
		uint64_t pause = pause_after(costs, 2);
		double steps = (double)(100 * MS + pause) / (100.0 * MS);
		double cost = 2.0 * MS + (double)(thinned[i] * MS) / steps; /* in a step */

		assert_true(cost > 9.99 * MS && cost < 10.01 * MS);
	}
}

/* What others use up leaves those that are thinned out a quarter. */
static void thinned_ones_are_not_starved(void **state)
{
	struct function_cost costs[] = {{.ns = 10 * MS}, {.ns = 20 * MS, .thinned = true}};

	assert_int_equal(pause_after(costs, 2), 700 * MS);
}

/* Steps in which the programs wait, and those without probes, do not change what a busy one costs.
 */
static void pauses_do_not_depend_on_the_last_step(void **state)
{
	struct function_cost busy = {.ns = 60 * MS, .thinned = true};
	struct function_cost idle = {.ns = 0, .thinned = true};
	struct probe_means means = {};

	probe_means__add(&means, &busy, 1, 10.0 * MS, true);
	assert_int_equal(probe_means__pause(&means, 100 * MS), 500 * MS);
	probe_means__add(&means, &idle, 1, 10.0 * MS, false);
	assert_int_equal(probe_means__pause(&means, 100 * MS), 500 * MS);
	probe_means__add(&means, &idle, 1, 10.0 * MS, true);
	assert_int_equal(probe_means__pause(&means, 100 * MS), 200 * MS);
	probe_means__add_change(&means, &busy, 1);
	assert_int_equal(probe_means__pause(&means, 100 * MS), 500 * MS);
}

static void programs_that_hardly_run_are_not_limited(void **state)
{
	assert_true(probe_limit__budget(10, 100 * MS, 50 * US) == 100.0 * US);
	assert_true(probe_limit__budget(10, 100 * MS, 100 * MS) == 10.0 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cheap_probes_stay),
		cmocka_unit_test(the_most_expensive_are_thinned_out),
		cmocka_unit_test(pauses_keep_to_the_budget),
		cmocka_unit_test(thinned_ones_are_not_starved),
		cmocka_unit_test(pauses_do_not_depend_on_the_last_step),
		cmocka_unit_test(programs_that_hardly_run_are_not_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
