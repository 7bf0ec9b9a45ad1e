/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the calls of each function spread over time and length, so that a part of the time can be
 * looked at.
 */
#pragma once

#include "analysis/latency/call_latency.h"
#include "base/hash.h"

/* Calls of a function that began in a bin of time, and whose lengths are in a bucket. */
struct call_cell {
	uint32_t function; /* in call_latency.functions */
	uint16_t bin;
	uint16_t bucket;
	double calls;	 /* of all, estimated */
	double observed; /* that were seen and counted */
	double ns; /* time of calls that were seen, by calls that are not within others of the row
		    */
};

/*
 * The bucket of calls that are shorter than the scanner's period. Calls whose length is not known
 * count as seen here, and not as calls: others stand for them.
 */
#define CALLS_SHORT 0

/* Zeroed: empty. */
struct call_details {
	uint64_t start;		       /* of the recording */
	uint64_t ns;		       /* its length, above 0 */
	uint32_t bins;		       /* that it is divided into: a power of two */
	size_t most;		       /* cells; if there are more, there are fewer bins */
	struct map64 index;	       /* private: by place, the number of the cell */
	ARRAY(struct call_cell) cells; /* by function, bin and bucket */
};

/*
 * The bucket of calls of @ns. Up to 63 ns, each length has its own; above, the width is 1/32 of its
 * lowest power of two: at most 3.1% of the length.
 */
uint32_t call_details__bucket(uint64_t ns);

/*
 * For call_latency__make(): until call_details__finish(), functions are called by their `number`.
 * They return 0 or -ENOMEM.
 */
void call_details__begin(struct call_details *details, const struct model *model);
/* @cell's bin is that of @begin. */
int call_details__add(struct call_details *details, uint64_t begin, struct call_cell cell);
int call_details__add_shorts(struct call_details *details, const struct model_short_calls *shorts,
			     uint32_t function, double calls, double ns);
int call_details__finish(struct call_details *details, const struct call_latency *latency);

void call_details__free(struct call_details *details);
