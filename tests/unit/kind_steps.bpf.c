// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/* The kernel side's classifier of waits, to be run by BPF_PROG_TEST_RUN: test_kinds_kernel.c. */
#pragma clang diagnostic ignored "-Wunused-function" /* only a part of the headers is used */

#include "bpf/causal/thread.bpf.h"
#include "bpf/causal/kind.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Asked. */
__u64 frames[DWELL_MAX_KERNEL_FRAMES]; /* of the kernel stack, innermost first */
__u32 n_frames;
__u8 waiter_class;
__u64 waiter_lock;

struct kind_wait wait; /* asked of classify(), answered by describe() */
__u32 kind;	       /* answered */

SEC("raw_tp")
int classify(void *ctx)
{
	struct scratch *scratch = scratch_for(SCRATCH_INTERVAL);
	struct kind_wait asked = wait;

	if (!scratch)
		return 0;
	for (int i = 0; i < DWELL_MAX_KERNEL_FRAMES; i++)
		scratch->raw[i] = frames[i];
	kind = kind_of_wait(SCRATCH_INTERVAL, n_frames, &asked);
	return 0;
}

/* A map: user space has no such type. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct thread_state);
} waiters SEC(".maps");

/* Of current, which is within bpf(): that stands for the system call that waited. */
SEC("raw_tp")
int describe(void *ctx)
{
	struct kind_wait described = {};
	struct thread_state *waiter;
	__u32 zero = 0;

	waiter = bpf_map_lookup_elem(&waiters, &zero);
	if (!waiter)
		return 0;
	waiter->class = waiter_class;
	waiter->lock = waiter_lock;
	describe_wait(&described, bpf_get_current_task_btf(), waiter);
	wait = described;
	return 0;
}
