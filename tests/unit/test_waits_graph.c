// SPDX-License-Identifier: BSD-2-Clause
/* What a wait-for graph's edges weigh: every wait known, and from sampling points. */
#include "tests/unit/waits_support.h"

#include <math.h>

/* wPerf, figure 4: A waits for B in [0, 100), B for C in [20, 100). */
static struct program papers_example(void)
{
	struct program program = program__begin(true);

	program__threads(&program, 3);
	program__wait(&program, 1, 2, 0, 100 * MS);
	program__wait(&program, 2, 3, 20 * MS, 100 * MS);
	return program;
}

static struct analysis analyse_papers_example(const struct waitgraph_options *options)
{
	struct program program = papers_example();

	return program__analyse(&program, 100 * MS, options);
}

static void the_papers_example(void **state)
{
	_cleanup_analysis_ struct analysis analysis = analyse_papers_example(NULL);
	const struct waitgraph *graph = &analysis.graph;

	assert_true(graph->exact);
	assert_int_equal(graph->duration_ns, 100 * MS);
	assert_int_equal(graph->edges.n, 2);
	assert_int_equal(plain_of(&analysis, "A", "B"), 100 * MS);
	assert_int_equal(weight_of(&analysis, "A", "B"), 100 * MS);
	assert_int_equal(plain_of(&analysis, "B", "C"), 80 * MS);
	assert_int_equal(weight_of(&analysis, "B", "C"), 160 * MS);
	assert_true(find_edge(&analysis, "B", "C")->error_ns == 0);
	/* Most first; one vertex each, and the unknown one. */
	assert_ptr_equal(find_edge(&analysis, "B", "C"), &graph->edges.data[0]);
	assert_int_equal(graph->vertices.n, 4);
	assert_null(find_edge(&analysis, "A", "C"));
}

static void windows_cut_waits(void **state)
{
	static const struct waitgraph_options part = {
		.filter = {.from = 10 * MS, .until = 50 * MS},
	};
	static const struct waitgraph_options past = {
		.filter = {.from = 200 * MS, .until = 300 * MS},
	};
	static const struct waitgraph_options reversed = {
		.filter = {.from = 50 * MS, .until = 10 * MS},
	};
	_cleanup_analysis_ struct analysis analysis = analyse_papers_example(&part);

	assert_int_equal(analysis.graph.duration_ns, 40 * MS);
	assert_int_equal(plain_of(&analysis, "A", "B"), 40 * MS);
	assert_int_equal(weight_of(&analysis, "A", "B"), 40 * MS);
	assert_int_equal(plain_of(&analysis, "B", "C"), 30 * MS);
	assert_int_equal(weight_of(&analysis, "B", "C"), 60 * MS);
	analysis__free(&analysis);

	analysis = analyse_papers_example(&past);
	assert_int_equal(analysis.graph.duration_ns, 0);
	assert_int_equal(analysis.graph.edges.n, 0);
	assert_int_equal(bottlenecks__find(&analysis.graph, 0.2, &analysis.found), 0);
	assert_int_equal(analysis.found.all.n, 0);
	analysis__free(&analysis);

	analysis = analyse_papers_example(&reversed);
	assert_int_equal(analysis.graph.duration_ns, 0);
	assert_int_equal(analysis.graph.edges.n, 0);
}

/* However it is cut, the parts of a window's times add up to those of the whole. */
static void times_of_windows_add_up(void **state)
{
	for (uint64_t cut = 5 * MS; cut < 100 * MS; cut += 7777777) {
		struct waitgraph_options one = {.filter = {.until = cut}};
		struct waitgraph_options two = {.filter = {.from = cut}};
		_cleanup_analysis_ struct analysis before = analyse_papers_example(&one);
		_cleanup_analysis_ struct analysis after = analyse_papers_example(&two);

		assert_int_equal(vertex_of(&before, "B")->blocked_ns +
					 vertex_of(&after, "B")->blocked_ns,
				 80 * MS);
		assert_int_equal(vertex_of(&before, "A")->blocked_ns, cut);
		assert_int_equal(vertex_of(&after, "A")->lifetime_ns, 100 * MS - cut);
		assert_int_equal(vertex_of(&after, "A")->blocked_ns, 100 * MS - cut);
	}
}

