/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What user space sets in every product's kernel side, and what that counts. Each is one
 * variable in a section of its own (bpf/core/state.bpf.h), so that user space finds it in
 * any object.
 */
#pragma once

#include "abi/event.h"

#define CAPTURE_SETTINGS_SECTION ".rodata.capture"
#define CAPTURE_STATE_SECTION	 ".data.capture"
#define CAPTURE_CPUS_SECTION	 ".data.cpus"

#define CAPTURE_MAX_CPUS     1024
#define CAPTURE_SYSCALLS     512
#define CAPTURE_HASH_THREADS 65536 /* with a state at a time, where states are in a hash map */

/* Fixed before the programs are loaded: the verifier drops the branches that they rule out. */
struct capture_settings {
	__u64 grid_seed;     /* of the sampling points, see abi/grid.h */
	__u64 ring_wake_at;  /* bytes queued in a ring that wake user space */
	__u64 target_cgroup; /* id of a version 2 group */
	/* Addresses of functions at which the frames of interest begin, from kallsyms; 0: unknown.
	 */
	__u64 schedule_range[2];
	__u64 wakeup_range[2];
	/* Bytes from a CPU's run queue to its preempt count, see kernel.bpf.h; 0: unknown. */
	__s64 preempt_count_from_rq;
	__u32 period_ns;     /* of sampling */
	__u32 ring_mask;     /* rings - 1; there is a power of two of them */
	__u32 pid_namespace; /* dwell's, by inode; 0: the initial one */
	__u32 own_tgid;	     /* dwell's: never recorded, unless asked */
	__u32 command_tgid;  /* recorded from its exec on; 0: no command */
	__u32 target_kind;   /* enum target_kind */
	__s32 nr_poll, nr_ppoll, nr_wait4, nr_waitid;
	__u8 trace_mode;			 /* emit every interval, sampling points or not */
	__u8 stack_at_switch_out;		 /* the last rung: nowhere else to take it */
	__u8 use_tables;			 /* unwind user stacks by .eh_frame tables */
	__u8 follow;				 /* record what recorded threads create */
	__u8 states_in_hash;			 /* not in task storage, see state.bpf.h */
	__u8 syscall_takes_fd[CAPTURE_SYSCALLS]; /* system calls with a descriptor first */
};

/* Shared while the programs run. */
struct capture_state {
	/* Written by user space. */
	__u8 active;  /* nothing is counted or emitted while 0 */
	__u8 spacing; /* off-CPU sampling points lie 2^spacing periods apart */
	__u8 reserved[2];
	/* Written by the kernel side. */
	__u32 last_thread; /* number of the thread seen last */
	__u64 losses[LOSS_COUNT];
	__u64 ended;  /* recorded threads that have */
	__u64 marked; /* threads marked by the last walk over all tasks */
	__u64 left;   /* recorded threads that the last count found */
};

/* What each CPU counts, in a cache line of its own. */
struct capture_cpu {
	__u64 switches; /* of the whole machine, that were seen */
	__u64 ticks;	/* of the sampling clock */
	__u64 tick_ns;	/* that their programs took; at most the clock's period each */
} __attribute__((aligned(64)));
