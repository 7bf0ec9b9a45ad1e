// SPDX-License-Identifier: BSD-2-Clause
#include "collect/causal/uprobe_cost.h"

#include "base/clock.h"
#include "collect/probes/own_functions.h"

static uint64_t time_fastest_batch(void (*function)(void))
{
	uint64_t best = UINT64_MAX;

	for (int batch = 0; batch < OWN_FUNCTION_BATCHES; batch++) {
		uint64_t begin = now_ns(CLOCK_MONOTONIC), passed;

		for (int i = 0; i < OWN_FUNCTION_CALLS; i++)
			function();
		passed = now_ns(CLOCK_MONOTONIC) - begin;
		if (passed < best)
			best = passed;
	}
	return best / OWN_FUNCTION_CALLS;
}

uint64_t uprobe_cost__measure(struct bpf_program *program, bool single_stepped)
{
	void (*function)(void) = single_stepped ? own_function_stepped : own_function_emulated;
	uint64_t offset = own_function__offset(function), ns;
	struct bpf_link *link;

	if (!offset)
		return 0;
	link = bpf_program__attach_uprobe(program, false, 0, "/proc/self/exe", offset);
	if (!link)
		return 0;
	ns = time_fastest_batch(function);
	bpf_link__destroy(link);
	return ns;
}
