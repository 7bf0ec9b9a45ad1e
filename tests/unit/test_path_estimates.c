// SPDX-License-Identifier: BSD-2-Clause
/* Runs that no sample fell into are divided by the samples of similar runs. */
#include "tests/unit/path_support.h"

#include <math.h>

/* The base sleeps in these functions. */
static void put_sleep(struct program *program, uint64_t begin, uint64_t end, uint32_t user)
{
	synthetic__interval(&program->made, (struct record_interval){.thread = 1,
								     .class = CLASS_OTHER,
								     .waker_context = WAKER_HARDIRQ,
								     .t_out = begin,
								     .blocked_ns = end - begin,
								     .syscall = SYS_read,
								     .user_stack = user});
}

static const struct path_node *node_of(const struct found *found, const char *name)
{
	const struct path_node *nodes = found->path.tree.nodes.data, *at = NULL;

	for (size_t i = 1; i < found->path.tree.nodes.n; i++)
		if (nodes[i].type == PATH_NODE_FRAME &&
		    !strcmp(model__string(found->model, nodes[i].name), name)) {
			assert_null(at);
			at = &nodes[i];
		}
	assert_non_null(at);
	return at;
}

/*
 * Ten runs of 1 ms between waits in `in` and waits in `out`; samples of two hit f, of one g. Seven
 * are divided: two thirds are in f, the rest is in g. Runs from `out` to `in` have no sample.
 */
static void runs_are_divided_by_samples(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};
	uint32_t in = USER(&program, "read", "in", "main");
	uint32_t out = USER(&program, "write", "out", "main");

	program__threads(&program, 1);
	for (uint64_t i = 0; i < 10; i++) {
		put_sleep(&program, (4 * i) * MS, (4 * i + 1) * MS, in);
		put_sleep(&program, (4 * i + 2) * MS, (4 * i + 3) * MS, out);
	}
	synthetic__sample(&program.made, 1, 1 * MS + 100, 1, 0, USER(&program, "f", "main"));
	synthetic__sample(&program.made, 1, 5 * MS + 800, 1, 0, USER(&program, "f", "main"));
	synthetic__sample(&program.made, 1, 9 * MS + 300, 1, 0, USER(&program, "g", "main"));
	found = program__path(&program, 40 * MS);
	check_conservation(&found.path);
	assert_int_equal(found.path.ns[PATH_RUNNING], 3 * MS);
	assert_int_equal(found.path.ns[PATH_ESTIMATED], 7 * MS);
	assert_int_equal(found.path.ns[PATH_NOT_SAMPLED], 10 * MS);
	assert_int_equal(TIME_AT(&found, "A", "main", "f"), 2 * MS + 7 * MS * 2 / 3);
	assert_int_equal(TIME_AT(&found, "A", "main", "f") + TIME_AT(&found, "A", "main", "g"),
			 10 * MS);
	assert_int_equal(node_of(&found, "f")->estimated_ns, 7 * MS * 2 / 3);
	/* p = (2 + 1) / (3 + 2), of 10 ms. */
	assert_true(fabs(sqrt(node_of(&found, "f")->total_variance) - 10e6 * sqrt(0.6 * 0.4 / 6)) <
		    1);
	/* All of it is in main, in any case. */
	assert_true(node_of(&found, "main")->total_variance == 0);
}

/* A preemption anywhere is no place: the parts of a run before and after it are like others. */
static void preempted_runs_are_of_the_same_group(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};
	uint32_t in = USER(&program, "read", "main");

	program__threads(&program, 1);
	for (uint64_t i = 0; i < 3; i++)
		put_sleep(&program, (10 * i) * MS, (10 * i + 1) * MS, in);
	synthetic__interval(&program.made,
			    (struct record_interval){.thread = 1,
						     .class = CLASS_SCHED,
						     .flags = INTERVAL_PREEMPTED,
						     .t_out = 5 * MS,
						     .runq_ns = MS,
						     .syscall = -1,
						     .user_stack = USER(&program, "f", "main")});
	synthetic__sample(&program.made, 1, 2 * MS, 1, 0, USER(&program, "f", "main"));
	found = program__path(&program, 21 * MS);
	check_conservation(&found.path);
	assert_int_equal(found.path.ns[PATH_ESTIMATED], 9 * MS);
	assert_int_equal(TIME_AT(&found, "A", "main", "f"), (4 + 1 + 4 + 9) * MS);
}

