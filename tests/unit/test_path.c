// SPDX-License-Identifier: BSD-2-Clause
/* Paths of which the answer is known by hand. */
#include "tests/unit/path_support.h"

/* A wait that a timer ends, in a poll. */
static void put_timeout(struct program *program, uint32_t thread, uint64_t begin, uint64_t end,
			uint32_t user)
{
	struct record_interval interval = {.thread = thread,
					   .waker_context = WAKER_HARDIRQ,
					   .t_out = begin,
					   .blocked_ns = end - begin,
					   .class = CLASS_OTHER,
					   .syscall = SYS_poll,
					   .user_stack = user};

	synthetic__interval(&program->made, interval);
	put_wake(program, &interval, "hrtimer_wakeup");
}

/* A calls B calls C calls A: all that C did before A called is cut. */
static void a_triangle_is_cut(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};

	program__threads(&program, 3);
	/* A waits for C; C waits for B, which A woke; before that, C waited for B's last call. */
	program__wait(&program, 1, 3, 40 * MS, 90 * MS);
	program__wait(&program, 2, 1, 0, 39 * MS);
	program__wait(&program, 3, 2, 10 * MS, 60 * MS);
	found = program__path(&program, 100 * MS);
	assert_int_equal(found.err, 0);
	assert_int_equal(TIME_AT(&found, "A"), 100 * MS);
	assert_int_equal(TIME_AT(&found, "A", "blocked", "C"), 50 * MS);
	assert_int_equal(TIME_AT(&found, "A", "blocked", "C", "blocked", "B"), 20 * MS);
	assert_int_equal(TIME_AT(&found, "A", "blocked", "C", "not_sampled"), 30 * MS);
	assert_int_equal(TIME_AT(&found, "A", "not_sampled"), 50 * MS);
}

/* Polls that time out are one wait, which ends when somebody writes; those of another loop not. */
static void polls_with_timeouts_are_one_wait(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};
	uint32_t loop = USER(&program, "poll", "loop");

	program__threads(&program, 2);
	for (uint64_t i = 0; i < 10; i++)
		put_timeout(&program, 1, (10 + 2 * i) * MS, (12 + 2 * i) * MS - 50000, loop);
	synthetic__interval(&program.made, BLOCKED(1, 2, 30 * MS, 31 * MS, .class = CLASS_OTHER,
						   .syscall = SYS_poll, .user_stack = loop));
	for (uint64_t i = 0; i < 5; i++)
		put_timeout(&program, 1, (50 + 2 * i) * MS, (52 + 2 * i) * MS - 50000, loop);
	found = program__path(&program, 100 * MS);
	assert_int_equal(TIME_AT(&found, "A", "loop", "poll", "poll", "B"), 21 * MS - 10 * 50000);
	assert_int_equal(found.path.ns[PATH_TIMEOUT], 10 * MS - 5 * 50000);
}

/* A thread that is created and waited for is explained by its creator before it was there. */
static void who_does_not_exist_yet_is_its_creator(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};

	program__threads(&program, 2);
	synthetic__thread(&program.made, 3, PID, PID + 3, 2, 30 * MS, "C");
	program__wait(&program, 1, 3, 10 * MS, 50 * MS);
	found = program__path(&program, 100 * MS);
	assert_int_equal(TIME_AT(&found, "A", "blocked", "B"), 20 * MS);
	assert_int_equal(TIME_AT(&found, "A", "blocked", "C"), 20 * MS);
}

/* Of a request, the time in the queue is told apart from the time in the device. */
static void requests_are_queued_and_active(void **state)
{
	struct program program = program__begin(true);
	struct record_interval wait = {.thread = 1,
				       .waker_context = WAKER_HARDIRQ,
				       .class = CLASS_IO,
				       .syscall = SYS_pread64,
				       .t_out = 10 * MS,
				       .blocked_ns = 40 * MS,
				       .device = 1,
				       .request = 7};
	_cleanup_found_ struct found found = {};

	program__threads(&program, 1);
	program__device(&program, 1, "sda", 0, 0);
	synthetic__interval(&program.made, wait);
	put_wake(&program, &wait, "blk_update_request");
	for (uint32_t i = 0; i < 2; i++)
		synthetic__put(&program.made,
			       (struct record){.type = RECORD_REQUEST,
					       .request = {.number = 6 + i,
							   .device = 1,
							   .thread = 1,
							   .time = START + (40 + 9 * i) * MS,
							   .queue_ns = 5 * MS,
							   .service_ns = 15 * MS}});
	found = program__path(&program, 100 * MS);
	/* The first of the two was issued at 25 ms. */
	assert_int_equal(found.path.ns[PATH_DISK_QUEUED], 15 * MS);
	assert_int_equal(found.path.ns[PATH_DISK_ACTIVE], 25 * MS);
}

