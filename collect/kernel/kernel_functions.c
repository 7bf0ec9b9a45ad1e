// SPDX-License-Identifier: BSD-2-Clause
#include "collect/kernel/kernel_functions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define LONGEST_FUNCTION (1ULL << 20) /* a longer distance to the next symbol includes a gap */

static uint64_t name_key(const char *name)
{
	return hash__bytes(name, strcspn(name, ".\n\t "));
}

int kernel_functions__add(struct kernel_functions *functions, const char *name, uint32_t number)
{
	uint64_t *first = map64__put(&functions->wanted, name_key(name), 0);
	struct wanted_name added = {.name = name, .number = number};

	if (!first)
		return -ENOMEM;
	added.next = (uint32_t)*first;
	if (array__push(&functions->names, added))
		return -ENOMEM;
	*first = functions->names.n;
	return 0;
}

static int take(struct kernel_functions *functions, uint64_t address, const char *name)
{
	size_t length = strcspn(name, ".\n\t ");
	uint64_t *known = map64__get(&functions->wanted, name_key(name));
	uint32_t at = known ? (uint32_t)*known : 0;

	for (; at; at = functions->names.data[at - 1].next) {
		const struct wanted_name *wanted = &functions->names.data[at - 1];
		struct kernel_function found = {.start = address, .number = wanted->number};

		if (strlen(wanted->name) != length || memcmp(wanted->name, name, length) != 0)
			continue;
		if (array__push(&functions->found, found))
			return -ENOMEM;
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct kernel_function *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->number < right->number ? -1 : left->number > right->number;
}

static int by_address(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* A function ends where the next symbol begins. */
static void find_ends(struct kernel_functions *functions, const uint64_t *starts, size_t n)
{
	size_t at = 0;

	for (size_t i = 0; i < functions->found.n; i++) {
		struct kernel_function *function = &functions->found.data[i];

		while (at < n && starts[at] <= function->start)
			at++;
		function->end = at < n && starts[at] - function->start < LONGEST_FUNCTION
					? starts[at]
					: function->start + 1;
	}
}

int kernel_functions__find(struct kernel_functions *functions)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/kallsyms", "re");
	_cleanup_free_ char *line = NULL;
	ARRAY(uint64_t) starts = {};
	size_t size = 0;
	int err = 0;

	while (file && !err && getline(&line, &size, file) > 0) {
		uint64_t address;
		char type;
		int name = 0;

		if (sscanf(line, "%" SCNx64 " %c %n", &address, &type, &name) < 2 || !name ||
		    !address || !strchr("tTwW", type))
			continue;
		err = array__push(&starts, address);
		if (!err)
			err = take(functions, address, line + name);
	}
	if (!err) {
		if (starts.n)
			qsort(starts.data, starts.n, sizeof(*starts.data), by_address);
		if (functions->found.n)
			qsort(functions->found.data, functions->found.n,
			      sizeof(*functions->found.data), by_start);
		find_ends(functions, starts.data, starts.n);
	}
	array__free(&starts);
	return err;
}

void kernel_functions__free(struct kernel_functions *functions)
{
	map64__free(&functions->wanted);
	array__free(&functions->names);
	array__free(&functions->found);
}
