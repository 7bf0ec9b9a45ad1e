// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/waits/waitgraph_bins.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/waits/sampled_cascade.h"

/* The waits of a graph, cut where bins meet. */
struct pieces {
	const struct waitgraph *graph;
	const struct waitgraph_bins *bins;
	struct waitlist list;	 /* its nodes are the graph's */
	ARRAY(uint32_t) wait_of; /* by piece: of the graph's list */
};

static uint32_t bin_of(const struct pieces *pieces, uint64_t time)
{
	return (uint32_t)((time - pieces->list.from) / pieces->bins->length_ns);
}

/* Adds what wait @index has in @bin. */
static int add_piece(struct pieces *pieces, uint32_t index, uint32_t bin)
{
	const struct waitlist *whole = &pieces->graph->list;
	uint64_t begin = pieces->list.from + bin * pieces->bins->length_ns;
	uint64_t end = begin + pieces->bins->length_ns;
	struct wait piece = whole->waits.data[index];

	piece.begin = piece.begin > begin ? piece.begin : begin;
	piece.end = piece.end < end ? piece.end : end;
	return array__push(&pieces->list.waits, piece)
		       ?: array__push(&pieces->list.sources, whole->sources.data[index])
		       ?: array__push(&pieces->wait_of, index);
}

/* qsort_r() order of waits that go on in another bin: as they began. */
static int by_begin(const void *a, const void *b, void *arg)
{
	const struct pieces *pieces = arg;
	const struct wait *waits = pieces->graph->list.waits.data;
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	if (waits[one].begin != waits[other].begin)
		return waits[one].begin < waits[other].begin ? -1 : 1;
	return (one > other) - (one < other);
}

/*
 * At the start of a bin, all waits that go on begin again at once. Equal begins are taken in the
 * order of the list. So they come first, in the order in which they began: cycles are cut where
 * they were cut before.
 */
static int cut_waits(struct pieces *pieces)
{
	const struct waitlist *whole = &pieces->graph->list;
	ARRAY(uint32_t) longer = {};
	int err = 0;

	for (uint32_t i = 0; i < whole->waits.n && !err; i++)
		if (!pieces->graph->weightless[i] &&
		    bin_of(pieces, whole->waits.data[i].begin) !=
			    bin_of(pieces, whole->waits.data[i].end - 1))
			err = array__push(&longer, i);
	if (longer.n)
		qsort_r(longer.data, longer.n, sizeof(*longer.data), by_begin, pieces);
	for (size_t i = 0; i < longer.n && !err; i++) {
		const struct wait *wait = &whole->waits.data[longer.data[i]];
		uint32_t last = bin_of(pieces, wait->end - 1);

		for (uint32_t bin = bin_of(pieces, wait->begin) + 1; bin <= last && !err; bin++)
			err = add_piece(pieces, longer.data[i], bin);
	}
	array__free(&longer);
	for (uint32_t i = 0; i < whole->waits.n && !err; i++)
		if (!pieces->graph->weightless[i])
			err = add_piece(pieces, i, bin_of(pieces, whole->waits.data[i].begin));
	return err;
}

/* Weights of the pieces, as waitgraph__make() finds those of whole waits. */
static int weigh(struct pieces *pieces, struct sampled_cascade *weighed)
{
	const struct waitlist *list = &pieces->list;
	_cleanup_free_ uint32_t *one_group = NULL;

	if (!pieces->graph->exact) {
		one_group = calloc(list->waits.n + 1, sizeof(*one_group));
		return one_group ? sampled_cascade__estimate(list, one_group, 1, weighed) : -ENOMEM;
	}
	weighed->weights = calloc(list->waits.n + 1, sizeof(*weighed->weights));
	weighed->plain = calloc(list->waits.n + 1, sizeof(*weighed->plain));
	if (!weighed->weights || !weighed->plain)
		return -ENOMEM;
	for (size_t i = 0; i < list->waits.n; i++)
		weighed->plain[i] = list->waits.data[i].end - list->waits.data[i].begin;
	return cascade__weights(list->waits.data, list->waits.n, (uint32_t)list->nodes.n,
				weighed->weights, NULL);
}

