// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/latency/call_details.h"

#include <errno.h>
#include <stdlib.h>

#define BINS		 128
#define CELLS		 50000
#define INTERVALS_A_CELL 50 /* a page of many intervals is large anyway */

/* The recorder counts short calls for so long before it writes how many there were. */
#define SHORT_CALLS_NS 100000000

uint32_t call_details__bucket(uint64_t ns)
{
	uint32_t shift = ns < 64 ? 0 : 58 - (uint32_t)__builtin_clzll(ns);

	return 1 + 32 * shift + (uint32_t)(ns >> shift);
}

void call_details__begin(struct call_details *details, const struct model *model)
{
	size_t most = model->n_intervals / INTERVALS_A_CELL;

	details->start = model->start;
	details->ns = model->end > model->start ? model->end - model->start : 1;
	details->bins = BINS;
	details->most = most > CELLS ? most : CELLS;
}

/* @time, in bins since the start: 0 to the number of bins. */
static double place(const struct call_details *details, uint64_t time)
{
	uint64_t since = time > details->start ? time - details->start : 0;

	if (since >= details->ns)
		return details->bins;
	return (double)since / (double)details->ns * details->bins;
}

/* Adds @cell to the one of its function, bin and bucket. */
static int put(struct call_details *details, const struct call_cell *cell)
{
	uint64_t key = (uint64_t)cell->function << 32 | (uint64_t)cell->bin << 16 | cell->bucket;
	uint64_t *index = map64__put(&details->index, key, details->cells.n);
	struct call_cell *to;

	if (!index)
		return -ENOMEM;
	if (*index == details->cells.n)
		return array__push(&details->cells, *cell);
	to = &details->cells.data[*index];
	to->calls += cell->calls;
	to->observed += cell->observed;
	to->ns += cell->ns;
	return 0;
}

/* Joins bins in pairs until there are few enough cells. */
static int limit_cells(struct call_details *details)
{
	int err = 0;

	while (details->cells.n > details->most && details->bins > 1 && !err) {
		size_t n = details->cells.n;

		details->bins /= 2;
		details->cells.n = 0;
		map64__free(&details->index);
		/* There is room: cells only become fewer. */
		for (size_t i = 0; i < n && !err; i++) {
			struct call_cell cell = details->cells.data[i];

			cell.bin /= 2;
			err = put(details, &cell);
		}
	}
	return err;
}

int call_details__add(struct call_details *details, uint64_t begin, struct call_cell cell)
{
	uint32_t bin = (uint32_t)place(details, begin);
	int err;

	cell.bin = (uint16_t)(bin < details->bins ? bin : details->bins - 1);
	err = put(details, &cell);
	return err ? err : limit_cells(details);
}

/* When they began is not known: they are spread evenly over the time in which they were counted. */
int call_details__add_shorts(struct call_details *details, const struct model_short_calls *shorts,
			     uint32_t function, double calls, double ns)
{
	double until = place(details, shorts->time);
	double length = SHORT_CALLS_NS / (double)details->ns * details->bins;
	double from = until > length ? until - length : 0;
	int err = 0;

	for (uint32_t bin = (uint32_t)from; bin < details->bins && !err; bin++) {
		double begin = bin > from ? bin : from, end = bin + 1 < until ? bin + 1 : until;
		double share = until > from ? (end - begin) / (until - from) : 1;
		const struct call_cell cell = {
			.function = function,
			.bin = (uint16_t)bin,
			.bucket = CALLS_SHORT,
			.calls = calls * share,
			.observed = (double)shorts->ended * share,
			.ns = ns * share,
		};

		err = put(details, &cell);
		if (bin + 1 >= until)
			break;
	}
	return err ? err : limit_cells(details);
}

static int by_place(const void *a, const void *b)
{
	const struct call_cell *one = a, *other = b;

	if (one->function != other->function)
		return one->function < other->function ? -1 : 1;
	if (one->bin != other->bin)
		return one->bin < other->bin ? -1 : 1;
	return one->bucket < other->bucket ? -1 : one->bucket > other->bucket;
}

/*
 * Calls that were seen and that none stands for, such as partial ones, go where the first of them
 * that is not measured is, so that all cells of a function sum up to its calls. @first: its first
 * cell.
 */
static void add_others(struct call_details *details, size_t first, double calls)
{
	struct call_cell *cells = details->cells.data, *to = NULL;
	double sum = 0;

	for (size_t i = first; i < details->cells.n && cells[i].function == cells[first].function;
	     i++) {
		sum += cells[i].calls;
		if (!to && cells[i].bucket == CALLS_SHORT)
			to = &cells[i];
	}
	if (to && calls > sum)
		to->calls += calls - sum;
}

int call_details__finish(struct call_details *details, const struct call_latency *latency)
{
	uint32_t *ranks = calloc(latency->functions.n + 1, sizeof(*ranks));
	struct call_cell *cells = details->cells.data;

	if (!ranks)
		return -ENOMEM;
	for (size_t i = 0; i < latency->functions.n; i++)
		ranks[latency->functions.data[i].number] = (uint32_t)i;
	for (size_t i = 0; i < details->cells.n; i++) {
		cells[i].function = ranks[cells[i].function];
		cells[i].calls *= latency->functions.data[cells[i].function].scale;
	}
	free(ranks);
	if (details->cells.n)
		qsort(cells, details->cells.n, sizeof(*cells), by_place);
	for (size_t i = 0; i < details->cells.n; i++)
		if (!i || cells[i].function != cells[i - 1].function)
			add_others(details, i,
				   latency->functions.data[cells[i].function].calls.calls);
	return 0;
}

void call_details__free(struct call_details *details)
{
	array__free(&details->cells);
	map64__free(&details->index);
}
