// SPDX-License-Identifier: BSD-2-Clause
/* Recordings that no machine made: whatever they hold, the latency of calls adds up. */
#include "tests/unit/random_recording.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "analysis/latency/call_details.h"
#include "analysis/latency/timeline.h"
#include "render/latency/latency_locks.h"
#include "render/latency/latency_requests.h"
#include "render/latency/latency_views.h"

static void check_document(char *text)
{
	json_t *document = json_loads(text, JSON_ALLOW_NUL, NULL);

	assert_non_null(document);
	json_decref(document);
	free(text);
}

/* So many functions had slow calls. */
static size_t slow;

/* The slow calls sum up to what is said of all of them. */
static void check_slow_calls(const struct latency_function *function)
{
	uint64_t parts[LATENCY_PARTS] = {}, uncertain = 0;

	for (size_t i = 0; i < function->slow.n; i++) {
		const struct slow_call *call = &function->slow.data[i];
		uint64_t length = 0;

		for (int part = 0; part < LATENCY_PARTS; part++) {
			parts[part] += call->parts[part];
			length += call->parts[part];
		}
		assert_true(length == call->length);
		assert_true(!i || length <= call[-1].length);
		uncertain += call->uncertain;
	}
	assert_memory_equal(parts, function->parts, sizeof(parts));
	assert_int_equal(uncertain, function->slow_uncertain);
}

/* Quantiles rise, and the parts of slow calls make up their time. */
static void check_function(const struct latency_function *function)
{
	uint64_t sum = 0;

	for (int i = 1; i < LATENCY_QUANTILES; i++)
		assert_true(function->ns[i - 1] <= function->ns[i]);
	for (int i = 0; i < LATENCY_PARTS; i++) {
		assert_true(function->parts[i] <= function->slow_ns);
		sum += function->parts[i];
	}
	assert_int_equal(sum, function->slow_ns);
	slow += function->slow.n != 0;
	check_slow_calls(function);
	assert_true(function->calls.calls >= 0 && function->total_ns >= 0);
	assert_true(function->calls.low >= 0 && function->calls.low <= function->calls.calls &&
		    function->calls.high >= function->calls.calls);
	assert_true(function->mean_ns >= 0 && function->whole >= 0);
}

/* What the details of a function sum up to. */
struct detail_sum {
	double calls;
	double observed;
};

static bool is_near(double one, double other)
{
	return fabs(one - other) <= 1e-6 * (1 + fabs(other));
}

static void check_details(const struct call_latency *latency)
{
	const struct call_details *details = latency->details;
	struct detail_sum *sums = calloc(latency->functions.n + 1, sizeof(*sums));

	assert_non_null(sums);
	for (size_t i = 0; i < details->cells.n; i++) {
		const struct call_cell *cell = &details->cells.data[i];

		assert_true(cell->function < latency->functions.n && cell->bin < details->bins);
		sums[cell->function].calls += cell->calls;
		sums[cell->function].observed += cell->observed;
	}
	for (size_t i = 0; i < latency->functions.n; i++) {
		const struct latency_function *function = &latency->functions.data[i];

		assert_true(is_near(sums[i].calls, function->calls.calls));
		/* What only a damaged file has overflows. */
		if (sums[i].observed < 0x1p63)
			assert_true(is_near(sums[i].observed, (double)function->observed));
	}
	free(sums);
}

static void check_latency(const struct model *model, const struct wait_causes *causes)
{
	struct call_details details = {};
	struct call_latency latency = {.details = &details};
	struct latency_view view = {.model = model, .latency = &latency};
	size_t size;
	char *text;
	FILE *to;
	int err = call_latency__make(model, causes, LATENCY_RANK_TAIL, &latency);

	assert_true(!err || err == -ENODATA);
	for (size_t i = 0; i < latency.functions.n; i++)
		check_function(&latency.functions.data[i]);
	if (!err) {
		check_details(&latency);
		to = open_memstream(&text, &size);
		assert_int_equal(latency_view__text(&view, to), 0);
		fclose(to);
		free(text);
		to = open_memstream(&text, &size);
		assert_int_equal(latency_view__json(&view, to), 0);
		fclose(to);
		check_document(text);
	}
	call_details__free(&details);
	call_latency__free(&latency);
}

/* So many tagged requests had several parts. */
static size_t tagged;

/* The parts of a tagged request lie in it, and its first and last one are its begin and end. */
static void check_parts(const struct model *model, const struct model_span *span)
{
	uint64_t last = 0;

	assert_true(span->part + (uint64_t)span->n_parts <= model->span_parts.n);
	for (uint32_t i = 0; i < span->n_parts; i++) {
		const struct model_span_part *part = &model->span_parts.data[span->part + i];

		assert_true(part->begin >= span->begun && part->begin <= part->end);
		assert_true(i == 0 || part->begin >= part[-1].begin);
		last = part->end > last ? part->end : last;
	}
	if (span->n_parts) {
		assert_int_equal(model->span_parts.data[span->part].begin, span->begun);
		assert_int_equal(last, span->ended);
	}
	tagged += span->n_parts > 1;
}

