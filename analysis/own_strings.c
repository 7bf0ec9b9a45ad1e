// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/own_strings.h"

#include <string.h>

uint32_t own_strings__add(struct own_strings *strings, const char *text)
{
	const struct intern *shared = &strings->model->strings;
	int64_t number = intern__find(shared, text, strlen(text));

	if (number >= 0)
		return (uint32_t)number;
	number = intern__id(&strings->own, text, strlen(text), NULL);
	return number < 0 ? 0 : (uint32_t)(shared->n + (size_t)number);
}

const char *own_strings__text(const struct own_strings *strings, uint32_t number)
{
	size_t shared = strings->model->strings.n;

	if (number < shared)
		return model__string(strings->model, number);
	return intern__bytes(&strings->own, (uint32_t)(number - shared), NULL);
}

void own_strings__free(struct own_strings *strings)
{
	intern__free(&strings->own);
}
