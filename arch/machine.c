// SPDX-License-Identifier: BSD-2-Clause
#include "arch/machine.h"

#include "arch/aarch64/machine.h"
#include "arch/x86_64/machine.h"
#include "base/cleanup.h"

static const struct machine *const machines[] = {&machine_x86_64, &machine_aarch64};

const struct machine *machine__find(uint16_t elf)
{
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		if (machines[i]->elf == elf)
			return machines[i];
	return NULL;
}

const struct machine *machine__own(void)
{
#if defined(__x86_64__)
	return &machine_x86_64;
#else
#error "arch/README.md: the code of this processor is not known"
#endif
}
