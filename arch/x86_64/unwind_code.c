// SPDX-License-Identifier: BSD-2-Clause
#include <dwarf.h>
#include <string.h>

#include "arch/x86_64/processor.h"

/*
 * _init() and _fini() begin with `sub $8, %rsp`, possibly after endbr64, and end with
 * `add $8, %rsp; ret`.
 */
static size_t start_file_rows(const uint8_t *code, size_t size, uint32_t pc,
			      struct unwind_row *rows)
{
	static const uint8_t take[] = {0x48, 0x83, 0xec, 0x08},
			     give[] = {0x48, 0x83, 0xc4, 0x08, 0xc3};
	size_t begin =
		size >= ENDBR64_BYTES && !memcmp(code, ENDBR64, ENDBR64_BYTES) ? ENDBR64_BYTES : 0;

	if (size < begin + sizeof(take) + sizeof(give) ||
	    memcmp(code + begin, take, sizeof(take)) ||
	    memcmp(code + size - sizeof(give), give, sizeof(give)))
		return 0;
	rows[0] = (struct unwind_row){.pc = pc, .cfa = 1, .rule = UNWIND_CFA_SP};
	rows[1] = (struct unwind_row){
		.pc = pc + (uint32_t)(begin + sizeof(take)), .cfa = 2, .rule = UNWIND_CFA_SP};
	rows[2] =
		(struct unwind_row){.pc = pc + (uint32_t)size - 1, .cfa = 1, .rule = UNWIND_CFA_SP};
	return 3;
}

/*
 * Stubs jump without changing the stack. If .plt is lazy (its first entry calls the loader), its
 * stubs push the relocation index first, with an instruction that ends at byte 11, or 9 after
 * endbr64.
 */
static size_t plt_rows(const uint8_t *code, uint64_t size, uint32_t pc, struct unwind_row *rows)
{
	static const uint8_t push[] = {0xff, 0x35};

	if (size <= 16 || pc & 15 || memcmp(code, push, sizeof(push))) {
		rows[0] = (struct unwind_row){.pc = pc, .cfa = 1, .rule = UNWIND_CFA_SP};
		return 1;
	}
	rows[0] = (struct unwind_row){.pc = pc, .cfa = 2, .rule = UNWIND_CFA_SP};
	rows[1] = (struct unwind_row){.pc = pc + 6, .cfa = 3, .rule = UNWIND_CFA_SP};
	rows[2] = (struct unwind_row){.pc = pc + 16,
				      .cfa = memcmp(code + 16, ENDBR64, ENDBR64_BYTES) ? 11 : 9,
				      .rule = UNWIND_CFA_PLT};
	return 3;
}

static int plt_expression(const uint8_t *code, size_t size)
{
	static const uint8_t head[] = {DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and};
	static const uint8_t tail[] = {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
	uint8_t lit;

	if (size != sizeof(head) + 1 + sizeof(tail))
		return -1;
	lit = code[sizeof(head)];
	if (memcmp(code, head, sizeof(head)) || lit < DW_OP_lit0 || lit > DW_OP_lit15 ||
	    memcmp(code + sizeof(head) + 1, tail, sizeof(tail)))
		return -1;
	return lit - DW_OP_lit0;
}

/* crosscall_amd64() or crosscall1(), from its six pushes to its two calls. */
#define CROSSCALL_PUSHED 10

static const uint8_t crosscall[] = {
	0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, /* push ... */
	0x48, 0x89, 0xfb, 0x48, 0x89, 0xd7,			    /* mov, mov */
	0xff, 0xd6, 0xff, 0xd3,					    /* call, call */
};

/* rbp is pushed as the second. */
static size_t crosscall_rows(uint32_t pc, struct unwind_row *rows)
{
	rows[0] = (struct unwind_row){.pc = pc, .cfa = 1, .rule = UNWIND_CFA_SP};
	rows[1] = (struct unwind_row){.pc = pc + CROSSCALL_PUSHED,
				      .cfa = 7,
				      .fp = -3,
				      .rule = UNWIND_RULE(UNWIND_CFA_SP, UNWIND_FP_CFA)};
	return 2;
}

const struct processor_unwind x86_64_unwind = {
	.clone_gap = 16,   /* system call, test, two jumps and a return */
	.entry_size = 128, /* glibc 2.36 has 61 bytes */
	.start_file = start_file_rows,
	.plt = plt_rows,
	.plt_expression = plt_expression,
	.crosscall = crosscall,
	.crosscall_size = sizeof(crosscall),
	.crosscall_rows = crosscall_rows,
};
