// SPDX-License-Identifier: BSD-2-Clause
#include "recording/format.h"

#include <endian.h>
#include <string.h>
#include <zlib.h>

static void put16(uint8_t *at, uint16_t value)
{
	value = htole16(value);
	memcpy(at, &value, sizeof(value));
}

static void put32(uint8_t *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

static void put64(uint8_t *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
}

static uint16_t get16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return le16toh(value);
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static uint64_t get64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

uint32_t format__crc(const void *data, size_t size)
{
	return (uint32_t)crc32_z(0, data, size);
}

bool format__crc_matches(uint32_t stored, const void *data, size_t size)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	return true;
#endif
	return stored == format__crc(data, size);
}

void file_header__pack(const struct file_header *header, uint8_t bytes[FILE_HEADER_SIZE])
{
	memset(bytes, 0, FILE_HEADER_SIZE);
	memcpy(bytes, FORMAT_MAGIC, FORMAT_MARKER_SIZE);
	put16(bytes + 8, header->major);
	put16(bytes + 10, header->minor);
	put32(bytes + 12, header->size);
	put32(bytes + 28, format__crc(bytes, 28));
}

bool file_header__unpack(const uint8_t bytes[FILE_HEADER_SIZE], struct file_header *header)
{
	if (!format__crc_matches(get32(bytes + 28), bytes, 28))
		return false;
	header->major = get16(bytes + 8);
	header->minor = get16(bytes + 10);
	header->size = get32(bytes + 12);
	return header->size >= FILE_HEADER_SIZE;
}

void chunk_header__pack(const struct chunk_header *header, uint8_t bytes[CHUNK_HEADER_SIZE])
{
	memset(bytes, 0, CHUNK_HEADER_SIZE);
	memcpy(bytes, FORMAT_CHUNK_MARKER, FORMAT_MARKER_SIZE);
	put16(bytes + 12, header->type);
	bytes[14] = header->codec;
	put32(bytes + 16, header->number);
	put32(bytes + 20, header->raw_size);
	put32(bytes + 24, header->stored_size);
	put32(bytes + 28, header->records);
	put64(bytes + 32, header->first_time);
	put64(bytes + 40, header->last_time);
	put32(bytes + 48, header->payload_crc);
	put32(bytes + 8, format__crc(bytes + 12, CHUNK_HEADER_SIZE - 12));
}

bool chunk_header__unpack(const uint8_t bytes[CHUNK_HEADER_SIZE], struct chunk_header *header)
{
	if (memcmp(bytes, FORMAT_CHUNK_MARKER, FORMAT_MARKER_SIZE) != 0 ||
	    !format__crc_matches(get32(bytes + 8), bytes + 12, CHUNK_HEADER_SIZE - 12))
		return false;
	header->type = get16(bytes + 12);
	header->codec = bytes[14];
	header->number = get32(bytes + 16);
	header->raw_size = get32(bytes + 20);
	header->stored_size = get32(bytes + 24);
	header->records = get32(bytes + 28);
	header->first_time = get64(bytes + 32);
	header->last_time = get64(bytes + 40);
	header->payload_crc = get32(bytes + 48);
	if (header->raw_size > CHUNK_RAW_MAX || header->stored_size > header->raw_size)
		return false;
	return header->codec != CODEC_STORED || header->stored_size == header->raw_size;
}

void trailer__pack(const struct trailer *trailer, uint8_t bytes[TRAILER_SIZE])
{
	memset(bytes, 0, TRAILER_SIZE);
	memcpy(bytes, FORMAT_TRAILER_MARKER, FORMAT_MARKER_SIZE);
	put64(bytes + 8, trailer->index);
	put64(bytes + 16, trailer->records);
	put32(bytes + 24, trailer->chunks);
	put32(bytes + 28, trailer->flags);
	put32(bytes + 36, format__crc(bytes, 36));
}

bool trailer__unpack(const uint8_t bytes[TRAILER_SIZE], struct trailer *trailer)
{
	if (memcmp(bytes, FORMAT_TRAILER_MARKER, FORMAT_MARKER_SIZE) != 0 ||
	    !format__crc_matches(get32(bytes + 36), bytes, 36))
		return false;
	trailer->index = get64(bytes + 8);
	trailer->records = get64(bytes + 16);
	trailer->chunks = get32(bytes + 24);
	trailer->flags = get32(bytes + 28);
	return true;
}
