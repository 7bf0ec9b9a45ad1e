// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cmd/cmd.h"

static const struct command *const commands[] = {
	&command_record,	&command_report, &command_waits,      &command_causal_run,
	&command_causal_report, &command_script, &command_completion,
};

const struct command *const *command__all(size_t *n)
{
	*n = ARRAY_SIZE(commands);
	return commands;
}

/* How many of the @n words at @argv are the name of @command; 0: not all of its name. */
static int command__match(const struct command *command, int n, char **argv)
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

/* The command whose name is the first of @n words at @argv; *@words says how many. */
static const struct command *command__find(int n, char **argv, int *words)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		*words = command__match(commands[i], n, argv);
		if (*words)
			return commands[i];
	}
	return NULL;
}

/* Whether @name is the first of two words: then commands of the group are listed to @to. */
static bool group__list(const char *name, const char *before, FILE *to)
{
	size_t length = strlen(name);
	bool any = false;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strncmp(commands[i]->name, name, length) != 0 ||
		    commands[i]->name[length] != ' ')
			continue;
		if (!any && to)
			fputs(before, to);
		if (to)
			fprintf(to, "  dwell %-14s %s\n", commands[i]->name, commands[i]->summary);
		any = true;
	}
	return any;
}

/* What is said about words that are no command. */
static int command__unknown(int n, char **argv)
{
	bool group = group__list(argv[0], "", NULL);

	if (group && n > 1 && strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0) {
		error__set(-EINVAL, "there is no command '%s %s'", argv[0], argv[1]);
		error__print(stderr, -EINVAL);
		group__list(argv[0], "  There is:\n", stderr);
		return EXIT_USAGE;
	}
	if (group) {
		group__list(argv[0], "usage:\n", n > 1 ? stdout : stderr);
		return n > 1 ? EXIT_FINE : EXIT_USAGE;
	}
	error__set(-EINVAL, "there is no command '%s'", argv[0]);
	error__hint("`dwell help` lists them.");
	error__print(stderr, -EINVAL);
	return EXIT_USAGE;
}

static void command__help(const struct command *command, FILE *to)
{
	fprintf(to, "usage: dwell %s %s\n\n", command->name, command->usage);
	options__print(command->options, to);
	if (command->details)
		fprintf(to, "\n%s", command->details);
}

static void help(FILE *to)
{
	fprintf(to, "dwell - where Linux programs spend their time, running and waiting\n\n"
		    "usage: dwell COMMAND [OPTIONS]\n\ncommands:\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(to, "  %-13s %s\n", commands[i]->name, commands[i]->summary);
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
		command__help(command, stdout);
		*status = EXIT_FINE;
	} else {
		error__print(stderr, err);
		fprintf(stderr, "usage: dwell %s %s\n", command->name, command->usage);
		*status = EXIT_USAGE;
	}
	return false;
}

int command__fail(int err)
{
	error__print(stderr, err);
	return EXIT_FAILED;
}

static int help_command(int argc, char **argv)
{
	const struct command *command;
	int words;

	if (argc < 2) {
		help(stdout);
		return EXIT_FINE;
	}
	command = command__find(argc - 1, argv + 1, &words);
	if (command) {
		command__help(command, stdout);
		return EXIT_FINE;
	}
	if (argc == 2 && group__list(argv[1], "usage:\n", stdout))
		return EXIT_FINE;
	return command__unknown(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	const struct command *command;
	int words;

	setlocale(LC_CTYPE, "");
	if (!name) {
		help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(name, "--version") || !strcmp(name, "version")) {
		printf("dwell %s\n", DWELL_VERSION);
		return EXIT_FINE;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help"))
		return help_command(argc - 1, argv + 1);
	command = command__find(argc - 1, argv + 1, &words);
	return command ? command->run(argc - words, argv + words)
		       : command__unknown(argc - 1, argv + 1);
}
