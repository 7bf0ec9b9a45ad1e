// SPDX-License-Identifier: BSD-2-Clause
/* What limits programs whose waits are known: knots, sinks, and what is neither. */
#include "tests/unit/waits_support.h"

#include <math.h>
#include <stdio.h>

#include "render/waits/waits.h"

#define END (100 * MS) /* of every recording here */

static struct analysis judge(struct program *program, const struct waitgraph_options *options,
			     double threshold)
{
	struct analysis analysis = program__analyse(program, END, options);

	assert_int_equal(bottlenecks__find(&analysis.graph, threshold, &analysis.found), 0);
	for (size_t i = 0; i < analysis.found.all.n; i++) {
		const struct bottleneck *at = &analysis.found.all.data[i];
		double sum = at->active;

		for (int type = 0; type < CAUSE_TYPE_COUNT; type++)
			sum += at->idle_for[type];
		assert_true(at->active >= 0 && sum < 1.0001);
	}
	return analysis;
}

static void put_sleep(struct program *program, uint32_t thread, uint64_t begin, uint64_t end)
{
	synthetic__interval(&program->made,
			    (struct record_interval){.thread = thread,
						     .waker_context = WAKER_HARDIRQ,
						     .class = CLASS_OTHER,
						     .syscall = 230, /* clock_nanosleep */
						     .t_out = begin,
						     .blocked_ns = end - begin});
}

/* @one and @two run by turns, 10 ms each. */
static void put_turns(struct program *program, uint32_t one, uint32_t two)
{
	for (uint64_t at = 0; at < END; at += 20 * MS) {
		program__wait(program, one, two, at, at + 10 * MS);
		program__wait(program, two, one, at + 10 * MS, at + 20 * MS);
	}
	program__ran(program, one, END, END / 2);
	program__ran(program, two, END, END / 2);
}

static void assert_bottleneck(const struct bottleneck *bottleneck, enum bottleneck_type type,
			      size_t members, bool background)
{
	assert_non_null(bottleneck);
	assert_string_equal(bottleneck_type__name(bottleneck->type), bottleneck_type__name(type));
	assert_int_equal(bottleneck->members.n, members);
	assert_int_equal(bottleneck->background, background);
}

/* Thread 1 runs all the time, in these functions of kernel and program; 2 sleeps. */
static struct analysis judge_runner(const char *const kernel[], const char *const user[])
{
	struct program program = program__begin(true);
	uint32_t stacks[2] = {program__stack(&program, true, kernel),
			      program__stack(&program, false, user)};

	program__threads(&program, 2);
	for (uint64_t at = 0; at < END; at += MS)
		synthetic__sample(&program.made, 1, at, 1, stacks[0], stacks[1]);
	program__ran(&program, 1, END, 0);
	put_sleep(&program, 2, 0, END);
	return judge(&program, NULL, 0.2);
}

/* Who polls without blocking runs, but waits for what it polls. */
static void polls_are_no_work(void **state)
{
	static const struct {
		const char *kernel[4];
		const char *user[3];
		bool polls;
	} cases[] = {
		{{"compute"}, {"main"}, false},
		{{"ep_poll", "do_epoll_wait"}, {"epoll_wait", "main"}, true},
		{{NULL}, {"epoll_wait", "main"}, true},
		{{NULL}, {"handle", "poll", "main"}, false},
		{{"io_sq_tw", "io_sq_thread"}, {NULL}, true},
		{{"vfs_read", "io_issue_sqe", "io_sq_thread"}, {NULL}, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *const user[] = {cases[i].user[0], cases[i].user[1], cases[i].user[2],
					    NULL};
		_cleanup_analysis_ struct analysis analysis = judge_runner(cases[i].kernel, user);
		const struct bottleneck *first = bottlenecks__first(&analysis.found);

		if (cases[i].polls)
			assert_null(first);
		else
			assert_bottleneck(first, BOTTLENECK_WORK, 1, false);
	}
}

static void taking_turns_is_a_knot(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};
	const struct bottleneck *first;

	program__threads(&program, 3);
	put_turns(&program, 1, 2);
	program__wait(&program, 3, 1, 0, END);
	program__ran(&program, 3, END, END);
	analysis = judge(&program, NULL, 0.2);
	assert_int_equal(analysis.found.all.n, 1);
	assert_int_equal(analysis.found.threshold_ns, 20 * MS);
	first = &analysis.found.all.data[0];
	assert_ptr_equal(bottleneck_of(&analysis, "A"), first);
	assert_ptr_equal(bottleneck_of(&analysis, "B"), first);
	assert_bottleneck(first, BOTTLENECK_KNOT, 2, false);
	assert_true(first->active > 0.999);
	assert_int_equal(first->edges.n, 2);
	assert_int_equal(first->running_ns, END);
	/* What others waited for them, and what they did. */
	assert_int_equal(weight_of(&analysis, "A", "B"), END);
	assert_int_equal(first->impact_ns, END + END / 2 + END + END);
}

