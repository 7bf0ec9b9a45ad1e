/* SPDX-License-Identifier: BSD-2-Clause */
/* The plugin that shop loads during its run. */
#include "tests/programs/common/burn.h"

void shelve(uint64_t loops);

void shelve(uint64_t loops)
{
	BURN(loops);
}
