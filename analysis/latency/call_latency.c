// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/latency/call_latency.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/latency/call_details.h"
#include "analysis/latency/call_names.h"
#include "analysis/latency/slow_calls.h"
#include "base/error.h"
#include "base/hash.h"

/* Longer calls than this many periods are always seen; others count by those that end in pairs. */
#define ALWAYS_SEEN 16

/* A call, or many short ones that it stands for. */
struct weighted_call {
	uint64_t ns;
	double weight;
	uint32_t thread;
	uint32_t call; /* index in the thread's calls */
};

struct call_group {
	struct latency_function function;
	double shorts;	   /* calls shorter than the period */
	double short_ns;   /* their time */
	double unresolved; /* calls whose length is not known */
	ARRAY(struct weighted_call) calls;
};

struct grouping {
	const struct model *model;
	struct call_details *details; /* NULL: not wanted */
	double pair_weight; /* calls of the thread that one stands for that ended in a pair */
	uint64_t period_ns;
	uint64_t always_seen_ns;
	struct map64 index[2]; /* of probed calls or not: function << 32 | caller to 1 + index in
				  groups */
	ARRAY(struct call_group) groups;
};

static struct call_group *group_of(struct grouping *grouping, uint32_t stack, bool probed)
{
	uint32_t name = call_names__function(grouping->model, stack, 0);
	uint32_t caller = call_names__function(grouping->model, stack, 1);
	uint64_t *index = map64__put(&grouping->index[probed], (uint64_t)name << 32 | caller, 0);
	struct call_group *group;

	if (!index)
		return NULL;
	if (*index)
		return &grouping->groups.data[*index - 1];
	group = array__add(&grouping->groups);
	if (!group)
		return NULL;
	group->function.name = name;
	group->function.caller = caller;
	group->function.probed = probed;
	group->function.number = (uint32_t)grouping->groups.n - 1;
	*index = grouping->groups.n;
	return group;
}

/*
 * Calls that one stands for that probes measured. If they were set for pieces of the time only, a
 * call was measured if it began in one, as its end is waited for (at most for a second). Calls are
 * taken to be proportional to the CPU time of the program, as that is slower while probes are set.
 */
static double probe_weight(const struct model *model, const struct model_call *call)
{
	const struct model_probe *probe =
		call->probe < model->probes.n ? &model->probes.data[call->probe] : NULL;

	if (!probe || !probe->set_cpu_ns)
		return 1;
	return (double)probe->cpu_ns / (double)probe->set_cpu_ns;
}

/* Whether the length of a call that a scanner saw is known well enough. */
static bool is_resolved(const struct grouping *grouping, const struct model_call *call)
{
	uint64_t length = model_call__length(call);
	uint64_t slack = (uint64_t)call->begin_slack + call->end_slack;
	uint64_t least = length > slack ? length - slack : 0;

	return least >= grouping->always_seen_ns || slack <= 2 * grouping->period_ns ||
	       slack <= length / 8;
}

/*
 * Calls that one of a resolved length stands for. Those that are much longer than a period are all
 * seen; of the others, those count that ended in a pair.
 */
static double scanned_weight(const struct grouping *grouping, const struct model_call *call)
{
	if (model_call__length(call) >= grouping->always_seen_ns)
		return 1;
	return call->flags & CALL_IN_PAIR ? grouping->pair_weight : 0;
}

/* Adds @weighted, a call of known length that counts, or one that is only known to have ended. */
static int keep_call(struct grouping *grouping, struct call_group *group,
		     const struct weighted_call *weighted, uint64_t begin, bool is_resolved)
{
	uint32_t bucket = is_resolved ? call_details__bucket(weighted->ns) : CALLS_SHORT;
	int err = is_resolved ? array__push(&group->calls, *weighted) : 0;

	if (err || !grouping->details)
		return err;
	return call_details__add(grouping->details, group->function.number, begin, bucket,
				 weighted->weight);
}

/*
 * Of calls that were seen in part, only a lower bound is known: they are left out. The scanner may
 * lose its CPU as a call begins or ends, whatever its length is. Such calls are counted, and those
 * of resolved lengths stand for them.
 */
static int add_call(struct grouping *grouping, struct call_group *group, uint32_t thread,
		    uint32_t index)
{
	const struct model_call *call = &grouping->model->threads.data[thread].calls.data[index];
	struct weighted_call weighted = {
		.ns = model_call__length(call), .thread = thread, .call = index};

	if (call->flags & (CALL_UNFINISHED | CALL_EARLIER))
		return 0;
	if (call->flags & CALL_PROBED) {
		weighted.weight = probe_weight(grouping->model, call);
	} else if (is_resolved(grouping, call)) {
		weighted.weight = scanned_weight(grouping, call);
	} else if (call->flags & CALL_IN_PAIR) {
		group->unresolved += grouping->pair_weight;
		group->function.observed++;
		return keep_call(grouping, group, &weighted, call->begin, false);
	}
	return weighted.weight > 0 ? keep_call(grouping, group, &weighted, call->begin, true) : 0;
}

