// SPDX-License-Identifier: BSD-2-Clause
/* What a recorder remembers of things that have come and gone is bounded, and nothing is doubled.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/aging_map.h"
#include "base/cleanup.h"
#include "base/leaving_map.h"
#include "collect/record/translate.h"
#include "model/model.h"
#include "recording/record_stream.h"

#ifdef SANITIZED
#define SOME 20000
#else
#define SOME 140000 /* threads, until each table has been full at least once */
#endif

static char path[64];

static void aging_keeps_what_is_used(void **state)
{
	struct aging_map map = {};

	assert_null(aging_map__get(&map, 1));
	assert_int_equal(*aging_map__put(&map, 1, 10), 10);
	assert_int_equal(*aging_map__put(&map, 2, 20), 20);
	assert_int_equal(*aging_map__put(&map, 2, 21), 20);
	aging_map__age(&map);
	assert_int_equal(aging_map__young(&map), 0);
	*aging_map__get(&map, 1) = 11;
	assert_int_equal(aging_map__young(&map), 1);
	aging_map__age(&map);
	assert_int_equal(*aging_map__get(&map, 1), 11);
	assert_null(aging_map__get(&map, 2));
	aging_map__age(&map);
	aging_map__age(&map);
	assert_null(aging_map__get(&map, 1));
	aging_map__free(&map);
}

static void ended_entries_leave_in_order(void **state)
{
	struct leaving_map map;
	struct map64_slot gone;

	assert_int_equal(leaving_map__init(&map, 2), 0);
	for (uint64_t key = 1; key <= 5; key++)
		assert_non_null(leaving_map__put(&map, key, 10 * key));
	assert_false(leaving_map__end(&map, 9, &gone));
	assert_false(leaving_map__end(&map, 1, &gone));
	assert_false(leaving_map__end(&map, 2, &gone));
	*leaving_map__get(&map, 2) = 21; /* used again */
	assert_true(leaving_map__end(&map, 3, &gone));
	assert_int_equal(gone.key, 1);
	assert_int_equal(gone.value, 10);
	assert_null(leaving_map__get(&map, 1));
	assert_false(leaving_map__end(&map, 4, &gone));
	assert_int_equal(*leaving_map__get(&map, 2), 21);
	assert_true(leaving_map__end(&map, 5, &gone));
	assert_int_equal(gone.key, 3);
	leaving_map__free(&map);
}

struct fixture {
	struct recording_writer *writer;
	struct translator *translator;
};

static void begin_recording(struct fixture *fixture)
{
	snprintf(path, sizeof(path), "/tmp/dwell-bounded-%d.data", getpid());
	assert_int_equal(recording_writer__create(path, &fixture->writer), 0);
	assert_int_equal(
		translator__new(recording_writer__stream(fixture->writer), &fixture->translator),
		0);
}

static void end_recording(struct fixture *fixture)
{
	translator__end(fixture->translator);
	translator__free(fixture->translator);
	assert_int_equal(recording_writer__close(fixture->writer), 0);
}

static void send(const struct fixture *fixture, const void *event, size_t size)
{
	translator__event(fixture->translator, event, size);
}

/* A tid that no thread has: the highest is 2^22. */
static uint32_t no_tid(uint32_t number)
{
	return (1U << 23) + number;
}

static void send_birth(const struct fixture *fixture, uint32_t number, uint64_t time)
{
	struct event_thread thread = {
		.header = {EVENT_THREAD, number, time},
		.tid = no_tid(number),
		.tgid = no_tid(number),
		.parent = 1,
		.flags = THREAD_TARGET | THREAD_CREATED,
	};

	snprintf(thread.comm, sizeof(thread.comm), "t%u", number);
	send(fixture, &thread, sizeof(thread));
}

