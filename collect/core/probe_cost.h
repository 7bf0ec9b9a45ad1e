/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What probes at the entry and the return of a function take: of the CPU time, and of the length of
 * the call as the probes see it. Measured at functions of dwell.
 */
#pragma once

#include <stdint.h>

#include "abi/call_probe.h"
#include "collect/core/kernel.h"

struct bpf_program;
struct uprobes;

struct probe_cost_each {
	uint64_t trap_ns;     /* without the run time of the programs */
	uint64_t overhead_ns; /* that a call seems longer */
};

struct probe_costs {
	struct probe_cost_each emulated; /* an entry that the kernel emulates: uprobe_offset.h */
	struct probe_cost_each single_stepped; /* another one */
	/* The probes at dwell's functions, for the caller to free: that takes time. */
	struct uprobes *entries, *returns;
};

/*
 * @kernel_side: the CALL_PROBES states of @entry and @at_return, bpf/record/calls.bpf.h. Without
 * success, sets what is usual.
 */
void probe_costs__measure(struct bpf_program *entry, struct bpf_program *at_return,
			  const struct kernel_info *kernel,
			  volatile struct call_probe_state *kernel_side, struct probe_costs *costs);
