/* SPDX-License-Identifier: BSD-2-Clause */
/* What code is asked for and found (code.h), for those who ask another process, too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/array.h"

/*
 * Which source files are in scope: those whose path, made absolute and without . and .., matches
 * one of @patterns (fnmatch, where * matches / too) and none of @without. Without @patterns: all
 * files but system headers and third-party sources (below /usr/include, /usr/lib, /rustc and
 * any .cargo/registry). A function without source file is in scope if there are no patterns.
 * Strings are the caller's.
 */
struct code_scope {
	const char *const *patterns;
	size_t n_patterns;
	const char *const *without;
	size_t n_without;
};

/*
 * What an address is attributed to: the innermost of its frames (inlined calls, then the
 * function) that is in scope, with the line of the address or of the inlined call in that
 * frame. If none is in scope, it is the function itself, with @in_scope false. Strings are owned
 * by what was asked.
 */
struct code_place {
	const char *file;     /* absolute, normalized; NULL: unknown */
	uint32_t line;	      /* 0: unknown */
	const char *function; /* demangled, or "": the function or the inlined function */
	bool in_scope;	      /* false: to be attributed to the caller of the function */
};

struct code_range {
	uint64_t start;
	uint64_t end; /* not included */
};

/* The functions of code.h fill it sorted by start, disjoint, and with adjacent ranges merged. */
struct code_ranges {
	ARRAY(struct code_range) ranges;
};

static inline void code_ranges__free(struct code_ranges *ranges)
{
	array__free(&ranges->ranges);
}
