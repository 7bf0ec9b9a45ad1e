/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A row of an unwind table against libdw's reading of the same call frame
 * information: both are carried out on a made-up machine, and have to find the
 * same CFA, the same place of the return address and the same rbp.
 */
#pragma once

#include <dwarf.h>
#include <stdio.h>
#include <string.h>
#include <gelf.h>
#include <elfutils/libdw.h>

#include "base/hash.h"
#include "symbols/unwind/unwind_table.h"

struct machine {
	uint64_t regs[17];
	bool other; /* a register beside rsp, rbp and rip was used */
};

/* Why a comparison ended as it did. */
enum verdict {
	VERDICT_SAME,
	VERDICT_GAP,
	VERDICT_UNSUPPORTED, /* rightly so */
	VERDICT_REFUSED,     /* libdw calls it invalid */
	VERDICT_DIFFERS,
	VERDICTS,
};

static inline uint64_t machine__memory(uint64_t address)
{
	return hash__mix(address);
}

static inline struct machine machine__new(uint64_t pc)
{
	struct machine m = {};

	for (int i = 0; i < 16; i++)
		m.regs[i] = hash__mix(pc + (uint64_t)i) & ~7ULL;
	m.regs[16] = pc;
	return m;
}

static inline uint64_t machine__reg(struct machine *m, unsigned int reg)
{
	m->other |= reg != 6 && reg != 7 && reg != 16;
	return reg < 17 ? m->regs[reg] : 0;
}

static inline bool binary_op(uint8_t op, uint64_t *a, uint64_t b)
{
	switch (op) {
	case DW_OP_plus:
		*a += b;
		return true;
	case DW_OP_minus:
		*a -= b;
		return true;
	case DW_OP_mul:
		*a *= b;
		return true;
	case DW_OP_and:
		*a &= b;
		return true;
	case DW_OP_shl:
		*a <<= b & 63;
		return true;
	case DW_OP_ge:
		*a = (int64_t)*a >= (int64_t)b;
		return true;
	default:
		return false;
	}
}

/* What @ops come to; *@is_value when that is the register's value, not its place. */
static inline uint64_t machine__eval(struct machine *m, const Dwarf_Op *ops, size_t n, uint64_t cfa,
				     bool *is_value)
{
	uint64_t stack[16] = {};
	unsigned int top = 0; /* stack[0] is never used */

	*is_value = false;
	for (size_t i = 0; i < n && top < 15; i++) {
		uint8_t op = ops[i].atom;

		if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
			stack[++top] = machine__reg(m, op - DW_OP_breg0) + ops[i].number;
		} else if (op >= DW_OP_reg0 && op <= DW_OP_reg31) {
			stack[++top] = machine__reg(m, op - DW_OP_reg0);
			*is_value = true;
		} else if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
			stack[++top] = op - DW_OP_lit0;
		} else if (op >= DW_OP_const1u && op <= DW_OP_consts) {
			stack[++top] = ops[i].number;
		} else if (op == DW_OP_call_frame_cfa) {
			stack[++top] = cfa;
		} else if (op == DW_OP_plus_uconst) {
			stack[top] += ops[i].number;
		} else if (op == DW_OP_deref) {
			stack[top] = machine__memory(stack[top]);
		} else if (op == DW_OP_stack_value) {
			*is_value = true;
		} else if (op == DW_OP_bregx) {
			stack[++top] = machine__reg(m, ops[i].number) + ops[i].number2;
		} else if (top >= 2 && binary_op(op, &stack[top - 1], stack[top])) {
			top--;
		} else {
			m->other = true;
		}
	}
	return stack[top];
}

/* The CFA by @row, as abi/unwind.h says. */
static inline uint64_t row__cfa(const struct unwind_row *row, const struct machine *m)
{
	uint64_t offset = (uint64_t)(int64_t)row->cfa * 8;

	switch (UNWIND_CFA(row)) {
	case UNWIND_CFA_SP:
	case UNWIND_CFA_SP_LINK:
		return m->regs[7] + offset;
	case UNWIND_CFA_FP:
		return m->regs[6] + offset;
	case UNWIND_CFA_SP_DEREF:
		return machine__memory(m->regs[7] + offset);
	case UNWIND_CFA_FP_DEREF:
		return machine__memory(m->regs[6] + offset);
	case UNWIND_CFA_SP_DEREF_8:
		return machine__memory(m->regs[7] + offset) + 8;
	case UNWIND_CFA_PLT:
		return m->regs[7] + 8 + ((int)(m->regs[16] & 15) >= row->cfa ? 8 : 0);
	case UNWIND_CFA_SIGNAL: /* struct ucontext's rsp */
		return machine__memory(m->regs[7] + 160);
	default:
		return 0;
	}
}

