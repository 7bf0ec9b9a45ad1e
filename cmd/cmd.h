/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands, of which each or a group has its file. A command has a table of options, a struct
 * command, and a run function that parses, calls the layers below, and prints errors. To add one,
 * see docs/developing.md.
 */
#pragma once

#include "cmd/options.h"
#include "render/terminal.h"

struct command {
	const char *name;    /* "record"; two words for a command of a group: "causal report" */
	const char *summary; /* a few words, for the list of commands */
	const char *usage;   /* printed after "dwell NAME ", one or more lines */
	const char *details; /* printed below the options in --help; or NULL */
	void (*print_details)(FILE *to); /* the same, if it is made of a table; or NULL */
	const struct option_row *options;
	const char *words; /* NULL, or what completion offers for its argument: "bash|zsh" */

	/* @argv[0] is the command's name, or the last word of it. Returns the exit status. */
	int (*run)(int argc, char **argv);
};

/* Exit statuses: 0 success, 1 failure, 2 usage error. */
enum {
	EXIT_FINE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

extern const struct command command_record;
extern const struct command command_report;
extern const struct command command_script;
extern const struct command command_waits;
extern const struct command command_path;
extern const struct command command_causal_run;
extern const struct command command_latency_run;
extern const struct command command_latency_report;
extern const struct command command_latency_requests;
extern const struct command command_latency_locks;
extern const struct command command_causal_report;
extern const struct command command_html;
extern const struct command command_export;
extern const struct command command_completion;

/* All commands; *@n is their number. */
const struct command *const *command__all(size_t *n);

/*
 * Parses the options of @command into @options. Returns true to go on, with
 * *@first the index of the first argument that is not an option. Returns false
 * if the command is done (help or an error was printed), with *@status its exit
 * status.
 */
bool command__parse(const struct command *command, int argc, char **argv, void *options, int *first,
		    int *status);

/*
 * The same for commands whose other arguments may stand anywhere among the options: calls @take
 * with @context for each. It returns 0, or an error, which is printed as a usage error.
 */
bool command__parse_arguments(const struct command *command, int argc, char **argv, void *options,
			      int (*take)(void *context, const char *argument), void *context,
			      int *status);

/*
 * The same for commands that take one file (a @what, for messages), which may stand anywhere
 * among the options. Its name is stored in *@input, which an option may also set.
 */
bool command__parse_input(const struct command *command, int argc, char **argv, void *options,
			  const char **input, const char *what, int *status);

/* Prints the error that error__set() stored, and returns EXIT_FAILED. */
int command__fail(int err);

/* The same for a usage error: returns EXIT_USAGE. */
int command__reject(int err);

/*
 * Closes the output of a command that has printed a @what (for messages) and got @err. Returns
 * @err, or an error when not everything could be written.
 */
int command__close(struct terminal *terminal, int err, const char *what);
