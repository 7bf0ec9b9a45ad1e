// SPDX-License-Identifier: BSD-2-Clause
/* Which threads stand as one vertex. */
#include "tests/unit/waits_support.h"

/* A thread that @parent creates at @begin, and that exits at @end. */
static void put_short(struct program *program, uint32_t number, uint32_t parent, const char *comm,
		      uint64_t begin, uint64_t end)
{
	synthetic__thread(&program->made, number, PID + number, PID + number, parent, begin, comm);
	synthetic__totals(&program->made, number, end, true, end - begin, 0, 0, 0, 0);
}

/* M makes task-1 to task-3 one by one, two others, and one that stays. */
static struct program program_with_tasks(void)
{
	struct program program = program__begin(true);

	program__thread(&program, 1, "M");
	put_short(&program, 2, 1, "task-1", 10 * MS, 15 * MS);
	put_short(&program, 3, 1, "task-2", 20 * MS, 25 * MS);
	put_short(&program, 4, 1, "task-33", 22 * MS, 30 * MS);
	put_short(&program, 5, 1, "other", 10 * MS, 15 * MS);
	put_short(&program, 6, 1, "other", 20 * MS, 25 * MS);
	put_short(&program, 7, 1, "task-4", 40 * MS, 95 * MS);
	program__wait(&program, 3, 1, 21 * MS, 22 * MS);
	program__wait(&program, 1, 2, 12 * MS, 14 * MS);
	return program;
}

static void short_lived_threads_are_one(void **state)
{
	struct program program = program_with_tasks();
	_cleanup_analysis_ struct analysis analysis = program__analyse(&program, 100 * MS, NULL);
	const struct waitgraph_vertex *tasks = vertex_of(&analysis, "task-*");
	const struct waitgraph_edge *edge = find_edge(&analysis, "task-*", "M");

	assert_int_equal(tasks->merged, MERGED_SHORT_LIVED);
	assert_int_equal(tasks->n, 3);
	assert_int_equal(tasks->lifetime_ns, (5 + 5 + 8) * MS);
	assert_int_equal(tasks->running_ns, 18 * MS);
	assert_int_equal(vertex_of(&analysis, "task-4")->n, 1);
	/* Two do not make a kind. */
	assert_int_equal(vertex_of(&analysis, "other/105")->n, 1);
	assert_int_equal(vertex_of(&analysis, "other/106")->n, 1);
	/* What one of them waits for, and that there is none in [15, 20). */
	assert_int_equal(edge->plain_ns, MS + 5 * MS);
	assert_int_equal(edge->idle_ns, 5 * MS);
	assert_int_equal(plain_of(&analysis, "M", "task-*"), 2 * MS);
}

/* Who has no task is as little asked for as who waits. */
static void filters_are_for_missing_tasks_too(void **state)
{
	struct waitgraph_options options = {};
	struct program program = program_with_tasks();
	_cleanup_analysis_ struct analysis analysis = {};

	array__push(&options.filter.tids, PID + 1);
	analysis = program__analyse(&program, 100 * MS, &options);
	assert_int_equal(analysis.graph.edges.n, 1);
	assert_int_equal(plain_of(&analysis, "M", "task-*"), 2 * MS);
	assert_false(vertex_of(&analysis, "task-*")->recorded);
	sample_filter__free(&options.filter);
}

