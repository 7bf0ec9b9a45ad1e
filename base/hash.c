// SPDX-License-Identifier: BSD-2-Clause
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

uint64_t hash__bytes(const void *data, size_t size)
{
	const unsigned char *at = data;
	uint64_t hash = size;
	uint64_t word;

	for (; size >= sizeof(word); at += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = hash__add(hash, word);
	}
	word = 0;
	memcpy(&word, at, size);
	return hash__add(hash, word);
}

/* The slot that holds @key, or the free one where it belongs. */
static struct map64_slot *map64_find_slot(const struct map64 *map, uint64_t key)
{
	size_t at = hash__mix(key) & (map->capacity - 1);

	while (map->slots[at].used && map->slots[at].key != key)
		at = (at + 1) & (map->capacity - 1);
	return &map->slots[at];
}

static int map64_grow(struct map64 *map)
{
	struct map64 grown = {.capacity = map->capacity ? map->capacity * 2 : 64, .n = map->n};

	grown.slots = calloc(grown.capacity, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].used)
			*map64_find_slot(&grown, map->slots[i].key) = map->slots[i];
	free(map->slots);
	*map = grown;
	return 0;
}

uint64_t *map64__get(const struct map64 *map, uint64_t key)
{
	struct map64_slot *slot;

	if (!map->capacity)
		return NULL;
	slot = map64_find_slot(map, key);
	return slot->used ? &slot->value : NULL;
}

uint64_t *map64__put(struct map64 *map, uint64_t key, uint64_t value)
{
	struct map64_slot *slot;

	if (map->n + 1 > map->capacity / 4 * 3 && map64_grow(map))
		return NULL;
	slot = map64_find_slot(map, key);
	if (!slot->used) {
		*slot = (struct map64_slot){.key = key, .value = value, .used = true};
		map->n++;
	}
	return &slot->value;
}

void map64__remove(struct map64 *map, uint64_t key)
{
	size_t mask = map->capacity - 1, gap, at;

	if (!map64__get(map, key))
		return;
	gap = (size_t)(map64_find_slot(map, key) - map->slots);
	/* Later entries of the probe sequence move up, but never before their home slot. */
	for (at = (gap + 1) & mask; map->slots[at].used; at = (at + 1) & mask) {
		size_t home = hash__mix(map->slots[at].key) & mask;

		if (((at - home) & mask) < ((at - gap) & mask))
			continue;
		map->slots[gap] = map->slots[at];
		gap = at;
	}
	map->slots[gap].used = false;
	map->n--;
}

void map64__clear(struct map64 *map)
{
	if (map->n)
		memset(map->slots, 0, map->capacity * sizeof(*map->slots));
	map->n = 0;
}

void map64__free(struct map64 *map)
{
	free(map->slots);
	*map = (struct map64){};
}

/* The slot with the id of these bytes, or the free slot where it belongs. */
static uint32_t *intern_find_slot(const struct intern *table, const void *data, size_t size,
				  uint64_t hash)
{
	size_t at = hash & (table->capacity - 1);

	for (; table->slots[at]; at = (at + 1) & (table->capacity - 1)) {
		const struct intern_entry *entry = &table->entries[table->slots[at] - 1];

		if (entry->hash == hash && entry->size == size &&
		    !memcmp(table->bytes + entry->offset, data, size))
			break;
	}
	return &table->slots[at];
}

static int intern_grow_slots(struct intern *table)
{
	size_t capacity = table->capacity ? table->capacity * 2 : 64;
	uint32_t *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t id = 0; id < table->n; id++) {
		size_t at = table->entries[id].hash & (capacity - 1);

		while (slots[at])
			at = (at + 1) & (capacity - 1);
		slots[at] = id + 1;
	}
	free(table->slots);
	table->slots = slots;
	table->capacity = capacity;
	return 0;
}

/* Makes room for one more entry of @size bytes. */
static int intern_reserve(struct intern *table, size_t size)
{
	if (table->n + 1 > table->capacity / 4 * 3 && intern_grow_slots(table))
		return -ENOMEM;
	if (table->n == table->entries_capacity &&
	    array__grow((void **)&table->entries, table->n, &table->entries_capacity, 1,
			sizeof(*table->entries)))
		return -ENOMEM;
	if (table->bytes_capacity - table->bytes_used < size + 1 &&
	    array__grow((void **)&table->bytes, table->bytes_used, &table->bytes_capacity, size + 1,
			1))
		return -ENOMEM;
	return 0;
}

int64_t intern__id(struct intern *table, const void *data, size_t size, bool *fresh)
{
	uint64_t hash = hash__bytes(data, size);
	uint32_t *slot;

	if (table->n >= INT32_MAX || intern_reserve(table, size))
		return -ENOMEM;
	slot = intern_find_slot(table, data, size, hash);
	if (fresh)
		*fresh = !*slot;
	if (!*slot) {
		table->entries[table->n] = (struct intern_entry){hash, table->bytes_used, size};
		memcpy(table->bytes + table->bytes_used, data, size);
		table->bytes[table->bytes_used + size] = '\0';
		table->bytes_used += size + 1;
		*slot = (uint32_t)++table->n;
	}
	return *slot - 1;
}

int64_t intern__find(const struct intern *table, const void *data, size_t size)
{
	const uint32_t *slot =
		table->n ? intern_find_slot(table, data, size, hash__bytes(data, size)) : NULL;

	return slot && *slot ? (int64_t)*slot - 1 : -ENOENT;
}

const void *intern__bytes(const struct intern *table, uint32_t id, size_t *size)
{
	if (size)
		*size = table->entries[id].size;
	return table->bytes + table->entries[id].offset;
}

void intern__clear(struct intern *table)
{
	if (table->n)
		memset(table->slots, 0, table->capacity * sizeof(*table->slots));
	table->n = table->bytes_used = 0;
}

void intern__free(struct intern *table)
{
	free(table->entries);
	free(table->bytes);
	free(table->slots);
	*table = (struct intern){};
}