/* Events that were lost leave a gap, and what is around it stays as it is. */
static void lost_events_leave_a_gap(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};
	static const uint8_t sequences[] = {126, 127, 1, 3, 4};

	program__threads(&program, 2);
	for (size_t i = 0; i < ARRAY_SIZE(sequences); i++)
		synthetic__interval(&program.made,
				    WAIT(1, 2, (10 + 10 * i) * MS, (15 + 10 * i) * MS,
					 .sequence = sequences[i]));
	found = program__path(&program, 100 * MS);
	assert_int_equal(found.path.gaps.n, 1);
	assert_true(found.path.gaps.data[0].from == START + 35 * MS);
	assert_int_equal(found.path.ns[PATH_GAP], 5 * MS);
	assert_int_equal(TIME_AT(&found, "A", "blocked", "B"), 25 * MS);
	assert_int_equal(found.path.accounted_ns, 95 * MS);
}

/* Where switches were not seen, at the begin, between waits and at the end, there is no run. */
static void times_that_were_not_seen_are_no_runs(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};
	static const uint8_t sequences[] = {2, 3, 5};

	program__threads(&program, 2);
	for (size_t i = 0; i < ARRAY_SIZE(sequences); i++)
		synthetic__interval(&program.made,
				    WAIT(1, 2, (10 + 20 * i) * MS, (20 + 20 * i) * MS,
					 .sequence = sequences[i]));
	synthetic__counted(&program.made, (struct record_totals){.thread = 1,
								 .time = 100 * MS,
								 .ns = {10 * MS, 0, 0, 0, 30 * MS},
								 .unseen = 3,
								 .sequence = 6});
	synthetic__counted(&program.made,
			   (struct record_totals){.thread = 2, .time = 100 * MS, .ns = {100 * MS}});
	found = program__path(&program, 100 * MS);
	assert_int_equal(found.path.gaps.n, 3);
	assert_int_equal(found.path.ns[PATH_GAP], (10 + 10 + 40) * MS);
}

/* Work that is started and not waited for is apart; the part that is waited for is not in it. */
static void work_in_the_background_is_apart(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};

	program__threads(&program, 3);
	/* A gives B work at 10, and C at 20; waits for B from 30 to 50. C works until 70. */
	synthetic__interval(&program.made, BLOCKED(2, 1, 0, 10 * MS, .class = CLASS_OTHER,
						   .syscall = SYS_epoll_wait));
	synthetic__interval(&program.made, BLOCKED(3, 1, 0, 20 * MS, .class = CLASS_OTHER,
						   .syscall = SYS_epoll_wait));
	program__wait(&program, 1, 2, 30 * MS, 50 * MS);
	synthetic__interval(&program.made, BLOCKED(2, 1, 50 * MS, 200 * MS, .class = CLASS_OTHER,
						   .syscall = SYS_epoll_wait));
	synthetic__interval(&program.made, BLOCKED(3, 1, 70 * MS, 200 * MS, .class = CLASS_OTHER,
						   .syscall = SYS_epoll_wait));
	found = program__path(&program, 100 * MS);
	assert_int_equal(found.path.background.n, 2);
	assert_int_equal(found.path.background.data[0].ns, 50 * MS);
	assert_int_equal(found.model->threads.data[found.path.background.data[0].thread].number, 3);
	assert_int_equal(found.path.background.data[1].ns, 20 * MS);
	assert_int_equal(found.path.total_ns, 170 * MS);
}

