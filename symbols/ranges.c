// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/ranges.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

int ranges__add(struct ranges *ranges, uint64_t start, uint64_t end, uint32_t value)
{
	struct range range = {.start = start, .end = end, .value = value};

	if (start >= end)
		return 0;
	if (ranges->n >= UINT32_MAX - 1)
		return -ENOMEM;
	return array__push(ranges, range);
}

static int range__compare(const void *a, const void *b)
{
	const struct range *x = a;
	const struct range *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

/*
 * The ranges that reach an address form a stack while one sweeps by start, so
 * a link to the top of that stack leads to every range around an address:
 * whatever was taken off ended before it.
 */
void ranges__seal(struct ranges *ranges)
{
	uint32_t top = 0;

	if (ranges->n)
		qsort(ranges->data, ranges->n, sizeof(*ranges->data), range__compare);
	for (size_t i = 0; i < ranges->n; i++) {
		while (top && ranges->data[top - 1].end <= ranges->data[i].start)
			top = ranges->data[top - 1].parent;
		ranges->data[i].parent = top;
		top = (uint32_t)i + 1;
	}
}

/* From the range numbered @at (from 1) outwards, the first that holds @address. */
static const struct range *ranges__climb(const struct ranges *ranges, uint32_t at, uint64_t address)
{
	while (at && ranges->data[at - 1].end <= address)
		at = ranges->data[at - 1].parent;
	return at ? &ranges->data[at - 1] : NULL;
}

const struct range *ranges__find(const struct ranges *ranges, uint64_t address)
{
	size_t low = 0;
	size_t high = ranges->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->data[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return ranges__climb(ranges, (uint32_t)low, address);
}

const struct range *ranges__outer(const struct ranges *ranges, const struct range *inner,
				  uint64_t address)
{
	return ranges__climb(ranges, inner->parent, address);
}

void ranges__free(struct ranges *ranges)
{
	array__free(ranges);
}
