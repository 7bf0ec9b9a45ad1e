/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The message and hint of the last error, per thread.
 *
 * Library code never prints. Where it detects an error, it returns a negative errno and
 * records here what could not be done, with the value that was wrong, and a hint. Commands
 * print both, once.
 */
#pragma once

#include <stdio.h>

/*
 * Records a message for @err (a negative errno) and returns @err, so that a caller can write
 * `return error__set(-EINVAL, ...)`. Replaces the message and hint recorded before.
 */
int error__set(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * As error__set(), with ": " and strerror() of @err appended to the message. If @err comes from a
 * limit of a resource, the hint names it (base/limits.h), and other hints are ignored.
 */
int error__errno(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Records a hint for that error: what the user can do about it, in one or more lines. */
void error__hint(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The message recorded for @err, or strerror() of @err if the last one is of another error. */
const char *error__message(int err);

/* The hint recorded for @err, or what limits__explain() says of it. */
const char *error__hint_text(int err);

void error__clear(void);

/* Prints "dwell: MESSAGE", then the hint, indented. */
void error__print(FILE *to, int err);
