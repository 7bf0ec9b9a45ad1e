// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/path/run_groups.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* Places that are no interval. */
#define PLACE_BEGIN 1 /* of the thread, or of what is known of it */
#define PLACE_END   2
#define PLACE_LOST  3

/* A sample of a run in a group. */
struct grouped_sample {
	uint32_t group;
	struct run_share share;
};

struct run_groups {
	const struct model *model;
	struct kinds *kinds;
	uint32_t **group_of; /* by thread, if it was looked at: of the run before each interval */
	struct map64 numbers;
	ARRAY(struct run_group) groups; /* [0] is unused */
	ARRAY(struct run_share) shares;
};

int run_groups__new(const struct model *model, struct kinds *kinds, struct run_groups **out)
{
	struct run_groups *groups = calloc(1, sizeof(*groups));

	if (groups) {
		groups->model = model;
		groups->kinds = kinds;
		groups->group_of = calloc(model->threads.n, sizeof(*groups->group_of));
	}
	if (!groups || !groups->group_of || !array__add(&groups->groups)) {
		run_groups__free(groups);
		return -ENOMEM;
	}
	*out = groups;
	return 0;
}

void run_groups__free(struct run_groups *groups)
{
	if (!groups)
		return;
	for (size_t t = 0; groups->group_of && t < groups->model->threads.n; t++)
		free(groups->group_of[t]);
	free(groups->group_of);
	map64__free(&groups->numbers);
	array__free(&groups->groups);
	array__free(&groups->shares);
	free(groups);
}

/*
 * Whether the thread left the CPU at a random point of its code: runs before and after it are parts
 * of one.
 */
static bool is_anywhere(const struct model_interval *interval)
{
	return interval->flags & INTERVAL_PREEMPTED && interval->syscall < 0 && interval->user;
}

static uint64_t place_of(const struct model_interval *interval)
{
	uint64_t stack = interval->user ? interval->user : (uint64_t)interval->kernel << 32;

	return hash__add(hash__add(PLACE_LOST, stack), (uint64_t)(interval->syscall + 1));
}

/* The group between two places, added if it is new. 0 without memory. */
static uint32_t group_between(struct run_groups *groups, uint32_t thread, uint64_t before,
			      uint64_t after)
{
	uint64_t key = hash__add(hash__add(hash__mix(thread), before), after);
	uint64_t *number = map64__put(&groups->numbers, key, groups->groups.n);
	struct run_group *group;

	if (!number)
		return 0;
	if (*number < groups->groups.n)
		return (uint32_t)*number;
	group = array__add(&groups->groups);
	if (!group)
		return 0;
	group->thread = thread;
	return (uint32_t)(groups->groups.n - 1);
}

/*
 * The places before which the runs of @thread end, by interval, and its user stack. What is lost is
 * a place of its own.
 */
static void find_ends(const struct model_thread *thread, uint64_t *place, uint32_t *stack)
{
	size_t n = thread->intervals.n;

	place[n] = PLACE_END;
	stack[n] = 0;
	for (size_t i = n; i-- > 0;) {
		const struct model_interval *interval = &thread->intervals.data[i];

		if (!is_anywhere(interval)) {
			place[i] = place_of(interval);
			stack[i] = interval->user;
		} else if (model_thread__lost_before(thread, i + 1)) {
			place[i] = PLACE_LOST;
			stack[i] = 0;
		} else {
			place[i] = place[i + 1];
			stack[i] = stack[i + 1];
		}
	}
}

/* Sets @group_of for the runs of thread @index. */
static int group_runs(struct run_groups *groups, uint32_t index, uint32_t *group_of)
{
	const struct model_thread *thread = &groups->model->threads.data[index];
	size_t n = thread->intervals.n;
	_cleanup_free_ uint64_t *place = calloc(n + 1, sizeof(*place));
	_cleanup_free_ uint32_t *stack = calloc(n + 1, sizeof(*stack));
	uint64_t before = PLACE_BEGIN;
	uint32_t user = 0;

	if (!place || !stack)
		return -ENOMEM;
	find_ends(thread, place, stack);
	for (size_t i = 0; i <= n; i++) {
		const struct model_interval *last = i ? &thread->intervals.data[i - 1] : NULL;

		if (last && !is_anywhere(last)) {
			before = place_of(last);
			user = last->user;
		}
		if (model_thread__lost_before(thread, i)) {
			before = PLACE_LOST;
			user = 0;
			continue;
		}
		group_of[i] = group_between(groups, index, before, place[i]);
		if (!group_of[i])
			return -ENOMEM;
		groups->groups.data[group_of[i]].before = user;
		groups->groups.data[group_of[i]].after = stack[i];
	}
	return 0;
}

