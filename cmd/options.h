/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options are declared once, in a table from which parsing, --help, the man page
 * and shell completion are made.
 *
 *	struct record_options { const char *output; bool trace; };
 *
 *	static const struct option_row rows[] = {
 *		OPTION_TEXT("output", 'o', "FILE", struct record_options, output,
 *			    "write the recording to FILE (default: dwell.data)"),
 *		OPTION_SWITCH("trace", 0, struct record_options, trace, "..."),
 *		OPTION_END,
 *	};
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_type {
	OPTION_TYPE_END = 0,
	OPTION_TYPE_SWITCH,  /* bool: set to true */
	OPTION_TYPE_TEXT,    /* const char *: points into argv */
	OPTION_TYPE_NUMBER,  /* uint64_t, decimal or 0x */
	OPTION_TYPE_PERCENT, /* double, not negative */
	OPTION_TYPE_LIST,  /* const char *, with commas: those given later are appended, malloc()ed
			    */
	OPTION_TYPE_CALL,  /* ->set() stores it */
	OPTION_TYPE_GROUP, /* a heading in --help; ->help is its text */
};

struct option_row {
	const char *name; /* long name, without "--" */
	char letter;	  /* short name, or 0 */
	enum option_type type;
	const char *arg;    /* placeholder of its value; NULL: takes none. In brackets, "[WHEN]":
			       the value is optional, and given after "=" or as one of ->values */
	const char *values; /* NULL, or the values that completion offers: "caller|callee" */
	size_t offset;	    /* of the value in the command's struct of options */
	const char *help;   /* one sentence, wrapped when printed */

	/*
	 * OPTION_TYPE_CALL: stores @value (NULL if none was given) in @options,
	 * the command's struct. Returns 0, or a negative errno after
	 * error__set().
	 */
	int (*set)(void *options, const char *value);
	bool adds; /* each call of it adds @value to those before */
};

#define OPTION_SWITCH(long_name, short_name, type_, field, text)                                   \
	{                                                                                          \
		.name = (long_name), .letter = (short_name), .type = OPTION_TYPE_SWITCH,           \
		.offset = offsetof(type_, field), .help = (text)                                   \
	}
#define OPTION_TEXT(long_name, short_name, placeholder, type_, field, text)                        \
	{                                                                                          \
		.name = (long_name), .letter = (short_name), .type = OPTION_TYPE_TEXT,             \
		.arg = (placeholder), .offset = offsetof(type_, field), .help = (text)             \
	}
#define OPTION_LIST(long_name, short_name, placeholder, type_, field, text)                        \
	{                                                                                          \
		.name = (long_name), .letter = (short_name), .type = OPTION_TYPE_LIST,             \
		.arg = (placeholder), .offset = offsetof(type_, field), .help = (text)             \
	}
#define OPTION_NUMBER(long_name, short_name, placeholder, type_, field, text)                      \
	{                                                                                          \
		.name = (long_name), .letter = (short_name), .type = OPTION_TYPE_NUMBER,           \
		.arg = (placeholder), .offset = offsetof(type_, field), .help = (text)             \
	}
#define OPTION_PERCENT(long_name, type_, field, text)                                              \
	{                                                                                          \
		.name = (long_name), .type = OPTION_TYPE_PERCENT, .arg = "PERCENT",                \
		.offset = offsetof(type_, field), .help = (text)                                   \
	}
#define OPTION_CALL(long_name, short_name, placeholder, offered, setter, text)                     \
	{                                                                                          \
		.name = (long_name), .letter = (short_name), .type = OPTION_TYPE_CALL,             \
		.arg = (placeholder), .values = (offered), .set = (setter), .help = (text)         \
	}
#define OPTION_ADD(long_name, short_name, placeholder, offered, setter, text)                      \
	{                                                                                          \
		.name = (long_name), .letter = (short_name), .type = OPTION_TYPE_CALL,             \
		.arg = (placeholder), .values = (offered), .set = (setter), .adds = true,          \
		.help = (text)                                                                     \
	}
#define OPTION_GROUP(text)                                                                         \
	{                                                                                          \
		.type = OPTION_TYPE_GROUP, .help = (text)                                          \
	}
#define OPTION_END                                                                                 \
	{                                                                                          \
		.type = OPTION_TYPE_END                                                            \
	}

/*
 * Parses @argv (its first element is the command's name) into @options. Stops
 * at the first argument that is not an option, or after "--": *@first is the
 * index of the next argument. The values of an option that may be repeated add up; any other option
 * that is given again with another value is refused. Returns 0, -EINVAL with error__set() done, or
 * 1 for --help.
 */
int options__parse(const struct option_row *rows, int argc, char **argv, void *options, int *first);

/* Whether a second value of @row adds to the first one. */
bool options__may_be_repeated(const struct option_row *row);

/* Prints the options for --help, in two columns, wrapped to 80. */
void options__print(const struct option_row *rows, FILE *to);

/*
 * Parses a time: a number with a unit of ns, us, ms, s (the default), m or h.
 * Returns 0, or -EINVAL with error__set() done.
 */
int options__duration(const char *text, uint64_t *ns);

/* Parses a percentage, with or without %: not negative. Errors as options__duration(). */
int options__percent(const char *text, double *percent);

/* Parses a whole string as a decimal or 0x number. Returns 0, or -EINVAL with error__set() done. */
int options__number(const char *text, uint64_t *value);
