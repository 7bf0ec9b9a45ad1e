/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Virtual time's state of each thread and each CPU, see bpf/core/state.bpf.h. A "peer" is another
 * thread of the profiled program; a "credit" is a delay added to a thread's `own`.
 */
#pragma once

#include <linux/types.h>
#include <stdbool.h>

/* What every switch needs comes first. Times are ns. */
struct product_thread {
	__u32 slot;	      /* index in the area + 1; 0: none */
	__u32 ready_cpu;      /* the CPU on whose run queue it is, + 1; 0: unknown */
	__u32 last_cpu;	      /* the CPU that it left last, + 1; 0: none */
	__u32 last_cpu_runs;  /* product_cpu.runs of that CPU when it left */
	bool woken_by_peer;   /* a peer woke it since its last switch-out, and passed its time on */
	bool cpus_full;	      /* peers had all CPUs when it became runnable */
	bool cpus_busy;	      /* no CPU was idle then */
	bool counted_running; /* in causal_running, though it has no CPU */
	bool counted_queued;  /* in product_cpu.queued of ready_cpu */
	__u64 ran_ns;	      /* for which it ran, without pauses, since its last sample; before
				 its first, also the time from the CPU's last tick to its begin */
	__u64 ran_until;      /* until when it is in ran_ns, or was sampled */
	__u64 global_at_switch_out; /* causal_area.global then */
	__u64 cpu_credit_at_ready;  /* causal_cpu_credit() when it became runnable */
	__u64 cpu_used_at_ready;    /* causal_cpu_used(), likewise */
	__u64 overtaking_debt;	    /* subtracted from later wait credit */
	__u64 overtaking_discount;  /* what was subtracted from the last wait */
	__u64 off_cpu_debt;	    /* the part of its debt that arose while it had no CPU */
	__u64 blocked_ns;     /* of the last wait if a target is a kind; 0: attributed, or none */
	__u64 wait_credit_at; /* when it was last credited for a wait; 0: the last had no credit */
	__u64 wait_credit_ns; /* that credit */
	__u64 wait_credit_from;	 /* begin of that wait */
	__u64 wait_credit_to;	 /* and its wakeup */
	__u64 least_debt;	 /* since debt was last due, with causal_settle */
	__u64 settle_at;	 /* debt is not due before */
	__u64 io_global;	 /* causal_area.global when it began asynchronous I/O */
	bool io_pending;	 /* it has not asked for the result since */
	__u64 failed_global;	 /* causal_area.global at its last failed pause */
	__u64 signal_blocked_at; /* when it was first seen to block the signal; 0: it does not */
};

struct product_cpu {
	__u32 slot;		/* of the thread that runs, + 1; 0: not recorded */
	bool kind_pending;	/* the wait of that thread is to be attributed to a kind */
	bool runs_other;	/* a thread of another program runs */
	__u64 credit;		/* ns credited to threads while they ran on it; sum of past runs */
	__u64 own_at_switch_in; /* `own` of the thread that runs, at its switch-in */
	__u64 used;		/* ns that threads ran on it; sum of past runs */
	__u64 switched_in_at;	/* when the present thread was switched in */
	__u32 runs;		/* number of switch-ins that did not end a pause */
	__u32 queued;		/* threads of the program on its run queue that wait for it */
};
