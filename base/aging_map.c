// SPDX-License-Identifier: BSD-2-Clause
#include "base/aging_map.h"

uint64_t *aging_map__get(struct aging_map *map, uint64_t key)
{
	uint64_t *young = map64__get(&map->young, key), *old;

	if (young)
		return young;
	old = map64__get(&map->old, key);
	/* Without memory, it is found again as long as it is in the old generation. */
	young = old ? map64__put(&map->young, key, *old) : NULL;
	return young ? young : old;
}

uint64_t *aging_map__put(struct aging_map *map, uint64_t key, uint64_t value)
{
	uint64_t *known = aging_map__get(map, key);

	return known ? known : map64__put(&map->young, key, value);
}

void aging_map__age(struct aging_map *map)
{
	struct map64 old = map->old;

	map->old = map->young;
	map->young = old;
	map64__clear(&map->young);
}

void aging_map__free(struct aging_map *map)
{
	map64__free(&map->young);
	map64__free(&map->old);
}
