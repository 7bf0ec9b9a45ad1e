/* SPDX-License-Identifier: BSD-2-Clause */
/* Formatting of numbers and names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* @part of @whole in percent; 0 if @whole is 0. */
double format__percent(uint64_t part, uint64_t whole);

/* @share (of 1) in whole percent, for "%.0f%%": never "-0". */
double format__whole_percent(double share);

/* The length of the UTF-8 character at @text in bytes; 0 if invalid or a control character. */
size_t format__character(const char *text);

/*
 * The length in bytes of the valid UTF-8 characters that @text begins with: up to the first control
 * character, invalid byte, or character of @except (ASCII).
 */
size_t format__plain(const char *text, const char *except);

/* Prints @text with control characters and invalid UTF-8 escaped ("\x1b"). */
void format__safe(FILE *to, const char *text);

/* The number of columns that format__safe() prints for @text. */
int format__width(const char *text);

/*
 * Prints @text, escaped as by format__safe(), wrapped to @width columns. The first line begins
 * at @column, where the cursor is; the others begin with @indent.
 */
void format__wrapped(FILE *to, const char *text, const char *indent, int column, int width);

/* Prints @text in double quotes, with the escapes \" \\ \n \t and \xNN. */
void format__quoted(FILE *to, const char *text);

/* Appends to the string @text in a buffer of @size bytes; truncates what does not fit. */
void format__append(char *text, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