#define RUNS 20000

/*
 * Runs of random lengths, the first part of each in f, the rest in g, sampled at random times, less
 * than one in two: both functions' times are right within 5 standard errors as they are given.
 */
static void estimates_have_their_errors(void **state)
{
	static const uint64_t period = MS;
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};
	uint32_t in = USER(&program, "read", "main"), f = USER(&program, "f", "main");
	uint32_t g = USER(&program, "g", "main");
	uint64_t at = 0, truth[2] = {}, next = random_below(period), cell = 0;

	program__threads(&program, 1);
	for (int i = 0; i < RUNS; i++) {
		uint64_t part = random_below(200000), length = part + 1 + random_below(400000);
		uint64_t begin = at + 10000;

		put_sleep(&program, at, begin, in);
		at = begin + length;
		truth[0] += part;
		truth[1] += length - part;
		for (; next < at; next = cell + random_below(period)) {
			if (next >= begin)
				synthetic__sample(&program.made, 1, next, 1, 0,
						  next < begin + part ? f : g);
			cell += period;
		}
	}
	put_sleep(&program, at, at + 1000, in);
	found = program__path(&program, at + 1000);
	check_conservation(&found.path);
	assert_int_equal(found.path.ns[PATH_NOT_SAMPLED], 0);
	for (int k = 0; k < 2; k++) {
		const struct path_node *node = node_of(&found, k ? "g" : "f");
		double error = sqrt(node->total_variance);

		assert_true(fabs((double)node->total_ns - (double)truth[k]) < 4.9 * error);
		assert_true(error < 0.03 * (double)truth[k]);
	}
}

/*
 * Between the same two waits, two runs of 3 periods in f for each of 20 of a tenth of a period in
 * g, sampled at a random time in each period: the runs without a sample are all in g.
 */
static void short_runs_are_not_like_long_ones(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};
	uint32_t in = USER(&program, "read", "main"), f = USER(&program, "f", "main");
	uint32_t g = USER(&program, "g", "main");
	uint64_t at = 0, truth = 0, next = random_below(MS), cell = 0;

	program__threads(&program, 1);
	for (int i = 0; i < RUNS / 10; i++) {
		bool is_long = i % 11 == 0;
		uint64_t begin = at + 10000;

		put_sleep(&program, at, begin, in);
		at = begin + (is_long ? 3 * MS : MS / 10);
		truth += is_long ? 3 * MS : 0;
		for (; next < at; next = cell + random_below(MS)) {
			if (next >= begin)
				synthetic__sample(&program.made, 1, next, 1, 0, is_long ? f : g);
			cell += MS;
		}
	}
	put_sleep(&program, at, at + 1000, in);
	found = program__path(&program, at + 1000);
	check_conservation(&found.path);
	assert_true(found.path.ns[PATH_ESTIMATED] > truth / 10);
	/* A sample of a run that is never without one weighs 1, and not nothing. */
	assert_in_range(TIME_AT(&found, "A", "main", "f"), truth, truth + truth / 1000);
}

#define MAX_SHARES 300

/* Of runs that get one stack each, every stack has the time that is due to it, within the bound. */
static void runs_with_one_stack_each_add_up(void **state)
{
	static const size_t sizes[] = {1, 2, 3, 7, 64, MAX_SHARES};

	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		struct run_share shares[MAX_SHARES] = {};
		uint64_t given[MAX_SHARES] = {}, got[MAX_SHARES] = {}, all = 0;
		struct run_group group = {.n = sizes[k]};
		double bound = (log2((double)sizes[k]) + 1) * 1000;

		for (size_t i = 0; i < group.n; i++) {
			shares[i].weight.unsampled = 1 + random_below(i % 5 ? 10 : 1000);
			shares[i].before = group.weight.unsampled;
			group.weight.unsampled += shares[i].weight.unsampled;
		}
		for (int run = 0; run < 20000; run++) {
			uint64_t ns = 1 + random_below(1000);
			size_t next = run_group__next(&group, shares, given, ns);

			assert_true(next < group.n);
			got[next] += ns;
			all += ns;
		}
		for (size_t i = 0; i < group.n; i++)
			assert_true(fabs((double)got[i] -
					 (double)all * (double)shares[i].weight.unsampled /
						 (double)group.weight.unsampled) <= bound);
	}
}

