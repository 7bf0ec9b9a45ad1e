// SPDX-License-Identifier: BSD-2-Clause
/* From events to records: paths, waits for any child, events that contradict themselves. */
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

#include "base/cleanup.h"
#include "collect/record/translate.h"

static char path[64];

struct fixture {
	struct recording_writer *writer;
	struct translator *translator;
};

static struct fixture begin_recording(void)
{
	struct fixture fixture;

	snprintf(path, sizeof(path), "/tmp/dwell-translate-%d.data", getpid());
	assert_int_equal(recording_writer__create(path, &fixture.writer), 0);
	assert_int_equal(
		translator__new(recording_writer__stream(fixture.writer), &fixture.translator), 0);
	return fixture;
}

/* Closes the recording and reads it: the last record of @type, with strings in @strings. */
static bool finish(struct fixture *fixture, enum record_type type, struct record *last,
		   char strings[64][256])
{
	struct recording_reader *reader;
	struct record record;
	bool found = false;

	translator__free(fixture->translator);
	assert_int_equal(recording_writer__close(fixture->writer), 0);
	assert_int_equal(recording_reader__open(path, &reader), 0);
	while (recording_reader__next(reader, &record) == 1) {
		if (record.type == RECORD_STRING && record.string.number < 64)
			snprintf(strings[record.string.number], 256, "%s", record.string.bytes);
		if (record.type != type)
			continue;
		*last = record;
		found = true;
	}
	assert_null(recording_reader__warning(reader));
	recording_reader__close(reader);
	unlink(path);
	return found;
}

static void send(struct fixture *fixture, const void *event, size_t size)
{
	translator__event(fixture->translator, event, size);
}

static struct event_interval interval(uint32_t thread)
{
	return (struct event_interval){
		.header = {EVENT_INTERVAL, thread, 300},
		.t_out = 100,
		.t_wake = 250,
		.class = CLASS_OTHER,
		.syscall = SYS_read,
	};
}

/* The kernel side sends names from the file up; inode 77 lies in a mount below the root. */
static void file_names_become_a_path(void **state)
{
	static const char names[] = "x.sst\0db\0lib\0var";
	char storage[sizeof(struct event_file) + sizeof(names)] = {};
	struct event_file *file = (void *)storage;
	struct event_interval event = interval(1);
	struct fixture fixture = begin_recording();
	char strings[64][256] = {};
	struct record last;

	file->header = (struct event_header){EVENT_FILE, 1, 300};
	file->inode = 77;
	file->device = 5;
	file->size = sizeof(names);
	memcpy(file->names, names, sizeof(names));
	send(&fixture, file, sizeof(storage));
	event.object =
		(struct event_object){.type = OBJECT_FILE, .mode = S_IFREG, .id = 77, .extra = 5};
	send(&fixture, &event, sizeof(event));
	assert_true(finish(&fixture, RECORD_OBJECT, &last, strings));
	assert_string_equal(strings[last.object.name], "/var/lib/db/x.sst");
}

/* Of a renamed file, or of another one with the inode of a deleted file. */
static void a_later_name_replaces_the_first(void **state)
{
	static const char *const names[] = {"first", "second"};
	struct fixture fixture = begin_recording();
	char strings[64][256] = {};
	struct record last;

	for (int i = 0; i < 2; i++) {
		char storage[sizeof(struct event_file) + 16] = {};
		struct event_file *file = (void *)storage;
		struct event_interval event = interval(1);

		file->header = (struct event_header){EVENT_FILE, 1, 300};
		file->inode = 77;
		file->device = 5;
		file->size = (uint32_t)strlen(names[i]) + 1;
		memcpy(file->names, names[i], file->size);
		send(&fixture, file, sizeof(storage));
		event.object = (struct event_object){
			.type = OBJECT_FILE, .mode = S_IFREG, .id = 77, .extra = 5};
		send(&fixture, &event, sizeof(event));
	}
	assert_true(finish(&fixture, RECORD_OBJECT, &last, strings));
	assert_string_equal(strings[last.object.name], "/second");
}

static void sockets_have_addresses(void **state)
{
	struct event_interval event = interval(1);
	struct fixture fixture = begin_recording();
	char strings[64][256] = {};
	struct record last;

	event.object = (struct event_object){
		.type = OBJECT_SOCKET,
		.family = 2,
		.id = 9,
		.peer_port = 5432,
		.peer = {127, 0, 0, 1},
		.local_port = 40000,
		.local = {127, 0, 0, 1},
	};
	send(&fixture, &event, sizeof(event));
	assert_true(finish(&fixture, RECORD_OBJECT, &last, strings));
	assert_string_equal(strings[last.object.name], "127.0.0.1:5432");
	assert_string_equal(strings[last.object.local], "127.0.0.1:40000");
}