/* Nothing of a timeline lies outside its request. */
static void check_timelines(const struct model *model, const struct wait_causes *causes)
{
	struct requests requests = {};
	const struct requests_filter filter = {.until = UINT64_MAX};

	assert_int_equal(requests__find(model, &filter, &requests), 0);
	for (size_t i = 0; i < model->spans.n && i < 20; i++) {
		const struct model_span *span = &model->spans.data[i];
		struct timeline timeline = {};
		struct latency_requests_view view = {.model = model,
						     .requests = &requests,
						     .slowest = 3,
						     .shown = span,
						     .timeline = &timeline};
		size_t size;
		char *text;
		FILE *to = open_memstream(&text, &size);

		check_parts(model, span);
		assert_int_equal(timeline__make(model, causes, span, &timeline), 0);
		for (size_t k = 0; k < timeline.items.n; k++) {
			assert_true(timeline.items.data[k].begin >= span->arrived);
			assert_true(timeline.items.data[k].begin <= timeline.items.data[k].end);
			assert_true(timeline.items.data[k].end <= span->ended);
		}
		assert_int_equal(latency_requests__json(&view, to), 0);
		fclose(to);
		check_document(text);
		timeline__free(&timeline);
	}
	requests__free(&requests);
}

/* The rows of a comparison add up to its requests. */
static void check_comparison(const struct model *model, const struct wait_causes *causes)
{
	static const double percentiles[] = {50, 95};
	const struct requests_filter filter = {.until = UINT64_MAX};
	struct requests requests = {};
	struct request_comparison comparison = {};
	struct latency_requests_view view = {
		.model = model, .requests = &requests, .comparison = &comparison};
	size_t size;
	char *text;
	FILE *to;

	assert_int_equal(requests__find(model, &filter, &requests), 0);
	assert_int_equal(request_comparison__make(&requests, causes, percentiles, &comparison), 0);
	for (int side = 0; side < COMPARISON_SIDES; side++) {
		uint64_t sum = 0;

		for (size_t i = 0; i < comparison.rows.n; i++)
			sum += comparison.rows.data[i].ns[side];
		assert_true(sum == comparison.sides[side].ns);
	}
	to = open_memstream(&text, &size);
	assert_int_equal(latency_requests__text(&view, to), 0);
	fclose(to);
	free(text);
	to = open_memstream(&text, &size);
	assert_int_equal(latency_requests__json(&view, to), 0);
	fclose(to);
	check_document(text);
	request_comparison__free(&comparison);
	requests__free(&requests);
}

/* So many locks were found. */
static size_t n_locks;

/* Nobody holds a lock for longer than somebody waits for it, nor more often. */
static void check_lock(const struct lock *lock)
{
	uint64_t held = 0, releases = 0, waited = 0;

	for (size_t i = 0; i < lock->holders.n; i++) {
		held += lock->holders.data[i].ns;
		releases += lock->holders.data[i].releases;
	}
	for (size_t i = 0; i < lock->waiters.n; i++)
		waited += lock->waiters.data[i].ns;
	assert_true(held <= lock->contended_ns && lock->contended_ns <= lock->wait_ns);
	assert_true(releases <= lock->waits && waited <= lock->wait_ns);
	assert_true(lock->p50_ns <= lock->p99_ns && lock->p99_ns <= lock->max_ns);
}

static void check_locks(const struct model *model, struct kinds *kinds, bool tamed)
{
	struct locks locks = {};
	struct latency_locks_view view = {.model = model, .locks = &locks};
	size_t size;
	char *text;
	FILE *to;
	int err = locks__find(model, kinds, &locks);

	assert_int_equal(err, model->trace ? 0 : -ENODATA);
	/* Sums of times that only a damaged file has overflow. */
	for (size_t i = 0; i < locks.locks.n && tamed; i++)
		check_lock(&locks.locks.data[i]);
	n_locks += locks.locks.n;
	to = open_memstream(&text, &size);
	assert_int_equal(latency_locks__text(&view, to), 0);
	fclose(to);
	free(text);
	to = open_memstream(&text, &size);
	assert_int_equal(latency_locks__json(&view, to), 0);
	fclose(to);
	check_document(text);
	locks__free(&locks);
}

static void check_random(uint64_t seed, bool tamed)
{
	struct model *model = random_recording(seed, 400, tamed);
	struct own_strings strings = {.model = model};
	struct wait_causes *causes;
	struct kinds *kinds;

	assert_int_equal(kinds__new(model, &kinds), 0);
	assert_int_equal(wait_causes__new(&strings, kinds, &causes), 0);
	check_latency(model, causes);
	check_timelines(model, causes);
	check_comparison(model, causes);
	check_locks(model, kinds, tamed);
	wait_causes__free(causes);
	own_strings__free(&strings);
	kinds__free(kinds);
	model__free(model);
}

static void random_recordings(void **state)
{
	for (uint64_t seed = 1; seed <= 50; seed++)
		check_random(seed, false);
}

static void random_recordings_of_few_threads(void **state)
{
	for (uint64_t seed = 1; seed <= 400 || (!tagged && seed <= 4000); seed++)
		check_random(2000 + seed, true);
	assert_true(slow > 0);
	assert_true(tagged > 0);
	assert_true(n_locks > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_recordings),
		cmocka_unit_test(random_recordings_of_few_threads),
	};

	return cmocka_run_group_tests_name("latency: damage", tests, NULL, NULL);
}
