/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of virtual time. Three share it: the kernel side, which computes debts; libdwell.so
 * inside the profiled program, which pauses threads; and dwell, which runs the experiments. The
 * program can write to all of it: wrong values may spoil its own results, but nothing else.
 *
 * Virtual time (docs/virtual-time.md): each thread has a clock that lags real time by `own`, the
 * delay credited to it for samples in the target (the virtual speedup), for its pauses, and by its
 * wakers. The largest of all is `global`. A thread pauses for the difference, its debt. Coz,
 * SOSP'15, section 3.4; Blocked Samples, OSDI'24, section 3.3.
 *
 * All times are ns. Sums may wrap, and are compared by their signed difference.
 */
#pragma once

#include "abi/wait_kind.h"
#include "include/dwell.h"

#define CAUSAL_ENVIRONMENT "DWELL_CAUSAL" /* names the descriptor */
#define CAUSAL_MAGIC	   0x6c61737561636c64ull
#define CAUSAL_VERSION	   5
#define CAUSAL_PAGE	   4096

/* A hash table by tid with linear probing: CAUSAL_PROBES slots from CAUSAL_HOME(tid) on. */
#define CAUSAL_SLOT_BITS   15
#define CAUSAL_SLOTS	   (1 << CAUSAL_SLOT_BITS)
#define CAUSAL_PROBES	   16
#define CAUSAL_HOME(tid)   (((uint32_t)(tid)*2654435769u) >> (32 - CAUSAL_SLOT_BITS))
#define CAUSAL_SLOT(place) ((place) & (CAUSAL_SLOTS - 1))

/*
 * The signal mask of libdwell.so's handler: all signals but the two that cannot be blocked, and
 * those that are ignored by default (SIGCHLD, SIGCONT, SIGURG, SIGWINCH). The kernel drops an
 * ignored signal only if the thread that it is sent to does not block it. Otherwise it wakes
 * another thread of the process, whose system call may fail with EINTR. The kernel side recognizes
 * the handler by the mask, and sends no signal to a process without.
 */
#define CAUSAL_HANDLER_MASK 0xfffffffff7b8feffull

enum causal_pausing {
	CAUSAL_RUNS = 0,
	CAUSAL_ASKED = 1,  /* the signal was sent */
	CAUSAL_PAUSES = 2, /* the thread is in the handler */
};

struct causal_slot {
	uint64_t own;
	uint64_t until;	    /* the pause ends when `own` has reached this */
	uint64_t asleep;    /* ns of the pause to spend asleep, the rest on the CPU */
	uint64_t paused_ns; /* total */
	uint32_t pauses;
	uint32_t tid;	  /* in the thread's own pid namespace; 0: the slot is free */
	uint32_t epoch;	  /* of `own`: if it is not the current one, `own` counts as `global` */
	uint32_t pausing; /* enum causal_pausing */
	uint64_t asked;	  /* when the signal was sent, then when the pause ended; CLOCK_MONOTONIC */
	uint64_t away;	  /* ns off the CPU since then, counted by the kernel side */
};

struct causal_area {
	struct dwell_points points; /* first: include/dwell.h maps this much */
	uint64_t magic;
	uint32_t version;
	uint32_t signal;
	uint64_t size; /* of this struct */
	uint64_t global;
	uint32_t epoch; /* incremented to cancel all debts, which ends pauses */
	uint32_t ended; /* 1: no more pauses */
	struct causal_slot slot[CAUSAL_SLOTS] __attribute__((aligned(CAUSAL_PAGE)));
};

DWELL_ASSERT(causal_slot_size, sizeof(struct causal_slot) == 64);

/* Targets that are sped up at a time: [0] by the experiment, the others during the whole run. */
#define CAUSAL_TARGETS	   4U
#define CAUSAL_RANGES	   8192UL /* ranges of code of one target, at most */
#define CAUSAL_OUT_RANGES  65536  /* ranges of code out of scope, in files in scope, at most */
#define CAUSAL_CLASS_SLOTS 8	  /* a power of two above CLASS_COUNT */
#define CAUSAL_WHOLE	   1000	  /* a speedup of 100 % */

