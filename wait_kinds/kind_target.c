// SPDX-License-Identifier: BSD-2-Clause
#include "wait_kinds/kind_target.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wait_kinds/kind_table.h"

/* Not lock waits: they become shorter only if the lock's holder is faster. */
static bool kind_is_target(enum wait_kind kind)
{
	return kind__info(kind)->role == KIND_ROLE_WAIT;
}

bool kind_target__find(const char *name, struct kind_set *kinds)
{
	unsigned int group = kind_group__find(name);
	struct kind_set found = {};
	bool any = false;

	for (int kind = 0; kind < KIND_COUNT; kind++) {
		const struct kind_info *info = kind__info(kind);

		if (!kind_is_target(kind) ||
		    !(group ? (info->groups & group) != 0 : !strcmp(info->name, name)))
			continue;
		kind_set__add(&found, (uint32_t)kind);
		any = true;
	}
	if (any)
		*kinds = found;
	return any;
}

char *kind_target__names(void)
{
	char *names = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&names, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; kind_group__name(i); i++)
		fprintf(out, "%s%s", i ? ", " : "", kind_group__name(i));
	for (int kind = 0; kind < KIND_COUNT; kind++)
		if (kind_is_target(kind))
			fprintf(out, ", %s", kind__name(kind));
	if (!fclose(out))
		return names;
	free(names);
	return NULL;
}
