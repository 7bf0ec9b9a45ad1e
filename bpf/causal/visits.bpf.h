/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Progress points: visits of those in unmodified code, and a look at all points once a period. */
#pragma once

#include "bpf/causal/state.bpf.h"

/* Points by the address of their breakpoint: what a thread inherits of those has no cookie. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 14);
	__type(key, __u64);
	__type(value, __u32);
} causal_breaks SEC(".maps");

/* One visit of point @number, which stands in unmodified code. */
static __always_inline int causal_visit(__u64 number)
{
	struct causal_area *area = causal_area();

	if (!capture.active || !area || !target_state(bpf_get_current_task_btf()))
		return 0;
	__sync_fetch_and_add(&area->points.point[number & (DWELL_POINTS - 1)].count[0].count, 1);
	return 0;
}

SEC("uprobe")
int on_visit_uprobe(struct pt_regs *ctx)
{
	return causal_visit(bpf_get_attach_cookie(ctx));
}

SEC("perf_event")
int on_visit_breakpoint(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u64 address = regs->ip;
	__u32 *number = bpf_map_lookup_elem(&causal_breaks, &address);

	return number ? causal_visit(*number) : 0;
}

/* What a look at all points knows. */
struct causal_looking {
	__u64 time;
	__u64 global;
	__u64 passed; /* virtual time since the last look */
};

static long causal_look_at(__u32 index, void *arg)
{
	const struct causal_looking *looking = arg;
	struct causal_area *area = causal_area();
	struct causal_seen_point *seen;
	struct dwell_point *point;
	__u64 count = 0;

	if (!area || index >= area->points.claimed)
		return 1;
	point = &area->points.point[index & (DWELL_POINTS - 1)];
	seen = &causal_look.point[index & (DWELL_POINTS - 1)];
	for (__u32 i = 0; i < DWELL_COUNTS; i++)
		count += point->count[i].count;
	seen->area += seen->count * looking->passed;
	if (count == seen->count)
		return 0;
	seen->count = count;
	seen->changed_at = looking->time;
	seen->changed_global = looking->global;
	return 0;
}

/* Looks at the progress points about once a period, on whichever CPU comes first. */
__noinline int causal_look_around(__u64 now)
{
	struct causal_area *area = causal_area();
	struct causal_looking looking = {.time = now};
	__u64 round = causal_look.round;

	if (!settings.use_tables || !area || round & 1 ||
	    now < causal_look.time + settings.period_ns * 3 / 4 ||
	    __sync_val_compare_and_swap(&causal_look.round, round, round + 1) != round)
		return 0;
	looking.global = area->global;
	looking.passed = now - causal_look.time - (looking.global - causal_look.global);
	causal_look.time = now;
	causal_look.global = looking.global;
	bpf_loop(DWELL_POINTS, causal_look_at, &looking, 0);
	causal_look.round = round + 2;
	return 0;
}