static void edges_of_waits_for_work_come_last(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};
	const struct bottleneck *first;

	program__threads(&program, 2);
	synthetic__interval(&program.made, BLOCKED(1, 2, 0, 70 * MS, .class = CLASS_OTHER,
						   .syscall = 232 /* epoll_wait */));
	program__wait(&program, 2, 1, 70 * MS, END);
	program__ran(&program, 1, END, 70 * MS);
	program__ran(&program, 2, END, 30 * MS);
	analysis = judge(&program, NULL, 0.2);
	first = &analysis.found.all.data[0];
	assert_bottleneck(first, BOTTLENECK_KNOT, 2, false);
	assert_int_equal(first->edges.n, 2);
	assert_ptr_equal(&analysis.graph.edges.data[first->edges.data[0]],
			 find_edge(&analysis, "B", "A"));
	assert_true(waitgraph_edge__is_idle(find_edge(&analysis, "A", "B")));
}

static void who_works_for_all_is_a_sink(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};

	program__threads(&program, 4);
	program__wait(&program, 1, 2, 0, 80 * MS);
	program__wait(&program, 3, 2, 0, 90 * MS);
	program__ran(&program, 1, END, 80 * MS);
	program__ran(&program, 2, END, 0);
	program__ran(&program, 3, END, 90 * MS);
	/* Nobody waits for this one: it is less to blame. */
	program__ran(&program, 4, END, 0);
	analysis = judge(&program, NULL, 0.2);
	assert_int_equal(analysis.found.all.n, 2);
	assert_ptr_equal(bottleneck_of(&analysis, "B"), &analysis.found.all.data[0]);
	assert_bottleneck(&analysis.found.all.data[0], BOTTLENECK_WORK, 1, false);
	assert_int_equal(analysis.found.all.data[0].impact_ns, END + 170 * MS);
	assert_bottleneck(bottleneck_of(&analysis, "D"), BOTTLENECK_WORK, 1, false);
}

/*
 * A works, and all wait for it. That it waits for B now and then, 2 % of the time, is cascaded
 * 6 %, because they all do; but no more than 2 % can be gained there.
 */
static void brief_waits_make_no_knot(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};

	program__threads(&program, 4);
	program__wait(&program, 1, 2, 50 * MS, 52 * MS);
	program__wait(&program, 2, 1, 0, 50 * MS);
	program__wait(&program, 2, 1, 52 * MS, END);
	program__wait(&program, 3, 1, 0, END);
	program__wait(&program, 4, 1, 0, END);
	program__ran(&program, 1, END, END - 2 * MS);
	program__ran(&program, 2, END, 2 * MS);
	analysis = judge(&program, NULL, 0.1);
	assert_int_equal(plain_of(&analysis, "A", "B"), 2 * MS);
	assert_true(weight_of(&analysis, "A", "B") > 5 * MS);
	assert_bottleneck(&analysis.found.all.data[0], BOTTLENECK_WORK, 1, false);
	assert_ptr_equal(bottleneck_of(&analysis, "A"), &analysis.found.all.data[0]);
}

static void who_waits_for_a_cpu_wants_more_of_them(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};

	program__threads(&program, 2);
	program__wait(&program, 1, 2, 0, 80 * MS);
	program__ran(&program, 1, END, 80 * MS);
	synthetic__totals(&program.made, 2, END, false, 40 * MS, 0, 0, 60 * MS, 0);
	analysis = judge(&program, NULL, 0.2);
	assert_bottleneck(bottleneck_of(&analysis, "B"), BOTTLENECK_MORE_CPUS, 1, false);
	assert_int_equal(analysis.found.all.data[0].runnable_ns, 60 * MS);
}

