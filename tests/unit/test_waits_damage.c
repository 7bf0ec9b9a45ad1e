// SPDX-License-Identifier: BSD-2-Clause
/*
 * Recordings that no machine made: whatever they hold, the wait-for graph and what is
 * printed of it end soon, with numbers.
 */
#include "tests/unit/rounds.h"
#include "tests/unit/random_recording.h"

#include <ctype.h>
#include <jansson.h>
#include <time.h>

#include "render/waits/waits.h"

/* No analysis takes longer; with every access checked it is some times as much. */
#ifdef SANITIZED
#define LONGEST (6 * CLOCKS_PER_SEC)
#else
#define LONGEST CLOCKS_PER_SEC
#endif
#define TRIES 10

/* Whether "nan" or "inf" stands there as a number would, and not as a part of a name. */
static bool has_no_number(const char *text)
{
	static const char *const words[] = {"nan", "inf"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		for (const char *at = text; (at = strstr(at, words[i])); at++)
			if ((at == text || strchr(" -+:(\"", at[-1])) && at[3] &&
			    strchr("% ,)\n\"", at[3]))
				return true;
	return false;
}

static void print_all(const struct waits *waits)
{
	static int (*const printers[])(const struct waits *, FILE *) = {waits__text, waits__json,
									waits__dot};

	for (size_t i = 0; i < ARRAY_SIZE(printers); i++) {
		_cleanup_free_ char *text = NULL;
		size_t size;
		FILE *to = open_memstream(&text, &size);

		assert_non_null(to);
		assert_int_equal(printers[i](waits, to), 0);
		assert_int_equal(fclose(to), 0);
		assert_true(size > 0);
		if (has_no_number(text))
			fail_msg("no number: %s", text);
		if (printers[i] == waits__json) {
			json_t *document = json_loads(text, JSON_ALLOW_NUL, NULL);

			assert_non_null(document);
			json_decref(document);
		}
	}
}

/* The graph, the verdict and all that can be printed. */
static void analyse(struct model *model, const struct waitgraph_options *options)
{
	struct analysis analysis = analysis__of(model, options);
	struct waits waits = {
		.model = model,
		.filter = &options->filter,
		.graph = &analysis.graph,
		.bottlenecks = &analysis.found,
	};

	for (size_t i = 0; i < analysis.graph.edges.n; i++)
		assert_true(analysis.graph.edges.data[i].n_causes > 0);
	assert_int_equal(bottlenecks__find(&analysis.graph, 0.2, &analysis.found), 0);
	print_all(&waits);
	waits.percent_limit = 1;
	waits.max_causes = 3;
	waits.color = true;
	print_all(&waits);
	analysis__drop(&analysis);
}

static const struct waitgraph_options ways[] = {
	{},
	{.sampled = true},
	{.merge = {.separate = true}},
	{.filter = {.from = 10 * MS, .until = 60 * MS}},
	{.filter = {.from = FAR, .until = UINT64_MAX}, .sampled = true},
	{.filter = {.from = UINT64_MAX, .until = 1}},
};

/* A machine that is busy makes some tries slow, an analysis that is quadratic all of them. */
static void analyse_in_time(struct model *model, size_t way)
{
	clock_t took = LONGEST + 1;

	for (int i = 0; i < TRIES && took > LONGEST; i++) {
		clock_t begun = clock();

		analyse(model, &ways[way]);
		took = clock() - begun;
	}
	if (took > LONGEST)
		fail_msg("way %zu took %.1f s", way, (double)took / CLOCKS_PER_SEC);
}

/* In every way; frees @model. */
static void analyse_all(struct model *model)
{
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		analyse_in_time(model, i);
	model__free(model);
}

/* The usual way, and another one. */
static void analyse_random(uint64_t seed, bool tamed)
{
	struct model *model = random_recording(seed, 400, tamed);

	analyse_in_time(model, 0);
	analyse_in_time(model, 1 + seed % (ARRAY_SIZE(ways) - 1));
	model__free(model);
}

static void random_recordings(void **state)
{
	for (uint64_t seed = 1; seed <= rounds(30); seed++)
		analyse_random(seed, false);
}

static void random_recordings_of_few_threads(void **state)
{
	for (uint64_t seed = 1; seed <= rounds(120); seed++)
		analyse_random(1000 + seed, true);
}

/* Its facts are damaged, not its waits. */
static struct model *with_facts(const char *period, const char *start, const char *end,
				const char *mode)
{
	const struct model_symbolize_options embedded = {.embedded_only = true};
	struct program program = program__begin(true);
	struct recording_writer *writer = program.made.writer;
	struct model *model = NULL;

	program__threads(&program, 3);
	program__device(&program, 1, "sda", 10 * MS, 20 * MS);
	program__idle(&program, 1, 1, 10 * MS, 30 * MS);
	program__wait(&program, 1, 2, 0, 90 * MS);
	program__wait(&program, 2, 3, 20 * MS, 80 * MS);
	program__annotation(&program, 3, ANNOTATION_SPIN_BEGIN, 1, 2, 0);
	program__annotation(&program, 3, ANNOTATION_SPIN_END, 1, 2, 10 * MS);
	record_stream__meta(recording_writer__stream(writer), "period_ns", "%s", period);
	record_stream__meta(recording_writer__stream(writer), "start", "%s", start);
	record_stream__meta(recording_writer__stream(writer), "end", "%s", end);
	record_stream__meta(recording_writer__stream(writer), "mode", "%s", mode);
	assert_int_equal(recording_writer__close(writer), 0);
	assert_int_equal(model__load(program.made.path, &model), 0);
	assert_int_equal(model__symbolize(model, &embedded), 0);
	synthetic__remove(&program.made);
	return model;
}

static void facts_that_cannot_be(void **state)
{
	static const char *const numbers[] = {"",
					      "0",
					      "1",
					      "1000000",
					      "1000050000",
					      "9223372036854775807",
					      "18446744073709551615",
					      "x"};
	static const char *const modes[] = {"trace", "sampling", "?"};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(modes); k++)
			analyse_all(with_facts(numbers[i], "1000000000", "1100000000", modes[k]));
		for (size_t k = 0; k < ARRAY_SIZE(numbers); k++)
			analyse_all(with_facts("999999999", numbers[i], numbers[k], "trace"));
	}
	analyse_all(with_facts("1", "0", "18446744073709551615", "sampling"));
	analyse_all(with_facts("4294967295", "0", "18446744073709551615", "sampling"));
}

