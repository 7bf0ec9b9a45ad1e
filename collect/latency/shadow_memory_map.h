/* SPDX-License-Identifier: BSD-2-Clause */
/* The shadow memory of a process, mapped into dwell, read-only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/shadow_stack.h"
#include "base/array.h"

struct shadow_mapping {
	const struct shadow_memory *memory; /* NULL: the place is free */
	uint64_t address;		    /* in the process */
	uint32_t n_used; /* stacks that were in use when last counted; the caller's */
};

struct shadow_memory_map {
	uint32_t pid;
	ARRAY(struct shadow_mapping) mappings;
};

/*
 * Maps what the process has now and @map does not. Returns the number of new mappings, or a
 * negative errno: -ESRCH (the process has ended), -EPERM, -EPROTO (of another version of dwell-cc;
 * the message says so).
 */
int shadow_memory_map__update(struct shadow_memory_map *map);

/* Whether the process has more memory than is mapped. Cheap. */
bool shadow_memory_map__has_grown(const struct shadow_memory_map *map);

/* The tid of the process's thread that sees itself as @own_tid; 0: there is none. */
uint32_t shadow_memory_map__tid(const struct shadow_memory_map *map, uint32_t own_tid);

void shadow_memory_map__free(struct shadow_memory_map *map);
