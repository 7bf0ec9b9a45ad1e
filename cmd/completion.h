/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion scripts, each made from the tables of options of the @n @commands, to stdout. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cmd/cmd.h"

void completion__print_bash(const struct command *const *commands, size_t n);
void completion__print_zsh(const struct command *const *commands, size_t n);
void completion__print_fish(const struct command *const *commands, size_t n);

/* Whether an earlier command has the same first word as @commands[@i]. */
bool completion__is_listed(const struct command *const *commands, size_t i);

/* Length of the first word of @command's name. */
int completion__word_length(const struct command *command);

/* Whether @command is followed by another program's command line. */
bool completion__runs_command(const struct command *command);

/* Whether the value of @row is a file. */
bool completion__takes_file(const struct option_row *row);

/* Whether @row takes several values, separated by commas. */
bool completion__takes_list(const struct option_row *row);

/* Length of the part of @help that is shown beside a completion: up to what explains or limits it.
 */
int completion__summary_length(const char *help);

/* Prints @words, which '|' separates, with spaces instead, and a backslash before each of @special.
 */
void completion__print_words(const char *words, const char *special);
