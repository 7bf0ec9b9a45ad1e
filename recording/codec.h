/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records to bytes and back. A table of fields describes each record type
 * (layout.c); the encoder and the decoder walk the same table.
 *
 * A record is: type, length of what follows (both varints), then the fields in
 * the table's order. The encoder leaves out trailing fields that are 0; the
 * decoder reads missing fields as 0 and skips bytes behind the fields it knows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "recording/numbers.h"
#include "recording/recording.h"

/* How a field stands in the file. Never changed for a field that was released. */
enum encoding {
	ENCODING_UNSIGNED,  /* varint */
	ENCODING_SIGNED,    /* zigzag varint */
	ENCODING_NUMBER,    /* varint: the number that this record gives out */
	ENCODING_REFERENCE, /* varint: a number given out elsewhere, 0 for none */
	/* Zigzag varint: difference to this field in the last record of the same
	 * type in the chunk (0 before the first), so that skipping other types is
	 * harmless. At most one field of a record is of these three. */
	ENCODING_DELTA,
	ENCODING_TIME,
	ENCODING_END_TIME, /* of an interval; t_out follows, its durations being known */
	ENCODING_LIST,	   /* count, then varints */
	ENCODING_BYTES,	   /* size, the bytes, a NUL behind them */
	ENCODING_FRAMES,   /* depth, then zigzag differences from frame to frame */
};

struct field {
	const char *name;
	uint16_t offset; /* in struct record */
	uint16_t count;	 /* BYTES, FRAMES: offset of their size or depth */
	uint8_t size;	 /* of the member; of one element for a list */
	uint8_t elements;
	uint8_t encoding;   /* enum encoding */
	uint8_t kind;	    /* NUMBER, REFERENCE: enum number_kind */
	uint8_t introduced; /* the minor version that brought the field */
	uint64_t max;	    /* a higher value reads as ... */
	uint64_t otherwise; /* this */
};

struct layout {
	const char *name;
	const struct field *fields;
	size_t n;
};

#define LAYOUT_TYPES (RECORD_ANNOTATION + 1)

/* NULL for a type that is not known. */
const struct layout *layout__of(uint64_t type);

/* The contents of one chunk, growing. */
struct encoder {
	struct buffer raw;
	uint64_t previous[LAYOUT_TYPES];
	uint64_t first_time; /* smallest and largest time, 0 and 0 without any */
	uint64_t last_time;
	uint32_t records;
};

/* Returns 0, -EINVAL (unknown type, bytes or frames over their maximum), -ENOMEM. */
int encoder__put(struct encoder *encoder, const struct record *record);

/* Begins a new chunk; keeps the memory. */
void encoder__reset(struct encoder *encoder);
void encoder__free(struct encoder *encoder);

enum decoded {
	DECODED_END, /* of the chunk */
	DECODED_RECORD,
	DECODED_UNKNOWN,  /* a type of a later version, skipped */
	DECODED_NONSENSE, /* skipped: breaks a promise of recording.h */
	DECODED_BROKEN,	  /* the rest of the chunk cannot be read */
};

struct decoder {
	struct cursor cursor; /* in the chunk's contents */
	uint64_t previous[LAYOUT_TYPES];
	struct numbers *numbers;
	uint64_t *frames;  /* RECORD_FRAMES_MAX; NULL until the first stack */
	uint64_t dangling; /* references that were read as 0 */
};

/* Begins a chunk. @data must stay until the next one is begun. */
void decoder__begin(struct decoder *decoder, const uint8_t *data, size_t size);

/*
 * Decodes the next record into @record, whose pointers are valid until the
 * next call. Returns an enum decoded, or -ENOMEM.
 */
int decoder__next(struct decoder *decoder, struct record *record);
void decoder__free(struct decoder *decoder);
