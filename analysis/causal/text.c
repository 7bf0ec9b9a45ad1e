// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/causal/text.h"

#include <stdarg.h>
#include <stdio.h>

char *causal_text__new(const char *fmt, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	return n < 0 ? NULL : text;
}
