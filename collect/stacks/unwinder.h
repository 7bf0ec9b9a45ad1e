/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Supplies the kernel side with what it needs to walk user stacks: the unwind tables of mapped
 * files, and the mappings of every process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/stacks/unwind_tables.h"

struct unwinder;

/* Descriptors of the kernel side's maps (bpf/core/unwind.bpf.h). They stay the caller's. */
struct unwinder_maps {
	int tables;
	int mappings;
	int processes;
	int files;
};

struct unwinder_stats {
	struct unwind_tables_stats tables;
	uint64_t pool_full; /* times that the mappings of a process did not fit into the pool */
};

/*
 * @max_bytes bounds the memory of all tables (unwind_tables__new()). @privsep stays the caller's.
 * Errors: -ENOMEM, others of mmap() and parser__new().
 */
int unwinder__new(const struct unwinder_maps *maps, size_t max_bytes, struct privsep *privsep,
		  struct unwinder **out);

/*
 * Process pid maps size bytes of a file, from offset on, at start. With its first mapping by a
 * recorded process, its table is built. DSO 0 is code of no file, UNWIND_TABLES_VDSO the vdso.
 */
struct unwinder_mapping {
	uint32_t pid;
	struct table_source file;
	uint64_t time; /* of the mapping */
	uint64_t start;
	uint64_t size;
	uint64_t offset;
	uint32_t origin; /* for unwinder__origin() */
};
void unwinder__map(struct unwinder *unwinder, const struct unwinder_mapping *mapping);

/* Begins to build the table of @file before it is mapped. */
void unwinder__prepare(struct unwinder *unwinder, const struct table_source *file);

/* Waits until all tables that are being built are there, or @until (CLOCK_MONOTONIC, ns). */
void unwinder__wait(struct unwinder *unwinder, uint64_t until);

/* Polls readable when unwinder__publish() has a table to take; -1: none is being built. It changes.
 */
int unwinder__fd(const struct unwinder *unwinder);

/*
 * @pid is recorded. Of a process for which that was not said stacks are wanted only where it wakes
 * another one: its tables give way to those of recorded processes when memory is short.
 */
void unwinder__record(struct unwinder *unwinder, uint32_t pid);

/* @child is a copy of @parent. Returns false when nothing is known of @parent. */
bool unwinder__fork(struct unwinder *unwinder, uint32_t parent, uint32_t child);

/*
 * The same, some time after the fork: mappings that @child has made meanwhile take precedence over
 * the current ones of @parent.
 */
bool unwinder__fork_late(struct unwinder *unwinder, uint32_t parent, uint32_t child);

/*
 * Of programs and processes that ended, mappings are kept until so many more calls of
 * unwinder__publish(), as are those that were replaced: stacks that are walked later than others
 * need them (deferred_unwinds.h), and unwinder__origin().
 */
#define UNWINDER_KEPT 4

/*
 * @pid executed a new program at @time: forgets its earlier mappings. unwinder__find() still finds
 * them for times before @time (UNWINDER_KEPT).
 */
void unwinder__forget(struct unwinder *unwinder, uint32_t pid, uint64_t time);

/*
 * @pid exited at @time. Its mappings are kept (UNWINDER_KEPT), and unwinder__map() still adds those
 * that it made before @time. Later ones are of a process that reuses its pid.
 */
void unwinder__end(struct unwinder *unwinder, uint32_t pid, uint64_t time);

/* The mapping of an address. */
struct unwinder_place {
	bool is_file;			/* false: code of no file */
	bool is_pending;		/* its table is being built */
	uint64_t bias;			/* virtual address in the file = address - bias */
	const struct file_table *table; /* of the file; rows is NULL if it has none */
};

/*
 * Sets @place for @pc in @pid at @time, for a walk that needs the table there: begins to build it
 * if that was not done because only wakers map the file. False: no mapping is known.
 */
bool unwinder__find(struct unwinder *unwinder, uint32_t pid, uint64_t time, uint64_t pc,
		    struct unwinder_place *place);

/* Where the code at an address comes from. */
struct unwinder_origin {
	uint32_t origin; /* of the mapping, as it was given to unwinder__map() */
	uint64_t offset; /* in the file */
};

/*
 * Sets @origin for @address in @pid at @time; of data, that of the code before it, as if its
 * mapping went on up to there. False: no mapping is known.
 */
bool unwinder__origin(const struct unwinder *unwinder, uint32_t pid, uint64_t time,
		      uint64_t address, bool is_data, struct unwinder_origin *origin);

/* Whether any process maps file @dso, as far as is known. */
bool unwinder__is_mapped(const struct unwinder *unwinder, uint32_t dso);

/* Whether the table of file @dso is being built, for which its descriptor is needed. */
bool unwinder__is_pending(const struct unwinder *unwinder, uint32_t dso);

/* The descriptor of file @dso is closed. */
void unwinder__close_file(struct unwinder *unwinder, uint32_t dso);

/* File @dso, which no process maps, is not used again. */
void unwinder__forget_file(struct unwinder *unwinder, uint32_t dso);

/* The slot of the table of @dso in the kernel side; 0: it has none. */
uint32_t unwinder__slot(const struct unwinder *unwinder, uint32_t dso);

/* Makes the tables that were built since the last call known to unwinder__find(). */
void unwinder__take_tables(struct unwinder *unwinder);

/* The same, and passes all changes since the last call to the kernel side. */
void unwinder__publish_changes(struct unwinder *unwinder);

/* The same, when all events up to now have been read; forgets what is no longer kept. */
void unwinder__publish(struct unwinder *unwinder);

void unwinder__stats(const struct unwinder *unwinder, struct unwinder_stats *stats);

void unwinder__free(struct unwinder *unwinder);
