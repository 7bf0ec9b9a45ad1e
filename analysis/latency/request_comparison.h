/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What slow requests did that others did not: the timelines of two groups of requests, added up by
 * what was done. Each moment of a request counts once, for the innermost of what lies there, so
 * that the rows of a group add up to its time.
 */
#pragma once

#include "analysis/latency/timeline.h"
#include "analysis/requests/requests.h"

/* At most this many requests are looked at in a group. */
#define COMPARISON_REQUESTS 200

enum comparison_side_index { COMPARISON_FROM, COMPARISON_TO, COMPARISON_SIDES };

struct comparison_side {
	double percentile; /* 0 to 100 */
	struct requests_group group;
	uint64_t ns; /* of its requests, in all */
};

/* The same function, kind of wait, ... */
struct comparison_row {
	bool is_rest;	 /* what no call or wait covers; then only the times are set */
	uint8_t type;	 /* enum timeline_type */
	uint8_t kind;	 /* enum wait_kind: waits */
	uint32_t name;	 /* string: calls: the function; waits for locks: the one that ended them */
	uint32_t caller; /* string: waits: the function that waited; 0: unknown */
	uint32_t variable; /* string: that the lock is in; 0: none */
	uint32_t object;   /* waits for locks and files */
	/* By side, of all requests in the group: */
	uint64_t ns[COMPARISON_SIDES]; /* without what lies in it */
	uint64_t n[COMPARISON_SIDES];  /* calls, or waits */
};

struct request_comparison {
	struct comparison_side sides[COMPARISON_SIDES];
	ARRAY(struct comparison_row) rows; /* by the difference of the means, descending */
};

/* Mean ns, or number, per request. 0 without requests. */
double request_comparison__mean(const struct request_comparison *comparison,
				enum comparison_side_index side, uint64_t sum);

/*
 * Compares requests around percentile @percentiles[0] with those at percentile @percentiles[1]:
 * from 90 on with those at and above it, below that with those around it. The caller has zeroed
 * @comparison, and frees it in any case. 0 or -ENOMEM.
 */
int request_comparison__make(const struct requests *requests, const struct wait_causes *causes,
			     const double percentiles[COMPARISON_SIDES],
			     struct request_comparison *comparison);
void request_comparison__free(struct request_comparison *comparison);
