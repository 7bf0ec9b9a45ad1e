// SPDX-License-Identifier: BSD-2-Clause
/* Recordings that are cut, damaged, hostile, of another version or none at all. */
#include "tests/unit/recording_support.h"

#include <errno.h>
#include <zstd.h>

static bool is_prefix(const struct copies *have, const struct copies *want)
{
	if (have->n > want->n)
		return false;
	for (size_t i = 0; i < have->n; i++)
		if (!record__same(&have->data[i].record, &want->data[i].record, false))
			return false;
	return true;
}

/* Whether @have is @want with some records left out, and references to those read as 0. */
static bool is_subset(const struct copies *have, const struct copies *want)
{
	size_t at = 0;

	for (size_t i = 0; i < have->n; i++, at++) {
		while (at < want->n &&
		       !record__same(&have->data[i].record, &want->data[at].record, true))
			at++;
		if (at == want->n)
			return false;
	}
	return true;
}

static void cut_at_every_byte(void **state)
{
	struct small small = {};
	uint64_t chunks[8];
	size_t n;

	small__make(state, &small, 4);
	n = small__chunks(&small, chunks, ARRAY_SIZE(chunks));
	assert_int_equal(n, 5);
	for (size_t size = 0; size < small.file.n; size++) {
		/* A copy of its own, so that reading behind it is seen. */
		uint8_t *cut = malloc(size + 1);
		struct outcome outcome;

		memcpy(cut, small.file.data, size);
		cut = realloc(cut, size ? size : 1);
		outcome = outcome__of_memory(cut, size);
		assert_int_equal(outcome.err, size < FILE_HEADER_SIZE ? -ENODATA : 0);
		assert_true(is_prefix(&outcome.records, &small.whole.records));
		if (size >= FILE_HEADER_SIZE && !outcome.warning[0])
			fail_msg("no warning when cut at %zu of %zu", size, small.file.n);
		/* Every whole chunk is there. */
		for (size_t i = 1; i < n; i++)
			if (size >= chunks[i])
				assert_true(outcome.records.n >= i * 8);
		if (size >= chunks[n - 1])
			assert_int_equal(outcome.records.n, small.whole.records.n);
		outcome__free(&outcome);
		free(cut);
	}
	small__free(&small);
}

static void a_cut_is_told(void **state)
{
	struct small small = {};
	uint64_t chunks[8];
	struct outcome outcome;
	size_t n;

	small__make(state, &small, 3);
	n = small__chunks(&small, chunks, ARRAY_SIZE(chunks));
	outcome = outcome__of_memory(small.file.data, chunks[2]);
	assert_non_null(strstr(outcome.warning, "cut short"));
	outcome__free(&outcome);
	/* Only the end mark is gone: nothing is lost. */
	outcome = outcome__of_memory(small.file.data, small.file.n - 1);
	assert_null(strstr(outcome.warning, "cut short"));
	assert_non_null(strstr(outcome.warning, "records are whole"));
	outcome__free(&outcome);
	assert_int_equal(n, 4);
	small__free(&small);
}

/* Returns whether the outcome of damaged bytes is honest. */
static bool is_honest(const struct outcome *outcome, const struct small *small)
{
	if (outcome->err)
		return true;
	return outcome->warning[0] && is_subset(&outcome->records, &small->whole.records);
}

static void every_flipped_bit_is_seen(void **state)
{
	struct small small = {};

	small__make(state, &small, 3);
	for (size_t at = 0; at < small.file.n; at++) {
		for (unsigned int bit = 0; bit <= 8; bit++) {
			uint8_t mask = bit == 8 ? 0xff : (uint8_t)(1 << bit);
			struct outcome outcome;

			small.file.data[at] ^= mask;
			outcome = outcome__of_memory(small.file.data, small.file.n);
			small.file.data[at] ^= mask;
			if (!is_honest(&outcome, &small))
				fail_msg("byte %zu ^ %02x: %zu records, warning \"%s\"", at, mask,
					 outcome.records.n, outcome.warning);
			/* Only the magic makes it no recording. */
			assert_true(!outcome.err || at < 8);
			outcome__free(&outcome);
		}
	}
	small__free(&small);
}

