/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address ranges that may nest and overlap, to be searched by address. Add all ranges, seal once,
 * then search.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct range {
	uint64_t start;
	uint64_t end;	 /* not included */
	uint32_t value;	 /* the caller's */
	uint32_t parent; /* 1 + index of the next range outwards; 0: none */
};

struct ranges {
	struct range *data;
	size_t n;
	size_t capacity;
};

/* Adds [@start, @end) unless it is empty. Returns 0 or -ENOMEM. */
int ranges__add(struct ranges *ranges, uint64_t start, uint64_t end, uint32_t value);

/* Sorts by start, then value, and links the ranges. To be called once, before searching. */
void ranges__seal(struct ranges *ranges);

/*
 * Of the ranges that contain @address, the one that starts last (of equal starts, the one with
 * the greatest value); or NULL.
 */
const struct range *ranges__find(const struct ranges *ranges, uint64_t address);

/* The next range outwards from @inner that contains @address, or NULL. */
const struct range *ranges__outer(const struct ranges *ranges, const struct range *inner,
				  uint64_t address);

/*
 * Makes disjoint ranges, sorted by address, in @flat, which must be empty. Where several ranges
 * contain an address, the one whose value has the greatest @rank wins, and of equal ranks the
 * one that ranges__find() returns. @rank gets @context; NULL: all ranks are equal. 0 or -ENOMEM.
 */
int ranges__flatten(const struct ranges *ranges,
		    uint32_t (*rank)(const void *context, uint32_t value), const void *context,
		    struct ranges *flat);

void ranges__free(struct ranges *ranges);
