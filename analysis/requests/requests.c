// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/requests/requests.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static int by_latency(const void *a, const void *b, void *context)
{
	const struct model_span *spans = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	uint64_t x = model_span__latency(&spans[i]), y = model_span__latency(&spans[k]);

	if (x != y)
		return x < y ? -1 : 1;
	return (i > k) - (i < k);
}

static bool is_selected(const struct model *model, const struct requests_filter *filter,
			const struct model_span *span)
{
	const uint32_t recorded = THREAD_TARGET | THREAD_HELPER;

	return (!filter->name || span->name == filter->name) && span->arrived >= filter->from &&
	       span->ended <= filter->until && span->ended > span->arrived &&
	       model->threads.data[span->thread].flags & recorded;
}

int requests__find(const struct model *model, const struct requests_filter *filter,
		   struct requests *requests)
{
	requests->model = model;
	for (uint32_t i = 0; i < model->pushes.n; i++)
		if (is_selected(model, filter, &model->pushes.data[i]) &&
		    array__push(&requests->pushes, i))
			return -ENOMEM;
	if (requests->pushes.n)
		qsort_r(requests->pushes.data, requests->pushes.n, sizeof(*requests->pushes.data),
			by_latency, model->pushes.data);
	for (uint32_t i = 0; i < model->spans.n; i++)
		if (is_selected(model, filter, &model->spans.data[i]) &&
		    array__push(&requests->spans, i))
			return -ENOMEM;
	if (requests->spans.n)
		qsort_r(requests->spans.data, requests->spans.n, sizeof(*requests->spans.data),
			by_latency, model->spans.data);
	return 0;
}

const struct model_span *requests__at(const struct requests *requests, size_t index)
{
	return &requests->model->spans.data[requests->spans.data[index]];
}

const struct model_span *requests__push_at(const struct requests *requests, size_t index)
{
	return &requests->model->pushes.data[requests->pushes.data[index]];
}

/* The index of the request at quantile @p: the smallest with at least that share up to it. */
static size_t index_at(const struct requests *requests, double p)
{
	double rank = ceil(p * (double)requests->spans.n);

	if (rank < 1)
		return 0;
	return rank < (double)requests->spans.n ? (size_t)rank - 1 : requests->spans.n - 1;
}

uint64_t requests__quantile(const struct requests *requests, double p)
{
	if (!requests->spans.n)
		return 0;
	return model_span__latency(requests__at(requests, index_at(requests, p)));
}

struct requests_group requests__slowest(const struct requests *requests, size_t n)
{
	size_t all = requests->spans.n;

	return n < all ? (struct requests_group){all - n, n} : (struct requests_group){0, all};
}

struct requests_group requests__above(const struct requests *requests, double p)
{
	struct requests_group group = {};

	if (requests->spans.n) {
		group.first = index_at(requests, p);
		group.n = requests->spans.n - group.first;
	}
	return group;
}

struct requests_group requests__around(const struct requests *requests, double p, size_t n)
{
	size_t all = requests->spans.n, most = all / 5 > 1 ? all / 5 : 1;
	struct requests_group group = {.n = n < most ? n : most};
	size_t at;

	if (!all)
		return (struct requests_group){};
	at = index_at(requests, p);
	group.first = at > group.n / 2 ? at - group.n / 2 : 0;
	if (group.first + group.n > all)
		group.first = all - group.n;
	return group;
}

struct requests_group requests__median(const struct requests *requests, size_t n)
{
	size_t half = (requests->spans.n + 1) / 2; /* those from the first to the third quartile */
	struct requests_group group = {.n = n < half ? n : half};

	group.first = (requests->spans.n - group.n) / 2;
	return group;
}

void requests__free(struct requests *requests)
{
	array__free(&requests->spans);
	array__free(&requests->pushes);
}