static int compare_samples(const void *a, const void *b)
{
	const struct grouped_sample *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->share.user != y->share.user)
		return x->share.user < y->share.user ? -1 : 1;
	return (x->share.kernel > y->share.kernel) - (x->share.kernel < y->share.kernel);
}

static bool is_for_memory(const struct run_groups *groups, uint32_t kernel)
{
	return groups->kinds && kernel && kinds__of_running(groups->kinds, kernel) != KIND_RUNNING;
}

/* Adds the sorted @samples to their groups, those of the same stacks together. */
static int add_shares(struct run_groups *groups, const struct grouped_sample *samples, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct run_group *group = &groups->groups.data[samples[i].group];
		const struct run_share *share = &samples[i].share;
		struct run_share *last;

		if (!group->n)
			group->first = groups->shares.n;
		if (!i || compare_samples(&samples[i - 1], &samples[i]) != 0) {
			struct run_share added = {.kernel = share->kernel,
						  .user = share->user,
						  .before = group->weight.unsampled};

			if (array__push(&groups->shares, added))
				return -ENOMEM;
			group->n++;
		}
		last = &groups->shares.data[groups->shares.n - 1];
		run_weight__add(&last->weight, &share->weight);
		if (last->weight.unsampled >
		    groups->shares.data[group->first + group->most].weight.unsampled)
			group->most = group->n - 1;
		run_weight__add(&group->weight, &share->weight);
		if (is_for_memory(groups, share->kernel))
			group->memory += share->weight.unsampled;
		group->points_squared +=
			(double)share->weight.points * (double)share->weight.points;
		group->unsampled_squared +=
			(double)share->weight.unsampled * (double)share->weight.unsampled;
	}
	return 0;
}

/* The number of the interval that ends the run at @time, or SIZE_MAX: it is in no run. */
static size_t run_at(const struct model_thread *thread, uint64_t time, size_t *near)
{
	const struct model_interval *last;

	*near = model_thread__intervals_until(thread, time, *near);
	last = *near ? &thread->intervals.data[*near - 1] : NULL;
	if (last && time - last->t_out < last->blocked_ns + last->runq_ns)
		return SIZE_MAX;
	return *near;
}

#define LONGEST_PERIOD 1000000000000ULL /* ns; weights of 16 million samples can be added */

/*
 * The chance that a run of @x periods has no sampling point, of which each period has one at a
 * random time: it lies in one period, or in parts of two or three.
 */
static double chance_unsampled(double x)
{
	if (x >= 2)
		return 0;
	return x < 1 ? 1 - x + x * x * x / 6 : (2 - x) * (2 - x) * (2 - x) / 6;
}

/* How long @thread ran before interval @next, since the one before that. */
static uint64_t ran_before(const struct model_thread *thread, size_t next)
{
	const struct model_interval *last = next ? &thread->intervals.data[next - 1] : NULL;
	uint64_t from = last ? last->t_out + last->blocked_ns + last->runq_ns : thread->created;
	uint64_t until =
		next < thread->intervals.n ? thread->intervals.data[next].t_out : thread->ended;

	return until > from ? until - from : 0;
}

/*
 * How much time, in ns, of runs without a sample one with @period per sample stands for, if it is
 * in the run of @thread before interval @next: a run of that length has length / period samples on
 * average, and none with the chance above. At least 1: samples of long runs are better than none.
 */
static uint64_t unsampled_weight(const struct model_thread *thread, size_t next, uint64_t period)
{
	uint64_t length = ran_before(thread, next), weight;

	if (!period || period > LONGEST_PERIOD) /* a damaged recording */
		return 1;
	for (size_t i = next; i && length < 2 * period; i--) {
		if (!is_anywhere(&thread->intervals.data[i - 1]))
			break;
		length += ran_before(thread, i - 1);
	}
	for (size_t i = next; i < thread->intervals.n && length < 2 * period; i++) {
		if (!is_anywhere(&thread->intervals.data[i]))
			break;
		length += ran_before(thread, i + 1);
	}
	weight = (uint64_t)((double)period * chance_unsampled((double)length / (double)period));
	return weight ? weight : 1;
}