static int add_calls(struct grouping *grouping, uint32_t index)
{
	const struct model_thread *thread = &grouping->model->threads.data[index];

	for (uint32_t i = 0; i < thread->calls.n; i++) {
		const struct model_call *call = &thread->calls.data[i];
		struct call_group *group =
			group_of(grouping, call->stack, call->flags & CALL_PROBED);

		if (!group || add_call(grouping, group, index, i))
			return -ENOMEM;
	}
	return 0;
}

static int add_short_calls(struct grouping *grouping, const struct model_thread *thread,
			   uint64_t period_ns)
{
	for (size_t i = 0; i < thread->short_calls.n; i++) {
		const struct model_short_calls *calls = &thread->short_calls.data[i];
		struct call_group *group = group_of(grouping, calls->stack, false);
		double n = (double)calls->ended * grouping->pair_weight;
		double ns = (double)(calls->looks * period_ns);

		if (!group)
			return -ENOMEM;
		group->shorts += n;
		group->short_ns += ns;
		group->function.observed += calls->ended;
		if (grouping->details && call_details__add_shorts(grouping->details, calls,
								  group->function.number, n, ns))
			return -ENOMEM;
	}
	return 0;
}

static int by_length(const void *a, const void *b)
{
	const struct weighted_call *one = a, *other = b;

	return one->ns < other->ns ? -1 : one->ns > other->ns;
}

static void set_quantiles(struct call_group *group)
{
	static const double quantiles[] = {0.5, 0.9, 0.99, 0.999, 0.9999};
	struct latency_function *function = &group->function;
	double before = group->shorts;
	size_t at = 0;

	for (size_t q = 0; q < sizeof(quantiles) / sizeof(*quantiles); q++) {
		while (at < group->calls.n &&
		       before + group->calls.data[at].weight <= quantiles[q] * function->calls)
			before += group->calls.data[at++].weight;
		if (before > quantiles[q] * function->calls || at == group->calls.n)
			continue; /* a short one */
		function->ns[q] = group->calls.data[at].ns;
	}
	if (group->calls.n)
		function->ns[LATENCY_MAX] = group->calls.data[group->calls.n - 1].ns;
}

static int look_at_slow_calls(const struct grouping *grouping, const struct wait_causes *causes,
			      struct call_group *group)
{
	struct latency_function *function = &group->function;
	struct slow_calls slow = {.model = grouping->model, .causes = causes, .function = function};
	double left = function->calls / 100;
	int err = 0;

	for (size_t i = group->calls.n; i-- > 0 && left > 0 && !err;) {
		const struct weighted_call *call = &group->calls.data[i];

		left -= call->weight;
		function->tail_ns += call->weight * (double)(call->ns - function->ns[LATENCY_P50]);
		if (function->slow.n < SLOW_CALLS_MOST)
			err = slow_calls__add(&slow, call->thread, call->call);
	}
	slow_calls__finish(&slow);
	return err;
}

/* Calls of resolved lengths stand for those whose lengths are not known. */
static void share_unresolved(struct call_group *group)
{
	double resolved = group->shorts, factor;

	group->function.scale = 1;
	for (size_t i = 0; i < group->calls.n; i++)
		resolved += group->calls.data[i].weight;
	if (resolved <= 0)
		return;
	factor = (resolved + group->unresolved) / resolved;
	group->function.scale = factor;
	group->shorts *= factor;
	group->short_ns *= factor;
	for (size_t i = 0; i < group->calls.n; i++)
		group->calls.data[i].weight *= factor;
}

static int finish_group(const struct grouping *grouping, const struct wait_causes *causes,
			struct call_group *group)
{
	struct latency_function *function = &group->function;

	if (group->calls.n)
		qsort(group->calls.data, group->calls.n, sizeof(*group->calls.data), by_length);
	share_unresolved(group);
	function->calls = group->shorts;
	function->total_ns = group->short_ns;
	for (size_t i = 0; i < group->calls.n; i++) {
		function->calls += group->calls.data[i].weight;
		function->total_ns += group->calls.data[i].weight * (double)group->calls.data[i].ns;
	}
	function->observed += group->calls.n;
	set_quantiles(group);
	return look_at_slow_calls(grouping, causes, group);
}