/* Of each group the stack with the largest weight is the likely one, and weights add up. */
static void groups_know_their_likely_stack(void **state)
{
	static const char *const names[] = {"f", "g", "h", "i"};
	static const uint32_t hits[] = {2, 5, 3, 4};
	struct program program = program__begin(true);
	uint32_t in = USER(&program, "read", "main");
	const struct run_group *group;
	const struct run_share *shares;
	struct run_groups *groups;
	uint64_t run = 0, sum = 0;
	struct model *model;
	uint32_t number;

	program__threads(&program, 1);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		uint32_t stack = USER(&program, names[i], "main");

		for (uint32_t n = 0; n < hits[i]; n++, run++) {
			put_sleep(&program, 2 * run * MS, (2 * run + 1) * MS, in);
			synthetic__sample(&program.made, 1, (2 * run + 1) * MS + 5, 1, 0, stack);
		}
	}
	put_sleep(&program, 2 * run * MS, (2 * run + 1) * MS, in);
	model = synthetic__load(&program.made, 40 * MS);
	assert_int_equal(run_groups__new(model, NULL, &groups), 0);
	assert_int_equal(run_groups__find(groups, index_of(model, 1), 1, &number), 0);
	assert_int_not_equal(number, 0);
	group = run_groups__at(groups, number);
	shares = run_groups__shares(groups, number);
	assert_int_equal(group->n, ARRAY_SIZE(names));
	for (size_t i = 0; i < group->n; i++) {
		assert_int_equal(shares[i].before, sum);
		sum += shares[i].weight.unsampled;
		assert_true(shares[i].weight.points <= shares[group->most].weight.points);
	}
	assert_int_equal(group->weight.unsampled, sum);
	assert_int_equal(shares[group->most].weight.points, 5);
	run_groups__free(groups);
	model__free(model);
}

/*
 * 400 runs of 1 ms, of which every fourth is sampled, two fifths of these while the kernel reclaims
 * memory: those are exact, and of the others about two fifths. (The last run is like no other.)
 */
static void memory_is_reclaimed_in_estimated_runs(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};
	uint32_t in = USER(&program, "read", "main");
	uint32_t reclaim = KERNEL(&program, "mutex_lock", "shrink_slab", "shrink_node",
				  "try_to_free_mem_cgroup_pages", "vfs_read");
	uint32_t copy = KERNEL(&program, "copy_to_iter", "vfs_read");
	const uint64_t estimated = 299 * MS, due = estimated * 2 / 5;

	program__threads(&program, 1);
	for (uint64_t i = 0; i < 400; i++) {
		put_sleep(&program, 2 * i * MS, (2 * i + 1) * MS, in);
		if (i % 4 == 0)
			synthetic__sample(&program.made, 1, (2 * i + 1) * MS + MS / 2, 1,
					  i % 20 < 8 ? reclaim : copy,
					  USER(&program, "read", "main"));
	}
	found = program__path(&program, 800 * MS);
	check_conservation(&found.path);
	assert_int_equal(found.path.ns[PATH_MEMORY], 40 * MS);
	assert_int_equal(found.path.ns[PATH_RUNNING], 60 * MS);
	assert_int_equal(found.path.ns[PATH_MEMORY_ESTIMATED] + found.path.ns[PATH_ESTIMATED],
			 estimated);
	/* 4.9 standard deviations of the number of 300 runs. */
	assert_in_range(found.path.ns[PATH_MEMORY_ESTIMATED], due - 42 * MS, due + 42 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_are_divided_by_samples),
		cmocka_unit_test(memory_is_reclaimed_in_estimated_runs),
		cmocka_unit_test(short_runs_are_not_like_long_ones),
		cmocka_unit_test(preempted_runs_are_of_the_same_group),
		cmocka_unit_test(estimates_have_their_errors),
		cmocka_unit_test(runs_with_one_stack_each_add_up),
		cmocka_unit_test(groups_know_their_likely_stack),
	};

	return cmocka_run_group_tests_name("path_estimates", tests, NULL, NULL);
}
