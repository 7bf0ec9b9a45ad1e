/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of recordings share: files, random records, and comparing them. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "recording/codec.h"
#include "recording/format.h"
#include "recording/reader.h"
#include "recording/record_stream.h"
#include "recording/recording.h"
#include "tests/fuzz/promises.h"
#include "tests/unit/dice.h"

DEFINE_CLEANUP(struct recording_reader *, recording_reader__close)
#define _cleanup_reader_ _cleanup_(recording_reader__closep)

/* A record with copies of what it points to. */
struct copy {
	struct record record;
	void *data;
};

struct copies {
	struct copy *data;
	size_t n;
	size_t capacity;
};

/* What reading a file gave. */
struct outcome {
	int err; /* of opening */
	struct copies records;
	char warning[512]; /* "" for none */
};

static inline int temp__remove(void **state)
{
	_cleanup_free_ char *command = NULL;

	if (*state && asprintf(&command, "rm -rf '%s'", (char *)*state) >= 0 && system(command))
		return -1;
	free(*state);
	return 0;
}

/* A directory for the files of a test, as its state. */
static inline int temp__make(void **state)
{
	const char *base = getenv("TMPDIR");
	char *directory = NULL;

	if (asprintf(&directory, "%s/dwell-test-XXXXXX", base ? base : "/tmp") < 0)
		return -1;
	*state = mkdtemp(directory);
	return *state ? 0 : -1;
}

/* A path in that directory; valid until the eighth call from now. */
static inline const char *temp__path(void **state, const char *name)
{
	static char paths[8][512];
	static unsigned int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", (char *)*state, name);
	return path;
}

static inline struct buffer file__read(const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "rb");
	struct buffer contents = {};
	char block[4096];
	size_t n;

	assert_non_null(file);
	while ((n = fread(block, 1, sizeof(block), file)) > 0)
		buffer__put(&contents, block, n);
	assert_false(contents.failed);
	return contents;
}

static inline void file__write(const char *path, const void *data, size_t size)
{
	_cleanup_fclose_ FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
}

static inline void copies__add(struct copies *copies, const struct record *record)
{
	struct copy *copy = array__add(copies);

	assert_non_null(copy);
	copy->record = *record;
	if (record->type == RECORD_STRING) {
		copy->data = malloc(record->string.size + 1);
		memcpy(copy->data, record->string.bytes, record->string.size + 1);
		copy->record.string.bytes = copy->data;
	} else if (record->type == RECORD_STACK) {
		copy->data = calloc(record->stack.depth + 1, sizeof(uint64_t));
		if (record->stack.depth)
			memcpy(copy->data, record->stack.frames,
			       record->stack.depth * sizeof(uint64_t));
		copy->record.stack.frames = copy->data;
	}
}

static inline void copies__free(struct copies *copies)
{
	for (size_t i = 0; i < copies->n; i++)
		free(copies->data[i].data);
	array__free(copies);
}

static inline void outcome__free(struct outcome *outcome)
{
	copies__free(&outcome->records);
}
#define _cleanup_outcome_ _cleanup_(outcome__free)

/* Reads everything, checking every promise on the way. Closes @reader. */
static inline void outcome__read(struct outcome *outcome, struct recording_reader *reader)
{
	struct promises promises = {.reader = reader};
	struct record record;
	int err;

	while ((err = recording_reader__next(reader, &record)) == 1) {
		promises__check(&promises, &record);
		copies__add(&outcome->records, &record);
	}
	assert_int_equal(err, 0);
	assert_int_equal(recording_reader__next(reader, &record), 0);
	if (promises.broken)
		fail_msg("promise broken: %s", promises.broken);
	if (recording_reader__warning(reader))
		snprintf(outcome->warning, sizeof(outcome->warning), "%s",
			 recording_reader__warning(reader));
	promises__free(&promises);
	recording_reader__close(reader);
}

static inline struct outcome outcome__of_memory(const void *data, size_t size)
{
	struct outcome outcome = {};
	struct recording_reader *reader;

	outcome.err = recording_reader__open_memory(data, size, &reader);
	if (!outcome.err)
		outcome__read(&outcome, reader);
	return outcome;
}

static inline struct outcome outcome__of_file(const char *path)
{
	struct outcome outcome = {};
	struct recording_reader *reader;

	outcome.err = recording_reader__open(path, &reader);
	if (!outcome.err)
		outcome__read(&outcome, reader);
	return outcome;
}

static inline bool reference__same(uint32_t have, uint32_t want, bool lossy)
{
	return have == want || (lossy && have == 0);
}