/* Whether some row could have said it: then calling it unsupported is a fault. */
static inline bool cfa_fits(const struct machine *m, uint64_t cfa)
{
	for (int reg = 6; reg <= 7; reg++) {
		int64_t distance = (int64_t)(cfa - m->regs[reg]);

		if (distance % 8 == 0 && distance / 8 <= INT16_MAX && distance / 8 >= INT16_MIN)
			return true;
		for (int i = -1024; i < 1024; i++)
			if (machine__memory(m->regs[reg] + (uint64_t)(i * 8)) == cfa)
				return true;
	}
	return false;
}

struct register_truth {
	enum { TRUTH_UNDEFINED, TRUTH_SAME, TRUTH_PLACE, TRUTH_VALUE } kind;
	uint64_t at;
	bool other;
};

static inline struct register_truth frame__register(Dwarf_Frame *frame, struct machine *m, int reg,
						    uint64_t cfa)
{
	struct register_truth truth = {};
	struct machine own = *m;
	Dwarf_Op memory[3], *ops;
	bool is_value;
	size_t n;

	if (dwarf_frame_register(frame, reg, memory, &ops, &n))
		return truth;
	if (!n) {
		truth.kind = ops ? TRUTH_UNDEFINED : TRUTH_SAME;
		return truth;
	}
	own.other = false;
	truth.at = machine__eval(&own, ops, n, cfa, &is_value);
	truth.kind = is_value ? TRUTH_VALUE : TRUTH_PLACE;
	truth.other = own.other;
	return truth;
}

/* Whether @reg is kept in register @other. */
static inline bool in_register(Dwarf_Frame *frame, int reg, unsigned int other)
{
	Dwarf_Op memory[3], *ops;
	size_t n;

	return !dwarf_frame_register(frame, reg, memory, &ops, &n) && n == 1 &&
	       ops[0].atom == DW_OP_regx && ops[0].number == other;
}

static inline bool fits_fp(uint64_t distance)
{
	int64_t d = (int64_t)distance;

	return d % 8 == 0 && d / 8 <= INT8_MAX && d / 8 >= INT8_MIN;
}

static inline bool same_fp(const struct unwind_row *row, const struct machine *m, uint64_t cfa,
			   const struct register_truth *truth)
{
	uint64_t offset = (uint64_t)(int64_t)row->fp * 8;

	switch (UNWIND_FP(row)) {
	case UNWIND_FP_SAME:
		/* GCC does not say when a function that realigns has popped rbp. */
		return truth->kind == TRUTH_SAME ||
		       (truth->kind == TRUTH_PLACE && truth->at == m->regs[6] &&
			UNWIND_CFA(row) == UNWIND_CFA_SP);
	case UNWIND_FP_CFA:
		return truth->kind == TRUTH_PLACE && truth->at == cfa + offset;
	case UNWIND_FP_FRAME:
		return truth->kind == TRUTH_PLACE && truth->at == m->regs[6] + offset;
	default:
		return truth->kind != TRUTH_SAME &&
		       (truth->kind != TRUTH_PLACE || truth->other ||
			(!fits_fp(truth->at - cfa) && !fits_fp(truth->at - m->regs[6])));
	}
}

static inline enum verdict compare_frame(const struct unwind_row *row, Dwarf_Frame *frame,
					 uint64_t pc)
{
	struct machine m = machine__new(pc);
	struct register_truth ra, fp;
	bool is_value, call;
	uint64_t cfa;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(frame, &ops, &n))
		return VERDICT_REFUSED;
	cfa = machine__eval(&m, ops, n, 0, &is_value);
	ra = frame__register(frame, &m, 16, cfa);
	fp = frame__register(frame, &m, 6, cfa);
	if (ra.kind == TRUTH_UNDEFINED || UNWIND_CFA(row) == UNWIND_CFA_END)
		return ra.kind == TRUTH_UNDEFINED && UNWIND_CFA(row) == UNWIND_CFA_END
			       ? VERDICT_SAME
			       : VERDICT_DIFFERS;
	call = ra.kind == TRUTH_PLACE && ra.at == cfa - 8;
	if (UNWIND_CFA(row) == UNWIND_CFA_UNSUPPORTED)
		return m.other || !call || !cfa_fits(&m, cfa) ? VERDICT_UNSUPPORTED
							      : VERDICT_DIFFERS;
	if (row__cfa(row, &m) != cfa)
		return VERDICT_DIFFERS;
	if (UNWIND_CFA(row) == UNWIND_CFA_SIGNAL)
		return ra.at == m.regs[7] + 168 && fp.at == m.regs[7] + 120 ? VERDICT_SAME
									    : VERDICT_DIFFERS;
	if (UNWIND_CFA(row) == UNWIND_CFA_SP_LINK)
		call = in_register(frame, 16, 5);
	return call && same_fp(row, &m, cfa, &fp) ? VERDICT_SAME : VERDICT_DIFFERS;
}

