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
#include "recording/recording.h"
#include "tests/fuzz/promises.h"

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
	struct record rest;

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
		       !memcmp(have->stack.frames, want->stack.frames,
			       want->stack.depth * sizeof(uint64_t));
	/* All else is numbers: equal byte by byte once references agree. */
	memcpy(&rest, have, sizeof(rest));
	for (size_t i = 0; i < layout->n; i++) {
		const struct field *field = &layout->fields[i];
		uint32_t a, b;

		if (field->encoding != ENCODING_REFERENCE)
			continue;
		memcpy(&a, (const char *)have + field->offset, sizeof(a));
		memcpy(&b, (const char *)want + field->offset, sizeof(b));
		if (!reference__same(a, b, lossy))
			return false;
		memcpy((char *)&rest + field->offset, &b, sizeof(b));
	}
	return !memcmp(&rest, want, sizeof(rest));
}

/* A repeatable stream of values, with a liking for extreme ones. */
struct dice {
	uint64_t state;
};

static inline uint64_t dice__roll(struct dice *dice)
{
	return hash__mix(dice->state += 0x9e3779b97f4a7c15ULL);
}

static inline uint64_t dice__value(struct dice *dice, unsigned int bits)
{
	uint64_t max = ~0ULL >> (64 - bits);

	switch (dice__roll(dice) % 6) {
	case 0:
		return 0;
	case 1:
		return max;
	case 2:
		return max >> 1;
	case 3:
		return 1ULL << (dice__roll(dice) % bits);
	case 4:
		return dice__roll(dice) & 0xff & max;
	default:
		return dice__roll(dice) & max;
	}
}

static inline const char *dice__text(struct dice *dice)
{
	static char text[300];
	size_t n = dice__roll(dice) % 4 ? dice__roll(dice) % 3 : dice__roll(dice) % sizeof(text);

	for (size_t i = 0; i < n; i++)
		text[i] = (char)(1 + dice__roll(dice) % 255);
	text[n] = '\0';
	return text;
}

static inline uint32_t dice__string(struct dice *dice, struct recording_writer *writer)
{
	return recording_writer__string(writer, dice__text(dice));
}

static inline struct record_stack dice__stack(struct dice *dice)
{
	static uint64_t frames[200];
	struct record_stack stack = {.frames = frames};

	stack.depth = (uint32_t)(dice__roll(dice) % 200);
	stack.kernel = dice__roll(dice) % 2;
	stack.end = (uint8_t)(dice__roll(dice) % STACK_END_COUNT);
	for (uint32_t i = 0; i < stack.depth; i++)
		frames[i] = dice__value(dice, 64);
	return stack;
}

static inline struct record_dso dice__dso(struct dice *dice, struct recording_writer *writer)
{
	struct record_dso dso = {};

	dso.path = dice__string(dice, writer);
	dso.build_id = dice__string(dice, writer);
	dso.kind = (uint8_t)(dice__roll(dice) % (DSO_JIT + 1));
	dso.deleted = dice__roll(dice) % 2;
	dso.pid = (uint32_t)dice__value(dice, 32);
	return dso;
}

static inline struct record_object dice__object(struct dice *dice, struct recording_writer *writer)
{
	struct record_object object = {};

	object.type = (uint8_t)(dice__roll(dice) % (OBJECT_KLOCK + 1));
	object.id = dice__value(dice, 64);
	object.extra = dice__value(dice, 64);
	object.mode = (uint32_t)dice__value(dice, 32);
	object.family = (uint32_t)dice__value(dice, 32);
	object.protocol = (uint32_t)dice__value(dice, 32);
	object.name = dice__string(dice, writer);
	object.local = dice__string(dice, writer);
	return object;
}

static inline uint32_t dice__dso_number(struct dice *dice, struct recording_writer *writer)
{
	struct record_dso dso = dice__dso(dice, writer);

	return dice__roll(dice) % 4 ? recording_writer__dso(writer, &dso) : 0;
}

