/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What user space has of unwind tables, besides their rows. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "abi/unwind.h"

/* An executable PT_LOAD segment: linked address = file offset + @bias. */
struct unwind_segment {
	uint64_t offset; /* in the file, bytes */
	uint64_t size;	 /* in the file, bytes */
	int64_t bias;
};

/* Of the @n @rows of a table, the one that covers linked address @pc; or NULL. */
static inline const struct unwind_row *unwind_rows__find(const struct unwind_row *rows, size_t n,
							 uint64_t pc)
{
	size_t low = 0, high = n;

	/* Invariant: rows below low start at or before pc, rows from high on after it. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows[middle].pc <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &rows[low - 1] : NULL;
}