/*
 * Whether two records say the same; with @lossy, a reference of @have may be 0
 * where that of @want is not.
 */
static inline bool record__same(const struct record *have, const struct record *want, bool lossy)
{
	const struct layout *layout = layout__of(want->type);

	if (have->type != want->type)
		return false;
	if (have->type == RECORD_STRING)
		return have->string.number == want->string.number &&
		       have->string.size == want->string.size &&
		       !memcmp(have->string.bytes, want->string.bytes, want->string.size);
	if (have->type == RECORD_STACK)
		return have->stack.number == want->stack.number &&
		       have->stack.kernel == want->stack.kernel &&
		       have->stack.end == want->stack.end &&
		       have->stack.depth == want->stack.depth &&
		       (!want->stack.depth || !memcmp(have->stack.frames, want->stack.frames,
						      want->stack.depth * sizeof(uint64_t)));
	/* Field by field: what lies between them may be anything. */
	for (size_t i = 0; i < layout->n; i++) {
		const struct field *field = &layout->fields[i];
		const char *one = (const char *)have + field->offset;
		const char *two = (const char *)want + field->offset;
		uint32_t a, b;

		if (field->encoding != ENCODING_REFERENCE) {
			size_t n = field->elements ? field->elements : 1;

			if (memcmp(one, two, n * field->size) != 0)
				return false;
			continue;
		}
		memcpy(&a, one, sizeof(a));
		memcpy(&b, two, sizeof(b));
		if (!reference__same(a, b, lossy))
			return false;
	}
	return true;
}

/* Writes a random recording of @chunks chunks with @records each, plus tables, to @path. */
static inline void random__write(const char *path, uint64_t seed, unsigned int chunks,
				 unsigned int records)
{
	struct dice dice = {.state = seed};
	struct recording_writer *writer;

	assert_int_equal(recording_writer__create(path, &writer), 0);
	for (unsigned int chunk = 0; chunk < chunks; chunk++) {
		for (unsigned int i = 0; i < records; i++) {
			struct record record = dice__record(&dice, writer);

			assert_int_equal(
				record_stream__put(recording_writer__stream(writer), &record), 0);
		}
		assert_int_equal(recording_writer__flush(writer), 0);
	}
	assert_int_equal(recording_writer__close(writer), 0);
}

/* Puts @n random records and keeps them. */
static inline void random__put(struct recording_writer *writer, struct dice *dice, size_t n,
			       struct copies *put)
{
	for (size_t i = 0; i < n; i++) {
		struct record record = dice__record(dice, writer);

		assert_int_equal(record_stream__put(recording_writer__stream(writer), &record), 0);
		copies__add(put, &record);
		if (dice__roll(dice) % 1000 == 0)
			assert_int_equal(recording_writer__flush(writer), 0);
	}
}

static inline bool is_table(const struct record *record)
{
	return record->type >= RECORD_STRING && record->type <= RECORD_OBJECT;
}

/* The records of @outcome that were put, in order, must be those of @put. */
static inline void assert_put(const struct outcome *outcome, const struct copies *put)
{
	size_t at = 0;

	for (size_t i = 0; i < outcome->records.n; i++) {
		const struct record *have = &outcome->records.data[i].record;

		if (is_table(have))
			continue;
		assert_true(at < put->n);
		if (!record__same(have, &put->data[at].record, false))
			fail_msg("record %zu of type %d differs", at, have->type);
		at++;
	}
	assert_int_equal(at, put->n);
}

/* A small recording of several chunks, and what is in it. */
struct small {
	struct buffer file;
	struct outcome whole;
};

static inline void small__make(void **state, struct small *small, unsigned int chunks)
{
	const char *path = temp__path(state, "small");

	random__write(path, 42, chunks, 8);
	small->file = file__read(path);
	small->whole = outcome__of_file(path);
	assert_string_equal(small->whole.warning, "");
}

static inline void small__free(struct small *small)
{
	buffer__free(&small->file);
	outcome__free(&small->whole);
}

/* The offsets where chunks begin (the index too), and the trailer. */
static inline size_t small__chunks(const struct small *small, uint64_t offsets[], size_t max)
{
	uint64_t at = FILE_HEADER_SIZE;
	struct chunk_header header;
	size_t n = 0;

	while (n < max && chunk_header__unpack(small->file.data + at, &header)) {
		offsets[n++] = at;
		at += CHUNK_HEADER_SIZE + header.stored_size;
	}
	assert_int_equal(at, small->file.n - TRAILER_SIZE);
	return n;
}
