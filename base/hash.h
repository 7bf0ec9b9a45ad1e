/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hash tables: map64 (64-bit keys to 64-bit values) and intern (byte strings to ids,
 * given from 0 in the order in which they are first seen).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Mixes all bits of @x (the finalizer of splitmix64). */
static inline uint64_t hash__mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ULL;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/* Folds @value into a running hash. */
static inline uint64_t hash__add(uint64_t hash, uint64_t value)
{
	return hash__mix(hash * 0x9e3779b97f4a7c15ULL + value + 1);
}

uint64_t hash__bytes(const void *data, size_t size);

struct map64_slot {
	uint64_t key;
	uint64_t value;
	bool used;
};

struct map64 {
	struct map64_slot *slots;
	size_t capacity; /* a power of two, or 0 */
	size_t n;
};

/* The value under @key, or NULL. Valid until the next map64__put(). */
uint64_t *map64__get(const struct map64 *map, uint64_t key);

/*
 * The value under @key; inserts @value if there is none. NULL when out of memory. Valid
 * until the next map64__put().
 */
uint64_t *map64__put(struct map64 *map, uint64_t key, uint64_t value);

/* Removes @key. Invalidates the pointers that map64__get() and map64__put() returned. */
void map64__remove(struct map64 *map, uint64_t key);

/* Removes all keys, and keeps the memory. */
void map64__clear(struct map64 *map);

void map64__free(struct map64 *map);

struct intern_entry {
	uint64_t hash;
	size_t offset; /* into bytes */
	size_t size;
};

struct intern {
	struct intern_entry *entries;
	size_t n;
	size_t entries_capacity;
	char *bytes; /* each entry is followed by a NUL, so that strings are terminated */
	size_t bytes_used;
	size_t bytes_capacity;
	uint32_t *slots; /* id + 1, 0 when free */
	size_t capacity;
};

/*
 * The id of the @size bytes at @data, which are copied if they are new; then *@fresh (if not
 * NULL) is true. Returns the id, below 2^31, or -ENOMEM.
 */
int64_t intern__id(struct intern *table, const void *data, size_t size, bool *fresh);

/* The id of the @size bytes at @data, or -ENOENT. */
int64_t intern__find(const struct intern *table, const void *data, size_t size);

/*
 * The bytes of @id, NUL-terminated; *@size (if not NULL) is set. Valid until the next
 * intern__id().
 */
const void *intern__bytes(const struct intern *table, uint32_t id, size_t *size);

/* Removes all entries, and keeps the memory. Ids are given from 0 again. */
void intern__clear(struct intern *table);

void intern__free(struct intern *table);
