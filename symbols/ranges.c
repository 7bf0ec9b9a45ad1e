// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/ranges.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"

int ranges__add(struct ranges *ranges, uint64_t start, uint64_t end, uint32_t value)
{
	struct range range = {.start = start, .end = end, .value = value};

	if (start >= end)
		return 0;
	if (ranges->n >= UINT32_MAX - 1)
		return -ENOMEM;
	return array__push(ranges, range);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a;
	const struct range *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

/*
 * A sweep by start keeps a stack of the ranges that may contain the current address. Each range
 * links to the top of the stack at its start, so the chain of links leads to every range that
 * contains an address: ranges that were popped ended before it.
 */
void ranges__seal(struct ranges *ranges)
{
	uint32_t top = 0;

	array__sort(ranges, compare_ranges);
	for (size_t i = 0; i < ranges->n; i++) {
		while (top && ranges->data[top - 1].end <= ranges->data[i].start)
			top = ranges->data[top - 1].parent;
		ranges->data[i].parent = top;
		top = (uint32_t)i + 1;
	}
}

/* The first range that contains @address, from 1 + index @at along the links. */
static const struct range *find_outward(const struct ranges *ranges, uint32_t at, uint64_t address)
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
	return find_outward(ranges, (uint32_t)low, address);
}

const struct range *ranges__outer(const struct ranges *ranges, const struct range *inner,
				  uint64_t address)
{
	return find_outward(ranges, inner->parent, address);
}

/* The ranges that may contain the current address; the one with the highest rank on top. */
struct heap {
	struct heap_item {
		uint32_t rank;
		uint32_t at; /* index in the sealed ranges; decides between equal ranks */
	} * items;
	size_t n;
};

static bool item_is_above(struct heap_item a, struct heap_item b)
{
	return a.rank != b.rank ? a.rank > b.rank : a.at > b.at;
}

static void heap_push(struct heap *heap, struct heap_item item)
{
	size_t at = heap->n++;

	while (at && item_is_above(item, heap->items[(at - 1) / 2])) {
		heap->items[at] = heap->items[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap->items[at] = item;
}

static void heap_pop(struct heap *heap)
{
	struct heap_item item = heap->items[--heap->n];
	size_t at = 0;

	for (size_t child = 1; child < heap->n; child = 2 * at + 1) {
		if (child + 1 < heap->n &&
		    item_is_above(heap->items[child + 1], heap->items[child]))
			child++;
		if (!item_is_above(heap->items[child], item))
			break;
		heap->items[at] = heap->items[child];
		at = child;
	}
	heap->items[at] = item;
}

static int append_or_extend(struct ranges *flat, uint64_t start, uint64_t end, uint32_t value)
{
	if (flat->n) {
		struct range *last = &flat->data[flat->n - 1];

		if (last->end == start && last->value == value) {
			last->end = end;
			return 0;
		}
	}
	return ranges__add(flat, start, end, value);
}

/* Ranges that ended are only removed from the top of the heap: O(log n) for each. */
int ranges__flatten(const struct ranges *ranges,
		    uint32_t (*rank)(const void *context, uint32_t value), const void *context,
		    struct ranges *flat)
{
	_cleanup_free_ struct heap_item *items = calloc(ranges->n + 1, sizeof(*items));
	struct heap heap = {.items = items};
	uint64_t address = 0;
	size_t next = 0;

	if (!items)
		return -ENOMEM;
	for (;;) {
		const struct range *top;
		uint64_t end;

		while (heap.n && ranges->data[items[0].at].end <= address)
			heap_pop(&heap);
		if (!heap.n && next == ranges->n)
			return 0;
		if (!heap.n)
			address = ranges->data[next].start;
		for (; next < ranges->n && ranges->data[next].start == address; next++) {
			uint32_t value = ranges->data[next].value;

			heap_push(&heap, (struct heap_item){.rank = rank ? rank(context, value) : 0,
							    .at = (uint32_t)next});
		}
		top = &ranges->data[items[0].at];
		end = top->end;
		if (next < ranges->n && ranges->data[next].start < end)
			end = ranges->data[next].start;
		if (append_or_extend(flat, address, end, top->value))
			return -ENOMEM;
		address = end;
	}
}

void ranges__free(struct ranges *ranges)
{
	array__free(ranges);
}
