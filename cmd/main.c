// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cmd/cmd.h"

static const struct command *const commands[] = {
	&command_record, &command_report, &command_waits, &command_script, &command_completion,
};

const struct command *const *command__all(size_t *n)
{
	*n = ARRAY_SIZE(commands);
	return commands;
}

static const struct command *command__find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
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
		fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
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
	const struct command *command = argc > 1 ? command__find(argv[1]) : NULL;

	if (argc > 1 && !command) {
		error__set(-EINVAL, "there is no command '%s'", argv[1]);
		error__print(stderr, -EINVAL);
		return EXIT_USAGE;
	}
	if (command)
		command__help(command, stdout);
	else
		help(stdout);
	return EXIT_FINE;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	const struct command *command;

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
	command = command__find(name);
	if (command)
		return command->run(argc - 1, argv + 1);
	error__set(-EINVAL, "there is no command '%s'", name);
	error__hint("`dwell help` lists them.");
	error__print(stderr, -EINVAL);
	return EXIT_USAGE;
}
