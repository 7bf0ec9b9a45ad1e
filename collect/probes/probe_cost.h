/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What probes at the entry and the return of a function take: of the CPU time, and of the length of
 * the call as the probes see it. Measured at functions of dwell.
 */
#pragma once

#include <stdint.h>

#include "abi/call_probe.h"
#include "collect/kernel/kernel.h"

struct bpf_program;
struct uprobes;

struct probe_cost_each {
	uint64_t trap_ns;     /* without the run time of the programs, */
	uint64_t all_ns;      /* and with it */
	uint64_t overhead_ns; /* that a call seems longer */
};

struct probe_costs {
	struct probe_cost_each kinds[CALL_PROBE_KINDS];
	/* The probes at dwell's functions, for the caller to free: that takes time. */
	struct uprobes *entries, *returns, *exits;
};

/* The programs of bpf/record/calls.bpf.h, and their CALL_PROBES states. */
struct call_programs {
	struct bpf_program *on_entry, *on_return, *on_exit;
	volatile struct call_probe_state *states;
	const struct kernel_info *kernel;
};

/* Without success, sets what is usual. */
void probe_costs__measure(const struct call_programs *programs, struct probe_costs *costs);
