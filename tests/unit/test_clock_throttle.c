// SPDX-License-Identifier: BSD-2-Clause
/* The clocks' share of a CPU, against ticks whose costs are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "abi/grid.h"
#include "collect/clocks/clock_jitter.h"
#include "collect/clocks/clock_throttle.h"

#define US   1000ULL
#define MS   1000000ULL
#define CPUS 2

struct machine {
	struct clock_throttle *throttle;
	uint64_t period;
	uint64_t now;
	uint64_t next[CPUS]; /* tick */
};

static void start(struct machine *machine, uint64_t period)
{
	*machine = (struct machine){.period = period, .now = 7};
	assert_int_equal(clock_throttle__new(period, CPUS, 0, machine->now, &machine->throttle), 0);
}

/*
 * Runs for @ms, with a look every 30 ms: each tick costs @cost ns on CPU 0 and half of that on
 * CPU 1. Ticks that are not over when the next one is due delay it. Returns the shift.
 */
static unsigned int run(struct machine *machine, uint64_t ms, uint64_t cost)
{
	for (uint64_t end = machine->now + ms * MS; machine->now < end;) {
		machine->now += 30 * MS;
		for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
			uint64_t apart = machine->period
					 << clock_throttle__shift(machine->throttle);
			uint64_t takes = cost >> cpu;

			for (; machine->next[cpu] <= machine->now;
			     machine->next[cpu] += apart > takes ? apart : takes) {
				clock_throttle__tick(machine->throttle, cpu, takes, 20);
			}
		}
		clock_throttle__step(machine->throttle, machine->now);
	}
	return clock_throttle__shift(machine->throttle);
}

static void cheap_ticks_are_left_alone(void **state)
{
	struct machine machine;
	uint64_t share;

	(void)state;
	start(&machine, MS);
	assert_int_equal(run(&machine, 5000, 100 * US), 0);
	assert_int_equal(clock_throttle__slowest(machine.throttle, &share), 0);
	assert_int_equal(share, 0);
	clock_throttle__free(machine.throttle);
}

/* At most a tenth, and no further apart than that takes. */
static void dear_ticks_take_a_bounded_share(void **state)
{
	static const uint64_t periods[] = {10 * US, 100 * US, MS, 10 * MS};
	static const uint64_t costs[] = {2 * US, 23 * US, 300 * US, 4 * MS, 40 * MS};

	(void)state;
	for (size_t i = 0; i < sizeof(periods) / sizeof(*periods); i++)
		for (size_t j = 0; j < sizeof(costs) / sizeof(*costs); j++) {
			struct machine machine;
			uint64_t apart, share, slowest;

			start(&machine, periods[i]);
			apart = periods[i] << run(&machine, 20000, costs[j]);
			slowest = clock_throttle__slowest(machine.throttle, &share);
			assert_true(costs[j] * 10 <= apart + apart / 100);
			if (apart == periods[i]) {
				assert_int_equal(slowest, 0);
			} else {
				assert_true(costs[j] * 20 > apart);
				assert_int_equal(slowest, apart);
				assert_int_equal(share, costs[j] * 1000 / periods[i]);
			}
			clock_throttle__free(machine.throttle);
		}
}

/* Ticks that took all of a CPU would leave none to the process that slows them down. */
static void ticks_start_as_far_apart_as_they_are_expected_to_need(void **state)
{
	struct machine machine = {.period = 10 * US, .now = 7};
	uint64_t share;

	(void)state;
	assert_int_equal(
		clock_throttle__new(machine.period, CPUS, 15 * US, machine.now, &machine.throttle),
		0);
	assert_int_equal(clock_throttle__shift(machine.throttle), 4);
	assert_int_equal(clock_throttle__slowest(machine.throttle, &share), 160 * US);
	assert_int_equal(share, 1500);
	/* Cheaper than expected: 1 us every 20 us is half of what they may take. */
	assert_int_equal(run(&machine, 5000, US), 1);
	clock_throttle__free(machine.throttle);
}

