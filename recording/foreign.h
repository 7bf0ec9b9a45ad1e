/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of other tools, by their first bytes. */
#pragma once

#include <stddef.h>

struct foreign {
	const char *bytes;
	size_t size;
	const char *what; /* "a perf.data file" */
	const char *mend; /* what to do with it */
};

/* What @head, the first @size bytes of a file, belong to, or NULL. */
const struct foreign *foreign__recognize(const void *head, size_t size);
