// SPDX-License-Identifier: BSD-2-Clause
/* Runs the instructions of CIEs and FDEs. DWARF 5, section 6.4.2. */
#include <errno.h>
#include <stdlib.h>
#include <dwarf.h>

#include "symbols/unwind/cfi.h"
#include "symbols/dwarf/dwarf_read.h"

/* Compilers nest remember_state once; hand-written code was seen to nest it twice. */
#define MAX_REMEMBERED 16

struct program {
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	struct cursor c;
	struct cfi_state state;
	uint64_t begin; /* of the function */
	uint64_t pc;
	uint64_t end;
	struct cfi_rows *rows; /* NULL for the initial instructions */
	unsigned int remembered;
	struct cfi_state memory[MAX_REMEMBERED];
};

int cfi_rows__push(struct cfi_rows *rows, uint32_t pc, struct unwind_row row)
{
	if (rows->rows.n) {
		const struct unwind_row *last = &rows->rows.data[rows->rows.n - 1];

		if (last->cfa == row.cfa && last->fp == row.fp && last->rule == row.rule)
			return 0;
	}
	if (rows->max && rows->rows.n >= rows->max)
		return -ENOMEM;
	row.pc = pc;
	return array__push(&rows->rows, row);
}

static int program_fail(struct program *p)
{
	p->c.bad = true;
	return 0;
}

/* Advances to @pc: appends a row with the current state. */
static int program_advance(struct program *p, uint64_t pc)
{
	uint64_t from = p->pc;

	if (pc < from || !p->rows)
		return program_fail(p);
	p->pc = pc;
	if (pc == from || from >= p->end)
		return 0;
	return cfi_rows__push(p->rows, (uint32_t)from, cfi__row(&p->state));
}

static int program_advance_by(struct program *p, uint64_t delta)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(delta, p->cie->code_align, &bytes) ||
	    __builtin_add_overflow(bytes, p->pc, &bytes))
		return program_fail(p);
	return program_advance(p, bytes);
}

/* The rule of @reg, or NULL if it is not tracked. */
static struct cfi_rule *state_rule(struct cfi_state *state, uint64_t reg)
{
	if (reg == DWARF_FP)
		return &state->fp;
	if (reg == DWARF_RETURN)
		return &state->ra;
	return NULL;
}

static void program_set(struct program *p, uint64_t reg, struct cfi_rule value)
{
	struct cfi_rule *rule = state_rule(&p->state, reg);

	if (rule)
		*rule = value;
}

static int64_t data_factored(const struct program *p, uint64_t offset)
{
	return (int64_t)(offset * (uint64_t)p->cie->data_align);
}

static void program_set_offset(struct program *p, uint64_t reg, uint64_t offset)
{
	program_set(p, reg,
		    (struct cfi_rule){.kind = CFI_RULE_OFFSET, .offset = data_factored(p, offset)});
}

static void program_restore(struct program *p, uint64_t reg)
{
	if (reg == DWARF_FP)
		p->state.fp = p->cie->initial.fp;
	else if (reg == DWARF_RETURN)
		p->state.ra = p->cie->initial.ra;
}

static struct cfi_expression program_read_expression(struct program *p)
{
	struct cfi_expression e = {.size = dwarf_read__uleb(&p->c)};

	e.data = dwarf_read__skip(&p->c, e.size);
	return e;
}

static void program_set_cfa(struct program *p, uint64_t reg, int64_t offset)
{
	p->state.cfa_is_expression = false;
	p->state.cfa_register = reg;
	p->state.cfa_offset = offset;
}

/* Executes instructions that define the CFA. False if @op is not one. */
static bool program_cfa_instruction(struct program *p, uint8_t op)
{
	struct cursor *c = &p->c;
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = dwarf_read__uleb(c);
		program_set_cfa(p, reg, (int64_t)dwarf_read__uleb(c));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = dwarf_read__uleb(c);
		program_set_cfa(p, reg, data_factored(p, (uint64_t)dwarf_read__sleb(c)));
		return true;
	case DW_CFA_def_cfa_register:
		/* After an expression (invalid DWARF, but it occurs): keeps the old offset. */
		p->state.cfa_is_expression = false;
		p->state.cfa_register = dwarf_read__uleb(c);
		return true;
	case DW_CFA_def_cfa_offset:
		p->state.cfa_offset = (int64_t)dwarf_read__uleb(c);
		return true;
	case DW_CFA_def_cfa_offset_sf:
		p->state.cfa_offset = data_factored(p, (uint64_t)dwarf_read__sleb(c));
		return true;
	case DW_CFA_def_cfa_expression:
		p->state.cfa_is_expression = true;
		p->state.cfa = program_read_expression(p);
		return true;
	default:
		return false;
	}
}

