/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Deferred unwinds: walks that reach code without an unwind table, soon after a program or library
 * is mapped. The frames so far, the registers and a copy of the stack are sent to user space, which
 * builds the table and completes the walk.
 */
#pragma once

#include "bpf/core/return_probe.bpf.h"
#include "bpf/core/scratch.bpf.h"
#include "bpf/core/state.bpf.h"

#define STACK_COPY_BYTES 32768 /* at most */
#define STACK_COPY_CHUNK 2048  /* bytes per read; halved when the stack ends within */
#define STACK_COPY_LEAST 64    /* the smallest read */

struct deferred {
	struct event_deferred head; /* type 0: none is pending */
	__u8 data[DWELL_MAX_USER_FRAMES * sizeof(__u64) + STACK_COPY_BYTES];
};

/* SCRATCH_USES for each CPU; user space sets the size before it loads the programs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SCRATCH_USES);
	__type(key, __u32);
	__type(value, struct deferred);
} deferred SEC(".maps");

static __always_inline struct deferred *deferred_for(__u32 use)
{
	__u32 index = bpf_get_smp_processor_id() * SCRATCH_USES + use;

	return bpf_map_lookup_elem(&deferred, &index);
}

/* State of a copy of stack memory, made in chunks, which become smaller towards its end. */
struct stack_copy {
	struct deferred *kept;
	__u64 from;
	__u32 at; /* in data */
	__u32 size;
	__u32 chunk;
};

static long copy_chunk(__u32 index, void *arg)
{
	struct stack_copy *copy = arg;
	__u32 to = copy->at + copy->size, chunk = copy->chunk;

	if (chunk < STACK_COPY_LEAST || chunk > STACK_COPY_CHUNK ||
	    copy->size > STACK_COPY_BYTES - STACK_COPY_CHUNK ||
	    to > sizeof(copy->kept->data) - STACK_COPY_CHUNK)
		return loop_ends(true);
	if (bpf_probe_read_user(&copy->kept->data[to], chunk, (void *)copy->from + copy->size))
		copy->chunk /= 2;
	else
		copy->size += chunk;
	return loop_ends(false);
}

/* State of a walk along the functions with return probes that current is in. */
struct returns_walk {
	const struct stack_copy *copy;
	struct return_instance *at;
};

static long restore_return(__u32 index, void *arg)
{
	struct returns_walk *walk = arg;
	const struct stack_copy *copy = walk->copy;
	struct return_instance *at = walk->at;
	__u64 slot, to, address;

	if (!at)
		return loop_ends(true);
	slot = READ(at, stack) - copy->from;
	to = copy->at + slot;
	address = READ(at, orig_ret_vaddr);
	if (slot < copy->size && to <= sizeof(copy->kept->data) - sizeof(__u64))
		bpf_probe_read_kernel(&copy->kept->data[to], sizeof(address), &address);
	walk->at = BPF_CORE_READ(at, next);
	return loop_ends(false);
}

/* Puts the original return addresses of functions with return probes into @copy, of current. */
static __always_inline void restore_returns(const struct stack_copy *copy)
{
	struct uprobe_task *probes = BPF_CORE_READ(bpf_get_current_task_btf(), utask);
	struct returns_walk walk = {.copy = copy};

	if (!probes)
		return;
	walk.at = BPF_CORE_READ(probes, return_instances);
	bpf_loop(MAX_RETURNS, restore_return, &walk, 0);
}

/* Copies of stacks may be many for a moment; they leave room for events in the ring. */
static __always_inline bool has_room_for_copy(void)
{
	void *ring = this_ring();

	if (ring && bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) < settings.ring_copies)
		return true;
	count_loss(LOSS_DEFERRED_SKIPPED);
	return false;
}

/*
 * Sends the deferred unwind pending for @use, with the @n frames at frames[@at] of its scratch.
 * Returns the hash that identifies the stack; 0: none is pending, or it could not be sent.
 */
GLOBAL __u64 send_deferred(__u32 use, __u32 at, __u32 n)
{
	struct scratch *scratch = scratch_for(use);
	struct deferred *kept = deferred_for(use);
	struct stack_copy copy = {.chunk = STACK_COPY_CHUNK};
	__u32 frames = n * sizeof(__u64);
	struct event_deferred *head;

	if (!settings.use_tables || !kept || !scratch || !kept->head.header.type)
		return 0;
	head = &kept->head;
	head->header.type = 0;
	at &= RAW_FRAMES - 1;
	if (!has_room_for_copy())
		return 0;
	if (frames > DWELL_MAX_USER_FRAMES * sizeof(__u64) ||
	    bpf_probe_read_kernel(kept->data, frames, &scratch->frames[at]))
		return 0;
	copy.kept = kept;
	copy.from = head->sp - RED_ZONE;
	copy.at = frames;
	bpf_loop(STACK_COPY_BYTES / STACK_COPY_CHUNK + 8, copy_chunk, &copy, 0);
	restore_returns(&copy);
	head->size = copy.size;
	head->depth = n;
	head->hash = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32() | 1;
	this_cpu()->work += copy.size / 64;
	frames += head->size;
	if (frames > sizeof(kept->data))
		return 0;
	head->header.time = bpf_ktime_get_ns();
	head->header.type = EVENT_DEFERRED;
	if (!emit(kept, sizeof(*head) + frames, LOSS_DEFERRED_SKIPPED))
		head->hash = 0;
	head->header.type = 0;
	return head->hash;
}
