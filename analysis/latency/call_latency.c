// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/latency/call_latency.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/kinds/call_names.h"
#include "analysis/latency/call_details.h"
#include "analysis/latency/call_gaps.h"
#include "analysis/latency/slow_calls.h"
#include "base/error.h"
#include "base/hash.h"

/* Of calls that are at least this many periods long, the length is known well enough. */
#define ALWAYS_RESOLVED 16
/* Calls among which one is searched that goes on: there are few when a program begins. */
#define MOST_SEARCHED 10000

/* A call, or many short ones that it stands for. */
struct weighted_call {
	uint64_t ns;
	double weight;
	uint32_t thread;
	uint32_t call; /* index in the thread's calls */
};

struct call_group {
	struct latency_function function;
	struct call_count count;
	double shorts;	       /* calls shorter than the period */
	double unresolved;     /* calls whose length is not known */
	double nested_ns;      /* time of calls within others of the group */
	double error_square;   /* of the time, ns */
	struct call_gaps gaps; /* of its threads */
	uint64_t looks;	       /* see struct short_calls */
	uint64_t ended;
	uint32_t last_thread; /* that was added to the count */
	bool thinned;	      /* probes were set for a part of the time */
	ARRAY(struct weighted_call) calls;
};

struct grouping {
	const struct model *model;
	struct call_latency *latency;
	struct call_details *details; /* NULL: not wanted */
	struct call_weights weights;  /* of the thread */
	struct call_gaps gaps;	      /* of the thread */
	ARRAY(uint64_t) off_cpu;      /* ns that the thread was off the CPU before each interval */
	uint32_t thread;
	bool counts; /* generations count the calls of threads */
	uint64_t period_ns;
	struct map64 index; /* hash to 1 + index in groups */
	ARRAY(struct call_group) groups;
};

static bool is_row(const struct latency_function *function, const struct latency_function *row)
{
	return function->name == row->name && function->caller == row->caller &&
	       function->file == row->file && function->line == row->line &&
	       function->probed == row->probed;
}

/* The group of calls with @stack; NULL without memory. */
static struct call_group *group_of(struct grouping *grouping, uint32_t stack, bool probed)
{
	struct latency_function row = {.name = call_names__function(grouping->model, stack, 0),
				       .caller = call_names__function(grouping->model, stack, 1),
				       .number = (uint32_t)grouping->groups.n,
				       .probed = probed};
	struct call_group *group;
	uint64_t hash, *index;

	if (!grouping->latency->by_caller)
		call_names__line(grouping->model, stack, 2, &row.file, &row.line);
	hash = hash__add((uint64_t)row.name << 32 | row.caller,
			 (uint64_t)row.file << 32 | row.line << 1 | probed);
	index = map64__put(&grouping->index, hash, 0);
	while (index && *index && !is_row(&grouping->groups.data[*index - 1].function, &row))
		index = map64__put(&grouping->index, ++hash, 0);
	if (!index)
		return NULL;
	if (*index)
		return &grouping->groups.data[*index - 1];
	group = array__add(&grouping->groups);
	if (!group)
		return NULL;
	group->function = row;
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

static bool is_partial(const struct model_call *call)
{
	return call->flags & (CALL_UNFINISHED | CALL_EARLIER);
}

/* Sums up the intervals of a thread, for run_time(). */
static int sum_intervals(struct grouping *grouping, const struct model_thread *thread)
{
	uint64_t sum = 0;

	grouping->off_cpu.n = 0;
	for (size_t i = 0; i < thread->intervals.n; i++) {
		if (array__push(&grouping->off_cpu, sum))
			return -ENOMEM;
		sum += thread->intervals.data[i].blocked_ns + thread->intervals.data[i].runq_ns;
	}
	return 0;
}

/* How long the thread was off the CPU until @time. */
static uint64_t off_cpu_until(const struct grouping *grouping, uint64_t time)
{
	const struct model_thread *thread = &grouping->model->threads.data[grouping->thread];
	size_t i = model_thread__intervals_until(thread, time, 0);
	const struct model_interval *last;
	uint64_t ns;

	if (!i)
		return 0;
	last = &thread->intervals.data[i - 1];
	ns = last->blocked_ns + last->runq_ns;
	return grouping->off_cpu.data[i - 1] + (time - last->t_out < ns ? time - last->t_out : ns);
}

/*
 * How long the thread ran in @call: gaps are of run time, as a thread without a CPU changes
 * nothing. Without a trace of its switches, it is taken to run all the time.
 */
static uint64_t run_time(const struct grouping *grouping, const struct model_call *call)
{
	uint64_t length = model_call__length(call), off;

	if (!grouping->model->trace)
		return length;
	off = off_cpu_until(grouping, call->end) - off_cpu_until(grouping, call->begin);
	return off < length ? length - off : 0;
}

/* How a call is counted that a scanner saw. */
struct counting {
	bool counts;	  /* else others stand for it */
	bool is_resolved; /* its length is known well enough; else calls of known lengths stand for
			     it */
	int class;	  /* see call_weights__class() */
};

static struct counting counting_of(const struct grouping *grouping, const struct model_call *call)
{
	uint64_t ran = run_time(grouping, call), off = model_call__length(call) - ran;
	/* A thread that loses the CPU is looked at then: such a call is not missed. */
	uint64_t length = ran > off ? ran : off;
	uint64_t slack = (uint64_t)call->begin_slack + call->end_slack;
	uint64_t least = length > slack ? length - slack : 0;
	struct counting how = {
		.is_resolved = least >= ALWAYS_RESOLVED * grouping->period_ns ||
			       call->begin_slack <= grouping->period_ns ||
			       call->begin_slack <= length / 8,
	};

