/* SPDX-License-Identifier: BSD-2-Clause */
/* The requests of a recording (spans): which there are, their latencies, and the slow ones. */
#pragma once

#include "model/model.h"

struct requests_filter {
	uint32_t name; /* string: their source; 0: any */
	uint64_t from; /* only those that lie within [@from, @until] */
	uint64_t until;
};

struct requests {
	const struct model *model;
	ARRAY(uint32_t) spans; /* indices in model->spans, the fastest first */
	/* What servers sent, but not as answers: indices in model->pushes, the fastest first. */
	ARRAY(uint32_t) pushes;
};

/* A part of the requests: [first, first + n) of requests.spans. */
struct requests_group {
	size_t first;
	size_t n;
};

/* From the arrival of the first byte until the end, ns. */
static inline uint64_t model_span__latency(const struct model_span *span)
{
	return span->ended - span->arrived;
}

/*
 * Finds the requests and pushes that @filter selects and that recorded threads ended. The caller
 * has zeroed @requests, and frees it in any case; @model must outlive it. 0 or -ENOMEM.
 */
int requests__find(const struct model *model, const struct requests_filter *filter,
		   struct requests *requests);

/* Request @index of requests.spans. */
const struct model_span *requests__at(const struct requests *requests, size_t index);

/* Push @index of requests.pushes. */
const struct model_span *requests__push_at(const struct requests *requests, size_t index);

/* Quantile @p, 0 to 1, of the latencies: that of an actual request. 0 if there are none. */
uint64_t requests__quantile(const struct requests *requests, double p);

/* The @n slowest requests. */
struct requests_group requests__slowest(const struct requests *requests, size_t n);

/* The requests at quantile @p and above, at least one. */
struct requests_group requests__above(const struct requests *requests, double p);

/*
 * At most @n requests around quantile @p, and at most a tenth of all on either side of it; at least
 * one if there are any.
 */
struct requests_group requests__around(const struct requests *requests, double p, size_t n);

/* Requests around the median, to compare others with: at most @n, between the quartiles. */
struct requests_group requests__median(const struct requests *requests, size_t n);

void requests__free(struct requests *requests);
