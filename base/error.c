// SPDX-License-Identifier: BSD-2-Clause
#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "base/limits.h"

/* The error that message and hint are for; 0: none recorded. */
static __thread int recorded;
static __thread char message[1024];
static __thread char hint[1024];
static __thread bool names_limit; /* the hint: no other one helps */

int error__set(int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	hint[0] = '\0';
	names_limit = false;
	recorded = err;
	return err;
}

int error__errno(int err, const char *fmt, ...)
{
	char text[sizeof(message)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	error__set(err, "%s: %s", text, strerror(-err));
	limits__explain(err, hint, sizeof(hint));
	names_limit = hint[0];
	return err;
}

void error__hint(const char *fmt, ...)
{
	va_list args;

	if (names_limit)
		return;
	va_start(args, fmt);
	vsnprintf(hint, sizeof(hint), fmt, args);
	va_end(args);
}

const char *error__message(int err)
{
	return recorded == err && message[0] ? message : strerror(-err);
}

const char *error__hint_text(int err)
{
	if (recorded == err)
		return hint;
	recorded = err; /* without a message of its own */
	message[0] = '\0';
	limits__explain(err, hint, sizeof(hint));
	return hint;
}

void error__clear(void)
{
	recorded = 0;
	message[0] = '\0';
	hint[0] = '\0';
}

void error__print(FILE *to, int err)
{
	const char *line = error__hint_text(err);

	fprintf(to, "dwell: %s\n", error__message(err));
	while (*line) {
		int length = (int)strcspn(line, "\n");

		fprintf(to, "  %.*s\n", length, line);
		line += length + (line[length] == '\n');
	}
}
