// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/waits/sampled_cascade.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abi/grid.h"

#define LEVELS (INTERVAL_SPACING_MAX + 1)

/* Of long recordings only so many points are looked at, and so often that a wait holds one. */
#define MAX_POINTS (1 << 21)
#define MAX_HELD   (1 << 24)

/*
 * One level: the points that lie 2^level periods apart, one in each cell of time. Of
 * @every cells that follow each other, a span, one is looked at.
 */
struct level {
	uint32_t apart; /* ns */
	uint64_t every;
	uint64_t length; /* of a span, ns */
	uint64_t first;	 /* span */
	size_t spans;
	size_t *begins;	   /* of each span, in members; after the last: their end */
	uint32_t *members; /* waits that hold the span's point */
};

/* What is kept of each waiter while one point is looked at. */
struct present {
	uint64_t cell;	/* that the rest is of */
	uint32_t wait;	/* it is in */
	uint32_t below; /* who wait for it, as long as they are to be counted */
	uint32_t size;	/* threads that hang on it, itself included unless it is idle */
};

struct camera {
	const struct waitlist *list;
	const uint32_t *groups;
	struct sampled_cascade *out;
	struct present *present; /* by waiter */
	double *squares;	 /* by group: of what each point added */
	double *sums;		 /* by group: what the present point added */
	struct level level;
	unsigned int number; /* of the level */
	uint64_t stamp;	     /* one for each point of any level */
};

static uint64_t point_of(const struct camera *camera, uint64_t span)
{
	const struct level *level = &camera->level;
	uint64_t seed = camera->list->model->grid_seed, cell = span;

	if (level->every > 1)
		cell = span * level->every + hash__mix(span ^ seed) % level->every;
	return cell * level->apart + sample_grid__offset(cell, level->apart, seed);
}

/* Whether @wait holds the point of @span. */
static bool holds_point(const struct camera *camera, const struct wait *wait, uint64_t span)
{
	uint64_t point = point_of(camera, span);

	return point >= wait->begin && point < wait->end;
}

/*
 * Counts the members of all spans, which makes room for each span's (@which NULL), or puts
 * them there. Span i of the level is begins[i + 2] first, then begins[i + 1].
 */
static void visit_members(struct camera *camera, uint32_t *which)
{
	const struct waitlist *list = camera->list;
	const struct level *level = &camera->level;

	for (size_t i = 0; i < list->waits.n; i++) {
		const struct wait *wait = &list->waits.data[i];
		uint64_t last = wait->end / level->length;

		for (uint64_t span = wait->begin / level->length; span <= last; span++) {
			if (!holds_point(camera, wait, span))
				continue;
			if (which)
				which[level->begins[span - level->first + 1]++] = (uint32_t)i;
			else
				level->begins[span - level->first + 2]++;
		}
	}
}

static int fill_spans(struct camera *camera)
{
	struct level *level = &camera->level;
	size_t sum = 0;

	level->begins = calloc(level->spans + 2, sizeof(*level->begins));
	if (!level->begins)
		return -ENOMEM;
	visit_members(camera, NULL);
	for (size_t span = 0; span < level->spans + 2; span++) {
		sum += level->begins[span];
		level->begins[span] = sum;
	}
	level->members = malloc((sum + 1) * sizeof(*level->members));
	if (!level->members)
		return -ENOMEM;
	visit_members(camera, level->members);
	return 0;
}

/* The waiter's place at this point; NULL when it is not waiting. */
static struct present *present_at(const struct camera *camera, uint32_t waiter)
{
	struct present *present = &camera->present[waiter];

	return present->cell == camera->stamp ? present : NULL;
}

/* Gives the wait of @present what hangs on it at this point. */
static void credit(struct camera *camera, const struct present *present)
{
	uint32_t group = camera->groups[present->wait];
	uint64_t worth = camera->level.length;
	bool own = camera->list->places.data[present->wait].spacing == camera->number;
	uint64_t threads = present->size + (own && camera->list->waits.data[present->wait].idle);

	camera->out->weights[present->wait] += threads * worth;
	camera->sums[group] += (double)threads * (double)worth;
	camera->out->plain[present->wait] += own ? worth : 0;
}

/*
 * Counts who hangs on whom, from those nobody waits for upwards. What is left then
 * waits in a circle, and counts for itself.
 */
static void count_forest(struct camera *camera, const uint32_t *members, size_t n)
{
	const struct wait *waits = camera->list->waits.data;

	for (size_t i = 0; i < n; i++) {
		struct present *above = present_at(camera, waits[members[i]].waker);

		if (above)
			above->below++;
	}
	for (size_t i = 0; i < n; i++) {
		struct present *at = present_at(camera, waits[members[i]].waiter);

		while (at && !at->below) {
			struct present *above = present_at(camera, waits[at->wait].waker);

			credit(camera, at);
			at->below = UINT32_MAX; /* done */
			if (above) {
				above->size += at->size;
				above->below--;
			}
			at = above;
		}
	}
	for (size_t i = 0; i < n; i++) {
		struct present *at = present_at(camera, waits[members[i]].waiter);

		if (at->below != UINT32_MAX)
			credit(camera, at);
	}
}

