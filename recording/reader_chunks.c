// SPDX-License-Identifier: BSD-2-Clause
/* Reading the chunks of a file, and skipping damage. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/error.h"
#include "recording/reader.h"

static int reader_error(const struct recording_reader *reader, int err)
{
	return error__errno(err, "cannot read %s", reader->path);
}

void recording_reader__count_damage(struct recording_reader *reader, uint64_t offset)
{
	if (!reader->faults.damaged++)
		reader->faults.damage_at = offset;
}

/* Continues at @offset. Skipped bytes may have defined numbers, too. */
static void advance(struct recording_reader *reader, uint64_t offset)
{
	numbers__allow(&reader->numbers, offset - reader->offset);
	reader->offset = offset;
}

static int end_reading(struct recording_reader *reader, bool cut)
{
	reader->ended = true;
	if (cut) {
		reader->faults.cut = true;
		reader->faults.cut_at = reader->offset;
	}
	return 0;
}

/* If @bytes are the trailer, ends the reading and returns true. */
static bool take_trailer(struct recording_reader *reader, const uint8_t *bytes, size_t n)
{
	uint64_t left = reader->source.size - reader->offset;

	if (n < TRAILER_SIZE || !trailer__unpack(bytes, &reader->trailer))
		return false;
	reader->finished = true;
	reader->faults.trailing = left - TRAILER_SIZE;
	end_reading(reader, false);
	return true;
}

/*
 * Finds the header of the next chunk, skipping damage. Returns 1, 0 when there is none (at the
 * trailer, or where the file was cut), or -errno.
 */
static int find_chunk(struct recording_reader *reader, struct chunk_place *place)
{
	uint8_t bytes[CHUNK_HEADER_SIZE];
	uint64_t next;
	int64_t n;
	int err;

	for (;;) {
		n = byte_source__read(&reader->source, reader->offset, bytes, sizeof(bytes));
		if (n < 0)
			return reader_error(reader, (int)n);
		if (n == sizeof(bytes) && chunk_header__unpack(bytes, &place->header)) {
			place->offset = reader->offset;
			return 1;
		}
		if (take_trailer(reader, bytes, (size_t)n))
			return 0;
		if (n == 0)
			return end_reading(reader, true);

		err = byte_source__find_marker(&reader->source, reader->offset + 1, &next);
		if (err < 0)
			return reader_error(reader, err);
		if (err == 0)
			return end_reading(reader, true);
		recording_reader__count_damage(reader, reader->offset);
		advance(reader, next);
	}
}

/* Makes room for @size bytes. *@bytes is not NULL afterwards, even for size 0. */
static int reserve_bytes(uint8_t **bytes, size_t *capacity, size_t size)
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
 * Reads the payload of the chunk @place. Returns 1, 0 when its checksum is wrong, -ENODATA when
 * the file ends within it, or another -errno.
 */
static int load_payload(struct recording_reader *reader, const struct chunk_place *place)
{
	const struct chunk_header *header = &place->header;
	/* NOLINTNEXTLINE(*UndefinedBinaryOperatorResult): the caller found the place */
	uint64_t at = place->offset + CHUNK_HEADER_SIZE;
	int64_t n;
	int err;

	if (header->stored_size > reader->source.size - at)
		return -ENODATA;
	err = reserve_bytes(&reader->stored, &reader->stored_capacity, header->stored_size);
	if (err)
		return reader_error(reader, err);
	n = byte_source__read(&reader->source, at, reader->stored, header->stored_size);
	if (n < 0)
		return reader_error(reader, (int)n);
	if (n < header->stored_size)
		return -ENODATA; /* the file was truncated since it was opened */
	return format__crc_matches(header->payload_crc, reader->stored, header->stored_size);
}

/* Decompresses the payload and starts decoding. Returns 1, 0 when it is damaged, -ENOMEM. */
static int begin_chunk(struct recording_reader *reader, const struct chunk_header *header)
{
	const uint8_t *raw = reader->stored;
	int err;

	if (header->codec == CODEC_ZSTD) {
		size_t n;

		err = reserve_bytes(&reader->raw, &reader->raw_capacity, header->raw_size);
		if (!err && !reader->zstd) {
			reader->zstd = ZSTD_createDCtx();
			err = reader->zstd ? 0 : -ENOMEM;
		}
		if (err)
			return reader_error(reader, err);
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

/* Checks the chunk number and counts missing chunks. False for a number that came before. */
static bool check_order(struct recording_reader *reader, const struct chunk_header *header)
{
	if (header->number < reader->expected)
		return false;
	reader->faults.missing += header->number - reader->expected;
	reader->expected = header->number + 1;
	return true;
}

/*
 * Reads the chunk @place and advances behind it. Returns 1 for a data chunk, which is now being
 * decoded, 0 for one to skip, -ENODATA when the file ends within it, or another -errno.
 */
static int take_chunk(struct recording_reader *reader, const struct chunk_place *place)
{
	const struct chunk_header *header = &place->header;
	int whole = load_payload(reader, place);

	if (whole < 0)
		return whole;
	advance(reader, place->offset + CHUNK_HEADER_SIZE + header->stored_size);
	if (!whole || !check_order(reader, header)) {
		recording_reader__count_damage(reader, place->offset);
		return 0;
	}
	if (header->type == CHUNK_INDEX && !reader->indexed) {
		reader->indexed = true;
		reader->index = *place;
	}
	if (header->type != CHUNK_DATA)
		return 0;
	reader->indexed =
		false; /* an index is followed by no data chunk: the one seen was not the last */
	whole = begin_chunk(reader, header);
	if (whole <= 0) {
		if (!whole)
			recording_reader__count_damage(reader, place->offset);
		return whole;
	}
	if (array__push(&reader->chunks, *place))
		return reader_error(reader, -ENOMEM);
	reader->records += header->records;
	reader->in_chunk = true;
	return 1;
}

int recording_reader__next_chunk(struct recording_reader *reader)
{
	struct chunk_place place;
	int err;

	while (!reader->ended) {
		err = find_chunk(reader, &place);
		if (err <= 0)
			return err;
		err = take_chunk(reader, &place);
		if (err == -ENODATA)
			return end_reading(reader, true);
		if (err)
			return err;
	}
	return 0;
}
