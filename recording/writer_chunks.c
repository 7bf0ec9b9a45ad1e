// SPDX-License-Identifier: BSD-2-Clause
/* Writing to the file: header, chunks, index and trailer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "recording/writer.h"

static int write_at(int fd, const void *data, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n =
			pwrite(fd, (const char *)data + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		done += (size_t)n;
	}
	return 0;
}

int writer__write_header(struct recording_writer *writer)
{
	struct file_header header = {FORMAT_MAJOR, FORMAT_MINOR, FILE_HEADER_SIZE};
	uint8_t bytes[FILE_HEADER_SIZE];
	int err;

	file_header__pack(&header, bytes);
	err = write_at(writer->fd, bytes, sizeof(bytes), 0);
	if (err)
		return err;
	writer->offset = sizeof(bytes);
	return 0;
}

static int reserve_out(struct recording_writer *writer, size_t size)
{
	uint8_t *grown;

	if (size <= writer->out_capacity)
		return 0;
	grown = realloc(writer->out, size);
	if (!grown)
		return -ENOMEM;
	writer->out = grown;
	writer->out_capacity = size;
	return 0;
}

/* Compresses @raw to the payload in writer->out, or stores it if that is not smaller. */
static void pack_payload(struct recording_writer *writer, const struct buffer *raw,
			 struct chunk_header *header)
{
	uint8_t *payload = writer->out + CHUNK_HEADER_SIZE;
	size_t n = 0;

	if (raw->n > 1)
		n = ZSTD_compressCCtx(writer->zstd, payload, raw->n - 1, raw->data, raw->n, 1);
	header->raw_size = (uint32_t)raw->n;
	if (raw->n > 1 && !ZSTD_isError(n)) {
		header->codec = CODEC_ZSTD;
		header->stored_size = (uint32_t)n;
	} else {
		header->codec = CODEC_STORED;
		header->stored_size = (uint32_t)raw->n;
		memcpy(payload, raw->data, raw->n);
	}
	header->payload_crc = format__crc(payload, header->stored_size);
}

/* Completes @header and writes @raw as a chunk at writer->offset, which advances. */
static int write_chunk(struct recording_writer *writer, const struct buffer *raw,
		       struct chunk_header *header)
{
	size_t size;
	int err;

	err = reserve_out(writer, CHUNK_HEADER_SIZE + raw->n);
	if (err)
		return err;
	header->number = writer->number;
	pack_payload(writer, raw, header);
	chunk_header__pack(header, writer->out);
	size = CHUNK_HEADER_SIZE + header->stored_size;
	err = write_at(writer->fd, writer->out, size, writer->offset);
	if (err)
		return err;
	writer->offset += size;
	writer->number++;
	return 0;
}

int writer__write_chunk(struct recording_writer *writer)
{
	struct encoder *encoder = &writer->encoder;
	struct chunk_place place = {
		.offset = writer->offset,
		.header = {.type = CHUNK_DATA, .records = encoder->records},
	};
	int err;

	/* See encoder__put(): without times in the chunk, both stay 0. */
	if (encoder->first_time <= encoder->last_time) {
		place.header.first_time = encoder->first_time;
		place.header.last_time = encoder->last_time;
	}
	err = array__reserve(&writer->chunks, 1);
	if (err)
		return err;
	/* Truncates the old index first, so that no part of it remains after the new chunks. */
	if (writer->untouched && !writer->is_device && ftruncate(writer->fd, (off_t)writer->offset))
		return -errno;
	writer->untouched = false;
	err = write_chunk(writer, &encoder->raw, &place.header);
	if (err)
		return err;
	writer->chunks.data[writer->chunks.n++] = place;
	encoder__reset(encoder);
	return 0;
}

/* Appends an index entry; @previous is the chunk before it, zeroed for the first. */
static void put_index_entry(struct buffer *raw, const struct chunk_place *place,
			    const struct chunk_place *previous)
{
	const struct chunk_header *header = &place->header;

	buffer__varint(raw, header->type);
	buffer__varint(raw, place->offset - previous->offset);
	buffer__varint(raw, header->stored_size);
	buffer__varint(raw, header->records);
	buffer__svarint(raw, (int64_t)(header->first_time - previous->header.first_time));
	buffer__varint(raw, header->last_time - header->first_time);
}

static int write_index(struct recording_writer *writer)
{
	_cleanup_(buffer__free) struct buffer raw = {};
	struct chunk_place previous = {};
	struct chunk_header header;
	uint32_t entries = 0;
	int err;

	for (size_t i = 0; i < writer->chunks.n; i++) {
		put_index_entry(&raw, &writer->chunks.data[i], &previous);
		previous = writer->chunks.data[i];
		entries++;
		if (raw.n < CHUNK_RAW_TARGET && i + 1 < writer->chunks.n)
			continue;
		if (raw.failed)
			return -ENOMEM;
		header = (struct chunk_header){.type = CHUNK_INDEX, .records = entries};
		err = write_chunk(writer, &raw, &header);
		if (err)
			return err;
		previous = (struct chunk_place){};
		raw.n = 0;
		entries = 0;
	}
	return 0;
}

int writer__write_end(struct recording_writer *writer)
{
	struct trailer trailer = {.index = writer->offset};
	uint8_t bytes[TRAILER_SIZE];
	uint64_t offset = writer->offset;
	uint32_t number = writer->number;
	int err;

	for (size_t i = 0; i < writer->chunks.n; i++)
		trailer.records += writer->chunks.data[i].header.records;
	trailer.chunks = (uint32_t)writer->chunks.n;
	err = write_index(writer);
	trailer__pack(&trailer, bytes);
	if (!err)
		err = write_at(writer->fd, bytes, sizeof(bytes), writer->offset);
	if (err) {
		writer->offset = offset;
		writer->number = number;
		return err;
	}
	writer->offset += sizeof(bytes);
	return 0;
}

void writer__roll_back(struct recording_writer *writer)
{
	if (writer->untouched)
		return;
	if (writer->completed) {
		writer->offset = writer->was_offset;
		writer->number = writer->was_number;
		writer->chunks.n = writer->was_chunks;
	}
	/* Truncating frees the space that index and trailer need again. */
	if (ftruncate(writer->fd, (off_t)writer->offset))
		return; /* the reader sees a cut chunk */
	if (!writer->completed)
		return;
	if (writer__write_end(writer) && ftruncate(writer->fd, (off_t)writer->offset))
		return;
}
