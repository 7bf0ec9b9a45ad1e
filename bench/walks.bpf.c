// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/* What a walk over the user stack costs: by unwind tables, and by the helper that follows
 * frame pointers. Both walk the same stack at each tick, in turns first. */
/* Only a part of what they have is used here. */
#pragma clang diagnostic ignored "-Wunused-function"
#include "bpf/record/thread.bpf.h"
#include "bpf/core/unwind.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum way { BY_TABLES, BY_FRAME_POINTER, WAYS };

__u64 ns[WAYS], frames[WAYS], stacks[WAYS];
__u32 ticks;

static __always_inline void account(enum way way, __u64 begin, __u32 n)
{
	ns[way] += bpf_ktime_get_ns() - begin;
	frames[way] += n;
	stacks[way]++;
}

static __always_inline void walk_by_tables(void)
{
	__u64 begin = bpf_ktime_get_ns();

	account(BY_TABLES, begin, (__u32)unwind_current(SCRATCH_TICK, 0));
}

static __always_inline void walk_by_frame_pointer(void *ctx)
{
	struct scratch *scratch = scratch_for(SCRATCH_TICK);
	__u64 begin = bpf_ktime_get_ns();
	long size;

	if (!scratch)
		return;
	size = bpf_get_stack(ctx, scratch->raw, DWELL_MAX_KERNEL_FRAMES * sizeof(__u64),
			     BPF_F_USER_STACK);
	account(BY_FRAME_POINTER, begin, size > 0 ? size / sizeof(__u64) : 0);
}

SEC("perf_event")
int on_tick(void *ctx)
{
	bool tables_first = ticks++ & 1;

	if (tables_first)
		walk_by_tables();
	walk_by_frame_pointer(ctx);
	if (!tables_first)
		walk_by_tables();
	return 0;
}
