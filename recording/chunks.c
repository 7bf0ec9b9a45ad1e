// SPDX-License-Identifier: BSD-2-Clause
/* How a reader walks the chunks of a file, and around its damage. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/error.h"
#include "recording/reader.h"

static int reader__fail(const struct recording_reader *reader, int err)
{
	return error__errno(err, "cannot read %s", reader->path);
}

static void reader__damaged(struct recording_reader *reader, uint64_t offset)
{
	if (!reader->trouble.damaged++)
		reader->trouble.damage_at = offset;
}

/* Goes on at @offset; what lies before it can have given out numbers, damaged or not. */
static void reader__advance(struct recording_reader *reader, uint64_t offset)
{
	numbers__allow(&reader->numbers, offset - reader->offset);
	reader->offset = offset;
}

static int reader__end(struct recording_reader *reader, bool cut)
{
	reader->ended = true;
	if (cut) {
		reader->trouble.cut = true;
		reader->trouble.cut_at = reader->offset;
	}
	return 0;
}

/* Whether @bytes are the trailer; then this is the end. */
static bool reader__trailer(struct recording_reader *reader, const uint8_t *bytes, size_t n)
{
	uint64_t left = reader->source.size - reader->offset;

	if (n < TRAILER_SIZE || !trailer__unpack(bytes, &reader->trailer))
		return false;
	reader->finished = true;
	reader->trouble.behind = left - TRAILER_SIZE;
	reader__end(reader, false);
	return true;
}

/*
 * The header of the next chunk, wherever it is. Returns 1, 0 when there is
 * none (behind the trailer, or where the file was cut), -errno.
 */
static int reader__find(struct recording_reader *reader, struct chunk_place *place)
{
	uint8_t bytes[CHUNK_HEADER_SIZE];
	uint64_t next;
	int64_t n;
	int err;

	for (;;) {
		n = source__read(&reader->source, reader->offset, bytes, sizeof(bytes));
		if (n < 0)
			return reader__fail(reader, (int)n);
		if (n == sizeof(bytes) && chunk_header__unpack(bytes, &place->header)) {
			place->offset = reader->offset;
			return 1;
		}
		if (reader__trailer(reader, bytes, (size_t)n))
			return 0;
		if (n == 0)
			return reader__end(reader, true);

		err = source__find_marker(&reader->source, reader->offset + 1, &next);
		if (err < 0)
			return reader__fail(reader, err);
		if (err == 0)
			return reader__end(reader, true);
		reader__damaged(reader, reader->offset);
		reader__advance(reader, next);
	}
}

/* Makes room for @size bytes, and sees that there is an address also for none. */
static int bytes__reserve(uint8_t **bytes, size_t *capacity, size_t size)
{
	uint8_t *grown;

	if (*bytes && size <= *capacity)
		return 0;
	grown = realloc(*bytes, size + 1);
	if (!grown)
		return -ENOMEM;
	*bytes = grown;
	*capacity = size;
	return 0;
}

/*
 * Reads the payload of @place and sees that it is whole. Returns 1, 0 when it
 * is damaged, -errno; -ENODATA when the file ends within it.
 */
static int reader__load(struct recording_reader *reader, const struct chunk_place *place)
{
	const struct chunk_header *header = &place->header;
	/* NOLINTNEXTLINE(*UndefinedBinaryOperatorResult): reader__seek() found the place */
	uint64_t at = place->offset + CHUNK_HEADER_SIZE;
	int64_t n;
	int err;

	if (header->stored_size > reader->source.size - at)
		return -ENODATA;
	err = bytes__reserve(&reader->stored, &reader->stored_capacity, header->stored_size);
	if (err)
		return reader__fail(reader, err);
	n = source__read(&reader->source, at, reader->stored, header->stored_size);
	if (n < 0)
		return reader__fail(reader, (int)n);
	if (n < header->stored_size)
		return -ENODATA; /* it was cut since it was opened */
	return format__crc_matches(header->payload_crc, reader->stored, header->stored_size);
}

/* Unpacks the loaded payload and begins it. Returns 1, 0 when that cannot be, -ENOMEM. */
static int reader__begin(struct recording_reader *reader, const struct chunk_header *header)
{
	const uint8_t *raw = reader->stored;
	int err;

	if (header->codec == CODEC_ZSTD) {
		size_t n;

		err = bytes__reserve(&reader->raw, &reader->raw_capacity, header->raw_size);
		if (!err && !reader->zstd) {
			reader->zstd = ZSTD_createDCtx();
			err = reader->zstd ? 0 : -ENOMEM;
		}
		if (err)
			return reader__fail(reader, err);
		n = ZSTD_decompressDCtx(reader->zstd, reader->raw, header->raw_size, reader->stored,
					header->stored_size);
		if (ZSTD_isError(n) || n != header->raw_size)
			return 0;
		raw = reader->raw;
	} else if (header->codec != CODEC_STORED) {
		return 0;
	}
	decoder__begin(&reader->decoder, raw, header->raw_size);
	reader->chunk_records = 0;
	return 1;
}

/* Sees that @header is the chunk that is due: a gap is counted. False for an earlier one. */
static bool reader__in_order(struct recording_reader *reader, const struct chunk_header *header)
{
	if (header->number < reader->expected)
		return false;
	reader->trouble.missing += header->number - reader->expected;
	reader->expected = header->number + 1;
	return true;
}

/*
 * Takes the chunk whose header is @place; behind it, the next one is due.
 * Returns 1 for a data chunk that was begun, 0 for one to pass over, -errno;
 * -ENODATA when the file ends within it.
 */
static int reader__take(struct recording_reader *reader, const struct chunk_place *place)
{
	const struct chunk_header *header = &place->header;
	int whole = reader__load(reader, place);

	if (whole < 0)
		return whole;
	reader__advance(reader, place->offset + CHUNK_HEADER_SIZE + header->stored_size);
	if (!whole || !reader__in_order(reader, header)) {
		reader__damaged(reader, place->offset);
		return 0;
	}
	if (header->type == CHUNK_INDEX && !reader->indexed) {
		reader->indexed = true;
		reader->index = *place;
	}
	if (header->type != CHUNK_DATA)
		return 0;
	reader->indexed = false; /* what stood before this was none */
	whole = reader__begin(reader, header);
	if (whole <= 0) {
		if (!whole)
			reader__damaged(reader, place->offset);
		return whole;
	}
	if (array__push(&reader->chunks, *place))
		return reader__fail(reader, -ENOMEM);
	reader->records += header->records;
	reader->in_chunk = true;
	return 1;
}

int recording_reader__next_chunk(struct recording_reader *reader)
{
	struct chunk_place place;
	int err;

	while (!reader->ended) {
		err = reader__find(reader, &place);
		if (err <= 0)
			return err;
		err = reader__take(reader, &place);
		if (err == -ENODATA)
			return reader__end(reader, true);
		if (err)
			return err;
	}
	return 0;
}
