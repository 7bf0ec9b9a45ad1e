// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program and a scanner of its shadow stack, both simulated: what rows say of the calls, and how
 * many there were. The scanner loses its CPU from time to time.
 */
#include <math.h>

#include "analysis/latency/call_gaps.h"
#include "analysis/latency/call_latency.h"
#include "base/clock.h"
#include "collect/latency/shadow_scan.h"
#include "tests/unit/path_support.h"

#define WORK_NS	  (400 * MS)
#define ROUNDS	  12
#define MOST_FNS  8
#define LONG_LINE 9

enum { MAIN = 1, HANDLE, WORK, LONG, SPIN, TINY };
static const char *const names[MOST_FNS] = {"?",    "main", "handle", "work",
					    "work", "spin", "tiny",   "?"};

struct truth {
	uint64_t calls;
	uint64_t ns;
};

struct short_sum {
	uint64_t looks, ended, seen, ns;
};

struct simulation {
	struct shadow_stack stack;
	struct shadow_scan scan;
	struct thread_run run;
	struct scan_sink sink;
	uint64_t generation;
	uint64_t start; /* later than now, so that no look is late */
	uint64_t next;	/* the time of the next change */
	size_t depth;
	int step, left; /* of the program */
	int longs_every, spins, tinies;
	uint64_t begun[4];
	struct truth truth[MOST_FNS];
	struct short_sum shorts[MOST_FNS];
	struct program program;
	uint32_t stacks[MOST_FNS];
	uint64_t random;
};

static uint64_t dice(struct simulation *s, uint64_t most)
{
	s->random = s->random * 6364136223846793005ull + 1442695040888963407ull;
	return (s->random >> 33) % most;
}

static void push(struct simulation *s, uint64_t function)
{
	struct shadow_entry *entry = &s->stack.entries[s->depth];

	s->generation += 2;
	entry->function = function;
	entry->site = function;
	entry->generation = s->generation;
	s->begun[s->depth++] = s->next;
	s->truth[function].calls++;
}

static void pop(struct simulation *s)
{
	struct shadow_entry *entry = &s->stack.entries[--s->depth];

	s->truth[entry->function].ns += s->next - s->begun[s->depth];
	entry->generation = 0;
}

/* The program's next change, as tests/calls/counted.c makes its own. */
static void advance(struct simulation *s)
{
	switch (s->depth) {
	case 1:
		push(s, HANDLE);
		s->left = 2;
		s->next += 30;
		return;
	case 2:
		if (!s->left--) {
			pop(s);
			s->next += 40;
			return;
		}
		push(s, s->left || dice(s, (uint64_t)s->longs_every) ? WORK : LONG);
		s->step = s->stack.entries[2].function == WORK ? s->spins : 300;
		s->next += 20;
		return;
	case 3:
		if (!s->step--) {
			pop(s);
			s->next += 50;
			return;
		}
		push(s, s->tinies && s->step % 2 ? TINY : SPIN);
		s->next += s->tinies && s->step % 2 ? 60 + dice(s, 60) : 1500 + dice(s, 1000);
		return;
	default:
		pop(s);
		s->next += 10;
	}
}

static void on_thread(void *arg, struct shadow_scan *scan)
{
	scan->tid = scan->own_tid;
	shadow_scan__know_begin(scan, scan->stack->begun);
}

static void on_call(void *arg, const struct observed_call *call)
{
	struct simulation *s = arg;

	synthetic__put(&s->program.made,
		       (struct record){.type = RECORD_CALL,
				       .call = {.thread = 1,
						.time = call->end - s->start + START,
						.ns = call->end - call->begin,
						.begin_slack = call->begin_slack,
						.end_slack = call->end_slack,
						.depth = call->depth,
						.flags = call->flags,
						.stack = s->stacks[call->function]}});
}

static void on_short_call(void *arg, const struct observed_call *call, unsigned looks)
{
	struct simulation *s = arg;
	struct short_sum *sum = &s->shorts[call->function];

	sum->looks += looks;
	sum->ended += (call->flags & OBSERVED_CALL_IN_PAIR) != 0;
	sum->seen++;
	sum->ns += call->end - call->begin;
}

static void look(struct simulation *s, uint64_t time, bool second)
{
	while (s->next <= time)
		advance(s);
	if (shadow_scan__is_needed(&s->scan, &time))
		assert_int_equal(shadow_scan__look(&s->scan, time, &second, &s->sink), 0);
}

/* @busy: one gap of so many is long; 0: none. @late: the first look comes so late. */
static void simulate(struct simulation *s, uint64_t busy, uint64_t late)
{
	uint64_t time = s->start + 1000 + late;

	s->run.in = s->stack.begun = s->start;
	s->stack.first = s->generation;
	s->next = s->start;
	push(s, MAIN);
	while (time < s->start + WORK_NS - 3 * MS) {
		look(s, time, false);
		look(s, time += 200 + dice(s, 100), true);
		time += 500 + dice(s, 1000);
		if (busy && !dice(s, busy))
			time += 20000 + dice(s, 2000000);
	}
	shadow_scan__finish(&s->scan, &s->sink);
}

