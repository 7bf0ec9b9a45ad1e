// SPDX-License-Identifier: BSD-2-Clause
/* Times in which a thread was not allowed to run, from events to records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "collect/record/translate.h"

/* What was recorded of one interval event. */
struct recorded {
	struct record_interval intervals[4];
	size_t n;
	struct record_object objects[4]; /* by interval; zeroed: none */
	char names[4][256];
	char values[4][64];
};

struct reading {
	struct record_object objects[16];
	char strings[64][256];
};

static void keep(struct reading *reading, const struct record *record, struct recorded *out)
{
	const struct record_object *object;
	size_t at = out->n;

	if (record->type == RECORD_STRING && record->string.number < 64)
		snprintf(reading->strings[record->string.number], 256, "%s", record->string.bytes);
	if (record->type == RECORD_OBJECT && record->object.number < 16)
		reading->objects[record->object.number] = record->object;
	if (record->type != RECORD_INTERVAL)
		return;
	assert_true(at < 4);
	object = &reading->objects[record->interval.object];
	out->intervals[at] = record->interval;
	out->objects[at] = *object;
	snprintf(out->names[at], 256, "%s", reading->strings[object->name]);
	snprintf(out->values[at], 64, "%.63s", reading->strings[object->local]);
	out->n++;
}

/* Sends @limit with @names of @size bytes, unless it is NULL, and @event; reads what is recorded.
 */
static struct recorded translate(const struct event_limit *limit, const char *names, size_t size,
				 const struct event_interval *event)
{
	char path[64], storage[sizeof(*limit) + 256] = {};
	struct event_limit *sent = (void *)storage;
	struct recording_writer *writer;
	struct recording_reader *reader;
	struct translator *translator;
	struct reading reading = {};
	struct recorded out = {};
	struct record record;

	snprintf(path, sizeof(path), "/tmp/dwell-stops-%d.data", getpid());
	assert_int_equal(recording_writer__create(path, &writer), 0);
	assert_int_equal(translator__new(recording_writer__stream(writer), &translator), 0);
	if (limit) {
		*sent = *limit;
		sent->header.type = EVENT_LIMIT;
		sent->size = (uint32_t)size;
		memcpy(sent->names, names, size);
		translator__event(translator, &sent->header, sizeof(*sent) + size);
	}
	translator__event(translator, &event->header, sizeof(*event));
	translator__free(translator);
	assert_int_equal(recording_writer__close(writer), 0);
	assert_int_equal(recording_reader__open(path, &reader), 0);
	while (recording_reader__next(reader, &record) == 1)
		keep(&reading, &record, &out);
	assert_null(recording_reader__warning(reader));
	recording_reader__close(reader);
	unlink(path);
	return out;
}

static struct event_interval interval(enum wait_class class)
{
	return (struct event_interval){
		.header = {EVENT_INTERVAL, 1, 1000},
		.t_out = 100,
		.t_wake = class == CLASS_SCHED ? 100 : 400,
		.class = class,
		.flags = class == CLASS_SCHED ? INTERVAL_PREEMPTED : INTERVAL_UNINTERRUPTIBLE,
		.waker = 2,
		.waker_context = WAKER_TASK,
		.syscall = SYS_read,
		.sequence = 7,
		.stolen = 20000,
	};
}

static const struct event_limit quota = {
	.id = 55, .value = 20000000, .period = 100000000, .cause = STOP_QUOTA};
static const char group[] = "inner\0outer";

