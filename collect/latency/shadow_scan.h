/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One shadow stack, looked at again and again (LDB, NSDI'24, section 3.2). A look reads the topmost
 * entries only, down to the first that is as it was: below that, nothing can have changed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/shadow_stack.h"
#include "abi/thread_run.h"
#include "base/array.h"
#include "collect/probes/observed_call.h"

/* A call in progress. */
struct seen_call {
	uint64_t function;
	uint64_t generation;
	uint64_t site;
	uint64_t begin;
	uint32_t begin_slack;
	uint16_t looks; /* first looks of pairs that saw it, as long as it is not long */
	uint8_t flags;	/* enum observed_call_flags */
	bool is_long;	/* it was there from one pair to the next */
};

struct shadow_scan {
	const struct shadow_stack *stack;
	/* Calls that may be longer than this are reported one by one, however many looks saw them.
	 */
	uint64_t long_ns;
	uint32_t pid;
	uint32_t own_tid; /* of the stack's thread, as it sees itself, when last looked at */
	uint32_t tid;	  /* the same as dwell sees it; the caller's, by on_thread() */
	const struct thread_run *run;	  /* when it runs; NULL: unknown; the caller's, too */
	uint64_t looked;		  /* time of the last look */
	uint64_t seen;			  /* time until when it is known; 0: nothing is */
	const struct thread_run *counted; /* whose times ran and arrivals are */
	uint64_t ran;			  /* how long it had run, as far as that was counted */
	uint64_t counted_until;		  /* when that was; 0: never */
	uint64_t arrivals;	   /* number of its runs then; 0: it was running, or unknown */
	struct scan_report report; /* since the caller reset it: what is of a stack */
	uint64_t first;		   /* before the first push of its thread; 0: unknown */
	uint64_t newest;	   /* the greatest generation that was seen; 0: none */
	uint64_t skips;		   /* of the stack, as that was seen */
	uint64_t uncounted_ns;	   /* how long it has run since that was seen */
	/* Of the look that is needed: */
	uint64_t past;	       /* it is one at the stack as it was at this time; 0: as it is */
	uint64_t past_in;      /* when its thread had got the CPU that it lost then */
	uint64_t arrivals_now; /* as arrivals */
	bool changed;	       /* by the last look */
	bool goes_on; /* its thread's run time was reported until now; the caller's, by on_thread()
		       */
	ARRAY(struct seen_call) calls; /* by depth */
};

/* Callbacks for what a look finds. */
struct scan_sink {
	/* Another thread, scan->own_tid, has the stack. @scan has the report on the one before. */
	void (*on_thread)(void *arg, struct shadow_scan *scan);
	/* Calls that have ended: */
	void (*on_call)(void *arg, const struct observed_call *call);
	/* One that is short: its length is not known better than that. */
	void (*on_short_call)(void *arg, const struct observed_call *call, unsigned looks);
	void *arg;
};

/*
 * Whether a look at @time is needed. A thread that has no CPU does not change its stack: it is
 * looked at once, as it was when it lost the CPU. Then sets *@time to that time. Otherwise notes
 * that the stack is known up to the time when its thread got the CPU, or up to @time. The kernel
 * may hide a switch, so that a look is needed now and then nevertheless.
 */
bool shadow_scan__is_needed(struct shadow_scan *scan, uint64_t *time);

/* Whether the stack's thread is known to have a CPU, and whether it is known to wait for one. */
bool shadow_scan__has_cpu(const struct shadow_scan *scan);
bool shadow_scan__waits_for_cpu(const struct shadow_scan *scan);

/* A look that takes longer lost its CPU meanwhile, or the stack changed all the time. */
#define SHADOW_SCAN_LATE_NS 1000ULL

/*
 * Looks at the stack at @time, now. *@second: this ends a pair; set to false if the stack was read
 * so late that it does not. Returns 0, -EAGAIN (the stack changed all the time; nothing is known of
 * it then, and the next look takes its place) or -ENOMEM.
 */
int shadow_scan__look(struct shadow_scan *scan, uint64_t time, bool *second,
		      const struct scan_sink *sink);

/*
 * To be called by on_thread(): the thread's first push was at @begun, in this recording. So it is
 * known from then on, and so is the number of its calls.
 */
void shadow_scan__know_begin(struct shadow_scan *scan, uint64_t begun);

/* No look will follow: tells the calls in progress. */
void shadow_scan__finish(struct shadow_scan *scan, const struct scan_sink *sink);

void shadow_scan__free(struct shadow_scan *scan);
