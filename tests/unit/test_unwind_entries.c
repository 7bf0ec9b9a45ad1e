// SPDX-License-Identifier: BSD-2-Clause
/* Unwind tables of made-up and damaged .eh_frame: every instruction, every encoding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <time.h>
#include <cmocka.h>

#include "arch/processor.h"
#include "base/buffer.h"
#include "base/hash.h"
#include "symbols/unwind/unwind_table.h"

#define TEXT	      0x10000 /* of the made-up file: address, and size */
#define TEXT_SIZE     0x8000
#define FRAME_OFFSET  0x1000 /* of .eh_frame in the file, and its address */
#define FUNCTION      (TEXT + 0x100)
#define FUNCTION_SIZE 0x200

#define PUT(b, ...)                                                                                \
	do {                                                                                       \
		const uint8_t _bytes[] = {__VA_ARGS__};                                            \
		buffer__put(b, _bytes, sizeof(_bytes));                                            \
	} while (0)

static void put32(struct buffer *b, uint64_t value)
{
	uint32_t low = (uint32_t)value;

	buffer__put(b, &low, 4);
}

static void put64(struct buffer *b, uint64_t value)
{
	buffer__put(b, &value, 8);
}

/* Starts an entry of 64-bit DWARF or not; returns where its length goes. */
static size_t begin_entry(struct buffer *b, bool wide)
{
	if (wide) {
		put32(b, UINT32_MAX);
		put64(b, 0);
	} else {
		put32(b, 0);
	}
	return b->n;
}

static void end_entry(struct buffer *b, size_t start, bool wide)
{
	uint64_t length = b->n - start;

	memcpy(b->data + start - (wide ? 8 : 4), &length, wide ? 8 : 4);
}

/* "zR" with @encoding, CFA = rsp + 8, return address at CFA - 8. At offset 0. */
static void put_cie(struct buffer *b, uint8_t encoding)
{
	size_t start = begin_entry(b, false);

	put32(b, 0);
	PUT(b, 1, 'z', 'R', 0, 1, 0x78, 16, 1, encoding);
	PUT(b, DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1);
	end_entry(b, start, false);
}

/* An FDE of the CIE at offset 0, its address as DW_EH_PE_pcrel|sdata4. */
static void put_fde(struct buffer *b, uint32_t address, uint32_t size, const void *program,
		    size_t program_size)
{
	size_t start = begin_entry(b, false);

	put32(b, start);
	put32(b, address - (FRAME_OFFSET + b->n));
	put32(b, size);
	PUT(b, 0);
	buffer__put(b, program, program_size);
	end_entry(b, start, false);
}

/* An ELF file with @frame as .eh_frame (or @name), and one executable segment. */
static void make_elf(struct buffer *elf, const struct buffer *frame, const char *name)
{
	Elf64_Ehdr header = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = processor__own()->elf,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_shoff = 0x200,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 1,
	};
	Elf64_Phdr text = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = 0x800,
		.p_vaddr = TEXT,
		.p_filesz = TEXT_SIZE,
		.p_memsz = TEXT_SIZE,
	};
	Elf64_Shdr sections[3] = {
		[1] = {.sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = 0x400, .sh_size = 32},
		[2] = {.sh_name = 11,
		       .sh_type = SHT_PROGBITS,
		       .sh_addr = FRAME_OFFSET,
		       .sh_offset = FRAME_OFFSET,
		       .sh_size = frame->n},
	};
	char names[32] = "\0.shstrtab";
	static const uint8_t zeros[FRAME_OFFSET];

	strcpy(names + 11, name);
	buffer__put(elf, zeros, sizeof(zeros));
	memcpy(elf->data, &header, sizeof(header));
	memcpy(elf->data + header.e_phoff, &text, sizeof(text));
	memcpy(elf->data + header.e_shoff, sections, sizeof(sections));
	memcpy(elf->data + 0x400, names, sizeof(names));
	buffer__put(elf, frame->data, frame->n);
}