/* wait4(-1): the child is the one whose end woke the parent. */
static void any_child_is_the_one_that_woke(void **state)
{
	struct event_thread child = {
		.header = {EVENT_THREAD, 2, 50}, .tid = 4242, .tgid = 4242, .flags = THREAD_KERNEL};
	struct event_interval event = interval(1);
	struct fixture fixture = begin_recording();
	char strings[64][256] = {};
	struct record last;

	send(&fixture, &child, sizeof(child));
	event.syscall = SYS_wait4;
	event.waker = 2;
	event.waker_context = WAKER_TASK;
	send(&fixture, &event, sizeof(event));
	assert_true(finish(&fixture, RECORD_OBJECT, &last, strings));
	assert_int_equal(last.object.type, OBJECT_CHILD);
	assert_int_equal(last.object.id, 4242);
}

/* It blocks within do_exit(), and the recording ends before its last switch. */
static void a_thread_that_exits_slowly(void **state)
{
	struct event_thread about = {
		.header = {EVENT_THREAD, 1, 50}, .tid = 71, .tgid = 71, .flags = THREAD_TARGET};
	struct event_totals totals = {.header = {EVENT_TOTALS, 1, 900},
				      .flags = TOTALS_EXITED | TOTALS_PROVISIONAL};
	struct event_interval wait = interval(1);
	struct event_sample sample = {.header = {EVENT_SAMPLE, 1, 980}, .weight = 1};
	struct fixture fixture = begin_recording();
	struct record last;
	char strings[64][256] = {};

	send(&fixture, &about, sizeof(about));
	send(&fixture, &totals, sizeof(totals));
	wait.header.time = 970;
	wait.t_out = 900;
	wait.t_wake = 960;
	send(&fixture, &wait, sizeof(wait));
	assert_int_equal(translator__last_exit(fixture.translator), 970);
	send(&fixture, &sample, sizeof(sample));
	assert_int_equal(translator__last_exit(fixture.translator), 981);
	/* The recording ends at 990. */
	totals.header.time = 990;
	totals.flags = 0;
	send(&fixture, &totals, sizeof(totals));
	assert_int_equal(translator__last_exit(fixture.translator), 0);
	assert_true(finish(&fixture, RECORD_TOTALS, &last, strings));
	assert_int_equal(last.totals.time, 990);
	assert_int_equal(last.totals.flags, 0);
}

/* The last switch of thread 1 was seen, that of thread 2 was not. */
static void provisional_totals_stand_in(void **state)
{
	struct fixture fixture = begin_recording();
	struct recording_reader *reader;
	struct record record;
	uint64_t cpu[3] = {}, times[3] = {};
	int n = 0;

	for (uint32_t thread = 1; thread <= 2; thread++) {
		struct event_thread about = {.header = {EVENT_THREAD, thread, 50},
					     .tid = 70 + thread,
					     .tgid = 70,
					     .flags = THREAD_TARGET};
		struct event_totals totals = {.header = {EVENT_TOTALS, thread, 900},
					      .ns = {500},
					      .flags = TOTALS_EXITED | TOTALS_PROVISIONAL};

		send(&fixture, &about, sizeof(about));
		assert_int_equal(translator__last_exit(fixture.translator), 0);
		send(&fixture, &totals, sizeof(totals));
		assert_int_equal(translator__last_exit(fixture.translator), 900);
	}
	send(&fixture,
	     &(struct event_totals){
		     .header = {EVENT_TOTALS, 1, 950}, .ns = {520}, .flags = TOTALS_EXITED},
	     sizeof(struct event_totals));
	assert_int_equal(translator__last_exit(fixture.translator), 950);
	/* What another CPU sent earlier is read later. */
	send(&fixture,
	     &(struct event_totals){.header = {EVENT_TOTALS, 1, 920},
				    .ns = {510},
				    .flags = TOTALS_EXITED | TOTALS_PROVISIONAL},
	     sizeof(struct event_totals));
	assert_int_equal(translator__last_exit(fixture.translator), 950);
	translator__end(fixture.translator);
	translator__free(fixture.translator);
	assert_int_equal(recording_writer__close(fixture.writer), 0);
	assert_int_equal(recording_reader__open(path, &reader), 0);
	while (recording_reader__next(reader, &record) == 1) {
		if (record.type != RECORD_TOTALS)
			continue;
		assert_in_range(record.totals.thread, 1, 2);
		assert_int_equal(record.totals.flags, TOTALS_EXITED);
		cpu[record.totals.thread] = record.totals.ns[CLASS_CPU];
		times[record.totals.thread] = record.totals.time;
		n++;
	}
	recording_reader__close(reader);
	unlink(path);
	assert_int_equal(n, 2);
	assert_int_equal(cpu[1], 520);
	assert_int_equal(times[1], 950);
	assert_int_equal(cpu[2], 500);
	assert_int_equal(times[2], 900);
}