static int group_samples(struct run_groups *groups, uint32_t index, const uint32_t *group_of)
{
	const struct model_thread *thread = &groups->model->threads.data[index];
	_cleanup_free_ struct grouped_sample *samples =
		calloc(thread->samples.n + 1, sizeof(*samples));
	size_t n = 0, near = 0;

	if (!samples)
		return -ENOMEM;
	for (size_t i = 0; i < thread->samples.n; i++) {
		const struct model_sample *sample = &thread->samples.data[i];
		size_t next = run_at(thread, sample->time, &near);
		struct run_weight weight = {.points = sample->weight};

		if (next == SIZE_MAX || !group_of[next] || !sample->weight)
			continue;
		weight.unsampled =
			unsampled_weight(thread, next, sample->weight * groups->model->period_ns);
		samples[n++] = (struct grouped_sample){group_of[next],
						       {sample->kernel, sample->user, weight, 0}};
	}
	qsort(samples, n, sizeof(*samples), compare_samples);
	return add_shares(groups, samples, n);
}

int run_groups__find(struct run_groups *groups, uint32_t thread, size_t next, uint32_t *group)
{
	const struct model_thread *of = &groups->model->threads.data[thread];
	uint32_t **known = &groups->group_of[thread];
	int err;

	*group = 0;
	if (!of->samples.n)
		return 0;
	if (!*known) {
		*known = calloc(of->intervals.n + 1, sizeof(**known));
		err = *known ? group_runs(groups, thread, *known) : -ENOMEM;
		err = err ? err : group_samples(groups, thread, *known);
		if (err)
			return err;
	}
	if (next <= of->intervals.n && groups->groups.data[(*known)[next]].n)
		*group = (*known)[next];
	return 0;
}

const struct run_group *run_groups__at(const struct run_groups *groups, uint32_t group)
{
	return &groups->groups.data[group];
}

const struct run_share *run_groups__shares(const struct run_groups *groups, uint32_t group)
{
	return groups->shares.data + groups->groups.data[group].first;
}

/* Sets *@n to the number of samples with these weights; returns the error of a share of 1 ns. */
static double share_error(uint64_t part, uint64_t all, double squared, double *n)
{
	double p;

	*n = squared > 0 ? (double)all * (double)all / squared : 0;
	p = (*n * (all ? (double)part / (double)all : 0) + 1) / (*n + 2);
	return sqrt(p * (1 - p) / (*n + 3));
}

double run_group__variance(const struct run_group *group, const struct run_weight *weight,
			   uint64_t ns, uint64_t sampled_ns, uint64_t samples)
{
	double n, error = (double)ns * share_error(weight->unsampled, group->weight.unsampled,
						   group->unsampled_squared, &n);
	double sampled = (double)sampled_ns * share_error(weight->points, group->weight.points,
							  group->points_squared, &n);

	/* The samples are the same, or some of them: their errors add up. */
	if (samples)
		error += sampled * sqrt(n > (double)samples ? n / (double)samples : 1);
	return error * error;
}

/*
 * The shares are the leaves of a binary tree, whose inner nodes are split before share @middle.
 * Each run goes to the half that is due more. @given[middle] is what the half before it got,
 * @given[0] all.
 */
size_t run_group__next(const struct run_group *group, const struct run_share *shares,
		       uint64_t *given, uint64_t ns)
{
	size_t first = 0, end = group->n;
	uint64_t sum = given[0] + ns; /* of the runs of [first, end), with this one */

	given[0] = sum;
	while (end - first > 1) {
		size_t middle = first + (end - first) / 2;
		uint64_t left = shares[middle].before - shares[first].before;
		uint64_t both = (end < group->n ? shares[end].before : group->weight.unsampled) -
				shares[first].before;
		double due = (double)sum * (double)left / (double)both - (double)given[middle];

		if (2 * due >= (double)ns) {
			given[middle] += ns;
			sum = given[middle];
			end = middle;
		} else {
			sum -= given[middle];
			first = middle;
		}
	}
	return first;
}
