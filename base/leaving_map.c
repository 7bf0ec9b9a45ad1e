// SPDX-License-Identifier: BSD-2-Clause
#include "base/leaving_map.h"

#include <errno.h>
#include <stdlib.h>

int leaving_map__init(struct leaving_map *map, size_t kept)
{
	*map = (struct leaving_map){};
	map->ended.data = calloc(kept, sizeof(*map->ended.data));
	map->ended.capacity = kept;
	return map->ended.data ? 0 : -ENOMEM;
}

bool leaving_map__end(struct leaving_map *map, uint64_t key, struct map64_slot *gone)
{
	const uint64_t *value = map64__get(&map->map, key), *left;
	struct map64_slot *slot;

	if (!value)
		return false;
	slot = &map->ended.data[(map->ended.first + map->ended.n) % map->ended.capacity];
	if (map->ended.n < map->ended.capacity) {
		*slot = (struct map64_slot){.key = key, .value = *value};
		map->ended.n++;
		return false;
	}
	*gone = *slot;
	*slot = (struct map64_slot){.key = key, .value = *value};
	map->ended.first = (map->ended.first + 1) % map->ended.capacity;
	left = map64__get(&map->map, gone->key);
	/* It may be gone, or the key be used again. */
	if (!left || *left != gone->value)
		return false;
	map64__remove(&map->map, gone->key);
	return true;
}

void leaving_map__remove(struct leaving_map *map, uint64_t key)
{
	map64__remove(&map->map, key);
}

bool leaving_map__wants_sweep(const struct leaving_map *map)
{
	return map->map.n > map->swept + 2 * map->ended.capacity;
}

void leaving_map__swept(struct leaving_map *map)
{
	map->swept = map->map.n;
}

void leaving_map__free(struct leaving_map *map)
{
	map64__free(&map->map);
	free(map->ended.data);
	*map = (struct leaving_map){};
}
