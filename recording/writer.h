/* SPDX-License-Identifier: BSD-2-Clause */
/* The writer's insides, shared by the files that make it up. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "recording/codec.h"
#include "recording/format.h"
#include "recording/recording.h"

/* What was given a number before: the bytes that identify it, and the number. */
struct table {
	struct intern keys;
	ARRAY(uint32_t) numbers; /* of each key */
	uint32_t last;		 /* the highest number given out */
};

struct recording_writer {
	int fd; /* locked (flock) as long as it is written */
	char *path;
	int error; /* the first; nothing is written any more */

	uint64_t offset; /* behind the last whole chunk */
	uint32_t number; /* of the next chunk */
	uint64_t records;
	struct encoder encoder;		  /* the chunk that is being filled */
	ARRAY(struct chunk_place) chunks; /* in the file */
	uint8_t *out;			  /* header and payload on their way to the file */
	size_t out_capacity;
	struct ZSTD_CCtx_s *zstd;

	struct table strings;
	struct table dsos;
	struct table objects;
	struct table stacks;
	struct map64 hashes; /* stacks by the caller's hash: number | STACK_WRITTEN */
	struct encoder key;  /* where keys are put together */

	uint32_t flags; /* enum trailer_flags */
	/* Where records are added to a recording that was there before: */
	bool appending;
	bool untouched;	     /* it is still as it was */
	bool was_finished;   /* it had an index */
	uint64_t was_offset; /* where that began, which is where it is written again on errors */
	uint32_t was_number;
	size_t was_chunks;
};

#define STACK_WRITTEN (1ULL << 32)

DEFINE_CLEANUP(struct recording_writer *, recording_writer__close)

/* Writes (file.c). All return 0 or -errno; after an error @offset is unchanged. */
int writer__write_header(struct recording_writer *writer);
int writer__write_chunk(struct recording_writer *writer);
int writer__write_end(struct recording_writer *writer);
/* Cuts what an error left behind, or puts the index back that was there before. */
void writer__roll_back(struct recording_writer *writer);

/* Allocates a writer for @path that has no file yet. */
int writer__new(const char *path, struct recording_writer **out);
void writer__free(struct recording_writer *writer);

/* Keeps @err as the writer's error when it is the first. Returns it. */
int writer__fail(struct recording_writer *writer, int err);

/* The bytes that tell @record from others of its type, in @writer->key. 0 or -errno. */
int writer__make_key(struct recording_writer *writer, const struct record *record);

/*
 * The number of a key, 0 when out of memory; given out now when *@fresh.
 * table__enter() takes over one that is in the file.
 */
uint32_t table__number(struct table *table, const void *key, size_t size, bool *fresh);
int table__enter(struct table *table, const void *key, size_t size, uint32_t number);
void table__free(struct table *table);
