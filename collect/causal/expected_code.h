/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files whose code a command will run, as far as that is known before it starts: the program
 * and the libraries that it is linked with. What is in none of them, and cannot come from
 * elsewhere, need not be waited for.
 */
#pragma once

#include <stdbool.h>

#include "base/cleanup.h"
#include "privsep/code_reader.h"

struct causal_location;
struct expected_code;

/*
 * Finds the files of @program, a path or a name as for execvp(). @reader must outlive the result. 0
 * or -ENOMEM.
 */
int expected_code__new(const char *program, struct code_reader *reader, struct expected_code **out);

/*
 * Whether the code of @location cannot be in what the command runs. False where that is not known:
 * the program is a script, loads libraries, or starts other programs; or a file cannot be read.
 */
bool expected_code__lacks(struct expected_code *expected, const struct causal_location *location);

/* Likewise, but the command may load or run other code that has it. */
bool expected_code__may_come(struct expected_code *expected,
			     const struct causal_location *location);

/* The same file as the one open at @fd, if it was asked about; else NULL. Belongs to @expected. */
struct code_file *expected_code__file(const struct expected_code *expected, int fd);

/* Names similar to @text, or probes (@probes): a hint, malloc()ed, or NULL. */
char *expected_code__hint(struct expected_code *expected, const char *text, bool probes);

void expected_code__free(struct expected_code *expected);
DEFINE_CLEANUP(struct expected_code *, expected_code__free)
