/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The latency of every function, by its caller, and where the time of the slow calls went (LDB,
 * NSDI'24, section 5.2).
 *
 * LDB's quantiles are those of the calls that it saw, in which short ones are missing. Here they
 * are those of all calls: call_count.h says how calls are counted, and what their number's interval
 * is.
 *
 * Times are those of the calls that were seen, each from the middle between two looks to the middle
 * between two. So the time of all calls from a caller is at most the caller's own, and that of the
 * outermost calls of a thread at most the time in which it was seen. Looks come at random times, so
 * each sum is what the calls took, whether many or few of them were seen. A call within another one
 * of the same function and caller adds nothing.
 *
 * Calls that probes measured are exact, and all are there, unless the probes were set for a part of
 * the time only: then each counts for those that were missed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analysis/kinds/wait_causes.h"
#include "analysis/latency/call_count.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "model/model.h"

enum latency_part {
	LATENCY_CPU = 0,
	LATENCY_RUN_QUEUE = 1, /* runnable or preempted */
	LATENCY_LOCK = 2,
	LATENCY_DISK = 3,
	LATENCY_NETWORK = 4,
	LATENCY_OTHER = 5,
	LATENCY_STOLEN =
		6, /* from runs, by a hypervisor or interrupts: LATENCY_CPU is without it */
	LATENCY_PARTS = 7,
};

/* Quantiles, in this order; the last is the longest call. */
enum {
	LATENCY_P50,
	LATENCY_P90,
	LATENCY_P99,
	LATENCY_P999,
	LATENCY_P9999,
	LATENCY_MAX,
	LATENCY_QUANTILES
};

/* Waits of slow calls that have kind and cause in common. */
struct latency_wait {
	enum latency_part part;
	enum wait_kind kind;
	struct wait_cause cause; /* of a lock: the thread that released it */
	uint32_t function;	 /* string: what that thread was in; 0: unknown */
	uint64_t ns;
};

/* Whoever ran on the CPU before, while slow calls waited for it. */
struct latency_competitor {
	uint32_t thread; /* 0: unknown */
	uint64_t ns;
};

/* A slow call that was looked at, and where its time went. */
struct slow_call {
	uint32_t thread;
	uint64_t begin; /* CLOCK_MONOTONIC */
	uint64_t length;
	uint64_t uncertain;	       /* ns that the length may be too long or too short */
	uint64_t parts[LATENCY_PARTS]; /* sum up to the length */
};

struct latency_function {
	uint32_t number; /* in the order in which they were found */
	uint32_t name;	 /* string */
	uint32_t caller; /* string; 0: the outermost */
	uint32_t file;	 /* string: of the line of the call; 0: unknown, or rows are by caller */
	uint32_t line;
	bool probed;		    /* measured by probes, not by the scanner */
	struct call_interval calls; /* number of all */
	double whole;		    /* calls whose lengths the quantiles are of, estimated */
	uint64_t partial;  /* calls that began before the recording, or had not ended when it did */
	double scale;	   /* calls that one of known length stands for, as others are unknown */
	uint64_t observed; /* that were seen and counted */
	double total_ns;   /* without calls within others of the row's function and caller */
	double error_ns;   /* 95% of the time, total_ns is off by less */
	double mean_ns;	   /* of a call; an upper bound if calls.is_bound */
	uint64_t ns[LATENCY_QUANTILES]; /* 0: shorter than the period */
	double tail_ns; /* what the slowest hundredth took beyond the median, in all */
	ARRAY(struct slow_call) slow; /* that were looked at: the longest, in descending order */
	uint64_t slow_ns;	      /* their time, and where it went: */
	uint64_t parts[LATENCY_PARTS];
	uint64_t slow_uncertain;		      /* ns that their time may be off */
	ARRAY(struct latency_wait) waits;	      /* by ns, descending */
	ARRAY(struct latency_competitor) competitors; /* likewise */
};

enum latency_rank {
	LATENCY_RANK_TAIL = 0,
	LATENCY_RANK_P999 = 1,
	LATENCY_RANK_TOTAL = 2,
	LATENCY_RANK_P9999 = 3,
	LATENCY_RANK_MEAN = 4,
};

struct call_details;

struct call_latency {
	struct call_details *details; /* the caller's, to be filled; NULL: they are not wanted */
	bool by_caller;		      /* the caller's: one row for all places of a caller */
	uint64_t period_ns; /* of the scanner, on average; lengths below it are not resolved; 0:
			       there was none */
	uint64_t pair_ns;   /* between the looks of a pair, on average; shorter calls are missing */
	ARRAY(struct latency_function) functions; /* by rank */
	double calls;				  /* of threads that count theirs; 0: unknown */
	double unexplained;			  /* of these, those that no row has */
	uint64_t ns;				  /* run time of threads with shadow stacks */
	bool are_counted;   /* the threads counted their calls, nearly all the time */
	uint64_t unseen_ns; /* that threads ran before the first look at them, or after the last */
	uint64_t unlooked_ns;	/* of it, in gaps between looks of more than 128 us */
	uint64_t cpu_ns;	/* of these threads, in all: what they ran, */
	uint64_t waited_ns;	/* and how long they waited for a CPU */
	ARRAY(uint32_t) probes; /* numbers of those with calls, the most expensive first */
};

/*
 * @model has the names of its functions. Returns 0, -ENOMEM, or -ENODATA with a message: nothing
 * was scanned, or no call was seen.
 */
int call_latency__make(const struct model *model, const struct wait_causes *causes,
		       enum latency_rank rank, struct call_latency *latency);
/*
 * Whether the machine had too few CPUs for the program and the thread that looks at its stacks:
 * that had none for 5% of the time in which the program ran, or the program waited for a CPU for
 * 10% of the time in which it could run.
 */
bool call_latency__lacked_cpus(const struct call_latency *latency);

void call_latency__free(struct call_latency *latency);