/* Stacks that differ in addresses only are one cause; its object is that of the longest wait. */
static struct program program_with_causes(void)
{
	struct program program = program__begin(true);
	struct record_object object = {.type = OBJECT_FUTEX};
	uint64_t lock = program__address(&program, false, "lock");
	uint64_t main_at = program__address(&program, false, "main");
	uint32_t here = USER_STACK(&program.made, lock, main_at);
	uint32_t there = USER_STACK(&program.made, lock + 3, main_at + 2);
	uint32_t read = USER(&program, "read", "main");
	uint32_t unlock = USER(&program, "unlock", "main");
	uint32_t objects[2];

	for (uint64_t i = 0; i < ARRAY_SIZE(objects); i++) {
		object.id = 0x1000 + i;
		objects[i] = record_stream__object(recording_writer__stream(program.made.writer),
						   &object);
	}
	program__threads(&program, 2);
	synthetic__interval(&program.made,
			    BLOCKED(1, 2, 0, 10 * MS, .user_stack = here, .object = objects[0],
				    .class = CLASS_LOCK, .syscall = -1));
	synthetic__interval(&program.made,
			    BLOCKED(1, 2, 10 * MS, 30 * MS, .user_stack = there,
				    .object = objects[1], .class = CLASS_LOCK, .syscall = -1));
	synthetic__interval(&program.made, WAIT(1, 2, 30 * MS, 65 * MS, .user_stack = read));
	program__wake(&program, 1, 2, 65 * MS, 0, unlock);
	synthetic__interval(&program.made, WAIT(1, 2, 65 * MS, 70 * MS, .user_stack = read));
	synthetic__interval(&program.made, WAIT(2, 1, 80 * MS, 90 * MS, .user_stack = read));
	return program;
}

static void causes_are_told_apart_by_functions(void **state)
{
	struct program program = program_with_causes();
	_cleanup_analysis_ struct analysis analysis = program__analyse(&program, 100 * MS, NULL);
	const struct waitgraph_edge *edge = find_edge(&analysis, "A", "B");
	const struct waitgraph_cause *causes = &analysis.graph.causes.data[edge->cause];

	assert_int_equal(edge->count, 4);
	assert_int_equal(edge->plain_ns, 70 * MS);
	assert_int_equal(edge->n_causes, 3);
	/* Most first. */
	assert_string_equal(frame_text(analysis.model, causes[0].user, 0), "prog:read");
	assert_string_equal(frame_text(analysis.model, causes[0].waker_user, 0), "prog:unlock");
	assert_int_equal(causes[0].weight_ns, 35 * MS);
	assert_string_equal(frame_text(analysis.model, causes[1].user, 0), "prog:lock");
	assert_int_equal(causes[1].count, 2);
	assert_int_equal(causes[1].weight_ns, 30 * MS);
	assert_int_equal(causes[1].longest_ns, 20 * MS);
	assert_int_equal(causes[1].class, CLASS_LOCK);
	assert_int_equal(analysis.model->objects.data[causes[1].object].id, 0x1001);
	assert_int_equal(causes[2].weight_ns, 5 * MS);
	for (uint32_t i = 0; i < edge->n_causes; i++)
		assert_ptr_equal(&analysis.graph.edges.data[causes[i].edge], edge);
	edge = find_edge(&analysis, "B", "A");
	assert_int_equal(edge->n_causes, 1);
	assert_int_equal(analysis.graph.causes.n, 4);
}

/* Two processes, a helper, and a thread that was only named as a waker. */
static struct program program_of_many(void)
{
	struct program program = program__begin(true);
	static const struct {
		uint32_t pid;
		uint32_t flags;
		const char *comm;
	} threads[] = {
		{PID, THREAD_TARGET, "A"},
		{PID, THREAD_TARGET, "B"},
		{PID + 50, THREAD_TARGET, "C"},
		{PID + 60, THREAD_HELPER, "D"},
		{PID + 70, 0, "E"},
	};

