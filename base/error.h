/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The error of the last call that failed, told by the place that knows.
 *
 * Library code never prints: it returns a negative errno and leaves here what
 * a person needs: what could not be done, with the value that was wrong, and
 * the mend. Commands print it once.
 */
#pragma once

#include <stdio.h>

/*
 * Records what failed and returns @err (a negative errno), so that a caller
 * can write `return error__set(-EINVAL, ...)`. Replaces what was recorded
 * before, hint included. The state is per thread.
 */
int error__set(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As error__set(), with ": " and the text of @err behind the message. */
int error__errno(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds what the person can do about it; several lines are fine. */
void error__hint(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The recorded message, or the text of @err when nothing was recorded. Never NULL. */
const char *error__message(int err);

/* The recorded hint, "" when there is none. */
const char *error__hint_text(void);

void error__clear(void);

/* Prints "dwell: MESSAGE" and the indented hint. */
void error__print(FILE *to, int err);