/* A and B take turns; their only way out is a thread that sleeps nearly all the time. */
static void sleepers_are_set_aside(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};
	const struct bottleneck *sleeper;

	program__threads(&program, 3);
	put_turns(&program, 1, 2);
	program__wait(&program, 1, 3, 10 * MS, 20 * MS);
	put_sleep(&program, 3, 0, 15 * MS);
	put_sleep(&program, 3, 20 * MS, END);
	program__ran(&program, 3, END, 95 * MS);
	analysis = judge(&program, NULL, 0.2);
	assert_int_equal(analysis.found.all.n, 2);
	assert_bottleneck(&analysis.found.all.data[0], BOTTLENECK_KNOT, 2, false);
	sleeper = bottleneck_of(&analysis, "C");
	assert_bottleneck(sleeper, BOTTLENECK_SLEEP, 1, true);
	assert_true(fabs(sleeper->active - 0.05) < 0.01);
	assert_true(fabs(sleeper->idle_for[CAUSE_TIMER] - 0.95) < 0.01);
}

/* C and D wait for each other, but mostly for time to pass; A waits for C, too. */
static void knots_in_the_background_are_set_aside(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};

	program__threads(&program, 4);
	put_turns(&program, 1, 2);
	program__wait(&program, 1, 3, 10 * MS, 20 * MS);
	program__wait(&program, 3, 4, 0, 5 * MS);
	program__wait(&program, 4, 3, 5 * MS, 10 * MS);
	for (uint32_t thread = 3; thread <= 4; thread++) {
		put_sleep(&program, thread, 10 * MS, END);
		program__ran(&program, thread, END, 95 * MS);
	}
	analysis = judge(&program, NULL, 0.2);
	assert_int_equal(analysis.found.all.n, 2);
	assert_ptr_equal(bottleneck_of(&analysis, "A"), &analysis.found.all.data[0]);
	assert_bottleneck(&analysis.found.all.data[0], BOTTLENECK_KNOT, 2, false);
	assert_bottleneck(bottleneck_of(&analysis, "D"), BOTTLENECK_KNOT, 2, true);
}

/* One waits for another in a row; each is set aside only when the next one is. */
static void sleepers_in_a_row_are_all_set_aside(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};

	program__threads(&program, 6);
	put_turns(&program, 1, 2);
	for (uint32_t thread = 2; thread < 6; thread++)
		program__wait(&program, thread, thread + 1, thread * MS, (thread + 5) * MS);
	for (uint32_t thread = 3; thread <= 6; thread++) {
		put_sleep(&program, thread, 12 * MS, END);
		program__ran(&program, thread, END, 93 * MS);
	}
	analysis = judge(&program, NULL, 0.2);
	assert_int_equal(analysis.found.all.n, 5);
	assert_bottleneck(&analysis.found.all.data[0], BOTTLENECK_KNOT, 2, false);
	for (size_t i = 1; i < 5; i++)
		assert_bottleneck(&analysis.found.all.data[i], BOTTLENECK_SLEEP, 1, true);
}

/* A waits for a thread that is not recorded, B for the network. */
static void what_is_outside_is_no_bottleneck(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};
	const struct bottleneck *first;

	program__threads(&program, 2);
	synthetic__put(&program.made,
		       (struct record){.type = RECORD_THREAD,
				       .thread = {.thread = 3,
						  .tid = 7,
						  .tgid = 7,
						  .comm = synthetic__string(&program.made, "far"),
						  .time = START}});
	program__wait(&program, 1, 3, 0, 90 * MS);
	synthetic__interval(&program.made, (struct record_interval){.thread = 2,
								    .waker_context = WAKER_SOFTIRQ,
								    .class = CLASS_OTHER,
								    .syscall = -1,
								    .blocked_ns = 80 * MS});
	program__wake(&program, 2, 0, 80 * MS, KERNEL(&program, "net_rx_action"), 0);
	program__ran(&program, 1, END, 90 * MS);
	program__ran(&program, 2, END, 80 * MS);
	analysis = judge(&program, NULL, 0.2);
	assert_true(waitgraph_vertex__outside(vertex_of(&analysis, "far")));
	assert_int_equal(analysis.found.all.n, 2);
	first = bottleneck_of(&analysis, "A");
	assert_bottleneck(first, BOTTLENECK_OUTSIDE, 1, true);
	assert_true(fabs(first->idle_for[CAUSE_THREAD] - 0.9) < 0.01);
	/* The one that does most, as nothing is at work. */
	first = bottlenecks__first(&analysis.found);
	assert_ptr_equal(first, bottleneck_of(&analysis, "B"));
	assert_bottleneck(first, BOTTLENECK_OUTSIDE, 1, false);
	assert_true(fabs(first->idle_for[CAUSE_PEER] - 0.8) < 0.01);
}