static int build_section(const struct buffer *frame, const char *name, struct unwind_table **table)
{
	struct buffer elf = {};
	int err;

	make_elf(&elf, frame, name);
	err = unwind_table__build_memory(elf.data, elf.n, table);
	buffer__free(&elf);
	return err;
}

static void check_rows(const struct unwind_table *table, const struct unwind_row *want, size_t n)
{
	for (size_t i = 0; i < table->n_rows && i < n; i++) {
		const struct unwind_row *row = &table->rows[i];

		if (memcmp(row, &want[i], sizeof(*row)) != 0)
			fail_msg("row %zu: %#x %d %d %#x, wanted %#x %d %d %#x", i, row->pc,
				 row->cfa, row->fp, row->rule, want[i].pc, want[i].cfa, want[i].fp,
				 want[i].rule);
	}
	assert_int_equal(table->n_rows, n);
}

/* One function with @program comes to @want, behind which is a gap. */
static void check_program(const void *program, size_t size, const struct unwind_row *want, size_t n)
{
	_cleanup_(unwind_table__freep) struct unwind_table *table = NULL;
	struct unwind_row rows[16] = {};
	struct buffer frame = {};

	memcpy(rows, want, n * sizeof(*want));
	rows[n].pc = FUNCTION + FUNCTION_SIZE;
	put_cie(&frame, DW_EH_PE_pcrel | DW_EH_PE_sdata4);
	put_fde(&frame, FUNCTION, FUNCTION_SIZE, program, size);
	assert_int_equal(build_section(&frame, ".eh_frame", &table), 0);
	check_rows(table, rows, n + 1);
	buffer__free(&frame);
}

#define PROGRAM(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define ROWS(...)                                                                                  \
	(const struct unwind_row[]){__VA_ARGS__},                                                  \
		sizeof((const struct unwind_row[]){__VA_ARGS__}) / sizeof(struct unwind_row)
