/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Comparing function names that users give with names in files. Internal to code_*.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Longer names are truncated before they are compared. */
#define MAX_CODE_NAME 4096

/*
 * Writes @name without template arguments, parameters and " [clone ...]" to @plain: "a::b::c" for
 * "a::b<int>::c<d>(e) const" and for Rust's "<a::b<d>>::c" and "<a::b as e>::c".
 */
void code_name__strip(const char *name, char plain[MAX_CODE_NAME]);

/* The last component of a name that code_name__strip() has stripped. */
const char *code_name__last(const char *plain);

/* The length of the symbol @raw without suffixes such as ".cold", ".part.0" and "@V1". */
size_t code_name__stem(const char *raw);

/* Whether the symbol @raw is a part that was split off its function (".cold", ".part."). */
bool code_name__is_part(const char *raw);

/* How a name matches a query, best first. */
enum code_match {
	CODE_MATCH_NAME = 0,	  /* the name without parameters */
	CODE_MATCH_SIGNATURE = 1, /* the name with parameters */
	CODE_MATCH_LINKAGE = 2,	  /* the mangled name */
	CODE_MATCH_END = 3,	  /* the last component or components */
	CODE_MATCH_NONE = 4,
};

struct code_query {
	const char *text;
	char plain[MAX_CODE_NAME];
	const char *last; /* in plain */
	bool has_arguments;
	bool has_parameters;
};

void code_query__set(struct code_query *query, const char *text);

/* @name is the name as of code__place(), @linkage (or NULL) the mangled name. */
enum code_match code_query__match(const struct code_query *query, const char *name,
				  const char *linkage);

/*
 * The edit distance of two names, in halves: an edited character counts 2, a change of case 1.
 * At most @most.
 */
unsigned int code_name__distance(const char *a, const char *b, unsigned int most);