/* One damaged chunk costs only itself, wherever in it the damage is. */
static void damage_stays_in_its_chunk(void **state)
{
	struct small small = {};
	uint64_t chunks[32];
	size_t n;

	small__make(state, &small, 20);
	n = small__chunks(&small, chunks, ARRAY_SIZE(chunks));
	for (size_t i = 0; i + 1 < n; i++) {
		for (uint64_t at = chunks[i]; at < chunks[i + 1]; at += 13) {
			struct chunk_header header;
			struct outcome outcome;
			char missing[64];

			chunk_header__unpack(small.file.data + chunks[i], &header);
			snprintf(missing, sizeof(missing), "%u of %zu records are missing",
				 header.records, small.whole.records.n);
			small.file.data[at] ^= 0x55;
			outcome = outcome__of_memory(small.file.data, small.file.n);
			small.file.data[at] ^= 0x55;
			assert_int_equal(outcome.err, 0);
			assert_true(is_subset(&outcome.records, &small.whole.records));
			assert_int_equal(outcome.records.n, small.whole.records.n - header.records);
			assert_non_null(strstr(outcome.warning, missing));
			outcome__free(&outcome);
		}
	}
	small__free(&small);
}

/* Bytes put in or taken out: reading finds the next chunk again. */
static void shifted_bytes_are_survived(void **state)
{
	struct dice dice = {.state = 5};
	struct small small = {};

	small__make(state, &small, 20);
	for (int round = 0; round < 1000; round++) {
		size_t at = 32 + dice__roll(&dice) % (small.file.n - 32);
		size_t n = 1 + dice__roll(&dice) % 200;
		struct buffer shifted = {};
		struct outcome outcome;

		buffer__put(&shifted, small.file.data, at);
		if (round % 2)
			for (size_t i = 0; i < n; i++)
				buffer__put(&shifted, &(char){(char)dice__roll(&dice)}, 1);
		else
			at = at + n > small.file.n ? small.file.n : at + n;
		if (at < small.file.n)
			buffer__put(&shifted, small.file.data + at, small.file.n - at);
		outcome = outcome__of_memory(shifted.data, shifted.n);
		assert_true(is_honest(&outcome, &small));
		assert_true(outcome.records.n >= small.whole.records.n / 2 ||
			    strstr(outcome.warning, "cut short"));
		outcome__free(&outcome);
		buffer__free(&shifted);
	}
	small__free(&small);
}

/* However far the next chunk is away. */
static void chunks_are_found_behind_much_damage(void **state)
{
	_cleanup_free_ uint8_t *noise = malloc(70000);
	struct dice dice = {.state = 1};
	struct small small = {};
	uint64_t chunks[8];

	for (size_t i = 0; i < 70000; i++)
		noise[i] = (uint8_t)dice__roll(&dice);
	small__make(state, &small, 3);
	small__chunks(&small, chunks, ARRAY_SIZE(chunks));
	for (size_t n = 65536 - 80; n < 65536 + 80; n++) {
		struct buffer file = {};
		struct outcome outcome;

		buffer__put(&file, small.file.data, chunks[1]);
		buffer__put(&file, noise, n);
		buffer__put(&file, small.file.data + chunks[1], small.file.n - chunks[1]);
		outcome = outcome__of_memory(file.data, file.n);
		assert_non_null(strstr(outcome.warning, "damaged"));
		assert_int_equal(outcome.records.n, small.whole.records.n);
		outcome__free(&outcome);
		/* And if only the trailer is left behind it. */
		file.n = 0;
		buffer__put(&file, small.file.data, chunks[1]);
		buffer__put(&file, noise, n);
		buffer__put(&file, small.file.data + small.file.n - TRAILER_SIZE, TRAILER_SIZE);
		outcome = outcome__of_memory(file.data, file.n);
		assert_non_null(strstr(outcome.warning, "damaged"));
		outcome__free(&outcome);
		buffer__free(&file);
	}
	small__free(&small);
}

static void moved_chunks_are_seen(void **state)
{
	struct small small = {};
	struct buffer doubled = {};
	struct outcome outcome;
	uint64_t chunks[8];

	small__make(state, &small, 4);
	small__chunks(&small, chunks, ARRAY_SIZE(chunks));
	/* The second chunk comes twice. */
	buffer__put(&doubled, small.file.data, chunks[2]);
	buffer__put(&doubled, small.file.data + chunks[1], small.file.n - chunks[1]);
	outcome = outcome__of_memory(doubled.data, doubled.n);
	assert_true(outcome.warning[0]);
	assert_true(is_prefix(&outcome.records, &small.whole.records));
	assert_int_equal(outcome.records.n, small.whole.records.n);
	outcome__free(&outcome);
	/* And is missing without a trace. */
	doubled.n = 0;
	buffer__put(&doubled, small.file.data, chunks[1]);
	buffer__put(&doubled, small.file.data + chunks[2], small.file.n - chunks[2]);
	outcome = outcome__of_memory(doubled.data, doubled.n);
	assert_non_null(strstr(outcome.warning, "records are missing"));
	assert_true(is_subset(&outcome.records, &small.whole.records));
	outcome__free(&outcome);
	/* Something stands behind the end. */
	doubled.n = 0;
	buffer__put(&doubled, small.file.data, small.file.n);
	buffer__put(&doubled, "more", 4);
	outcome = outcome__of_memory(doubled.data, doubled.n);
	assert_string_equal(outcome.warning, "4 bytes behind its end were ignored");
	assert_int_equal(outcome.records.n, small.whole.records.n);
	outcome__free(&outcome);
	buffer__free(&doubled);
	small__free(&small);
}