/* Nothing is at work, and A waits for who sleeps: it is that sleep. */
static void sleeps_that_others_wait_for(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};
	const struct bottleneck *first;

	program__threads(&program, 3);
	program__wait(&program, 1, 2, 0, 90 * MS);
	put_sleep(&program, 2, 0, 85 * MS);
	put_sleep(&program, 3, 0, 80 * MS);
	program__ran(&program, 1, END, 90 * MS);
	program__ran(&program, 2, END, 85 * MS);
	program__ran(&program, 3, END, 80 * MS);
	analysis = judge(&program, NULL, 0.2);
	first = bottlenecks__first(&analysis.found);
	assert_ptr_equal(first, bottleneck_of(&analysis, "B"));
	assert_bottleneck(first, BOTTLENECK_SLEEP, 1, false);
	assert_ptr_equal(first->awaited_by, find_edge(&analysis, "A", "B"));
	assert_int_equal(first->edges.n, 1);
	assert_ptr_equal(&analysis.graph.edges.data[first->edges.data[0]],
			 find_edge(&analysis, "B", "timer"));
	assert_bottleneck(bottleneck_of(&analysis, "C"), BOTTLENECK_SLEEP, 1, true);
}

/* A thread and the disk it writes to, one at work at a time: however idle, no background. */
static void devices_make_knots(void **state)
{
	struct program program = program__begin(true);
	uint32_t wake = KERNEL(&program, "blk_update_request", "nvme_irq");
	_cleanup_analysis_ struct analysis analysis = {};

	program__threads(&program, 1);
	program__device(&program, 1, "sda", 0, 60 * MS);
	program__idle(&program, 1, 1, 0, 10 * MS);
	for (uint64_t at = 10 * MS; at < END; at += 10 * MS) {
		synthetic__interval(&program.made,
				    (struct record_interval){.thread = 1,
							     .waker_context = WAKER_HARDIRQ,
							     .class = CLASS_IO,
							     .syscall = -1,
							     .t_out = at,
							     .blocked_ns = 4 * MS,
							     .device = 1});
		program__wake(&program, 1, 0, at + 4 * MS, wake, 0);
		program__idle(&program, 1, 1, at + 4 * MS, at + 10 * MS);
	}
	program__ran(&program, 1, END, 36 * MS);
	analysis = judge(&program, NULL, 0.2);
	assert_int_equal(analysis.found.all.n, 1);
	assert_bottleneck(&analysis.found.all.data[0], BOTTLENECK_KNOT, 2, false);
	assert_non_null(bottleneck_of(&analysis, "sda"));
	assert_true(analysis.found.all.data[0].active > 0.999);
	assert_int_equal(analysis.found.all.data[0].running_ns, 64 * MS);
}

static struct program program_with_a_weak_link(void)
{
	struct program program = program__begin(true);

	program__threads(&program, 3);
	program__wait(&program, 1, 2, 0, 50 * MS);
	program__wait(&program, 1, 3, 50 * MS, 54 * MS);
	program__wait(&program, 2, 1, 54 * MS, END);
	program__wait(&program, 3, 1, 55 * MS, 65 * MS);
	program__ran(&program, 1, END, 54 * MS);
	program__ran(&program, 2, END, 46 * MS);
	program__ran(&program, 3, END, 10 * MS);
	return program;
}