/* Executes instructions that define a register rule. False if @op is not one. */
static bool program_register_instruction(struct program *p, uint8_t op)
{
	struct cursor *c = &p->c;
	struct cfi_rule rule = {.kind = CFI_RULE_OTHER};
	uint64_t reg = dwarf_read__uleb(c);

	switch (op) {
	case DW_CFA_undefined:
		rule.kind = CFI_RULE_UNDEFINED;
		break;
	case DW_CFA_same_value:
		rule.kind = CFI_RULE_SAME;
		break;
	case DW_CFA_register:
		rule.offset = (int64_t)dwarf_read__uleb(c);
		rule.kind = (uint64_t)rule.offset == reg ? CFI_RULE_SAME : CFI_RULE_REGISTER;
		break;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		dwarf_read__uleb(c); /* skips an sleb, too */
		break;
	case DW_CFA_expression:
		rule.kind = CFI_RULE_EXPRESSION;
		rule.expression = program_read_expression(p);
		break;
	case DW_CFA_val_expression:
		program_read_expression(p);
		break;
	default:
		return false;
	}
	program_set(p, reg, rule);
	return true;
}

static void program_saved_register(struct program *p, uint8_t op)
{
	struct cursor *c = &p->c;
	uint64_t reg = dwarf_read__uleb(c);

	if (op == DW_CFA_offset_extended)
		program_set_offset(p, reg, dwarf_read__uleb(c));
	else if (op == DW_CFA_offset_extended_sf)
		program_set_offset(p, reg, (uint64_t)dwarf_read__sleb(c));
	else if (op == DW_CFA_GNU_negative_offset_extended)
		program_set_offset(p, reg, -dwarf_read__uleb(c));
	else
		program_restore(p, reg);
}

static void program_remember_state(struct program *p)
{
	if (p->remembered == MAX_REMEMBERED)
		p->c.bad = true;
	else
		p->memory[p->remembered++] = p->state;
}

static void program_restore_state(struct program *p)
{
	if (!p->remembered)
		p->c.bad = true;
	else
		p->state = p->memory[--p->remembered];
}

/* Executes instructions whose upper two bits are 0. */
static int program_extended(struct program *p, uint8_t op)
{
	struct cursor *c = &p->c;

	switch (op) {
	case DW_CFA_nop:
	case DW_CFA_GNU_window_save:
		return 0;
	case DW_CFA_set_loc:
		return program_advance(p, cfi__pointer(p->section, c, p->cie->encoding, p->begin));
	case DW_CFA_advance_loc1:
		return program_advance_by(p, dwarf_read__uint8_t(c));
	case DW_CFA_advance_loc2:
		return program_advance_by(p, dwarf_read__uint16_t(c));
	case DW_CFA_advance_loc4:
		return program_advance_by(p, dwarf_read__uint32_t(c));
	case DW_CFA_MIPS_advance_loc8:
		return program_advance_by(p, dwarf_read__uint64_t(c));
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_GNU_negative_offset_extended:
	case DW_CFA_restore_extended:
		program_saved_register(p, op);
		return 0;
	case DW_CFA_remember_state:
		program_remember_state(p);
		return 0;
	case DW_CFA_restore_state:
		program_restore_state(p);
		return 0;
	case DW_CFA_GNU_args_size:
		dwarf_read__uleb(c);
		return 0;
	default:
		if (!program_cfa_instruction(p, op) && !program_register_instruction(p, op))
			c->bad = true;
		return 0;
	}
}

static int program_run(struct program *p)
{
	int err = 0;

	while (!err && p->c.at < p->c.end && !p->c.bad && p->pc < p->end) {
		uint8_t op = *p->c.at++;

		switch (op & 0xc0) {
		case DW_CFA_advance_loc:
			err = program_advance_by(p, op & 0x3f);
			break;
		case DW_CFA_offset:
			program_set_offset(p, op & 0x3f, dwarf_read__uleb(&p->c));
			break;
		case DW_CFA_restore:
			program_restore(p, op & 0x3f);
			break;
		default:
			err = program_extended(p, op);
		}
	}
	if (!err && p->c.bad)
		err = -EINVAL;
	return err;
}

int cfi__run_initial(const struct cfi_section *section, struct cfi_cie *cie, struct cursor program)
{
	struct program p;
	int err;

	p.section = section;
	p.cie = cie;
	p.c = program;
	p.state = (struct cfi_state){};
	p.begin = p.pc = 0;
	p.end = 1;
	p.rows = NULL;
	p.remembered = 0;
	err = program_run(&p);
	if (!err)
		cie->initial = p.state;
	return err;
}

int cfi__run(const struct cfi_section *section, const struct cfi_cie *cie,
	     const struct cfi_fde *fde, uint32_t end, struct cfi_rows *rows)
{
	struct program p; /* not zeroed: @memory is large */
	int err;

	p.section = section;
	p.cie = cie;
	p.c = (struct cursor){.at = section->data + fde->program,
			      .end = section->data + fde->program + fde->program_size};
	p.state = cie->initial;
	p.begin = p.pc = fde->begin;
	p.end = end;
	p.rows = rows;
	p.remembered = 0;
	err = program_run(&p);
	if (!err)
		err = program_advance(&p, UINT64_MAX);
	return err;
}