static void a_file_may_shrink_while_it_is_read(void **state)
{
	const char *path = temp__path(state, "shrinking");
	_cleanup_reader_ struct recording_reader *reader = NULL;
	struct record record;
	size_t n = 0;

	random__write(path, 6, 10, 100);
	assert_int_equal(recording_reader__open(path, &reader), 0);
	while (recording_reader__next(reader, &record) == 1)
		if (++n == 150)
			assert_int_equal(truncate(path, 4000), 0);
	assert_true(n >= 150);
	assert_non_null(strstr(recording_reader__warning(reader), "cut short"));
}

/* A file of one chunk with these contents, checksums right. */
static struct buffer file_of_chunk(struct chunk_header header, const void *stored, size_t size)
{
	struct file_header file_header = {FORMAT_MAJOR, FORMAT_MINOR, FILE_HEADER_SIZE};
	uint8_t bytes[CHUNK_HEADER_SIZE];
	struct buffer file = {};

	header.type = CHUNK_DATA;
	header.stored_size = (uint32_t)size;
	header.payload_crc = format__crc(stored, size);
	file_header__pack(&file_header, bytes);
	buffer__put(&file, bytes, FILE_HEADER_SIZE);
	chunk_header__pack(&header, bytes);
	buffer__put(&file, bytes, CHUNK_HEADER_SIZE);
	buffer__put(&file, stored, size);
	return file;
}

static struct outcome outcome_of_contents(const void *contents, size_t size)
{
	struct buffer file =
		file_of_chunk((struct chunk_header){.raw_size = (uint32_t)size}, contents, size);
	struct outcome outcome = outcome__of_memory(file.data, file.n);

	buffer__free(&file);
	return outcome;
}

/* What comes of @size bytes of small records, packed, whose header claims @claim bytes. */
static struct outcome outcome_of_bomb(size_t size, uint32_t claim)
{
	static const uint8_t record[] = {RECORD_LOST, 2, 0, 5};
	_cleanup_free_ uint8_t *contents = malloc(size);
	_cleanup_free_ void *packed = malloc(ZSTD_compressBound(size));
	struct chunk_header header = {.codec = CODEC_ZSTD, .raw_size = claim};
	_cleanup_(buffer__free) struct buffer file = {};
	size_t n;

	for (size_t i = 0; i < size; i++)
		contents[i] = record[i % sizeof(record)];
	n = ZSTD_compress(packed, ZSTD_compressBound(size), contents, size, 1);
	assert_false(ZSTD_isError(n));
	header.records = claim / sizeof(record);
	file = file_of_chunk(header, packed, n);
	return outcome__of_memory(file.data, file.n);
}

