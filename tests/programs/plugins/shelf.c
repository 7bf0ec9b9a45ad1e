/* SPDX-License-Identifier: BSD-2-Clause */
/* What shop loads while it runs. */
#include "tests/programs/burn.h"

void shelve(uint64_t loops);

void shelve(uint64_t loops)
{
	BURN(loops);
}
