/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * A step of a walk over a user stack, from a frame to its caller: for the kernel side, and for user
 * space, which completes deferred unwinds. The includer defines before
 *
 *	struct unwind_walk, with at least
 *		__u64 ip, sp, fp;
 *		__u64 link;   of the innermost frame; 0 further out
 *		__u8 end;     enum stack_end, or WALK_GOES_ON
 *		__u8 cause;   enum stack_end: why the first guessed step was; 0: none was guessed
 *		__u8 exact;   ip is the current instruction, not a return address
 *	long read_stack(walk, to, size, from, remote): 0, or an error if it is not readable
 *
 * Each step returns 0, or 1 when the walk has ended. A processor defines
 *
 * - step_by_frame_pointer(walk, cause, remote). cause: why no unwind rule is used; 0: the code is
 *   expected to have frame pointers
 * - step_over_signal(walk, remote): from where a signal handler returns to
 * - step_by_row(walk, row, remote): by a rule with a CFA
 */
#pragma once

#include "abi/event.h"
#include "abi/unwind.h"
#include "arch/frames.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define WALK_GOES_ON 0xff

static __always_inline long end_walk(struct unwind_walk *walk, enum stack_end end)
{
	walk->end = end == STACK_COMPLETE && walk->cause ? STACK_GUESSED : end;
	return 1;
}

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "arch/x86_64/unwind_step.h"
#else
#error "arch/README.md: the frames of this processor are not known"
#endif

/* Steps from the current frame, whose code has the unwind rule @row, to its caller. */
static __always_inline long unwind_by(struct unwind_walk *walk, const struct unwind_row *row,
				      const bool remote)
{
	switch (UNWIND_CFA(row)) {
	case UNWIND_CFA_NONE:
	case UNWIND_CFA_UNSUPPORTED:
		return step_by_frame_pointer(walk, STACK_UNSUPPORTED, remote);
	case UNWIND_CFA_END:
		return end_walk(walk, STACK_COMPLETE);
	case UNWIND_CFA_SIGNAL:
		return step_over_signal(walk, remote);
	default:
		return step_by_row(walk, row, remote);
	}
}

/* The current frame's address in a stack, see struct event_stack. */
static __always_inline __u64 frame_address(const struct unwind_walk *walk, bool innermost)
{
	return walk->ip + (walk->exact && !innermost);
}
