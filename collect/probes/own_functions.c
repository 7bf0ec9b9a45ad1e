// SPDX-License-Identifier: BSD-2-Clause
#include "collect/probes/own_functions.h"

#include <link.h>
#include <stddef.h>

#include "arch/probe_functions.h"

PROBE_FUNCTION_EMULATED(own_function_emulated);
PROBE_FUNCTION_STEPPED(own_function_stepped);

struct own_place {
	uint64_t address;
	uint64_t offset; /* 0: not found */
};

/* The first object is the program. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct own_place *place = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && place->address >= start &&
		    place->address < start + segment->p_filesz)
			place->offset = place->address - start + segment->p_offset;
	}
	return 1;
}

uint64_t own_function__offset(void (*address)(void))
{
	struct own_place place = {.address = (uint64_t)(uintptr_t)address};

	dl_iterate_phdr(find_offset, &place);
	return place.offset;
}
