/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * User stacks whose walk came to code that nothing is known of yet, in the first
 * moments of a program or a library: the frames so far, the registers there and
 * a copy of the stack go to user space, which makes the table and goes on.
 */
#pragma once

#include "bpf/core/scratch.bpf.h"
#include "bpf/core/state.bpf.h"

#define REST_BYTES 32768 /* of stack, at most */
#define REST_CHUNK 2048	 /* is read at a time; less when the stack ends within */
#define REST_LEAST 64

struct rest {
	struct event_rest head; /* type 0: there is none */
	__u8 data[DWELL_MAX_USER_FRAMES * sizeof(__u64) + REST_BYTES];
};

/* SCRATCH_USES for each CPU; their number is set before the programs are loaded. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SCRATCH_USES);
	__type(key, __u32);
	__type(value, struct rest);
} rests SEC(".maps");

static __always_inline struct rest *rest_for(__u32 use)
{
	__u32 index = bpf_get_smp_processor_id() * SCRATCH_USES + use;

	return bpf_map_lookup_elem(&rests, &index);
}

/* A copy of stack memory being made: of chunks, which get smaller at its end. */
struct stack_copy {
	struct rest *rest;
	__u64 from;
	__u32 at; /* in data */
	__u32 size;
	__u32 chunk;
};

static long copy_chunk(__u32 index, void *arg)
{
	struct stack_copy *copy = arg;
	__u32 to = copy->at + copy->size, chunk = copy->chunk;

	if (chunk < REST_LEAST || chunk > REST_CHUNK || copy->size > REST_BYTES - REST_CHUNK ||
	    to > sizeof(copy->rest->data) - REST_CHUNK)
		return 1;
	if (bpf_probe_read_user(&copy->rest->data[to], chunk, (void *)copy->from + copy->size))
		copy->chunk /= 2;
	else
		copy->size += chunk;
	return 0;
}

/*
 * Sends what is kept for @use, with the @n frames in its scratch from @at on. Returns
 * the hash by which the stack will be known, 0: there is nothing, or no room for it.
 */
__noinline __u64 send_rest(__u32 use, __u32 at, __u32 n)
{
	struct scratch *scratch = scratch_for(use);
	struct rest *rest = rest_for(use);
	struct stack_copy copy = {.chunk = REST_CHUNK};
	__u32 frames = n * sizeof(__u64);
	struct event_rest *head;

	if (!use_tables || !rest || !scratch || !rest->head.header.type)
		return 0;
	head = &rest->head;
	head->header.type = 0;
	at &= RAW_FRAMES - 1;
	if (frames > DWELL_MAX_USER_FRAMES * sizeof(__u64) ||
	    bpf_probe_read_kernel(rest->data, frames, &scratch->frames[at]))
		return 0;
	copy.rest = rest;
	copy.from = head->sp - DWELL_RED_ZONE;
	copy.at = frames;
	bpf_loop(REST_BYTES / REST_CHUNK + 8, copy_chunk, &copy, 0);
	head->size = copy.size;
	head->depth = n;
	head->hash = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32() | 1;
	frames += head->size;
	if (frames > sizeof(rest->data))
		return 0;
	head->header.time = bpf_ktime_get_ns();
	head->header.type = EVENT_STACK_REST;
	if (!emit(rest, sizeof(*head) + frames, LOSS_REST_SKIPPED))
		head->hash = 0;
	head->header.type = 0;
	return head->hash;
}
