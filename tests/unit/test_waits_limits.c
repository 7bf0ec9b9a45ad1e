// SPDX-License-Identifier: BSD-2-Clause
/* Threads that are not allowed to run: their limit is the bottleneck, or their work is. */
#include "tests/unit/waits_support.h"

#include <math.h>
#include <stdio.h>

#include "render/waits/waits.h"

#define END (100 * MS)

static struct analysis judge(struct program *program)
{
	struct analysis analysis = program__analyse(program, END, NULL);

	assert_int_equal(bottlenecks__find(&analysis.graph, 0.2, &analysis.found), 0);
	return analysis;
}

/* @thread is not allowed to run in [@begin, @end), by the quota of a control group. */
static void put_stopped(struct program *program, uint32_t thread, uint64_t begin, uint64_t end)
{
	const struct record_object quota = {
		.type = OBJECT_LIMIT,
		.mode = STOP_QUOTA,
		.id = 1,
		.name = record_stream__string(recording_writer__stream(program->made.writer),
					      "/batch"),
		.local = record_stream__string(recording_writer__stream(program->made.writer),
					       "20 of 100 ms")};

	synthetic__interval(&program->made,
			    (struct record_interval){
				    .thread = thread,
				    .class = CLASS_STOPPED,
				    .syscall = -1,
				    .object = record_stream__object(
					    recording_writer__stream(program->made.writer), &quota),
				    .t_out = begin,
				    .blocked_ns = end - begin});
}

/* What is not allowed to run for most of the time, and awaited: its limit is the bottleneck. */
static void who_is_stopped_is_limited(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};
	const struct sample_filter filter = {};
	struct waits waits = {.filter = &filter, .percent_limit = 1};
	const struct bottleneck *first;
	char text[2048];

	program__threads(&program, 2);
	for (uint64_t at = 0; at < END; at += 20 * MS)
		put_stopped(&program, 1, at, at + 14 * MS);
	program__wait(&program, 2, 1, 0, 99 * MS);
	synthetic__put(&program.made,
		       (struct record){.type = RECORD_TOTALS,
				       .totals = {.thread = 1,
						  .time = START + END,
						  .ns = {30 * MS, 0, 0, 0, 0, 70 * MS}}});
	program__ran(&program, 2, END, 99 * MS);
	analysis = judge(&program);
	first = bottlenecks__first(&analysis.found);
	assert_non_null(first);
	assert_string_equal(bottleneck_type__name(first->type), "limit");
	assert_int_equal(first->members.n, 1);
	assert_string_equal(vertex_name(&analysis, first->members.data[0]), "A");
	assert_true(fabs(first->active - 0.3) < 0.01);
	assert_true(fabs(first->idle_for[CAUSE_LIMIT] - 0.7) < 0.01);
	waits.model = analysis.graph.model;
	waits.graph = &analysis.graph;
	waits.bottlenecks = &analysis.found;
	verdict__text(&waits, first, text, sizeof(text));
	assert_non_null(strstr(text,
			       "A is not allowed to run 70% of the time: cpu quota /batch (20 "
			       "of 100 ms). It is busy 3"));
}

/* Stopped for less time than it runs: it is its work that takes the time. */
static void who_is_stopped_for_less_time_works(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};

	program__threads(&program, 1);
	for (uint64_t at = 0; at < END; at += 20 * MS)
		put_stopped(&program, 1, at, at + 6 * MS);
	synthetic__put(&program.made,
		       (struct record){.type = RECORD_TOTALS,
				       .totals = {.thread = 1,
						  .time = START + END,
						  .ns = {70 * MS, 0, 0, 0, 0, 30 * MS}}});
	analysis = judge(&program);
	assert_non_null(bottlenecks__first(&analysis.found));
	assert_string_equal(bottleneck_type__name(bottlenecks__first(&analysis.found)->type),
			    "work");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_stopped_is_limited),
		cmocka_unit_test(who_is_stopped_for_less_time_works),
	};

	return cmocka_run_group_tests_name("waits: limits", tests, NULL, NULL);
}
