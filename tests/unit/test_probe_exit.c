// SPDX-License-Identifier: BSD-2-Clause
/* Conditions of jumps that leave a function, against the processor's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "arch/condition.h"

#if defined(__x86_64__)

#define SET(name, number)                                                                          \
	static bool set_##number(uint64_t flags)                                                   \
	{                                                                                          \
		uint8_t taken;                                                                     \
                                                                                                   \
		/* Not on the stack of the function: it may use the red zone. */                   \
		__asm__ volatile("sub $128, %%rsp\n\tpush %1\n\tpopfq\n\tset" name " %0\n\t"       \
				 "lea 128(%%rsp), %%rsp"                                           \
				 : "=&r"(taken)                                                    \
				 : "r"(flags)                                                      \
				 : "cc");                                                          \
		return taken;                                                                      \
	}

SET("o", 0)
SET("no", 1)
SET("b", 2)
SET("ae", 3)
SET("e", 4)
SET("ne", 5)
SET("be", 6)
SET("a", 7)
SET("s", 8)
SET("ns", 9)
SET("p", 10)
SET("np", 11)
SET("l", 12)
SET("ge", 13)
SET("le", 14)
SET("g", 15)

static void conditions_are_those_of_the_processor(void **state)
{
	static bool (*const set[])(uint64_t flags) = {set_0,  set_1,  set_2,  set_3, set_4,  set_5,
						      set_6,  set_7,  set_8,  set_9, set_10, set_11,
						      set_12, set_13, set_14, set_15};
	static const uint64_t bits[] = {1 << 0, 1 << 2, 1 << 6, 1 << 7, 1 << 11};

	for (uint32_t all = 0; all < 32; all++) {
		uint64_t flags = 1 << 1 | 1 << 9; /* always set; interrupts */

		for (int i = 0; i < 5; i++)
			flags |= all >> i & 1 ? bits[i] : 0;
		for (uint32_t condition = 0; condition < 16; condition++)
			assert_int_equal(condition__is_taken(16 + condition, flags),
					 set[condition](flags));
	}
}

#else

static void conditions_are_those_of_the_processor(void **state)
{
	skip();
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_are_those_of_the_processor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
