// SPDX-License-Identifier: BSD-2-Clause
/* Completion for fish: a line for each command and option. */
#include <stdio.h>
#include <string.h>

#include "cmd/completion.h"

/* The first @n bytes of @text within single quotes. */
static void print_quoted(const char *text, int n)
{
	putchar('\'');
	for (int i = 0; i < n; i++) {
		if (text[i] == '\'' || text[i] == '\\')
			putchar('\\');
		putchar(text[i]);
	}
	putchar('\'');
}

/* The value of @row: one of a list, a file, or what cannot be completed. */
static void print_value(const struct option_row *row)
{
	if (row->arg[0] == '[') {
		/* fish offers values of an option that may have none only after "=". */
		printf(" -f");
	} else if (!row->values && completion__takes_file(row)) {
		printf(" -r -F");
		return;
	} else {
		printf(" -x");
	}
	if (!row->values)
		return;
	printf(completion__takes_list(row) ? " -a '(__dwell_list " : " -a '");
	completion__print_words(row->values, "");
	printf(completion__takes_list(row) ? ")'" : "'");
}

static void print_option(const char *command, const struct option_row *row)
{
	if (row->type == OPTION_TYPE_GROUP)
		return;
	printf("complete -c dwell -n '__dwell_is %s'", command);
	if (row->letter)
		printf(" -s %c", row->letter);
	printf(" -l %s", row->name);
	if (row->arg)
		print_value(row);
	printf(" -d ");
	print_quoted(row->help, completion__summary_length(row->help));
	printf("\n");
}

/* The program that @command runs, and its arguments; behind options, of which some have values. */
static void print_program(const struct command *command)
{
	printf("complete -c dwell -n '__dwell_is %s' -x -a "
	       "'(__fish_complete_subcommand --fcs-skip=%d",
	       command->name, command->name[completion__word_length(command)] ? 3 : 2);
	for (const struct option_row *row = command->options; row->type; row++) {
		if (!row->arg || row->arg[0] == '[')
			continue;
		printf(" --%s", row->name);
		if (row->letter)
			printf(" -%c", row->letter);
	}
	printf(")'\n");
}

static void print_command(const struct command *command)
{
	for (const struct option_row *row = command->options; row->type; row++)
		print_option(command->name, row);
	printf("complete -c dwell -n '__dwell_is %s' -l help -d 'explain the command'\n",
	       command->name);
	if (command->words) {
		printf("complete -c dwell -n '__dwell_is %s' -f -a '", command->name);
		completion__print_words(command->words, "");
		printf("'\n");
	} else if (completion__runs_command(command)) {
		print_program(command);
	}
}

static void print_names(const struct command *const *commands, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *name = commands[i]->name;
		int length = completion__word_length(commands[i]);

		if (!completion__is_listed(commands, i)) {
			printf("complete -c dwell -n '__dwell_follows' -f -a %.*s", length, name);
			printf(" -d ");
			print_quoted(commands[i]->summary, (int)strlen(commands[i]->summary));
			printf("\n");
		}
		if (name[length]) {
			printf("complete -c dwell -n '__dwell_follows %.*s' -f -a %s -d ", length,
			       name, name + length + 1);
			print_quoted(commands[i]->summary, (int)strlen(commands[i]->summary));
			printf("\n");
		}
	}
}

void completion__print_fish(const struct command *const *commands, size_t n)
{
	printf("# fish completion for dwell, made by `dwell completion fish`\n\n"
	       "# Whether the command line begins with these words after dwell.\n"
	       "function __dwell_is\n\tset -l words (commandline -opc)\n"
	       "\tstring match -q -- \"$argv *\" \"$words[2..-1] \"\nend\n\n"
	       "# Whether it has exactly these words up to the cursor.\n"
	       "function __dwell_follows\n\tset -l words (commandline -opc)\n"
	       "\ttest \"$argv\" = \"$words[2..-1]\"\nend\n\n"
	       "# The words, behind those that the value has already, up to its last comma.\n"
	       "function __dwell_list\n"
	       "\tset -l before (string replace -r -- '^(?:--[a-z-]+=)?((?:.*,)?)[^,]*$' '$1' "
	       "(commandline -ct))\n"
	       "\tfor word in $argv\n\t\techo $before$word\n\tend\nend\n\n");
	print_names(commands, n);
	for (size_t i = 0; i < n; i++)
		print_command(commands[i]);
}
