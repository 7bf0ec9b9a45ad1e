/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the code of functions of the running kernel by name. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"

struct kernel_function {
	uint64_t start;
	uint64_t end;
	uint32_t number; /* given with its name */
};

struct wanted_name {
	const char *name;
	uint32_t number;
	uint32_t next; /* index + 1 of another number of this name; 0: none */
};

struct kernel_functions {
	struct map64 wanted; /* hash of a name -> index + 1 of the last one in names */
	ARRAY(struct wanted_name) names;
	ARRAY(struct kernel_function) found; /* by start, then number */
};

/*
 * Adds @name, which stays the caller's, to those that are looked up. It may be added several times,
 * with several numbers. 0 or -ENOMEM.
 */
int kernel_functions__add(struct kernel_functions *functions, const char *name, uint32_t number);

/*
 * Looks all names up in /proc/kallsyms, also with a suffix (".isra.0"), and adds the functions to
 * found. Those that are not there, or hidden from this user, are left out. 0 or -ENOMEM.
 */
int kernel_functions__find(struct kernel_functions *functions);

void kernel_functions__free(struct kernel_functions *functions);
