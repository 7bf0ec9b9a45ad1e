// SPDX-License-Identifier: BSD-2-Clause
/* The wait-for graph over time: bins are what graphs of their time say, and add up to the whole. */
#include "tests/unit/waits_support.h"

#include "analysis/waits/waitgraph_bins.h"

#define THREADS 6
#define END	(100 * MS)

struct sums {
	uint64_t count;
	uint64_t plain_ns;
	uint64_t weight_ns;
};

/* What the bins from @first to @last have of causes of the edge between these vertices. */
static struct sums sum_bins(const struct waitgraph *graph, const struct waitgraph_bins *bins,
			    uint32_t first, uint32_t last, const struct waitgraph_edge *edge)
{
	struct sums sums = {};

	for (size_t i = 0; i < bins->rows.n; i++) {
		const struct waitgraph_bin *row = &bins->rows.data[i];

		assert_true(row->bin < bins->n && row->cause < graph->causes.n);
		if (row->bin < first || row->bin > last ||
		    &graph->edges.data[graph->causes.data[row->cause].edge] != edge)
			continue;
		sums.count += row->count;
		sums.plain_ns += row->plain_ns;
		sums.weight_ns += row->weight_ns;
	}
	return sums;
}

static void assert_sums_to_whole(const struct waitgraph *graph, const struct waitgraph_bins *bins)
{
	for (size_t i = 0; i < graph->edges.n; i++) {
		const struct waitgraph_edge *edge = &graph->edges.data[i];
		struct sums sums = sum_bins(graph, bins, 0, bins->n, edge);

		assert_int_equal(sums.count, edge->count);
		assert_int_equal(sums.plain_ns, edge->plain_ns);
		assert_int_equal(sums.weight_ns, edge->weight_ns);
	}
}

/* wPerf, figure 4: A waits for B in [0, 100), B for C in [20, 100). */
static void the_papers_example_in_four_bins(void **state)
{
	static const struct sums expected[2][4] = {
		{{0, 25, 25}, {0, 25, 25}, {0, 25, 25}, {1, 25, 25}},
		{{0, 5, 10}, {0, 25, 50}, {0, 25, 50}, {1, 25, 50}},
	};
	struct program program = program__begin(true);
	struct waitgraph_bins bins = {};
	struct analysis analysis;

	program__threads(&program, 3);
	program__wait(&program, 1, 2, 0, END);
	program__wait(&program, 2, 3, 20 * MS, END);
	analysis = program__analyse(&program, END, NULL);
	assert_int_equal(waitgraph_bins__make(&analysis.graph, 4, &bins), 0);
	assert_int_equal(bins.n, 4);
	assert_int_equal(bins.length_ns, 25 * MS);
	for (uint32_t bin = 0; bin < 4; bin++)
		for (int i = 0; i < 2; i++) {
			struct sums sums = sum_bins(&analysis.graph, &bins, bin, bin,
						    i ? find_edge(&analysis, "B", "C")
						      : find_edge(&analysis, "A", "B"));

			assert_int_equal(sums.count, expected[i][bin].count);
			assert_int_equal(sums.plain_ns, expected[i][bin].plain_ns * MS);
			assert_int_equal(sums.weight_ns, expected[i][bin].weight_ns * MS);
		}
	waitgraph_bins__free(&bins);
	analysis__free(&analysis);
}

/* Threads that wait again and again; without @circles only for those of higher numbers. */
static struct program random_program(bool circles)
{
	struct program program = program__begin(true);

	program__threads(&program, THREADS);
	for (uint32_t thread = 1; thread <= THREADS; thread++) {
		uint64_t at = random_below(5 * MS);

		while (at < END) {
			uint64_t end = at + 1 + random_below(random_below(4) ? MS : 30 * MS);
			uint32_t waker = circles ? 1 + (uint32_t)random_below(THREADS)
						 : thread + 1 + (uint32_t)random_below(THREADS);

			end = end < END ? end : END;
			if (waker != thread && waker <= THREADS)
				program__wait(&program, thread, waker, at, end);
			at = end + 1 + random_below(2 * MS);
		}
	}
	return program;
}

