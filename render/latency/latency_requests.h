/* SPDX-License-Identifier: BSD-2-Clause */
/* `dwell latency requests`: which there are, the slowest, and what one of them did. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "analysis/latency/request_comparison.h"
#include "analysis/latency/timeline.h"
#include "analysis/requests/requests.h"

struct latency_requests_view {
	const struct model *model;
	const struct requests *requests;
	size_t slowest;				     /* this many are listed */
	const struct model_span *shown;		     /* whose timeline follows; NULL: none */
	const struct timeline *timeline;	     /* its */
	const struct request_comparison *comparison; /* that follows; NULL: none */
};

/*
 * The number that names @span, one of model->spans: the program's own of a tagged request; else its
 * place in the order of their ends, from 1.
 */
uint64_t latency_requests__id(const struct model *model, const struct model_span *span);

/* "call", "wait", ... */
const char *latency_requests__type(enum timeline_type type);

/* Both return 0 or -ENOMEM. */
int latency_requests__text(const struct latency_requests_view *view, FILE *to);
int latency_requests__json(const struct latency_requests_view *view, FILE *to);

/* The document that latency_requests__json() prints, with the @most slowest requests. */
json_t *latency_requests__document(const struct latency_requests_view *view, size_t most);

/* Its member `timeline`, of @view->shown. */
json_t *latency_requests__timeline(const struct latency_requests_view *view);
