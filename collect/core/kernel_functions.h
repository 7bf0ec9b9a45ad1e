/* SPDX-License-Identifier: BSD-2-Clause */
/* Where functions of the running kernel lie, by name. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"

struct kernel_function {
	uint64_t start;
	uint64_t end;
	uint32_t number; /* as given with its name */
};

struct wanted_name {
	const char *name;
	uint32_t number;
	uint32_t next; /* index + 1 of another number of this name; 0: none */
};

struct kernel_functions {
	struct map64 wanted; /* hash of a name -> index + 1 of its last number */
	ARRAY(struct wanted_name) names;
	ARRAY(struct kernel_function) found; /* by start, then number */
};

/* @name, which stays the caller's, is wanted. A name may be given with several numbers. */
int kernel_functions__add(struct kernel_functions *functions, const char *name, uint32_t number);

/*
 * Looks them up in /proc/kallsyms, those with a suffix (".isra.0") as well. What is not
 * there, or hidden from this user, is not found. 0 or -ENOMEM.
 */
int kernel_functions__find(struct kernel_functions *functions);

void kernel_functions__free(struct kernel_functions *functions);