/* Whether @row is one of three that take 8 bytes of stack and give them back: _init, _fini. */
static inline bool is_crt_function(const struct unwind_table *table, const struct unwind_row *row)
{
	const struct unwind_row *end = table->rows + table->n_rows;

	for (int i = 0; i < 3 && row >= table->rows; i++, row--)
		if (end - row > 3 && row[0].cfa == 1 && row[1].cfa == 2 && row[2].cfa == 1 &&
		    row[3].pc - row[0].pc <= 64)
			return true;
	return false;
}

/* The section of stubs of @elf that @pc is in: its bytes, and where they begin. */
static inline const Elf_Data *plt_of(Elf *elf, uint64_t pc, uint64_t *begin)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *name;
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) || pc - header.sh_addr >= header.sh_size)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (!name || (strncmp(name, ".plt", 4) != 0 && strcmp(name, ".iplt") != 0))
			continue;
		*begin = header.sh_addr;
		return elf_rawdata(section, NULL);
	}
	return NULL;
}

/* What a stub has on the stack at @pc, in words: what its instructions before @pc push. */
static inline int64_t stub_depth(const Elf_Data *plt, uint64_t begin, uint64_t pc)
{
	const uint8_t *code = plt->d_buf;
	size_t at = (pc - begin) & ~15ULL, to = pc - begin;
	bool to_loader = plt->d_size >= 2 && code[0] == 0xff && code[1] == 0x35 && at == 0;
	int64_t depth = 1 + to_loader;

	while (at + 2 <= plt->d_size) {
		bool pushes = code[at] == 0x68 || (code[at] == 0xff && code[at + 1] == 0x35);

		if (code[at] == 0xff) /* push or jump by a slot */
			at += 6;
		else if (code[at] == 0x68 || code[at] == 0xe9)
			at += 5;
		else if (code[at] == 0xf3)
			at += 4;
		else
			at += 1;
		if (at > to)
			break;
		depth += pushes;
	}
	return depth;
}

/*
 * Whether @row is right for @pc, of which .eh_frame says nothing: it says nothing either,
 * except in stubs, and but for where a program begins, between the two halves of clone(),
 * and in _init() and _fini().
 */
static inline bool fills_gap(const struct unwind_table *table, const struct unwind_row *row,
			     Elf *elf, uint64_t pc)
{
	const struct machine m = machine__new(pc);
	uint64_t begin = 0;
	const Elf_Data *plt = plt_of(elf, pc, &begin);
	bool last = row + 1 == table->rows + table->n_rows;

	if (plt)
		return row__cfa(row, &m) == m.regs[7] + 8 * stub_depth(plt, begin, pc);
	return UNWIND_CFA(row) == UNWIND_CFA_NONE || UNWIND_CFA(row) == UNWIND_CFA_END ||
	       is_crt_function(table, row) ||
	       (!last && UNWIND_CFA(&row[1]) == UNWIND_CFA_END && row[1].pc - pc <= 16);
}

/* Compares at one address; a difference is told on stderr. */
static inline enum verdict compare_pc(const struct unwind_table *table, Elf *elf, Dwarf_CFI *cfi,
				      uint64_t pc)
{
	const struct unwind_row *row = unwind_rows__find(table->rows, table->n_rows, pc);
	enum verdict verdict;
	Dwarf_Frame *frame;

	if (!dwarf_cfi_addrframe(cfi, pc, &frame)) {
		verdict = row ? compare_frame(row, frame, pc) : VERDICT_DIFFERS;
		free(frame);
	} else if (!row || fills_gap(table, row, elf, pc)) {
		verdict = VERDICT_GAP;
	} else {
		verdict = VERDICT_DIFFERS;
	}
	if (verdict == VERDICT_DIFFERS)
		fprintf(stderr, "at %#lx: row cfa %d fp %d rule %#x\n", (unsigned long)pc,
			row ? row->cfa : 0, row ? row->fp : 0, row ? row->rule : 0);
	return verdict;
}

/* A generator with a fixed seed: a test that fails, fails again. */
static inline uint64_t next_random(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15ULL;
	return hash__mix(*state);
}

/*
 * Compares at both ends of rows and at random addresses of executable
 * segments: all rows of small tables, @limit addresses of each kind in others.
 */
static inline void compare_table(const struct unwind_table *table, Elf *elf, Dwarf_CFI *cfi,
				 size_t limit, size_t verdicts[VERDICTS])
{
	size_t step = table->n_rows / limit + 1;
	uint64_t seed = table->n_rows;

	for (size_t i = 0; i + 1 < table->n_rows; i += step) {
		verdicts[compare_pc(table, elf, cfi, table->rows[i].pc)]++;
		verdicts[compare_pc(table, elf, cfi, table->rows[i + 1].pc - 1)]++;
	}
	for (size_t i = 0; i < table->n_segments; i++) {
		const struct unwind_segment *s = &table->segments[i];

		for (size_t k = 0; k < limit; k++) {
			uint64_t offset = s->offset + next_random(&seed) % s->size;

			verdicts[compare_pc(table, elf, cfi, offset + (uint64_t)s->bias)]++;
		}
	}
}
