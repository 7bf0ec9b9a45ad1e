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
