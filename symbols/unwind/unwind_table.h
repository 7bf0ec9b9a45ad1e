/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind tables: .eh_frame as sorted rows that the kernel side can search.
 * One table per ELF file, independent of where it is mapped.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "abi/unwind.h"

/* An executable PT_LOAD segment: virtual address = file offset + @bias. */
struct unwind_segment {
	uint64_t offset; /* in the file */
	uint64_t size;	 /* in the file */
	int64_t bias;
};

struct unwind_table {
	struct unwind_row *rows; /* by pc, strictly ascending; adjacent rows differ */
	size_t n_rows;
	struct unwind_segment *segments; /* executable ones only */
	size_t n_segments;
};

/*
 * Builds the table of the ELF file open at @fd (which may be at any position).
 * Reads .eh_frame, through .eh_frame_hdr's PT_GNU_EH_FRAME when there are no
 * section headers; .debug_frame of the file itself when it has no .eh_frame.
 * Gaps between functions get rows of UNWIND_CFA_NONE. A malformed entry is
 * passed over, the rest still counts.
 *
 * Errors: -ENOENT (no unwind information), -ENOTSUP (not an x86-64 ELF file),
 * -EINVAL (malformed from the start), -ENOMEM, -EIO. @out is untouched then.
 */
int unwind_table__build(int fd, struct unwind_table **out);

/* The same for an ELF image of @size bytes in memory, as the vdso. */
int unwind_table__build_memory(const void *image, size_t size, struct unwind_table **out);

/* The one of the @n @rows (as in a table) that covers virtual address @pc, or NULL. */
const struct unwind_row *unwind_rows__find(const struct unwind_row *rows, size_t n, uint64_t pc);

/* The row that covers virtual address @pc, or NULL. */
const struct unwind_row *unwind_table__find(const struct unwind_table *table, uint64_t pc);

void unwind_table__free(struct unwind_table *table);
DEFINE_CLEANUP(struct unwind_table *, unwind_table__free)
