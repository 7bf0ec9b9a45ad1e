// SPDX-License-Identifier: BSD-2-Clause
/* Requests (spans): which there are, quantiles and groups, and their paths, side by side. */
#include "analysis/requests/requests.h"
#include "tests/unit/path_support.h"

static void put_span(struct program *program, const char *name, uint32_t thread, uint64_t arrived,
		     uint64_t begun, uint64_t ended)
{
	synthetic__put(&program->made,
		       (struct record){.type = RECORD_SPAN,
				       .span = {.name = synthetic__string(&program->made, name),
						.thread = thread,
						.begun_by = thread,
						.time = START + ended,
						.queue_ns = begun - arrived,
						.ns = ended - begun}});
}

static void put_mark(struct program *program, uint32_t thread, enum annotation_type type,
		     const char *name, uint64_t time)
{
	const uint32_t string = synthetic__string(&program->made, name);

	synthetic__put(&program->made, (struct record){.type = RECORD_ANNOTATION,
						       .annotation = {.thread = thread,
								      .type = (uint8_t)type,
								      .name = string,
								      .time = START + time}});
}

static struct requests find_requests(const struct model *model, const char *name, uint64_t from,
				     uint64_t until)
{
	struct requests_filter filter = {.from = START + from, .until = START + until};
	struct requests requests = {};

	for (size_t i = 0; i < model->spans.n && name; i++)
		if (!strcmp(model__string(model, model->spans.data[i].name), name))
			filter.name = model->spans.data[i].name;
	assert_int_equal(requests__find(model, &filter, &requests), 0);
	return requests;
}

/* A hundred requests of 1 to 100 us, and some of another source, of no thread, and outside. */
static void quantiles_and_groups(void **state)
{
	struct program program = program__begin(true);
	struct requests requests;
	struct requests_group group;
	struct model *model;

	program__threads(&program, 1);
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t length = (1 + i * 37 % 100) * 1000, at = MS + i * MS / 2;

		put_span(&program, "tcp:80", 1, at, at + length / 4, at + length);
	}
	put_span(&program, "other", 1, MS, MS, 2 * MS);
	put_span(&program, "tcp:80", 7, MS, MS, 2 * MS);
	put_span(&program, "tcp:80", 1, 0, 0, 99 * MS);
	model = synthetic__load(&program.made, 100 * MS);
	requests = find_requests(model, "tcp:80", 1, 90 * MS);
	assert_int_equal(requests.spans.n, 100);
	assert_int_equal(requests__quantile(&requests, 0), 1000);
	assert_int_equal(requests__quantile(&requests, 0.5), 50000);
	assert_int_equal(requests__quantile(&requests, 0.99), 99000);
	assert_int_equal(requests__quantile(&requests, 1), 100000);
	group = requests__slowest(&requests, 3);
	assert_int_equal(group.first, 97);
	assert_int_equal(group.n, 3);
	assert_int_equal(requests__slowest(&requests, 1000).n, 100);
	group = requests__above(&requests, 0.95);
	assert_int_equal(group.first, 94);
	assert_int_equal(group.n, 6);
	group = requests__median(&requests, 10);
	assert_int_equal(group.first, 45);
	assert_int_equal(group.n, 10);
	group = requests__median(&requests, 1000);
	assert_int_equal(group.first, 25);
	assert_int_equal(group.n, 50);
	assert_int_equal(requests__at(&requests, 99)->begun - requests__at(&requests, 99)->arrived,
			 25000);
	requests__free(&requests);
	model__free(model);
}

static void no_requests_have_no_quantiles(void **state)
{
	struct program program = program__begin(true);
	struct requests requests;
	struct model *model;

	program__threads(&program, 1);
	put_span(&program, "tcp:80", 1, MS, MS, MS); /* of no length */
	model = synthetic__load(&program.made, 100 * MS);
	requests = find_requests(model, NULL, 0, 100 * MS);
	assert_int_equal(requests.spans.n, 0);
	assert_int_equal(requests__quantile(&requests, 0.5), 0);
	assert_int_equal(requests__above(&requests, 0.5).n, 0);
	assert_int_equal(requests__median(&requests, 5).n, 0);
	requests__free(&requests);
	model__free(model);
}

