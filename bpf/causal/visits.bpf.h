/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Progress points: counts visits in unmodified code, and reads all counters once per period. */
#pragma once

#include "bpf/causal/state.bpf.h"
#include "bpf/core/connections.bpf.h"

/* Point numbers by breakpoint address: breakpoints that new threads inherit have no BPF cookie. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 14);
	__type(key, __u64);
	__type(value, __u32);
} causal_breakpoints SEC(".maps");

/* Counts a visit of point @number, which is in unmodified code, by a recorded thread. */
static __always_inline int causal_visit(__u64 number)
{
	struct causal_area *area = causal_area();

	if (!capture.active || !area || !target_state(bpf_get_current_task_btf()))
		return 0;
	__sync_fetch_and_add(&area->points.point[number & (DWELL_POINTS - 1)].count[0].count, 1);
	return 0;
}

/* A source of requests has the number of its progress point + 1. */
static __always_inline void connection_answered(const struct connection *connection)
{
	causal_visit(connection->source - 1);
}

static __always_inline void connection_served(const struct connection *connection)
{
}

static __always_inline void connection_pushed(const struct connection *connection, __u32 thread,
					      enum span_flags why, __u64 arrived, __u64 read)
{
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
	__u64 address = REGS_IP(regs);
	__u32 *number = bpf_map_lookup_elem(&causal_breakpoints, &address);

	return number ? causal_visit(*number) : 0;
}

/* One reading of all points. */
struct causal_points_scan {
	__u64 time;
	__u64 global;
	__u64 passed; /* virtual time since the last reading */
};

static long causal_scan_point(__u32 index, void *arg)
{
	const struct causal_points_scan *scan = arg;
	struct causal_area *area = causal_area();
	struct causal_seen_point *seen;
	struct dwell_point *point;
	__u64 count = 0;

	if (!area || index >= area->points.claimed)
		return loop_ends(true);
	point = &area->points.point[index & (DWELL_POINTS - 1)];
	seen = &causal_look.point[index & (DWELL_POINTS - 1)];
	for (__u32 i = 0; i < DWELL_COUNTS; i++)
		count += point->count[i].count;
	seen->area += seen->count * scan->passed;
	if (count == seen->count)
		return loop_ends(false);
	seen->count = count;
	seen->changed_at = scan->time;
	seen->changed_global = scan->global;
	return loop_ends(false);
}

/* Reads all progress points about once per period, on whichever CPU has a tick first. */
GLOBAL int causal_scan_points(__u64 now)
{
	struct causal_area *area = causal_area();
	struct causal_points_scan scan = {.time = now};
	__u64 since = causal_look.time;
	__u64 round = causal_look.round;

	if (!settings.use_tables || !area || round & 1 ||
	    now < causal_look.time + settings.period_ns * 3 / 4 ||
	    __sync_val_compare_and_swap(&causal_look.round, round, round + 1) != round)
		return 0;
	scan.global = area->global;
	scan.passed = now - causal_look.time - (scan.global - causal_look.global);
	causal_look.time = now;
	causal_look.global = scan.global;
	bpf_loop(DWELL_POINTS, causal_scan_point, &scan, 0);
	causal_look.round = round + 2;
	/* A test of pauses: nobody is credited, so everybody pays. */
	if (causal_pause_share && since && now > since)
		__sync_fetch_and_add(&area->global,
				     (now - since) * causal_pause_share / CAUSAL_WHOLE);
	return 0;
}
