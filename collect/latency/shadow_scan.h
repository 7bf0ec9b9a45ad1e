/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One shadow stack, looked at again and again (LDB, NSDI'24, section 3.2). A look reads the topmost
 * entries only, down to the first that is as it was: below that, nothing can have changed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/shadow_stack.h"
#include "base/array.h"
#include "collect/core/observed_call.h"

/* A call in progress. */
struct seen_call {
	uint64_t function;
	uint64_t generation;
	uint64_t begin;
	uint32_t begin_slack;
	uint16_t looks; /* first looks of pairs that saw it, as long as it is not long */
	uint8_t flags;	/* enum observed_call_flags */
	bool is_long;	/* it was there from one pair to the next */
};

struct shadow_scan {
	const struct shadow_stack *stack;
	uint32_t pid;
	uint32_t tid;		       /* of the stack's thread, when it was last looked at */
	uint64_t seen;		       /* time of the last look; 0: none yet */
	bool changed;		       /* by the last look */
	ARRAY(struct seen_call) calls; /* by depth */
};

/* Callbacks for the calls that a look found to have ended. */
struct scan_sink {
	void (*on_call)(void *arg, const struct observed_call *call);
	void (*on_short_call)(void *arg, const struct shadow_scan *scan,
			      const struct seen_call *call, uint64_t caller, bool in_pair);
	void *arg;
};

/*
 * Looks at the stack at @time, now; @second: this ends a pair. Returns 0, -EAGAIN (the stack
 * changed all the time; nothing is known of it then, and the next look takes its place) or -ENOMEM.
 */
int shadow_scan__look(struct shadow_scan *scan, uint64_t time, bool second,
		      const struct scan_sink *sink);

/* No look will follow: tells the calls in progress. */
void shadow_scan__finish(struct shadow_scan *scan, const struct scan_sink *sink);

void shadow_scan__free(struct shadow_scan *scan);
