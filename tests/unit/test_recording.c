// SPDX-License-Identifier: BSD-2-Clause
/* Recordings that are whole: what is put comes back, and where it stands in the file. */
#include "tests/unit/recording_support.h"

#include <errno.h>
#include <zlib.h>
#include <zstd.h>

static void every_record_survives(void **state)
{
	const char *path = temp__path(state, "random");

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct dice dice = {.state = seed};
		struct recording_writer *writer;
		struct copies put = {};
		struct outcome outcome;

		assert_int_equal(recording_writer__create(path, &writer), 0);
		random__put(writer, &dice, 3000, &put);
		assert_int_equal(recording_writer__close(writer), 0);
		outcome = outcome__of_file(path);
		assert_int_equal(outcome.err, 0);
		assert_string_equal(outcome.warning, "");
		assert_put(&outcome, &put);
		outcome__free(&outcome);
		copies__free(&put);
	}
}

/* Random tables: what a number stands for must be what was given for it, once. */
static void every_table_entry_survives(void **state)
{
	const char *path = temp__path(state, "entries");
	struct dice dice = {.state = 11};
	struct recording_writer *writer;
	_cleanup_outcome_ struct outcome outcome = {};
	struct copies given = {};
	struct map64 seen = {};
	struct record r;
	size_t fresh = 0;

	assert_int_equal(recording_writer__create(path, &writer), 0);
	for (int i = 0; i < 4000; i++) {
		memset(&r, 0, sizeof(r));
		if (i % 4 == 0) {
			r.type = RECORD_STRING;
			r.string.bytes = dice__text(&dice);
			r.string.size = strlen(r.string.bytes);
			r.string.number = record_stream__string(recording_writer__stream(writer),
								r.string.bytes);
		} else if (i % 4 == 1) {
			r.type = RECORD_STACK;
			r.stack = dice__stack(&dice);
			r.stack.number = put_stack(writer, &r.stack);
		} else if (i % 4 == 2) {
			r.type = RECORD_DSO;
			r.dso = dice__dso(&dice, writer);
			r.dso.number = record_stream__dso(recording_writer__stream(writer), &r.dso);
		} else {
			r.type = RECORD_OBJECT;
			r.object = dice__object(&dice, writer);
			r.object.number =
				record_stream__object(recording_writer__stream(writer), &r.object);
		}
		copies__add(&given, &r);
	}
	assert_int_equal(recording_writer__close(writer), 0);
	outcome = outcome__of_file(path);
	assert_string_equal(outcome.warning, "");
	for (size_t i = 0; i < outcome.records.n; i++) {
		const struct record *have = &outcome.records.data[i].record;
		/* Every table record has its number first. */
		uint64_t key = (uint64_t)have->type << 32 | have->string.number;

		assert_non_null(map64__put(&seen, key, i));
	}
	for (size_t i = 0; i < given.n; i++) {
		const struct record *want = &given.data[i].record;
		uint64_t key = (uint64_t)want->type << 32 | want->string.number;
		uint64_t *at = map64__get(&seen, key);

		if (want->type == RECORD_STRING && !want->string.size)
			continue;
		assert_non_null(at);
		fresh++;
		assert_true(record__same(&outcome.records.data[*at].record, want, false));
	}
	assert_true(fresh > 3000);
	map64__free(&seen);
	copies__free(&given);
}

