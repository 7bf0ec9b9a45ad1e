// SPDX-License-Identifier: BSD-2-Clause
#include "arch/processor.h"

#include "arch/aarch64/processor.h"
#include "arch/x86_64/processor.h"
#include "base/cleanup.h"

static const struct processor *const processors[] = {&processor_x86_64, &processor_aarch64};

const struct processor *processor__find(uint16_t elf)
{
	for (size_t i = 0; i < ARRAY_SIZE(processors); i++)
		if (processors[i]->elf == elf)
			return processors[i];
	return NULL;
}

const struct processor *processor__own(void)
{
#if defined(__x86_64__)
	return &processor_x86_64;
#else
#error "arch/README.md: the code of this processor is not known"
#endif
}