enum causal_match {
	CAUSAL_MATCH_NOTHING = 0,
	CAUSAL_MATCH_CODE = 1,	/* the innermost frame in scope is in its ranges */
	CAUSAL_MATCH_STACK = 2, /* any frame is; below a caller's frame, if it has callers */
	CAUSAL_MATCH_CLASS = 3, /* a class of waits */
	CAUSAL_MATCH_KIND = 4,	/* kinds of waits */
};

/* A target, in the kernel side's own data. Written by user space. */
struct causal_target_state {
	uint32_t match;	  /* enum causal_match */
	uint32_t speedup; /* 0 to CAUSAL_WHOLE */
	uint32_t n_ranges;
	uint32_t n_callers;
	uint32_t class; /* enum wait_class */
	uint32_t reserved;
	struct kind_set kinds; /* of CAUSAL_MATCH_KIND */
	uint64_t hit_ns;       /* total time of samples that matched */
};

/*
 * Waits that nothing in the program ended, and during which what is waited for may have begun
 * before: it goes on during pauses.
 */
enum causal_outside_wait {
	CAUSAL_WAIT_REQUESTS = 0, /* for other programs, and the network */
	CAUSAL_WAIT_IO = 1,	  /* for asynchronous I/O */
	CAUSAL_WAIT_TIMERS = 2,	  /* for timers; not a sleep, which begins when it is called */
	CAUSAL_WAITS = 3,
};

/* By system call: what its waits are for. */
enum causal_syscall_wait {
	CAUSAL_SYSCALL_OTHER = 0,    /* who ends a wait says what it was for */
	CAUSAL_SYSCALL_IO = 1,	     /* asynchronous I/O */
	CAUSAL_SYSCALL_SLEEP = 2,    /* a sleep */
	CAUSAL_SYSCALL_DEADLINE = 3, /* a sleep, or with TIMER_ABSTIME until a point in time */
	CAUSAL_SYSCALL_SUBMIT = 4,   /* none: it begins asynchronous I/O */
	CAUSAL_SYSCALL_RING = 5,     /* asynchronous I/O; it begins such, too */
};

/* What a system call means to virtual time. All 0: nothing. */
struct causal_syscall {
	uint16_t point; /* number of the progress point that it is + 1; 0: none */
	uint8_t wait;	/* enum causal_syscall_wait */
	uint8_t sends;	/* it can deliver data to a socket while it runs */
};

/* A range of code in a file, see UNWIND_CODE(). */
struct causal_range {
	uint64_t start;
	uint64_t end; /* not included */
};

/* One array has the ranges of targets, of their callers (CAUSAL_RANGES each), and out of scope. */
#define CAUSAL_RANGES_OF(target)  ((target)*CAUSAL_RANGES)
#define CAUSAL_CALLERS_OF(target) ((CAUSAL_TARGETS + (target)) * CAUSAL_RANGES)
#define CAUSAL_OUT_OF_SCOPE	  (2UL * CAUSAL_TARGETS * CAUSAL_RANGES)
#define CAUSAL_ALL_RANGES	  (CAUSAL_OUT_OF_SCOPE + CAUSAL_OUT_RANGES)

/* A progress point in the kernel side's last snapshot. */
struct causal_seen_point {
	uint64_t count;
	uint64_t changed_at;	 /* time of the last snapshot in which count had changed */
	uint64_t changed_global; /* `global` at that time */
	uint64_t area;		 /* integral of count over virtual time; wraps */
};

/* A snapshot of all points. A sequence lock: `round` is odd while it is being written. */
struct causal_look {
	uint64_t round;
	uint64_t time;
	uint64_t global;
	struct causal_seen_point point[DWELL_POINTS];
};

/*
 * Why a thread with a debt was not paused. Pauses that failed are counted (of CAUSAL_NO_SLOT,
 * threads); the first tid of each is kept.
 */
enum causal_unpaused {
	CAUSAL_NO_HANDLER = 0, /* libdwell.so is not in the process */
	CAUSAL_BLOCKED = 1,    /* the program blocks the signal */
	CAUSAL_NOT_SENT = 2,   /* bpf_send_signal_thread() failed */
	CAUSAL_NO_SLOT = 3,    /* more threads than slots */
	CAUSAL_UNPAUSED = 4,
};

/* Sampled time by class, one struct for each CPU, in a cache line of its own. */
struct causal_cpu_counts {
	uint64_t class_ns[CAUSAL_CLASS_SLOTS];
} __attribute__((aligned(64)));