	how.class = call_weights__class(how.is_resolved ? length : least);
	if (is_partial(call))
		return how;
	how.counts = how.class < 0 ? call->flags & CALL_IN_PAIR
				   : 2ULL * call->end_slack <= scan_gap__limit((unsigned)how.class);
	return how;
}

/* Sets the weights of thread @thread by all its calls. */
static void weigh(struct grouping *grouping, const struct model_thread *thread)
{
	struct model_coverage coverage = thread->coverage;
	struct counted_calls counted = {};

	for (size_t i = 0; i < thread->calls.n; i++) {
		const struct model_call *call = &thread->calls.data[i];
		struct counting how = counting_of(grouping, call);

		if (call->flags & CALL_PROBED || !how.counts)
			continue;
		counted.in_pairs += how.class < 0;
		if (how.class >= 0)
			counted.by_class[how.class]++;
	}
	for (size_t i = 0; i < thread->short_calls.n; i++)
		counted.in_pairs += thread->short_calls.data[i].ended;
	if (!grouping->counts)
		coverage.pushes = 0;
	/* Before the first look at it, and after the last one, the thread made calls, too. */
	if (coverage.ns && coverage.ns < thread->ns[CLASS_CPU])
		coverage.ns = thread->ns[CLASS_CPU];
	grouping->gaps = (struct call_gaps){};
	call_gaps__add(&grouping->gaps, &coverage, grouping->model->scans.longest_ns);
	grouping->latency->unseen_ns += grouping->gaps.unseen_ns;
	if (coverage.ns) {
		grouping->latency->cpu_ns += thread->ns[CLASS_CPU];
		grouping->latency->waited_ns += thread->ns[CLASS_SCHED];
	}
	grouping->weights = call_weights__make(&coverage, &grouping->model->scans.all, &counted);
	if (!isnan(grouping->weights.unexplained)) {
		grouping->latency->calls += grouping->weights.all;
		grouping->latency->are_counted &= !isinf(grouping->weights.most);
		grouping->latency->unexplained += grouping->weights.unexplained;
	}
}

/* Adds a call to the time of its row. */
static int add_time(struct grouping *grouping, struct call_group *group,
		    const struct model_call *call, struct call_cell *cell)
{
	double ns = (double)model_call__length(call), begin = call->begin_slack,
	       end = call->end_slack;

	/* The begin lies anywhere in a gap, and so does the end. */
	group->error_square += (begin * begin + end * end) / 3;
	if (call->flags & CALL_NESTED)
		group->nested_ns += ns;
	else
		group->function.total_ns += cell->ns = ns;
	if (!grouping->details)
		return 0;
	cell->function = group->function.number;
	return call_details__add(grouping->details, call->begin, *cell);
}

static int add_probed(struct grouping *grouping, struct call_group *group,
		      const struct model_call *call, struct weighted_call weighted)
{
	struct call_cell cell = {.function = group->function.number,
				 .bucket = (uint16_t)call_details__bucket(weighted.ns),
				 .observed = 1};

	cell.calls = weighted.weight = probe_weight(grouping->model, call);
	if (is_partial(call) || weighted.weight <= 0)
		return 0;
	cell.ns = weighted.weight * (double)weighted.ns;
	group->function.total_ns += cell.ns;
	call_count__add(&group->count, &(struct call_weight){cell.calls, cell.calls, cell.calls},
			1);
	group->count.seen++;
	group->thinned |= weighted.weight > 1;
	if (array__push(&group->calls, weighted))
		return -ENOMEM;
	return grouping->details ? call_details__add(grouping->details, call->begin, cell) : 0;
}

/*
 * Whether @call, which was there when its stack was first seen, was seen before: the scanner finds
 * the stacks of a process again after it has started another program, as far as it knows.
 */
static bool goes_on(const struct model_thread *thread, const struct model_call *call)
{
	size_t left = MOST_SEARCHED;

	for (const struct model_call *other = thread->calls.data;
	     other < call && other->end <= call->begin && left--; other++)
		if (other->flags & CALL_UNFINISHED && other->depth == call->depth &&
		    other->stack == call->stack)
			return true;
	return false;
}

static void add_partial(struct grouping *grouping, struct call_group *group,
			const struct model_call *call)
{
	const struct model_thread *thread = &grouping->model->threads.data[grouping->thread];

	if (call->flags & CALL_EARLIER && goes_on(thread, call))
		return;
	group->function.partial++;
	group->count.seen++;
	call_count__add(&group->count, &(struct call_weight){1, 1, 1}, 1);
}

/* The weight of calls that run as long as @call, and do not lose the CPU. */
static const struct call_weight *weight_of_run(const struct grouping *grouping,
					       const struct model_call *call)
{
	int class = call_weights__class(run_time(grouping, call));

	return class < 0 ? &grouping->weights.in_pairs : &grouping->weights.by_class[class];
}

/* Adds a call that a scanner saw. Of partial ones, only a lower bound of the length is known. */
static int add_scanned(struct grouping *grouping, struct call_group *group,
		       const struct model_call *call, struct weighted_call weighted)
{
	const struct counting how = counting_of(grouping, call);
	const struct call_weight *weight = how.class < 0 ? &grouping->weights.in_pairs
							 : &grouping->weights.by_class[how.class];
	struct call_cell cell = {.bucket = CALLS_SHORT, .observed = how.counts};

	if (is_partial(call))
		add_partial(grouping, group, call);
	else
		group->count.seen++;
	if (!is_partial(call)) {
		call_count__add(&group->count, weight, how.counts);
		/* Others of the row, that do not lose the CPU, are as short as it ran. */
		if (run_time(grouping, call) < weighted.ns)
			call_count__add(&group->count, weight_of_run(grouping, call), 0);
	}
	if (!how.counts)
		return add_time(grouping, group, call, &cell);
	weighted.weight = weight->weight;
	if (!how.is_resolved) {
		group->unresolved += weighted.weight;
		group->function.observed++;
		return add_time(grouping, group, call, &cell);
	}
	cell.bucket = (uint16_t)call_details__bucket(weighted.ns);
	cell.calls = weighted.weight;
	if (array__push(&group->calls, weighted))
		return -ENOMEM;
	return add_time(grouping, group, call, &cell);
}

static void add_thread(struct grouping *grouping, struct call_group *group)
{
	if (group->last_thread != grouping->thread) {
		call_count__add_thread(&group->count, &grouping->weights);
		call_gaps__sum(&group->gaps, &grouping->gaps);
	}
	group->last_thread = grouping->thread;
}

static int add_calls(struct grouping *grouping, const struct model_thread *thread)
{
	int err = 0;

	for (uint32_t i = 0; i < thread->calls.n && !err; i++) {
		const struct model_call *call = &thread->calls.data[i];
		struct weighted_call weighted = {
			.ns = model_call__length(call), .thread = grouping->thread, .call = i};
		bool probed = call->flags & CALL_PROBED;
		struct call_group *group = group_of(grouping, call->stack, probed);

		if (!group)
			return -ENOMEM;
		add_thread(grouping, group);
		err = probed ? add_probed(grouping, group, call, weighted)
			     : add_scanned(grouping, group, call, weighted);
	}
	return err;
}

/* Adds the time of @calls to their row. Returns that of calls which are not within others of it. */
static double add_short_time(const struct grouping *grouping, struct call_group *group,
			     const struct model_short_calls *calls)
{
	double period = (double)grouping->period_ns;
	double all = calls->seen ? (double)calls->ns : (double)calls->looks * period;
	double nested = fmin((double)calls->nested_ns, all);

	/* As in add_time(), by gaps that are as long as a period. */
	group->error_square += (double)calls->seen * period * period / 6;
	group->nested_ns += nested;
	group->function.total_ns += all - nested;
	return all - nested;
}

static int add_short_calls(struct grouping *grouping, const struct model_thread *thread)
{
	for (size_t i = 0; i < thread->short_calls.n; i++) {
		const struct model_short_calls *calls = &thread->short_calls.data[i];
		struct call_group *group = group_of(grouping, calls->stack, false);
		double n = (double)calls->ended * grouping->weights.in_pairs.weight, ns;

		if (!group)
			return -ENOMEM;
		add_thread(grouping, group);
		call_count__add(&group->count, &grouping->weights.in_pairs, calls->ended);
		group->count.seen += (double)calls->seen;
		group->shorts += n;
		group->looks += calls->looks;
		group->ended += calls->ended;
		group->function.observed += calls->ended;
		ns = add_short_time(grouping, group, calls);
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
	double before = group->shorts, whole = function->whole;
	size_t at = 0;

	for (size_t q = 0; q < sizeof(quantiles) / sizeof(*quantiles); q++) {
		while (at < group->calls.n &&
		       before + group->calls.data[at].weight <= quantiles[q] * whole)
			before += group->calls.data[at++].weight;
		if (before > quantiles[q] * whole || at == group->calls.n)
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
	double left = function->whole / 100;
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
	function->whole = group->shorts;
	for (size_t i = 0; i < group->calls.n; i++)
		function->whole += group->calls.data[i].weight;
	function->calls = call_count__interval(
		&group->count, group->shorts > group->count.calls / 5 &&
				       call_count__is_short(group->looks, group->ended));
	/* How calls differ between the pieces of time in which probes are set is not known. */
	if (group->thinned) {
		function->calls.low = group->count.seen;
		function->calls.high = INFINITY;
	}
	function->error_ns =
		1.959964 * sqrt(group->error_square +
				call_gaps__variance(&group->gaps, function->total_ns)) +
		(double)group->gaps.unseen_ns;
	function->mean_ns =
		(function->total_ns + group->nested_ns) / fmax(1, function->calls.calls);
	function->observed += group->calls.n;
	set_quantiles(group);
	return look_at_slow_calls(grouping, causes, group);
}

static int by_tail(const void *a, const void *b)
{
	const struct latency_function *one = a, *other = b;

	return one->tail_ns > other->tail_ns ? -1 : one->tail_ns < other->tail_ns;
}

static int by_quantile(const struct latency_function *one, const struct latency_function *other,
		       int quantile)
{
	return one->ns[quantile] > other->ns[quantile] ? -1
						       : one->ns[quantile] < other->ns[quantile];
}

static int by_p999(const void *a, const void *b)
{
	return by_quantile(a, b, LATENCY_P999);
}

static int by_p9999(const void *a, const void *b)
{
	return by_quantile(a, b, LATENCY_P9999);
}

static int by_total(const void *a, const void *b)
{
	const struct latency_function *one = a, *other = b;

	return one->total_ns > other->total_ns ? -1 : one->total_ns < other->total_ns;
}

static int by_mean(const void *a, const void *b)
{
	const struct latency_function *one = a, *other = b;

	return one->mean_ns > other->mean_ns ? -1 : one->mean_ns < other->mean_ns;
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

/*
 * Whether generations count the calls of threads. Calls on stacks that belong to no thread
 * (coroutines) are recorded as calls of the process.
 */
static bool are_calls_counted(const struct model *model)
{
	uint64_t ns = 0;

	for (uint32_t i = 1; i < model->threads.n; i++)
		ns += model->threads.data[i].coverage.ns;
	return ns >= model->scans.all.ns - model->scans.all.ns / 100;
}

/* The length of gaps in which most of the run time lies, about. */
static uint64_t usual_gap(const struct model_coverage *coverage)
{
	unsigned most = 0;

	for (unsigned class = 1; class + 1 < SCAN_GAPS; class ++)
		if (coverage->gap_ns[class] > coverage->gap_ns[most])
			most = class;
	return scan_gap__limit(most);
}

/* Begins with what the scanner did. Returns -ENODATA, with a message, if nothing measured calls. */
static int begin(struct grouping *grouping)
{
	const struct model_coverage *all = &grouping->model->scans.all;
	struct call_latency *latency = grouping->latency;

	if (all->ns) {
		latency->period_ns = all->pairs ? all->ns / all->pairs : usual_gap(all);
		latency->pair_ns = all->pairs ? all->pair_ns / all->pairs : latency->period_ns;
	} else if (!grouping->model->probes.n) {
		return explain_empty(grouping->model);
	}
	latency->ns = all->ns;
	latency->are_counted = true;
	for (unsigned class = SCAN_GAP_UNLOOKED; class < SCAN_GAPS; class ++)
		latency->unlooked_ns += all->gap_ns[class];
	grouping->period_ns = latency->period_ns;
	grouping->counts = are_calls_counted(grouping->model);
	if (latency->details)
		call_details__begin(latency->details, grouping->model);
	return 0;
}

static int add_all(struct grouping *grouping)
{
	const struct model *model = grouping->model;
	int err = 0;

	for (uint32_t i = 1; i < model->threads.n && !err; i++) {
		grouping->thread = i;
		err = sum_intervals(grouping, &model->threads.data[i]);
		if (err)
			break;
		weigh(grouping, &model->threads.data[i]);
		err = add_calls(grouping, &model->threads.data[i]);
		err = err ? err : add_short_calls(grouping, &model->threads.data[i]);
	}
	return err;
}

/* Moves the rows to the result. */
static int finish(struct grouping *grouping, const struct wait_causes *causes, int err)
{
	for (size_t i = 0; i < grouping->groups.n; i++) {
		struct call_group *group = &grouping->groups.data[i];

		err = err ? err : finish_group(grouping, causes, group);
		err = err ? err : array__push(&grouping->latency->functions, group->function);
		array__free(&group->calls);
	}
	array__free(&grouping->groups);
	array__free(&grouping->off_cpu);
	map64__free(&grouping->index);
	return err;
}

int call_latency__make(const struct model *model, const struct wait_causes *causes,
		       enum latency_rank rank, struct call_latency *latency)
{
	static int (*const orders[])(const void *, const void *) = {by_tail, by_p999, by_total,
								    by_p9999, by_mean};
	struct grouping grouping = {
		.model = model, .latency = latency, .details = latency->details};
	int err = list_probes(model, latency);

	err = err ? err : begin(&grouping);
	err = err ? err : add_all(&grouping);
	err = finish(&grouping, causes, err);
	if (!err && !latency->functions.n)
		return explain_empty(model);
	if (!err)
		qsort(latency->functions.data, latency->functions.n,
		      sizeof(*latency->functions.data), orders[rank]);
	if (!err && latency->details)
		err = call_details__finish(latency->details, latency);
	return err;
}

bool call_latency__lacked_cpus(const struct call_latency *latency)
{
	return latency->unlooked_ns > latency->ns / 20 ||
	       latency->waited_ns > (latency->cpu_ns + latency->waited_ns) / 10;
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
