/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Buffers in which events with stacks are built: a BPF program's stack is too small. */
#pragma once

#include "abi/event.h"
#include "bpf/core/kernel.bpf.h"

#define PROBE_FRAMES_MASK 15
#define PROBE_FRAMES	  12  /* frames of the tracepoint and of the BPF program, at most */
#define RAW_FRAMES	  256 /* a power of two above DWELL_MAX_KERNEL_FRAMES + PROBE_FRAMES_MASK */
#define MAX_FRAMES	  (DWELL_MAX_KERNEL_FRAMES + DWELL_MAX_USER_FRAMES)
#define SCRATCH_FRAMES	  1024 /* a power of two above MAX_FRAMES */
#define HEAD_SIZE	  sizeof(struct event_interval)

/* A buffer for an event: its head ends where its frames begin. */
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

/* One buffer for each use that can interrupt another one on the same CPU. */
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
