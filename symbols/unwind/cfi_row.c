// SPDX-License-Identifier: BSD-2-Clause
/*
 * Conversion of CFI rules to the unwind rows of the kernel side. Expressions are not evaluated but
 * recognized: compilers, linkers and the C library use a handful of patterns.
 */
#include <dwarf.h>

#include "arch/frames.h"
#include "arch/processor.h"
#include "symbols/unwind/cfi.h"
#include "symbols/dwarf/dwarf_read.h"

/* @reg + @offset; with @deref, the value in memory there + @deref_offset. */
struct address_expression {
	uint64_t reg;
	int64_t offset;
	bool deref;
	int64_t deref_offset;
};

/* Parses `bregN offset` with added constants and at most one deref. */
static bool parse_address(const struct cfi_expression *e, struct address_expression *place)
{
	struct cursor c = {.at = e->data, .end = e->data + e->size};
	struct address_expression p = {};
	uint8_t op = dwarf_read__uint8_t(&c);

	if (op < DW_OP_breg0 || op > DW_OP_breg31)
		return false;
	p.reg = op - DW_OP_breg0;
	p.offset = dwarf_read__sleb(&c);
	while (c.at < c.end) {
		int64_t *sum = p.deref ? &p.deref_offset : &p.offset;

		op = dwarf_read__uint8_t(&c);
		if (op == DW_OP_plus_uconst)
			*sum = (int64_t)((uint64_t)*sum + dwarf_read__uleb(&c));
		else if (op == DW_OP_deref && !p.deref)
			p.deref = true;
		else
			return false;
	}
	if (c.bad || c.at != c.end)
		return false;
	*place = p;
	return true;
}

/* Divides @offset by 8. False if it is not divisible, or the result is not in [@min, @max]. */
static bool scale(int64_t offset, int min, int max, int *out)
{
	if (offset % 8 || offset / 8 < min || offset / 8 > max)
		return false;
	*out = (int)(offset / 8);
	return true;
}

static void row_set_cfa(struct unwind_row *row, const struct address_expression *place)
{
	int scaled;

	if (place->reg != DWARF_SP && place->reg != DWARF_FP)
		return;
	if (!scale(place->offset, INT16_MIN, INT16_MAX, &scaled))
		return;
	if (place->deref_offset) {
		if (place->deref_offset != 8 || place->reg != DWARF_SP)
			return;
		row->rule = UNWIND_CFA_SP_DEREF_8;
	} else if (place->reg == DWARF_SP) {
		row->rule = place->deref ? UNWIND_CFA_SP_DEREF : UNWIND_CFA_SP;
	} else {
		row->rule = place->deref ? UNWIND_CFA_FP_DEREF : UNWIND_CFA_FP;
	}
	row->cfa = (__s16)scaled;
}

static bool is_signal_frame(const struct cfi_state *s, const struct address_expression *cfa)
{
	struct address_expression ra;

	return cfa->reg == DWARF_SP && cfa->deref && !cfa->deref_offset &&
	       cfa->offset == SIGNAL_SP && s->ra.kind == CFI_RULE_EXPRESSION &&
	       parse_address(&s->ra.expression, &ra) && ra.reg == DWARF_SP && !ra.deref &&
	       ra.offset == SIGNAL_IP;
}

/* vfork() keeps its return address in a register: the child overwrites the shared stack. */
static bool returns_to_link(const struct cfi_state *s)
{
	return s->ra.kind == CFI_RULE_REGISTER && s->ra.offset == DWARF_LINK &&
	       !s->cfa_is_expression && s->cfa_register == DWARF_SP;
}

/* The row's rule for the CFA. Unless it is special, the return address must be where calls leave
 * it. */
static struct unwind_row cfa_row(const struct cfi_state *s, struct address_expression *cfa)
{
	struct unwind_row row = {.rule = UNWIND_CFA_UNSUPPORTED};
	bool call = s->ra.kind == CFI_RULE_OFFSET && s->ra.offset == RETURN_AT;
	int plt;

	*cfa = (struct address_expression){
		.reg = s->cfa_register, .offset = s->cfa_offset, .deref = s->cfa_is_expression};
	if (s->ra.kind == CFI_RULE_UNDEFINED) {
		row.rule = UNWIND_CFA_END;
		return row;
	}
	if (!s->cfa_is_expression) {
		if (call || returns_to_link(s))
			row_set_cfa(&row, cfa);
		if (!call && row.rule == UNWIND_CFA_SP)
			row.rule = UNWIND_CFA_SP_LINK;
		return row;
	}
	if (parse_address(&s->cfa, cfa)) {
		if (is_signal_frame(s, cfa))
			row.rule = UNWIND_CFA_SIGNAL;
		else if (call)
			row_set_cfa(&row, cfa);
		return row;
	}
	plt = processor__own()->unwind->plt_expression(s->cfa.data, s->cfa.size);
	if (plt >= 0 && call) {
		row.rule = UNWIND_CFA_PLT;
		row.cfa = (__s16)plt;
	}
	return row;
}

/*
 * The rule for the frame pointer when it is saved at an address relative to a register; that is an
 * offset from the CFA if the CFA is relative to the same register.
 *
 * When GCC realigns the stack, it saves FP at *FP, and emits no rule when it restores it. It has
 * restored it wherever the CFA is relative to SP.
 */
static enum unwind_fp fp_expression_rule(const struct cfi_state *s,
					 const struct address_expression *cfa, int64_t *offset)
{
	struct address_expression place;

	if (!parse_address(&s->fp.expression, &place) || place.deref)
		return UNWIND_FP_UNKNOWN;
	if (place.reg == cfa->reg && !cfa->deref) {
		*offset = (int64_t)((uint64_t)place.offset - (uint64_t)cfa->offset);
		return UNWIND_FP_CFA;
	}
	if (place.reg != DWARF_FP)
		return UNWIND_FP_UNKNOWN;
	if (cfa->reg == DWARF_SP && !cfa->deref)
		return UNWIND_FP_SAME;
	*offset = place.offset;
	return UNWIND_FP_FRAME;
}

static enum unwind_fp fp_rule(const struct cfi_state *s, const struct address_expression *cfa,
			      int *scaled)
{
	enum unwind_fp fp = UNWIND_FP_UNKNOWN;
	int64_t offset = 0;

	switch (s->fp.kind) {
	case CFI_RULE_SAME:
		return UNWIND_FP_SAME;
	case CFI_RULE_OFFSET:
		fp = UNWIND_FP_CFA;
		offset = s->fp.offset;
		break;
	case CFI_RULE_EXPRESSION:
		fp = fp_expression_rule(s, cfa, &offset);
		break;
	case CFI_RULE_UNDEFINED:
	case CFI_RULE_OTHER:
	case CFI_RULE_REGISTER:
		break;
	}
	if (fp == UNWIND_FP_UNKNOWN || !scale(offset, INT8_MIN, INT8_MAX, scaled))
		return UNWIND_FP_UNKNOWN;
	return fp;
}

struct unwind_row cfi__row(const struct cfi_state *state)
{
	struct address_expression cfa;
	struct unwind_row row = cfa_row(state, &cfa);
	enum unwind_fp fp;
	int scaled = 0;

	if (row.rule == UNWIND_CFA_END || row.rule == UNWIND_CFA_SIGNAL ||
	    row.rule == UNWIND_CFA_UNSUPPORTED)
		return row;
	fp = fp_rule(state, &cfa, &scaled);
	row.fp = (__s8)scaled;
	row.rule = (__u8)UNWIND_RULE(row.rule, fp);
	return row;
}