static void decompression_bombs_are_refused(void **state)
{
	static const struct {
		size_t size;
		uint32_t claim;
		bool whole;
	} bombs[] = {
		{4096, 4096, true},
		{4096, 4092, false},
		{4096, 4100, false},
		{4 << 20, 4096, false},
		{CHUNK_RAW_MAX + 4, CHUNK_RAW_MAX + 4, false},
		{64 << 20, 64 << 20, false},
		{4096, UINT32_MAX, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(bombs); i++) {
		struct outcome outcome = outcome_of_bomb(bombs[i].size, bombs[i].claim);

		assert_int_equal(outcome.records.n, bombs[i].whole ? bombs[i].claim / 4 : 0);
		assert_int_equal(!strstr(outcome.warning, "damaged") &&
					 strstr(outcome.warning, "behind 1024 records"),
				 bombs[i].whole);
		outcome__free(&outcome);
	}
}

/* A record of @type with varints as fields. */
static void put_raw(struct buffer *raw, uint64_t type, size_t n, const uint64_t *values)
{
	struct buffer body = {};

	for (size_t i = 0; i < n; i++)
		buffer__varint(&body, values[i]);
	buffer__varint(raw, type);
	buffer__varint(raw, body.n);
	if (body.n)
		buffer__put(raw, body.data, body.n);
	buffer__free(&body);
}
#define PUT(raw, type, ...)                                                                        \
	put_raw((raw), (type), ARRAY_SIZE(((uint64_t[]){__VA_ARGS__})), (uint64_t[]){__VA_ARGS__})

static void a_wrong_count_is_told(void **state)
{
	static const uint8_t contents[] = {RECORD_LOST, 2, 0, 5, RECORD_LOST, 2, 0, 6};

	for (uint32_t count = 1; count <= 3; count++) {
		struct chunk_header header = {.raw_size = sizeof(contents), .records = count};
		_cleanup_(buffer__free) struct buffer file =
			file_of_chunk(header, contents, sizeof(contents));
		_cleanup_outcome_ struct outcome outcome = outcome__of_memory(file.data, file.n);

		assert_int_equal(outcome.records.n, 2);
		assert_int_equal(!strstr(outcome.warning, "damaged"), count == 2);
	}
}

static void later_versions_are_understood(void **state)
{
	_cleanup_(buffer__free) struct buffer raw = {};
	_cleanup_outcome_ struct outcome outcome = {};
	const struct record *r;

	PUT(&raw, 3000, 1, 2, 3);			    /* an unknown type */
	PUT(&raw, RECORD_SAMPLE, 5, 2000);		    /* fields missing */
	PUT(&raw, RECORD_SAMPLE, 6, 200, 7, 8, 9, 1, 2, 3); /* and some more than known */
	put_raw(&raw, RECORD_LOST, 0, NULL);		    /* or none at all */
	PUT(&raw, RECORD_SAMPLE, 6, 200, 7);
	PUT(&raw, RECORD_TOTALS, 1, 2, 7, 10, 20, 30, 40, 50, 60, 70, 3);   /* more classes */
	PUT(&raw, RECORD_INTERVAL, 1, 10, 20, 2000, 99, 0, 2, 0, 0, 0, 77); /* unknown enums */
	outcome = outcome_of_contents(raw.data, raw.n);
	assert_int_equal(outcome.records.n, 6);
	r = &outcome.records.data[0].record;
	assert_true(r->sample.thread == 5 && r->sample.time == 1000 && r->sample.weight == 0);
	r = &outcome.records.data[1].record;
	assert_true(r->sample.time == 1100 && r->sample.weight == 7 && r->sample.user_stack == 8 &&
		    r->sample.kernel_stack == 9);
	assert_int_equal(outcome.records.data[2].record.type, RECORD_LOST);
	assert_int_equal(outcome.records.data[3].record.sample.time, 1200);
	r = &outcome.records.data[4].record;
	assert_true(r->totals.ns[0] == 10 && r->totals.ns[4] == 50 && r->totals.voluntary == 3);
	r = &outcome.records.data[5].record;
	assert_true(r->interval.t_out == 970 && r->interval.class == CLASS_OTHER);
	assert_true(r->interval.waker_context == WAKER_UNKNOWN && r->interval.syscall == 1);
}

static void hostile_values_are_stopped(void **state)
{
	_cleanup_(buffer__free) struct buffer raw = {};
	_cleanup_outcome_ struct outcome outcome = {};
	const struct record *r;

	PUT(&raw, RECORD_META, 1, 4000000000);				    /* no such strings */
	PUT(&raw, RECORD_SAMPLE, 4000000000, 2, 1, 4000000000, 1ULL << 40); /* nor stacks */
	PUT(&raw, RECORD_SAMPLE, 1, UINT64_MAX - 2); /* a time over INT64_MAX */
	PUT(&raw, RECORD_INTERVAL, 1, UINT64_MAX, UINT64_MAX, 2);
	PUT(&raw, RECORD_MAP, 1, 0, 0, UINT64_MAX, 2);
	PUT(&raw, RECORD_DSO, 0);
	PUT(&raw, RECORD_DSO, 4000000000, 1);
	PUT(&raw, RECORD_DSO, 3, 255, 0, 0, 255, 1ULL << 40);
	PUT(&raw, RECORD_DSO, 3, 1);
	PUT(&raw, RECORD_INTERVAL, 1, 1, 1, 4, 2, 1 << 20, 1ULL << 40);
	PUT(&raw, RECORD_STACK, 1, 0, 0, 5000, 1, 1);
	PUT(&raw, RECORD_LOST, 0, 5); /* behind what cannot be read */
	outcome = outcome_of_contents(raw.data, raw.n);
	assert_int_equal(outcome.records.n, 4);
	r = &outcome.records.data[0].record;
	assert_true(r->meta.key == 0 && r->meta.value == 0);
	r = &outcome.records.data[1].record;
	assert_true(r->sample.thread == 0 && r->sample.user_stack == 0 &&
		    r->sample.kernel_stack == 0);
	r = &outcome.records.data[2].record;
	assert_true(r->dso.kind == DSO_FILE && r->dso.deleted == 1 && r->dso.pid == UINT32_MAX);
	r = &outcome.records.data[3].record;
	assert_true(r->interval.flags == UINT16_MAX && r->interval.syscall == 0);
	assert_non_null(strstr(outcome.warning, "6 impossible records"));
	assert_non_null(strstr(outcome.warning, "5 references"));
	assert_non_null(strstr(outcome.warning, "damaged"));
}

static void stacks_have_a_largest_depth(void **state)
{
	for (uint64_t depth = 4095; depth <= 4097; depth++) {
		_cleanup_(buffer__free) struct buffer raw = {};
		_cleanup_outcome_ struct outcome outcome = {};
		uint64_t values[4 + 4097] = {1, 0, 0, depth};

		for (uint64_t i = 0; i < depth; i++)
			values[4 + i] = 2;
		put_raw(&raw, RECORD_STACK, 4 + depth, values);
		outcome = outcome_of_contents(raw.data, raw.n);
		assert_int_equal(outcome.records.n, depth <= 4096);
	}
}

static void garbage_with_right_checksums(void **state)
{
	struct dice dice = {.state = 77};
	struct encoder encoder = {};
	struct small small = {};

	/* Real contents, a few bytes changed; every promise is checked in reading. */
	small__make(state, &small, 1);
	for (size_t i = 0; i < small.whole.records.n; i++)
		assert_int_equal(encoder__put(&encoder, &small.whole.records.data[i].record), 0);
	for (int round = 0; round < 20000; round++) {
		uint8_t *contents = malloc(encoder.raw.n);
		size_t size = 1 + dice__roll(&dice) % encoder.raw.n;
		struct outcome outcome;

		memcpy(contents, encoder.raw.data, encoder.raw.n);
		for (uint64_t n = dice__roll(&dice) % 4; n > 0; n--)
			contents[dice__roll(&dice) % size] = (uint8_t)dice__value(&dice, 8);
		outcome = outcome_of_contents(contents, size);
		assert_int_equal(outcome.err, 0);
		outcome__free(&outcome);
		free(contents);
	}
	encoder__free(&encoder);
	small__free(&small);
}

static void newer_versions_are_refused(void **state)
{
	struct file_header header = {FORMAT_MAJOR, FORMAT_MINOR + 5, FILE_HEADER_SIZE + 8};
	struct recording_reader *reader = NULL;
	struct small small = {};
	struct buffer file = {};
	struct outcome outcome;
	uint8_t bytes[FILE_HEADER_SIZE];

	/* A newer minor version may have a longer header; all else is as before. */
	small__make(state, &small, 2);
	file_header__pack(&header, bytes);
	buffer__put(&file, bytes, sizeof(bytes));
	buffer__put(&file, "whatever", 8);
	buffer__put(&file, small.file.data + FILE_HEADER_SIZE, small.file.n - FILE_HEADER_SIZE);
	outcome = outcome__of_memory(file.data, file.n);
	assert_string_equal(outcome.warning, "");
	assert_int_equal(outcome.records.n, small.whole.records.n);
	outcome__free(&outcome);

	header.major = FORMAT_MAJOR + 1;
	file_header__pack(&header, file.data);
	assert_int_equal(recording_reader__open_memory(file.data, file.n, &reader), -ENOTSUP);
	assert_non_null(strstr(error__hint_text(-ENOTSUP), "newer dwell"));
	assert_null(reader);
	buffer__free(&file);
	small__free(&small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(a_cut_is_told),
		cmocka_unit_test(every_flipped_bit_is_seen),
		cmocka_unit_test(damage_stays_in_its_chunk),
		cmocka_unit_test(shifted_bytes_are_survived),
		cmocka_unit_test(chunks_are_found_behind_much_damage),
		cmocka_unit_test(moved_chunks_are_seen),
		cmocka_unit_test(a_file_may_shrink_while_it_is_read),
		cmocka_unit_test(decompression_bombs_are_refused),
		cmocka_unit_test(a_wrong_count_is_told),
		cmocka_unit_test(later_versions_are_understood),
		cmocka_unit_test(hostile_values_are_stopped),
		cmocka_unit_test(stacks_have_a_largest_depth),
		cmocka_unit_test(garbage_with_right_checksums),
		cmocka_unit_test(newer_versions_are_refused),
	};

	return cmocka_run_group_tests_name("recording, damaged", tests, temp__make, temp__remove);
}
