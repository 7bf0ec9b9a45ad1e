// SPDX-License-Identifier: BSD-2-Clause
/* Shares of times, against arithmetic of 128 bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "abi/proportion.h"
#include "base/hash.h"

#define DAY 86400000000000U /* ns */

static uint64_t random_state = 42;

/* Of all magnitudes up to @most. */
static uint64_t next_random(uint64_t most)
{
	uint64_t number;

	random_state += 0x9e3779b97f4a7c15ULL;
	number = hash__mix(random_state);
	return (number >> number % 64) % (most + 1);
}

static uint64_t exact(uint64_t value, uint64_t part, uint64_t whole)
{
	return (uint64_t)((unsigned __int128)value * part / whole);
}

static void assert_near(uint64_t value, uint64_t part, uint64_t whole, uint64_t tolerance)
{
	uint64_t got = proportion(value, part, whole), want = exact(value, part, whole);

	if ((got > want ? got - want : want - got) > tolerance)
		fail_msg("%lu * %lu / %lu is %lu, not %lu", value, part, whole, want, got);
	assert_true(got <= value);
}

static void short_times_are_exact(void **state)
{
	for (int i = 0; i < 1000000; i++) {
		uint64_t part = next_random(UINT32_MAX);

		assert_near(next_random(UINT32_MAX), part, part + next_random(DAY) + 1, 0);
	}
}

static void times_of_a_day(void **state)
{
	for (int i = 0; i < 1000000; i++) {
		uint64_t value = next_random(DAY), whole = next_random(DAY - 1) + 1;

		assert_near(value, next_random(whole), whole, 1 + (value >> 29));
	}
	assert_near(DAY, DAY, DAY, 0);
	assert_near(DAY, DAY - 1, DAY, DAY >> 29);
	assert_near(5000000000, 4900000000, 5000000000, 10);
}

static void times_of_any_length(void **state)
{
	for (int i = 0; i < 1000000; i++) {
		uint64_t value = next_random(UINT64_MAX - 1), whole = next_random(UINT64_MAX - 1);

		if (whole)
			assert_near(value, next_random(whole), whole, 1 + (value >> 29));
	}
	assert_int_equal(proportion(DAY, 0, 0), 0);
	assert_int_equal(proportion(0, DAY, DAY), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_times_are_exact),
		cmocka_unit_test(times_of_a_day),
		cmocka_unit_test(times_of_any_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
