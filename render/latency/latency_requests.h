/* SPDX-License-Identifier: BSD-2-Clause */
/* `dwell latency requests`: which there are, the slowest, and what one of them did. */
#pragma once

#include <stdio.h>

#include "analysis/latency/request_comparison.h"
#include "analysis/latency/timeline.h"
#include "analysis/requests/requests.h"

struct latency_requests_view {
	const struct model *model;
	const struct requests *requests;
	size_t slowest;				     /* so many are listed */
	const struct model_span *shown;		     /* whose timeline follows; NULL: none */
	const struct timeline *timeline;	     /* its */
	const struct request_comparison *comparison; /* that follows; NULL: none */
};

/* "call", "wait", ... */
const char *latency_requests__type(enum timeline_type type);

/* Both return 0 or -ENOMEM. */
int latency_requests__text(const struct latency_requests_view *view, FILE *to);
int latency_requests__json(const struct latency_requests_view *view, FILE *to);
