/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which interned numbers a reader has met, so that it can promise its callers
 * that a number they are given was given out before, and is small enough to
 * index an array with.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum number_kind {
	NUMBER_STRING,
	NUMBER_DSO,
	NUMBER_OBJECT,
	NUMBER_STACK,  /* may be named before its record comes */
	NUMBER_THREAD, /* its record may be lost, or come later from another CPU */
	NUMBER_DEVICE, /* and so may a device's, of which there are several */
	NUMBER_KINDS,
};

/*
 * Numbers count up, so none can be much higher than what the bytes so far could
 * have given out: a record that gives one out takes several bytes, compressed
 * too. The slack is for those that were lost on their way to the file.
 */
#define NUMBERS_BASE	 65536u
#define NUMBERS_PER_BYTE 4u

struct numbers {
	uint64_t limit; /* the highest number that is credible now */
	struct {
		uint64_t *bits;
		size_t words;
	} defined[NUMBER_THREAD]; /* of each kind but threads */
};

void numbers__reset(struct numbers *numbers);
void numbers__free(struct numbers *numbers);

/* Makes the numbers credible that @bytes more of the file could have given out. */
void numbers__allow(struct numbers *numbers, uint64_t bytes);

/*
 * Takes @number as given out. Returns 0, -EEXIST when it was before, -ERANGE
 * when it is 0 or not credible, -ENOMEM.
 */
int numbers__define(struct numbers *numbers, enum number_kind kind, uint32_t number);

bool numbers__defined(const struct numbers *numbers, enum number_kind kind, uint64_t number);

/* Whether a record may name @number: 0 always may. */
static inline bool numbers__valid(const struct numbers *numbers, enum number_kind kind,
				  uint64_t number)
{
	if (number == 0)
		return true;
	if (kind >= NUMBER_STACK)
		return number <= numbers->limit;
	return numbers__defined(numbers, kind, number);
}
