/* SPDX-License-Identifier: BSD-2-Clause */
/* What the programs need to know about the running kernel. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct btf;

struct kernel_info {
	bool sched_exit_tp;  /* 6.15: the end of __schedule() in the thread that runs again */
	bool contention;     /* 5.19: lock:contention_begin and _end */
	bool io_start;	     /* 6.5: block:block_io_start */
	bool sock_length;    /* 6.3: sock:sock_send_length, _recv_length and sk_data_ready */
	bool bpf_loop;	     /* 5.17: user stacks can be walked by unwind tables */
	bool hash_allocates; /* 6.1: hash maps of perf_event programs may allocate their elements */
	bool reliable_task_storage; /* 6.2: look-ups work in an interrupt of a look-up, too */
	bool copy_from_user_task;   /* 5.18: user memory of a sleeping task can be read */
	bool uprobe_multi;	    /* 6.6: one link for probes at many places */
	bool finish_task_switch;    /* is in BTF: fexit can attach to it */
	bool filemap_fault;	    /* 6.13: page faults of files have a tracepoint */
	bool frozen_state;	    /* 6.1: tasks that a freezer stops have a state of their own */
	bool task_throttled;	    /* 6.18: a quota stops tasks, before: parts of groups */
	uint8_t pause_argument;	    /* of balance_dirty_pages: its index; 0: there is none */
	int freezer_subsystem;	    /* of control groups: their numbers; less than 0: none */
	int memory_subsystem;
	bool user_worker; /* 6.4: PF_USER_WORKER marks what works in the kernel for a process */
	char kprobe[64];  /* the function for a kprobe, see kernel__find_kprobe() */
	uint32_t pid_namespace;	       /* inode of dwell's; 0: the initial one */
	int64_t preempt_count_from_rq; /* see context.bpf.h; 0: unknown */
	int64_t steal_time_from_rq;    /* the same; 0 if the hypervisor is not KVM, too */
	uint64_t fault_range[2];       /* filemap_fault(), the same */
	uint64_t schedule_range[2];    /* __schedule(), from kallsyms; 0: unknown */
	uint64_t wakeup_range[2];      /* try_to_wake_up() */
};

/* Sums over all CPUs since boot; 0: unknown. */
struct kernel_counts {
	uint64_t switches;
	uint64_t busy_ns;
	uint64_t idle_ns;
};

void kernel__count(struct kernel_counts *counts);

/* How many CPUs there may be; or a negative errno with a message, such as -ENOENT without /sys. */
int kernel__cpus(void);

/*
 * Sets @info, and *@types to the kernel's types, which become the caller's. With a message:
 * -ENOTSUP: no BTF; -ENOENT: no /sys; -ENOMEM, -EMFILE, -ENFILE; -EINVAL: /proc is of another pid
 * namespace.
 */
int kernel__probe(struct kernel_info *info, struct btf **types);

/*
 * Sets info->kprobe to the name in kallsyms, maybe with a suffix, of the function for a kprobe.
 * False: there is none, or the kernel has no kprobes. Reads all symbols, which takes 50 ms.
 */
bool kernel__find_kprobe(struct kernel_info *info);