/* Edges up to the threshold are taken out: of 4 and 10 % C's, then it leads out. */
static void thresholds_refine_knots(void **state)
{
	static const struct {
		double threshold;
		size_t members;
	} expected[] = {{0, 3}, {0.035, 3}, {0.04, 2}, {0.2, 2}, {0.7, 2}, {5, 2}};

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		struct program program = program_with_a_weak_link();
		_cleanup_analysis_ struct analysis analysis =
			judge(&program, NULL, expected[i].threshold);

		assert_bottleneck(&analysis.found.all.data[0], BOTTLENECK_KNOT, expected[i].members,
				  false);
		assert_non_null(bottleneck_of(&analysis, "A"));
	}
}

static void nothing_is_no_bottleneck(void **state)
{
	for (uint32_t threads = 0; threads <= 2; threads++) {
		struct program program = program__begin(threads != 2);
		_cleanup_analysis_ struct analysis analysis = {};

		program__threads(&program, threads);
		analysis = judge(&program, NULL, 0.2);
		assert_int_equal(analysis.graph.edges.n, 0);
		assert_int_equal(analysis.found.all.n, 0);
	}
}

static void one_thread_that_runs_is_a_sink(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};

	program__threads(&program, 1);
	program__ran(&program, 1, END, 0);
	analysis = judge(&program, NULL, 0.2);
	assert_int_equal(analysis.found.all.n, 1);
	assert_bottleneck(&analysis.found.all.data[0], BOTTLENECK_WORK, 1, false);
	assert_true(analysis.found.all.data[0].active > 0.999);
}

/* Of threads that are alike only those count that were asked for. */
static void who_is_filtered_out_is_not_at_work(void **state)
{
	struct waitgraph_options options = {};
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};
	const struct bottleneck *workers;

	program__thread(&program, 1, "M");
	for (uint32_t i = 2; i < 5; i++) {
		program__thread(&program, i, "worker");
		program__wait(&program, i, 1, 0, 90 * MS);
		program__ran(&program, i, END, 90 * MS);
	}
	array__push(&options.filter.tids, PID + 3);
	analysis = judge(&program, &options, 0.2);
	workers = bottleneck_of(&analysis, "worker");
	assert_bottleneck(workers, BOTTLENECK_OUTSIDE, 1, false);
	assert_true(fabs(workers->active - 0.1) < 0.01);
	assert_true(fabs(workers->idle_for[CAUSE_THREAD] - 0.9) < 0.01);
	sample_filter__free(&options.filter);
}

/* Whether dwell waits --percent-limit @limit has @text. */
static bool is_listed(const struct analysis *analysis, double limit, const char *text)
{
	const struct sample_filter filter = {};
	const struct waits waits = {.model = analysis->graph.model,
				    .filter = &filter,
				    .graph = &analysis->graph,
				    .bottlenecks = &analysis->found,
				    .percent_limit = limit};
	char *printed = NULL;
	bool is_there;
	size_t size;
	FILE *to = open_memstream(&printed, &size);

	assert_non_null(to);
	assert_int_equal(waits__text(&waits, to), 0);
	fclose(to);
	is_there = strstr(printed, text);
	free(printed);
	return is_there;
}

/* The shares of a long recording hide all waits: the longest ones are listed nevertheless. */
static void some_edges_are_always_listed(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};

	program__threads(&program, 6);
	for (uint32_t i = 2; i <= 6; i++)
		program__wait(&program, 1, i, 10 * i * MS, 10 * i * MS + i * MS / 10);
	for (uint32_t i = 1; i <= 6; i++)
		program__ran(&program, i, END, 90 * MS);
	analysis = judge(&program, NULL, 0.2);
	assert_true(is_listed(&analysis, 90, "A -> F"));
	assert_true(is_listed(&analysis, 90, "A -> D"));
	assert_false(is_listed(&analysis, 90, "A -> C"));
	assert_true(is_listed(&analysis, 90, "# 2 more"));
	assert_true(is_listed(&analysis, 0.01, "A -> B"));
}

/* A wakeup that is missing counts if the program waited for it, not if a thread waited for work. */
static void unseen_wakeups_count_if_waited_for(void **state)
{
	for (int for_work = 0; for_work < 2; for_work++) {
		struct program program = program__begin(true);
		_cleanup_analysis_ struct analysis analysis = {};

		program__threads(&program, 2);
		program__wait(&program, 1, 2, 0, 40 * MS);
		synthetic__interval(&program.made,
				    BLOCKED(2, 0, 40 * MS, END, .class = CLASS_OTHER,
					    .syscall = for_work ? 232 /* epoll_wait */ : -1));
		program__ran(&program, 1, END, 40 * MS);
		program__ran(&program, 2, END, 60 * MS);
		analysis = judge(&program, NULL, 0.2);
		assert_int_equal(waitgraph_edge__is_idle(find_edge(&analysis, "B", "unknown")),
				 for_work);
		assert_int_equal(
			is_listed(&analysis, 0, "For 60.0% of the waiting time the wakeup"),
			!for_work);
		assert_int_equal(is_listed(&analysis, 0, "wakeup was not seen"), !for_work);
	}
}

