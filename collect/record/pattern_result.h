/* SPDX-License-Identifier: BSD-2-Clause */
/* What became of a pattern that names functions to be measured, over all files searched. */
#pragma once

#include <stdbool.h>

struct pattern_result {
	bool found;	   /* some function is measured */
	const char *error; /* NULL: none. Static text */
};

/* Adds the result of one file, or one change of its probes: 0 or a negative errno. */
void pattern_result__note(struct pattern_result *result, int err);

/* What to tell the user, NULL: nothing. Static text. */
const char *pattern_result__problem(const struct pattern_result *result);