/* Values that the reader's promises do not let through still survive the codec. */
static void codec_keeps_all_bits(void **state)
{
	struct encoder encoder = {};
	struct numbers numbers = {.limit = UINT32_MAX};
	struct decoder decoder = {.numbers = &numbers};
	struct record all = {.type = RECORD_OBJECT};
	struct record have;

	all.object.number = UINT32_MAX;
	all.object.id = all.object.extra = UINT64_MAX;
	all.object.mode = all.object.family = all.object.protocol = UINT32_MAX;
	assert_int_equal(encoder__put(&encoder, &all), 0);
	memset(&all, 0, sizeof(all));
	all.type = RECORD_INTERVAL;
	all.interval.thread = all.interval.waker = UINT32_MAX;
	all.interval.kernel_stack = all.interval.user_stack = UINT32_MAX;
	all.interval.syscall = INT32_MIN;
	all.interval.t_out = INT64_MAX;
	assert_int_equal(encoder__put(&encoder, &all), 0);
	all.interval.t_out = 0;
	assert_int_equal(encoder__put(&encoder, &all), 0);

	decoder__begin(&decoder, encoder.raw.data, encoder.raw.n);
	assert_int_equal(decoder__next(&decoder, &have), DECODED_RECORD);
	assert_int_equal(have.object.number, UINT32_MAX);
	assert_true(have.object.id == UINT64_MAX && have.object.protocol == UINT32_MAX);
	assert_int_equal(decoder__next(&decoder, &have), DECODED_RECORD);
	assert_true(have.interval.t_out == INT64_MAX && have.interval.syscall == INT32_MIN);
	assert_int_equal(decoder__next(&decoder, &have), DECODED_RECORD);
	assert_true(record__same(&have, &all, false));
	assert_int_equal(decoder__next(&decoder, &have), DECODED_END);
	assert_true(encoder.first_time == 0 && encoder.last_time == INT64_MAX);
	encoder__free(&encoder);
	decoder__free(&decoder);
	numbers__free(&numbers);
}

static void an_interval_takes_few_bytes(void **state)
{
	struct encoder encoder = {};
	struct record record = {.type = RECORD_INTERVAL};
	size_t n = 0;

	for (int i = 0; i < 1000; i++) {
		record.interval = (struct record_interval){
			.thread = 100,
			.waker = 101,
			.waker_context = WAKER_TASK,
			.class = CLASS_LOCK,
			.syscall = 202,
			.t_out = 90000000000000 + (uint64_t)i * 2500,
			.blocked_ns = 1500000,
			.runq_ns = 30000,
			.kernel_stack = 500,
			.user_stack = 20000,
			.object = 300,
		};
		assert_int_equal(encoder__put(&encoder, &record), 0);
	}
	n = encoder.raw.n / 1000;
	if (n > 25)
		fail_msg("an interval takes %zu bytes", n);
	encoder__free(&encoder);
}

/* Room is made for the longest form of each record (a sanitizer sees when it is not). */
static void the_longest_records_fit(void **state)
{
	char text[300];

	memset(text, 'x', sizeof(text));
	for (size_t before = 0; before < sizeof(text); before++) {
		for (int type = RECORD_META; type < LAYOUT_TYPES; type++) {
			struct record record = {
				.type = RECORD_STRING,
				.string = {.bytes = text, .size = before},
			};
			struct encoder encoder = {};

			assert_int_equal(encoder__put(&encoder, &record), 0);
			memset(&record, 0xff, sizeof(record));
			record.type = (enum record_type)type;
			if (type == RECORD_STRING)
				record.string.size = 0;
			if (type == RECORD_STACK)
				record.stack.depth = 0;
			if (type == RECORD_TOTALS)
				record.totals.time = 1ULL << 62;
			assert_int_equal(encoder__put(&encoder, &record), 0);
			encoder__free(&encoder);
		}
	}
}

static void the_example_of_the_format_page(void **state)
{
	static const uint8_t bytes[] = {0x0b, 0x05, 0x05, 0xd0, 0x0f, 0x01, 0x08};
	struct record record = {
		.type = RECORD_SAMPLE,
		.sample = {.thread = 5, .time = 1000, .weight = 1, .user_stack = 8},
	};
	struct encoder encoder = {};

	assert_int_equal(encoder__put(&encoder, &record), 0);
	assert_int_equal(encoder.raw.n, sizeof(bytes));
	assert_memory_equal(encoder.raw.data, bytes, sizeof(bytes));
	encoder__free(&encoder);
}

