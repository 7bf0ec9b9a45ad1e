/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The error of the last call that failed, in the words of the code that detected it.
 *
 * Library code never prints: it returns a negative errno and leaves here what
 * a person needs: what could not be done, with the value that was wrong, and
 * what helps. Commands print it once.
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

/* The message that was recorded for @err, else the text of @err: never one of another error. */
const char *error__message(int err);

/* The hint that was recorded for @err, "" when there is none. */
const char *error__hint_text(int err);

void error__clear(void);

/* Prints "dwell: MESSAGE" and the indented hint. */
void error__print(FILE *to, int err);