/* Marks pair within their thread, innermost first; else with the first begin of the process. */
static void marks_are_paired(void **state)
{
	static const struct {
		uint64_t begun, ended;
		uint32_t thread, begun_by;
	} spans[] = {
		{12, 13, 1, 1}, {11, 14, 1, 1}, {15, 20, 3, 2}, {16, 21, 3, 2}, {18, 22, 1, 1},
	};
	struct program program = program__begin(true);
	struct model *model;

	program__threads(&program, 3);
	put_mark(&program, 3, ANNOTATION_END, "op", 5 * MS); /* of nothing */
	put_mark(&program, 1, ANNOTATION_BEGIN, "op", 11 * MS);
	put_mark(&program, 1, ANNOTATION_BEGIN, "op", 12 * MS);
	put_mark(&program, 1, ANNOTATION_END, "op", 13 * MS);
	put_mark(&program, 1, ANNOTATION_END, "op", 14 * MS);
	put_mark(&program, 2, ANNOTATION_BEGIN, "op", 15 * MS);
	put_mark(&program, 2, ANNOTATION_BEGIN, "op", 16 * MS);
	put_mark(&program, 1, ANNOTATION_BEGIN, "other", 17 * MS); /* does not end */
	put_mark(&program, 1, ANNOTATION_BEGIN, "op", 18 * MS);
	put_mark(&program, 3, ANNOTATION_END, "op", 20 * MS);
	put_mark(&program, 3, ANNOTATION_END, "op", 21 * MS);
	put_mark(&program, 1, ANNOTATION_END, "op", 22 * MS);
	model = synthetic__load(&program.made, 100 * MS);
	assert_int_equal(model->spans.n, ARRAY_SIZE(spans));
	for (size_t i = 0; i < ARRAY_SIZE(spans); i++) {
		const struct model_span *span = &model->spans.data[i];

		assert_int_equal(span->begun, START + spans[i].begun * MS);
		assert_int_equal(span->arrived, span->begun);
		assert_int_equal(span->ended, START + spans[i].ended * MS);
		assert_int_equal(model->threads.data[span->thread].number, spans[i].thread);
		assert_int_equal(model->threads.data[span->begun_by].number, spans[i].begun_by);
	}
	model__free(model);
}

/* Processes 2 and 3 have the same pid, one after the other. */
static void marks_of_two_processes_are_not_paired(void **state)
{
	struct program program = program__begin(true);
	struct model *model;

	program__threads(&program, 1);
	synthetic__thread(&program.made, 2, PID + 50, PID + 50, 1, 10 * MS, "first");
	synthetic__totals(&program.made, 2, 20 * MS, true, 10 * MS, 0, 0, 0, 0);
	synthetic__thread(&program.made, 3, PID + 50, PID + 50, 1, 30 * MS, "second");
	put_mark(&program, 2, ANNOTATION_BEGIN, "op", 15 * MS);
	put_mark(&program, 3, ANNOTATION_END, "op", 35 * MS);
	model = synthetic__load(&program.made, 100 * MS);
	assert_int_equal(model->spans.n, 0);
	model__free(model);
}

/* Begins without an end, of any number, cost neither time nor memory without bound. */
static void begins_that_never_end_are_forgotten(void **state)
{
	struct program program = program__begin(true);
	struct model *model;

	program__threads(&program, 1);
	for (uint64_t i = 0; i < 20000; i++)
		put_mark(&program, 1, ANNOTATION_BEGIN, i ? "endless" : "op", i);
	put_mark(&program, 1, ANNOTATION_END, "op", 50 * MS);
	put_mark(&program, 1, ANNOTATION_END, "endless", 51 * MS);
	model = synthetic__load(&program.made, 100 * MS);
	assert_int_equal(model->spans.n, 1);
	assert_int_equal(model->spans.data[0].begun, START + 19999);
	model__free(model);
}

