/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind tables: call frame information as sorted rows that the kernel side can search. One table
 * per ELF file, independent of its load address.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "abi/unwind_rows.h"

struct unwind_table {
	struct unwind_row *rows; /* strictly ascending pc; adjacent rules differ */
	size_t n_rows;
	struct unwind_segment *segments; /* executable ones only */
	size_t n_segments;
};

/*
 * Builds the table of the ELF file open at @fd; the file position does not matter. Reads .eh_frame,
 * found by PT_GNU_EH_FRAME if there are no section headers, else .debug_frame of the file; for Go
 * programs also .gopclntab. Gaps between functions have rows with UNWIND_CFA_NONE. Malformed
 * entries are skipped.
 *
 * Errors: -ENOENT (no unwind information), -ENOTSUP (not an ELF program or library for dwell's own
 * processor), -EINVAL (malformed headers), -ENOMEM, -EIO. @out is then not changed.
 */
int unwind_table__build(int fd, struct unwind_table **out);

/* The same, if it has at most about @max_rows (0: no limit); else -ENOMEM. */
int unwind_table__build_within(int fd, size_t max_rows, struct unwind_table **out);

/* The same for an ELF image of @size bytes in memory, such as the vdso. */
int unwind_table__build_memory(const void *image, size_t size, struct unwind_table **out);

void unwind_table__free(struct unwind_table *table);
DEFINE_CLEANUP(struct unwind_table *, unwind_table__free)
