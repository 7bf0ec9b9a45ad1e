/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers, names and columns as text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* @ns with the unit that suits it: "1.234 s", "56.789 ms", "12.3 us", "0". */
const char *format__ns(uint64_t ns, char text[static 24]);

/* @part of @whole in percent; 0 of nothing. */
double format__percent(uint64_t part, uint64_t whole);

/* The bytes of the UTF-8 character at @text; 0: it is none, or a control character. */
size_t format__character(const char *text);

/* @text with control characters and invalid UTF-8 as "\x1b": safe on a terminal. */
void format__safe(FILE *to, const char *text);

/* The cells format__safe() takes for @text. */
int format__width(const char *text);

/*
 * @text in lines of up to @width cells, which begin with @indent from the second on; safe on a
 * terminal. The cursor stands at @column.
 */
void format__wrapped(FILE *to, const char *text, const char *indent, int column, int width);

/* @text in double quotes, with \" \\ \n \t and \xNN: one field of a line. */
void format__quoted(FILE *to, const char *text);