static const struct path_node_times *compared_at(const struct path *path, enum path_node_type type,
						 enum path_category category)
{
	for (uint32_t i = 1; i < path->tree.nodes.n; i++)
		if (path->tree.nodes.data[i].type == type &&
		    (type != PATH_NODE_LEAF || path->tree.nodes.data[i].category == category))
			return &path->tree.compared.data[i];
	fail_msg("no such node");
	return NULL;
}

/* Windows of one tree, beside those that they are compared with: each side keeps its times. */
static void windows_are_compared(void **state)
{
	struct program program = program__begin(true);
	const struct path_window slow[] = {
		{1, START + 10 * MS, START + 30 * MS, false},
		{1, START + 20 * MS, START + 40 * MS, false}, /* overlaps */
		{1, START + 200 * MS, START + 300 * MS,
		 false}, /* the thread is not there any more */
	};
	const struct path_window fast[] = {{1, START, START + 4 * MS, false},
					   {2, START + 50 * MS, START + 52 * MS, false}};
	struct path_options options = {.windows = slow,
				       .n_windows = 3,
				       .compared = fast,
				       .n_compared = 2,
				       .no_background = true};
	struct path path = {};
	struct kinds *kinds;
	struct model *model;

	program__threads(&program, 2);
	program__wait(&program, 1, 2, 12 * MS, 35 * MS);
	synthetic__totals(&program.made, 1, 100 * MS, true, 77 * MS, 0, 23 * MS, 0, 0);
	model = synthetic__load(&program.made, 100 * MS);
	assert_int_equal(kinds__new(model, &kinds), 0);
	assert_int_equal(path__find(model, kinds, NULL, &options, &path), 0);
	assert_int_equal(path.n_windows, 2);
	assert_int_equal(path.wall_ns, 40 * MS);
	assert_int_equal(path.compared.n, 2);
	assert_int_equal(path.compared.wall_ns, 6 * MS);
	assert_int_equal(path.tree.nodes.data[0].total_ns, 40 * MS);
	assert_int_equal(path.tree.compared.data[0].total_ns, 6 * MS);
	assert_int_equal(path.tree.compared.n, path.tree.nodes.n);
	assert_int_equal(compared_at(&path, PATH_NODE_WAIT, 0)->total_ns, 0);
	assert_int_equal(compared_at(&path, PATH_NODE_THREAD, 0)->total_ns, 4 * MS);
	assert_int_equal(path.compared.ns[PATH_NOT_SAMPLED], 6 * MS);
	check_conservation(&path);
	path__free(&path);
	kinds__free(kinds);
	model__free(model);
}

static void only_windows_without_the_thread_are_nothing(void **state)
{
	struct program program = program__begin(true);
	const struct path_window window = {1, START + 200 * MS, START + 300 * MS, false};
	const struct path_options options = {.windows = &window, .n_windows = 1};
	struct path path = {};
	struct kinds *kinds;
	struct model *model;

	program__threads(&program, 1);
	model = synthetic__load(&program.made, 100 * MS);
	assert_int_equal(kinds__new(model, &kinds), 0);
	assert_int_equal(path__find(model, kinds, NULL, &options, &path), -ENODATA);
	path__free(&path);
	kinds__free(kinds);
	model__free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_and_groups),
		cmocka_unit_test(no_requests_have_no_quantiles),
		cmocka_unit_test(marks_are_paired),
		cmocka_unit_test(marks_of_two_processes_are_not_paired),
		cmocka_unit_test(begins_that_never_end_are_forgotten),
		cmocka_unit_test(windows_are_compared),
		cmocka_unit_test(only_windows_without_the_thread_are_nothing),
	};

	return cmocka_run_group_tests_name("requests", tests, NULL, NULL);
}
