// SPDX-License-Identifier: BSD-2-Clause
/* Comparisons of requests: each moment of a request counts once, for the innermost of what it did.
 */
#include "analysis/latency/request_comparison.h"
#include "tests/unit/path_support.h"

static void put_span(struct program *program, uint32_t thread, uint64_t arrived, uint64_t ended)
{
	synthetic__put(&program->made,
		       (struct record){.type = RECORD_SPAN,
				       .span = {.name = synthetic__string(&program->made, "op"),
						.thread = thread,
						.begun_by = thread,
						.time = START + ended,
						.ns = ended - arrived}});
}

static void put_call(struct program *program, uint32_t thread, const char *function, uint16_t depth,
		     uint64_t begin, uint64_t end)
{
	const struct record_call call = {.thread = thread,
					 .stack = USER(program, function),
					 .time = START + end,
					 .ns = end - begin,
					 .depth = depth};

	synthetic__put(&program->made, (struct record){.type = RECORD_CALL, .call = call});
}

/* The only row of @function, or of what is not covered. */
static const struct comparison_row *row_of(const struct model *model,
					   const struct request_comparison *comparison,
					   enum timeline_type type, const char *function)
{
	for (size_t i = 0; i < comparison->rows.n; i++) {
		const struct comparison_row *row = &comparison->rows.data[i];

		if (!function ? row->is_rest
			      : !row->is_rest && row->type == type &&
					!strcmp(model__string(model, row->name), function))
			return row;
	}
	fail_msg("there is no row of %s", function ? function : "the rest");
	return NULL;
}

static void check_row(const struct model *model, const struct request_comparison *comparison,
		      const char *function, uint64_t from, uint64_t to)
{
	const struct comparison_row *row = row_of(model, comparison, TIMELINE_CALL, function);

	assert_int_equal(row->ns[COMPARISON_FROM], from);
	assert_int_equal(row->ns[COMPARISON_TO], to);
}

/* What all requests do: 1 ms that nothing covers, then 3 ms of serve, of which 1 are parse's. */
static void put_request(struct program *program, uint64_t at, uint64_t more)
{
	put_call(program, 1, "parse", 1, at + 2 * MS, at + 3 * MS);
	put_call(program, 1, "serve", 0, at + 1 * MS, at + 4 * MS + more);
	put_span(program, 1, at, at + 4 * MS + more);
}

/*
 * Ten requests; the last one also stores: 5 ms in which it waits 2 for a lock that B holds, and 1
 * for a CPU. What B does meanwhile counts as the wait.
 */
static void each_moment_counts_once(void **state)
{
	static const double percentiles[] = {50, 99};
	struct program program = program__begin(true);
	const struct record_object object = {.type = OBJECT_FUTEX, .id = 0x1000};
	const struct requests_filter filter = {.until = UINT64_MAX};
	uint32_t futex =
		record_stream__object(recording_writer__stream(program.made.writer), &object);
	struct requests requests = {};
	struct request_comparison comparison = {};
	const struct comparison_row *row;
	struct own_strings strings = {};
	struct wait_causes *causes;
	struct kinds *kinds;
	struct model *model;

	program__threads(&program, 2);
	for (uint64_t i = 0; i < 9; i++)
		put_request(&program, i * 8 * MS, 0);
	put_call(&program, 1, "store", 1, 76 * MS, 81 * MS);
	put_call(&program, 2, "hold", 0, 77 * MS, 78 * MS);
	synthetic__interval(&program.made,
			    BLOCKED(1, 2, 77 * MS, 79 * MS, .runq_ns = MS, .class = CLASS_LOCK,
				    .syscall = SYS_futex, .object = futex));
	program__wake(&program, 1, 2, 79 * MS, 0, USER(&program, "release"));
	put_request(&program, 72 * MS, 5 * MS);
	model = synthetic__load(&program.made, 100 * MS);
	strings.model = model;
	assert_int_equal(kinds__new(model, &kinds), 0);
	assert_int_equal(wait_causes__new(&strings, kinds, &causes), 0);
	assert_int_equal(requests__find(model, &filter, &requests), 0);
	assert_int_equal(request_comparison__make(&requests, causes, percentiles, &comparison), 0);
	assert_int_equal(comparison.sides[COMPARISON_FROM].group.n, 2);
	assert_int_equal(comparison.sides[COMPARISON_FROM].ns, 8 * MS);
	assert_int_equal(comparison.sides[COMPARISON_TO].group.n, 1);
	assert_int_equal(comparison.sides[COMPARISON_TO].ns, 9 * MS);
	check_row(model, &comparison, NULL, 2 * MS, 1 * MS);
	check_row(model, &comparison, "serve", 4 * MS, 2 * MS);
	check_row(model, &comparison, "parse", 2 * MS, 1 * MS);
	check_row(model, &comparison, "store", 0, 2 * MS);
	row = row_of(model, &comparison, TIMELINE_WAIT, "release");
	assert_int_equal(row->ns[COMPARISON_TO], 2 * MS);
	assert_int_equal(row->n[COMPARISON_TO], 1);
	assert_string_equal(model__string(model, row->caller), "store");
	row = row_of(model, &comparison, TIMELINE_RUN_QUEUE, "");
	assert_int_equal(row->ns[COMPARISON_TO], 1 * MS);
	assert_int_equal(comparison.rows.n, 6); /* nothing of hold */
	request_comparison__free(&comparison);
	requests__free(&requests);
	wait_causes__free(causes);
	own_strings__free(&strings);
	kinds__free(kinds);
	model__free(model);
}

static void groups_around(void **state)
{
	struct program program = program__begin(true);
	const struct requests_filter filter = {.until = UINT64_MAX};
	struct requests requests = {};
	struct requests_group group;
	struct model *model;

	program__threads(&program, 1);
	for (uint64_t i = 0; i < 50; i++)
		put_span(&program, 1, i * MS, i * MS + 1000 + i);
	model = synthetic__load(&program.made, 100 * MS);
	assert_int_equal(requests__around(&requests, 0.5, 10).n, 0);
	assert_int_equal(requests__find(model, &filter, &requests), 0);
	group = requests__around(&requests, 0.5, 4);
	assert_int_equal(group.first, 22);
	assert_int_equal(group.n, 4);
	group = requests__around(&requests, 0.5, 200);
	assert_int_equal(group.first, 19);
	assert_int_equal(group.n, 10);
	group = requests__around(&requests, 0, 200);
	assert_int_equal(group.first, 0);
	group = requests__around(&requests, 1, 200);
	assert_int_equal(group.first, 40);
	assert_int_equal(group.n, 10);
	requests__free(&requests);
	model__free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_moment_counts_once),
		cmocka_unit_test(groups_around),
	};

	return cmocka_run_group_tests_name("request comparison", tests, NULL, NULL);
}
