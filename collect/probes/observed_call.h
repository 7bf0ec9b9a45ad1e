/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of functions that a scanner saw on shadow stacks (LDB, NSDI'24, section 3.2).
 *
 * The scanner looks twice each period: two looks that are close together, a *pair*, then none until
 * the next. Calls that were there both at the end of one pair and at the start of the next are
 * told one by one. Of the others, which are shorter than the period, those that ended between
 * the two looks of a pair are counted: the share of time that lies in pairs is known, so the
 * number of all follows, whatever their lengths are, if they are longer than a pair.
 *
 * Times are ns, CLOCK_MONOTONIC.
 */
#pragma once

#include <stdint.h>

#include "recording/recording.h"

enum observed_call_flags {
	OBSERVED_CALL_IN_PAIR = 1 << 0,	   /* it ended between the looks of a pair */
	OBSERVED_CALL_UNFINISHED = 1 << 1, /* it had not ended when it was last seen */
	OBSERVED_CALL_EARLIER = 1 << 2,	   /* it was there when its stack was first seen */
	OBSERVED_CALL_NESTED = 1 << 4,	   /* within another call of the function by the caller */
};

struct observed_call {
	uint32_t pid;
	uint32_t tid; /* of the thread whose first stack it is on, as that sees itself; 0: another
			 one */
	uint64_t function;    /* an address in it */
	uint64_t caller;      /* an address in the function below on the stack; 0: none */
	uint64_t site;	      /* in the instruction that called it; may be in an unseen function */
	uint64_t begin;	      /* the middle between the look that saw it first and the one before */
	uint64_t end;	      /* the same, of its end */
	uint32_t begin_slack; /* it may have been so much earlier or later */
	uint32_t end_slack;
	uint16_t depth; /* calls below it */
	uint16_t flags; /* enum observed_call_flags */
};

/*
 * Calls that are shorter than a period, of a function from a caller, since the last report. As
 * others, a call lasts from the middle between two looks to the middle between two. So the times of
 * all calls that were seen add up: at each depth of a stack, no more than to the time of its
 * thread.
 */
struct short_calls {
	uint32_t pid;
	uint32_t tid;
	uint64_t function;
	uint64_t caller;
	uint64_t site;
	uint64_t looks;	    /* first looks of pairs that saw one */
	uint64_t ended;	    /* that ended within a pair */
	uint64_t seen;	    /* that any look saw */
	uint64_t ns;	    /* their time */
	uint64_t nested_ns; /* of it, that of calls that were OBSERVED_CALL_NESTED */
};

/*
 * What a scanner did until @time since the last report: with the stack of a thread, or (pid 0) in
 * all.
 */
struct scan_report {
	uint64_t time;
	/* Of a stack: */
	uint32_t pid;
	uint32_t tid; /* as in struct observed_call */
	uint64_t ns;  /* that the thread ran */
	uint64_t pairs;
	uint64_t pair_ns; /* that it ran within pairs */
	/* That it ran in gaps of each class, pairs among them. What is missing: before the first
	 * look. */
	uint64_t gap_ns[SCAN_GAPS];
	uint64_t pushes;    /* calls that it made, as generations count them, */
	uint64_t pushes_ns; /* while it ran for so long */
	/* In all: */
	uint64_t longest_ns; /* the longest time without a look */
	uint64_t torn;	     /* looks at a stack that changed meanwhile, given up */
	uint64_t lost;	     /* calls that there was no memory for */
	uint64_t missed;     /* calls deeper than shadow stacks are */
};

/* Callbacks for the results of a scanner. */
struct call_sink {
	void (*on_call)(void *arg, const struct observed_call *call);
	void (*on_short_calls)(void *arg, const struct short_calls *calls);
	void (*on_report)(void *arg, const struct scan_report *report);
	void *arg;
};
