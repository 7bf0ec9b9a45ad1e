/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The wait-for graph over time: what each cause of a wait weighs in each of equal parts of the
 * graph's time. Weights are integrals over time (analysis/waits/cascade.h), so that those of a part
 * of the time are those of its bins, summed.
 */
#pragma once

#include "analysis/waits/waitgraph.h"

/* What the waits of one cause have in one bin. */
struct waitgraph_bin {
	uint32_t bin;
	uint32_t cause;	   /* of the graph */
	uint64_t count;	   /* waits that end in the bin */
	uint64_t plain_ns; /* as in struct waitgraph_cause */
	uint64_t weight_ns;
};

struct waitgraph_bins {
	uint32_t n;
	uint64_t length_ns;		  /* of a bin; the last one may be shorter */
	ARRAY(struct waitgraph_bin) rows; /* by bin, then by cause; no row is empty */
};

/*
 * Divides the time of @graph into @n bins. The caller has zeroed @bins. Returns 0 or -ENOMEM; @bins
 * is to be freed in any case. Takes about the time and the memory of waitgraph__make().
 */
int waitgraph_bins__make(const struct waitgraph *graph, uint32_t n, struct waitgraph_bins *bins);

/* Halves the number of bins, rounded up. */
void waitgraph_bins__halve(struct waitgraph_bins *bins);

void waitgraph_bins__free(struct waitgraph_bins *bins);
