/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Decides in the kernel which kind a wait was of, by abi/kind_steps.h, for targets that are
 * kinds of waiting.
 */
#pragma once

#include "abi/kind_steps.h"
#include "bpf/core/descriptor.bpf.h"
#include "bpf/core/scratch.bpf.h"
#include "bpf/core/state.bpf.h"

/* Written by user space. */
__u32 kind_n_ranges;
struct kind_range kind_ranges[KIND_RANGES_MAX]; /* sorted by start */
__u8 kind_by_syscall[CAPTURE_SYSCALLS];		/* enum wait_kind, by system call */

/*
 * Index + 1 in kind_ranges of the first clue that the function at @address gives; 0: none.
 * (Global: verified once.)
 */
GLOBAL __u32 kind_range_of(__u64 address)
{
	__u32 low = unknown_zero, high = kind_n_ranges;

	for (int i = 0; i < KIND_RANGE_STEPS && low < high; i++) {
		__u32 middle = low + (high - low) / 2;

		if (kind_ranges[middle & (KIND_RANGES_MAX - 1)].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	if (low >= kind_n_ranges || kind_ranges[low & (KIND_RANGES_MAX - 1)].start > address)
		return 0;
	return low + 1;
}

/* A walk over the kernel stack in a scratch, innermost frame first. */
struct kind_walk {
	__u32 use; /* enum scratch_use */
	__u32 n;   /* frames in its raw[] */
	struct kind_evidence evidence;
};

static long kind_frame(__u32 index, void *arg)
{
	struct kind_walk *walk = arg;
	struct scratch *scratch = scratch_for(walk->use);
	__u64 start = 0;
	__u32 at;

	if (!scratch || index >= walk->n)
		return loop_ends(true);
	/* Return addresses: that of a call at the end of a function is in the next function. */
	at = kind_range_of(scratch->raw[index & (RAW_FRAMES - 1)] - (index ? 1 : 0));
	if (!at--)
		return loop_ends(false);
	for (__u32 i = 0; i < KIND_CLUES_PER_FUNCTION; i++) {
		const struct kind_range *range = &kind_ranges[(at + i) & (KIND_RANGES_MAX - 1)];

		if (!i)
			start = range->start;
		if (at + i >= kind_n_ranges || range->start != start)
			break;
		kind_evidence__add(&walk->evidence, &range->clue);
	}
	return loop_ends(false);
}

/*
 * The kind (enum wait_kind) of @wait, whose kernel stack of @n frames is in scratch @use.
 * (Global: verified once.)
 */
GLOBAL __u32 kind_of_wait(__u32 use, __u32 n, struct kind_wait *wait)
{
	struct kind_walk walk = {.use = use, .n = n};

	if (!wait)
		return KIND_NONE;
	bpf_loop(DWELL_MAX_KERNEL_FRAMES, kind_frame, &walk, 0);
	return kind__decide(&walk.evidence, wait);
}

/* Sets the object of @wait: the file or socket of descriptor @fd of @task. */
static __always_inline void describe_object(struct kind_wait *wait, struct task_struct *task,
					    __u32 fd)
{
	struct file *file = file_of_descriptor(task, fd);
	struct event_object object = {};

	if (!file)
		return;
	describe_inode(&object, BPF_CORE_READ(file, f_inode));
	if (object.type == OBJECT_SOCKET)
		describe_socket(&object, socket_of(file));
	wait->object = object.type;
	wait->family = object.family;
	wait->protocol = object.protocol;
	wait->mode = object.mode;
}

/* Describes in @wait the last wait of @task, current, all but its kernel stack. */
static __always_inline void describe_wait(struct kind_wait *wait, struct task_struct *task,
					  struct thread_state *state)
{
	long nr = syscall_of(task);

	wait->class = state->class;
	wait->flags = state->interval_flags;
	if (nr >= 0 && nr < CAPTURE_SYSCALLS)
		wait->syscall_kind = kind_by_syscall[nr & (CAPTURE_SYSCALLS - 1)];
	if (!state->lock) /* else it waited for that lock, not for a descriptor */
		describe_object(wait, task, waited_descriptor(task, nr, true));
}
