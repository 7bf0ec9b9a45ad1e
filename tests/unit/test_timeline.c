// SPDX-License-Identifier: BSD-2-Clause
/* Timelines of tagged requests: what each thread did while it had the request, and nothing else. */
#include "analysis/latency/timeline.h"
#include "analysis/kinds/call_names.h"
#include "render/format.h"
#include "tests/unit/path_support.h"

static void put_call(struct program *program, uint32_t thread, const char *function, uint32_t depth,
		     uint64_t begin, uint64_t end)
{
	synthetic__put(&program->made,
		       (struct record){.type = RECORD_CALL,
				       .call = {.thread = thread,
						.time = START + end * MS,
						.ns = (end - begin) * MS,
						.depth = (uint16_t)depth,
						.stack = USER(program, function, "caller")}});
}

static void put_tag(struct program *program, uint32_t thread, enum annotation_type type,
		    uint64_t at, uint64_t queue)
{
	synthetic__put(&program->made, (struct record){.type = RECORD_ANNOTATION,
						       .annotation = {.thread = thread,
								      .type = (uint8_t)type,
								      .address = 7,
								      .queue = queue,
								      .time = START + at * MS}});
}

/* The items: type, thread, times in ms, depth, what ended a wait, and function or queue. */
static void describe(const struct model *model, const struct timeline *timeline, char *text,
		     size_t size)
{
	static const char *const types[] = {"call", "wait", "runq", "holder", "queue", "thread"};

	*text = '\0';
	for (size_t i = 0; i < timeline->items.n; i++) {
		const struct timeline_item *item = &timeline->items.data[i];

		format__append(text, size, "%s %u %llu-%llu %u %s%s%llx\n", types[item->type],
			       model->threads.data[item->thread].number, (item->begin - START) / MS,
			       (item->end - START) / MS, item->depth,
			       item->type == TIMELINE_WAIT ? cause_type__name(item->cause.type)
							   : "",
			       model__string(model, item->name), (unsigned long long)item->queue);
	}
}

static void check(struct program *program, const char *expected)
{
	struct model *model = synthetic__load(&program->made, 100 * MS);
	struct timeline timeline = {};
	struct own_strings strings = {.model = model};
	struct wait_causes *causes;
	struct kinds *kinds;
	char text[4096];

	assert_int_equal(model->spans.n, 1);
	assert_int_equal(kinds__new(model, &kinds), 0);
	assert_int_equal(wait_causes__new(&strings, kinds, &causes), 0);
	assert_int_equal(timeline__make(model, causes, &model->spans.data[0], &timeline), 0);
	describe(model, &timeline, text, sizeof(text));
	assert_string_equal(text, expected);
	timeline__free(&timeline);
	wait_causes__free(causes);
	own_strings__free(&strings);
	kinds__free(kinds);
	model__free(model);
}

static void each_thread_has_its_time(void **state)
{
	struct program program = program__begin(true);

	program__threads(&program, 3);
	put_tag(&program, 1, ANNOTATION_REQUEST_BEGIN, 10, 0);
	put_call(&program, 1, "earlier", 0, 2, 9);
	put_call(&program, 1, "parse", 0, 11, 15);
	put_call(&program, 1, "scan", 1, 12, 14);
	put_tag(&program, 1, ANNOTATION_REQUEST_BLOCK, 20, 0x50);
	put_call(&program, 1, "another", 0, 32, 34);
	program__wait(&program, 1, 3, 35 * MS, 36 * MS);
	put_call(&program, 2, "worker", 0, 1, 90); /* the loop that has all requests */
	put_call(&program, 2, "other", 1, 5, 25);
	put_tag(&program, 2, ANNOTATION_REQUEST_BEGIN, 30, 0x50);
	put_call(&program, 2, "answer", 1, 31, 45);
	program__wait(&program, 2, 1, 33 * MS, 40 * MS);
	put_tag(&program, 3, ANNOTATION_REQUEST_BEGIN, 40, 0);
	put_call(&program, 3, "log", 0, 42, 70);
	put_tag(&program, 2, ANNOTATION_REQUEST_END, 50, 0);
	program__wait(&program, 2, 1, 52 * MS, 58 * MS);
	put_tag(&program, 3, ANNOTATION_REQUEST_END, 60, 0);
	check(&program, "thread 1 10-20 0 0\n"
			"call 1 11-15 1 parse0\n"
			"call 1 12-14 2 scan0\n"
			"queue 0 20-30 0 50\n"
			"thread 2 30-50 0 0\n"
			"call 2 31-45 1 answer0\n"
			"wait 2 33-40 2 thread0\n"
			"thread 3 40-60 0 0\n"
			"call 3 42-60 1 log0\n");
}

