/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * A step of a walk over a user stack, from a frame to its caller: for the kernel side, and for user
 * space, which completes deferred unwinds. The includer defines before
 *
 *	struct unwind_walk, with at least
 *		__u64 ip, sp, bp;
 *		__u64 di;     of the innermost frame; 0 further out
 *		__u8 end;     enum stack_end, or WALK_GOES_ON
 *		__u8 cause;   enum stack_end: why the first guessed step was; 0: none was guessed
 *		__u8 exact;   ip is the current instruction, not a return address
 *	long read_stack(walk, to, size, from, remote): 0, or an error if it is not readable
 *
 * Each step returns 0, or 1 when the walk has ended.
 */
#pragma once

#include "abi/event.h"
#include "abi/unwind.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define WALK_GOES_ON 0xff

static __always_inline long end_walk(struct unwind_walk *walk, enum stack_end end)
{
	walk->end = end == STACK_COMPLETE && walk->cause ? STACK_GUESSED : end;
	return 1;
}

/*
 * Steps to the caller by the frame pointer. @cause: why no unwind rule is used; 0: the code is
 * expected to have frame pointers.
 */
static __always_inline long step_by_frame_pointer(struct unwind_walk *walk, enum stack_end cause,
						  const bool remote)
{
	__u64 frame[2];

	if (!walk->cause)
		walk->cause = cause;
	if (!walk->bp)
		return end_walk(walk, walk->cause);
	if (walk->bp < walk->sp || walk->bp & 7)
		return end_walk(walk, walk->cause ? walk->cause : STACK_FRAME_POINTER);
	if (read_stack(walk, frame, sizeof(frame), walk->bp, remote))
		return end_walk(walk, walk->cause ? walk->cause : STACK_UNREADABLE);
	walk->sp = walk->bp + 16;
	walk->bp = frame[0];
	walk->ip = frame[1];
	walk->di = 0;
	walk->exact = false;
	return walk->ip ? 0 : end_walk(walk, walk->cause);
}

/* Offsets in struct ucontext of registers 15 (rsp) and 16 (rip), and 10 (rbp). */
#define UCONTEXT_RBP 120
#define UCONTEXT_RSP 160

static __always_inline long step_over_signal(struct unwind_walk *walk, const bool remote)
{
	__u64 registers[2], bp;

	if (read_stack(walk, registers, sizeof(registers), walk->sp + UCONTEXT_RSP, remote) ||
	    read_stack(walk, &bp, sizeof(bp), walk->sp + UCONTEXT_RBP, remote))
		return end_walk(walk, STACK_UNREADABLE);
	walk->sp = registers[0];
	walk->ip = registers[1];
	walk->bp = bp;
	walk->di = 0;
	walk->exact = true;
	return 0;
}

/* The canonical frame address by @row; 0: the rule is not handled. */
static __always_inline __u64 find_cfa(const struct unwind_walk *walk, const struct unwind_row *row,
				      const bool remote)
{
	__s64 offset = row->cfa * 8;
	__u64 cfa = 0;

	switch (UNWIND_CFA(row)) {
	case UNWIND_CFA_RSP:
	case UNWIND_CFA_RSP_RDI:
		return walk->sp + offset;
	case UNWIND_CFA_RBP:
	case UNWIND_CFA_RBP_SWITCH:
		return walk->bp + offset;
	case UNWIND_CFA_RBP_DEREF:
		read_stack(walk, &cfa, sizeof(cfa), walk->bp + offset, remote);
		return cfa;
	case UNWIND_CFA_RSP_DEREF:
		read_stack(walk, &cfa, sizeof(cfa), walk->sp + offset, remote);
		return cfa;
	case UNWIND_CFA_RSP_DEREF_8:
		read_stack(walk, &cfa, sizeof(cfa), walk->sp + offset, remote);
		return cfa + 8;
	case UNWIND_CFA_PLT:
		return walk->sp + 8 + ((walk->ip & 15) >= (__u64)row->cfa ? 8 : 0);
	default:
		return 0;
	}
}

/* Steps to the caller by the rule @row, which is one with a CFA. */
static __always_inline long step_by_row(struct unwind_walk *walk, const struct unwind_row *row,
					const bool remote)
{
	__u64 cfa = find_cfa(walk, row, remote);
	__u64 in_register = UNWIND_CFA(row) == UNWIND_CFA_RSP_RDI ? walk->di : 0;
	__u64 saved[2] = {walk->bp, in_register}; /* the caller's rbp, and its return address */
	__u64 saved_at = 0;
	long err;

	/* The caller's frame lies above: a wrong table must not make the walk loop. */
	if (UNWIND_CFA(row) != UNWIND_CFA_RBP_SWITCH && cfa + !!in_register <= walk->sp)
		return end_walk(walk, STACK_UNSUPPORTED);
	if (!cfa || cfa & 7)
		return end_walk(walk, STACK_UNSUPPORTED);
	if (UNWIND_RBP(row) == UNWIND_RBP_CFA)
		saved_at = cfa + row->rbp * 8;
	else if (UNWIND_RBP(row) == UNWIND_RBP_FRAME)
		saved_at = walk->bp + row->rbp * 8;
	/* They are usually adjacent: one read for both keeps the number of reads in a step low. */
	if (saved_at == cfa - sizeof(saved) && !in_register)
		err = read_stack(walk, saved, sizeof(saved), saved_at, remote);
	else
		err = (!in_register &&
		       read_stack(walk, &saved[1], sizeof(saved[1]), cfa - 8, remote)) ||
		      (saved_at && read_stack(walk, &saved[0], sizeof(saved[0]), saved_at, remote));
	if (err)
		return end_walk(walk, STACK_UNREADABLE);
	walk->ip = saved[1];
	walk->sp = cfa;
	walk->bp = saved[0];
	walk->di = 0;
	walk->exact = false;
	return saved[1] ? 0 : end_walk(walk, STACK_COMPLETE);
}

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
