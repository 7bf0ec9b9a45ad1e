/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kinds of waiting as targets of virtual speedups: by name, and what the kernel side needs
 * to tell them apart (abi/kind_steps.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/kind_steps.h"

/*
 * The kinds called @name: "disk read", "sleep", or a group of them: "network", "disk",
 * "pipe". False: there is none, or one that cannot be made faster by itself (locks).
 */
bool kind_target__find(const char *name, struct kind_set *kinds);

/* Names and groups there are, joined by commas; malloc()ed, NULL without memory. */
char *kind_target__names(void);

/* Function @index of the kernel that gives a clue, and which; NULL: there are not so many. */
const char *kind_target__function(size_t index, struct kind_clue *clue);

/* The kind (enum wait_kind) of waits in system call @nr of this machine by itself. */
uint8_t kind_target__of_call(int nr);