	for (uint32_t i = 0; i < ARRAY_SIZE(threads); i++) {
		struct record_thread thread = {.thread = i + 1,
					       .tid = PID + i + 1,
					       .tgid = threads[i].pid,
					       .flags = threads[i].flags,
					       .time = START};

		thread.comm = synthetic__string(&program.made, threads[i].comm);
		synthetic__put(&program.made,
			       (struct record){.type = RECORD_THREAD, .thread = thread});
		program__wait(&program, i + 1, (i + 1) % 5 + 1, 10 * i * MS, (10 * i + 5) * MS);
	}
	synthetic__comm(&program.made, 1, 50 * MS, "later");
	return program;
}

/* The names of those whose waits are known under @filter. */
static void assert_known(const struct sample_filter *filter, const char *names)
{
	struct program program = program_of_many();
	const struct waitgraph_options options = {.filter = *filter};
	_cleanup_analysis_ struct analysis analysis =
		program__analyse(&program, 100 * MS, &options);
	char known[16] = "";

	for (uint32_t v = 0; v < analysis.graph.vertices.n; v++)
		if (analysis.graph.vertices.data[v].recorded)
			strncat(known, vertex_name(&analysis, v), 1);
	assert_string_equal(known, names);
	assert_int_equal(analysis.graph.edges.n, strlen(names));
	for (size_t i = 0; i < analysis.graph.edges.n; i++)
		assert_true(
			analysis.graph.vertices.data[analysis.graph.edges.data[i].from].recorded);
}

static void filters_choose_whose_waits_count(void **state)
{
	struct sample_filter filter = {};

	/* "A" is called "later" at last. */
	assert_known(&filter, "lBCD");
	array__push(&filter.pids, PID + 50);
	assert_known(&filter, "CD");
	array__push(&filter.pids, PID);
	assert_known(&filter, "lBCD");
	sample_filter__free(&filter);
	array__push(&filter.tids, PID + 2);
	assert_known(&filter, "BD");
	sample_filter__free(&filter);
	array__push(&filter.comms, "A");
	assert_known(&filter, "lD");
	filter.comms.data[0] = "nobody";
	assert_known(&filter, "D");
	sample_filter__free(&filter);
}

/* What a random trace is like. */
struct trace {
	uint32_t threads; /* at most 16 */
	unsigned int steps;
	unsigned int longest; /* between two things, 2^longest ns */
	int spacing;	      /* of all waits; -1: any of 0 to 2 */
	bool thinned;	      /* written as sampling mode does: what holds no point is left out */
	bool own;	      /* threads have points of their own, too, where spacing is not 0 */
};

static uint64_t points_of(uint64_t from, uint64_t until, unsigned int spacing, uint64_t seed)
{
	return sample_grid__points(START + from, START + until, PERIOD << spacing, seed) << spacing;
}

static void put_random_wait(struct program *program, const struct trace *trace, uint64_t seed,
			    struct record_interval wait)
{
	unsigned int spacing =
		trace->spacing < 0 ? (unsigned int)random_below(3) : (unsigned int)trace->spacing;

	wait.blocked_points = (uint32_t)points_of(wait.t_out, wait.t_out + wait.blocked_ns, spacing,
						  hash__mix(seed));
	wait.flags = (uint16_t)(spacing << INTERVAL_SPACING_SHIFT);
	if (trace->own && spacing) {
		wait.flags |= INTERVAL_OWN_POINTS;
		wait.blocked_points = (uint32_t)sample_grid__weight(
			START + wait.t_out, START + wait.t_out + wait.blocked_ns, PERIOD,
			(uint8_t)spacing, hash__mix(seed),
			sample_grid__own_seed(hash__mix(seed), wait.thread));
	}
	if (wait.blocked_points || !trace->thinned)
		synthetic__interval(&program->made, wait);
}

/* Threads that block, and are woken by others that run then. The same for the same @seed. */
static struct model *random_trace(const struct trace *trace, uint64_t seed)
{
	struct program program = program__begin(!trace->thinned);
	uint64_t begin[16] = {}, now = 0;
	bool blocked[16] = {};

