/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A growing array: `ARRAY(struct row) rows = {};`, then rows.data[i] for
 * i < rows.n. Released with array__free().
 */
#pragma once

#include <stddef.h>
#include <string.h>

#define ARRAY(type)                                                                                \
	struct {                                                                                   \
		type *data;                                                                        \
		size_t n;                                                                          \
		size_t capacity;                                                                   \
	}

/*
 * Makes room for @n more elements of @size bytes; for the macros below. Returns 0, or -ENOMEM
 * with the array unchanged.
 */
int array__grow(void **data, size_t used, size_t *capacity, size_t n, size_t size);

#define array__reserve(a, count)                                                                   \
	((a)->capacity - (a)->n >= (size_t)(count)                                                 \
		 ? 0                                                                               \
		 : array__grow((void **)&(a)->data, (a)->n, &(a)->capacity, (count),               \
			       sizeof(*(a)->data)))

/* Appends a copy of @value. Returns 0 or -ENOMEM. */
#define array__push(a, value)                                                                      \
	({                                                                                         \
		int _err = array__reserve(a, 1);                                                   \
		if (!_err)                                                                         \
			(a)->data[(a)->n++] = (value);                                             \
		_err;                                                                              \
	})

/* Appends a zeroed element and returns it, or NULL. */
#define array__add(a)                                                                              \
	({                                                                                         \
		__typeof__((a)->data) _element = NULL;                                             \
		if (!array__reserve(a, 1)) {                                                       \
			_element = &(a)->data[(a)->n++];                                           \
			memset(_element, 0, sizeof(*_element));                                    \
		}                                                                                  \
		_element;                                                                          \
	})

/* As qsort(), but one pass suffices for what is sorted already. For the macro below. */
void array__sort_elements(void *data, size_t n, size_t size,
			  int (*compare)(const void *a, const void *b));

#define array__sort(a, compare)                                                                    \
	array__sort_elements((a)->data, (a)->n, sizeof(*(a)->data), (compare))

#define array__free(a)                                                                             \
	({                                                                                         \
		free((a)->data);                                                                   \
		(a)->data = NULL;                                                                  \
		(a)->n = (a)->capacity = 0;                                                        \
	})
