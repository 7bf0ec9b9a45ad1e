// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/snapshots.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/grid.h"

#define LEVELS	   (INTERVAL_SPACING_MAX + 1)
#define MAX_POINTS (1 << 24) /* of long recordings only so many points are looked at */

/* One level: the points that lie 2^level periods apart, one in each cell of time. */
struct level {
	uint32_t apart; /* ns */
	uint64_t first; /* cell */
	size_t cells;
	uint64_t every;	   /* only one cell in so many */
	size_t *begins;	   /* of each cell, in members; after the last: their end */
	uint32_t *members; /* waits that hold the cell's point */
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
	struct snapshots *out;
	struct present *present; /* by waiter */
	double *squares;	 /* by group: of what each point added */
	double *sums;		 /* by group: what the present point added */
	struct level level;
	unsigned int number; /* of the level */
	uint64_t stamp;	     /* one for each point of any level */
};

static uint64_t point_of(const struct camera *camera, uint64_t cell)
{
	return cell * camera->level.apart +
	       sample_grid__offset(cell, camera->level.apart, camera->list->model->grid_seed);
}

static bool cell_counts(const struct level *level, uint64_t cell)
{
	return level->every == 1 || hash__mix(cell) % level->every == 0;
}

/* Whether @wait holds the point of @cell, and that is one of those looked at. */
static bool holds_point(const struct camera *camera, const struct wait *wait, uint64_t cell)
{
	uint64_t point = point_of(camera, cell);

	return point >= wait->begin && point < wait->end && cell_counts(&camera->level, cell);
}

#define FOR_EACH_CELL(camera, wait, cell)                                                          \
	for (uint64_t cell = (wait)->begin / (camera)->level.apart;                                \
	     cell <= (wait)->end / (camera)->level.apart; (cell)++)

/* Members of all cells: first how many there are of each, then which. */
static int fill_cells(struct camera *camera)
{
	const struct waitlist *list = camera->list;
	struct level *level = &camera->level;
	size_t sum = 0;

	level->begins = calloc(level->cells + 2, sizeof(*level->begins));
	if (!level->begins)
		return -ENOMEM;
	for (size_t i = 0; i < list->waits.n; i++)
		FOR_EACH_CELL(camera, &list->waits.data[i], cell)
	if (holds_point(camera, &list->waits.data[i], cell))
		level->begins[cell - level->first + 2]++;
	for (size_t cell = 0; cell < level->cells + 2; cell++) {
		sum += level->begins[cell];
		level->begins[cell] = sum;
	}
	level->members = malloc((sum + 1) * sizeof(*level->members));
	if (!level->members)
		return -ENOMEM;
	for (size_t i = 0; i < list->waits.n; i++)
		FOR_EACH_CELL(camera, &list->waits.data[i], cell)
	if (holds_point(camera, &list->waits.data[i], cell))
		level->members[level->begins[cell - level->first + 1]++] = (uint32_t)i;
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
	uint64_t worth = camera->level.apart * camera->level.every;

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

static void take_one(struct camera *camera, const uint32_t *members, size_t n)
{
	const struct waitlist *list = camera->list;
	size_t kept = 0;
	uint32_t *own = (uint32_t *)members;

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
		own[kept++] = members[i];
	}
	count_forest(camera, own, kept);
	for (size_t i = 0; i < kept; i++) {
		double *sum = &camera->sums[camera->groups[own[i]]];

		camera->squares[camera->groups[own[i]]] += *sum * *sum;
		*sum = 0;
	}
	camera->out->points++;
}

static int take_level(struct camera *camera)
{
	struct level *level = &camera->level;
	int err = fill_cells(camera);

	for (size_t cell = 0; cell < level->cells && !err; cell++)
		take_one(camera, level->members + level->begins[cell],
			 level->begins[cell + 1] - level->begins[cell]);
	free(level->begins);
	free(level->members);
	return err;
}

/* The levels there are waits of, and how much time those cover. */
static unsigned int levels_of(const struct waitlist *list, uint64_t *covered)
{
	unsigned int levels = 0;

	*covered = 0;
	for (size_t i = 0; i < list->waits.n; i++) {
		levels |= 1U << list->places.data[i].spacing;
		*covered += list->waits.data[i].end - list->waits.data[i].begin;
	}
	return levels;
}

static int take_all(struct camera *camera)
{
	const struct waitlist *list = camera->list;
	uint64_t covered;
	unsigned int levels = levels_of(list, &covered);
	int err = 0;

	for (unsigned int number = 0; number < LEVELS && !err; number++) {
		uint32_t apart = (uint32_t)(list->model->period_ns << number);

		if (!(levels & 1U << number) || !apart)
			continue;
		camera->number = number;
		camera->level = (struct level){
			.apart = apart,
			.first = list->from / apart,
			.cells = list->until / apart - list->from / apart + 1,
			.every = covered / apart / MAX_POINTS + 1,
		};
		err = take_level(camera);
	}
	return err;
}

/*
 * The variance of a sum over points that were drawn each on its own. There is one in
 * each cell, which makes the real one smaller.
 */
static void find_errors(const struct camera *camera, size_t n_groups)
{
	struct snapshots *out = camera->out;
	double points = out->points ? (double)out->points : 1;

	for (size_t i = 0; i < camera->list->waits.n; i++)
		camera->sums[camera->groups[i]] += (double)out->weights[i];
	for (size_t g = 0; g < n_groups; g++) {
		double sum = camera->sums[g];
		double variance = camera->squares[g] - sum * sum / points;

		out->errors[g] = variance > 0 ? sqrt(variance) : 0;
	}
}

int snapshots__take(const struct waitlist *list, const uint32_t *groups, size_t n_groups,
		    struct snapshots *out)
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

void snapshots__free(struct snapshots *snapshots)
{
	free(snapshots->plain);
	free(snapshots->weights);
	free(snapshots->errors);
	*snapshots = (struct snapshots){};
}
