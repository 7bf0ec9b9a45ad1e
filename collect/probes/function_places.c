// SPDX-License-Identifier: BSD-2-Clause
#include "collect/probes/function_places.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/probe_exit.h"

int function_places__set(const struct found_function *function, struct function_places *places)
{
	int err = function->err;

	places->entry = function->entry;
	places->single_stepped = function->single_stepped;
	places->return_probe = function->return_probe;
	for (size_t i = 0; i < function->exits.n && !err; i++) {
		const struct function_exit *exit = &function->exits.data[i];
		struct uprobe_place place = {.offset = exit->offset,
					     .cookie = PROBE_EXIT_COOKIE(exit->condition)};

		err = array__push(&places->exits, place);
	}
	return err;
}

const char function_places__unsupported[] =
	"its exceptions or its runtime (Go) do not allow return probes, and its returns were not "
	"found";

bool function_places__is_new(struct map64 *searched, int fd)
{
	size_t n = searched->n;
	struct stat stats;

	return fd >= 0 && !fstat(fd, &stats) &&
	       map64__put(searched, hash__add(hash__mix(stats.st_dev), stats.st_ino), 1) &&
	       searched->n > n;
}

void function_places__free(struct function_places *places)
{
	array__free(&places->exits);
}
