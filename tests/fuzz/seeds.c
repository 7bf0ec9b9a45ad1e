// SPDX-License-Identifier: BSD-2-Clause
/*
 * seeds DIRECTORY: writes small recordings there for the fuzzer to begin with,
 * most of them unpacked, so that it can get at the records.
 */
#include <zstd.h>

#include "tests/unit/recording_support.h"

/* Writes the recording at @path again with every chunk stored as it is. */
static void seed_unpack(const char *path)
{
	_cleanup_(buffer__free) struct buffer file = file__read(path);
	_cleanup_(buffer__free) struct buffer plain = {};
	_cleanup_free_ uint8_t *raw = malloc(CHUNK_RAW_MAX);
	uint8_t *at = file.data + FILE_HEADER_SIZE;
	uint8_t bytes[CHUNK_HEADER_SIZE];
	struct chunk_header header;

	buffer__put(&plain, file.data, FILE_HEADER_SIZE);
	while (chunk_header__unpack(at, &header)) {
		const uint8_t *payload = at + CHUNK_HEADER_SIZE;

		at += CHUNK_HEADER_SIZE + header.stored_size;
		if (header.codec == CODEC_ZSTD) {
			ZSTD_decompress(raw, CHUNK_RAW_MAX, payload, header.stored_size);
			payload = raw;
		}
		header.codec = CODEC_STORED;
		header.stored_size = header.raw_size;
		header.payload_crc = format__crc(payload, header.raw_size);
		chunk_header__pack(&header, bytes);
		buffer__put(&plain, bytes, sizeof(bytes));
		buffer__put(&plain, payload, header.raw_size);
	}
	buffer__put(&plain, at, TRAILER_SIZE);
	file__write(path, plain.data, plain.n);
}

int main(int argc, char **argv)
{
	static const struct {
		unsigned int chunks;
		unsigned int records;
	} sizes[] = {{0, 0}, {1, 1}, {1, 4}, {1, 12}, {2, 5}, {4, 3}, {2, 60}};
	char path[4096];

	if (argc != 2) {
		fprintf(stderr, "usage: seeds DIRECTORY\n");
		return 2;
	}
	for (uint64_t seed = 0; seed < 42; seed++) {
		size_t size = seed % ARRAY_SIZE(sizes);

		snprintf(path, sizeof(path), "%s/seed-%02d", argv[1], (int)seed);
		unlink(path);
		random__write(path, seed, sizes[size].chunks, sizes[size].records);
		if (seed >= ARRAY_SIZE(sizes))
			seed_unpack(path);
	}
	return 0;
}
