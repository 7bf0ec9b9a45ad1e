// SPDX-License-Identifier: BSD-2-Clause
/* Tagged requests: who had them when, the times in queues, and tags that do not fit. */
#include "render/format.h"
#include "tests/unit/waits_support.h"

#define BEGIN	ANNOTATION_REQUEST_BEGIN
#define BLOCK	ANNOTATION_REQUEST_BLOCK
#define END	ANNOTATION_REQUEST_END
#define END_ALL ANNOTATION_REQUEST_END_ALL

struct tag {
	uint64_t at; /* ms */
	uint32_t thread;
	enum annotation_type type;
	uint64_t id;
	uint64_t queue;
};

/*
 * The requests of @model, by end: "ID: THREAD@BEGIN to THREAD@END", and their parts in [], with the
 * thread or q and the queue. Times are in ms.
 */
static void describe(const struct model *model, char *text, size_t size)
{
	*text = '\0';
	for (size_t i = 0; i < model->spans.n; i++) {
		const struct model_span *span = &model->spans.data[i];

		assert_string_equal(model__string(model, span->name), "dwell:requests");
		assert_int_equal(span->arrived, span->begun);
		format__append(text, size, "%llu: %u@%llu to %u@%llu", (unsigned long long)span->id,
			       model->threads.data[span->begun_by].number,
			       (span->begun - START) / MS, model->threads.data[span->thread].number,
			       (span->ended - START) / MS);
		for (uint32_t k = 0; k < span->n_parts; k++) {
			const struct model_span_part *part =
				&model->span_parts.data[span->part + k];

			assert_true(part->begin >= span->begun && part->end <= span->ended);
			format__append(
				text, size, " [%s%llu %llu-%llu]", part->thread ? "" : "q",
				part->thread ? (unsigned long long)model->threads.data[part->thread]
						       .number
					     : (unsigned long long)part->queue,
				(part->begin - START) / MS, (part->end - START) / MS);
		}
		format__append(text, size, "\n");
	}
}

/*
 * Threads 1 to 4 of a process, and 5 of another one; thread 4 ends after 50 ms. Thread 6 ends after
 * 40 ms, and 7 has its pid from then on. The others do not end.
 */
static struct model *load(const struct tag *tags, size_t n)
{
	struct program program = program__begin(true);

	program__threads(&program, 4);
	synthetic__thread(&program.made, 5, PID + 50, PID + 50, 0, 0, "other");
	synthetic__totals(&program.made, 4, 50 * MS, true, 50 * MS, 0, 0, 0, 0);
	synthetic__thread(&program.made, 6, PID + 60, PID + 60, 1, 1 * MS, "first");
	synthetic__totals(&program.made, 6, 40 * MS, true, 39 * MS, 0, 0, 0, 0);
	synthetic__thread(&program.made, 7, PID + 60, PID + 60, 1, 40 * MS, "second");
	for (size_t i = 0; i < n; i++)
		synthetic__put(&program.made,
			       (struct record){.type = RECORD_ANNOTATION,
					       .annotation = {.thread = tags[i].thread,
							      .type = (uint8_t)tags[i].type,
							      .address = tags[i].id,
							      .queue = tags[i].queue,
							      .time = START + tags[i].at * MS}});
	return synthetic__load(&program.made, 100 * MS);
}

/* @tags, in any order, make these requests, and so many do not fit. */
static void check(const struct tag *tags, size_t n, const char *requests, uint64_t unended,
		  uint64_t strays)
{
	struct model *model = load(tags, n);
	bool told = false;
	char text[4096];

	describe(model, text, sizeof(text));
	assert_string_equal(text, requests);
	assert_int_equal(model->tags.requests, model->spans.n);
	assert_int_equal(model->tags.unended, unended);
	assert_int_equal(model->tags.strays, strays);
	for (size_t i = 0; i < model->diagnostics.n; i++)
		told |= !strcmp(model->diagnostics.data[i].label, "unbalanced");
	assert_int_equal(told, unended || strays);
	model__free(model);
}

#define CHECK(requests, unended, strays, ...)                                                      \
	check((const struct tag[]){__VA_ARGS__},                                                   \
	      sizeof((const struct tag[]){__VA_ARGS__}) / sizeof(struct tag), requests, unended,   \
	      strays)

static void a_request_goes_from_thread_to_thread(void **state)
{
	CHECK("7: 1@10 to 3@25 [1 10-12] [q5 12-15] [2 15-20] [q0 20-22] [3 22-25]\n", 0, 0,
	      {25, 3, END, 7, 0}, {10, 1, BEGIN, 7, 0}, {12, 1, BLOCK, 7, 5}, {15, 2, BEGIN, 7, 5},
	      {20, 2, BLOCK, 7, 0}, {22, 3, BEGIN, 7, 0});
	/* Either of the two may say which queue it was. */
	CHECK("0: 1@10 to 1@14 [1 10-11] [q9 11-12] [1 12-14]\n", 0, 0, {10, 1, BEGIN, 0, 3},
	      {11, 1, BLOCK, 0, 0}, {12, 1, BEGIN, 0, 9}, {14, 1, END, 0, 0});
	CHECK("0: 1@10 to 1@14 [1 10-11] [q9 11-12] [1 12-14]\n", 0, 0, {10, 1, BEGIN, 0, 0},
	      {11, 1, BLOCK, 0, 9}, {12, 1, BEGIN, 0, 0}, {14, 1, END, 0, 0});
	/* Ids may be any number. */
	CHECK("18446744073709551615: 1@10 to 1@11 [1 10-11]\n", 0, 0, {10, 1, BEGIN, UINT64_MAX, 0},
	      {11, 1, END, UINT64_MAX, 0});
}

