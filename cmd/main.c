// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/version.h"
#include "cmd/cmd.h"

static const struct command *const commands[] = {
	&command_record,	&command_report,	 &command_waits,
	&command_path,		&command_causal_run,	 &command_causal_report,
	&command_latency_run,	&command_latency_report, &command_latency_requests,
	&command_latency_locks, &command_script,	 &command_html,
	&command_export,	&command_completion,
};

const struct command *const *command__all(size_t *n)
{
	*n = ARRAY_SIZE(commands);
	return commands;
}

/* The number of words of @command's name if the @n words at @argv begin with it, else 0. */
static int match_name(const struct command *command, int n, char **argv)
{
	const char *name = command->name;
	int words = 0;

	while (words < n) {
		size_t length = strcspn(name, " ");

		if (strncmp(argv[words], name, length) != 0 || argv[words][length])
			return 0;
		words++;
		if (!name[length])
			return words;
		name += length + 1;
	}
	return 0;
}

/* The command whose name the @n words at @argv begin with; *@words is its length. */
static const struct command *find_command(int n, char **argv, int *words)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		*words = match_name(commands[i], n, argv);
		if (*words)
			return commands[i];
	}
	return NULL;
}

/* Whether @name is a group of commands ("causal"). Lists them to @to after @heading. */
static bool list_group(const char *name, const char *heading, FILE *to)
{
	size_t length = strlen(name);
	bool any = false;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strncmp(commands[i]->name, name, length) != 0 ||
		    commands[i]->name[length] != ' ')
			continue;
		if (!any && to)
			fputs(heading, to);
		if (to)
			fprintf(to, "  dwell %-16s %s\n", commands[i]->name, commands[i]->summary);
		any = true;
	}
	return any;
}

/* Prints the error for @argv that names no command, or the list of a group. */
static int reject_unknown(int n, char **argv)
{
	bool group = list_group(argv[0], "", NULL);

	if (group && n > 1 && strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0) {
		error__set(-EINVAL, "there is no command '%s %s'", argv[0], argv[1]);
		error__print(stderr, -EINVAL);
		list_group(argv[0], "  There is:\n", stderr);
		return EXIT_USAGE;
	}
	if (group) {
		list_group(argv[0], "usage:\n", n > 1 ? stdout : stderr);
		return n > 1 ? EXIT_FINE : EXIT_USAGE;
	}
	error__set(-EINVAL, "there is no command '%s'", argv[0]);
	error__hint("`dwell help` lists them.");
	return command__reject(-EINVAL);
}

static void print_command_help(const struct command *command, FILE *to)
{
	fprintf(to, "usage: dwell %s %s\n\n", command->name, command->usage);
	options__print(command->options, to);
	if (command->details)
		fprintf(to, "\n%s", command->details);
	if (command->print_details)
		command->print_details(to);
}

static void print_help(FILE *to)
{
	fprintf(to, "dwell - where Linux programs spend their time, running and waiting\n\n"
		    "usage: dwell COMMAND [OPTIONS]\n\ncommands:\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(to, "  %-16s %s\n", commands[i]->name, commands[i]->summary);
	fprintf(to, "\n`dwell COMMAND --help` explains a command.\n"
		    "To begin: dwell record ./program && dwell report\n");
}

bool command__parse(const struct command *command, int argc, char **argv, void *options, int *first,
		    int *status)
{
	int err = options__parse(command->options, argc, argv, options, first);

	if (!err)
		return true;
	if (err > 0) {
		print_command_help(command, stdout);
		*status = EXIT_FINE;
	} else {
		error__print(stderr, err);
		fprintf(stderr, "usage: dwell %s %s\n", command->name, command->usage);
		*status = EXIT_USAGE;
	}
	return false;
}

bool command__parse_arguments(const struct command *command, int argc, char **argv, void *options,
			      int (*take)(void *context, const char *argument), void *context,
			      int *status)
{
	int first, err;

	/* Parsing resumes behind the argument, which takes the place of the command's name. */
	while (command__parse(command, argc, argv, options, &first, status)) {
		if (first >= argc)
			return true;
		err = take(context, argv[first]);
		if (err) {
			*status = command__reject(err);
			return false;
		}
		argc -= first;
		argv += first;
	}
	return false;
}

struct only_input {
	const char **input;
	const char *what;
};

static int take_input(void *context, const char *argument)
{
	const struct only_input *only = context;

	if (*only->input)
		return error__set(-EINVAL, "'%s' is one argument too many: the %s is '%s'",
				  argument, only->what, *only->input);
	*only->input = argument;
	return 0;
}

bool command__parse_input(const struct command *command, int argc, char **argv, void *options,
			  const char **input, const char *what, int *status)
{
	struct only_input only = {input, what};

	return command__parse_arguments(command, argc, argv, options, take_input, &only, status);
}

int command__fail(int err)
{
	error__print(stderr, err);
	return EXIT_FAILED;
}

int command__reject(int err)
{
	error__print(stderr, err);
	return EXIT_USAGE;
}

int command__close(struct terminal *terminal, int err, const char *what)
{
	int closed = terminal__close(terminal);

	return closed ? error__errno(closed, "cannot write the %s", what) : err;
}

static int help_command(int argc, char **argv)
{
	const struct command *command;
	int words;

	if (argc < 2) {
		print_help(stdout);
		return EXIT_FINE;
	}
	command = find_command(argc - 1, argv + 1, &words);
	if (command) {
		print_command_help(command, stdout);
		return EXIT_FINE;
	}
	if (argc == 2 && list_group(argv[1], "usage:\n", stdout))
		return EXIT_FINE;
	return reject_unknown(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	const struct command *command;
	int words;

	setlocale(LC_CTYPE, "");
	if (!name) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(name, "--version") || !strcmp(name, "version")) {
		printf("dwell %s\n", dwell_version);
		return EXIT_FINE;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help"))
		return help_command(argc - 1, argv + 1);
	command = find_command(argc - 1, argv + 1, &words);
	return command ? command->run(argc - words, argv + words)
		       : reject_unknown(argc - 1, argv + 1);
}