/* In a queue, but another thread has it: only the rest of that time is the queue's. */
static void a_queue_counts_when_no_thread_has_it(void **state)
{
	struct program program = program__begin(true);

	program__threads(&program, 3);
	put_tag(&program, 1, ANNOTATION_REQUEST_BEGIN, 10, 0);
	put_tag(&program, 1, ANNOTATION_REQUEST_BLOCK, 20, 1);
	put_tag(&program, 1, ANNOTATION_REQUEST_BLOCK, 20, 2);
	put_tag(&program, 2, ANNOTATION_REQUEST_BEGIN, 30, 1);
	put_tag(&program, 2, ANNOTATION_REQUEST_END, 40, 0);
	put_tag(&program, 3, ANNOTATION_REQUEST_BEGIN, 50, 2);
	put_tag(&program, 3, ANNOTATION_REQUEST_END, 60, 0);
	check(&program, "thread 1 10-20 0 0\n"
			"queue 0 20-30 0 1\n"
			"queue 0 20-30 0 2\n"
			"queue 0 40-50 0 2\n"
			"thread 2 30-40 0 0\n"
			"thread 3 50-60 0 0\n");
}

/*
 * Who runs on the CPU of an interrupt did not end the wait: it has neither a name nor calls in the
 * timeline.
 */
static void interrupts_are_of_no_thread(void **state)
{
	struct program program = program__begin(true);
	struct record_interval by_thread =
		BLOCKED(1, 2, 11 * MS, 12 * MS, .class = CLASS_LOCK, .syscall = -1);
	struct record_interval by_timer =
		BLOCKED(1, 2, 15 * MS, 18 * MS, .class = CLASS_LOCK, .syscall = -1);

	by_timer.waker_context = WAKER_HARDIRQ;
	program__threads(&program, 2);
	put_tag(&program, 1, ANNOTATION_REQUEST_BEGIN, 10, 0);
	put_call(&program, 2, "holder", 0, 1, 19);
	synthetic__interval(&program.made, by_thread);
	synthetic__interval(&program.made, by_timer);
	put_wake(&program, &by_timer, "hrtimer_wakeup");
	put_tag(&program, 1, ANNOTATION_REQUEST_END, 20, 0);
	check(&program, "thread 1 10-20 0 0\n"
			"wait 1 11-12 1 thread0\n"
			"holder 2 11-12 2 holder0\n"
			"wait 1 15-18 1 timer0\n");
}

/* Windows that continue another one add to its time, but count as one with it. */
static void windows_of_one_request(void **state)
{
	struct program program = program__begin(true);
	const struct path_window windows[] = {
		{1, START + 10 * MS, START + 20 * MS, false},
		{2, START + 30 * MS, START + 35 * MS, true},
		{1, START + 50 * MS, START + 57 * MS, false},
		{1, START + 200 * MS, START + 210 * MS, false}, /* the thread is gone */
		{2, START + 80 * MS, START + 83 * MS, true},
	};
	struct path_options options = {.windows = windows, .n_windows = ARRAY_SIZE(windows)};
	struct path path = {};
	struct kinds *kinds;
	struct model *model;

	program__threads(&program, 2);
	model = synthetic__load(&program.made, 100 * MS);
	assert_int_equal(kinds__new(model, &kinds), 0);
	assert_int_equal(path__find(model, kinds, NULL, &options, &path), 0);
	assert_int_equal(path.n_windows, 3);
	assert_int_equal(path.wall_ns, (10 + 5 + 7 + 3) * MS);
	check_conservation(&path);
	path__free(&path);
	kinds__free(kinds);
	model__free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_thread_has_its_time),
		cmocka_unit_test(a_queue_counts_when_no_thread_has_it),
		cmocka_unit_test(interrupts_are_of_no_thread),
		cmocka_unit_test(windows_of_one_request),
	};

	return cmocka_run_group_tests_name("timelines", tests, NULL, NULL);
}