static void send_file(const struct fixture *fixture, uint32_t number, uint64_t time)
{
	_Alignas(8) char storage[sizeof(struct event_file) + 32] = {};
	struct event_file *file = (void *)storage;

	file->header = (struct event_header){EVENT_FILE, number, time};
	file->inode = number;
	file->size = (uint32_t)snprintf(file->names, 32, "file%u", number) + 1;
	send(fixture, file, sizeof(*file) + file->size);
}

/* A wait with a stack of its own, in a read of the file @inode. */
static void send_wait(const struct fixture *fixture, uint32_t number, uint64_t time, uint64_t inode,
		      uint64_t hash, bool frames)
{
	_Alignas(8) char storage[sizeof(struct event_interval) + 2 * sizeof(uint64_t)] = {};
	struct event_interval *event = (void *)storage;

	*event = (struct event_interval){
		.header = {EVENT_INTERVAL, number, time + 900},
		.t_out = time,
		.t_wake = time + 800,
		.class = CLASS_IO,
		.syscall = SYS_read,
		.blocked_points = 1,
		.object = {.type = OBJECT_FILE, .id = inode, .mode = S_IFREG},
		.stack = {.user_hash = hash, .user_depth = frames ? 2 : 0},
	};
	event->frames[0] = 0x401000 + hash;
	event->frames[1] = 0x402000;
	send(fixture, event, frames ? sizeof(storage) : sizeof(*event));
}

static void send_death(const struct fixture *fixture, uint32_t number, uint64_t time, bool final)
{
	struct event_totals totals = {
		.header = {EVENT_TOTALS, number, time},
		.ns = {[CLASS_IO] = 1000},
		.flags = TOTALS_EXITED | TOTALS_PROVISIONAL,
	};

	send(fixture, &totals, sizeof(totals));
	totals.flags = TOTALS_EXITED;
	if (final)
		send(fixture, &totals, sizeof(totals));
}

/* Returns the most memory that was in use. */
static size_t live_through(const struct fixture *fixture, uint32_t from, uint32_t until)
{
	size_t most = 0;

	for (uint32_t i = from; i < until; i++) {
		uint64_t time = 1000ULL * i;
		struct mallinfo2 used;

		send_birth(fixture, i, time);
		send_file(fixture, i, time);
		send_wait(fixture, i, time, i, 0x10000 + i, true);
		/* Of some the last event is lost, of some all. */
		if (i % 4)
			send_death(fixture, i, time + 1000, i % 8 != 1);
		if (i % 100)
			continue;
		if (translator__knows_many(fixture->translator))
			translator__forget_unused(fixture->translator);
		used = mallinfo2();
		if (used.uordblks + used.hblkhd > most)
			most = used.uordblks + used.hblkhd;
	}
	return most;
}

static void memory_does_not_grow_with_threads(void **state)
{
	struct fixture fixture;
	size_t before, after;

	begin_recording(&fixture);
	before = live_through(&fixture, 2, SOME);
	after = live_through(&fixture, SOME, 2 * SOME);
	end_recording(&fixture);
	unlink(path);
	/*
	 * The list of chunks in the file grows by 64 bytes for 256 KiB of records. (With
	 * sanitizers, both are 0: their malloc() does not count.)
	 */
	assert_in_range(after, 0, before + (128 << 10));
}

/* The threads, their totals, and the name of what each waited for. */
static void nothing_is_lost_of_ended_threads(void **state)
{
	const uint32_t n = 30000;
	struct fixture fixture;
	struct model *model;

	begin_recording(&fixture);
	live_through(&fixture, 2, n);
	end_recording(&fixture);
	assert_int_equal(model__load(path, &model), 0);
	assert_int_equal(model->threads.n, n); /* the parent, and [0] */
	for (size_t i = 1; i < model->threads.n; i++) {
		const struct model_thread *thread = &model->threads.data[i];
		char name[32];

		if (thread->number < 2)
			continue;
		snprintf(name, sizeof(name), "/file%u", thread->number);
		assert_int_equal(thread->intervals.n, 1);
		assert_string_equal(
			model__string(model,
				      model->objects.data[thread->intervals.data[0].object].name),
			name);
		assert_int_equal(thread->has_totals, thread->number % 4 != 0);
		assert_int_equal(model->stacks.data[thread->intervals.data[0].user].depth, 2);
	}
	model__free(model);
	unlink(path);
}

