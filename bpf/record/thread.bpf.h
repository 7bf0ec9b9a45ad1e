/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The recording's own state of each thread and each CPU, see bpf/core/state.bpf.h. */
#pragma once

#include <linux/types.h>

#define CLASS_SLOTS 8 /* a power of two, so that the verifier accepts a masked index */

struct product_thread {
	__u32 waker;
	__u32 device;  /* the last one that completed a request on the wakeup's CPU */
	__u32 request; /* that request */
	__u32 unseen;  /* number of times between switches that were not seen, see skip_unseen() */
	__u64 ns[CLASS_SLOTS];
	/* Of its runs, but not counted as its CPU time. By the kernel's clock, a run may begin
	 * earlier and end earlier than by the tracepoint's: the sum of both is right. */
	__s64 stolen;
	__u64 run_stolen; /* of its last run; 0 below STOLEN_MIN */
	/* Of the pending interval: */
	__u32 pending_waker;
	__u32 pending_device;
	__u32 pending_request;
	__u32 pending_previous;
	__u8 pending_context;
	__u8 sequence;
	__u64 kernel_hash; /* with stack_at_switch_out */
	__u64 user_hash;
	__u64 probe_ns;	    /* that probes at calls of functions took from it */
	__u64 frozen_at;    /* with STATE_FROZEN: the end of its times */
	__u8 frozen_totals; /* they are sent */
};

struct product_cpu {
	__u32 device;  /* the last one that completed a request on this CPU */
	__u32 request; /* that request */
	int given;     /* pid of the thread that got it in the last switch that was seen */
};