static void a_request_has_several_threads(void **state)
{
	CHECK("7: 1@10 to 2@30 [1 10-20] [2 11-30]\n", 0, 0, {10, 1, BEGIN, 7, 0},
	      {11, 2, BEGIN, 7, 0}, {20, 1, END, 7, 0}, {30, 2, END, 7, 0});
	/* To two queues; it goes on while it is in one of them. */
	CHECK("7: 1@10 to 3@30 [1 10-11] [q5 11-13] [q6 12-21] [2 13-20] [3 21-30]\n", 0, 0,
	      {10, 1, BEGIN, 7, 0}, {11, 1, BLOCK, 7, 5}, {12, 1, BLOCK, 7, 6},
	      {13, 2, BEGIN, 7, 5}, {20, 2, END, 7, 0}, {21, 3, BEGIN, 7, 6}, {30, 3, END, 7, 0});
	CHECK("7: 1@10 to 3@30 [1 10-11] [q5 11-21] [q6 12-13] [2 13-20] [3 21-30]\n", 0, 0,
	      {10, 1, BEGIN, 7, 0}, {11, 1, BLOCK, 7, 5}, {12, 1, BLOCK, 7, 6},
	      {13, 2, BEGIN, 7, 6}, {20, 2, END, 7, 0}, {21, 3, BEGIN, 7, 5}, {30, 3, END, 7, 0});
	/* It is in a queue while another thread has it, which ends first. */
	CHECK("7: 1@10 to 3@30 [1 10-15] [2 11-20] [q5 15-25] [3 25-30]\n", 0, 0,
	      {10, 1, BEGIN, 7, 0}, {11, 2, BEGIN, 7, 0}, {15, 1, BLOCK, 7, 5}, {20, 2, END, 7, 0},
	      {25, 3, BEGIN, 7, 5}, {30, 3, END, 7, 0});
}

static void a_thread_has_several_requests(void **state)
{
	CHECK("2: 1@11 to 1@13 [1 11-13]\n"
	      "1: 1@10 to 1@20 [1 10-20]\n"
	      "3: 1@12 to 2@30 [1 12-20] [2 15-30]\n",
	      0, 0, {10, 1, BEGIN, 1, 0}, {11, 1, BEGIN, 2, 0}, {12, 1, BEGIN, 3, 0},
	      {13, 1, END, 2, 0}, {15, 2, BEGIN, 3, 0}, {20, 1, END_ALL, 0, 0}, {30, 2, END, 3, 0});
	/* Those that it has handed on, or has not begun yet, are not among all. */
	CHECK("2: 1@16 to 1@17 [1 16-17]\n"
	      "1: 1@10 to 2@30 [1 10-12] [q0 12-20] [2 20-30]\n",
	      0, 0, {10, 1, BEGIN, 1, 0}, {12, 1, BLOCK, 1, 0}, {15, 1, END_ALL, 0, 0},
	      {16, 1, BEGIN, 2, 0}, {17, 1, END, 2, 0}, {20, 2, BEGIN, 1, 0}, {30, 2, END, 1, 0},
	      {40, 1, END_ALL, 0, 0});
	/* The END_ALL of another thread is not about it. */
	CHECK("1: 1@10 to 1@30 [1 10-30]\n", 0, 0, {10, 1, BEGIN, 1, 0}, {20, 2, END_ALL, 0, 0},
	      {30, 1, END_ALL, 0, 0});
}

static void ids_are_used_again(void **state)
{
	CHECK("7: 1@10 to 1@20 [1 10-20]\n7: 2@30 to 2@40 [2 30-40]\n", 0, 0, {10, 1, BEGIN, 7, 0},
	      {20, 1, END, 7, 0}, {30, 2, BEGIN, 7, 0}, {40, 2, END, 7, 0});
	CHECK("7: 1@10 to 1@20 [1 10-20]\n7: 1@30 to 1@40 [1 30-40]\n", 0, 0, {10, 1, BEGIN, 7, 0},
	      {20, 1, END_ALL, 0, 0}, {30, 1, BEGIN, 7, 0}, {40, 1, END_ALL, 0, 0});
	/* Other processes have the same ids. */
	CHECK("7: 5@12 to 5@15 [5 12-15]\n7: 1@10 to 1@20 [1 10-20]\n", 0, 0, {10, 1, BEGIN, 7, 0},
	      {12, 5, BEGIN, 7, 0}, {15, 5, END, 7, 0}, {20, 1, END, 7, 0});
	/* The thread had it still, alone: the END was missing. */
	CHECK("7: 1@20 to 1@30 [1 20-30]\n", 1, 0, {10, 1, BEGIN, 7, 0}, {20, 1, BEGIN, 7, 0},
	      {30, 1, END, 7, 0});
	/* Not alone. */
	CHECK("7: 1@10 to 1@30 [1 10-30] [2 15-25]\n", 0, 1, {10, 1, BEGIN, 7, 0},
	      {15, 2, BEGIN, 7, 0}, {20, 1, BEGIN, 7, 0}, {25, 2, END, 7, 0}, {30, 1, END, 7, 0});
}

