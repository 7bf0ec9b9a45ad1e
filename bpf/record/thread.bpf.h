/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The recording's own state of each thread and each CPU, see bpf/core/state.bpf.h. */
#pragma once

#include "abi/event.h"

struct product_thread {
	__u32 waker;
	__u32 device;  /* the last one that completed a request on the wakeup's CPU */
	__u32 request; /* that request */
	__u32 sender;  /* that sent to the socket for which it was woken; 0: unknown */
	__u32 unseen;  /* number of times between switches that were not seen, see skip_unseen() */
	__u8 stop;     /* of the current or the pending interval: enum stop_cause */
	__u8 pauses : 1;	/* it is about to sleep because it has written too much */
	__u8 frozen_totals : 1; /* with STATE_FROZEN: they are sent */
	__u8 named : 1; /* user space knows its name, if nothing else; see occupants.bpf.h */
	__u8 sequence;
	__u8 pending_context;
	union {
		__u64 stop_queue;    /* the cfs_rq whose quota may stop it; 0: none */
		__u64 forbidden_cpu; /* STOP_AFFINITY: one that it may not use, + 1 */
	};
	union {
		/* quota_stopped() or idle_time() then; STOP_DEADLINE: when it may run again. */
		__u64 stop_base;
		__u64 stopped; /* when the interval has ended: see struct event_interval */
	};
	__u64 ns[CLASS_COUNT];
	/* Of its runs, but not counted as its CPU time. By the kernel's clock, a run may begin
	 * earlier and end earlier than by the tracepoint's: the sum of both is right. */
	__s64 stolen;
	__u64 run_stolen; /* of its last run; 0 below STOLEN_MIN */
	/* Of the pending interval: */
	__u64 stopped_by; /* see struct event_interval */
	__u32 stopped_points;
	__u32 pending_waker;
	__u32 pending_device;
	__u32 pending_request;
	__u32 pending_previous;
	__u32 pending_sender;
	__u64 fault_mapping; /* address of what the last page fault was in; 0: there was none */
	__u64 kernel_hash;   /* with stack_at_switch_out */
	__u64 user_hash;
	__u64 probe_ns; /* that probes at calls of functions took from it */
};

/* The socket that became ready last on a CPU. */
struct ready_socket {
	__u64 until;  /* when that is no longer so; 0: it is not */
	__u64 socket; /* address of struct sock */
	__u32 seq;    /* sequence number of what is waited for */
	__u8 role;    /* enum segment_role */
	__u8 context; /* enum waker_context in which it became that */
};

struct product_cpu {
	__u32 device;  /* the last one that completed a request on this CPU */
	__u32 request; /* that request */
	int given;     /* pid of the thread that got it in the last switch that was seen */
	struct ready_socket ready;
};