	random_state = seed;
	record_stream__meta(recording_writer__stream(program.made.writer), "grid_seed", "%llu",
			    (unsigned long long)hash__mix(seed));
	program__threads(&program, trace->threads);
	for (unsigned int i = 0; i < trace->steps; i++) {
		uint32_t one = (uint32_t)random_below(trace->threads);
		uint32_t other = (uint32_t)random_below(trace->threads);

		now += 1 + random_below(1ULL << random_below(trace->longest + 1));
		if (blocked[one] || one == other)
			continue;
		blocked[blocked[other] ? other : one] = !blocked[other];
		if (blocked[one])
			begin[one] = now;
		else
			put_random_wait(&program, trace, seed,
					WAIT(other + 1, one + 1, begin[other], now));
	}
	return synthetic__load(&program.made, now);
}

static struct analysis analyse(struct model *model, bool sampled)
{
	const struct waitgraph_options options = {.sampled = sampled};

	return analysis__of(model, &options);
}

/* One edge's weights may be off by this much. */
static void assert_near(const struct trace *trace, const struct waitgraph_edge *exact,
			const struct waitgraph_edge *sampled)
{
	double apart = PERIOD << (trace->spacing < 0 ? 2 : trace->spacing);
	double error = fabs((double)exact->weight_ns - (double)sampled->weight_ns);
	double slack = 4 * apart * trace->threads;

	assert_int_equal(exact->count, sampled->count);
	assert_true(sampled->error_ns >= 0);
	if (error > 4 * sampled->error_ns + slack)
		fail_msg("%lu by points, %lu exactly; standard error %.0f",
			 (unsigned long)sampled->weight_ns, (unsigned long)exact->weight_ns,
			 sampled->error_ns);
}

/* Many traces: each edge near, and all of them together nearer. */
static void compare(const struct trace *trace, uint64_t seeds, double bias)
{
	double exact_sum = 0, sampled_sum = 0, exact_plain = 0, sampled_plain = 0;

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct model *model = random_trace(trace, seed);
		struct analysis exact = analyse(model, false), sampled = analyse(model, true);

		assert_true(exact.graph.exact && !sampled.graph.exact);
		assert_int_equal(exact.graph.edges.n, sampled.graph.edges.n);
		for (size_t i = 0; i < exact.graph.edges.n; i++) {
			const struct waitgraph_edge *edge = &exact.graph.edges.data[i];
			const struct waitgraph_edge *other =
				edge_between(&sampled.graph, edge->from, edge->to);

			assert_near(trace, edge, other);
			exact_sum += (double)edge->weight_ns;
			sampled_sum += (double)other->weight_ns;
			exact_plain += (double)edge->plain_ns;
			sampled_plain += (double)other->plain_ns;
		}
		analysis__drop(&sampled);
		analysis__free(&exact);
	}
	if (fabs(sampled_sum / exact_sum - 1) > bias ||
	    fabs(sampled_plain / exact_plain - 1) > bias)
		fail_msg("cascaded %+.4f, plain %+.4f", sampled_sum / exact_sum - 1,
			 sampled_plain / exact_plain - 1);
}

static void points_tell_what_every_wait_would(void **state)
{
	compare(&(struct trace){.threads = 8, .steps = 3000, .longest = 23}, 30, 0.004);
	compare(&(struct trace){.threads = 16, .steps = 3000, .longest = 20}, 30, 0.01);
	compare(&(struct trace){.threads = 3, .steps = 3000, .longest = 23}, 30, 0.004);
}

/* None of these waits is as long as a tenth of a period. */
static void short_waits_count_in_the_mean(void **state)
{
	compare(&(struct trace){.threads = 3, .steps = 5000, .longest = 16}, 150, 0.03);
}

static void points_farther_apart_tell_the_same(void **state)
{
	compare(&(struct trace){.threads = 8, .steps = 3000, .longest = 23, .spacing = 1}, 30,
		0.01);
	compare(&(struct trace){.threads = 8, .steps = 3000, .longest = 23, .spacing = 2}, 30,
		0.01);
	compare(&(struct trace){.threads = 8, .steps = 3000, .longest = 23, .spacing = -1}, 40,
		0.01);
}