/* Tables: every field at an offset of its own, additions only behind. */
static void layouts_are_sound(void **state)
{
	for (uint64_t type = 0; type < 64; type++) {
		const struct layout *layout = layout__of(type);
		unsigned int chained = 0, introduced = 0;

		assert_true(!layout == (type < RECORD_META || type >= LAYOUT_TYPES));
		for (size_t i = 0; layout && i < layout->n; i++) {
			const struct field *field = &layout->fields[i];

			chained += field->encoding >= ENCODING_DELTA &&
				   field->encoding <= ENCODING_END_TIME;
			assert_true(field->introduced >= introduced);
			assert_true(field->introduced <= FORMAT_MINOR);
			introduced = field->introduced;
			assert_true(field->encoding != ENCODING_NUMBER || i == 0);
			for (size_t k = 0; k < i; k++)
				assert_true(layout->fields[k].offset != field->offset);
		}
		assert_true(chained <= 1);
	}
}

static void tables_give_each_thing_one_number(void **state)
{
	const char *path = temp__path(state, "tables");
	struct recording_writer *writer;
	uint64_t frames[] = {0x401000, 0x7f0000001000, 0xffffffff81000000};
	struct record_stack stack = {.frames = frames, .depth = 3};
	struct record_object object = {.type = OBJECT_FILE, .id = 5};
	struct record_dso dso = {};
	uint32_t a, b;
	_cleanup_outcome_ struct outcome outcome = {};

	assert_int_equal(recording_writer__create(path, &writer), 0);
	assert_int_equal(record_stream__string(recording_writer__stream(writer), ""), 0);
	assert_int_equal(record_stream__string(recording_writer__stream(writer), NULL), 0);
	a = record_stream__string(recording_writer__stream(writer), "/bin/true");
	b = record_stream__string(recording_writer__stream(writer), "/bin/false");
	assert_int_equal(a, 1);
	assert_int_equal(b, 2);
	assert_int_equal(record_stream__string(recording_writer__stream(writer), "/bin/true"), a);

	a = put_stack(writer, &stack);
	stack.number = 99; /* not looked at */
	assert_int_equal(put_stack(writer, &stack), a);
	stack.end = STACK_TOO_DEEP;
	assert_int_not_equal(put_stack(writer, &stack), a);
	stack.depth = 2;
	assert_int_not_equal(put_stack(writer, &stack), a);

	a = record_stream__object(recording_writer__stream(writer), &object);
	object.extra = 1;
	assert_int_not_equal(record_stream__object(recording_writer__stream(writer), &object), a);
	object.extra = 0;
	assert_int_equal(record_stream__object(recording_writer__stream(writer), &object), a);

	dso.path = b;
	a = record_stream__dso(recording_writer__stream(writer), &dso);
	dso.build_id = record_stream__string(recording_writer__stream(writer), "0123abcd");
	assert_int_not_equal(record_stream__dso(recording_writer__stream(writer), &dso), a);
	assert_int_equal(recording_writer__close(writer), 0);

	outcome = outcome__of_file(path);
	assert_string_equal(outcome.warning, "");
	assert_int_equal(outcome.records.n, 3 + 3 + 2 + 2);
	assert_string_equal(outcome.records.data[0].record.string.bytes, "/bin/true");
	assert_true(outcome.records.data[2].record.stack.frames[2] == frames[2]);
}

static const struct record_stack *stack_numbered(const struct outcome *outcome, uint32_t number)
{
	for (size_t i = 0; i < outcome->records.n; i++)
		if (outcome->records.data[i].record.type == RECORD_STACK &&
		    outcome->records.data[i].record.stack.number == number)
			return &outcome->records.data[i].record.stack;
	return NULL;
}