/* As make does: M starts shells, each a compiler, which starts an assembler. */
static void children_of_children_are_one(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};

	program__thread(&program, 1, "M");
	for (uint32_t i = 0; i < 5; i++) {
		uint64_t begin = 10 * (i + 1) * MS;

		put_short(&program, 10 * i + 10, 1, "sh", begin, begin + 9 * MS);
		put_short(&program, 10 * i + 11, 10 * i + 10, "cc", begin + MS, begin + 8 * MS);
		put_short(&program, 10 * i + 12, 10 * i + 11, "as", begin + 2 * MS, begin + 5 * MS);
		program__wait(&program, 10 * i + 10, 10 * i + 11, begin + MS, begin + 8 * MS);
	}
	/* The same name, of another creator. */
	program__thread(&program, 2, "N");
	put_short(&program, 3, 2, "as", 0, MS);
	analysis = program__analyse(&program, 100 * MS, NULL);
	assert_int_equal(vertex_of(&analysis, "sh")->n, 5);
	assert_int_equal(vertex_of(&analysis, "cc")->n, 5);
	assert_int_equal(vertex_of(&analysis, "as/112")->n, 5);
	assert_int_equal(vertex_of(&analysis, "as/103")->n, 1);
	assert_int_equal(plain_of(&analysis, "sh", "cc"), 35 * MS);
	/* Between them: from 9 to 10, from 8 to 11, and from 5 to 12 of each 10 ms. */
	assert_int_equal(plain_of(&analysis, "sh", "M"), 4 * MS);
	assert_int_equal(plain_of(&analysis, "cc", "sh"), 4 * 3 * MS);
	assert_int_equal(plain_of(&analysis, "as/112", "cc"), 4 * 7 * MS);
}

/* Worker @number waits @first ms in take_task() and @second ms in flush(). */
static void put_worker(struct program *program, uint32_t number, const char *comm, uint64_t first,
		       uint64_t second)
{
	uint32_t take = USER(program, "take", "worker_main", "start_thread");
	uint32_t flush = USER(program, "flush", "worker_main", "start_thread");

	program__thread(program, number, comm);
	synthetic__interval(&program->made, WAIT(number, 1, 0, first * MS, .user_stack = take));
	synthetic__interval(&program->made, WAIT(number, 1, first * MS, (first + second) * MS,
						 .user_stack = flush));
}

static struct program program_with_workers(void)
{
	struct program program = program__begin(true);

	program__thread(&program, 1, "main");
	put_worker(&program, 2, "worker-1", 80, 10);
	put_worker(&program, 3, "worker-2", 70, 20);
	put_worker(&program, 4, "worker-3", 75, 0);
	/* Less than 45 % alike. */
	put_worker(&program, 5, "worker-4", 10, 80);
	/* The same, but of another name. */
	put_worker(&program, 6, "reader", 80, 10);
	return program;
}

static void similar_threads_are_one(void **state)
{
	struct program program = program_with_workers();
	_cleanup_analysis_ struct analysis analysis = program__analyse(&program, 100 * MS, NULL);
	const struct waitgraph_vertex *workers = vertex_of(&analysis, "worker-*");

	assert_int_equal(workers->n, 3);
	assert_int_equal(workers->merged, MERGED_SIMILAR);
	assert_int_equal(workers->lifetime_ns, 300 * MS);
	assert_int_equal(vertex_of(&analysis, "worker-4")->n, 1);
	assert_int_equal(vertex_of(&analysis, "reader")->n, 1);
	assert_int_equal(plain_of(&analysis, "worker-*", "main"), (90 + 90 + 75) * MS);
	assert_int_equal(find_edge(&analysis, "worker-*", "main")->n_causes, 2);
}

/* Thread @number of another instance of the program, which only woke this one. */
static void put_stranger(struct program *program, uint32_t number, const char *comm)
{
	struct record_thread thread = {.thread = number,
				       .tid = PID + 100 + number,
				       .tgid = PID + 100,
				       .flags = THREAD_HELPER,
				       .time = START};

	thread.comm = synthetic__string(&program->made, comm);
	synthetic__put(&program->made, (struct record){.type = RECORD_THREAD, .thread = thread});
}

static void other_instances_are_apart(void **state)
{
	struct program program = program_with_workers();
	uint32_t take = USER(&program, "take", "worker_main", "start_thread");
	_cleanup_analysis_ struct analysis analysis = {};

	synthetic__map(&program.made, PID + 100, program.dso, 0, PROGRAM_AT, 0x1000, 0);
	put_stranger(&program, 7, "main");
	put_stranger(&program, 8, "worker-8");
	synthetic__interval(&program.made, WAIT(8, 1, 0, 90 * MS, .user_stack = take));
	analysis = program__analyse(&program, 100 * MS, NULL);
	assert_int_equal(vertex_of(&analysis, "worker-*")->n, 3);
	assert_int_equal(vertex_of(&analysis, "worker-8")->n, 1);
}

