/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address ranges that may nest and overlap, searched by address. Add them all,
 * seal once, then look up.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct range {
	uint64_t start;
	uint64_t end;	 /* not included */
	uint32_t value;	 /* the caller's */
	uint32_t parent; /* 1 + index of the nearest earlier range that reaches here; 0: none */
};

struct ranges {
	struct range *data;
	size_t n;
	size_t capacity;
};

/* Adds [@start, @end) unless it is empty. Returns 0 or -ENOMEM. */
int ranges__add(struct ranges *ranges, uint64_t start, uint64_t end, uint32_t value);

/* Sorts by start, then value. To be called once, before the first look-up. */
void ranges__seal(struct ranges *ranges);

/*
 * The range around @address that starts last (of equal starts, the one with
 * the greatest value), or NULL.
 */
const struct range *ranges__find(const struct ranges *ranges, uint64_t address);

/* The next range around @address behind @inner, a result of either function; or NULL. */
const struct range *ranges__outer(const struct ranges *ranges, const struct range *inner,
				  uint64_t address);

/*
 * Which range every address belongs to: of those around it the one whose value
 * has the greatest @rank, of these the one ranges__find() gives. @flat, empty
 * before, gets disjoint ranges by address. @rank NULL: all rank alike; @context
 * is handed to it. 0 or -ENOMEM.
 */
int ranges__flatten(const struct ranges *ranges,
		    uint32_t (*rank)(const void *context, uint32_t value), const void *context,
		    struct ranges *flat);

void ranges__free(struct ranges *ranges);
