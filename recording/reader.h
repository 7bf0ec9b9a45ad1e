/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader's internals, for recording/ and the tests. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "recording/codec.h"
#include "recording/format.h"
#include "recording/recording.h"
#include "recording/byte_source.h"

/* As recording_reader__open(), for fuzzing. @data must outlive the reader. */
int recording_reader__open_memory(const void *data, size_t size, struct recording_reader **out);

/* Faults found in the file, for recording_reader__warning(). */
struct reader_faults {
	bool header;	    /* the file header's checksum is wrong */
	uint64_t damaged;   /* number of damaged places */
	uint64_t damage_at; /* offset of the first */
	uint64_t missing;   /* number of missing chunks, by the gaps in their numbers */
	uint64_t invalid;   /* records that were skipped as invalid */
	bool cut;	    /* the file ends without a trailer */
	uint64_t cut_at;
	uint64_t trailing; /* bytes after the trailer */
};

struct recording_reader {
	struct byte_source source;
	char *path; /* for messages */
	struct file_header header;

	uint64_t offset;	  /* of the next chunk in the file */
	uint32_t expected;	  /* number of the next chunk */
	struct chunk_place index; /* the first index chunk, when @indexed */
	bool indexed;		  /* an index chunk was read, and no data chunk after it */
	bool finished;		  /* the trailer was read */
	bool ended;
	struct trailer trailer;
	ARRAY(struct chunk_place) chunks; /* data chunks that were read */

	bool in_chunk;
	struct decoder decoder;
	struct numbers numbers;
	uint64_t records;	/* in the chunks read so far, by their headers */
	uint32_t chunk_records; /* decoded from the current chunk */

	uint8_t *stored; /* payload as in the file; @raw: decompressed */
	size_t stored_capacity;
	uint8_t *raw;
	size_t raw_capacity;
	struct ZSTD_DCtx_s *zstd;

	struct reader_faults faults;
	char warning[512];
};

/* The chunk at @offset of the file, or what may be one, is damaged. */
void recording_reader__count_damage(struct recording_reader *reader, uint64_t offset);

/* Reads the next data chunk and starts decoding it. Returns 1, 0 at the end, or -errno. */
int recording_reader__next_chunk(struct recording_reader *reader);
