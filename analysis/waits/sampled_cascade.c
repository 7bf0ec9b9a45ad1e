// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/waits/sampled_cascade.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abi/grid.h"
#include "base/round.h"

#define LEVELS (INTERVAL_SPACING_MAX + 1)

/* Bounds of the work for long recordings: points evaluated, and waits that contain one, summed. */
#define MAX_POINTS  (1 << 21)
#define MAX_MEMBERS (1 << 24)

/*
 * A level: the sampling points that lie 2^level periods apart, one in each cell of time. A span
 * is @thinning consecutive cells, of which one, drawn at random, is evaluated.
 */
struct level {
	uint32_t spacing_ns; /* length of a cell */
	uint64_t thinning;
	uint64_t span_ns;    /* length of a span */
	uint64_t first_span; /* number of the first span */
	size_t spans;
	size_t *member_index; /* [i]: the first member of span i; [spans]: the end */
	uint32_t *members;    /* by span: the waits that contain its point */
};

/* A node that waits at the point that is evaluated. */
struct waiter_state {
	uint64_t point;		/* number of the point; the rest is valid at this point only */
	uint32_t wait;		/* the wait that contains the point */
	uint32_t children_left; /* nodes that wait for this one and are not added up yet */
	double tree_size; /* calibrated number of nodes in its tree; an idle one does not count */
};

struct estimator {
	const struct waitlist *list;
	const uint32_t *groups;
	struct sampled_cascade *out;
	struct waiter_state *waiters; /* by node */
	double *square_sums;	      /* by group: sum of the squared weights of all points */
	double *point_sums;	      /* by group: weight of the current point */
	struct level level;
	unsigned int level_number;
	uint64_t point; /* number of the current point, counted over all levels */
	uint64_t alike; /* points that are evaluated with it, because the same waits contain them */
};

static uint64_t point_of(const struct estimator *estimator, uint64_t span)
{
	const struct level *level = &estimator->level;
	uint64_t seed = estimator->list->model->grid_seed, cell = span;

	if (level->thinning > 1)
		cell = span * level->thinning + hash__mix(span ^ seed) % level->thinning;
	return cell * level->spacing_ns + sample_grid__offset(cell, level->spacing_ns, seed);
}

/*
 * The spans whose points @wait contains: [*@from, *@until). Only in the spans where it begins and
 * ends that depends on where the point lies.
 */
static void spans_of(const struct estimator *estimator, const struct wait *wait, uint64_t *from,
		     uint64_t *until)
{
	uint64_t first = wait->begin / estimator->level.span_ns;
	uint64_t last = wait->end / estimator->level.span_ns;
	uint64_t point = point_of(estimator, last);

	*from = point_of(estimator, first) < wait->begin ? first + 1 : first;
	*until = point >= wait->begin && point < wait->end ? last + 1 : last;
}

/*
 * The two passes of a counting sort of members by span. With @members NULL, counts those of span
 * i in member_index[i + 2]; else stores them at member_index[i + 1], which becomes their end.
 */
static void visit_members(struct estimator *estimator, uint32_t *members)
{
	const struct waitlist *list = estimator->list;
	const struct level *level = &estimator->level;

	for (size_t i = 0; i < list->waits.n; i++) {
		uint64_t span, until;

		spans_of(estimator, &list->waits.data[i], &span, &until);
		for (; span < until; span++) {
			if (members)
				members[level->member_index[span - level->first_span + 1]++] =
					(uint32_t)i;
			else
				level->member_index[span - level->first_span + 2]++;
		}
	}
}

static int find_members(struct estimator *estimator)
{
	struct level *level = &estimator->level;
	size_t sum = 0;

	level->member_index = calloc(level->spans + 2, sizeof(*level->member_index));
	if (!level->member_index)
		return -ENOMEM;
	visit_members(estimator, NULL);
	for (size_t span = 0; span < level->spans + 2; span++) {
		sum += level->member_index[span];
		level->member_index[span] = sum;
	}
	level->members = malloc((sum + 1) * sizeof(*level->members));
	if (!level->members)
		return -ENOMEM;
	visit_members(estimator, level->members);
	return 0;
}

/* The state of @node at the current point; NULL: it does not wait. */
static struct waiter_state *state_at(const struct estimator *estimator, uint32_t node)
{
	struct waiter_state *state = &estimator->waiters[node];

	return state->point == estimator->point ? state : NULL;
}

/* The factor that scales the sampled waits of a thread and class to their exact total. */
static double calibration_of(const struct estimator *estimator, uint32_t wait)
{
	const struct waitlist *list = estimator->list;
	const struct wait_node *waiter = &list->nodes.data[list->waits.data[wait].waiter];
	const struct model_thread *thread = &list->model->threads.data[waiter->id];

	if (list->sources.data[wait].origin != WAIT_BLOCKED)
		return 1;
	return thread->factor[thread->intervals.data[list->sources.data[wait].index].class];
}