/* The first part of what a preempted thread waited: one interval, with the rest as run queue. */
static void a_preempted_thread_is_stopped(void **state)
{
	struct event_interval event = interval(CLASS_SCHED);
	struct recorded got;

	event.stopped = 600;
	event.stop = STOP_QUOTA;
	event.stopped_by = 55;
	event.stopped_points = 3;
	event.runq_points = 1;
	got = translate(&quota, group, sizeof(group), &event);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.intervals[0].class, CLASS_STOPPED);
	assert_int_equal(got.intervals[0].t_out, 100);
	assert_int_equal(got.intervals[0].blocked_ns, 600);
	assert_int_equal(got.intervals[0].runq_ns, 300);
	assert_int_equal(got.intervals[0].blocked_points, 3);
	assert_int_equal(got.intervals[0].runq_points, 1);
	assert_int_equal(got.intervals[0].flags, INTERVAL_PREEMPTED);
	assert_int_equal(got.intervals[0].sequence, 7);
	assert_int_equal(got.intervals[0].stolen_ns, 20000);
	assert_int_equal(got.objects[0].type, OBJECT_LIMIT);
	assert_int_equal(got.objects[0].mode, STOP_QUOTA);
	assert_int_equal(got.objects[0].id, 55);
	assert_string_equal(got.names[0], "/outer/inner");
	assert_string_equal(got.values[0], "20 of 100 ms");
}

/* A thread that was woken, and not allowed to run then: two intervals, with nothing between. */
static void a_woken_thread_is_stopped(void **state)
{
	static const uint8_t sequences[][2] = {{7, 6}, {1, INTERVAL_SEQUENCES}};

	for (size_t i = 0; i < ARRAY_SIZE(sequences); i++) {
		struct event_interval event = interval(CLASS_OTHER);
		struct recorded got;

		event.sequence = sequences[i][0];
		event.stopped = 250;
		event.stop = STOP_QUOTA;
		event.stopped_by = 55;
		event.blocked_points = 4;
		event.stopped_points = 2;
		event.runq_points = 1;
		got = translate(&quota, group, sizeof(group), &event);
		assert_int_equal(got.n, 2);
		assert_int_equal(got.intervals[0].class, CLASS_OTHER);
		assert_int_equal(got.intervals[0].t_out, 100);
		assert_int_equal(got.intervals[0].blocked_ns, 300);
		assert_int_equal(got.intervals[0].runq_ns, 0);
		assert_int_equal(got.intervals[0].blocked_points, 4);
		assert_int_equal(got.intervals[0].runq_points, 0);
		assert_int_equal(got.intervals[0].waker, 2);
		assert_int_equal(got.intervals[0].sequence, sequences[i][1]);
		assert_int_equal(got.intervals[0].stolen_ns, 20000);
		assert_int_equal(got.objects[0].type, OBJECT_NONE);
		assert_int_equal(got.intervals[1].class, CLASS_STOPPED);
		assert_int_equal(got.intervals[1].t_out, 400);
		assert_int_equal(got.intervals[1].blocked_ns, 250);
		assert_int_equal(got.intervals[1].runq_ns, 350);
		assert_int_equal(got.intervals[1].blocked_points, 2);
		assert_int_equal(got.intervals[1].runq_points, 1);
		assert_int_equal(got.intervals[1].waker, 0);
		assert_int_equal(got.intervals[1].sequence, sequences[i][0]);
		assert_int_equal(got.intervals[1].stolen_ns, 0);
		assert_int_equal(got.intervals[1].flags, 0);
		assert_int_equal(got.objects[1].type, OBJECT_LIMIT);
	}
}

/* The CPUs that it may use are named, by ranges. */
static void an_affinity_is_a_list_of_cpus(void **state)
{
	static const struct {
		uint64_t words[2];
		const char *name;
	} cases[] = {
		{{1, 0}, "0"},
		{{0xf, 0}, "0-3"},
		{{0x8000000000000105, 1}, "0,2,8,63-64"},
		{{0, 1ULL << 63}, "127"},
		{{~0ULL, ~0ULL}, "0-127"},
	};
	static const struct event_limit affinity = {.id = 5, .cause = STOP_AFFINITY};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct event_interval event = interval(CLASS_SCHED);
		struct recorded got;

		event.stopped = 600;
		event.stop = STOP_AFFINITY;
		event.stopped_by = 5;
		got = translate(&affinity, (const char *)cases[i].words, sizeof(cases[i].words),
				&event);
		assert_int_equal(got.n, 1);
		assert_int_equal(got.intervals[0].class, CLASS_STOPPED);
		assert_int_equal(got.intervals[0].blocked_ns, 600);
		assert_int_equal(got.objects[0].mode, STOP_AFFINITY);
		assert_string_equal(got.names[0], cases[i].name);
		assert_string_equal(got.values[0], "not allowed on the idle CPUs");
	}
}

