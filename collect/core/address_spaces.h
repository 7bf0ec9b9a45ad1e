/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which code is mapped where, in the processes that are recorded. Files are
 * kept open from the moment they are seen, so that their symbols can still be
 * read at the end, deleted or replaced or in a container that is gone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/core/sideband.h"
#include "collect/core/unwinder.h"

struct address_spaces;

enum code_kind {
	CODE_FILE,
	CODE_GENERATED, /* at run time, by process pid: of no file */
	CODE_VDSO,
};

/* Where code comes from: a file, or what stands for one. */
struct code_origin {
	uint32_t number; /* from 1, in the order they were first seen */
	enum code_kind kind;
	uint32_t pid;
	int64_t owner; /* uid of that process when it was first seen; -1: unknown */
	bool deleted;  /* the path names another file, or none */
	int fd;	       /* -1: could not be opened */
	char *path;    /* as its process saw it */
	char build_id[41];
};

/* Executable code in an address space. */
struct code_mapping {
	uint32_t pid;
	uint64_t time; /* when it was made, CLOCK_MONOTONIC */
	uint64_t start;
	uint64_t size;
	uint64_t offset; /* in the file */
	const struct code_origin *origin;
};

/* Called for each mapping; it and its origin are valid during the call. */
typedef void (*code_mapping_fn)(void *arg, const struct code_mapping *mapping);

/* @unwinder hears of every mapping; NULL: there is none. It stays the caller's. */
int address_spaces__new(struct unwinder *unwinder, code_mapping_fn on_mapping, void *arg,
			struct address_spaces **out);

/* A recorded process has made @event. -ENOMEM: it is lost. */
int address_spaces__add(struct address_spaces *spaces, const struct mapping_event *event);

/*
 * Adds all executable mappings of a process as they are now, as of @time.
 * A process that is gone has none: 0.
 */
int address_spaces__read_process(struct address_spaces *spaces, pid_t pid, uint64_t time);

/*
 * Gets the unwind table of the file @path ready before a process maps it, so that
 * even the first stacks of a program that does can be walked.
 */
void address_spaces__prepare(struct address_spaces *spaces, const char *path);

/* Origin @number; NULL: there are not so many. Valid until the next one is added. */
const struct code_origin *address_spaces__origin(const struct address_spaces *spaces,
						 uint32_t number);

/* The slot of its unwind table in the kernel side (abi/unwind.h); 0: it has none. */
uint32_t address_spaces__slot(const struct address_spaces *spaces, uint32_t number);

void address_spaces__free(struct address_spaces *spaces);
DEFINE_CLEANUP(struct address_spaces *, address_spaces__free)
