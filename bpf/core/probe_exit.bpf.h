/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Whether a probe where a function can be left is at a place where it is: abi/probe_exit.h. */
#pragma once

#include "abi/probe_exit.h"
#include "arch/condition.h"
#include "bpf/core/kernel.bpf.h"

static __always_inline bool leaves_function(const struct pt_regs *ctx, __u64 cookie)
{
	__u32 condition = PROBE_EXIT_CONDITION(cookie);

	return !condition || condition__is_taken(condition, REGS_FLAGS(ctx));
}