/* Adds the tree of @state to the weight of its wait, for the spans of all points that are alike. */
static void add_weight(struct estimator *estimator, const struct waiter_state *state)
{
	uint32_t group = estimator->groups[state->wait];
	double span_ns = (double)estimator->level.span_ns;
	bool at_its_level =
		estimator->list->sources.data[state->wait].spacing == estimator->level_number;
	double factor = at_its_level ? calibration_of(estimator, state->wait) : 0;
	bool idle = estimator->list->waits.data[state->wait].idle;
	double weight = (state->tree_size + (idle ? factor : 0)) * span_ns;

	estimator->out->weights[state->wait] += estimator->alike * round__uint64(weight);
	estimator->point_sums[group] += weight;
	estimator->out->plain[state->wait] += estimator->alike * round__uint64(factor * span_ns);
}

#define DONE UINT32_MAX /* in children_left */

/*
 * Adds the trees of @at and of the nodes above it, as far as all that wait for them are added;
 * not of what @cut waits for, if that is not NULL.
 */
static void add_upwards(struct estimator *estimator, struct waiter_state *at,
			const struct waiter_state *cut)
{
	const struct wait *waits = estimator->list->waits.data;

	while (at && !at->children_left) {
		struct waiter_state *parent =
			at == cut ? NULL : state_at(estimator, waits[at->wait].waker);

		add_weight(estimator, at);
		at->children_left = DONE;
		if (parent) {
			parent->tree_size += at->tree_size;
			parent->children_left--;
		}
		at = parent;
	}
}

/* As cascade__weights() takes them: equal begins in the order of the list. */
static bool began_after(const struct wait *waits, uint32_t one, uint32_t other)
{
	if (waits[one].begin != waits[other].begin)
		return waits[one].begin > waits[other].begin;
	return one > other;
}

/* Cuts the cycle that @at is part of where its last wait began, as cascade__weights() does. */
static void cut_cycle(struct estimator *estimator, struct waiter_state *at)
{
	const struct wait *waits = estimator->list->waits.data;
	struct waiter_state *last = at, *next = at, *parent;

	do {
		next = state_at(estimator, waits[next->wait].waker);
		if (began_after(waits, next->wait, last->wait))
			last = next;
	} while (next != at);
	parent = state_at(estimator, waits[last->wait].waker);
	parent->children_left--;
	add_upwards(estimator, parent, last);
}

/*
 * Adds up the tree of each waiting node, from the leaves (nodes that no other waits for) to the
 * roots. Nodes that are left wait in a cycle.
 */
static void count_forest(struct estimator *estimator, const uint32_t *members, size_t n)
{
	const struct wait *waits = estimator->list->waits.data;

	for (size_t i = 0; i < n; i++) {
		struct waiter_state *parent = state_at(estimator, waits[members[i]].waker);

		if (parent)
			parent->children_left++;
	}
	for (size_t i = 0; i < n; i++)
		add_upwards(estimator, state_at(estimator, waits[members[i]].waiter), NULL);
	for (size_t i = 0; i < n; i++) {
		struct waiter_state *at = state_at(estimator, waits[members[i]].waiter);

		if (at->children_left != DONE)
			cut_cycle(estimator, at);
	}
}

/*
 * Evaluates @alike consecutive points that the @n waits @members contain. Keeps one wait of each
 * node.
 */
static void evaluate_points(struct estimator *estimator, uint32_t *members, size_t n, size_t alike)
{
	const struct waitlist *list = estimator->list;
	size_t kept = 0;

	estimator->point++;
	estimator->alike = alike;
	for (size_t i = 0; i < n; i++) {
		const struct wait *wait = &list->waits.data[members[i]];

		if (state_at(estimator, wait->waiter)) /* a damaged recording: it overlaps one */
			continue;
		/*
		 * A wait of another level was not recorded because of this point. It counts 0, but
		 * connects the nodes that wait for it.
		 */
		estimator->waiters[wait->waiter] = (struct waiter_state){
			.point = estimator->point,
			.wait = members[i],
			.tree_size =
				list->sources.data[members[i]].spacing == estimator->level_number &&
						!wait->idle
					? calibration_of(estimator, members[i])
					: 0,
		};
		members[kept++] = members[i];
	}
	count_forest(estimator, members, kept);
	for (size_t i = 0; i < kept; i++) {
		double *sum = &estimator->point_sums[estimator->groups[members[i]]];

		estimator->square_sums[estimator->groups[members[i]]] +=
			(double)alike * *sum * *sum;
		*sum = 0;
	}
	estimator->out->points += alike;
}

static size_t count_members(const struct level *level, size_t span)
{
	return level->member_index[span + 1] - level->member_index[span];
}