/* Of several that overlap, the first counts, and the others are told of. */
static void clocks_that_step_back(void **state)
{
	for (int sampled = 0; sampled < 2; sampled++) {
		const struct waitgraph_options options = {.sampled = sampled};
		struct program program = program__begin(true);
		_cleanup_analysis_ struct analysis analysis = {};

		program__threads(&program, 3);
		program__wait(&program, 1, 2, 50 * MS, 70 * MS);
		program__wait(&program, 1, 3, 10 * MS, 30 * MS);
		program__wait(&program, 1, 2, 60 * MS, 90 * MS); /* begins within one */
		program__wait(&program, 1, 3, 10 * MS, 20 * MS); /* at the same time as one */
		analysis = program__analyse(&program, 100 * MS, &options);
		/* At a point, there is one at most. */
		assert_true(weight_of(&analysis, "A", "B") <= 41 * MS);
		assert_true(weight_of(&analysis, "A", "C") <= 21 * MS);
		assert_true(weight_of(&analysis, "A", "B") >= 19 * MS);
		if (sampled)
			continue;
		assert_int_equal(analysis.graph.stats.overlapping, 2);
		assert_int_equal(weight_of(&analysis, "A", "B"), 20 * MS);
		assert_int_equal(plain_of(&analysis, "A", "B"), 20 * MS);
		assert_int_equal(plain_of(&analysis, "A", "C"), weight_of(&analysis, "A", "C"));
	}
}

/* Each waits for the other at the same time: both count, by themselves. */
static void circles_in_time(void **state)
{
	for (int sampled = 0; sampled < 2; sampled++) {
		const struct waitgraph_options options = {.sampled = sampled};
		struct program program = program__begin(true);
		_cleanup_analysis_ struct analysis analysis = {};

		program__threads(&program, 2);
		program__wait(&program, 1, 2, 0, 50 * MS);
		program__wait(&program, 2, 1, 0, 50 * MS);
		analysis = program__analyse(&program, 100 * MS, &options);
		assert_true(weight_of(&analysis, "A", "B") >= 49 * MS);
		assert_true(weight_of(&analysis, "B", "A") >= 49 * MS);
		assert_true(weight_of(&analysis, "A", "B") + weight_of(&analysis, "B", "A") <=
			    151 * MS);
		assert_int_equal(analysis.graph.stats.circular, !sampled);
	}
}

