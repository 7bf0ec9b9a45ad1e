/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The strings that a result makes itself ("mysqld/4711"), beside those of the model, which
 * analyses only read. Both go by numbers of one range: below the model's count they are the
 * model's, above it the result's own.
 */
#pragma once

#include <stdint.h>

#include "model/model.h"

struct own_strings {
	const struct model *model; /* stays the caller's, and there as long as this */
	struct intern own;
};

/* The number of @text, the model's if it has it. 0, the empty string, without memory. */
uint32_t own_strings__add(struct own_strings *strings, const char *text);

/* Valid until the next own_strings__add(). */
const char *own_strings__text(const struct own_strings *strings, uint32_t number);

void own_strings__free(struct own_strings *strings);
