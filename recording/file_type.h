/* SPDX-License-Identifier: BSD-2-Clause */
/* Recognizes files of other tools by their magic numbers, for error messages. */
#pragma once

#include <stddef.h>

struct file_type {
	const char *bytes;
	size_t size;
	const char *what; /* "a perf.data file" */
	const char *hint; /* what the user can do with it */
};

/* The type of a file that begins with the @size bytes at @head, or NULL if unknown. */
const struct file_type *file_type__recognize(const void *head, size_t size);
