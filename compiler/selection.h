/* SPDX-License-Identifier: BSD-2-Clause */
/* Which functions are instrumented: what both plugins share. */
#pragma once

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/*
 * By default, functions are left out that call nothing and have no loop: they take some ns, and
 * nothing can make one of their calls slow but what interrupts it.
 */
#define SELECTION_BY_FORM (-1)

struct selection {
	/* In instructions, as the compiler estimates them: smaller functions are left out, whatever
	 * they do. */
	int min_size = SELECTION_BY_FORM;
	const char *only = NULL; /* a pattern of the shell; NULL: all */
};

/* Sets option @key ("min-size", "only") to @value. False if there is no such option. */
static inline bool selection__option(struct selection *selection, const char *key,
				     const char *value)
{
	if (value && !strcmp(key, "min-size"))
		selection->min_size = atoi(value);
	else if (value && !strcmp(key, "only"))
		selection->only = value;
	else
		return false;
	return true;
}

/* @name: as the language has it, with or without parameters: "ns::function(int)". */
static inline bool selection__has_name(const struct selection *selection, const char *name)
{
	char bare[256];
	size_t length = strcspn(name, "(");

	if (!selection->only || !fnmatch(selection->only, name, 0))
		return true;
	if (length >= sizeof(bare))
		return false;
	memcpy(bare, name, length);
	bare[length] = '\0';
	return !fnmatch(selection->only, bare, 0);
}
