/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes at the entries and returns of functions whose calls are measured. */
#pragma once

#include <linux/types.h>

/* Probes at a time. The number of a probe, from 1, is the cookie of its uprobes. */
#define CALL_PROBES 4096

/* The kinds of probes. */
#define CALL_PROBE_STEPPED 1 /* the kernel single-steps the instruction at the entry */
#define CALL_PROBE_EXITS   2 /* probes where the function is left, instead of a return probe */
#define CALL_PROBE_KINDS   4

/* The last probes are at functions of dwell, one of each kind, to measure what probes take. */
#define CALL_PROBE_CALIBRATION (CALL_PROBES - CALL_PROBE_KINDS)

/* Functions of programs, at most. */
#define CALL_PROBE_FUNCTIONS (CALL_PROBE_CALIBRATION - 1)

/* The state of a probe, in memory that user space maps. */
struct call_probe_state {
	/* Written by the kernel side. */
	__u64 entries; /* of recorded threads */
	__u64 ns;      /* run time of the programs at its entries and returns */
	__u64 inside;  /* of those at functions of dwell: lengths of calls, in all */
	__u64 pending; /* calls that are measured, and have not returned: at most this many */
	/* Written by user space. */
	__u64 open;	/* calls that begin are measured */
	__u64 window;	/* counts the times that it was opened */
	__u64 overhead; /* ns that calls seem longer than they are */
	__u64 each;	/* ns that a call takes from its thread */
};

/* A call that has not returned. Of a thread, a probe, and the place of its return address. */
struct open_call_key {
	__u32 thread;
	__u32 probe;
	__u64 slot;
};

struct open_call {
	__u64 begun;
	__u64 window;	/* those of earlier ones may have returned while there were no probes */
	__u64 probe_ns; /* that the thread has lost to probes before */
	__u64 function;
	__u64 caller;
};
