/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an unwind table is built from: the parts of an ELF file that describe or begin stack
 * frames. All of it is copied, so the file may be closed or shrink. Internal to the unwind tables.
 */
#pragma once

#include "arch/processor.h"
#include "symbols/elf/elf_file.h"
#include "symbols/unwind/cfi.h"
#include "symbols/unwind/unwind_table.h"

/* .init and .fini: functions that are composed from crti.o and crtn.o, without CFI. */
#define UNWIND_CRT_FUNCTIONS 2

struct unwind_crt_function {
	uint64_t address;
	size_t size; /* 0: missing or too large */
	uint8_t code[64];
};

/* PLT sections: stubs, for which not all linkers write CFI. */
#define UNWIND_PLT_SECTIONS 4

struct unwind_plt {
	uint64_t address;
	uint64_t size;			/* 0: missing */
	uint8_t code[UNWIND_PLT_BYTES]; /* the first ones */
};

struct unwind_input {
	struct unwind_segment *segments; /* executable ones */
	size_t n_segments;
	uint64_t entry; /* e_entry; 0: none */
	struct unwind_crt_function crt[UNWIND_CRT_FUNCTIONS];
	struct unwind_plt plt[UNWIND_PLT_SECTIONS];
	struct cfi_section section; /* .eh_frame or .debug_frame; data NULL: none */
	uint8_t *bytes;		    /* section.data, owned */
	uint8_t *go;		    /* .gopclntab, with a NUL appended; NULL: not a Go program */
	uint64_t go_size;
	uint64_t crosscall; /* address of cgo's crosscall function; 0: none */
};

/*
 * Reads @file. When libdw has opened it before, compressed sections may be missed: libdw
 * decompresses them in place. Errors as of unwind_table__build(); @input must be released in
 * any case.
 */
int unwind_input__read(struct unwind_input *input, const struct elf_file *file);
void unwind_input__release(struct unwind_input *input);
