/* SPDX-License-Identifier: BSD-2-Clause */
/* Where output goes: a pager and colour for a person, plain text for a program. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct terminal {
	FILE *out;
	bool colour;
	pid_t pager; /* 0: none */
};

/*
 * Standard output, through a pager when it is a terminal: $DWELL_PAGER, $PAGER,
 * else less; "" or "cat" for none. Colour on a terminal unless $NO_COLOR is set.
 * Always leaves a usable @terminal->out.
 */
void terminal__open(struct terminal *terminal, bool pager);

/* Waits for the pager. Returns 0, or -errno when not everything could be written. */
int terminal__close(struct terminal *terminal);

enum colour {
	COLOUR_NONE,
	COLOUR_HOT, /* much of the whole */
	COLOUR_WARM,
	COLOUR_DIM,
	COLOUR_BOLD,
};

/* The escape sequence of @colour, "" when @on is false. */
const char *colour__begin(bool on, enum colour colour);
const char *colour__end(bool on, enum colour colour);