static void what_was_not_begun_is_not_ended(void **state)
{
	CHECK("", 0, 3, {10, 1, END, 7, 0}, {20, 1, BLOCK, 7, 5}, {30, 1, END, 8, 0},
	      {40, 1, END_ALL, 0, 0});
	CHECK("7: 1@10 to 1@20 [1 10-20]\n", 0, 2, {10, 1, BEGIN, 7, 0}, {20, 1, END, 7, 0},
	      {30, 1, END, 7, 0}, {40, 1, BLOCK, 7, 0});
	/* By another thread: if only one has it, it is that one's end. */
	CHECK("7: 1@10 to 2@20 [1 10-20]\n", 0, 1, {10, 1, BEGIN, 7, 0}, {20, 2, END, 7, 0});
	CHECK("7: 1@10 to 1@40 [1 10-40] [2 11-30]\n", 0, 1, {10, 1, BEGIN, 7, 0},
	      {11, 2, BEGIN, 7, 0}, {20, 3, END, 7, 0}, {30, 2, END, 7, 0}, {40, 1, END, 7, 0});
	/* Given up, while it was in a queue. */
	CHECK("7: 1@10 to 1@30 [1 10-20] [q5 20-30]\n", 0, 0, {10, 1, BEGIN, 7, 0},
	      {20, 1, BLOCK, 7, 5}, {30, 1, END, 7, 0});
	/* By another process, which has the same pid. */
	CHECK("", 1, 1, {10, 6, BEGIN, 7, 0}, {20, 6, BLOCK, 7, 5}, {50, 7, END, 7, 0});
}

static void what_does_not_end_is_left_out(void **state)
{
	CHECK("", 2, 0, {10, 1, BEGIN, 7, 0}, {20, 1, BEGIN, 8, 0}, {30, 1, BLOCK, 8, 5});
	/* Thread 4 ends after 50 ms, and has it no longer. */
	CHECK("7: 1@60 to 1@70 [1 60-70]\n", 1, 0, {10, 4, BEGIN, 7, 0}, {60, 1, BEGIN, 7, 0},
	      {70, 1, END, 7, 0});
	CHECK("7: 4@10 to 1@70 [4 10-50] [1 20-70]\n", 0, 0, {10, 4, BEGIN, 7, 0},
	      {20, 1, BEGIN, 7, 0}, {70, 1, END, 7, 0});
	CHECK("7: 4@10 to 1@40 [4 10-40]\n", 0, 1, {10, 4, BEGIN, 7, 0}, {40, 1, END, 7, 0});
	/* It had handed it on. */
	CHECK("7: 4@10 to 1@70 [4 10-20] [q5 20-60] [1 60-70]\n", 0, 0, {10, 4, BEGIN, 7, 0},
	      {20, 4, BLOCK, 7, 5}, {60, 1, BEGIN, 7, 5}, {70, 1, END, 7, 0});
	/* What a damaged recording may have: something after the end. */
	CHECK("", 1, 0, {80, 4, BEGIN, 7, 0});
}

/* A request in ever more queues, and one that ever more threads begin: no limit is passed. */
static void any_number_of_tags(void **state)
{
	struct tag tags[2 * 200 + 1] = {{1, 1, BEGIN, 7, 0}};
	struct model *model;

	for (size_t i = 1; i <= 200; i++)
		tags[i] = (struct tag){2, 1, BLOCK, 7, i};
	for (size_t i = 201; i <= 400; i++)
		tags[i] = (struct tag){3, 2, i % 2 ? BEGIN : END, 7, i};
	model = load(tags, ARRAY_SIZE(tags));
	/* It is taken out of the 64 queues that are remembered, and begun 36 times more. */
	assert_int_equal(model->tags.strays, 200 - 64);
	assert_int_equal(model->spans.n, 1 + 36);
	assert_int_equal(model->spans.data[0].n_parts, 1 + 2 * 64);
	model__free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_goes_from_thread_to_thread),
		cmocka_unit_test(a_request_has_several_threads),
		cmocka_unit_test(a_thread_has_several_requests),
		cmocka_unit_test(ids_are_used_again),
		cmocka_unit_test(what_was_not_begun_is_not_ended),
		cmocka_unit_test(what_does_not_end_is_left_out),
		cmocka_unit_test(any_number_of_tags),
	};

	return cmocka_run_group_tests_name("tagged requests", tests, NULL, NULL);
}
