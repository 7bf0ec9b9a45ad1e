/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds kinds of waits as targets of virtual speedups by their names. What the kernel side needs
 * to recognize them (abi/kind_steps.h) is in kind_clues.h.
 */
#pragma once

#include <stdbool.h>

#include "abi/kind_steps.h"

/*
 * Sets @kinds to the kind called @name ("disk read", "sleep") or the kinds of a group ("network",
 * "disk", "pipe"). False: there is none that can be a target; locks cannot.
 */
bool kind_target__find(const char *name, struct kind_set *kinds);

/* The names of all groups and kinds, joined by commas; malloc()ed, NULL without memory. */
char *kind_target__names(void);
