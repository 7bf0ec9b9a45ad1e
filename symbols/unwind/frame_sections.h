/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an unwind table needs of an ELF file: its executable segments and its
 * call frame information. Read by copying, never mapped, so that a file that
 * shrinks meanwhile does no harm. Internal to the unwind tables.
 */
#pragma once

#include "symbols/unwind/cfi.h"
#include "symbols/unwind/unwind_table.h"

/* .init and .fini: a function each, which the C library puts together and does not describe. */
#define UNWIND_CRT_FUNCTIONS 2

struct unwind_crt_function {
	uint64_t address;
	size_t size; /* 0: there is none, or it is larger than any */
	uint8_t code[64];
};

/* .plt and its kin: stubs, which linkers do not describe in every program. */
#define UNWIND_PLT_SECTIONS 4

struct unwind_plt {
	uint64_t address;
	uint64_t size;	  /* 0: there is none */
	uint8_t code[20]; /* its first, as far as it goes */
};

struct unwind_source {
	struct unwind_segment *segments; /* executable ones */
	size_t n_segments;
	uint64_t entry; /* virtual address where the program begins; 0: it is none */
	struct unwind_crt_function crt[UNWIND_CRT_FUNCTIONS];
	struct unwind_plt plt[UNWIND_PLT_SECTIONS];
	struct cfi_section section;
	uint8_t *bytes; /* what section.data points to */
};

/*
 * Reads the ELF file open at @fd, or, when @fd is -1, the image of @size bytes
 * at @memory. Errors as of unwind_table__build(); @source is to be released in
 * any case.
 */
int unwind_source__read(struct unwind_source *source, int fd, const void *memory, size_t size);
void unwind_source__release(struct unwind_source *source);