static inline uint32_t dice__stack_number(struct dice *dice, struct recording_writer *writer)
{
	struct record_stack stack = dice__stack(dice);
	uint64_t hash = dice__roll(dice) % 200;

	switch (dice__roll(dice) % 8) {
	case 0:
		return recording_writer__stack(writer, &stack);
	case 1:
		recording_writer__stack_frames(writer, hash, &stack);
		return recording_writer__stack_by_hash(writer, hash);
	default:
		return recording_writer__stack_by_hash(writer, hash);
	}
}

static inline uint32_t dice__thread(struct dice *dice)
{
	return (uint32_t)(dice__roll(dice) % 2 ? dice__value(dice, 16) : dice__roll(dice) % 8);
}

static inline void dice__thread_record(struct dice *dice, struct recording_writer *writer,
				       struct record *r)
{
	switch (r->type) {
	case RECORD_THREAD:
		r->thread.thread = 1 + (uint32_t)(dice__roll(dice) % 65536);
		r->thread.tid = (uint32_t)dice__value(dice, 32);
		r->thread.tgid = (uint32_t)dice__value(dice, 32);
		r->thread.parent = dice__thread(dice);
		r->thread.flags = (uint32_t)dice__value(dice, 32);
		r->thread.comm = dice__string(dice, writer);
		r->thread.time = dice__value(dice, 63);
		break;
	case RECORD_EXEC:
		r->exec.thread = dice__thread(dice);
		r->exec.tid = (uint32_t)dice__value(dice, 32);
		r->exec.comm = dice__string(dice, writer);
		r->exec.time = dice__value(dice, 63);
		break;
	case RECORD_COMM:
		r->comm.thread = dice__thread(dice);
		r->comm.comm = dice__string(dice, writer);
		r->comm.time = dice__value(dice, 63);
		break;
	default:
		r->totals.thread = dice__thread(dice);
		r->totals.flags = (uint32_t)dice__value(dice, 32);
		r->totals.time = dice__value(dice, 63);
		for (int i = 0; i < CLASS_COUNT; i++)
			r->totals.ns[i] = dice__value(dice, 64);
		r->totals.voluntary = dice__value(dice, 64);
		r->totals.involuntary = dice__value(dice, 64);
	}
}

static inline void dice__interval(struct dice *dice, struct recording_writer *writer,
				  struct record_interval *interval)
{
	struct record_object object = dice__object(dice, writer);
	uint64_t left = INT64_MAX;

	interval->thread = dice__thread(dice);
	interval->waker = dice__thread(dice);
	interval->waker_context = (uint8_t)(dice__roll(dice) % (WAKER_NMI + 1));
	interval->class = (uint8_t)(dice__roll(dice) % CLASS_COUNT);
	interval->flags = (uint16_t)dice__value(dice, 16);
	interval->syscall = (int32_t)dice__value(dice, 32);
	interval->t_out = dice__value(dice, 63);
	left -= interval->t_out;
	interval->blocked_ns = left ? dice__value(dice, 63) % left : 0;
	left -= interval->blocked_ns;
	interval->runq_ns = dice__roll(dice) % 2 ? left : 0;
	interval->blocked_points = (uint32_t)dice__value(dice, 32);
	interval->runq_points = (uint32_t)dice__value(dice, 32);
	interval->kernel_stack = dice__stack_number(dice, writer);
	interval->user_stack = dice__stack_number(dice, writer);
	interval->object = recording_writer__object(writer, &object);
	interval->device = (uint32_t)dice__value(dice, 4);
}

