/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Takes stacks. The frames of a stack are sent once; afterwards its 64-bit hash stands for it. */
#pragma once

#include "bpf/core/scratch.bpf.h"
#include "bpf/core/state.bpf.h"
#include "bpf/core/unwind.bpf.h"

/*
 * Hashes of stacks that were sent, salted by sent_salt(): one slot per bucket, and all 64 bits are
 * compared. A stack whose slot another one has taken is sent again.
 */
#define SEEN_SLOTS (1 << 16)
__u64 seen_stacks[SEEN_SLOTS];

static __always_inline __u64 stack_hash_add(__u64 hash, __u64 frame)
{
	hash = (hash ^ frame) * 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 29);
}

static __always_inline bool stack_seen(__u64 hash)
{
	return seen_stacks[hash & (SEEN_SLOTS - 1)] == (hash ^ sent_salt());
}

static __always_inline void see_stack(__u64 hash)
{
	seen_stacks[hash & (SEEN_SLOTS - 1)] = hash ^ sent_salt();
}

/* To be called after the event that has the frames was sent. */
static __always_inline void stack_sent(const struct event_stack *stack)
{
	if (stack->kernel_depth)
		see_stack(stack->kernel_hash);
	if (stack->user_depth)
		see_stack(stack->user_hash);
}

/* Global (__noinline) functions are verified once, not for each path that leads to them. */

/*
 * The index of the first frame of interest in raw: the caller of the innermost function at [@low,
 * @high), or 0. The frames before it belong to the tracepoint and to this program.
 */
GLOBAL __u32 stack_begin(struct scratch *scratch, __u32 depth, __u64 low, __u64 high)
{
	if (!scratch)
		return 0;
	for (__u32 i = 0; i < PROBE_FRAMES; i++) {
		if (i < depth && scratch->raw[i] >= low && scratch->raw[i] < high)
			return i + 1;
	}
	return 0;
}

/* State of a hash over the frames of a scratch, from frames[@at] on. */
struct frames_hash {
	__u64 hash;
	__u32 use; /* of the scratch */
	__u32 at;
};

static long hash_frame(__u32 index, void *arg)
{
	struct frames_hash *hashing = arg;
	struct scratch *scratch = scratch_for(hashing->use);

	if (!scratch)
		return loop_ends(true);
	hashing->hash = stack_hash_add(
		hashing->hash, scratch->frames[(hashing->at + index) & (SCRATCH_FRAMES - 1)]);
	return loop_ends(false);
}

/*
 * The hash of the @n frames at frames[@at] of scratch @use, seeded with @hash. With bpf_loop(), the
 * verifier checks one iteration; of a loop in C it checks all (7,700 instructions in every
 * program).
 */
GLOBAL __u64 hash_frames(__u32 use, __u32 at, __u32 n, __u64 hash)
{
	struct frames_hash hashing = {.hash = hash, .use = use, .at = at};

	if (settings.use_tables) {
		bpf_loop(n, hash_frame, &hashing, 0);
		return hashing.hash;
	}
	for (__u32 i = 0; i < DWELL_MAX_KERNEL_FRAMES && i < n; i++)
		if (hash_frame(i, &hashing))
			break;
	return hashing.hash;
}

/* Sets @stack for the @depth kernel frames in raw, and moves them to scratch->frames. */
static __always_inline void take_kernel_stack(struct scratch *scratch, __u32 use,
					      struct event_stack *stack, __u32 depth,
					      const volatile __u64 range[2])
{
	__u32 begin = stack_begin(scratch, depth, range[0], range[1]) & (PROBE_FRAMES_MASK);
	__u32 n = depth - begin;

	if (n > DWELL_MAX_KERNEL_FRAMES) /* never: begin <= depth */
		return;
	bpf_probe_read_kernel(scratch->frames, n * sizeof(__u64), &scratch->raw[begin]);
	this_cpu()->work += n;
	stack->kernel_end = depth >= DWELL_MAX_KERNEL_FRAMES ? STACK_TOO_DEEP : STACK_COMPLETE;
	stack->kernel_hash = hash_frames(use, 0, n, 1);
	if (!stack_seen(stack->kernel_hash))
		stack->kernel_depth = n;
}

/* Sets @stack for the @n user frames at frames[@at] of scratch @use. */
static __always_inline void take_user_stack(struct event_stack *stack, __u32 use, __u32 at, __u32 n)
{
	stack->user_hash = hash_frames(use, at, n, 2 + stack->user_end);
	if (!stack_seen(stack->user_hash))
		stack->user_depth = n;
}

/*
 * Walks the user stack of current into scratch->frames[@at...], by unwind tables if the kernel has
 * bpf_loop() (5.17), else by frame pointers. Returns the number of frames; *@end: enum stack_end.
 */
static __always_inline __u32 walk_user_stack(void *ctx, struct scratch *scratch, __u32 use,
					     __u32 at, __u8 *end)
{
	long size;

	if (settings.use_tables) {
		__u64 walked = unwind_current(use, at);

		*end = walked >> 32;
		return (__u32)walked;
	}
	size = bpf_get_stack(ctx, &scratch->frames[at], DWELL_MAX_KERNEL_FRAMES * sizeof(__u64),
			     BPF_F_USER_STACK);
	*end = size > 0 ? STACK_FRAME_POINTER : STACK_UNREADABLE;
	return size > 0 ? (__u32)size / sizeof(__u64) : 0;
}

/* Whether the memory of the old program is released: within exec, that is before task_rename. */
static __always_inline bool lost_its_memory(struct task_struct *task)
{
	struct pt_regs *regs;
	__u64 word;

	if (!task_in_exec(task))
		return false;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	return bpf_probe_read_user(&word, sizeof(word), (void *)REGS_SP(regs));
}

/*
 * Takes the stacks of current into @scratch, the one for @use, and sets @stack. The kernel stack
 * begins with the caller of the function in @range. @user: take the user stack, too.
 */
static __always_inline void take_stacks(void *ctx, struct scratch *scratch, __u32 use,
					struct event_stack *stack, const volatile __u64 range[2],
					bool user)
{
	long size = bpf_get_stack(ctx, scratch->raw, DWELL_MAX_KERNEL_FRAMES * sizeof(__u64), 0);
	__u32 at, n;

	__builtin_memset(stack, 0, sizeof(*stack));
	if (size > 0)
		take_kernel_stack(scratch, use, stack, (__u32)size / sizeof(__u64), range);
	scratch->raw[(size > 0 ? size / sizeof(__u64) : 0) & (RAW_FRAMES - 1)] = 0;
	if (!user || lost_its_memory(bpf_get_current_task_btf()))
		return;
	at = stack->kernel_depth & (RAW_FRAMES - 1);
	n = walk_user_stack(ctx, scratch, use, at, &stack->user_end);
	if (stack->user_end == STACK_NO_MAPPING || stack->user_end == STACK_NO_TABLE)
		stack->user_hash = send_deferred(use, at, n);
	if (!stack->user_hash)
		take_user_stack(stack, use, at, n);
}

/* Emits the event in @scratch, with a head of @head_size bytes and the frames of @stack. */
static __always_inline bool emit_with_stack(struct scratch *scratch, __u32 head_size,
					    const struct event_stack *stack, enum loss otherwise)
{
	__u32 frames = (__u32)stack->kernel_depth + stack->user_depth;

	if (frames > MAX_FRAMES)
		return false;
	if (!emit(&scratch->head[HEAD_SIZE - head_size], head_size + frames * sizeof(__u64),
		  otherwise))
		return false;
	stack_sent(stack);
	return true;
}
