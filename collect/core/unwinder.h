/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the kernel side supplied with what it needs to walk user stacks: the
 * unwind table of every mapped file, built when the file is first seen and
 * shared by all processes, and the mappings of every process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/core/unwind_tables.h"

struct unwinder;

/* The maps of the kernel side, by descriptor; see bpf/core/unwind.bpf.h. They stay the caller's. */
struct unwinder_maps {
	int tables;
	int mappings;
	int processes;
	int files;
};

struct unwinder_stats {
	struct unwind_tables_stats tables;
	uint64_t no_space; /* mappings left out: the pool was full */
};

/* @max_bytes bounds the memory of all tables. Errors: -ENOMEM, or of mmap. */
int unwinder__new(const struct unwinder_maps *maps, size_t max_bytes, struct unwinder **out);

/*
 * Process pid maps size bytes of file dso, from offset on, at start. The first
 * time dso is named, its table is built from the file open at fd (-1: there is
 * none). dso 0 is code of no file, UNWIND_TABLES_VDSO the vdso.
 */
struct unwinder_mapping {
	uint32_t pid;
	uint32_t dso;
	int fd;
	uint64_t time; /* when it was made */
	uint64_t start;
	uint64_t size;
	uint64_t offset;
};
void unwinder__map(struct unwinder *unwinder, const struct unwinder_mapping *mapping);

/* Builds the table of @dso before it is mapped. */
void unwinder__prepare(struct unwinder *unwinder, uint32_t dso, int fd);

/* @child is a copy of @parent. Returns false when nothing is known of @parent. */
bool unwinder__fork(struct unwinder *unwinder, uint32_t parent, uint32_t child);

/*
 * The same, learned late: mappings that @child has made meanwhile take precedence over those of
 * @parent, which are taken as they are now.
 */
bool unwinder__fork_late(struct unwinder *unwinder, uint32_t parent, uint32_t child);

/*
 * What @pid mapped before @time is gone: it runs a new program. Walks from before
 * can still find it until the next unwinder__publish().
 */
void unwinder__forget(struct unwinder *unwinder, uint32_t pid, uint64_t time);

/* @pid has ended. Its mappings are kept until the next unwinder__publish() but one. */
void unwinder__end(struct unwinder *unwinder, uint32_t pid);

/* Where a process has an address. */
struct unwinder_place {
	bool is_file;			/* else it is code of no file */
	uint64_t bias;			/* virtual address in the file = address - bias */
	const struct file_table *table; /* of the file; rows is NULL when it has none */
};

/* Finds @pc in @pid at @time. Returns false when nothing is known to be mapped there. */
bool unwinder__find(const struct unwinder *unwinder, uint32_t pid, uint64_t time, uint64_t pc,
		    struct unwinder_place *place);

/* The slot of the table of @dso in the kernel side; 0: it has none (any more). */
uint32_t unwinder__slot(const struct unwinder *unwinder, uint32_t dso);

/* Makes all changes since the last call known to the kernel side. */
void unwinder__publish(struct unwinder *unwinder);

void unwinder__stats(const struct unwinder *unwinder, struct unwinder_stats *stats);

void unwinder__free(struct unwinder *unwinder);