/* The same stack by hash only: one number, and the frames that came with the first. */
static void stacks_are_known_by_hash(void **state)
{
	char storage[sizeof(struct event_interval) + 3 * sizeof(uint64_t)] = {};
	struct event_interval *event = (void *)storage;
	static const uint64_t frames[] = {0xffffffff81000010, 0x401000, 0x402000};
	struct fixture fixture = begin_recording();
	char strings[64][256] = {};
	struct record last, stack;

	*event = interval(1);
	event->stack = (struct event_stack){
		.kernel_hash = 11, .user_hash = 22, .kernel_depth = 1, .user_depth = 2};
	memcpy(event->frames, frames, sizeof(frames));
	send(&fixture, event, sizeof(storage));
	event->stack.kernel_depth = event->stack.user_depth = 0;
	event->header.time = 400;
	send(&fixture, event, sizeof(*event));
	recording_writer__flush(fixture.writer);
	{
		struct recording_reader *reader;
		uint32_t kernel = 0, user = 0, seen = 0;

		assert_int_equal(recording_reader__open(path, &reader), 0);
		while (recording_reader__next(reader, &stack) == 1) {
			if (stack.type == RECORD_STACK && stack.stack.kernel) {
				assert_int_equal(stack.stack.depth, 1);
				assert_int_equal(stack.stack.frames[0], frames[0]);
				kernel = stack.stack.number;
			} else if (stack.type == RECORD_STACK) {
				assert_int_equal(stack.stack.depth, 2);
				assert_int_equal(stack.stack.frames[1], frames[2]);
				user = stack.stack.number;
			} else if (stack.type == RECORD_INTERVAL) {
				assert_int_equal(stack.interval.kernel_stack, kernel);
				assert_int_equal(stack.interval.user_stack, user);
				seen++;
			}
		}
		assert_int_equal(seen, 2);
		recording_reader__close(reader);
	}
	assert_true(finish(&fixture, RECORD_INTERVAL, &last, strings));
}

/* Sizes that do not hold, times that run backwards, unknown types: passed over. */
static void nonsense_is_passed_over(void **state)
{
	struct event_interval event = interval(1);
	struct event_file file = {.header = {EVENT_FILE, 1, 1}, .size = 1 << 20};
	struct event_header unknown = {999, 1, 1};
	struct fixture fixture = begin_recording();
	char strings[64][256] = {};
	struct record last;

	send(&fixture, &event, sizeof(event) - 1);
	event.stack.user_depth = 500;
	send(&fixture, &event, sizeof(event));
	event = interval(1);
	event.t_wake = 350;
	send(&fixture, &event, sizeof(event));
	event.t_wake = 50;
	send(&fixture, &event, sizeof(event));
	send(&fixture, &file, sizeof(file));
	send(&fixture, &unknown, sizeof(unknown));
	assert_false(finish(&fixture, RECORD_INTERVAL, &last, strings));
}

/* Tags of requests are recorded, with id and queue, if they were asked for. */
static void tags_are_recorded_on_request(void **state)
{
	static const char *const names[] = {"dwell:requests", "other"};
	struct event_thread thread = {
		.header = {EVENT_THREAD, 3, 50}, .tid = 42, .tgid = 42, .flags = THREAD_TARGET};
	const struct annotation begin = {100, UINT64_MAX, 0x1234, 42, DWELL_EVENT_REQUEST_BEGIN};
	const struct annotation end = {200, UINT64_MAX, 0, 42, DWELL_EVENT_REQUEST_END};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct span_sources sources = {};
		struct fixture fixture = begin_recording();
		char strings[64][256] = {};
		struct record last;

		assert_int_equal(span_sources__add(&sources, names[i]), 0);
		translator__set_sources(fixture.translator, &sources);
		send(&fixture, &thread, sizeof(thread));
		assert_true(translator__annotation(fixture.translator, &begin, NULL));
		assert_int_equal(translator__spans(fixture.translator, 0), 0);
		if (i)
			assert_true(translator__annotation(fixture.translator, &end, NULL));
		assert_int_equal(finish(&fixture, RECORD_ANNOTATION, &last, strings), !i);
		span_sources__free(&sources);
		if (i)
			continue;
		assert_int_equal(last.annotation.thread, 3);
		assert_int_equal(last.annotation.type, ANNOTATION_REQUEST_BEGIN);
		assert_true(last.annotation.address == UINT64_MAX);
		assert_int_equal(last.annotation.queue, 0x1234);
		assert_int_equal(last.annotation.other, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_names_become_a_path),
		cmocka_unit_test(a_later_name_replaces_the_first),
		cmocka_unit_test(sockets_have_addresses),
		cmocka_unit_test(any_child_is_the_one_that_woke),
		cmocka_unit_test(a_thread_that_exits_slowly),
		cmocka_unit_test(provisional_totals_stand_in),
		cmocka_unit_test(stacks_are_known_by_hash),
		cmocka_unit_test(nonsense_is_passed_over),
		cmocka_unit_test(tags_are_recorded_on_request),
	};

	return cmocka_run_group_tests_name("translate", tests, NULL, NULL);
}
