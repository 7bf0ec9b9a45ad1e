/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A map of things that end, such as threads: entries stay for a while after their end, as events of
 * different CPUs are not in order, but only a bounded number of them.
 */
#pragma once

#include "base/array.h"
#include "base/hash.h"

struct leaving_map {
	struct map64 map;
	struct { /* a ring: keys and values of those that ended, the first first */
		struct map64_slot *data;
		size_t capacity; /* how many stay */
		size_t first;
		size_t n;
	} ended;
	size_t swept; /* entries after the last sweep */
};

/* @kept: how many entries stay after their end, at least 1. 0 or -ENOMEM. */
int leaving_map__init(struct leaving_map *map, size_t kept);

/* As map64__get() and map64__put(). A key that is used again has another value. */
static inline uint64_t *leaving_map__get(const struct leaving_map *map, uint64_t key)
{
	return map64__get(&map->map, key);
}

static inline uint64_t *leaving_map__put(struct leaving_map *map, uint64_t key, uint64_t value)
{
	return map64__put(&map->map, key, value);
}

/*
 * The entry of @key has ended. Returns whether another one, which ended before, leaves: *@gone is
 * its key and value, which the map does not have any more.
 */
bool leaving_map__end(struct leaving_map *map, uint64_t key, struct map64_slot *gone);

/* Removes @key at once. */
void leaving_map__remove(struct leaving_map *map, uint64_t key);

/*
 * Whether it is time to look for entries whose end was missed: there are many more than after the
 * last time.
 */
bool leaving_map__wants_sweep(const struct leaving_map *map);
void leaving_map__swept(struct leaving_map *map);

void leaving_map__free(struct leaving_map *map);
