// SPDX-License-Identifier: BSD-2-Clause
/*
 * Any bytes, read as a recording: the reader must not crash, must come to an
 * end, and must keep the promises of recording.h. In this build checksums are
 * not compared, so that the fuzzer gets behind them.
 *
 * Each record that comes out is also encoded and decoded again, and must come
 * out the same. To some of the files a record is added: then it must be there,
 * behind all that was.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recording/codec.h"
#include "recording/reader.h"
#include "tests/fuzz/promises.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_contents(const struct record *have, const struct record *want)
{
	struct record rest = *have;

	if (want->type == RECORD_STRING) {
		CHECK(have->string.size == want->string.size);
		CHECK(!memcmp(have->string.bytes, want->string.bytes, want->string.size));
		rest.string.bytes = want->string.bytes;
	} else if (want->type == RECORD_STACK) {
		CHECK(have->stack.depth == want->stack.depth);
		for (uint32_t i = 0; i < want->stack.depth; i++)
			CHECK(have->stack.frames[i] == want->stack.frames[i]);
		rest.stack.frames = want->stack.frames;
	}
	CHECK(!memcmp(&rest, want, sizeof(rest)));
}

/* A decoder that has met everything that @record names. */
static void allow_references(struct numbers *numbers, const struct record *record)
{
	const struct layout *layout = layout__of(record->type);

	numbers->limit = UINT32_MAX;
	for (size_t i = 0; i < layout->n; i++) {
		uint32_t number;

		if (layout->fields[i].encoding != ENCODING_REFERENCE)
			continue;
		memcpy(&number, (const char *)record + layout->fields[i].offset, sizeof(number));
		if (number)
			numbers__define(numbers, layout->fields[i].kind, number);
	}
}

static void check_again(struct encoder *encoder, struct decoder *decoder,
			const struct record *record)
{
	struct record again;

	numbers__reset(decoder->numbers);
	allow_references(decoder->numbers, record);
	encoder__reset(encoder);
	CHECK(!encoder__put(encoder, record));
	decoder__begin(decoder, encoder->raw.data, encoder->raw.n);
	CHECK(decoder__next(decoder, &again) == DECODED_RECORD);
	CHECK(!decoder->dangling);
	check_contents(&again, record);
	CHECK(decoder__next(decoder, &again) == DECODED_END);
}

static size_t read_all(struct recording_reader *reader, bool again)
{
	struct promises promises = {.reader = reader};
	struct numbers numbers = {};
	struct encoder encoder = {};
	struct decoder decoder = {.numbers = &numbers};
	struct record record;
	size_t n = 0;

	while (recording_reader__next(reader, &record) == 1) {
		promises__check(&promises, &record);
		if (promises.broken) {
			fprintf(stderr, "promise broken: %s\n", promises.broken);
			abort();
		}
		/* The bitmaps that this takes are as long as the numbers are high. */
		if (again && n < 100)
			check_again(&encoder, &decoder, &record);
		n++;
	}
	CHECK(recording_reader__next(reader, &record) == 0);
	CHECK(reader->offset <= reader->source.size || reader->offset == reader->header.size);
	promises__free(&promises);
	encoder__free(&encoder);
	decoder__free(&decoder);
	numbers__free(&numbers);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct recording_reader *reader;
	size_t n;

	if (recording_reader__open_memory(data, size, &reader))
		return 0;
	n = read_all(reader, true);
	recording_reader__rewind(reader);
	CHECK(read_all(reader, false) == n);
	recording_reader__close(reader);
	return 0;
}
