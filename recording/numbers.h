/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The numbers that the records read so far have defined, so that a reader can guarantee that
 * references are to defined numbers, and that numbers are small enough for array indices.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum number_kind {
	NUMBER_STRING,
	NUMBER_DSO,
	NUMBER_OBJECT,
	NUMBER_STACK,  /* its record may come after references to it */
	NUMBER_THREAD, /* so may a thread's, from another CPU; or it was lost */
	NUMBER_DEVICE, /* as threads, and a device has several records */
};

/*
 * Numbers are assigned in sequence, and a record that defines one takes several bytes even
 * compressed, so the bytes read so far bound the numbers. The base allows for records that
 * were lost before they were written.
 */
#define NUMBERS_BASE	 65536u
#define NUMBERS_PER_BYTE 4u

struct numbers {
	uint64_t limit; /* the highest number accepted so far */
	struct {
		uint64_t *bits;
		size_t words;
	} defined[NUMBER_THREAD]; /* by kind, below NUMBER_THREAD */
};

void numbers__reset(struct numbers *numbers);
void numbers__free(struct numbers *numbers);

/* Raises the limit for @bytes more bytes of the file. */
void numbers__allow(struct numbers *numbers, uint64_t bytes);

/*
 * Marks @number as defined. Returns 0, -EEXIST if it was before, -ERANGE if it is 0 or above the
 * limit, or -ENOMEM.
 */
int numbers__define(struct numbers *numbers, enum number_kind kind, uint32_t number);

bool numbers__defined(const struct numbers *numbers, enum number_kind kind, uint64_t number);

/* Whether a record may refer to @number; 0 is always valid. */
static inline bool numbers__valid(const struct numbers *numbers, enum number_kind kind,
				  uint64_t number)
{
	if (number == 0)
		return true;
	if (kind >= NUMBER_STACK)
		return number <= numbers->limit;
	return numbers__defined(numbers, kind, number);
}