/* Each bin has what a graph of its time has. */
static void bins_are_graphs_of_their_time(void **state)
{
	random_state = 1;
	for (int round = 0; round < 20; round++) {
		struct program program = random_program(false);
		_cleanup_analysis_ struct analysis whole = program__analyse(&program, END, NULL);
		uint32_t n = 1 + (uint32_t)random_below(40);
		struct waitgraph_bins bins = {};

		assert_int_equal(waitgraph_bins__make(&whole.graph, n, &bins), 0);
		assert_sums_to_whole(&whole.graph, &bins);
		for (uint32_t bin = 0; bin < n; bin++) {
			struct waitgraph_options window = {
				.filter = {.from = bin * bins.length_ns,
					   .until = (bin + 1) * bins.length_ns}};
			struct analysis part = analysis__of(whole.model, &window);

			for (size_t i = 0; i < whole.graph.edges.n; i++) {
				const struct waitgraph_edge *edge = &whole.graph.edges.data[i];
				const char *from = vertex_name(&whole, edge->from);
				const char *to = vertex_name(&whole, edge->to);
				struct sums sums = sum_bins(&whole.graph, &bins, bin, bin, edge);

				assert_int_equal(sums.plain_ns, plain_of(&part, from, to));
				assert_int_equal(sums.weight_ns, weight_of(&part, from, to));
			}
			analysis__drop(&part);
		}
		waitgraph_bins__free(&bins);
	}
}

/* Also where threads wait in circles, and from samples; and however long bins are. */
static void bins_sum_to_the_whole(void **state)
{
	random_state = 2;
	for (int round = 0; round < 40; round++) {
		struct waitgraph_options options = {.sampled = round % 2};
		struct program program = random_program(true);
		struct waitgraph_bins bins = {};
		_cleanup_analysis_ struct analysis whole = {};

		record_stream__meta(recording_writer__stream(program.made.writer), "period_ns",
				    "%u", 100000);
		record_stream__meta(recording_writer__stream(program.made.writer), "grid_seed",
				    "%d", round);
		whole = program__analyse(&program, END, &options);
		assert_int_equal(whole.graph.exact, !options.sampled);
		assert_int_equal(waitgraph_bins__make(&whole.graph, 37, &bins), 0);
		assert_true(bins.rows.n > 37);
		assert_sums_to_whole(&whole.graph, &bins);
		while (bins.n > 1) {
			uint32_t before = bins.n;

			waitgraph_bins__halve(&bins);
			assert_int_equal(bins.n, (before + 1) / 2);
			assert_sums_to_whole(&whole.graph, &bins);
		}
		assert_true(bins.rows.n <= whole.graph.causes.n);
		waitgraph_bins__free(&bins);
	}
}

/* After a lost event, a wait may begin before the thread's last one ends: it weighs nothing, in no
 * bin. */
static void overlapping_waits_weigh_nothing(void **state)
{
	struct program program = program__begin(true);
	struct waitgraph_bins bins = {};
	struct analysis analysis;

	program__threads(&program, 3);
	program__wait(&program, 1, 2, 0, 40 * MS);
	program__wait(&program, 1, 3, 10 * MS, 90 * MS);
	analysis = program__analyse(&program, END, NULL);
	assert_int_equal(analysis.graph.stats.overlapping, 1);
	assert_int_equal(waitgraph_bins__make(&analysis.graph, 10, &bins), 0);
	assert_sums_to_whole(&analysis.graph, &bins);
	assert_int_equal(weight_of(&analysis, "A", "C"), 0);
	assert_int_equal(find_edge(&analysis, "A", "C")->count, 1);
	waitgraph_bins__free(&bins);
	analysis__free(&analysis);
}

static void nothing_has_no_rows(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = program__analyse(&program, END, NULL);
	struct waitgraph_bins bins = {};

	assert_int_equal(waitgraph_bins__make(&analysis.graph, 8, &bins), 0);
	assert_int_equal(bins.rows.n, 0);
	waitgraph_bins__free(&bins);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_papers_example_in_four_bins),
		cmocka_unit_test(bins_are_graphs_of_their_time),
		cmocka_unit_test(bins_sum_to_the_whole),
		cmocka_unit_test(overlapping_waits_weigh_nothing),
		cmocka_unit_test(nothing_has_no_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