static void write_rest(struct simulation *s)
{
	const struct scan_report *report = &s->scan.report;
	struct record scan = {.type = RECORD_SCAN,
			      .scan = {.thread = 1,
				       .time = START + WORK_NS,
				       .ns = report->ns,
				       .pairs = report->pairs,
				       .pair_ns = report->pair_ns,
				       .pushes = report->pushes,
				       .pushes_ns = report->pushes_ns}};

	memcpy(scan.scan.gap_ns, report->gap_ns, sizeof(scan.scan.gap_ns));
	synthetic__put(&s->program.made, scan);
	for (uint32_t i = 1; i < MOST_FNS; i++) {
		const struct short_sum *sum = &s->shorts[i];

		if (sum->seen)
			synthetic__put(&s->program.made,
				       (struct record){.type = RECORD_SHORT_CALLS,
						       .short_calls = {.thread = 1,
								       .time = START + WORK_NS,
								       .stack = s->stacks[i],
								       .looks = sum->looks,
								       .ended = sum->ended,
								       .seen = sum->seen,
								       .ns = sum->ns}});
	}
}

/* An address in @line, of @function. */
static const char *place(struct simulation *s, const char *name, const char *function,
			 uint32_t line)
{
	struct program *program = &s->program;

	synthetic__symbol(&program->made, program->dso, 16 * program->n, function, "prog.c", line);
	program->functions[program->n++] = name;
	return name;
}

/* LONG is work, called in another line. */
static void set_stacks(struct simulation *s)
{
	s->stacks[MAIN] = USER(&s->program, "main");
	s->stacks[HANDLE] = USER(&s->program, "handle", "main", place(s, "a", "main", 20));
	s->stacks[WORK] = USER(&s->program, "work", "handle", place(s, "b", "handle", 8));
	s->stacks[LONG] = USER(&s->program, "work", "handle", place(s, "c", "handle", LONG_LINE));
	s->stacks[SPIN] = USER(&s->program, "spin", "work", place(s, "d", "work", 5));
	s->stacks[TINY] = USER(&s->program, "tiny", "work", place(s, "e", "work", 6));
}

static const struct latency_function *row_of(const struct model *model,
					     const struct call_latency *latency, int function)
{
	for (size_t i = 0; i < latency->functions.n; i++) {
		const struct latency_function *row = &latency->functions.data[i];

		if (!strcmp(model__string(model, row->name), names[function]) &&
		    (row->line == LONG_LINE) == (function == LONG))
			return row;
	}
	return NULL;
}

/* How many intervals were checked, and how many of them were right. */
static size_t intervals, right;

static void check_row(const struct latency_function *row, const struct truth *truth)
{
	double width = row->calls.high - row->calls.low, calls = (double)truth->calls;

	intervals++;
	right += row->calls.low <= calls && calls <= row->calls.high;
	/* At 2.5 times the width, none is wrong. */
	assert_true(calls >= row->calls.low - 0.75 * width - 1 &&
		    calls <= row->calls.high + 0.75 * width + 1);
	assert_true(fabs(row->total_ns - (double)truth->ns) <=
		    2.5 * row->error_ns + 0.01 * (double)truth->ns);
}

static void check(struct simulation *s)
{
	struct model *model = synthetic__load(&s->program.made, WORK_NS);
	struct call_latency latency = {};
	struct own_strings strings = {.model = model};
	struct wait_causes *causes;
	struct kinds *kinds;
	double total[MOST_FNS] = {};

	assert_int_equal(kinds__new(model, &kinds), 0);
	assert_int_equal(wait_causes__new(&strings, kinds, &causes), 0);
	assert_int_equal(call_latency__make(model, causes, LATENCY_RANK_TOTAL, &latency), 0);
	for (int i = MAIN; i <= TINY; i++) {
		const struct latency_function *row =
			s->truth[i].calls ? row_of(model, &latency, i) : NULL;

		if (!s->truth[i].calls)
			continue;
		assert_non_null(row);
		total[i] = row->total_ns;
		assert_true(i == TINY || !row->calls.is_bound);
		if (i == TINY)
			assert_true(row->calls.is_bound &&
				    row->calls.low <= (double)s->truth[i].calls &&
				    row->calls.high >= (double)s->truth[i].calls * 0.9);
		else if (i != MAIN)
			check_row(row, &s->truth[i]);
	}
	assert_true(total[MAIN] <= (double)WORK_NS);
	assert_true(total[HANDLE] <= total[MAIN]);
	assert_true(total[WORK] + total[LONG] <= total[HANDLE]);
	assert_true(total[SPIN] + total[TINY] <= total[WORK] + total[LONG]);
	call_latency__free(&latency);
	wait_causes__free(causes);
	own_strings__free(&strings);
	kinds__free(kinds);
	model__free(model);
}

