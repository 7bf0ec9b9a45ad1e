/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes at the entries and returns of functions whose calls are measured. */
#pragma once

#include <linux/types.h>

/* Functions at a time. The number of a probe, from 1, is the cookie of its uprobes. */
#define CALL_PROBES 4096

/* Probes at functions of dwell, to measure what probes take. */
#define CALL_PROBE_EMULATED 0
#define CALL_PROBE_STEPPED  (CALL_PROBES - 1)

/* The state of a probe, in memory that user space maps. */
struct call_probe_state {
	/* Written by the kernel side. */
	__u64 entries; /* of recorded threads */
	__u64 ns;      /* run time of the programs at its entries and returns */
	__u64 inside;  /* of CALL_PROBE_EMULATED and _STEPPED: lengths of calls, in all */
	/* Written by user space. */
	__u64 open;	/* calls that begin are measured */
	__u64 overhead; /* ns that calls seem longer than they are */
};

/* A call that has not returned. Of a thread, a probe, and the place of its return address. */
struct open_call_key {
	__u32 thread;
	__u32 probe;
	__u64 slot;
};

struct open_call {
	__u64 begun;
	__u64 function;
	__u64 caller;
};
