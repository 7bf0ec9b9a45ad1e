/* SPDX-License-Identifier: BSD-2-Clause */
/* Which functions of unmodified programs are measured: what --function names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/array.h"

struct function_pattern {
	char *text;	 /* as it was given */
	char *file;	 /* pattern for the last component of a file's path; NULL: see below */
	char *name;	 /* a function, or a pattern if is_pattern */
	bool is_pattern; /* it has one of * ? [ */
};

struct function_patterns {
	ARRAY(struct function_pattern) patterns;
};

/*
 * Adds "[FILE:]PATTERN[,...]": patterns as of fnmatch(3). Returns 0, or with error__set() -EINVAL
 * or -ENOMEM.
 */
int function_patterns__add(struct function_patterns *patterns, const char *text);

/*
 * Whether functions of the file at @path are meant. Without FILE, all files but the C library and
 * the dynamic loader, which a PATTERN would match by accident; a plain name is searched there, too.
 */
bool function_pattern__is_in(const struct function_pattern *pattern, const char *path);

/* Whether functions of the file at @path are meant by any of them. */
bool function_patterns__concern(const struct function_patterns *patterns, const char *path);

void function_patterns__free(struct function_patterns *patterns);