static int row_order(const void *a, const void *b)
{
	const struct waitgraph_bin *one = a, *other = b;

	if (one->bin != other->bin)
		return one->bin < other->bin ? -1 : 1;
	return (one->cause > other->cause) - (one->cause < other->cause);
}

/* Sorts rows, and joins those of the same bin and cause. */
static void join_rows(struct waitgraph_bins *bins)
{
	struct waitgraph_bin *rows = bins->rows.data;
	size_t n = 0;

	if (!rows)
		return;
	qsort(rows, bins->rows.n, sizeof(*rows), row_order);
	for (size_t i = 0; i < bins->rows.n; i++) {
		if (!n || row_order(&rows[n - 1], &rows[i])) {
			rows[n++] = rows[i];
			continue;
		}
		rows[n - 1].count += rows[i].count;
		rows[n - 1].plain_ns += rows[i].plain_ns;
		rows[n - 1].weight_ns += rows[i].weight_ns;
	}
	bins->rows.n = n;
}

/* The row of the cause of @wait in the bin of @time; NULL without memory. @known: rows by both. */
static struct waitgraph_bin *row_of(const struct pieces *pieces, struct map64 *known, uint32_t wait,
				    uint64_t time, struct waitgraph_bins *bins)
{
	uint32_t bin = bin_of(pieces, time), cause = pieces->graph->cause_of[wait];
	uint64_t *place = map64__put(known, (uint64_t)bin << 32 | cause, bins->rows.n);
	struct waitgraph_bin *row;

	if (!place)
		return NULL;
	if (*place < bins->rows.n)
		return &bins->rows.data[*place];
	row = array__add(&bins->rows);
	if (row)
		*row = (struct waitgraph_bin){.bin = bin, .cause = cause};
	return row;
}

static int sum_pieces(const struct pieces *pieces, const struct sampled_cascade *weighed,
		      struct waitgraph_bins *bins)
{
	const struct wait *waits = pieces->graph->list.waits.data;
	struct map64 known = {};
	int err = 0;

	for (uint32_t i = 0; i < pieces->graph->list.waits.n && !err; i++) {
		struct waitgraph_bin *row = row_of(pieces, &known, i, waits[i].end - 1, bins);

		err = row ? 0 : -ENOMEM;
		if (row)
			row->count++;
	}
	for (size_t i = 0; i < pieces->list.waits.n && !err; i++) {
		struct waitgraph_bin *row;

		if (!weighed->weights[i])
			continue;
		row = row_of(pieces, &known, pieces->wait_of.data[i],
			     pieces->list.waits.data[i].begin, bins);
		err = row ? 0 : -ENOMEM;
		if (row) {
			row->plain_ns += weighed->plain[i];
			row->weight_ns += weighed->weights[i];
		}
	}
	map64__free(&known);
	join_rows(bins);
	return err;
}

int waitgraph_bins__make(const struct waitgraph *graph, uint32_t n, struct waitgraph_bins *bins)
{
	struct pieces pieces = {
		.graph = graph,
		.bins = bins,
		.list =
			{
				.model = graph->list.model,
				.nodes = graph->list.nodes,
				.from = graph->list.from,
				.until = graph->list.until,
				.exact = graph->list.exact,
			},
	};
	struct sampled_cascade weighed = {};
	int err;

	bins->n = n;
	bins->length_ns = (graph->duration_ns + n - 1) / n;
	if (!graph->list.waits.n)
		return 0;
	err = cut_waits(&pieces);
	err = err ? err : weigh(&pieces, &weighed);
	err = err ? err : sum_pieces(&pieces, &weighed, bins);
	sampled_cascade__free(&weighed);
	array__free(&pieces.list.waits);
	array__free(&pieces.list.sources);
	array__free(&pieces.wait_of);
	return err;
}

void waitgraph_bins__halve(struct waitgraph_bins *bins)
{
	for (size_t i = 0; i < bins->rows.n; i++)
		bins->rows.data[i].bin /= 2;
	bins->n = (bins->n + 1) / 2;
	bins->length_ns *= 2;
	join_rows(bins);
}

void waitgraph_bins__free(struct waitgraph_bins *bins)
{
	array__free(&bins->rows);
}