static void stacks_may_come_late(void **state)
{
	const char *path = temp__path(state, "late");
	struct recording_writer *writer;
	struct record record = {.type = RECORD_SAMPLE};
	uint64_t frames[] = {1, 2, 3};
	struct record_stack stack = {.frames = frames, .depth = 3};
	_cleanup_outcome_ struct outcome outcome = {};
	uint32_t late, never, early, plain;

	assert_int_equal(recording_writer__create(path, &writer), 0);
	late = record_stream__stack_by_hash(recording_writer__stream(writer), 0x1234);
	never = record_stream__stack_by_hash(recording_writer__stream(writer), UINT64_MAX);
	plain = put_stack(writer, &stack);
	assert_int_equal(record_stream__stack_by_hash(recording_writer__stream(writer), 0), 0);
	record.sample.kernel_stack = late;
	record.sample.user_stack = never;
	assert_int_equal(record_stream__put(recording_writer__stream(writer), &record), 0);
	assert_int_equal(recording_writer__flush(writer), 0);
	stack.depth = 2;
	record_stream__stack_frames(recording_writer__stream(writer), 0x1234, &stack);
	stack.depth = 1; /* the first one counts */
	record_stream__stack_frames(recording_writer__stream(writer), 0x1234, &stack);
	record_stream__stack_frames(recording_writer__stream(writer), 0x77, &stack);
	early = record_stream__stack_by_hash(recording_writer__stream(writer), 0x77);
	assert_int_equal(record_stream__stack_by_hash(recording_writer__stream(writer), 0x1234),
			 late);
	assert_true(late != never && never != plain && plain != early && late != plain);
	assert_int_equal(recording_writer__close(writer), 0);

	outcome = outcome__of_file(path);
	assert_string_equal(outcome.warning, "");
	assert_int_equal(outcome.records.n, 4);
	assert_int_equal(outcome.records.data[1].record.sample.kernel_stack, late);
	assert_int_equal(outcome.records.data[1].record.sample.user_stack, never);
	assert_int_equal(stack_numbered(&outcome, late)->depth, 2);
	assert_int_equal(stack_numbered(&outcome, early)->depth, 1);
	assert_null(stack_numbered(&outcome, never));
}

static void the_too_long_is_cut(void **state)
{
	const char *path = temp__path(state, "long");
	_cleanup_free_ char *text = calloc(1, (2u << 20) + 1);
	_cleanup_free_ uint64_t *frames = calloc(10000, sizeof(*frames));
	struct record_stack stack = {.frames = frames, .depth = 10000};
	struct recording_writer *writer;
	_cleanup_outcome_ struct outcome outcome = {};

	memset(text, 'x', 2u << 20);
	assert_int_equal(recording_writer__create(path, &writer), 0);
	record_stream__string(recording_writer__stream(writer), text);
	put_stack(writer, &stack);
	assert_int_equal(recording_writer__close(writer), 0);
	outcome = outcome__of_file(path);
	assert_string_equal(outcome.warning, "");
	assert_int_equal(outcome.records.n, 2);
	assert_int_equal(outcome.records.data[0].record.string.size, 1u << 20);
	assert_int_equal(outcome.records.data[1].record.stack.depth, 4096);
	assert_int_equal(outcome.records.data[1].record.stack.end, STACK_TOO_DEEP);
}

static void meta_is_formatted(void **state)
{
	const char *path = temp__path(state, "meta");
	struct recording_writer *writer;
	_cleanup_outcome_ struct outcome outcome = {};

	assert_int_equal(recording_writer__create(path, &writer), 0);
	assert_int_equal(record_stream__meta(recording_writer__stream(writer), "cpus", "%d of %s",
					     2, "many"),
			 0);
	assert_int_equal(recording_writer__close(writer), 0);
	outcome = outcome__of_file(path);
	assert_int_equal(outcome.records.n, 3);
	assert_string_equal(outcome.records.data[0].record.string.bytes, "cpus");
	assert_string_equal(outcome.records.data[1].record.string.bytes, "2 of many");
	assert_int_equal(outcome.records.data[2].record.meta.key, 1);
	assert_int_equal(outcome.records.data[2].record.meta.value, 2);
}