/* What the kernel side counted is what the weights are made of. */
static void assert_points_counted(const struct analysis *sampled)
{
	uint64_t points = 0, plain = 0;

	for (size_t i = 1; i < sampled->model->threads.n; i++) {
		const struct model_thread *thread = &sampled->model->threads.data[i];

		for (size_t k = 0; k < thread->intervals.n; k++)
			points += thread->intervals.data[k].blocked_points;
	}
	for (size_t i = 0; i < sampled->graph.edges.n; i++)
		plain += sampled->graph.edges.data[i].plain_ns;
	assert_int_equal(plain, points * PERIOD);
}

/*
 * Sampling mode leaves out what holds no point: it would have weighed nothing. With points
 * of several distances, a wait may hold one of another's, which passes through it then.
 */
static void assert_thinned_is_the_same(struct trace trace, uint64_t seed)
{
	struct model *all = random_trace(&trace, seed), *kept;
	struct analysis whole = analyse(all, true), thinned;

	trace.thinned = true;
	kept = random_trace(&trace, seed);
	thinned = analyse(kept, false);
	assert_false(thinned.graph.exact);
	assert_true(thinned.graph.list.waits.n < whole.graph.list.waits.n);
	if (!trace.own) {
		assert_points_counted(&whole);
		assert_points_counted(&thinned);
	}
	for (size_t i = 0; i < whole.graph.edges.n; i++) {
		const struct waitgraph_edge *edge = &whole.graph.edges.data[i];
		const char *from = vertex_name(&whole, edge->from);
		const char *to = vertex_name(&whole, edge->to);

		assert_int_equal(plain_of(&thinned, from, to), edge->plain_ns);
		if (trace.spacing >= 0)
			assert_int_equal(weight_of(&thinned, from, to), edge->weight_ns);
	}
	analysis__free(&whole);
	analysis__free(&thinned);
}

static void what_holds_no_point_weighs_nothing(void **state)
{
	for (uint64_t seed = 100; seed < 110; seed++) {
		struct trace trace = {.threads = 6, .steps = 2000, .longest = 21};

		for (trace.spacing = -1; trace.spacing <= 2; trace.spacing++)
			assert_thinned_is_the_same(trace, seed);
	}
}

/* Waits that are recorded because of a point of their thread alone weigh nothing in the graph. */
static void only_common_points_make_the_graph(void **state)
{
	for (uint64_t seed = 200; seed < 210; seed++) {
		struct trace trace = {.threads = 6, .steps = 2000, .longest = 21, .own = true};

		for (trace.spacing = -1; trace.spacing <= 2; trace.spacing++)
			assert_thinned_is_the_same(trace, seed);
	}
	compare(
		&(struct trace){
			.threads = 8, .steps = 3000, .longest = 23, .spacing = 2, .own = true},
		30, 0.01);
}

/* Of long recordings, only some points are looked at: each stands for more time then. */
static void long_recordings_have_fewer_points(void **state)
{
	const uint64_t hours = 3600 * 1000 * MS;
	struct program program = program__begin(true);
	const struct waitgraph_options options = {.sampled = true};
	struct analysis analysis;

	program__threads(&program, 4);
	program__wait(&program, 1, 2, 0, 30 * hours);
	program__wait(&program, 2, 3, 10 * hours, 30 * hours);
	program__wait(&program, 4, 3, 20 * hours, 30 * hours);
	analysis = program__analyse(&program, 30 * hours, &options);
	assert_true(analysis.graph.points > 100000 && analysis.graph.points <= 1 << 21);
	assert_true(fabs((double)plain_of(&analysis, "A", "B") / (30.0 * hours) - 1) < 0.001);
	assert_true(fabs((double)weight_of(&analysis, "B", "C") / (40.0 * hours) - 1) < 0.001);
	assert_true(fabs((double)weight_of(&analysis, "D", "C") / (10.0 * hours) - 1) < 0.001);
	analysis__free(&analysis);
}

