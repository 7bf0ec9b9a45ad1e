/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What virtual time keeps of each thread and each CPU, see bpf/core/state.bpf.h. */
#pragma once

#include <linux/types.h>
#include <stdbool.h>

/* What every switch needs comes first. */
struct product_thread {
	__u32 slot;	   /* number + 1; 0: none */
	__u32 ready_cpu;   /* the CPU it waits for + 1; 0: not known */
	__u32 left_cpu;	   /* the CPU that it had last + 1; 0: none */
	__u32 left_runs;   /* how often threads of the program came to have that before */
	bool carried;	   /* its wait ended, or will, when another thread's time came */
	bool full;	   /* threads of the program had all CPUs when it became ready */
	bool counted;	   /* in causal_running, though it has no CPU */
	__u64 global_then; /* the farthest time when it went to sleep, or was made to wait */
	__u64 given_then;  /* to those that had its CPU, when it became ready */
	__u64 used_then;   /* by them of the CPU, likewise */
	__u64 used;	   /* by them while it waited for it last */
	__u64 overtaken;   /* overtaking debt, ns: subtracted from later wait credit */
	__u64 in_vain;	   /* what was subtracted from the last one */
	__u64 slept_debt;  /* of its debt, what it came by without a CPU */
	__u64 blocked_ns;  /* of the wait that is over, if it can be a target of a kind */
	__u64 hit_at;	   /* when it was given time for a wait, how much, and for which */
	__u64 hit_ns;
	__u64 hit_from;
	__u64 hit_to;
	__u64 paused_at;  /* when its last pause began; 0: it had no CPU, or no tick is to know */
	__u64 paused_run; /* and when the run before; 0: a tick asked for the pause */
	__u64 least_debt; /* since it was asked to pay last */
	__u64 settle_at;  /* it is to pay then, or later */
	__u64 blocked_at; /* since when it has been seen to block the signal; 0: it does not */
};

struct product_cpu {
	__u32 slot;   /* of the thread that runs; 0: not recorded */
	bool waited;  /* and whether what it waited for is of interest */
	__u64 given;  /* to threads while they had it, in all */
	__u64 own_in; /* `own` of the thread that runs, when it began to */
	__u64 used;   /* ns, by threads that had it */
	__u64 in_at;  /* since when the present one has it */
	__u32 runs;   /* how often one of them came to have it */
};