static void it_comes_back_and_settles(void **state)
{
	struct machine machine;
	unsigned int settled;
	uint64_t share;

	(void)state;
	start(&machine, MS);
	settled = run(&machine, 1000, 900 * US);
	assert_int_equal(settled, 4);
	for (int i = 0; i < 100; i++)
		assert_int_equal(run(&machine, 60, 900 * US), settled);
	assert_int_equal(run(&machine, 5000, 5 * US), 0);
	assert_int_equal(clock_throttle__slowest(machine.throttle, &share), 16 * MS);
	assert_int_equal(share, 900);
	clock_throttle__free(machine.throttle);
}

/* Ticks of a program: a part of them walk a stack of @frames, at @frame_ns each; others none. */
struct stacks {
	unsigned int percent; /* of the ticks */
	uint32_t frames;
	uint64_t frame_ns;
};

static uint32_t draw(uint64_t *random)
{
	*random = *random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*random >> 33);
}

/*
 * Runs for @ms with ticks of @stacks, whose costs vary by half, of which @stolen in a thousand are
 * longer by some time of at most @longest. Returns the largest shift on the way; *@shift is the one
 * at the end.
 */
static unsigned int run_stacks(struct machine *machine, uint64_t ms, const struct stacks *stacks,
			       unsigned int stolen, uint64_t longest, unsigned int *shift)
{
	uint64_t random = longest + stolen;
	unsigned int highest = 0;

	for (uint64_t end = machine->now + ms * MS; machine->now < end;) {
		machine->now += 100 * MS;
		for (unsigned int cpu = 0; cpu < CPUS; cpu++)
			for (; machine->next[cpu] <= machine->now;
			     machine->next[cpu] += machine->period
						   << clock_throttle__shift(machine->throttle)) {
				bool deep = draw(&random) % 100 < stacks->percent;
				uint32_t frames = deep ? stacks->frames : 0;
				uint64_t ns = US + frames * stacks->frame_ns;

				ns += ns * (draw(&random) % 1000) / 2000;
				if (draw(&random) % 1000 < stolen)
					ns += longest >> draw(&random) % 8;
				clock_throttle__tick(machine->throttle, cpu, ns, frames);
			}
		clock_throttle__step(machine->throttle, machine->now);
		*shift = clock_throttle__shift(machine->throttle);
		if (*shift > highest)
			highest = *shift;
	}
	return highest;
}

/* What other guests of the host take from ticks: some or many of them, for a short or long time. */
static void stolen_time_does_not_slow_clocks(void **state)
{
	static const unsigned int stolen[] = {10, 50, 100, 200, 300};
	static const uint64_t longest[] = {10 * US, 50 * US,  300 * US, MS,
					   4 * MS,  100 * MS, 2000 * MS};
	const struct stacks cheap = {80, 50, 800};

	(void)state;
	for (size_t i = 0; i < sizeof(stolen) / sizeof(*stolen); i++)
		for (size_t j = 0; j < sizeof(longest) / sizeof(*longest); j++) {
			struct machine machine;
			unsigned int shift;
			uint64_t share;

			start(&machine, MS);
			assert_int_equal(
				run_stacks(&machine, 60000, &cheap, stolen[i], longest[j], &shift),
				0);
			assert_int_equal(clock_throttle__slowest(machine.throttle, &share), 0);
			clock_throttle__free(machine.throttle);
		}
}

/*
 * Deep stacks in some of the ticks are dear, whether time is stolen from others or not: they take
 * at most a tenth on average, and no further apart than that takes.
 */