static int by_tail(const void *a, const void *b)
{
	const struct latency_function *one = a, *other = b;

	return one->tail_ns > other->tail_ns ? -1 : one->tail_ns < other->tail_ns;
}

static int by_p999(const void *a, const void *b)
{
	const struct latency_function *one = a, *other = b;

	return one->ns[LATENCY_P999] > other->ns[LATENCY_P999]
		       ? -1
		       : one->ns[LATENCY_P999] < other->ns[LATENCY_P999];
}

static int by_total(const void *a, const void *b)
{
	const struct latency_function *one = a, *other = b;

	return one->total_ns > other->total_ns ? -1 : one->total_ns < other->total_ns;
}

static int explain_empty(const struct model *model)
{
	if (model->probes.n) {
		error__set(-ENODATA, "no function that has probes was called");
	} else if (!model->scans.reports) {
		error__set(-ENODATA, "this recording has no calls of functions");
		error__hint("record them with: dwell latency run -- COMMAND, or for programs not "
			    "built by dwell-cc: dwell latency run --function PATTERN -- COMMAND");
	} else {
		error__set(-ENODATA,
			   "no call was seen: no program that was recorded was built by dwell-cc");
		error__hint("build it with: make CC=dwell-cc CXX=dwell-c++");
	}
	return -ENODATA;
}

/* qsort_r() order of probes, by cost. */
static int by_cost(const void *a, const void *b, void *arg)
{
	const struct model *model = arg;
	uint64_t one = model->probes.data[*(const uint32_t *)a].cost_ns;
	uint64_t other = model->probes.data[*(const uint32_t *)b].cost_ns;

	return one > other ? -1 : one < other;
}

static int list_probes(const struct model *model, struct call_latency *latency)
{
	for (uint32_t i = 0; i < model->probes.n; i++)
		if (model->probes.data[i].entries && array__push(&latency->probes, i))
			return -ENOMEM;
	if (latency->probes.n)
		qsort_r(latency->probes.data, latency->probes.n, sizeof(*latency->probes.data),
			by_cost, (void *)model);
	return 0;
}

/* Coverage differs between threads: one may run while the scanner does not. */
static double pair_weight(const struct model *model, const struct model_thread *thread)
{
	const struct model_coverage *coverage =
		thread->coverage.pair_ns ? &thread->coverage : &model->scans.all;

	return coverage->pair_ns ? (double)coverage->ns / (double)coverage->pair_ns : 0;
}

int call_latency__make(const struct model *model, const struct wait_causes *causes,
		       enum latency_rank rank, struct call_latency *latency)
{
	static int (*const orders[])(const void *, const void *) = {by_tail, by_p999, by_total};
	const struct model_coverage *all = &model->scans.all;
	struct grouping grouping = {.model = model, .details = latency->details};
	int err = list_probes(model, latency);

	if (all->pairs && all->pair_ns) {
		latency->period_ns = all->ns / all->pairs;
		latency->pair_ns = all->pair_ns / all->pairs;
	} else if (!model->probes.n) {
		return explain_empty(model);
	}
	grouping.period_ns = latency->period_ns;
	grouping.always_seen_ns = ALWAYS_SEEN * latency->period_ns;
	if (latency->details)
		call_details__begin(latency->details, model);
	for (uint32_t i = 1; i < model->threads.n && !err; i++) {
		grouping.pair_weight = pair_weight(model, &model->threads.data[i]);
		err = add_calls(&grouping, i);
		err = err ? err
			  : add_short_calls(&grouping, &model->threads.data[i], latency->period_ns);
	}
	for (size_t i = 0; i < grouping.groups.n; i++) {
		struct call_group *group = &grouping.groups.data[i];

		err = err ? err : finish_group(&grouping, causes, group);
		err = err ? err : array__push(&latency->functions, group->function);
		array__free(&group->calls);
	}
	array__free(&grouping.groups);
	map64__free(&grouping.index[0]);
	map64__free(&grouping.index[1]);
	if (!err && !latency->functions.n)
		return explain_empty(model);
	if (!err)
		qsort(latency->functions.data, latency->functions.n,
		      sizeof(*latency->functions.data), orders[rank]);
	if (!err && latency->details)
		err = call_details__finish(latency->details, latency);
	return err;
}

void call_latency__free(struct call_latency *latency)
{
	for (size_t i = 0; i < latency->functions.n; i++) {
		array__free(&latency->functions.data[i].slow);
		array__free(&latency->functions.data[i].waits);
		array__free(&latency->functions.data[i].competitors);
	}
	array__free(&latency->functions);
	array__free(&latency->probes);
}
