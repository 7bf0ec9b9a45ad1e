/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Encoding and decoding of records. Each record type is described by a table of fields
 * (layout.c), which both use.
 *
 * A record is encoded as its type and the length of the rest (varints), then the fields in the
 * order of the table. The encoder omits trailing fields that are 0; the decoder reads missing
 * fields as 0 and skips bytes after the fields it knows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "recording/numbers.h"
#include "recording/recording.h"

/* The encoding of a field. Must not change for a released field. */
enum encoding {
	ENCODING_UNSIGNED,  /* varint */
	ENCODING_SIGNED,    /* zigzag varint */
	ENCODING_NUMBER,    /* varint: the number that this record defines */
	ENCODING_REFERENCE, /* varint: a number that another record defines, 0 for none */
	/* Zigzag varint: difference to the same field of the previous record of the
	 * type in the chunk (0 for the first), so that skipping other types is
	 * harmless. At most one field of a record has one of these three. */
	ENCODING_DELTA,
	ENCODING_TIME,
	ENCODING_END_TIME, /* of an interval; t_out is computed from it and the durations */
	ENCODING_LIST,	   /* count, then varints */
	ENCODING_BYTES,	   /* size, the bytes, a NUL */
	ENCODING_FRAMES,   /* depth, then zigzag differences between frames */
};

struct field {
	const char *name;
	uint16_t offset; /* in struct record */
	uint16_t count;	 /* BYTES, FRAMES: offset of their size or depth */
	uint8_t size;	 /* of the member; of one element for a list */
	uint8_t elements;
	uint8_t encoding;   /* enum encoding */
	uint8_t kind;	    /* NUMBER, REFERENCE: enum number_kind */
	uint8_t introduced; /* minor version that added the field */
	uint64_t max;	    /* a greater value reads as @fallback */
	uint64_t fallback;
};

struct layout {
	const char *name;
	const struct field *fields;
	size_t n;
};

#define LAYOUT_TYPES (RECORD_FUNCTION + 1)

/* The layout of a record type, or NULL if it is unknown. */
const struct layout *layout__of(uint64_t type);

/* Encodes the records of one chunk. */
struct encoder {
	struct buffer raw;
	uint64_t previous[LAYOUT_TYPES];
	uint64_t first_time; /* smallest and largest time in the chunk; see encoder__put() */
	uint64_t last_time;
	uint32_t records;
};

/*
 * Appends @record. Returns 0, -EINVAL (unknown type, too many bytes or frames) or -ENOMEM. While
 * no record has a time, first_time is greater than last_time.
 */
int encoder__put(struct encoder *encoder, const struct record *record);

/* Starts a new chunk; keeps the allocated memory. */
void encoder__reset(struct encoder *encoder);
void encoder__free(struct encoder *encoder);

enum decoded {
	DECODED_END, /* of the chunk */
	DECODED_RECORD,
	DECODED_UNKNOWN, /* skipped: a type of a later version */
	DECODED_INVALID, /* skipped: violates a guarantee of recording_reader__next() */
	DECODED_BROKEN,	 /* malformed: the rest of the chunk cannot be read */
};

struct decoder {
	struct cursor cursor; /* in the chunk's contents */
	uint64_t previous[LAYOUT_TYPES];
	struct numbers *numbers;
	uint64_t *frames;  /* RECORD_FRAMES_MAX; NULL until the first stack */
	uint64_t dangling; /* references to undefined numbers, which were read as 0 */
};

/* Starts a chunk. @data must stay valid until the next one is started. */
void decoder__begin(struct decoder *decoder, const uint8_t *data, size_t size);

/*
 * Decodes the next record into @record, whose pointers are valid until the
 * next call. Returns an enum decoded, or -ENOMEM.
 */
int decoder__next(struct decoder *decoder, struct record *record);
void decoder__free(struct decoder *decoder);
