/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of machine code in files, by the processor that it is for. Of processors other than
 * its own, dwell only names PLT stubs. A processor has one struct processor, in
 * arch/NAME/processor.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <capstone/capstone.h>

#include "abi/unwind.h"
#include "arch/uprobe_offset.h"

/* Stubs of PLT sections, which jump through a slot of the GOT. */
struct processor_plt {
	uint32_t jump_slot; /* types of relocations */
	uint32_t glob_dat;
	uint32_t irelative;
	/*
	 * Whether the @size bytes at @code, linked at @address, are a stub. Sets *@slot, the
	 * address of its GOT slot, or *@number, the index of its relocation.
	 */
	bool (*decode)(const uint8_t *code, size_t size, uint64_t address, uint64_t *slot,
		       uint64_t *number);
};

enum instruction_kind {
	INSTRUCTION_OTHER = 0,
	INSTRUCTION_RETURN,
	INSTRUCTION_JUMP,	      /* to a known address */
	INSTRUCTION_JUMP_BY_REGISTER, /* a tail call by a pointer, or a switch */
	INSTRUCTION_JUMP_BY_POINTER,  /* in memory: a tail call */
	INSTRUCTION_JUMP_BY_TABLE,    /* a switch */
};

struct instruction {
	enum instruction_kind kind;
	uint64_t target;     /* of INSTRUCTION_JUMP */
	uint32_t condition;  /* of INSTRUCTION_JUMP: 0: always; else as of condition__is_taken() */
	bool may_load_table; /* it may load from the table of a switch */
};

/* Instructions, for probes. They are disassembled by capstone, with CS_OPT_DETAIL. */
struct processor_instructions {
	cs_arch arch;
	cs_mode mode;
	struct instruction (*classify)(csh handle, const cs_insn *insn);
	/* Whether @insn calls, returns, jumps, or changes the stack pointer. */
	bool (*ends_prologue)(csh handle, const cs_insn *insn);
	struct uprobe_offset (*choose_uprobe)(const uint8_t *code, size_t n);
};

#define UNWIND_CODE_ROWS 3

/*
 * Unwind rows of code for which files may have no call frame information. It is recognized by its
 * bytes, the @size of them at @code, linked at @pc. Functions set up to UNWIND_CODE_ROWS @rows, and
 * return their number; 0: it is something else.
 */
struct processor_unwind {
	uint32_t clone_gap;  /* bytes behind clone()'s system call that glibc has no rules for */
	uint32_t entry_size; /* of the code at a program's or loader's entry, at most; bytes */
	/* _init() and _fini(), which are composed from crti.o and crtn.o. @code: all of it. */
	size_t (*start_file)(const uint8_t *code, size_t size, uint32_t pc,
			     struct unwind_row *rows);
	/* A PLT section of @size bytes. @code: the first UNWIND_PLT_BYTES, as far as there are. */
	size_t (*plt)(const uint8_t *code, uint64_t size, uint32_t pc, struct unwind_row *rows);
	/*
	 * N of the DWARF expression that linkers write for the CFA in .plt: from byte N of a
	 * 16-byte entry on, after its push, it is 8 bytes higher. -1: it is another expression.
	 */
	int (*plt_expression)(const uint8_t *code, size_t size);
	/* The beginning of cgo's function that calls C. 0 bytes: it has call frame information. */
	const uint8_t *crosscall;
	size_t crosscall_size;
	size_t (*crosscall_rows)(uint32_t pc, struct unwind_row *rows);
};

#define UNWIND_PLT_BYTES 20

struct processor {
	uint16_t elf; /* e_machine */
	struct processor_plt plt;
	const struct processor_instructions *instructions; /* NULL: not known */
	const struct processor_unwind *unwind;		   /* NULL: not known */
};

/* The processor with e_machine @elf; NULL: unknown. */
const struct processor *processor__find(uint16_t elf);

/* The one that dwell was built for, of which all is known. */
const struct processor *processor__own(void);