/* Wakers and devices of which nothing else is known, and numbers that cannot be. */
static void references_to_nothing(void **state)
{
	struct program program = program__begin(true);
	uint32_t wake = KERNEL(&program, "blk_update_request");
	struct model *model;

	program__threads(&program, 2);
	for (uint32_t i = 0; i < 4; i++) {
		const uint32_t wakers[] = {77, 60000, UINT32_MAX, 0};
		struct record_interval wait =
			WAIT(1, wakers[i], 20 * i * MS, (20 * i + 9) * MS, .device = wakers[3 - i],
			     .object = wakers[i], .user_stack = wakers[i]);

		synthetic__interval(&program.made, wait);
		program__wake(&program, 1, wakers[i], (20 * i + 9) * MS, wake, wakers[i]);
		program__idle(&program, 1 + i, wakers[i], 10 * i * MS, (10 * i + 5) * MS);
		program__annotation(&program, 2, ANNOTATION_SPIN_BEGIN, 1, wakers[i], 10 * i * MS);
		program__annotation(&program, 2, ANNOTATION_SPIN_END, 1, 0, (10 * i + 5) * MS);
	}
	/* Waits of a thread that was never announced. */
	program__wait(&program, 9, 1, 0, 30 * MS);
	model = synthetic__load(&program.made, 100 * MS);
	analyse_all(model);
}

/* Near the end of time: what adds up there must not wrap. */
static void times_near_the_end_of_time(void **state)
{
	for (int mode = 0; mode < 2; mode++) {
		struct program program = program__begin(mode);
		const uint64_t last = FAR - START;

		program__threads(&program, 4);
		program__wait(&program, 1, 2, 0, last);
		program__wait(&program, 2, 3, 1, last - 1);
		program__wait(&program, 3, 4, 2, last - 2);
		program__wait(&program, 4, 1, last - 5, last);
		program__device(&program, 1, "sda", 0, UINT64_MAX);
		program__idle(&program, 1, 1, 0, last / 2);
		program__annotation(&program, 4, ANNOTATION_SPIN_BEGIN, 1, 1, 0);
		program__annotation(&program, 4, ANNOTATION_SPIN_END, 1, 1, last);
		synthetic__totals(&program.made, 1, last, true, FAR, FAR, FAR, FAR, FAR);
		synthetic__totals(&program.made, 2, 0, true, UINT64_MAX, 0, 0, UINT64_MAX, 0);
		analyse_all(synthetic__load(&program.made, last));
	}
}

/* Threads that are one, whose waits for one reason but in many places add up to more than fits. */
static void sums_past_the_end_of_time(void **state)
{
	struct program program = program__begin(true);
	const uint64_t half = (FAR - START) / 2;
	uint32_t stacks[2];

	stacks[0] = USER(&program, "read", "main");
	stacks[1] = USER(&program, "write", "main");
	program__thread(&program, 1, "M");
	for (uint32_t i = 2; i < 8; i++) {
		program__thread(&program, i, "worker");
		for (uint64_t k = 0; k < 2; k++)
			synthetic__interval(&program.made, WAIT(i, 1, k * half, (k + 1) * half,
								.user_stack = stacks[k]));
	}
	analyse_all(synthetic__load(&program.made, FAR - START));
}

/* Names of whatever bytes, as long as they can be. */
static void names_that_are_no_text(void **state)
{
	static char lengthy[4000];
	struct program program = program__begin(true);

	memset(lengthy, '\xff', sizeof(lengthy) - 1);
	for (uint32_t i = 1; i <= 4; i++)
		program__thread(&program, i, i % 2 ? lengthy : "\n\"\\\x1b[31m%n%s\xc3");
	program__device(&program, 1, lengthy, 0, 0);
	program__wait(&program, 1, 2, 0, 50 * MS);
	synthetic__interval(&program.made, WAIT(2, 3, 0, 90 * MS,
						.user_stack = USER(&program, lengthy, "\n\xfe")));
	program__wait(&program, 3, 4, 50 * MS, 60 * MS);
	program__ran(&program, 4, 100 * MS, 0);
	analyse_all(synthetic__load(&program.made, 100 * MS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_recordings),
		cmocka_unit_test(random_recordings_of_few_threads),
		cmocka_unit_test(facts_that_cannot_be),
		cmocka_unit_test(clocks_that_step_back),
		cmocka_unit_test(circles_in_time),
		cmocka_unit_test(references_to_nothing),
		cmocka_unit_test(times_near_the_end_of_time),
		cmocka_unit_test(sums_past_the_end_of_time),
		cmocka_unit_test(names_that_are_no_text),
	};

	return cmocka_run_group_tests_name("waits: damage", tests, NULL, NULL);
}
