/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Scope: the code that samples can be attributed to. A sample belongs to its innermost frame in
 * scope. Stack walks end there, unless a target can be any frame.
 */
#pragma once

#include "abi/delay_area.h"
#include "bpf/core/kernel.bpf.h"
#include "abi/unwind.h"

/* For bpf/core/unwind.bpf.h. */
#define WALK_ENDS_AT(code) (!causal_whole_stacks && causal_in_scope(code))

/* Written by user space. */
__u8 causal_scope[UNWIND_MAX_TABLES]; /* by slot of a file's unwind table: it is in scope */
__u32 causal_n_excluded;	      /* ranges of code excluded from scope */
bool causal_whole_stacks;	      /* a target is any frame, not only the innermost in scope */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CAUSAL_ALL_RANGES);
	__type(key, __u32);
	__type(value, struct causal_range);
} causal_ranges SEC(".maps");

/*
 * Whether @code is in one of @n sorted ranges of causal_ranges, from index @first on. (Global:
 * verified once.)
 */
GLOBAL int causal_in_ranges(__u32 first, __u32 n, __u64 code)
{
	__u32 low = first, high = first + n;

	for (int i = 0; i < 17 && low < high; i++) {
		__u32 middle = low + (high - low) / 2;
		struct causal_range *range = bpf_map_lookup_elem(&causal_ranges, &middle);

		if (!range)
			return 0;
		if (code < range->start)
			high = middle;
		else if (code >= range->end)
			low = middle + 1;
		else
			return 1;
	}
	return 0;
}

static __always_inline bool causal_in_scope(__u64 code)
{
	__u32 slot = code >> 32;

	/*
	 * Where @code has just been composed, the compiler knows that its slot is in bounds and
	 * would drop the mask. The verifier of Linux 6.1 does not track that bound.
	 */
	barrier_var(slot);
	return code && causal_scope[slot & (UNWIND_MAX_TABLES - 1)] &&
	       !causal_in_ranges(CAUSAL_OUT_OF_SCOPE, causal_n_excluded, code);
}