/* @members are the @n waits that hold the point; those that contradict each other are taken out. */
static void take_one(struct camera *camera, uint32_t *members, size_t n)
{
	const struct waitlist *list = camera->list;
	size_t kept = 0;

	camera->stamp++;
	for (size_t i = 0; i < n; i++) {
		const struct wait *wait = &list->waits.data[members[i]];

		if (present_at(camera, wait->waiter)) /* a damaged recording: two at once */
			continue;
		/* One of another level is known by chance only: it passes on who waits for it. */
		camera->present[wait->waiter] = (struct present){
			.cell = camera->stamp,
			.wait = members[i],
			.size = list->places.data[members[i]].spacing == camera->number &&
				!wait->idle,
		};
		members[kept++] = members[i];
	}
	count_forest(camera, members, kept);
	for (size_t i = 0; i < kept; i++) {
		double *sum = &camera->sums[camera->groups[members[i]]];

		camera->squares[camera->groups[members[i]]] += *sum * *sum;
		*sum = 0;
	}
	camera->out->points++;
}

static int take_level(struct camera *camera)
{
	struct level *level = &camera->level;
	int err = fill_spans(camera);

	for (size_t span = 0; span < level->spans && !err; span++)
		take_one(camera, level->members + level->begins[span],
			 level->begins[span + 1] - level->begins[span]);
	free(level->begins);
	free(level->members);
	return err;
}

/* The levels there are waits of, and how much time those cover. */
static unsigned int levels_of(const struct waitlist *list, double *covered)
{
	unsigned int levels = 0;

	*covered = 0;
	for (size_t i = 0; i < list->waits.n; i++) {
		levels |= 1U << list->places.data[i].spacing;
		*covered += (double)(list->waits.data[i].end - list->waits.data[i].begin);
	}
	return levels;
}

/* Of how many points one is looked at, of any level, when the least are @apart ns apart. */
static uint64_t thinning(const struct waitlist *list, double apart, double covered)
{
	double held = covered / apart / MAX_HELD;
	double points = (double)(list->until - list->from) / apart / MAX_POINTS;

	return 1 + (uint64_t)(held > points ? held : points);
}

static int take_all(struct camera *camera)
{
	const struct waitlist *list = camera->list;
	double covered;
	unsigned int levels = levels_of(list, &covered);
	uint64_t period = list->model->period_ns, every = 0;
	int err = 0;

	for (unsigned int number = 0; number < LEVELS && !err; number++) {
		struct level *level = &camera->level;

		/* The grid has no points that are farther apart. */
		if (!(levels & 1U << number) || !period || period > UINT32_MAX >> number)
			continue;
		if (!every)
			every = thinning(list, (double)(period << number), covered);
		camera->number = number;
		level->apart = (uint32_t)period << number;
		level->length = level->apart * every;
		level->every = every;
		level->first = list->from / level->length;
		level->spans = list->until / level->length - level->first + 1;
		err = take_level(camera);
	}
	return err;
}

/*
 * The variance of a sum over points that were drawn each on its own. There is one in
 * each span, which makes the real one smaller.
 */
static void find_errors(const struct camera *camera, size_t n_groups)
{
	struct sampled_cascade *out = camera->out;
	double points = out->points ? (double)out->points : 1;

	for (size_t i = 0; i < camera->list->waits.n; i++)
		camera->sums[camera->groups[i]] += (double)out->weights[i];
	for (size_t g = 0; g < n_groups; g++) {
		double sum = camera->sums[g];
		double variance = camera->squares[g] - sum * sum / points;

		out->errors[g] = variance > 0 ? fmin(sqrt(variance), (double)INT64_MAX) : 0;
	}
}

int sampled_cascade__take(const struct waitlist *list, const uint32_t *groups, size_t n_groups,
			  struct sampled_cascade *out)
{
	_cleanup_free_ struct present *present = calloc(list->waiters.n, sizeof(*present));
	_cleanup_free_ double *squares = calloc(n_groups + 1, sizeof(*squares));
	_cleanup_free_ double *sums = calloc(n_groups + 1, sizeof(*sums));
	struct camera camera = {
		.list = list,
		.groups = groups,
		.out = out,
		.present = present,
		.squares = squares,
		.sums = sums,
	};
	int err;

	out->plain = calloc(list->waits.n + 1, sizeof(*out->plain));
	out->weights = calloc(list->waits.n + 1, sizeof(*out->weights));
	out->errors = calloc(n_groups + 1, sizeof(*out->errors));
	if (!present || !squares || !sums || !out->plain || !out->weights || !out->errors)
		return -ENOMEM;
	err = take_all(&camera);
	if (!err)
		find_errors(&camera, n_groups);
	return err;
}

void sampled_cascade__free(struct sampled_cascade *cascade)
{
	free(cascade->plain);
	free(cascade->weights);
	free(cascade->errors);
	*cascade = (struct sampled_cascade){};
}
