/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of virtual time, shared by three: the kernel side, which decides who owes
 * how much; libdwell.so inside the profiled program, which pays; and dwell, which runs
 * the experiments. The program can write to all of it, so none of the others trusts it
 * further than its own results.
 *
 * Virtual time (docs/virtual-time.md). Each thread has a clock that runs behind real time by
 * what it was given, `own`: for samples in the target (the virtual speedup), for its pauses, and
 * from its wakers. The largest of all is `global`. A thread pauses
 * for the difference. Coz, SOSP'15, 3.4; Blocked Samples, OSDI'24, 3.3.
 *
 * All times are ns; sums that wrap are compared by their signed difference.
 */
#pragma once

#include "abi/wait_kind.h"
#include "include/dwell.h"

#define CAUSAL_ENVIRONMENT "DWELL_CAUSAL" /* names the descriptor */
#define CAUSAL_MAGIC	   0x6c61737561636c64ull
#define CAUSAL_VERSION	   4
#define CAUSAL_PAGE	   4096

/* Threads have a slot near the one that their tid hashes to. */
#define CAUSAL_SLOT_BITS   15
#define CAUSAL_SLOTS	   (1 << CAUSAL_SLOT_BITS)
#define CAUSAL_PROBES	   16
#define CAUSAL_HOME(tid)   (((uint32_t)(tid)*2654435769u) >> (32 - CAUSAL_SLOT_BITS))
#define CAUSAL_SLOT(place) ((place) & (CAUSAL_SLOTS - 1))

/*
 * The handler's signal mask is its signature: every signal but the two that cannot be
 * blocked. The kernel side sends the signal to none that has another handler, or none.
 */
#define CAUSAL_HANDLER_MASK 0xfffffffffffbfeffull

enum causal_pausing {
	CAUSAL_RUNS = 0,
	CAUSAL_ASKED = 1,  /* the signal is on its way */
	CAUSAL_PAUSES = 2, /* it is in the handler */
};

struct causal_slot {
	uint64_t own;
	uint64_t until;	    /* a pause lasts until `own` is as large as this */
	uint64_t asleep;    /* ns of it that hold no CPU */
	uint64_t paused_ns; /* in all */
	uint32_t pauses;
	uint32_t tid;	  /* in the thread's own pid namespace; 0: free */
	uint32_t epoch;	  /* of `own`: in another one it counts as `global` */
	uint32_t pausing; /* enum causal_pausing */
	uint64_t asked;	  /* when the pause was, on the monotonic clock; then, when it ended */
	uint64_t away;	  /* ns since then off the CPU, which the kernel side counts */
};

struct causal_area {
	struct dwell_points points; /* first: include/dwell.h maps this much */
	uint64_t magic;
	uint32_t version;
	uint32_t signal;
	uint64_t size; /* of this struct */
	uint64_t global;
	uint32_t epoch; /* goes up when debts are forgiven: pauses end then */
	uint32_t ended; /* no more pauses */
	struct causal_slot slot[CAUSAL_SLOTS] __attribute__((aligned(CAUSAL_PAGE)));
};

DWELL_ASSERT(causal_slot_size, sizeof(struct causal_slot) == 64);

/* What is sped up at a time: [0] is the experiment's target, the others all the time. */
#define CAUSAL_TARGETS	   4U
#define CAUSAL_RANGES	   8192UL /* of code, of one target */
#define CAUSAL_OUT_RANGES  65536  /* of code that is not in scope, within files that are */
#define CAUSAL_CLASS_SLOTS 8	  /* a power of two above CLASS_COUNT */
#define CAUSAL_WHOLE	   1000	  /* a speedup of 100 % */

enum causal_match {
	CAUSAL_MATCH_NOTHING = 0,
	CAUSAL_MATCH_CODE = 1,	/* the innermost frame in scope lies in its ranges */
	CAUSAL_MATCH_STACK = 2, /* any frame does, within a caller's if it has such ranges */
	CAUSAL_MATCH_CLASS = 3, /* a class of waiting */
	CAUSAL_MATCH_KIND = 4,	/* kinds of waiting */
};

/* Written by user space, not by the program: in the kernel side's own data. */
struct causal_target_state {
	uint32_t match;	  /* enum causal_match */
	uint32_t speedup; /* in parts of CAUSAL_WHOLE */
	uint32_t n_ranges;
	uint32_t n_callers;
	uint32_t class; /* enum wait_class */
	uint32_t reserved;
	struct kind_set kinds; /* of CAUSAL_MATCH_KIND */
	uint64_t hit_ns;       /* time of samples that matched, since the start */
};

/* Code in a file, see UNWIND_CODE(). */
struct causal_range {
	uint64_t start;
	uint64_t end; /* not included */
};

/* Ranges of targets, then of their callers, CAUSAL_RANGES each, then out of scope: one array. */
#define CAUSAL_RANGES_OF(target)  ((target)*CAUSAL_RANGES)
#define CAUSAL_CALLERS_OF(target) ((CAUSAL_TARGETS + (target)) * CAUSAL_RANGES)
#define CAUSAL_OUT_OF_SCOPE	  (2UL * CAUSAL_TARGETS * CAUSAL_RANGES)
#define CAUSAL_ALL_RANGES	  (CAUSAL_OUT_OF_SCOPE + CAUSAL_OUT_RANGES)

/* What the kernel side saw of a progress point, at its last look. */
struct causal_seen_point {
	uint64_t count;
	uint64_t changed_at;	 /* the look that saw it change last */
	uint64_t changed_global; /* and what `global` was then */
	uint64_t area;		 /* integral of count over virtual time; wraps */
};

/* All points at a moment; `round` is odd while it is written. */
struct causal_look {
	uint64_t round;
	uint64_t time;
	uint64_t global;
	struct causal_seen_point point[DWELL_POINTS];
};

/* Why a thread that owed time was not paused: counted, with the tid of the first of each. */
enum causal_unpaused {
	CAUSAL_NO_HANDLER = 0, /* libdwell.so is not in the process */
	CAUSAL_BLOCKED = 1,    /* the program blocks the signal */
	CAUSAL_NOT_SENT = 2,   /* the kernel refused */
	CAUSAL_NO_SLOT = 3,    /* more threads than slots */
	CAUSAL_UNPAUSED = 4,
};

/* ns of all that was sampled on a CPU, by class: in a cache line of its own. */
struct causal_cpu_counts {
	uint64_t class_ns[CAUSAL_CLASS_SLOTS];
} __attribute__((aligned(64)));
