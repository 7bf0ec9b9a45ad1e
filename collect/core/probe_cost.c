// SPDX-License-Identifier: BSD-2-Clause
#include "collect/core/probe_cost.h"

#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/core/uprobes.h"

#define BATCHES 10
#define CALLS	50

#define USUAL_NS	 1500
#define USUAL_STEPPED_NS 11000

void probe_cost_emulated(void);
void probe_cost_stepped(void);

#if defined(__x86_64__)
__asm__(".text\n"
	".type probe_cost_emulated, @function\n"
	"probe_cost_emulated:\n"
	"	push %rbp\n"
	"	pop %rbp\n"
	"	ret\n"
	".size probe_cost_emulated, . - probe_cost_emulated\n"
	".type probe_cost_stepped, @function\n"
	"probe_cost_stepped:\n"
	"	sub $8, %rsp\n"
	"	add $8, %rsp\n"
	"	ret\n"
	".size probe_cost_stepped, . - probe_cost_stepped\n");
#else
void probe_cost_emulated(void)
{
}

void probe_cost_stepped(void)
{
}
#endif

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

static uint64_t offset_of(void (*function)(void))
{
	struct own_place place = {.address = (uint64_t)(uintptr_t)function};

	dl_iterate_phdr(find_offset, &place);
	return place.offset;
}

/* What the fastest of some batches took: others may have been interrupted. */
static void time_calls(void (*function)(void), const volatile struct call_probe_state *state,
		       struct probe_cost_each *cost)
{
	uint64_t best = UINT64_MAX;

	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t begin = now_ns(CLOCK_MONOTONIC), ns = state->ns, inside = state->inside;
		uint64_t passed;

		for (int i = 0; i < CALLS; i++)
			function();
		passed = now_ns(CLOCK_MONOTONIC) - begin;
		ns = state->ns - ns;
		if (passed >= best || ns > passed || state->inside == inside)
			continue;
		best = passed;
		cost->trap_ns = (passed - ns) / CALLS;
		cost->overhead_ns = (state->inside - inside) / CALLS;
	}
}

void probe_costs__measure(struct bpf_program *entry, struct bpf_program *at_return,
			  const struct kernel_info *kernel,
			  volatile struct call_probe_state *kernel_side, struct probe_costs *costs)
{
	const struct uprobe_place places[] = {
		{.offset = offset_of(probe_cost_emulated), .cookie = CALL_PROBE_EMULATED},
		{.offset = offset_of(probe_cost_stepped), .cookie = CALL_PROBE_STEPPED}};
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t refused = 0, refused_returns = 0;

	*costs = (struct probe_costs){
		.emulated = {.trap_ns = USUAL_NS},
		.single_stepped = {.trap_ns = USUAL_STEPPED_NS},
	};
	if (fd < 0 || !places[0].offset || !places[1].offset ||
	    uprobes__attach(at_return, kernel, fd, places, 2, true, &refused_returns,
			    &costs->returns) ||
	    uprobes__attach(entry, kernel, fd, places, 2, false, &refused, &costs->entries) ||
	    refused || refused_returns)
		return;
	kernel_side[CALL_PROBE_EMULATED].open = kernel_side[CALL_PROBE_STEPPED].open = 1;
	time_calls(probe_cost_emulated, &kernel_side[CALL_PROBE_EMULATED], &costs->emulated);
	time_calls(probe_cost_stepped, &kernel_side[CALL_PROBE_STEPPED], &costs->single_stepped);
}
