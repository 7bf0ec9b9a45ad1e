/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fixed-size parts of a recording file (docs/format.md): file header, chunk header and
 * trailer. All integers are little-endian.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FORMAT_MAJOR 1 /* readers reject higher ones */
#define FORMAT_MINOR 8 /* increased when record types or trailing fields are added */

#define FORMAT_MAGIC                                                                               \
	"\x89"                                                                                     \
	"DWL\r\n\x1a\n"
#define FORMAT_CHUNK_MARKER                                                                        \
	"\x89"                                                                                     \
	"DWLCHNK"
#define FORMAT_TRAILER_MARKER                                                                      \
	"\x89"                                                                                     \
	"DWLTRLR"
#define FORMAT_MARKER_SIZE 8
/* Common prefix of chunk and trailer markers, searched for after damage. */
#define FORMAT_SYNC                                                                                \
	"\x89"                                                                                     \
	"DWL"
#define FORMAT_SYNC_SIZE 4

#define FILE_HEADER_SIZE  32
#define CHUNK_HEADER_SIZE 56
#define TRAILER_SIZE	  40

#define CHUNK_RAW_TARGET (256u << 10) /* a chunk of this many bytes is full */
#define CHUNK_RAW_MAX	 (16u << 20)  /* readers reject larger ones */

#define RECORD_STRING_MAX (1u << 20) /* bytes; the writer truncates longer strings */
#define RECORD_FRAMES_MAX 4096u	     /* the writer truncates deeper stacks */

enum chunk_type {
	CHUNK_DATA = 1,
	CHUNK_INDEX = 2,
};

enum chunk_codec {
	CODEC_STORED = 0,
	CODEC_ZSTD = 1,
};

enum trailer_flags {
	TRAILER_WAS_CUT = 1 << 0, /* was cut short, then appended to */
};

struct file_header {
	uint16_t major;
	uint16_t minor;
	uint32_t size; /* bytes: offset of the first chunk */
};

struct chunk_header {
	uint16_t type;	      /* enum chunk_type; others are skipped */
	uint8_t codec;	      /* enum chunk_codec */
	uint32_t number;      /* 0, 1, 2 ... in file order */
	uint32_t raw_size;    /* of the payload, at most CHUNK_RAW_MAX */
	uint32_t stored_size; /* of the payload in the file, at most raw_size */
	uint32_t records;
	uint64_t first_time; /* smallest and largest time in it; both 0 if there is none */
	uint64_t last_time;
	uint32_t payload_crc; /* CRC-32 of the stored payload */
};

/* A chunk header and its offset in the file. */
struct chunk_place {
	uint64_t offset;
	struct chunk_header header;
};

struct trailer {
	uint64_t index; /* offset of the first index chunk */
	uint64_t records;
	uint32_t chunks; /* data chunks */
	uint32_t flags;	 /* enum trailer_flags */
};

uint32_t format__crc(const void *data, size_t size);

void file_header__pack(const struct file_header *header, uint8_t bytes[FILE_HEADER_SIZE]);
void chunk_header__pack(const struct chunk_header *header, uint8_t bytes[CHUNK_HEADER_SIZE]);
void trailer__pack(const struct trailer *trailer, uint8_t bytes[TRAILER_SIZE]);

/*
 * Return true and set the output if the bytes have the right marker and checksum, and sizes
 * are within the limits above. file_header__unpack() does not check the magic.
 */
bool file_header__unpack(const uint8_t bytes[FILE_HEADER_SIZE], struct file_header *header);
bool chunk_header__unpack(const uint8_t bytes[CHUNK_HEADER_SIZE], struct chunk_header *header);
bool trailer__unpack(const uint8_t bytes[TRAILER_SIZE], struct trailer *trailer);

/* Whether the CRC-32 of the data is @stored. Always true in fuzzer builds. */
bool format__crc_matches(uint32_t stored, const void *data, size_t size);
