/* SPDX-License-Identifier: BSD-2-Clause */
/* Output: a pager and color on a terminal, plain text otherwise. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct terminal {
	FILE *out;
	bool color;
	pid_t pager; /* 0: none */
};

/*
 * Standard output, through a pager when it is a terminal: $DWELL_PAGER, $PAGER,
 * else less; "" or "cat" for none. Color on a terminal unless $NO_COLOR is set.
 * Always leaves a usable @terminal->out.
 */
void terminal__open(struct terminal *terminal, bool pager);

/* Waits for the pager. Returns 0, or -errno when not everything could be written. */
int terminal__close(struct terminal *terminal);

enum color {
	COLOR_NONE,
	COLOR_HOT, /* a large share */
	COLOR_WARM,
	COLOR_DIM,
	COLOR_BOLD,
};

/* The escape sequence of @color, "" when @on is false. */
const char *color__begin(bool on, enum color color);
const char *color__end(bool on, enum color color);
