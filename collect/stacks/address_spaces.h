/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code mapped in recorded processes. Mapped files are kept open from the first mapping on, so
 * that their symbols can be read at the end even if they are deleted or replaced, or their
 * container is gone. Of those that no process maps any more, only the last are: one with each build
 * id, some that can be found again by path and build id, and more of those that cannot.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/kernel/sideband.h"
#include "collect/stacks/unwinder.h"

struct address_spaces;

enum code_kind {
	CODE_FILE,
	CODE_GENERATED, /* at run time, by process pid; of no file */
	CODE_VDSO,
};

/* Where code comes from: a file, a process that generated it, or the vdso. */
struct code_origin {
	uint32_t number; /* from 1, in the order in which they were first seen */
	enum code_kind kind;
	uint32_t pid;	   /* CODE_GENERATED: process */
	int64_t owner;	   /* CODE_GENERATED: uid of pid when it was first seen; -1: unknown */
	bool deleted;	   /* the path is another file now, or none */
	int fd;		   /* O_PATH; -1: could not be opened, or was closed as too many were */
	char *path;	   /* as its process saw it */
	char build_id[41]; /* hex; "": unknown */
	struct unwind_file_key key; /* inode 0: unknown */
};

/* Executable code in an address space. */
struct code_mapping {
	uint32_t pid;
	uint64_t time; /* of the mapping, CLOCK_MONOTONIC */
	uint64_t start;
	uint64_t size;
	uint64_t offset; /* in the file */
	const struct code_origin *origin;
};

/* Called for each mapping; it and its origin are valid during the call. */
typedef void (*code_mapping_fn)(void *arg, const struct code_mapping *mapping);

/*
 * @unwinder gets every mapping; NULL: there is none. It and @privsep, by which files are opened and
 * read, stay the caller's. 0 or a negative errno, such as -EMFILE:
 * too few descriptors are left.
 */
int address_spaces__new(struct unwinder *unwinder, struct privsep *privsep,
			code_mapping_fn on_mapping, void *arg, struct address_spaces **out);

/*
 * From now on no origin is forgotten, and no file closed, for not being mapped any more: the
 * product refers to them.
 */
void address_spaces__keep_all(struct address_spaces *spaces);

/* Adds the mapping @event of a recorded process. -ENOMEM: it is lost. */
int address_spaces__add(struct address_spaces *spaces, const struct mapping_event *event);

/*
 * Adds all current executable mappings of process @pid, dated @time. Opening their files can take
 * long, so @meanwhile is called after each. Returns 0, also if the process is gone; or -ENOMEM.
 */
int address_spaces__read_process(struct address_spaces *spaces, pid_t pid, uint64_t time,
				 void (*meanwhile)(void *arg), void *arg);

/*
 * Begins to build the unwind table of the file @path before a process maps it, so that the first
 * stacks of that process can be walked.
 */
void address_spaces__prepare(struct address_spaces *spaces, const char *path);

/* Origin @number; NULL: there is none (any more). Valid until the next one is added. */
const struct code_origin *address_spaces__origin(const struct address_spaces *spaces,
						 uint32_t number);

/* What is at an address: a place in a file, or of generated code the address itself. */
struct code_location {
	const struct code_origin *origin;
	uint64_t address;
};

/*
 * Locates @address in @pid at @time, shortly before now (UNWINDER_KEPT); of data, in the file whose
 * code lies before it. False: no mapping is known.
 */
bool address_spaces__locate(const struct address_spaces *spaces, uint32_t pid, uint64_t time,
			    uint64_t address, bool is_data, struct code_location *location);

/* See origins__fd_of(). */
int address_spaces__fd_of(const struct address_spaces *spaces, const char *build_id);

/*
 * How many files were closed, because too many were open, that cannot be found again for the names
 * of their code: they were deleted, or are of a container.
 */
uint64_t address_spaces__lost_files(const struct address_spaces *spaces);

/* The slot of origin @number's unwind table in the kernel side (abi/unwind.h); 0: it has none. */
uint32_t address_spaces__slot(const struct address_spaces *spaces, uint32_t number);

void address_spaces__free(struct address_spaces *spaces);
DEFINE_CLEANUP(struct address_spaces *, address_spaces__free)
