// SPDX-License-Identifier: BSD-2-Clause
#include "render/html/page_latency.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/latency/slow_calls.h"
#include "base/round.h"
#include "render/html/page_recording.h"

enum calls_column {
	CALLS_FUNCTION,
	CALLS_BIN,
	CALLS_BUCKET,
	CALLS_CALLS,
	CALLS_OBSERVED,
	CALLS_NS,
	CALLS_COLUMNS,
};

enum slow_column {
	SLOW_FUNCTION,
	SLOW_THREAD,
	SLOW_BEGIN,
	SLOW_LENGTH,
	SLOW_PARTS, /* without the CPU, which is the rest */
	SLOW_COLUMNS = SLOW_PARTS + LATENCY_PARTS - 1,
};

enum request_column {
	REQUEST_BEGIN,
	REQUEST_LENGTH,
	REQUEST_THREAD,
	REQUEST_COLUMNS,
};

#define CALL_FRACTIONS 256
#define MOST	       0x1p52 /* numbers of the page stay below 2^53 */

/* Numbers that are rounded so that their sums stay right. */
struct rounded_sum {
	double sum;
	uint64_t put;
};

static uint64_t rounded_sum_add(struct rounded_sum *sum, double value)
{
	uint64_t before = sum->put;

	sum->sum += value;
	sum->put = sum->sum < MOST ? round__uint64(sum->sum) : (uint64_t)MOST;
	return sum->put - before;
}

/* Writes @table as block rN.@part of recording @number, and frees it. */
static int write_table(struct html *html, size_t number, const char *part, struct table *table,
		       size_t n)
{
	char name[48];
	int err;

	snprintf(name, sizeof(name), "r%zu.%s", number, part);
	err = html__table(html, name, table, n);
	table__free(table);
	return err;
}

static int write_cells(struct html *html, size_t number, const struct call_details *details)
{
	struct rounded_sum calls = {}, observed = {}, ns = {};
	struct table table = {};
	uint32_t before = 0;

	for (size_t i = 0; i < details->cells.n; i++) {
		const struct call_cell *cell = &details->cells.data[i];

		if (cell->function != before)
			calls = observed = ns = (struct rounded_sum){};
		table__put(&table, CALLS_FUNCTION, cell->function - before);
		table__put(&table, CALLS_BIN, cell->bin);
		table__put(&table, CALLS_BUCKET, cell->bucket);
		table__put(&table, CALLS_CALLS,
			   rounded_sum_add(&calls, cell->calls * CALL_FRACTIONS));
		table__put(&table, CALLS_OBSERVED, rounded_sum_add(&observed, cell->observed));
		table__put(&table, CALLS_NS, rounded_sum_add(&ns, cell->ns));
		before = cell->function;
	}
	return write_table(html, number, "latency.calls", &table, CALLS_COLUMNS);
}

/* The place that the delta columns of rN.latency.slow have reached. */
struct slow_place {
	uint32_t function;
	uint64_t begin; /* in units */
};

static void put_slow_call(const struct model *model, const struct slow_call *call,
			  uint32_t function, struct slow_place *last, struct table *table)
{
	uint64_t begin = page__time(model, call->begin);

	table__put(table, SLOW_FUNCTION, function - last->function);
	table__put(table, SLOW_THREAD, call->thread);
	table__put_signed(table, SLOW_BEGIN, (int64_t)(begin - last->begin));
	table__put(table, SLOW_LENGTH, call->length);
	for (size_t part = LATENCY_CPU + 1; part < LATENCY_PARTS; part++)
		table__put(table, SLOW_PARTS + part - 1, call->parts[part]);
	*last = (struct slow_place){function, begin};
}

static int by_begin(const void *a, const void *b)
{
	const struct slow_call *one = *(const struct slow_call *const *)a;
	const struct slow_call *other = *(const struct slow_call *const *)b;

	if (one->begin != other->begin)
		return one->begin < other->begin ? -1 : 1;
	return one->thread < other->thread ? -1 : one->thread > other->thread;
}

static int write_slow_calls(struct html *html, const struct model *model, size_t number,
			    const struct call_latency *latency)
{
	const struct slow_call *calls[SLOW_CALLS_MOST];
	struct slow_place last = {};
	struct table table = {};

	for (size_t f = 0; f < latency->functions.n; f++) {
		const struct latency_function *function = &latency->functions.data[f];
		size_t n = function->slow.n;

		for (size_t i = 0; i < n; i++)
			calls[i] = &function->slow.data[i];
		qsort(calls, n, sizeof(calls[0]), by_begin);
		for (size_t i = 0; i < n; i++)
			put_slow_call(model, calls[i], (uint32_t)f, &last, &table);
	}
	return write_table(html, number, "latency.slow", &table, SLOW_COLUMNS);
}

int page_latency__calls(struct html *html, const struct model *model, size_t number,
			const struct call_latency *latency)
{
	json_t *entry = json_array_get(json_object_get(html->index, "recordings"), number);
	int err = write_cells(html, number, latency->details);

	json_object_set_new(entry, "latency_bins", json_integer(latency->details->bins));
	return err ? err : write_slow_calls(html, model, number, latency);
}

static int by_arrival(const void *a, const void *b)
{
	const struct model_span *one = *(const struct model_span *const *)a;
	const struct model_span *other = *(const struct model_span *const *)b;

	if (one->arrived != other->arrived)
		return one->arrived < other->arrived ? -1 : 1;
	return one < other ? -1 : one > other;
}

int page_latency__requests(struct html *html, size_t number, const struct requests *requests)
{
	size_t n = requests->spans.n;
	const struct model_span **spans = calloc(n + 1, sizeof(*spans));
	struct table table = {};
	uint64_t time = 0;
	int err;

	if (!spans)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		spans[i] = requests__at(requests, i);
	qsort(spans, n, sizeof(*spans), by_arrival);
	for (size_t i = 0; i < n; i++) {
		uint64_t begin = page__time(requests->model, spans[i]->arrived);

		table__put(&table, REQUEST_BEGIN, begin - time);
		table__put(&table, REQUEST_LENGTH, model_span__latency(spans[i]));
		table__put(&table, REQUEST_THREAD, spans[i]->thread);
		time = begin;
	}
	err = write_table(html, number, "requests.times", &table, REQUEST_COLUMNS);
	free(spans);
	return err;
}
