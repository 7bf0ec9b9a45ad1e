/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The latency of every function, by its caller, and where the time of the slow calls went (LDB,
 * NSDI'24, section 5.2).
 *
 * LDB's quantiles are those of the calls that it saw, in which short ones are missing. Here they
 * are those of all calls. A call that is not much longer than the scanner's period counts only if
 * it ended between the two looks of a pair. The probability of that is the share of time that lies
 * in pairs, whatever the call's length is, and its weight is the inverse. Two errors remain: calls
 * shorter than a pair are seen too seldom, and those up to about 1 us, too, because a look delays
 * the program's next push (docs/call-latency.md).
 *
 * Calls that probes measured are exact, and all are there, unless the probes were set for a part of
 * the time only: then each counts for those that were missed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analysis/kinds/wait_causes.h"
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
	uint32_t number;   /* in the order in which they were found */
	uint32_t name;	   /* string */
	uint32_t caller;   /* string; 0: the outermost */
	bool probed;	   /* measured by probes, not by the scanner */
	double calls;	   /* of all, estimated */
	double scale;	   /* calls that one of known length stands for, as others are unknown */
	uint64_t observed; /* that were seen and counted */
	double total_ns;
	uint64_t ns[LATENCY_QUANTILES]; /* 0: shorter than the period */
	double tail_ns; /* what the slowest hundredth took beyond the median, in all */
	ARRAY(struct slow_call) slow; /* that were looked at: the longest, in descending order */
	uint64_t slow_ns;	      /* their time, and where it went: */
	uint64_t parts[LATENCY_PARTS];
	uint64_t slow_uncertain;		      /* ns that their time may be off */
	ARRAY(struct latency_wait) waits;	      /* by ns, descending */
	ARRAY(struct latency_competitor) competitors; /* likewise */
};

enum latency_rank { LATENCY_RANK_TAIL = 0, LATENCY_RANK_P999 = 1, LATENCY_RANK_TOTAL = 2 };

struct call_details;

struct call_latency {
	struct call_details *details; /* the caller's, to be filled; NULL: they are not wanted */
	uint64_t period_ns; /* of the scanner, on average; lengths below it are not resolved; 0:
			       there was none */
	uint64_t pair_ns;   /* between the looks of a pair, on average; shorter calls are missing */
	ARRAY(struct latency_function) functions; /* by rank */
	ARRAY(uint32_t) probes; /* numbers of those with calls, the most expensive first */
};

/*
 * @model has the names of its functions. Returns 0, -ENOMEM, or -ENODATA with a message: nothing
 * was scanned, or no call was seen.
 */
int call_latency__make(const struct model *model, const struct wait_causes *causes,
		       enum latency_rank rank, struct call_latency *latency);
void call_latency__free(struct call_latency *latency);