static void only_events_can_be_put(void **state)
{
	struct record record = {.type = RECORD_LOST};
	struct recording_writer *writer;

	assert_int_equal(recording_writer__create(temp__path(state, "put"), &writer), 0);
	for (int type = 0; type < 300; type++) {
		bool event = type == RECORD_META || (type > RECORD_OBJECT && type < LAYOUT_TYPES);

		record.type = (enum record_type)type;
		assert_int_equal(record_stream__put(recording_writer__stream(writer), &record),
				 event ? 0 : -EINVAL);
	}
	assert_int_equal(recording_writer__close(writer), 0);
	assert_int_equal(recording_writer__close(NULL), 0);
}

static void an_empty_recording_reads_as_one(void **state)
{
	const char *path = temp__path(state, "none");
	struct recording_writer *writer;
	_cleanup_outcome_ struct outcome outcome = {};

	assert_int_equal(recording_writer__create(path, &writer), 0);
	assert_int_equal(recording_writer__close(writer), 0);
	outcome = outcome__of_file(path);
	assert_int_equal(outcome.err, 0);
	assert_int_equal(outcome.records.n, 0);
	assert_string_equal(outcome.warning, "");
}

static void rewinding_gives_the_same_again(void **state)
{
	const char *path = temp__path(state, "rewind");
	_cleanup_reader_ struct recording_reader *reader = NULL;
	struct copies first = {};
	struct record record;
	size_t n = 0;

	random__write(path, 7, 5, 50);
	assert_int_equal(recording_reader__open(path, &reader), 0);
	assert_int_equal(recording_reader__next(reader, &record), 1);
	recording_reader__rewind(reader);
	while (recording_reader__next(reader, &record) == 1)
		copies__add(&first, &record);
	assert_int_equal(reader->offset, reader->source.size - TRAILER_SIZE);
	recording_reader__rewind(reader);
	while (recording_reader__next(reader, &record) == 1)
		assert_true(record__same(&record, &first.data[n++].record, false));
	assert_int_equal(n, first.n);
	assert_null(recording_reader__warning(reader));
	copies__free(&first);
}

static uint64_t little_endian(const uint8_t *at, unsigned int bytes)
{
	uint64_t value = 0;

	for (unsigned int i = bytes; i > 0; i--)
		value = value << 8 | at[i - 1];
	return value;
}

/* The contents of the chunk at @bytes. */
static struct buffer chunk_contents(const uint8_t *bytes, struct chunk_header *header)
{
	const uint8_t *payload = bytes + CHUNK_HEADER_SIZE;
	struct buffer raw = {};

	assert_true(chunk_header__unpack(bytes, header));
	raw.data = malloc(header->raw_size);
	raw.n = header->raw_size;
	if (header->codec == CODEC_STORED)
		memcpy(raw.data, payload, raw.n);
	else
		assert_int_equal(ZSTD_decompress(raw.data, raw.n, payload, header->stored_size),
				 raw.n);
	return raw;
}

static uint64_t unzigzag(uint64_t value)
{
	return (value >> 1) ^ -(value & 1);
}

/* Compares the entries of one index chunk with the chunks from @number on. */
static void check_index_chunk(const uint8_t *file, const uint8_t *index, uint32_t *number,
			      uint64_t *records)
{
	struct chunk_header header;
	_cleanup_(buffer__free) struct buffer raw = chunk_contents(index, &header);
	struct cursor cursor = {.at = raw.data, .end = raw.data + raw.n};
	uint64_t offset = 0, first = 0;
	uint32_t entries = header.records;

	assert_int_equal(header.type, CHUNK_INDEX);
	for (uint32_t i = 0; i < entries; i++) {
		assert_int_equal(cursor__varint(&cursor), CHUNK_DATA);
		offset += cursor__varint(&cursor);
		assert_true(chunk_header__unpack(file + offset, &header));
		assert_int_equal(header.number, (*number)++);
		assert_int_equal(cursor__varint(&cursor), header.stored_size);
		*records += header.records;
		assert_int_equal(cursor__varint(&cursor), header.records);
		first += unzigzag(cursor__varint(&cursor));
		assert_true(first == header.first_time);
		assert_true(first + cursor__varint(&cursor) == header.last_time);
	}
	assert_int_equal(cursor__left(&cursor), 0);
}

