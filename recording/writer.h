/* SPDX-License-Identifier: BSD-2-Clause */
/* The writer's internals, shared by writer*.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/new_file.h"
#include "recording/codec.h"
#include "recording/format.h"
#include "recording/record_stream.h"
#include "recording/recording.h"

struct recording_writer {
	int fd; /* locked with flock() while it is written */
	char *path;
	struct new_file file; /* while @waiting; it has the same open file as @fd */
	bool waiting;	      /* the file has no name before it has a sample */
	bool is_device;	      /* which cannot be truncated */
	bool has_sample;      /* in a record that was put */
	int error;	      /* the first one; then nothing more is written */

	uint64_t offset;		  /* end of the last whole chunk */
	uint32_t number;		  /* of the next chunk */
	struct encoder encoder;		  /* the chunk that is being filled */
	ARRAY(struct chunk_place) chunks; /* in the file */
	uint8_t *out;			  /* header and payload of the chunk being written */
	size_t out_capacity;
	struct ZSTD_CCtx_s *zstd;

	struct record_stream *stream; /* whose sink it is */

	/* After recording_writer__complete(): the state to roll back to on errors. */
	bool completed;
	bool untouched;	     /* nothing has been written since */
	uint64_t was_offset; /* of the index */
	uint32_t was_number;
	size_t was_chunks;
};

DEFINE_CLEANUP(struct recording_writer *, recording_writer__close)

/* Write to the file (writer_chunks.c). Return 0 or -errno; on errors @offset is unchanged. */
int writer__write_header(struct recording_writer *writer);
int writer__write_chunk(struct recording_writer *writer);
int writer__write_end(struct recording_writer *writer);
/* Removes what a failed write left, and restores the index if the file was complete before. */
void writer__roll_back(struct recording_writer *writer);

/* Allocates a writer for @path; does not open the file. 0 or -ENOMEM. */
int writer__new(const char *path, struct recording_writer **out);
void writer__free(struct recording_writer *writer);

/* Records @err as the writer's error and rolls back, if it is the first. Returns @err. */
int writer__fail(struct recording_writer *writer, int err);