/* All of the blocked part; who stopped it is named. */
static void a_stopped_process_has_a_name(void **state)
{
	static const struct event_limit by = {.id = 77, .cause = STOP_SIGNAL};
	struct event_interval event = interval(CLASS_STOPPED);
	struct recorded got;

	event.stop = STOP_SIGNAL;
	event.stopped_by = 77;
	got = translate(&by, "bash", 5, &event);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.intervals[0].class, CLASS_STOPPED);
	assert_int_equal(got.intervals[0].blocked_ns, 300);
	assert_int_equal(got.intervals[0].runq_ns, 600);
	assert_int_equal(got.intervals[0].waker, 2);
	assert_string_equal(got.names[0], "by bash (77)");
	/* Who it was may not be known. */
	event.stopped_by = 0;
	got = translate(NULL, NULL, 0, &event);
	assert_int_equal(got.objects[0].type, OBJECT_LIMIT);
	assert_string_equal(got.names[0], "");
}

/* Frozen in its sleep: the class is that of the sleep. */
static void a_sleeper_is_frozen_since_an_unknown_time(void **state)
{
	static const struct event_limit by = {.id = 9, .cause = STOP_FREEZER};
	struct event_interval event = interval(CLASS_OTHER);
	struct recorded got;

	event.stop = STOP_FREEZER;
	event.stopped_by = 9;
	got = translate(&by, "cold\0", 6, &event);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.intervals[0].class, CLASS_OTHER);
	assert_int_equal(got.objects[0].mode, STOP_FREEZER);
	assert_int_equal(got.objects[0].extra, 1);
	assert_string_equal(got.names[0], "/cold");
}

/* The file that is written says more than the limit. */
static void a_writer_keeps_its_file(void **state)
{
	struct event_interval event = interval(CLASS_STOPPED);
	struct recorded got;

	event.stop = STOP_WRITEBACK;
	event.object = (struct event_object){.type = OBJECT_FUTEX, .id = 0x1234};
	got = translate(NULL, NULL, 0, &event);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.intervals[0].class, CLASS_STOPPED);
	assert_int_equal(got.objects[0].type, OBJECT_FUTEX);
}

static void nonsense_is_passed_over(void **state)
{
	struct event_interval longer = interval(CLASS_OTHER), unknown = interval(CLASS_STOPPED);
	struct event_limit cut = quota;

	longer.stopped = 601;
	assert_int_equal(translate(NULL, NULL, 0, &longer).n, 0);
	unknown.stop = STOP_CAUSE_COUNT;
	assert_int_equal(translate(NULL, NULL, 0, &unknown).n, 0);
	/* Without its NUL. */
	unknown.stop = STOP_QUOTA;
	unknown.stopped_by = 55;
	assert_string_equal(translate(&cut, "cut", 3, &unknown).names[0], "/cut");
	assert_string_equal(translate(&cut, "", 0, &unknown).names[0], "");
	assert_string_equal(translate(&cut, "", 1, &unknown).names[0], "/");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_preempted_thread_is_stopped),
		cmocka_unit_test(a_woken_thread_is_stopped),
		cmocka_unit_test(an_affinity_is_a_list_of_cpus),
		cmocka_unit_test(a_stopped_process_has_a_name),
		cmocka_unit_test(a_sleeper_is_frozen_since_an_unknown_time),
		cmocka_unit_test(a_writer_keeps_its_file),
		cmocka_unit_test(nonsense_is_passed_over),
	};

	return cmocka_run_group_tests_name("translate_stops", tests, NULL, NULL);
}
