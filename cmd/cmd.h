/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subcommands. Each is a file of its own with a table of options, a struct
 * command, and a run function that parses, calls the layers below, and prints
 * errors. A new one is a row in cmd/main.c.
 */
#pragma once

#include "cmd/options.h"

struct command {
	const char *name;    /* "record"; of a group two words: "causal report" */
	const char *summary; /* a few words, for the list of commands */
	const char *usage;   /* behind "dwell NAME ", one or more lines */
	const char *details; /* for --help and the man page, below the options; or NULL */
	const struct option_row *options;

	/* @argv[0] is the command's name, or the last word of it. Returns the exit status. */
	int (*run)(int argc, char **argv);
};

/* Exit statuses: 0 fine, 1 it failed, 2 it was called wrongly. */
enum {
	EXIT_FINE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

extern const struct command command_record;
extern const struct command command_report;
extern const struct command command_script;
extern const struct command command_waits;
extern const struct command command_causal_run;
extern const struct command command_causal_report;
extern const struct command command_completion;

/* Every subcommand there is, *@n of them. */
const struct command *const *command__all(size_t *n);

/*
 * Parses the options of @command into @options: 0 to go on, with *@first the
 * index of the first argument that is no option. Otherwise the command is done
 * and *@status is its exit status: help was printed, or what is wrong.
 */
bool command__parse(const struct command *command, int argc, char **argv, void *options, int *first,
		    int *status);

/* Prints what error__set() left, and returns EXIT_FAILED. */
int command__fail(int err);
