// SPDX-License-Identifier: BSD-2-Clause
#include "../jobs.h"

__attribute__((noinline)) static unsigned int once(unsigned int x)
{
	return stir_twice(x) + 2;
}

unsigned int job_check(unsigned int sum)
{
	return once(sum) ^ stir(sum); /* LINE: check */
}
