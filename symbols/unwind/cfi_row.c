// SPDX-License-Identifier: BSD-2-Clause
/*
 * From the rules of a row to what the kernel side can do. Expressions are
 * recognised, not evaluated: compilers, linkers and the C library write a
 * handful of shapes.
 */
#include <dwarf.h>

#include "symbols/unwind/cfi.h"
#include "symbols/unwind/cfi_read.h"

/* Of the saved rsp and rip from the start of struct ucontext. */
#define UCONTEXT_RSP 160
#define UCONTEXT_RIP 168

/* register + offset; or what is in memory there, + more. */
struct place {
	uint64_t reg;
	int64_t offset;
	bool deref;
	int64_t more;
};

/* `bregN offset`, constants added, and at most one deref. */
static bool expression__place(const struct cfi_expression *e, struct place *place)
{
	struct cursor c = {.at = e->data, .end = e->data + e->size};
	struct place p = {};
	uint8_t op = cfi_read__uint8_t(&c);

	if (op < DW_OP_breg0 || op > DW_OP_breg31)
		return false;
	p.reg = op - DW_OP_breg0;
	p.offset = cfi_read__sleb(&c);
	while (c.at < c.end) {
		int64_t *sum = p.deref ? &p.more : &p.offset;

		op = cfi_read__uint8_t(&c);
		if (op == DW_OP_plus_uconst)
			*sum = (int64_t)((uint64_t)*sum + cfi_read__uleb(&c));
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

/*
 * What linkers write for .plt: behind its push, from byte N of the 16 of an
 * entry on, the frame is 8 bytes larger. Returns N or -1.
 */
static int expression__plt(const struct cfi_expression *e)
{
	static const uint8_t head[] = {DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and};
	static const uint8_t tail[] = {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
	uint8_t lit;

	if (e->size != sizeof(head) + 1 + sizeof(tail))
		return -1;
	lit = e->data[sizeof(head)];
	if (memcmp(e->data, head, sizeof(head)) || lit < DW_OP_lit0 || lit > DW_OP_lit15 ||
	    memcmp(e->data + sizeof(head) + 1, tail, sizeof(tail)))
		return -1;
	return lit - DW_OP_lit0;
}

/* @offset in units of 8 bytes between @min and @max. */
static bool scale(int64_t offset, int min, int max, int *out)
{
	if (offset % 8 || offset / 8 < min || offset / 8 > max)
		return false;
	*out = (int)(offset / 8);
	return true;
}

static void row__set_cfa(struct unwind_row *row, const struct place *place)
{
	int scaled;

	if (place->reg != CFI_RSP && place->reg != CFI_RBP)
		return;
	if (!scale(place->offset, INT16_MIN, INT16_MAX, &scaled))
		return;
	if (place->more) {
		if (place->more != 8 || place->reg != CFI_RSP)
			return;
		row->rule = UNWIND_CFA_RSP_DEREF_8;
	} else if (place->reg == CFI_RSP) {
		row->rule = place->deref ? UNWIND_CFA_RSP_DEREF : UNWIND_CFA_RSP;
	} else {
		row->rule = place->deref ? UNWIND_CFA_RBP_DEREF : UNWIND_CFA_RBP;
	}
	row->cfa = (__s16)scaled;
}

static bool state__is_signal_frame(const struct cfi_state *s, const struct place *cfa)
{
	struct place ra;

	return cfa->reg == CFI_RSP && cfa->deref && !cfa->more && cfa->offset == UCONTEXT_RSP &&
	       s->ra.kind == CFI_RULE_EXPRESSION && expression__place(&s->ra.expression, &ra) &&
	       ra.reg == CFI_RSP && !ra.deref && ra.offset == UCONTEXT_RIP;
}

/* vfork() keeps its return address where the child, on the same stack, does not overwrite it. */
static bool state__returns_to_rdi(const struct cfi_state *s)
{
	return s->ra.kind == CFI_RULE_REGISTER && s->ra.offset == CFI_RDI &&
	       !s->cfa_is_expression && s->cfa_register == CFI_RSP;
}

/* The CFA's part of the row; else the return address has to be where calls put it. */
static struct unwind_row state__cfa(const struct cfi_state *s, struct place *cfa)
{
	struct unwind_row row = {.rule = UNWIND_CFA_UNSUPPORTED};
	bool call = s->ra.kind == CFI_RULE_OFFSET && s->ra.offset == -8;
	int plt;

	*cfa = (struct place){
		.reg = s->cfa_register, .offset = s->cfa_offset, .deref = s->cfa_is_expression};
	if (s->ra.kind == CFI_RULE_UNDEFINED) {
		row.rule = UNWIND_CFA_END;
		return row;
	}
	if (!s->cfa_is_expression) {
		if (call || state__returns_to_rdi(s))
			row__set_cfa(&row, cfa);
		if (!call && row.rule == UNWIND_CFA_RSP)
			row.rule = UNWIND_CFA_RSP_RDI;
		return row;
	}
	if (expression__place(&s->cfa, cfa)) {
		if (state__is_signal_frame(s, cfa))
			row.rule = UNWIND_CFA_SIGNAL;
		else if (call)
			row__set_cfa(&row, cfa);
		return row;
	}
	plt = expression__plt(&s->cfa);
	if (plt >= 0 && call) {
		row.rule = UNWIND_CFA_PLT;
		row.cfa = (__s16)plt;
	}
	return row;
}

/*
 * Where the caller's rbp was saved, when it is told as an address from a
 * register: the same as an offset from the CFA if that uses the same register.
 *
 * GCC saves rbp at *rbp where it realigns the stack, and does not say so when
 * it pops it again. It has done so wherever the CFA comes from rsp.
 */
static enum unwind_rbp state__rbp_place(const struct cfi_state *s, const struct place *cfa,
					int64_t *offset)
{
	struct place place;

	if (!expression__place(&s->rbp.expression, &place) || place.deref)
		return UNWIND_RBP_UNKNOWN;
	if (place.reg == cfa->reg && !cfa->deref) {
		*offset = (int64_t)((uint64_t)place.offset - (uint64_t)cfa->offset);
		return UNWIND_RBP_CFA;
	}
	if (place.reg != CFI_RBP)
		return UNWIND_RBP_UNKNOWN;
	if (cfa->reg == CFI_RSP && !cfa->deref)
		return UNWIND_RBP_SAME;
	*offset = place.offset;
	return UNWIND_RBP_FRAME;
}

static enum unwind_rbp state__rbp(const struct cfi_state *s, const struct place *cfa, int *scaled)
{
	enum unwind_rbp rbp = UNWIND_RBP_UNKNOWN;
	int64_t offset = 0;

	switch (s->rbp.kind) {
	case CFI_RULE_SAME:
		return UNWIND_RBP_SAME;
	case CFI_RULE_OFFSET:
		rbp = UNWIND_RBP_CFA;
		offset = s->rbp.offset;
		break;
	case CFI_RULE_EXPRESSION:
		rbp = state__rbp_place(s, cfa, &offset);
		break;
	case CFI_RULE_UNDEFINED:
	case CFI_RULE_OTHER:
	case CFI_RULE_REGISTER:
		break;
	}
	if (rbp == UNWIND_RBP_UNKNOWN || !scale(offset, INT8_MIN, INT8_MAX, scaled))
		return UNWIND_RBP_UNKNOWN;
	return rbp;
}

struct unwind_row cfi__row(const struct cfi_state *state)
{
	struct place cfa;
	struct unwind_row row = state__cfa(state, &cfa);
	enum unwind_rbp rbp;
	int scaled = 0;

	if (row.rule == UNWIND_CFA_END || row.rule == UNWIND_CFA_SIGNAL ||
	    row.rule == UNWIND_CFA_UNSUPPORTED)
		return row;
	rbp = state__rbp(state, &cfa, &scaled);
	row.rbp = (__s8)scaled;
	row.rule = (__u8)UNWIND_RULE(row.rule, rbp);
	return row;
}
