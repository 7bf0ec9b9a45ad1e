// SPDX-License-Identifier: BSD-2-Clause
/* Completion for bash, and what all shells need. */
#include <stdio.h>
#include <string.h>

#include "cmd/completion.h"

bool completion__is_listed(const struct command *const *commands, size_t i)
{
	int n = completion__word_length(commands[i]);

	for (size_t k = 0; k < i; k++)
		if (completion__word_length(commands[k]) == n &&
		    !strncmp(commands[k]->name, commands[i]->name, (size_t)n))
			return true;
	return false;
}

int completion__word_length(const struct command *command)
{
	return (int)strcspn(command->name, " ");
}

bool completion__runs_command(const struct command *command)
{
	return strstr(command->usage, "COMMAND [ARG") != NULL;
}

bool completion__takes_file(const struct option_row *row)
{
	return strstr(row->arg, "FILE") || strstr(row->arg, "PATH");
}

bool completion__takes_list(const struct option_row *row)
{
	return strstr(row->arg, ",...") != NULL;
}

int completion__summary_length(const char *help)
{
	size_t n = strcspn(help, ";:(\n");

	while (n > 1 && help[n - 1] == ' ')
		n--;
	return (int)n;
}

void completion__print_words(const char *words, const char *special)
{
	for (; *words; words++) {
		if (strchr(special, *words))
			putchar('\\');
		putchar(*words == '|' ? ' ' : *words);
	}
}

/* "--name -x" of an option. */
static void print_option_words(const struct option_row *row)
{
	if (row->name)
		printf(" --%s", row->name);
	if (row->letter)
		printf(" -%c", row->letter);
}

/* A case of the completion script: the values of option @row. */
static void print_argument(const char *command, const struct option_row *row)
{
	if (!row->arg || row->arg[0] == '[')
		return;
	printf("\t'%s':--%s", command, row->name);
	if (row->letter)
		printf(" | '%s':-%c", command, row->letter);
	if (row->values) {
		printf(") words='");
		completion__print_words(row->values, "");
		printf("' ;;\n");
	} else if (completion__takes_file(row)) {
		printf(") files=1 ;;\n");
	} else {
		printf(") return ;;\n");
	}
}

/* The cases that complete the second word of two-word commands. */
static void print_groups(const struct command *const *commands, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *name = commands[i]->name;
		int length = completion__word_length(commands[i]);

		if (!name[length] || completion__is_listed(commands, i))
			continue;
		printf("\t%.*s)\n\t\tcommand+=\" ${COMP_WORDS[2]}\"\n\t\t((COMP_CWORD == 2)) && "
		       "words='",
		       length, name);
		for (size_t k = i; k < n; k++)
			if (!strncmp(commands[k]->name, name, (size_t)length + 1))
				printf("%s%s", k == i ? "" : " ", commands[k]->name + length + 1);
		printf("' ;;\n");
	}
}

/* What each command takes where no option waits for its value. */
static void print_words_of_commands(const struct command *const *commands, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		printf("\t\t'%s') words='", commands[i]->name);
		for (const struct option_row *row = commands[i]->options; row->type; row++)
			print_option_words(row);
		printf(" --help' more='");
		if (commands[i]->words)
			completion__print_words(commands[i]->words, "");
		printf("' ;;\n");
	}
}

void completion__print_bash(const struct command *const *commands, size_t n)
{
	printf("# bash completion for dwell, made by `dwell completion bash`\n\n"
	       "_dwell()\n{\n"
	       "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
	       "\tlocal command=${COMP_WORDS[1]} words= more= files=\n\n"
	       "\tCOMPREPLY=()\n\t((COMP_CWORD == 1)) && words='");
	for (size_t i = 0; i < n; i++)
		if (!completion__is_listed(commands, i))
			printf("%s%.*s", i ? " " : "", completion__word_length(commands[i]),
			       commands[i]->name);
	printf("'\n\tcase $command in\n");
	print_groups(commands, n);
	printf("\tesac\n\tif [[ $words ]]; then\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
	       "\t\treturn\n\tfi\n\tcase $command:$before in\n");
	for (size_t i = 0; i < n; i++)
		for (const struct option_row *row = commands[i]->options; row->type; row++)
			print_argument(commands[i]->name, row);
	printf("\t*)\n\t\tcase $command in\n");
	print_words_of_commands(commands, n);
	printf("\t\tesac\n\t\tif [[ $word != -* && $more ]]; then\n\t\t\twords=$more\n"
	       "\t\telif [[ $word != -* ]]; then\n\t\t\tfiles=1\n\t\tfi\n\t\t;;\n\tesac\n"
	       "\tmapfile -t COMPREPLY < <(compgen ${files:+-f} -W \"${files:-$words}\" -- "
	       "\"$word\")\n"
	       "}\n\ncomplete -o filenames -F _dwell dwell\n");
}