/* How many spans from @span on have points that the same waits contain. */
static size_t count_alike(const struct level *level, size_t span)
{
	const uint32_t *members = level->members + level->member_index[span];
	size_t n = count_members(level, span), end = span + 1;

	while (end < level->spans && count_members(level, end) == n &&
	       !memcmp(level->members + level->member_index[end], members, n * sizeof(*members)))
		end++;
	return end - span;
}

static int evaluate_level(struct estimator *estimator)
{
	struct level *level = &estimator->level;
	int err = find_members(estimator);
	size_t alike;

	for (size_t span = 0; span < level->spans && !err; span += alike) {
		alike = count_alike(level, span);
		evaluate_points(estimator, level->members + level->member_index[span],
				count_members(level, span), alike);
	}
	free(level->member_index);
	free(level->members);
	return err;
}

/* The set of levels that waits have, one bit each; *@covered is the waits' total time in ns. */
static unsigned int levels_of(const struct waitlist *list, double *covered)
{
	unsigned int levels = 0;

	*covered = 0;
	for (size_t i = 0; i < list->waits.n; i++) {
		levels |= 1U << list->sources.data[i].spacing;
		*covered += (double)(list->waits.data[i].end - list->waits.data[i].begin);
	}
	return levels;
}

/* Of how many points one is evaluated, for points that lie at least @spacing_ns apart. */
static uint64_t thinning_factor(const struct waitlist *list, double spacing_ns, double covered)
{
	double members = covered / spacing_ns / MAX_MEMBERS;
	double points = (double)(list->until - list->from) / spacing_ns / MAX_POINTS;

	return 1 + (uint64_t)(members > points ? members : points);
}

static int evaluate_levels(struct estimator *estimator)
{
	const struct waitlist *list = estimator->list;
	double covered;
	unsigned int levels = levels_of(list, &covered);
	uint64_t period = list->model->period_ns, thinning = 0;
	int err = 0;

	for (unsigned int number = 0; number < LEVELS && !err; number++) {
		struct level *level = &estimator->level;

		/* abi/grid.h: a spacing is less than 2^32 ns. */
		if (!(levels & 1U << number) || !period || period > UINT32_MAX >> number)
			continue;
		if (!thinning)
			thinning = thinning_factor(list, (double)(period << number), covered);
		estimator->level_number = number;
		level->spacing_ns = (uint32_t)period << number;
		level->span_ns = level->spacing_ns * thinning;
		level->thinning = thinning;
		level->first_span = list->from / level->span_ns;
		level->spans = list->until / level->span_ns - level->first_span + 1;
		err = evaluate_level(estimator);
	}
	return err;
}

/*
 * Standard errors by the variance of a sum over independent points. Points are stratified, one in
 * each span, so that the true variance is at most that.
 */
static void find_errors(const struct estimator *estimator, size_t n_groups)
{
	struct sampled_cascade *out = estimator->out;
	double points = out->points ? (double)out->points : 1;

	for (size_t i = 0; i < estimator->list->waits.n; i++)
		estimator->point_sums[estimator->groups[i]] += (double)out->weights[i];
	for (size_t g = 0; g < n_groups; g++) {
		double sum = estimator->point_sums[g];
		double variance = estimator->square_sums[g] - sum * sum / points;

		out->errors[g] = variance > 0 ? fmin(sqrt(variance), (double)INT64_MAX) : 0;
	}
}

int sampled_cascade__estimate(const struct waitlist *list, const uint32_t *groups, size_t n_groups,
			      struct sampled_cascade *out)
{
	_cleanup_free_ struct waiter_state *waiters = calloc(list->nodes.n, sizeof(*waiters));
	_cleanup_free_ double *square_sums = calloc(n_groups + 1, sizeof(*square_sums));
	_cleanup_free_ double *point_sums = calloc(n_groups + 1, sizeof(*point_sums));
	struct estimator estimator = {
		.list = list,
		.groups = groups,
		.out = out,
		.waiters = waiters,
		.square_sums = square_sums,
		.point_sums = point_sums,
	};
	int err;

	out->plain = calloc(list->waits.n + 1, sizeof(*out->plain));
	out->weights = calloc(list->waits.n + 1, sizeof(*out->weights));
	out->errors = calloc(n_groups + 1, sizeof(*out->errors));
	if (!waiters || !square_sums || !point_sums || !out->plain || !out->weights || !out->errors)
		return -ENOMEM;
	err = evaluate_levels(&estimator);
	if (!err)
		find_errors(&estimator, n_groups);
	return err;
}

void sampled_cascade__free(struct sampled_cascade *cascade)
{
	free(cascade->plain);
	free(cascade->weights);
	free(cascade->errors);
	*cascade = (struct sampled_cascade){};
}
