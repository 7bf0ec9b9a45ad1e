// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/kinds/kind_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kinds/kind_table.h"
#include "base/cleanup.h"
#include "base/syscalls.h"

_Static_assert(KIND_COUNT <= CAUSAL_KINDS, "CAUSAL_KINDS");

/* [first, last] of the kinds that go by one name. */
static const struct {
	const char *name;
	enum wait_kind first, last;
} groups[] = {
	{"disk", KIND_DISK_READ, KIND_PAGE_LOCK},
	{"network", KIND_TCP_RECEIVE, KIND_SOCKET_CONNECT},
	{"pipe", KIND_PIPE_READ, KIND_PIPE_OPEN},
	{"journal", KIND_FSYNC, KIND_JOURNAL_SPACE},
};

/* Waiting for a lock gets shorter when its holder is faster, not by itself. */
static bool kind__is_lock(enum wait_kind kind)
{
	return (kind >= KIND_FUTEX && kind <= KIND_MMAP_LOCK) || kind == KIND_LOCK;
}

static bool kind__is_target(enum wait_kind kind)
{
	return kind >= KIND_DISK_READ && kind < KIND_IO && !kind__is_lock(kind);
}

bool kind_target__find(const char *name, uint64_t kinds[2])
{
	enum wait_kind first = KIND_COUNT, last = KIND_NONE;

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		if (strcmp(groups[i].name, name) != 0)
			continue;
		first = groups[i].first;
		last = groups[i].last;
	}
	for (int kind = 0; kind < KIND_COUNT; kind++)
		if (kind__is_target(kind) && !strcmp(kind__name(kind), name))
			first = last = kind;
	kinds[0] = kinds[1] = 0;
	for (int kind = (int)first; kind <= (int)last; kind++)
		kinds[kind / 64] |= 1ULL << kind % 64;
	return first <= last;
}

char *kind_target__names(void)
{
	char *names = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&names, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		fprintf(out, "%s%s", i ? ", " : "", groups[i].name);
	for (int kind = 0; kind < KIND_COUNT; kind++)
		if (kind__is_target(kind))
			fprintf(out, ", %s", kind__name(kind));
	if (!fclose(out))
		return names;
	free(names);
	return NULL;
}

static const uint8_t strengths[] = {
	[KIND_WEAK] = CAUSAL_WEAK,
	[KIND_STRONG] = CAUSAL_STRONG,
	[KIND_REFINES] = CAUSAL_REFINES,
	[KIND_WRITING] = CAUSAL_WRITING,
};

const char *kind_target__function(size_t index, struct causal_kind_row *row)
{
	const struct kind_row *from;

	if (index >= n_kind_rows)
		return NULL;
	from = &kind_rows[index];
	*row = (struct causal_kind_row){
		.kind = (uint8_t)from->kind,
		.strength = strengths[from->strength],
		.over = (uint8_t)from->over,
	};
	if (from->strength == KIND_WRITING) {
		row->kind = KIND_DISK_WRITE;
		row->over = KIND_DISK_READ;
	}
	return from->function;
}

uint8_t kind_target__of_call(int nr)
{
	const char *name = syscalls__name(NULL, nr);

	for (size_t i = 0; name && i < n_kind_syscalls; i++) {
		enum wait_kind kind = kind_syscalls[i].kind;

		/* read() and write() say nothing without the file. */
		if (!strcmp(kind_syscalls[i].name, name))
			return kind == KIND_DISK_READ || kind == KIND_DISK_WRITE ? 0
										 : (uint8_t)kind;
	}
	return 0;
}
