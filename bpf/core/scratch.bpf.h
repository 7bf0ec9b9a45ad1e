/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Where events with stacks are put together: too large for a program's own stack. */
#pragma once

#include "abi/event.h"
#include "bpf/core/kernel.bpf.h"

#define OUR_FRAMES_MASK 15
#define OUR_FRAMES	12  /* the most that lie above the first frame of interest */
#define RAW_FRAMES	256 /* a power of two above DWELL_MAX_KERNEL_FRAMES + OUR_FRAMES_MASK */
#define MAX_FRAMES	(DWELL_MAX_KERNEL_FRAMES + DWELL_MAX_USER_FRAMES)
#define SCRATCH_FRAMES	1024 /* a power of two above MAX_FRAMES */
#define HEAD_SIZE	sizeof(struct event_interval)

/* Where an event with frames is put together: its head ends where the frames begin. */
struct scratch {
	__u8 head[HEAD_SIZE];
	__u64 frames[SCRATCH_FRAMES];
	__u64 raw[RAW_FRAMES];
#ifdef WALK_ENDS_AT
	__u64 codes[DWELL_MAX_USER_FRAMES]; /* UNWIND_CODE() of each frame; 0: unknown */
#endif
};

#define SCRATCH_HEAD(scratch, type)                                                                \
	((struct type *)&(scratch)->head[HEAD_SIZE - sizeof(struct type)])

/* One per context that can interrupt another one on the same CPU. */
enum scratch_use {
	SCRATCH_TICK = 0,
	SCRATCH_INTERVAL = 1,
	SCRATCH_WAKE = 2,
	SCRATCH_FINISH = 3,
	SCRATCH_DEVICE = 4,
	SCRATCH_USES = 5,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCH_USES);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline struct scratch *scratch_for(__u32 use)
{
	return bpf_map_lookup_elem(&scratches, &use);
}