/* A run is divided between its samples; one without is in the functions around it. */
static void runs_have_functions(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};
	uint32_t before = USER(&program, "read", "work", "main");
	uint32_t after = USER(&program, "write", "work", "main");

	program__threads(&program, 2);
	synthetic__interval(&program.made, WAIT(1, 2, 10 * MS, 20 * MS, .user_stack = before));
	synthetic__interval(&program.made, WAIT(1, 2, 30 * MS, 40 * MS, .user_stack = after));
	synthetic__sample(&program.made, 1, 50 * MS, 1, 0, USER(&program, "f", "main"));
	synthetic__sample(&program.made, 1, 70 * MS, 1, 0, USER(&program, "g", "main"));
	/* Where it was preempted is known, too. */
	synthetic__interval(&program.made, (struct record_interval){.thread = 1,
								    .class = CLASS_SCHED,
								    .flags = INTERVAL_PREEMPTED,
								    .t_out = 80 * MS,
								    .runq_ns = 5 * MS,
								    .syscall = -1,
								    .user_stack = before});
	found = program__path(&program, 100 * MS);
	assert_int_equal(TIME_AT(&found, "A", "main", "work", "not_sampled"), 10 * MS);
	assert_int_equal(TIME_AT(&found, "A", "main", "f"), 20 * MS);
	assert_int_equal(TIME_AT(&found, "A", "main", "g"), 15 * MS);
	assert_int_equal(TIME_AT(&found, "A", "main", "work", "read"), (5 + 15 + 5 + 10) * MS);
	assert_int_equal(TIME_AT(&found, "A", "main", "work", "read", "preempted"), 5 * MS);
	assert_int_equal(found.path.ns[PATH_RUNNING], 55 * MS);
}

static int fill_enter(void *context, const struct path_level *level)
{
	return path_tree__enter(context, level);
}

static int fill_step(void *context, const struct path_step *step)
{
	uint32_t node;

	return path_tree__step(context, step, &node);
}

static int fill_leave(void *context, const struct path_level *level)
{
	path_tree__leave(context);
	return 0;
}

/* A tree that is full adds no node, and loses no time. */
static void a_full_tree_keeps_all_time(void **state)
{
	struct program program = program__begin(true);
	struct path_tree tree = {};
	struct path_visitor visitor = {};
	_cleanup_found_ struct found found = {};

	program__threads(&program, 3);
	program__wait(&program, 1, 2, 10 * MS, 50 * MS);
	program__wait(&program, 2, 3, 20 * MS, 30 * MS);
	found = program__path(&program, 100 * MS);
	for (size_t nodes = 1; nodes < 8; nodes++) {
		assert_int_equal(
			path_tree__begin(&tree, found.model, found.path.causes, found.path.runs),
			0);
		tree.max_nodes = nodes;
		visitor = (struct path_visitor){fill_enter, fill_step, fill_leave, &tree};
		assert_int_equal(path__walk(&found.path.walk, found.path.thread, found.path.from,
					    found.path.until, &visitor),
				 0);
		assert_int_equal(path_tree__finish(&tree), 0);
		assert_true(tree.nodes.n <= nodes + 1);
		assert_true(tree.is_full == (nodes + 1 < found.path.tree.nodes.n));
		assert_int_equal(tree.nodes.data[0].total_ns, 100 * MS);
		path_tree__free(&tree);
		tree = (struct path_tree){};
	}
}

static void a_window_without_the_thread_has_nothing(void **state)
{
	struct program program = program__begin(true);
	struct path_window window = {.from = START + 50 * MS, .until = START + 60 * MS};
	_cleanup_found_ struct found found = {};
	struct model *model;

	program__threads(&program, 1);
	synthetic__totals(&program.made, 1, 40 * MS, true, 40 * MS, 0, 0, 0, 0);
	model = synthetic__load(&program.made, 100 * MS);
	window.thread = index_of(model, 1);
	found = find(model, &window);
	assert_int_equal(found.err, -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_triangle_is_cut),
		cmocka_unit_test(polls_with_timeouts_are_one_wait),
		cmocka_unit_test(who_does_not_exist_yet_is_its_creator),
		cmocka_unit_test(requests_are_queued_and_active),
		cmocka_unit_test(lost_events_leave_a_gap),
		cmocka_unit_test(times_that_were_not_seen_are_no_runs),
		cmocka_unit_test(work_in_the_background_is_apart),
		cmocka_unit_test(runs_have_functions),
		cmocka_unit_test(a_full_tree_keeps_all_time),
		cmocka_unit_test(a_window_without_the_thread_has_nothing),
	};

	return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