/* K has no work; B waits for K, C for B, and A, for whom K waits, for D. */
static struct program program_with_the_idle(void)
{
	struct program program = program__begin(true);
	struct record_thread kernel_thread = {
		.thread = 5,
		.tid = 5,
		.tgid = 5,
		.flags = THREAD_TARGET | THREAD_KERNEL,
		.comm = synthetic__string(&program.made, "K"),
		.time = START,
	};

	program__threads(&program, 4);
	synthetic__put(&program.made,
		       (struct record){.type = RECORD_THREAD, .thread = kernel_thread});
	synthetic__interval(&program.made, WAIT(5, 1, 0, 60 * MS,
						.kernel_stack = KERNEL(&program, "worker_thread")));
	program__wait(&program, 2, 5, 10 * MS, 40 * MS);
	program__wait(&program, 3, 2, 10 * MS, 30 * MS);
	program__wait(&program, 1, 4, 20 * MS, 50 * MS);
	return program;
}

/* What it waits counts for itself, and is nobody's fault: no other wait gets heavier. */
static void the_idle_add_to_nobody(void **state)
{
	for (int sampled = 0; sampled < 2; sampled++) {
		const struct waitgraph_options options = {.sampled = sampled};
		const double slack = (sampled ? 4.0 : 0.0) * (double)MS;
		struct program program = program_with_the_idle();
		_cleanup_analysis_ struct analysis analysis =
			program__analyse(&program, 100 * MS, &options);

		assert_true(fabs((double)weight_of(&analysis, "K", "A") - 110e6) <= slack);
		assert_true(fabs((double)weight_of(&analysis, "B", "K") - 50e6) <= slack);
		assert_true(fabs((double)weight_of(&analysis, "C", "B") - 20e6) <= slack);
		assert_true(fabs((double)weight_of(&analysis, "A", "D") - 60e6) <= slack);
		assert_true(waitgraph_edge__is_idle(find_edge(&analysis, "K", "A")));
	}
}

/*
 * A waits for B, and C for A; then B waits for A: for a disk that is idle while its request is held
 * up. The tree of B's wait has A and C; the other way B's is not counted.
 */
static void waits_in_a_circle_weigh_the_same_from_samples(void **state)
{
	for (int sampled = 0; sampled < 2; sampled++) {
		const struct waitgraph_options options = {.sampled = sampled};
		const double slack = (sampled ? 4.0 : 0.0) * (double)MS;
		struct program program = program__begin(true);
		_cleanup_analysis_ struct analysis analysis = {};

		program__threads(&program, 3);
		program__wait(&program, 1, 2, 10 * MS, 90 * MS);
		program__wait(&program, 2, 1, 20 * MS, 80 * MS);
		program__wait(&program, 3, 1, 15 * MS, 95 * MS);
		analysis = program__analyse(&program, 100 * MS, &options);
		assert_true(fabs((double)weight_of(&analysis, "A", "B") - 155e6) <= slack);
		assert_true(fabs((double)weight_of(&analysis, "B", "A") - 180e6) <= slack);
		assert_true(fabs((double)weight_of(&analysis, "C", "A") - 80e6) <= slack);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_papers_example),
		cmocka_unit_test(windows_cut_waits),
		cmocka_unit_test(times_of_windows_add_up),
		cmocka_unit_test(causes_are_told_apart_by_functions),
		cmocka_unit_test(filters_choose_whose_waits_count),
		cmocka_unit_test(points_tell_what_every_wait_would),
		cmocka_unit_test(short_waits_count_in_the_mean),
		cmocka_unit_test(points_farther_apart_tell_the_same),
		cmocka_unit_test(what_holds_no_point_weighs_nothing),
		cmocka_unit_test(only_common_points_make_the_graph),
		cmocka_unit_test(long_recordings_have_fewer_points),
		cmocka_unit_test(the_idle_add_to_nobody),
		cmocka_unit_test(waits_in_a_circle_weigh_the_same_from_samples),
	};

	return cmocka_run_group_tests_name("waits: graph", tests, NULL, NULL);
}
