/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A map of which only what is used stays: it has two generations, and aging_map__age() removes what
 * was not looked up or put since the aging before.
 */
#pragma once

#include "base/hash.h"

struct aging_map {
	struct map64 young;
	struct map64 old;
};

/* The value under @key, which is young from now on; or NULL. Valid until the next call. */
uint64_t *aging_map__get(struct aging_map *map, uint64_t key);

/* The value under @key; inserts @value if there is none. NULL when out of memory. */
uint64_t *aging_map__put(struct aging_map *map, uint64_t key, uint64_t value);

/* The number of keys that were used since the last aging. */
static inline size_t aging_map__young(const struct aging_map *map)
{
	return map->young.n;
}

void aging_map__age(struct aging_map *map);

void aging_map__free(struct aging_map *map);
