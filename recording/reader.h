/* SPDX-License-Identifier: BSD-2-Clause */
/* What the rest of recording/ and the tests use of the reader, beyond recording.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "recording/codec.h"
#include "recording/format.h"
#include "recording/recording.h"
#include "recording/byte_source.h"

/* As recording_reader__open(). @data stays the caller's and must outlive the reader. */
int recording_reader__open_memory(const void *data, size_t size, struct recording_reader **out);

/* As recording_reader__open(), of a file open for reading; takes @fd, also on errors. */
int recording_reader__open_fd(int fd, const char *path, struct recording_reader **out);

/* What was seen wrong; all of it is for recording_reader__warning(). */
struct reader_trouble {
	bool header;	    /* the file header's checksum is wrong */
	uint64_t damaged;   /* places */
	uint64_t damage_at; /* offset of the first */
	uint64_t missing;   /* chunks, as the gaps in their numbers tell */
	uint64_t nonsense;  /* records that were skipped */
	bool cut;	    /* no trailer was reached */
	uint64_t cut_at;
	uint64_t behind; /* bytes behind the trailer */
};

struct recording_reader {
	struct source source;
	char *path; /* for messages */
	struct file_header header;

	uint64_t offset;	  /* of what comes next in the file */
	uint32_t expected;	  /* number of the next chunk */
	struct chunk_place index; /* the first index chunk, if ... */
	bool indexed;		  /* ... one was reached */
	bool finished;		  /* the trailer was reached */
	bool ended;
	struct trailer trailer;
	ARRAY(struct chunk_place) chunks; /* data chunks that were read */

	bool in_chunk;
	struct decoder decoder;
	struct numbers numbers;
	uint64_t records;	/* in the chunks that were read, as their headers have it */
	uint32_t chunk_records; /* decoded from the present chunk */

	uint8_t *stored; /* payload as it is in the file, and unpacked */
	size_t stored_capacity;
	uint8_t *raw;
	size_t raw_capacity;
	struct ZSTD_DCtx_s *zstd;

	struct reader_trouble trouble;
	char warning[512];
};

/* Composes the warning from the trouble, "" for none. */
void reader_trouble__describe(const struct recording_reader *reader, char *text, size_t size);

/* Reads on to the next data chunk and begins it. Returns 1, 0 at the end, -errno. */
int recording_reader__next_chunk(struct recording_reader *reader);
