/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kinds of waits as targets of virtual speedups: finds them by name, and supplies what the kernel
 * side needs to recognize them (abi/kind_steps.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/kind_steps.h"

/*
 * Sets @kinds to the kind called @name ("disk read", "sleep") or the kinds of a group ("network",
 * "disk", "pipe"). False: there is none that can be a target; locks cannot.
 */
bool kind_target__find(const char *name, struct kind_set *kinds);

/* The names of all groups and kinds, joined by commas; malloc()ed, NULL without memory. */
char *kind_target__names(void);

/* The name of the kernel function of clue number @index, and the clue; NULL after the last. */
const char *kind_target__function(size_t index, struct kind_clue *clue);

/* The kind (enum wait_kind) of waits in system call @nr of this machine, see kind_syscall__kind().
 */
uint8_t kind_target__by_syscall(int nr);
