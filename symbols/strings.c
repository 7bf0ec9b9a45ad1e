// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/strings.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define BLOCK_SIZE ((size_t)64 << 10)

struct strings_block {
	struct strings_block *next;
	size_t used;
	size_t size;
	char bytes[];
};

/* The slot that holds @text, or the free one where it belongs. */
static struct strings_slot *find_slot(struct strings_slot *slots, size_t capacity, const char *text,
				      uint64_t hash)
{
	size_t at = hash & (capacity - 1);

	while (slots[at].text && (slots[at].hash != hash || strcmp(slots[at].text, text) != 0))
		at = (at + 1) & (capacity - 1);
	return &slots[at];
}

static int strings_grow(struct strings *strings)
{
	size_t capacity = strings->capacity ? strings->capacity * 2 : 256;
	struct strings_slot *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return -1;
	for (size_t i = 0; i < strings->capacity; i++) {
		size_t at = strings->slots[i].hash & (capacity - 1);

		if (!strings->slots[i].text)
			continue;
		while (slots[at].text) /* all differ */
			at = (at + 1) & (capacity - 1);
		slots[at] = strings->slots[i];
	}
	free(strings->slots);
	strings->slots = slots;
	strings->capacity = capacity;
	return 0;
}

static char *strings_copy(struct strings *strings, const char *text, size_t size)
{
	struct strings_block *block = strings->blocks;
	char *copy;

	if (!block || block->size - block->used < size + 1) {
		size_t room = size + 1 > BLOCK_SIZE ? size + 1 : BLOCK_SIZE;

		block = malloc(sizeof(*block) + room);
		if (!block)
			return NULL;
		*block = (struct strings_block){.next = strings->blocks, .size = room};
		strings->blocks = block;
	}
	copy = memcpy(block->bytes + block->used, text, size + 1);
	block->used += size + 1;
	return copy;
}

const char *strings__intern(struct strings *strings, const char *text)
{
	size_t size = strlen(text);
	uint64_t hash = hash__bytes(text, size);
	struct strings_slot *slot;

	if (strings->n + 1 > strings->capacity / 2 && strings_grow(strings))
		return NULL;
	slot = find_slot(strings->slots, strings->capacity, text, hash);
	if (!slot->text) {
		slot->text = strings_copy(strings, text, size);
		slot->hash = hash;
		strings->n += slot->text != NULL;
	}
	return slot->text;
}

void strings__free(struct strings *strings)
{
	while (strings->blocks) {
		struct strings_block *next = strings->blocks->next;

		free(strings->blocks);
		strings->blocks = next;
	}
	free(strings->slots);
	*strings = (struct strings){};
}