/* The end of the file, read as docs/format.md has it. Returns the number of index chunks. */
static unsigned int check_end(const char *path, uint32_t chunks)
{
	_cleanup_(buffer__free) struct buffer file = file__read(path);
	const uint8_t *trailer = file.data + file.n - 40;
	const uint8_t *index = file.data + little_endian(trailer + 8, 8);
	unsigned int n = 0;
	uint32_t number = 0;
	uint64_t records = 0;

	assert_memory_equal(file.data, "\x89\x44\x57\x4c\r\n\x1a\n\1\0\x08\0\x20\0\0\0", 16);
	assert_memory_equal(trailer,
			    "\x89"
			    "DWLTRLR",
			    8);
	assert_int_equal(little_endian(trailer + 36, 4), crc32(0, trailer, 36));
	assert_int_equal(little_endian(trailer + 24, 4), chunks);
	while (index < trailer) {
		struct chunk_header header;

		check_index_chunk(file.data, index, &number, &records);
		assert_true(chunk_header__unpack(index, &header));
		assert_int_equal(header.number, chunks + n++);
		index += CHUNK_HEADER_SIZE + header.stored_size;
	}
	assert_ptr_equal(index, trailer);
	assert_int_equal(number, chunks);
	assert_int_equal(little_endian(trailer + 16, 8), records);
	return n;
}

static void the_index_points_at_every_chunk(void **state)
{
	const char *path = temp__path(state, "index");

	random__write(path, 8, 20, 30);
	assert_int_equal(check_end(path, 20), 1);
}

static void a_long_index_has_several_chunks(void **state)
{
	const char *path = temp__path(state, "long-index");
	_cleanup_outcome_ struct outcome outcome = {};

	random__write(path, 9, 40000, 1);
	assert_true(check_end(path, 40000) > 1);
	outcome = outcome__of_file(path);
	assert_string_equal(outcome.warning, "");
}

/* Also when nothing but tables is written. */
static void chunks_stay_small(void **state)
{
	const char *path = temp__path(state, "strings");
	_cleanup_reader_ struct recording_reader *reader = NULL;
	struct recording_writer *writer;
	struct record record;
	char text[1001];
	unsigned int n = 0;

	assert_int_equal(recording_writer__create(path, &writer), 0);
	for (int i = 0; i < 20000; i++) {
		snprintf(text, sizeof(text), "%0*d", (int)sizeof(text) - 1, i);
		record_stream__string(recording_writer__stream(writer), text);
	}
	assert_int_equal(recording_writer__close(writer), 0);
	assert_int_equal(recording_reader__open(path, &reader), 0);
	while (recording_reader__next(reader, &record) == 1)
		n++;
	assert_null(recording_reader__warning(reader));
	assert_int_equal(n, 20000);
	for (size_t i = 0; i < reader->chunks.n; i++)
		assert_true(reader->chunks.data[i].header.raw_size < CHUNK_RAW_TARGET + 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_record_survives),
		cmocka_unit_test(every_table_entry_survives),
		cmocka_unit_test(codec_keeps_all_bits),
		cmocka_unit_test(an_interval_takes_few_bytes),
		cmocka_unit_test(the_longest_records_fit),
		cmocka_unit_test(the_example_of_the_format_page),
		cmocka_unit_test(layouts_are_sound),
		cmocka_unit_test(tables_give_each_thing_one_number),
		cmocka_unit_test(stacks_may_come_late),
		cmocka_unit_test(the_too_long_is_cut),
		cmocka_unit_test(meta_is_formatted),
		cmocka_unit_test(only_events_can_be_put),
		cmocka_unit_test(an_empty_recording_reads_as_one),
		cmocka_unit_test(rewinding_gives_the_same_again),
		cmocka_unit_test(the_index_points_at_every_chunk),
		cmocka_unit_test(a_long_index_has_several_chunks),
		cmocka_unit_test(chunks_stay_small),
	};

	return cmocka_run_group_tests_name("recording", tests, temp__make, temp__remove);
}