static void dear_ticks_among_cheap_ones_are_seen(void **state)
{
	static const unsigned int percent[] = {3, 10, 40, 60, 95};
	static const unsigned int stolen[] = {0, 10, 300};

	(void)state;
	for (size_t i = 0; i < sizeof(percent) / sizeof(*percent); i++)
		for (size_t j = 0; j < sizeof(stolen) / sizeof(*stolen); j++) {
			/* 62% of a CPU. */
			const struct stacks dear = {percent[i], 500, MS / 10 / percent[i]};
			struct machine machine;
			unsigned int shift;

			start(&machine, MS);
			run_stacks(&machine, 20000, &dear, stolen[j], 4 * MS, &shift);
			/* Rare ones: what a window has of them varies. */
			assert_in_range(shift, 3, percent[i] < 40 ? 6 : 4);
			clock_throttle__free(machine.throttle);
		}
}

/* On a CPU where ticks hardly come a single dear one says nothing. */
static void few_ticks_say_little(void **state)
{
	struct machine machine;

	(void)state;
	start(&machine, MS);
	for (int i = 0; i < 100; i++) {
		machine.now += 60 * MS;
		for (int tick = 0; tick < 60; tick++)
			clock_throttle__tick(machine.throttle, 0, 5 * US, 20);
		clock_throttle__tick(machine.throttle, 1, MS, 300);
		assert_false(clock_throttle__step(machine.throttle, machine.now));
	}
	clock_throttle__free(machine.throttle);
}

/* A second apart at most, and nothing is decided without ticks. */
static void there_is_an_end(void **state)
{
	struct machine machine;

	(void)state;
	start(&machine, MS);
	assert_int_equal(run(&machine, 60000, 900 * MS), 9);
	clock_throttle__free(machine.throttle);
	start(&machine, 10 * US);
	assert_true(run(&machine, 60000, 900 * MS) <= 16);
	clock_throttle__free(machine.throttle);
	start(&machine, MS);
	for (int i = 0; i < 100; i++)
		assert_false(clock_throttle__step(machine.throttle, machine.now += 100 * MS));
	clock_throttle__free(machine.throttle);
}

/*
 * Whatever the rate that is drawn, and however the clock was slowed: ticks times the points that
 * each stands for are one point a period.
 */
static void slowed_ticks_stand_for_all_points(void **state)
{
	uint64_t random = 42, now = 0, next, points = 0, end = 200000 * MS;
	struct clock_jitter jitter;
	unsigned int shift = 0;

	(void)state;
	clock_jitter__start(&jitter, MS, 17, now);
	next = jitter.tick;
	for (int i = 0; now < end; i++) {
		bool set;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		now += MS + (random >> 33) % (100 * MS);
		for (; next <= now; next += jitter.tick)
			points += points_per_tick(jitter.tick, MS);
		if (i % 97 == 96) {
			shift = (shift + 3) % 7;
			clock_jitter__set_period(&jitter, MS << shift, (uint32_t)(random >> 33),
						 now);
			set = true;
		} else {
			set = clock_jitter__step(&jitter, (uint32_t)(random >> 33), now);
		}
		if (set)
			next = now + jitter.tick;
		assert_int_equal(points_per_tick(jitter.tick, MS), 1U << shift);
	}
	/* Within 0.2 %. */
	assert_in_range(points, now / MS - now / MS / 500, now / MS + now / MS / 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cheap_ticks_are_left_alone),
		cmocka_unit_test(dear_ticks_take_a_bounded_share),
		cmocka_unit_test(ticks_start_as_far_apart_as_they_are_expected_to_need),
		cmocka_unit_test(it_comes_back_and_settles),
		cmocka_unit_test(stolen_time_does_not_slow_clocks),
		cmocka_unit_test(dear_ticks_among_cheap_ones_are_seen),
		cmocka_unit_test(few_ticks_say_little),
		cmocka_unit_test(there_is_an_end),
		cmocka_unit_test(slowed_ticks_stand_for_all_points),
	};

	return cmocka_run_group_tests_name("clock_throttle", tests, NULL, NULL);
}
