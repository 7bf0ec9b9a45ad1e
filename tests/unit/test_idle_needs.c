// SPDX-License-Identifier: BSD-2-Clause
/* Waits of threads that others wait for, beside a plain version of the rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/kinds/idle.h"
#include "analysis/kinds/idle_needs.h"
#include "tests/unit/dice.h"

#define THREADS	  9 /* [0] stands for none */
#define INTERVALS 60

enum { SITE_WAIT = 1, SITE_JOIN = 2, SITE_SURE = 3, SITES = 4 };

/* Threads that wait at random, some of the waits idle. */
struct made {
	struct model model;
	struct wait_sites sites;
	struct site_judgement judgements[SITES];
	struct model_thread threads[THREADS];
	struct wait_site of_kind[SITES];
	struct model_interval intervals[THREADS][INTERVALS];
	struct site_wait waits[THREADS][INTERVALS];
	struct site_wait *by_thread[THREADS];
	uint8_t reasons[THREADS][INTERVALS];
	uint8_t *reasons_by_thread[THREADS];
	uint8_t expected[THREADS][INTERVALS];
};

static void make_waits(struct made *made, struct dice *dice, uint32_t thread)
{
	uint64_t time = 1000 + dice__roll(dice) % 100;

	for (size_t i = 0; i < INTERVALS; i++) {
		struct model_interval *interval = &made->intervals[thread][i];
		uint32_t waker = (uint32_t)(dice__roll(dice) % THREADS);

		*interval = (struct model_interval){.t_out = time,
						    .blocked_ns = 1 + dice__roll(dice) % 100};
		made->waits[thread][i] = (struct site_wait){
			.site = SITE_WAIT + (uint32_t)(dice__roll(dice) % SITE_SURE),
			.waker = waker == thread ? 0 : waker,
		};
		made->reasons[thread][i] = (uint8_t[]){IDLE_NOT, IDLE_NOT, IDLE_QUEUE,
						       IDLE_INTERVALS}[dice__roll(dice) % 4];
		time += interval->blocked_ns + dice__roll(dice) % 40;
	}
}

static void make(struct made *made, uint64_t seed)
{
	struct dice dice = {.state = seed};

	*made = (struct made){};
	for (uint32_t t = 1; t < THREADS; t++) {
		make_waits(made, &dice, t);
		made->threads[t].intervals.data = made->intervals[t];
		made->threads[t].intervals.n = INTERVALS;
	}
	for (uint32_t t = 0; t < THREADS; t++) {
		made->by_thread[t] = made->waits[t];
		made->reasons_by_thread[t] = made->reasons[t];
	}
	made->model.threads.data = made->threads;
	made->model.threads.n = THREADS;
	made->of_kind[SITE_JOIN].call = WAIT_CALL_JOIN;
	made->judgements[SITE_SURE].is_sure = true;
	made->sites.model = &made->model;
	made->sites.sites.data = made->of_kind;
	made->sites.sites.n = SITES;
	made->sites.waits = made->by_thread;
	memcpy(made->expected, made->reasons, sizeof(made->expected));
}

static uint64_t end_of(const struct model_interval *interval)
{
	return interval->t_out + interval->blocked_ns;
}

/* Whether wait @k of @waiter, which is not idle, is for @thread for half of its wait @i. */
static bool is_need(const struct made *made, uint32_t thread, size_t i, uint32_t waiter, size_t k)
{
	const struct model_interval *idle = &made->intervals[thread][i];
	const struct model_interval *need = &made->intervals[waiter][k];
	uint64_t from = need->t_out > idle->t_out ? need->t_out : idle->t_out;

	if (made->expected[waiter][k] || made->waits[waiter][k].waker != thread ||
	    (made->waits[waiter][k].site == SITE_JOIN &&
	     made->expected[thread][i] != IDLE_INTERVALS))
		return false;
	return end_of(need) >= end_of(idle) && from < end_of(idle) &&
	       (end_of(idle) - from) * 2 >= idle->blocked_ns;
}

static bool is_needed(const struct made *made, uint32_t thread, size_t i)
{
	if (made->waits[thread][i].site == SITE_SURE)
		return false;
	for (uint32_t waiter = 1; waiter < THREADS; waiter++)
		for (size_t k = 0; k < INTERVALS; k++)
			if (is_need(made, thread, i, waiter, k))
				return true;
	return false;
}

/* Sets @made->expected by looking at all pairs of waits until nothing changes. */
static void apply_plainly(struct made *made)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t t = 1; t < THREADS; t++)
			for (size_t i = 0; i < INTERVALS; i++) {
				if (!made->expected[t][i] || !is_needed(made, t, i))
					continue;
				made->expected[t][i] = IDLE_NOT;
				changed = true;
			}
	}
}

static void random_waits(void **state)
{
	struct made *made = malloc(sizeof(*made));
	size_t before = 0, idle = 0;

	assert_non_null(made);
	for (uint64_t seed = 0; seed < 200; seed++) {
		make(made, seed);
		for (uint32_t t = 1; t < THREADS; t++)
			for (size_t i = 0; i < INTERVALS; i++)
				before += made->reasons[t][i] != IDLE_NOT;
		apply_plainly(made);
		assert_int_equal(
			idle_needs__apply(&made->sites, made->judgements, made->reasons_by_thread),
			0);
		assert_memory_equal(made->reasons, made->expected, sizeof(made->reasons));
		for (uint32_t t = 1; t < THREADS; t++)
			for (size_t i = 0; i < INTERVALS; i++)
				idle += made->reasons[t][i] != IDLE_NOT;
	}
	/* Many are needed, and many are not. */
	assert_true(idle > 1000 && before - idle > 1000);
	free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(random_waits)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