static void run(uint64_t seed, uint64_t busy, uint64_t late, int spins, int tinies, int longs_every)
{
	struct simulation *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	*s = (struct simulation){.random = seed,
				 .generation = 1,
				 .start = now_ns(CLOCK_MONOTONIC) + 3600000 * MS,
				 .spins = spins,
				 .tinies = tinies,
				 .longs_every = longs_every,
				 .program = program__begin(true)};
	program__threads(&s->program, 1);
	set_stacks(s);
	s->stack.state = SHADOW_USED;
	s->stack.tid = 1;
	s->scan.stack = &s->stack;
	s->scan.long_ns = 4000;
	s->scan.run = &s->run;
	s->sink = (struct scan_sink){.on_thread = on_thread,
				     .on_call = on_call,
				     .on_short_call = on_short_call,
				     .arg = s};
	simulate(s, busy, late);
	write_rest(s);
	check(s);
	shadow_scan__free(&s->scan);
	free(s);
}

static void numbers_and_times_are_right(void **state)
{
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		run(seed, 0, 0, 2, 0, 20);
		run(seed, 200, 0, 1, 0, 20);
		run(seed, 100, 0, 3, 0, 5);
		run(seed, 200, WORK_NS / 4, 2, 0, 20);
	}
	/* 95% of the intervals, with a bound for one false alarm in a million; rows are not
	 * independent of each other. */
	assert_true(intervals > 100);
	if (right < intervals * 8 / 10)
		fail_msg("%zu of %zu intervals are right", right, intervals);
}

/* Calls of 60 to 120 ns, between looks that are 250 ns apart. */
static void short_calls_are_bounded(void **state)
{
	for (uint64_t seed = 1; seed <= ROUNDS; seed++)
		run(seed, seed % 2 ? 0 : 200, 0, 4, 1, 20);
}

/*
 * Looks delay ends beyond the pair, so that calls seem fewer there than the thread made: calls that
 * are counted in longer gaps are not fewer.
 */
static void delays_change_weights_of_pairs_only(void **state)
{
	const struct model_coverage coverage = {.ns = 100000000,
						.pairs = 60000,
						.pair_ns = 10000000,
						.gap_ns = {90000000, 10000000},
						.pushes = 100000,
						.pushes_ns = 100000000};
	const struct counted_calls counted = {.in_pairs = 8100, .by_class = {9000}};
	const struct call_weights weights = call_weights__make(&coverage, &coverage, &counted);

	assert_true(fabs(weights.in_pairs.weight - 90000.0 / 8100) < 0.01);
	assert_true(fabs(weights.by_class[0].weight - 1 / 0.9) < 0.001);
	assert_true(fabs(weights.by_class[1].weight - 1) < 0.001);
}

/* A number that is known for part of the run is no bound. */
static void numbers_of_a_part_are_no_bound(void **state)
{
	struct model_coverage coverage = {.ns = 100 * MS,
					  .pairs = 60000,
					  .pair_ns = 10 * MS,
					  .gap_ns = {100 * MS},
					  .pushes = 90000,
					  .pushes_ns = 90 * MS};
	const struct counted_calls counted = {.in_pairs = 9900};
	struct call_weights weights = call_weights__make(&coverage, &coverage, &counted);

	assert_true(isinf(weights.most) && fabs(weights.all - 100000) < 1);
	coverage.pushes_ns = 99 * MS;
	coverage.pushes = 99000;
	weights = call_weights__make(&coverage, &coverage, &counted);
	assert_true(fabs(weights.most - 100000) < 1);
}

/* A row whose calls were in no gap's end may have been in some of them; one that always runs was in
 * all. */
static void long_gaps_make_times_uncertain(void **state)
{
	const struct model_coverage coverage = {.ns = 200 * MS,
						.gap_ns = {80 * MS, [SCAN_GAPS - 1] = 100 * MS}};
	struct call_gaps gaps = {};

	call_gaps__add(&gaps, &coverage, 10 * MS);
	assert_int_equal(gaps.unseen_ns, 20 * MS);
	assert_true(fabs(gaps.n - 10) < 0.01);
	assert_true(fabs(sqrt(call_gaps__variance(&gaps, 0)) - sqrt(10 * 0.3 * 0.7) * 10 * MS) <
		    0.01 * MS);
	assert_true(fabs(sqrt(call_gaps__variance(&gaps, 100 * MS)) - sqrt(10 * 0.25) * 10 * MS) <
		    0.01 * MS);
	assert_true(call_gaps__variance(&gaps, 200 * MS) < 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_and_times_are_right),
		cmocka_unit_test(short_calls_are_bounded),
		cmocka_unit_test(delays_change_weights_of_pairs_only),
		cmocka_unit_test(long_gaps_make_times_uncertain),
		cmocka_unit_test(numbers_of_a_part_are_no_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