/* A thread that lives long, among many: what it does again is the same thing in the model. */
static void what_is_written_again_is_the_same(void **state)
{
	struct fixture fixture;
	struct model *model;
	const struct model_thread *thread = NULL;
	size_t names = 0;

	begin_recording(&fixture);
	send_birth(&fixture, 1, 1000);
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t begin = 2 + i * 20000;

		send_file(&fixture, 1, 1000ULL * begin);
		send_wait(&fixture, 1, 1000ULL * begin, 1, 0x77, true);
		live_through(&fixture, begin, begin + 20000);
	}
	end_recording(&fixture);
	assert_int_equal(model__load(path, &model), 0);
	for (size_t i = 1; i < model->threads.n; i++)
		if (model->threads.data[i].number == 1)
			thread = &model->threads.data[i];
	assert_non_null(thread);
	assert_int_equal(thread->intervals.n, 4);
	for (size_t i = 1; i < 4; i++) {
		assert_int_equal(thread->intervals.data[i].object,
				 thread->intervals.data[0].object);
		assert_int_equal(thread->intervals.data[i].user, thread->intervals.data[0].user);
	}
	for (size_t i = 1; i < model->objects.n; i++)
		names += !strcmp(model__string(model, model->objects.data[i].name), "/file1");
	assert_int_equal(names, 1);
	model__free(model);
	unlink(path);
}

/* Strings, DSOs and objects with more than a writer keeps. */
static void tables_of_a_writer_begin_anew(void **state)
{
	struct recording_writer *writer;
	struct recording_reader *reader;
	struct record record;
	uint32_t first = 0, again = 0, dso = 0;
	size_t ones = 0, strings = 0;

	snprintf(path, sizeof(path), "/tmp/dwell-bounded-%d.data", getpid());
	assert_int_equal(recording_writer__create(path, &writer), 0);
	first = record_stream__string(recording_writer__stream(writer), "one");
	assert_int_equal(record_stream__string(recording_writer__stream(writer), "one"), first);
	for (int i = 0; i < 3 * RECORD_STREAM_NUMBERS; i++) {
		char text[32];

		snprintf(text, sizeof(text), "%d", i);
		assert_int_equal(record_stream__string(recording_writer__stream(writer), text),
				 first + 1 + (uint32_t)i);
	}
	again = record_stream__string(recording_writer__stream(writer), "one");
	assert_int_not_equal(again, first);
	dso = record_stream__dso(recording_writer__stream(writer),
				 &(struct record_dso){.path = first, .build_id = again});
	assert_int_equal(dso, 1);
	assert_int_equal(recording_writer__close(writer), 0);

	assert_int_equal(recording_reader__open(path, &reader), 0);
	while (recording_reader__next(reader, &record) == 1) {
		strings += record.type == RECORD_STRING;
		ones += record.type == RECORD_STRING && !strcmp(record.string.bytes, "one");
		if (record.type == RECORD_DSO)
			assert_true(record.dso.path == first && record.dso.build_id == again);
	}
	assert_null(recording_reader__warning(reader));
	recording_reader__close(reader);
	assert_int_equal(ones, 2);
	assert_int_equal(strings, 3 * RECORD_STREAM_NUMBERS + 2);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aging_keeps_what_is_used),
		cmocka_unit_test(ended_entries_leave_in_order),
		cmocka_unit_test(memory_does_not_grow_with_threads),
		cmocka_unit_test(nothing_is_lost_of_ended_threads),
		cmocka_unit_test(what_is_written_again_is_the_same),
		cmocka_unit_test(tables_of_a_writer_begin_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
