// SPDX-License-Identifier: BSD-2-Clause
#include "collect/probes/probe_cost.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <time.h>

#include "arch/probe_functions.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/probes/own_functions.h"
#include "collect/probes/uprobes.h"

/* Of a probe in a virtual machine. */
#define USUAL_NS	 700
#define USUAL_STEPPED_NS 10000

/* Their ends have probes, too. */
PROBE_FUNCTION_EMULATED(probe_cost_emulated_exit);
PROBE_FUNCTION_STEPPED(probe_cost_stepped_exit);

/* What the fastest batch took. */
static void time_calls(void (*function)(void), const volatile struct call_probe_state *state,
		       struct probe_cost_each *cost)
{
	uint64_t best = UINT64_MAX;

	for (int batch = 0; batch < OWN_FUNCTION_BATCHES; batch++) {
		uint64_t begin = now_ns(CLOCK_MONOTONIC), ns = state->ns, inside = state->inside;
		uint64_t passed;

		for (int i = 0; i < OWN_FUNCTION_CALLS; i++)
			function();
		passed = now_ns(CLOCK_MONOTONIC) - begin;
		ns = state->ns - ns;
		if (passed >= best || ns > passed || state->inside == inside)
			continue;
		best = passed;
		cost->trap_ns = (passed - ns) / OWN_FUNCTION_CALLS;
		cost->all_ns = passed / OWN_FUNCTION_CALLS;
		cost->overhead_ns = (state->inside - inside) / OWN_FUNCTION_CALLS;
	}
}

static void set_usual(struct probe_costs *costs)
{
	*costs = (struct probe_costs){};
	for (int kind = 0; kind < CALL_PROBE_KINDS; kind++) {
		uint64_t entry = kind & CALL_PROBE_STEPPED ? USUAL_STEPPED_NS : USUAL_NS;
		uint64_t end = kind & CALL_PROBE_EXITS ? USUAL_STEPPED_NS : USUAL_NS;

		costs->kinds[kind] =
			(struct probe_cost_each){.trap_ns = entry + end, .all_ns = entry + end};
	}
}

static int attach(const struct call_programs *programs, struct probe_costs *costs,
		  void (*const *functions)(void), void (*const *ends)(void))
{
	struct uprobe_place places[CALL_PROBE_KINDS], exits[CALL_PROBE_KINDS];
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t refused = 0, any_refused = 0;
	int err = fd < 0 ? -errno : 0;

	for (int kind = 0; kind < CALL_PROBE_KINDS; kind++) {
		uint64_t cookie = CALL_PROBE_CALIBRATION + (uint64_t)kind;

		places[kind] = (struct uprobe_place){
			.offset = own_function__offset(functions[kind]), .cookie = cookie};
		exits[kind] = (struct uprobe_place){.offset = own_function__offset(ends[kind]),
						    .cookie = cookie};
		programs->states[cookie].open = 1;
	}
	/* The kinds without CALL_PROBE_EXITS are the first ones. */
	err = err ? err
		  : uprobes__attach(programs->on_return, programs->kernel, fd, places,
				    CALL_PROBE_EXITS, true, &refused, &costs->returns);
	any_refused += refused;
	err = err ? err
		  : uprobes__attach(programs->on_exit, programs->kernel, fd,
				    exits + CALL_PROBE_EXITS, CALL_PROBE_EXITS, false, &refused,
				    &costs->exits);
	any_refused += refused;
	err = err ? err
		  : uprobes__attach(programs->on_entry, programs->kernel, fd, places,
				    CALL_PROBE_KINDS, false, &refused, &costs->entries);
	return err ? err : any_refused + refused ? -EINVAL : 0;
}

void probe_costs__measure(const struct call_programs *programs, struct probe_costs *costs)
{
	static void (*const functions[CALL_PROBE_KINDS])(void) = {
		[0] = own_function_emulated,
		[CALL_PROBE_STEPPED] = own_function_stepped,
		[CALL_PROBE_EXITS] = probe_cost_emulated_exit,
		[CALL_PROBE_EXITS | CALL_PROBE_STEPPED] = probe_cost_stepped_exit,
	};
	static void (*const ends[CALL_PROBE_KINDS])(void) = {
		[0] = own_function_emulated,
		[CALL_PROBE_STEPPED] = own_function_stepped,
		[CALL_PROBE_EXITS] = probe_cost_emulated_exit_end,
		[CALL_PROBE_EXITS | CALL_PROBE_STEPPED] = probe_cost_stepped_exit_end,
	};

	set_usual(costs);
	if (attach(programs, costs, functions, ends))
		return;
	for (int kind = 0; kind < CALL_PROBE_KINDS; kind++)
		time_calls(functions[kind], &programs->states[CALL_PROBE_CALIBRATION + kind],
			   &costs->kinds[kind]);
}
