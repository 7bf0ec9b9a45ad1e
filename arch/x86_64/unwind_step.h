/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Steps of arch/unwind_step.h, which includes this. */
#pragma once

static __always_inline long step_by_frame_pointer(struct unwind_walk *walk, enum stack_end cause,
						  const bool remote)
{
	__u64 frame[2];

	if (!walk->cause)
		walk->cause = cause;
	if (!walk->fp)
		return end_walk(walk, walk->cause);
	if (walk->fp < walk->sp || walk->fp & 7)
		return end_walk(walk, walk->cause ? walk->cause : STACK_FRAME_POINTER);
	if (read_stack(walk, frame, sizeof(frame), walk->fp, remote))
		return end_walk(walk, walk->cause ? walk->cause : STACK_UNREADABLE);
	walk->sp = walk->fp + 16;
	walk->fp = frame[0];
	walk->ip = frame[1];
	walk->link = 0;
	walk->exact = false;
	return walk->ip ? 0 : end_walk(walk, walk->cause);
}

/* SIGNAL_IP is behind SIGNAL_SP: one read for both. */
static __always_inline long step_over_signal(struct unwind_walk *walk, const bool remote)
{
	__u64 registers[2], fp;

	if (read_stack(walk, registers, sizeof(registers), walk->sp + SIGNAL_SP, remote) ||
	    read_stack(walk, &fp, sizeof(fp), walk->sp + SIGNAL_FP, remote))
		return end_walk(walk, STACK_UNREADABLE);
	walk->sp = registers[0];
	walk->ip = registers[1];
	walk->fp = fp;
	walk->link = 0;
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
	case UNWIND_CFA_SP:
	case UNWIND_CFA_SP_LINK:
		return walk->sp + offset;
	case UNWIND_CFA_FP:
	case UNWIND_CFA_FP_SWITCH:
		return walk->fp + offset;
	case UNWIND_CFA_FP_DEREF:
		read_stack(walk, &cfa, sizeof(cfa), walk->fp + offset, remote);
		return cfa;
	case UNWIND_CFA_SP_DEREF:
		read_stack(walk, &cfa, sizeof(cfa), walk->sp + offset, remote);
		return cfa;
	case UNWIND_CFA_SP_DEREF_8:
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
	__u64 in_register = UNWIND_CFA(row) == UNWIND_CFA_SP_LINK ? walk->link : 0;
	__u64 saved[2] = {walk->fp,
			  in_register}; /* the caller's frame pointer, and its return address */
	__u64 saved_at = 0;
	long err;

	/* The caller's frame lies above: a wrong table must not make the walk loop. */
	if (UNWIND_CFA(row) != UNWIND_CFA_FP_SWITCH && cfa + !!in_register <= walk->sp)
		return end_walk(walk, STACK_UNSUPPORTED);
	if (!cfa || cfa & 7)
		return end_walk(walk, STACK_UNSUPPORTED);
	if (UNWIND_FP(row) == UNWIND_FP_CFA)
		saved_at = cfa + row->fp * 8;
	else if (UNWIND_FP(row) == UNWIND_FP_FRAME)
		saved_at = walk->fp + row->fp * 8;
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
	walk->fp = saved[0];
	walk->link = 0;
	walk->exact = false;
	return saved[1] ? 0 : end_walk(walk, STACK_COMPLETE);
}
