/* SPDX-License-Identifier: BSD-2-Clause */
/* One event, as a line of key=value fields or as a line of JSON: written once, printed as either.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct fields {
	FILE *to;
	bool json;
	unsigned int n; /* fields written in the object or list that is open */
};

/* Begins an event: its name as first word, or as "event". */
void fields__begin(struct fields *fields, const char *event);
void fields__end(struct fields *fields);

void fields__number(struct fields *fields, const char *key, int64_t value);
void fields__text(struct fields *fields, const char *key, const char *value);

/* One of a fixed set of names: without quotes in text. */
void fields__word(struct fields *fields, const char *key, const char *value);

/* @ns relative to the recording's start: seconds with 9 decimals; "KEY_ns" in JSON. */
void fields__time(struct fields *fields, const char *key, int64_t ns);

/* @text as a JSON string; bytes that are no UTF-8 as \xNN. */
void json__put_string(FILE *to, const char *text);