static void assert_unfolded(const char *name, size_t vertices, const char *present)
{
	struct waitgraph_options options = {.merge = {.separate = !name}};
	struct program program = program_with_workers();
	_cleanup_analysis_ struct analysis analysis = {};

	if (name)
		array__push(&options.merge.unfolded, name);
	analysis = program__analyse(&program, 100 * MS, &options);
	assert_int_equal(analysis.graph.vertices.n, vertices);
	vertex_of(&analysis, present);
	array__free(&options.merge.unfolded);
}

static void threads_can_be_unfolded(void **state)
{
	assert_unfolded("nothing", 5, "worker-*");
	/* The other two are still alike, and the unknown one is always there. */
	assert_unfolded("worker-1", 6, "worker-1");
	assert_unfolded("worker-1", 6, "worker-*");
	assert_unfolded("worker-*", 7, "worker-2");
	assert_unfolded(NULL, 7, "worker-3");
}

/* Code of a JIT compiler has no names: any of it is like any other, and a run of it like one. */
static void code_without_names_is_all_alike(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};
	uint64_t main_at = program__address(&program, false, "main");
	uint64_t park = program__address(&program, false, "park");
	uint32_t one = USER_STACK(&program.made, park, 0x10008, main_at);
	uint32_t two = USER_STACK(&program.made, park, 0x20008, 0x30008, main_at);
	uint32_t none = USER_STACK(&program.made, park, main_at);

	program__thread(&program, 1, "A");
	program__thread(&program, 2, "jit-1");
	program__thread(&program, 3, "jit-2");
	program__thread(&program, 4, "jit-3");
	synthetic__interval(&program.made, WAIT(2, 1, 0, 30 * MS, .user_stack = one));
	synthetic__interval(&program.made, WAIT(3, 1, 0, 40 * MS, .user_stack = two));
	synthetic__interval(&program.made, WAIT(4, 1, 0, 40 * MS, .user_stack = none));
	analysis = program__analyse(&program, 100 * MS, NULL);
	assert_int_equal(vertex_of(&analysis, "jit-*")->n, 2);
	assert_int_equal(find_edge(&analysis, "jit-*", "A")->n_causes, 1);
	assert_int_equal(vertex_of(&analysis, "jit-3")->n, 1);
}

/* On the CPU, where they are called from is what counts; and how much more they run than wait. */
static void running_threads_are_compared_by_callers(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};
	uint32_t deep = USER(&program, "leaf", "inner", "f5", "f4", "f3", "f2", "main");
	uint32_t other = USER(&program, "sum", "hash", "f5", "f4", "f3", "f2", "main");
	uint32_t else_where = USER(&program, "sum", "hash", "g5", "g4", "g3", "g2", "main");

	program__thread(&program, 1, "run1");
	program__thread(&program, 2, "run2");
	program__thread(&program, 3, "run3");
	synthetic__sample(&program.made, 1, 10 * MS, 50, 0, deep);
	synthetic__sample(&program.made, 2, 10 * MS, 30, 0, other);
	synthetic__sample(&program.made, 3, 10 * MS, 30, 0, else_where);
	analysis = program__analyse(&program, 100 * MS, NULL);
	assert_int_equal(vertex_of(&analysis, "run*")->n, 2);
	assert_int_equal(vertex_of(&analysis, "run*")->running_ns, 80 * MS);
	assert_int_equal(vertex_of(&analysis, "run3")->n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_lived_threads_are_one),
		cmocka_unit_test(filters_are_for_missing_tasks_too),
		cmocka_unit_test(children_of_children_are_one),
		cmocka_unit_test(similar_threads_are_one),
		cmocka_unit_test(other_instances_are_apart),
		cmocka_unit_test(threads_can_be_unfolded),
		cmocka_unit_test(code_without_names_is_all_alike),
		cmocka_unit_test(running_threads_are_compared_by_callers),
	};

	return cmocka_run_group_tests_name("waits: thread similarity", tests, NULL, NULL);
}
