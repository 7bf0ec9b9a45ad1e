/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What user space and the kernel side of every product share. Each struct is one variable in a
 * section of its own (bpf/core/settings.bpf.h), by which user space finds it in any BPF object.
 */
#pragma once

#include "abi/event.h"

#define CAPTURE_SETTINGS_SECTION ".rodata.capture"
#define CAPTURE_STATE_SECTION	 ".data.capture"
#define CAPTURE_CPUS_SECTION	 ".data.cpus"

#define CAPTURE_MAX_CPUS     1024
#define CAPTURE_SYSCALLS     512
#define CAPTURE_HASH_THREADS 65536 /* capacity of the hash map of states, see states_in_hash */

#define CAPTURE_LISTENERS   16
#define CAPTURE_SOCKET_PATH 112 /* sun_path of struct sockaddr_un, rounded up to whole words */

/* Where a server accepts connections whose requests are observed, see connections.bpf.h. */
struct capture_listener {
	__u64 path[CAPTURE_SOCKET_PATH / 8]; /* of a Unix socket; all 0: TCP */
	__u32 source;			     /* the number that its requests have */
	__u16 port;
	__u16 reserved;
};

/* What a system call does to the socket that is its first argument. */
enum capture_transfer {
	TRANSFER_NONE = 0,
	TRANSFER_RECEIVE = 1,
	TRANSFER_SEND = 2,
	TRANSFER_POLL = 3, /* it waits for several */
};

/* Constant once the programs are loaded: the verifier removes branches that cannot be taken. */
struct capture_settings {
	__u64 grid_seed;     /* of the sampling points, see abi/grid.h */
	__u64 ring_wake_at;  /* bytes queued in a ring that wake user space */
	__u64 ring_copies;   /* bytes queued in a ring up to which it takes copies of stacks */
	__u64 target_cgroup; /* id of a version 2 group */
	/* Kernel stacks begin with the caller of the function in this range; 0: unknown. */
	__u64 schedule_range[2];
	__u64 wakeup_range[2];
	/* Bytes from a CPU's run queue to its preempt count, see context.bpf.h; 0: unknown. */
	__s64 preempt_count_from_rq;
	__s64 steal_time_from_rq; /* the same to the time that the hypervisor took from the CPU */
	__u32 period_ns;	  /* of sampling */
	__u32 n_cpus;		  /* that the kernel can have */
	__u32 ring_mask;	  /* number of rings, a power of two, - 1 */
	__u32 pid_namespace;	  /* inode of dwell's; 0: the initial one */
	__u32 own_tgid;		  /* dwell's, which is never recorded */
	__u32 zygote_tgid;	  /* nor is this, or its children: privsep/privsep.h; 0: none */
	__u32 command_tgid;	  /* recorded from its exec on; 0: no command */
	__u32 target_kind;	  /* enum target_kind */
	__u32 user_worker_flag; /* of tasks that work in the kernel for a process; 0: none has it */
	__u32 frozen_flag;	/* of tasks that a freezer has stopped; 0: their state says so */
	/* Numbers of subsystems of control groups; less than 0: the kernel has none. */
	__s32 freezer_subsystem, memory_subsystem;
	__s32 nr_poll, nr_ppoll, nr_wait4, nr_waitid;
	__s32 nr_epoll_wait, nr_epoll_pwait, nr_epoll_pwait2;
	__u8 trace_mode;	  /* emit intervals without a sampling point, too */
	__u8 stack_at_switch_out; /* the last rung: take stacks there */
	__u8 use_tables;	  /* unwind user stacks by .eh_frame tables */
	__u8 follow;		  /* record threads that recorded threads create */
	__u8 linked;	     /* record kernel threads, and those that helpers create, as helpers */
	__u8 return_probes;  /* functions have return probes: their callers must be looked up */
	__u8 states_in_hash; /* not in task storage, see state.bpf.h */
	__u8 syscall_takes_fd[CAPTURE_SYSCALLS]; /* whether the first argument is a descriptor */
	__u8 syscall_transfer[CAPTURE_SYSCALLS]; /* enum capture_transfer */
	__u8 listens_at_ports;			 /* whether there is such a listener */
	__u8 listens_at_paths;
	__u32 n_listeners;
	struct capture_listener listeners[CAPTURE_LISTENERS];
};

/* Changes while the programs run. */
struct capture_state {
	/* Written by user space. */
	__u8 active;  /* 0: nothing is counted or emitted */
	__u8 spacing; /* sampling points of off-CPU intervals lie 2^spacing periods apart */
	__u8 reserved[2];
	/* Part of what identifies stacks and paths that were sent: after a change they are sent
	 * again. */
	__u64 sent_salt;
	/* Written by the kernel side. */
	__u32 last_thread; /* the highest thread number given so far */
	__u64 losses[LOSS_COUNT];
	__u64 ended;   /* number of recorded threads that have exited */
	__u64 marked;  /* number of threads marked as targets, by all walks over tasks */
	__u64 entered; /* processes that were moved into the recorded cgroup */
	__u64 left;    /* recorded threads that count_targets found; user space resets it */
	/* ns by which CLOCK_MONOTONIC is ahead of the clocks of run queues: */
	__s64 clock_read;  /* at most so many, by read_clocks */
	__s64 clock_ahead; /* written by user space; 0: unknown */
};

#define CAPTURE_TICK_COSTS 32 /* a power of two */

/* The cost of a tick's program. */
struct capture_tick {
	__u32 ns;   /* its run time, without what the hypervisor is known to have taken from it */
	__u32 work; /* frames that it walked, and bytes of stack memory that it sent / 64 */
};

/* Counts of each CPU, in cache lines of its own. */
struct capture_cpu {
	__u64 switches; /* of all threads, recorded or not */
	__u64 ticks;	/* of the sampling clock */
	struct capture_tick
		costs[CAPTURE_TICK_COSTS]; /* tick i, from 0, at i % CAPTURE_TICK_COSTS */
} __attribute__((aligned(64)));
