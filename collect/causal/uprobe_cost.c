// SPDX-License-Identifier: BSD-2-Clause
/* What it takes to count a visit by a uprobe: measured at functions of dwell, which do nothing. */
#include "collect/causal/uprobe_cost.h"

#include <link.h>
#include <stddef.h>

#include "arch/probe_functions.h"
#include "base/clock.h"

/* Short ones, as the machine may be busy: some are not interrupted. */
#define BATCHES 100
#define CALLS	5

PROBE_FUNCTION_EMULATED(uprobe_cost_emulated);
PROBE_FUNCTION_STEPPED(uprobe_cost_stepped);

struct own_place {
	uint64_t address;
	uint64_t offset; /* in dwell's file; 0: not found */
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

/* The fastest of some batches: others may have been interrupted. */
static uint64_t time_calls(void (*function)(void))
{
	uint64_t best = UINT64_MAX;

	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t begin = now_ns(CLOCK_MONOTONIC), passed;

		for (int i = 0; i < CALLS; i++)
			function();
		passed = now_ns(CLOCK_MONOTONIC) - begin;
		if (passed < best)
			best = passed;
	}
	return best / CALLS;
}

uint64_t uprobe_cost__measure(struct bpf_program *program, bool single_stepped)
{
	void (*function)(void) = single_stepped ? uprobe_cost_stepped : uprobe_cost_emulated;
	struct own_place place = {.address = (uint64_t)(uintptr_t)function};
	struct bpf_link *link;
	uint64_t ns;

	dl_iterate_phdr(find_offset, &place);
	if (!place.offset)
		return 0;
	link = bpf_program__attach_uprobe(program, false, 0, "/proc/self/exe", place.offset);
	if (!link)
		return 0;
	ns = time_calls(function);
	bpf_link__destroy(link);
	return ns;
}
