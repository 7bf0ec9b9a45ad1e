// SPDX-License-Identifier: BSD-2-Clause
#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

int array__grow(void **data, size_t used, size_t *capacity, size_t n, size_t size)
{
	size_t wanted = *capacity ? *capacity : 16;
	void *grown;

	if (n > SIZE_MAX / 2 / size - used)
		return -ENOMEM;
	while (wanted < used + n)
		wanted *= 2;
	grown = realloc(*data, wanted * size);
	if (!grown)
		return -ENOMEM;
	*data = grown;
	*capacity = wanted;
	return 0;
}

void array__sort_elements(void *data, size_t n, size_t size,
			  int (*compare)(const void *a, const void *b))
{
	const char *at = data;

	for (size_t i = 1; i < n; i++, at += size) {
		if (compare(at, at + size) <= 0)
			continue;
		qsort(data, n, size, compare);
		return;
	}
}
