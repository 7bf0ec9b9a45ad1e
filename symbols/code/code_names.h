/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of functions as people give them, against names as files have them.
 * Internal to code_*.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Of names longer than this only the start is compared. */
#define LONGEST_CODE_NAME 4096

/*
 * @name without template arguments, parameters and " [clone ...]", in @plain:
 * "a::b<int>::c<d>(e) const" gives "a::b::c", and so do Rust's "<a::b<d>>::c" and "<a::b as e>::c".
 */
void code_name__plain(const char *name, char plain[LONGEST_CODE_NAME]);

/* What follows the last "::" of a name made plain. */
const char *code_name__last(const char *plain);

/* How many characters of the symbol @raw are the function's: without ".cold", ".part.0", "@V1". */
size_t code_name__stem(const char *raw);

/* Whether @raw is a part that was split off its function, and is not called from elsewhere. */
bool code_name__is_part(const char *raw);

/* Ways in which a name can be meant, the best first. */
enum code_match {
	CODE_MATCH_NAME = 0,	  /* without parameters */
	CODE_MATCH_SIGNATURE = 1, /* with parameters */
	CODE_MATCH_LINKAGE = 2,
	CODE_MATCH_END = 3, /* the last component or components */
	CODE_MATCH_NONE = 4,
};

struct code_query {
	const char *text;
	char plain[LONGEST_CODE_NAME];
	const char *last; /* in plain */
	bool has_arguments;
	bool has_parameters;
};

void code_query__set(struct code_query *query, const char *text);

/* @name is what code__place() shows, @linkage (or NULL) the mangled name. */
enum code_match code_query__match(const struct code_query *query, const char *name,
				  const char *linkage);

/*
 * How unlike two names are: changes of a character that lead from one to the
 * other (a change of case counts half), in halves; at most @most.
 */
unsigned int code_name__distance(const char *a, const char *b, unsigned int most);
