// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/path/path_links.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* At least this, as in the paper; at most the other. */
#define MIN_SLACK_NS 100000
#define MAX_SLACK_NS 2000000
#define SLACK_WAITS  8192
/* Requests that are looked at for one wait. */
#define MAX_REQUESTS 256

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t path__slack(const struct model *model)
{
	_cleanup_free_ uint64_t *ns = calloc(SLACK_WAITS, sizeof(*ns));
	uint64_t step = model->n_intervals / SLACK_WAITS + 1, seen = 0, slack;
	size_t n = 0;

	for (size_t t = 1; ns && t < model->threads.n; t++) {
		const struct model_thread *thread = &model->threads.data[t];

		for (size_t i = 0; i < thread->intervals.n && n < SLACK_WAITS; i++)
			if (thread->intervals.data[i].blocked_ns && seen++ % step == 0)
				ns[n++] = thread->intervals.data[i].runq_ns;
	}
	if (!n)
		return MIN_SLACK_NS;
	qsort(ns, n, sizeof(*ns), compare_ns);
	slack = 2 * ns[n - 1 - n / 20];
	if (slack > MAX_SLACK_NS)
		return MAX_SLACK_NS;
	return slack > MIN_SLACK_NS ? slack : MIN_SLACK_NS;
}

static const struct model_interval *interval_of(const struct path_walk *walk, uint32_t thread,
						size_t number)
{
	return &walk->model->threads.data[thread].intervals.data[number];
}

bool path_links__is_sleep(const struct path_walk *walk, uint32_t thread, size_t number)
{
	enum wait_kind kind =
		wait_causes__kind_beside_holds(walk->causes, interval_of(walk, thread, number));

	return kind__info(kind)->ender == KIND_ENDER_TIMER;
}

/* Whether interval @number + 1 of @thread continues the wait that @number is. */
static bool continues(const struct path_walk *walk, uint32_t thread, size_t number)
{
	const struct model_interval *one = interval_of(walk, thread, number);
	const struct model_interval *next = one + 1;
	uint64_t ran_at = one->t_out + one->blocked_ns + one->runq_ns;

	return number + 1 < walk->model->threads.data[thread].intervals.n && next->blocked_ns &&
	       next->user == one->user && next->syscall == one->syscall && one->user &&
	       next->t_out - ran_at <= walk->slack_ns &&
	       !model_thread__lost_before(&walk->model->threads.data[thread], number + 1);
}

struct wait_cause path_links__cause(const struct path_walk *walk, uint32_t thread, size_t number,
				    struct poll_chain *chain)
{
	if (number >= chain->first && number < chain->end) {
		chain->is_timeout = number + 1 < chain->end;
		return chain->cause;
	}
	chain->first = number;
	chain->end = number + 1;
	for (;; chain->end++) {
		chain->cause = wait_causes__beside_holds(walk->causes, thread,
							 interval_of(walk, thread, chain->end - 1));
		if (chain->cause.type != CAUSE_TIMER ||
		    path_links__is_sleep(walk, thread, chain->end - 1) ||
		    !continues(walk, thread, chain->end - 1))
			break;
	}
	chain->is_timeout = number + 1 < chain->end;
	if (chain->cause.type == CAUSE_THREAD || chain->cause.type == CAUSE_TIMER)
		return chain->cause;
	/* What ended the last one of them did not work meanwhile, as far as one can see. */
	chain->end = number + 1;
	chain->is_timeout = false;
	chain->cause =
		wait_causes__beside_holds(walk->causes, thread, interval_of(walk, thread, number));
	return chain->cause;
}

uint64_t path_links__issued(const struct model *model, const struct model_interval *interval)
{
	const struct model_request *last, *requests = model->requests.data;
	uint64_t issued;
	size_t at = interval->request;

	if (!at)
		return 0;
	last = &requests[at - 1];
	issued = last->issued;
	for (size_t n = 0; --at && n < MAX_REQUESTS; n++) {
		const struct model_request *request = &requests[at - 1];

		if (request->completed <= interval->t_out)
			break;
		if (request->device == last->device && request->thread == last->thread &&
		    request->issued < issued)
			issued = request->issued;
	}
	return issued;
}
