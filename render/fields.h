/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints an event as a line of key=value fields or as a line of JSON. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct fields {
	FILE *to;
	bool json;
	unsigned int n; /* fields written in the object or list that is open */
};

/* Begins an event: @event is the first word of the line, or the JSON member "event". */
void fields__begin(struct fields *fields, const char *event);
void fields__end(struct fields *fields);

void fields__number(struct fields *fields, const char *key, int64_t value);
void fields__text(struct fields *fields, const char *key, const char *value);

/* A value from a fixed set of names: not quoted in text. */
void fields__word(struct fields *fields, const char *key, const char *value);

/* @ns relative to the recording's start: seconds with 9 decimals; "KEY_ns" in JSON. */
void fields__time(struct fields *fields, const char *key, int64_t ns);

/* Prints @text as a JSON string, with bytes that are not UTF-8 as \xNN. */
void json__put_string(FILE *to, const char *text);