#define ROW(offset, cfa_rule, cfa, fp_rule, fp)                                                    \
	{                                                                                          \
		FUNCTION + (offset), cfa, fp,                                                      \
			UNWIND_RULE(UNWIND_CFA_##cfa_rule, UNWIND_FP_##fp_rule)                    \
	}

static void programs_of_compilers(void **state)
{
	check_program(PROGRAM(DW_CFA_nop), ROWS(ROW(0, SP, 1, SAME, 0)));
	/* push rbp; mov rsp, rbp; ... leave; ret */
	check_program(PROGRAM(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 6,
			      2, DW_CFA_advance_loc | 3, DW_CFA_def_cfa_register, 6,
			      DW_CFA_advance_loc2, 0x10, 1, DW_CFA_def_cfa, 7, 8),
		      ROWS(ROW(0, SP, 1, SAME, 0), ROW(1, SP, 2, CFA, -2), ROW(4, FP, 2, CFA, -2),
			   ROW(0x114, SP, 1, CFA, -2)));
	/* An early return in the middle. */
	check_program(PROGRAM(DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset, 0x90, 1,
			      DW_CFA_advance_loc1, 0x80, DW_CFA_remember_state,
			      DW_CFA_def_cfa_offset, 8, DW_CFA_advance_loc4, 1, 0, 0, 0,
			      DW_CFA_restore_state),
		      ROWS(ROW(0, SP, 1, SAME, 0), ROW(4, SP, 18, SAME, 0),
			   ROW(0x84, SP, 1, SAME, 0), ROW(0x85, SP, 18, SAME, 0)));
	/* Steps that change nothing that counts merge; those behind the end are cut off. */
	check_program(PROGRAM(DW_CFA_advance_loc | 4, DW_CFA_offset | 3, 2, DW_CFA_advance_loc | 4,
			      DW_CFA_def_cfa_offset, 8, DW_CFA_advance_loc2, 0, 2,
			      DW_CFA_def_cfa_offset, 24),
		      ROWS(ROW(0, SP, 1, SAME, 0)));
}

static void every_other_instruction(void **state)
{
	check_program(PROGRAM(DW_CFA_def_cfa_sf, 6, 0x7e, DW_CFA_offset_extended, 6, 3,
			      DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset_sf, 0x7d,
			      DW_CFA_restore_extended, 6, DW_CFA_advance_loc | 1,
			      DW_CFA_offset_extended_sf, 6, 0x02),
		      ROWS(ROW(0, FP, 2, CFA, -3), ROW(1, FP, 3, SAME, 0), ROW(2, FP, 3, CFA, -2)));
	check_program(PROGRAM(DW_CFA_GNU_args_size, 0x90, 1, DW_CFA_GNU_window_save,
			      DW_CFA_GNU_negative_offset_extended, 6, 2, DW_CFA_MIPS_advance_loc8,
			      5, 0, 0, 0, 0, 0, 0, 0, DW_CFA_undefined, 6, DW_CFA_advance_loc | 1,
			      DW_CFA_same_value, 6, DW_CFA_advance_loc | 1, DW_CFA_register, 6, 3,
			      DW_CFA_advance_loc | 1, DW_CFA_restore | 6),
		      ROWS(ROW(0, SP, 1, CFA, 2), ROW(5, SP, 1, UNKNOWN, 0), ROW(6, SP, 1, SAME, 0),
			   ROW(7, SP, 1, UNKNOWN, 0), ROW(8, SP, 1, SAME, 0)));
	check_program(PROGRAM(DW_CFA_val_offset, 6, 2, DW_CFA_advance_loc | 1, DW_CFA_same_value, 6,
			      DW_CFA_advance_loc | 1, DW_CFA_val_offset_sf, 6, 0x7f,
			      DW_CFA_advance_loc | 1, DW_CFA_restore | 6, DW_CFA_advance_loc | 1,
			      DW_CFA_val_expression, 6, 2, DW_OP_breg7, 0),
		      ROWS(ROW(0, SP, 1, UNKNOWN, 0), ROW(1, SP, 1, SAME, 0),
			   ROW(2, SP, 1, UNKNOWN, 0), ROW(3, SP, 1, SAME, 0),
			   ROW(4, SP, 1, UNKNOWN, 0)));
	/* The end of the outermost frame; a return address elsewhere; another register. */
	check_program(PROGRAM(DW_CFA_undefined, 16, DW_CFA_advance_loc | 1, DW_CFA_offset | 16, 2,
			      DW_CFA_advance_loc | 1, DW_CFA_restore | 16, DW_CFA_advance_loc | 1,
			      DW_CFA_def_cfa_register, 10),
		      ROWS(ROW(0, END, 0, SAME, 0), ROW(1, UNSUPPORTED, 0, SAME, 0),
			   ROW(2, SP, 1, SAME, 0), ROW(3, UNSUPPORTED, 0, SAME, 0)));
	/* DW_CFA_set_loc, as pcrel|sdata4: the operand is 1 byte behind the FDE's head. */
	struct buffer program = {};
	uint32_t operand = FRAME_OFFSET + 4 + 18 + 4 + 4 + 4 + 4 + 1 + 1;

	PUT(&program, DW_CFA_set_loc);
	put32(&program, FUNCTION + 7 - operand);
	PUT(&program, DW_CFA_def_cfa_offset, 16);
	check_program(program.data, program.n,
		      ROWS(ROW(0, SP, 1, SAME, 0), ROW(7, SP, 2, SAME, 0)));
	buffer__free(&program);
}

static void offsets_have_limits(void **state)
{
	/* rsp + 32767 * 8 fits, 8 more does not, nor does what is no multiple of 8. */
	check_program(PROGRAM(DW_CFA_def_cfa_offset, 0xf8, 0xff, 0x0f, DW_CFA_advance_loc | 1,
			      DW_CFA_def_cfa_offset, 0x80, 0x80, 0x10, DW_CFA_advance_loc | 1,
			      DW_CFA_def_cfa_offset, 12, DW_CFA_advance_loc | 1,
			      DW_CFA_def_cfa_offset, 0),
		      ROWS(ROW(0, SP, 32767, SAME, 0), ROW(1, UNSUPPORTED, 0, SAME, 0),
			   ROW(3, SP, 0, SAME, 0)));
	/* rbp at CFA - 1024 fits, at CFA - 1032 not. */
	check_program(PROGRAM(DW_CFA_offset | 6, 0x80, 1, DW_CFA_advance_loc | 1, DW_CFA_offset | 6,
			      0x81, 1),
		      ROWS(ROW(0, SP, 1, CFA, -128), ROW(1, SP, 1, UNKNOWN, 0)));
}

static void expressions_are_recognised(void **state)
{
	/* A function that realigns its stack: *(rbp - 8), rbp at *rbp, and its end. */
	check_program(PROGRAM(DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78, DW_OP_deref,
			      DW_CFA_expression, 6, 2, DW_OP_breg6, 0, DW_CFA_advance_loc | 8,
			      DW_CFA_def_cfa, 7, 8),
		      ROWS(ROW(0, FP_DEREF, -1, FRAME, 0), ROW(8, SP, 1, SAME, 0)));
	check_program(PROGRAM(DW_CFA_def_cfa_expression, 4, DW_OP_breg7, 0x80, 1, DW_OP_deref,
			      DW_CFA_offset | 6, 2),
		      ROWS(ROW(0, SP_DEREF, 16, CFA, -2)));
	/* .plt, with and without endbr64 */
	check_program(PROGRAM(DW_CFA_def_cfa_expression, 11, DW_OP_breg7, 8, DW_OP_breg16, 0,
			      DW_OP_lit15, DW_OP_and, DW_OP_lit11, DW_OP_ge, DW_OP_lit3, DW_OP_shl,
			      DW_OP_plus, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_expression, 11,
			      DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and, DW_OP_lit10,
			      DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus),
		      ROWS(ROW(0, PLT, 11, SAME, 0), ROW(1, PLT, 10, SAME, 0)));
	/* rbp + 16 and rbp's place, told as expressions */
	check_program(PROGRAM(DW_CFA_def_cfa_expression, 4, DW_OP_breg6, 8, DW_OP_plus_uconst, 8,
			      DW_CFA_expression, 6, 2, DW_OP_breg6, 0),
		      ROWS(ROW(0, FP, 2, CFA, -2)));
	/* OpenSSL's assembly: what was pushed first lies behind rsp as it was */
	check_program(PROGRAM(DW_CFA_def_cfa_expression, 5, DW_OP_breg7, 8, DW_OP_deref,
			      DW_OP_plus_uconst, 8),
		      ROWS(ROW(0, SP_DEREF_8, 1, SAME, 0)));
	/* vfork: the return address is taken off the stack */
	check_program(PROGRAM(DW_CFA_def_cfa_offset, 0, DW_CFA_register, 16, 5,
			      DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset, 8),
		      ROWS(ROW(0, SP_LINK, 0, SAME, 0), ROW(4, SP_LINK, 1, SAME, 0)));
	/* struct ucontext */
	check_program(PROGRAM(DW_CFA_def_cfa_expression, 4, DW_OP_breg7, 0xa0, 1, DW_OP_deref,
			      DW_CFA_expression, 6, 3, DW_OP_breg7, 0xf8, 0, DW_CFA_expression, 16,
			      3, DW_OP_breg7, 0xa8, 1),
		      ROWS(ROW(0, SIGNAL, 0, SAME, 0)));
	/* What cannot be represented */
	check_program(PROGRAM(DW_CFA_def_cfa_expression, 5, DW_OP_breg7, 8, DW_OP_deref,
			      DW_OP_plus_uconst, 16, DW_CFA_advance_loc | 1, DW_CFA_register, 16, 1,
			      DW_CFA_advance_loc | 1, DW_CFA_def_cfa_expression, 3, DW_OP_breg10, 0,
			      DW_OP_deref, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_expression, 0),
		      ROWS(ROW(0, UNSUPPORTED, 0, SAME, 0)));
}

/* A good function behind an entry that is not: the good one counts. */
static void check_passed_over(const void *program, size_t size)
{
	_cleanup_(unwind_table__freep) struct unwind_table *table = NULL;
	struct buffer frame = {};

	put_cie(&frame, DW_EH_PE_pcrel | DW_EH_PE_sdata4);
	put_fde(&frame, FUNCTION - 0x40, 0x20, program, size);
	put_fde(&frame, FUNCTION, FUNCTION_SIZE, "", 0);
	assert_int_equal(build_section(&frame, ".eh_frame", &table), 0);
	check_rows(table, ROWS(ROW(0, SP, 1, SAME, 0), ROW(FUNCTION_SIZE, NONE, 0, SAME, 0)));
	buffer__free(&frame);
}

static void malformed_programs_are_passed_over(void **state)
{
	uint8_t nested[200];

	check_passed_over(PROGRAM(DW_CFA_restore_state));
	check_passed_over(PROGRAM(0x3f));
	check_passed_over(PROGRAM(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset));
	check_passed_over(PROGRAM(DW_CFA_advance_loc4, 1));
	check_passed_over(PROGRAM(DW_CFA_def_cfa_expression, 0xff, 0xff, 0xff, 0xff, 0x7f, 1));
	check_passed_over(PROGRAM(DW_CFA_def_cfa, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
				  0x80, 0x80, 0x80, 0x80));
	check_passed_over(
		PROGRAM(DW_CFA_MIPS_advance_loc8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff));
	memset(nested, DW_CFA_remember_state, sizeof(nested));
	check_passed_over(nested, sizeof(nested));
}

static void overlaps_are_settled(void **state)
{
	_cleanup_(unwind_table__freep) struct unwind_table *table = NULL;
	struct buffer frame = {};
	static const uint8_t offset16[] = {DW_CFA_def_cfa_offset, 16};
	static const uint8_t offset24[] = {DW_CFA_def_cfa_offset, 24};

	put_cie(&frame, DW_EH_PE_pcrel | DW_EH_PE_sdata4);
	put32(&frame, 0); /* a terminator in the middle */
	put_fde(&frame, FUNCTION + 0x20, 0x10, offset16, 2);
	put_fde(&frame, FUNCTION, 0x100, "", 0);
	put_fde(&frame, FUNCTION + 0x20, 0x40, offset24, 2); /* second at its address */
	put_fde(&frame, FUNCTION + 0x28, 0x08, offset24, 2);
	put_fde(&frame, FUNCTION + 0x30, 0, offset24, 2); /* empty */
	put_fde(&frame, 0, 0x10000000, offset24, 2);	  /* dropped by the linker */
	put_fde(&frame, TEXT + TEXT_SIZE - 4, 100, offset16, 2);
	assert_int_equal(build_section(&frame, ".eh_frame", &table), 0);
	check_rows(table, ROWS(ROW(0, SP, 1, SAME, 0), ROW(0x20, SP, 2, SAME, 0),
			       ROW(0x28, SP, 3, SAME, 0), ROW(0x30, NONE, 0, SAME, 0),
			       ROW(TEXT_SIZE - 0x104, SP, 2, SAME, 0),
			       ROW(TEXT_SIZE - 0x100, NONE, 0, SAME, 0)));
	buffer__free(&frame);
}

/* Gaps of which something is known all the same. */
static void gaps_are_filled(void **state)
{
	_cleanup_(unwind_table__freep) struct unwind_table *table = NULL;
	static const uint8_t outermost[] = {DW_CFA_undefined, 16};
	struct buffer frame = {}, elf = {};
	const uint64_t entry = FUNCTION + 0x90; /* 128 bytes are believed to belong to it */

	put_cie(&frame, DW_EH_PE_pcrel | DW_EH_PE_sdata4);
	/* clone(): between the system call and where the child begins */
	put_fde(&frame, FUNCTION, 0x17, "", 0);
	put_fde(&frame, FUNCTION + 0x21, 0xf, outermost, 2);
	/* 17 bytes are more than that */
	put_fde(&frame, FUNCTION + 0x30, 0x10, "", 0);
	put_fde(&frame, FUNCTION + 0x51, 0xf, outermost, 2);
	/* where the program begins */
	put_fde(&frame, FUNCTION + 0x60, 0x20, "", 0);
	put_fde(&frame, FUNCTION + 0x130, 0x10, "", 0);
	make_elf(&elf, &frame, ".eh_frame");
	memcpy(elf.data + offsetof(Elf64_Ehdr, e_entry), &entry, sizeof(entry));
	assert_int_equal(unwind_table__build_memory(elf.data, elf.n, &table), 0);
	check_rows(table, ROWS(ROW(0, SP, 1, SAME, 0), ROW(0x21, END, 0, SAME, 0),
			       ROW(0x30, SP, 1, SAME, 0), ROW(0x40, NONE, 0, SAME, 0),
			       ROW(0x51, END, 0, SAME, 0), ROW(0x60, SP, 1, SAME, 0),
			       ROW(0x80, NONE, 0, SAME, 0), ROW(0x90, END, 0, SAME, 0),
			       ROW(0x110, NONE, 0, SAME, 0), ROW(0x130, SP, 1, SAME, 0),
			       ROW(0x140, NONE, 0, SAME, 0)));
	buffer__free(&frame);
	buffer__free(&elf);
}

static void put_encoded(struct buffer *b, uint8_t encoding, uint64_t value)
{
	uint64_t here = FRAME_OFFSET + b->n;

	if ((encoding & 0x70) == DW_EH_PE_pcrel)
		value -= here;
	switch (encoding & 0xf) {
	case DW_EH_PE_uleb128:
	case DW_EH_PE_sleb128:
		for (int i = 0; i < 9; i++, value = (uint64_t)((int64_t)value >> 7))
			PUT(b, (uint8_t)(value | 0x80));
		PUT(b, (uint8_t)(value & 0x7f));
		break;
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		buffer__put(b, &value, 2);
		break;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		put32(b, value);
		break;
	default:
		if (encoding == DW_EH_PE_aligned)
			while ((FRAME_OFFSET + b->n) % 8)
				PUT(b, 0);
		put64(b, value);
	}
}

static void every_encoding_is_read(void **state)
{
	static const struct {
		uint8_t encoding;
		int err;
	} cases[] = {
		{DW_EH_PE_absptr, 0},
		{DW_EH_PE_uleb128, 0},
		{DW_EH_PE_udata4, 0},
		{DW_EH_PE_udata8, 0},
		{DW_EH_PE_signed, 0},
		{DW_EH_PE_sleb128, 0},
		{DW_EH_PE_sdata4, 0},
		{DW_EH_PE_sdata8, 0},
		{DW_EH_PE_pcrel | DW_EH_PE_absptr, 0},
		{DW_EH_PE_pcrel | DW_EH_PE_sleb128, 0},
		{DW_EH_PE_pcrel | DW_EH_PE_sdata4, 0},
		{DW_EH_PE_pcrel | DW_EH_PE_sdata8, 0},
		{DW_EH_PE_textrel | DW_EH_PE_udata4, 0},
		{DW_EH_PE_datarel | DW_EH_PE_sdata4, 0},
		{DW_EH_PE_aligned, 0},
		{DW_EH_PE_udata2, -ENOENT}, /* the text is too high for it */
		{DW_EH_PE_indirect | DW_EH_PE_pcrel | DW_EH_PE_sdata4, -ENOENT},
		{DW_EH_PE_omit, -ENOENT},
		{0x60, -ENOENT},
		{0x05, -ENOENT},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(unwind_table__freep) struct unwind_table *table = NULL;
		struct buffer frame = {};
		size_t start;

		put_cie(&frame, cases[i].encoding);
		start = begin_entry(&frame, false);
		put32(&frame, start);
		put_encoded(&frame, cases[i].encoding, FUNCTION);
		put_encoded(&frame, cases[i].encoding & 0xf, FUNCTION_SIZE);
		PUT(&frame, 3, 9, 9, 9); /* augmentation data of no interest */
		end_entry(&frame, start, false);
		assert_int_equal(build_section(&frame, ".eh_frame", &table), cases[i].err);
		if (table)
			check_rows(table, ROWS(ROW(0, SP, 1, SAME, 0),
					       ROW(FUNCTION_SIZE, NONE, 0, SAME, 0)));
		buffer__free(&frame);
	}
}

struct shape {
	const char *augmentation;
	uint8_t version;
	bool debug_frame;
	bool wide;
	bool wide_id; /* in .eh_frame, where tools differ */
	int err;
};

static void put_id(struct buffer *b, const struct shape *shape, uint64_t id)
{
	if (shape->wide && (shape->debug_frame || shape->wide_id))
		put64(b, id);
	else
		put32(b, id);
}

static void put_shape(struct buffer *b, const struct shape *shape)
{
	bool sized = *shape->augmentation == 'z';
	size_t start = begin_entry(b, shape->wide);

	put_id(b, shape, shape->debug_frame ? UINT64_MAX : 0);
	PUT(b, shape->version);
	buffer__put(b, shape->augmentation, strlen(shape->augmentation) + 1);
	if (!strcmp(shape->augmentation, "eh"))
		put64(b, 0);
	if (shape->version == 4)
		PUT(b, 8, 0);
	PUT(b, 1, 0x78, 16);
	if (sized) {
		size_t at = b->n;

		PUT(b, 0);
		for (const char *a = shape->augmentation + 1; *a; a++) {
			if (*a == 'P')
				PUT(b, DW_EH_PE_indirect | DW_EH_PE_pcrel | DW_EH_PE_sdata4, 1, 2,
				    3, 4);
			else if (*a == 'L' || *a == 'R')
				PUT(b, *a == 'R' ? DW_EH_PE_absptr : DW_EH_PE_omit);
		}
		b->data[at] = (uint8_t)(b->n - at - 1);
	}
	PUT(b, DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1);
	end_entry(b, start, shape->wide);

	start = begin_entry(b, shape->wide);
	put_id(b, shape, shape->debug_frame ? 0 : start);
	put64(b, FUNCTION);
	put64(b, FUNCTION_SIZE);
	if (sized)
		PUT(b, 0);
	PUT(b, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16);
	end_entry(b, start, shape->wide);
}

static void every_shape_of_entry_is_read(void **state)
{
	static const struct shape shapes[] = {
		{.augmentation = "", .version = 1},
		{.augmentation = "eh", .version = 1},
		{.augmentation = "zR", .version = 1},
		{.augmentation = "zR", .version = 3},
		{.augmentation = "zPLR", .version = 1},
		{.augmentation = "zRS", .version = 1},
		{.augmentation = "zSBGRPL", .version = 1},
		{.augmentation = "zRx", .version = 1},
		{.augmentation = "zxR", .version = 1, .err = -ENOENT},
		{.augmentation = "x", .version = 1, .err = -ENOENT},
		{.augmentation = "", .version = 2, .err = -ENOENT},
		{.augmentation = "zR", .version = 1, .wide = true},
		{.augmentation = "zR", .version = 1, .wide = true, .wide_id = true},
		{.augmentation = "", .version = 1, .debug_frame = true},
		{.augmentation = "", .version = 3, .debug_frame = true},
		{.augmentation = "", .version = 4, .debug_frame = true},
		{.augmentation = "", .version = 4, .debug_frame = true, .wide = true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		_cleanup_(unwind_table__freep) struct unwind_table *table = NULL;
		struct buffer frame = {};

		put_shape(&frame, &shapes[i]);
		assert_int_equal(build_section(&frame,
					       shapes[i].debug_frame ? ".debug_frame" : ".eh_frame",
					       &table),
				 shapes[i].err);
		if (table)
			check_rows(table, ROWS(ROW(0, SP, 1, SAME, 0), ROW(1, SP, 2, SAME, 0),
					       ROW(FUNCTION_SIZE, NONE, 0, SAME, 0)));
		buffer__free(&frame);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_of_compilers),
		cmocka_unit_test(every_other_instruction),
		cmocka_unit_test(offsets_have_limits),
		cmocka_unit_test(expressions_are_recognised),
		cmocka_unit_test(malformed_programs_are_passed_over),
		cmocka_unit_test(overlaps_are_settled),
		cmocka_unit_test(gaps_are_filled),
		cmocka_unit_test(every_encoding_is_read),
		cmocka_unit_test(every_shape_of_entry_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
