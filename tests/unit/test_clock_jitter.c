// SPDX-License-Identifier: BSD-2-Clause
/* The rate of the clocks, followed tick by tick: true on average, and of no rhythm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "collect/clocks/clock_jitter.h"

#define MS 1000000ULL

static uint32_t random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*state >> 33);
}

struct clock {
	struct clock_jitter jitter;
	uint64_t random;
	uint64_t now;
	uint64_t next; /* tick */
	uint64_t ticks;
	uint64_t in_phase; /* ticks in the first tenth of a rhythm of one period */
	uint64_t longest;  /* between two ticks */
};

static void start(struct clock *clock, uint64_t period)
{
	*clock = (struct clock){.random = 42, .now = 12345};
	clock_jitter__start(&clock->jitter, period, random_next(&clock->random), clock->now);
	clock->next = clock->now + clock->jitter.tick;
}

/* A session runs for @ms, and looks at its clocks after some 1 to @look ms. */
static void run(struct clock *clock, uint64_t ms, uint64_t look)
{
	uint64_t end = clock->now + ms * MS, last = clock->now;

	while (clock->now < end) {
		clock->now += MS + random_next(&clock->random) % ((look - 1) * MS + 1);
		for (; clock->next <= clock->now; clock->next += clock->jitter.tick) {
			clock->ticks++;
			clock->in_phase +=
				clock->next % clock->jitter.period * 10 < clock->jitter.period;
			if (clock->next - last > clock->longest)
				clock->longest = clock->next - last;
			last = clock->next;
		}
		if (clock_jitter__step(&clock->jitter, random_next(&clock->random), clock->now))
			clock->next = clock->now + clock->jitter.tick;
	}
}

static void one_tick_per_period(void **state)
{
	static const uint64_t looks[] = {2, 100, 400};
	static const uint64_t periods[] = {100000, 1 * MS, 20 * MS};
	struct clock clock;

	(void)state;
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 3; j++) {
			uint64_t begin, periods_passed;

			start(&clock, periods[j]);
			begin = clock.now;
			run(&clock, 100000, looks[i]);
			periods_passed = (clock.now - begin) / periods[j];
			/* Within 0.2 %. */
			assert_in_range(clock.ticks, periods_passed - periods_passed / 500 - 2,
					periods_passed + periods_passed / 500 + 2);
		}
	}
}

static void no_rhythm(void **state)
{
	struct clock clock;

	(void)state;
	start(&clock, MS);
	run(&clock, 100000, 100);
	assert_in_range(clock.in_phase, clock.ticks * 8 / 100, clock.ticks * 12 / 100);
}

static void ticks_are_never_far_apart(void **state)
{
	struct clock clock;

	(void)state;
	start(&clock, MS);
	run(&clock, 100000, 100);
	/* What passed of a period, and a whole one. */
	assert_true(clock.longest < MS * 5 / 2);
}

static void a_rate_is_kept_for_a_while(void **state)
{
	struct clock_jitter jitter;

	(void)state;
	clock_jitter__start(&jitter, MS, 1, 0);
	assert_false(clock_jitter__step(&jitter, 5, 49 * MS));
	assert_true(clock_jitter__step(&jitter, 5, 50 * MS));
	assert_false(clock_jitter__step(&jitter, 9, 99 * MS));
	clock_jitter__start(&jitter, 20 * MS, 1, 0);
	assert_false(clock_jitter__step(&jitter, 5, 999 * MS));
	assert_true(clock_jitter__step(&jitter, 5, 1000 * MS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_tick_per_period),
		cmocka_unit_test(no_rhythm),
		cmocka_unit_test(ticks_are_never_far_apart),
		cmocka_unit_test(a_rate_is_kept_for_a_while),
	};

	return cmocka_run_group_tests_name("clock_jitter", tests, NULL, NULL);
}