/*
 * A was asked for, and waits for B, which waits for C. D waits for A, E for B. F and G wait for
 * each other. All but A were recorded as wakers.
 */
static void unrelated_programs_are_told_apart(void **state)
{
	static const uint8_t relations[] = {RELATION_ASKED_FOR, RELATION_AWAITED, RELATION_AWAITED,
					    RELATION_WAITER,	RELATION_NONE,	  RELATION_NONE,
					    RELATION_NONE};
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};

	for (uint32_t i = 1; i <= ARRAY_SIZE(relations); i++) {
		struct record_thread thread = {.thread = i,
					       .tid = PID + i,
					       .tgid = PID + 10 * i,
					       .flags = i == 1 ? THREAD_TARGET : THREAD_HELPER,
					       .time = START};

		thread.comm = synthetic__string(&program.made, (char[]){(char)('A' + i - 1), '\0'});
		synthetic__put(&program.made,
			       (struct record){.type = RECORD_THREAD, .thread = thread});
	}
	program__wait(&program, 1, 2, 0, 40 * MS);
	program__wait(&program, 2, 3, 0, 40 * MS);
	program__wait(&program, 4, 1, 0, 80 * MS);
	program__wait(&program, 5, 2, 0, 40 * MS);
	put_turns(&program, 6, 7);
	analysis = judge(&program, NULL, 0.2);
	for (uint32_t v = 0; v < analysis.graph.vertices.n; v++) {
		const char *name = vertex_name(&analysis, v);

		if (analysis.graph.vertices.data[v].type == CAUSE_THREAD)
			assert_int_equal(analysis.found.relations[v], relations[*name - 'A']);
	}
	for (size_t i = 0; i < analysis.graph.edges.n; i++) {
		const struct waitgraph_edge *edge = &analysis.graph.edges.data[i];

		assert_int_equal(bottlenecks__is_related(&analysis.found, edge),
				 *vertex_name(&analysis, edge->from) < 'E');
	}
	assert_false(bottlenecks__first(&analysis.found) &&
		     bottleneck__has(bottlenecks__first(&analysis.found), 5));
	assert_true(is_listed(&analysis, 1, "A -> B") && is_listed(&analysis, 1, "D -> A"));
	assert_false(is_listed(&analysis, 1, "F -> G"));
	assert_true(is_listed(&analysis, 0, "F -> G"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(polls_are_no_work),
		cmocka_unit_test(taking_turns_is_a_knot),
		cmocka_unit_test(edges_of_waits_for_work_come_last),
		cmocka_unit_test(who_works_for_all_is_a_sink),
		cmocka_unit_test(brief_waits_make_no_knot),
		cmocka_unit_test(who_waits_for_a_cpu_wants_more_of_them),
		cmocka_unit_test(sleepers_are_set_aside),
		cmocka_unit_test(knots_in_the_background_are_set_aside),
		cmocka_unit_test(sleepers_in_a_row_are_all_set_aside),
		cmocka_unit_test(what_is_outside_is_no_bottleneck),
		cmocka_unit_test(sleeps_that_others_wait_for),
		cmocka_unit_test(devices_make_knots),
		cmocka_unit_test(thresholds_refine_knots),
		cmocka_unit_test(nothing_is_no_bottleneck),
		cmocka_unit_test(one_thread_that_runs_is_a_sink),
		cmocka_unit_test(who_is_filtered_out_is_not_at_work),
		cmocka_unit_test(some_edges_are_always_listed),
		cmocka_unit_test(unseen_wakeups_count_if_waited_for),
		cmocka_unit_test(unrelated_programs_are_told_apart),
	};

	return cmocka_run_group_tests_name("waits: verdict", tests, NULL, NULL);
}