static inline void dice__device_record(struct dice *dice, struct recording_writer *writer,
				       struct record *r)
{
	switch (r->type) {
	case RECORD_DEVICE:
		r->device.device = 1 + (uint32_t)dice__value(dice, 4);
		r->device.dev = (uint32_t)dice__value(dice, 32);
		r->device.name = dice__string(dice, writer);
		r->device.time = dice__value(dice, 63);
		r->device.requests = dice__value(dice, 64);
		r->device.bytes = dice__value(dice, 64);
		r->device.queue_ns = dice__value(dice, 64);
		r->device.service_ns = dice__value(dice, 64);
		r->device.idle_ns = dice__value(dice, 64);
		break;
	case RECORD_IDLE:
		r->idle.device = (uint32_t)dice__value(dice, 4);
		r->idle.thread = dice__thread(dice);
		r->idle.since = dice__value(dice, 62);
		r->idle.ns = dice__value(dice, 62);
		r->idle.points = (uint32_t)dice__value(dice, 32);
		r->idle.flags = (uint16_t)dice__value(dice, 16);
		r->idle.kernel_stack = dice__stack_number(dice, writer);
		r->idle.user_stack = dice__stack_number(dice, writer);
		break;
	default:
		r->annotation.thread = dice__thread(dice);
		r->annotation.other = dice__thread(dice);
		r->annotation.type = (uint8_t)(dice__roll(dice) % ANNOTATION_COUNT);
		r->annotation.address = dice__value(dice, 64);
		r->annotation.time = dice__value(dice, 63);
	}
}

static inline void dice__event(struct dice *dice, struct recording_writer *writer, struct record *r)
{
	switch (r->type) {
	case RECORD_META:
		r->meta.key = dice__string(dice, writer);
		r->meta.value = dice__string(dice, writer);
		break;
	case RECORD_MAP:
		r->map.pid = (uint32_t)dice__value(dice, 32);
		r->map.dso = dice__dso_number(dice, writer);
		r->map.time = dice__value(dice, 63);
		r->map.start = dice__value(dice, 64);
		r->map.size = dice__roll(dice) % 2 ? UINT64_MAX - r->map.start : 0;
		r->map.offset = dice__value(dice, 64);
		break;
	case RECORD_SAMPLE:
		r->sample.thread = dice__thread(dice);
		r->sample.weight = (uint32_t)dice__value(dice, 32);
		r->sample.kernel_stack = dice__stack_number(dice, writer);
		r->sample.user_stack = dice__stack_number(dice, writer);
		r->sample.time = dice__value(dice, 63);
		break;
	case RECORD_INTERVAL:
		dice__interval(dice, writer, &r->interval);
		break;
	case RECORD_WAKE:
		r->wake.thread = dice__thread(dice);
		r->wake.waker = dice__thread(dice);
		r->wake.context = (uint32_t)(dice__roll(dice) % (WAKER_NMI + 1));
		r->wake.kernel_stack = dice__stack_number(dice, writer);
		r->wake.user_stack = dice__stack_number(dice, writer);
		r->wake.time = dice__value(dice, 63);
		break;
	case RECORD_LOST:
		r->lost.cause = dice__string(dice, writer);
		r->lost.count = dice__value(dice, 64);
		break;
	default:
		r->symbol.dso = dice__dso_number(dice, writer);
		r->symbol.address = dice__value(dice, 64);
		r->symbol.name = dice__string(dice, writer);
		r->symbol.file = dice__string(dice, writer);
		r->symbol.line = (uint32_t)dice__value(dice, 32);
		r->symbol.inlined = dice__roll(dice) % 2;
	}
}

/* A random record of a type that can be put; what it names is written before. */
static inline struct record dice__record(struct dice *dice, struct recording_writer *writer)
{
	static const enum record_type types[] = {
		RECORD_META,   RECORD_THREAD, RECORD_EXEC,     RECORD_COMM,	  RECORD_TOTALS,
		RECORD_MAP,    RECORD_SAMPLE, RECORD_INTERVAL, RECORD_WAKE,	  RECORD_LOST,
		RECORD_SYMBOL, RECORD_DEVICE, RECORD_IDLE,     RECORD_ANNOTATION,
	};
	struct record record;

	memset(&record, 0, sizeof(record));
	record.type = types[dice__roll(dice) % ARRAY_SIZE(types)];
	if (record.type >= RECORD_THREAD && record.type <= RECORD_TOTALS)
		dice__thread_record(dice, writer, &record);
	else if (record.type >= RECORD_DEVICE)
		dice__device_record(dice, writer, &record);
	else
		dice__event(dice, writer, &record);
	return record;
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

			assert_int_equal(recording_writer__put(writer, &record), 0);
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

		assert_int_equal(recording_writer__put(writer, &record), 0);
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
