// SPDX-License-Identifier: BSD-2-Clause
#include "render/html/page_waits.h"

#include <errno.h>
#include <stdlib.h>

#include "render/html/blocks.h"

/* docs/page.md, `rN.waits.bins` */
enum { COLUMN_BIN, COLUMN_CAUSE, COLUMN_COUNT, COLUMN_PLAIN, COLUMN_WEIGHT, COLUMNS };

#define MOST_BINS 128
/* Bins are made longer until there are no more rows than that, or than one for this many intervals.
 */
#define MANY_ROWS	  40000
#define INTERVALS_PER_ROW 100

/* Numbers of an edge for causes that are not listed: by class, and whether they are idle. */
#define UNLISTED (2 * CLASS_COUNT)

#define NOT_LISTED UINT32_MAX /* an edge that is not */

/* By edge: the number of its first cause, and how many of its causes have numbers of their own. */
struct numbering {
	uint32_t *first;
	uint32_t *listed;
};

static int make_numbering(const struct page_waits *waits, struct numbering *numbers)
{
	const struct waitgraph *graph = waits->graph;
	uint32_t next = 0;

	numbers->first = calloc(graph->edges.n + 1, sizeof(*numbers->first));
	numbers->listed = calloc(graph->edges.n + 1, sizeof(*numbers->listed));
	if (!numbers->first || !numbers->listed)
		return -ENOMEM;
	for (size_t i = 0; i < graph->edges.n; i++) {
		uint32_t n = graph->edges.data[i].n_causes;

		numbers->first[i] = i < waits->n_edges ? next : NOT_LISTED;
		numbers->listed[i] = n < waits->max_causes ? n : waits->max_causes;
		next += numbers->listed[i] + UNLISTED;
	}
	return 0;
}

/* The number of @index in docs/page.md, or NOT_LISTED. */
static uint32_t number_of(const struct page_waits *waits, const struct numbering *numbers,
			  uint32_t index)
{
	const struct waitgraph_cause *cause = &waits->graph->causes.data[index];
	uint32_t place = index - waits->graph->edges.data[cause->edge].cause;
	uint32_t first = numbers->first[cause->edge], listed = numbers->listed[cause->edge];

	if (first == NOT_LISTED || place < listed)
		return first == NOT_LISTED ? NOT_LISTED : first + place;
	return first + listed + 2 * cause->class + cause->idle;
}

static void put_rows(const struct page_waits *waits, const struct numbering *numbers,
		     const struct waitgraph_bins *bins, struct table *table)
{
	uint32_t last = 0;

	for (size_t i = 0; i < bins->rows.n; i++) {
		const struct waitgraph_bin *row = &bins->rows.data[i];
		uint32_t number = number_of(waits, numbers, row->cause);

		if (number == NOT_LISTED)
			continue;
		table__put(table, COLUMN_BIN, row->bin - last);
		table__put(table, COLUMN_CAUSE, number);
		table__put(table, COLUMN_COUNT, row->count);
		table__put(table, COLUMN_PLAIN, row->plain_ns);
		table__put(table, COLUMN_WEIGHT, row->weight_ns);
		last = row->bin;
	}
}

static void describe(struct html *html, size_t number, const struct page_waits *waits,
		     const struct waitgraph_bins *bins)
{
	json_t *entry = json_array_get(json_object_get(html->index, "recordings"), number);
	uint64_t start = waits->graph->model->start, from = waits->graph->list.from;

	json_object_set_new(entry, "wait_bins",
			    json_pack("{s:I, s:I}", "from_ns",
				      (json_int_t)(from > start ? from - start : 0), "length_ns",
				      (json_int_t)bins->length_ns));
}

int page_waits__write(struct html *html, size_t number, const struct page_waits *waits)
{
	uint64_t most = waits->graph->model->n_intervals / INTERVALS_PER_ROW;
	struct waitgraph_bins bins = {};
	struct numbering numbers = {};
	struct table table = {};
	char name[48];
	int err = waitgraph_bins__make(waits->graph, MOST_BINS, &bins);

	while (!err && bins.n > 1 && bins.rows.n > most && bins.rows.n > MANY_ROWS)
		waitgraph_bins__halve(&bins);
	err = err ? err : make_numbering(waits, &numbers);
	if (!err) {
		put_rows(waits, &numbers, &bins, &table);
		snprintf(name, sizeof(name), "r%zu.waits.bins", number);
		err = html__table(html, name, &table, COLUMNS);
	}
	if (!err)
		describe(html, number, waits, &bins);
	table__free(&table);
	free(numbers.first);
	free(numbers.listed);
	waitgraph_bins__free(&bins);
	return err;
}
