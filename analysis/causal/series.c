// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/causal/series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define DEFAULT_PERIOD 1e6

/* Speedups that differ by less are the same. */
#define SPEEDUP_STEP 1e-4

/* A target that has so many samples in one half and none in the other did not run there. */
#define SAMPLES_OF_A_PHASE 8

struct sorting {
	const struct causal_profile *profile;
	struct causal_sorted *sorted;
	const char *point;
	struct intern texts; /* of "also", and of commands */
	struct intern series;
	struct intern groups;
	struct intern runs_of_groups;
	uint64_t *first_at; /* by run: when its first experiment began */
};

static double half__time(const struct causal_half *half)
{
	return half->duration_ns > half->delay_ns ? (double)(half->duration_ns - half->delay_ns)
						  : 0;
}

static const struct causal_visits *half__visits(const struct causal_half *half, uint32_t point)
{
	static const struct causal_visits none;

	for (uint32_t i = 0; i < half->n_points; i++)
		if (half->points[i].point == point)
			return &half->points[i];
	return &none;
}

static int64_t text__id(struct sorting *sorting, const char *text)
{
	return intern__id(&sorting->texts, text, strlen(text), NULL);
}

/* The group of an experiment, or -ENOMEM. */
static int64_t sorting__group(struct sorting *sorting, const struct causal_experiment *experiment)
{
	int64_t also = text__id(sorting, experiment->also);
	const uint64_t key[] = {experiment->target, (uint64_t)also};
	struct causal_group *group;
	bool fresh;
	int64_t index;

	if (also < 0)
		return also;
	index = intern__id(&sorting->groups, key, sizeof(key), &fresh);
	if (index < 0 || !fresh)
		return index;
	group = array__add(&sorting->sorted->groups);
	if (!group)
		return -ENOMEM;
	group->target = experiment->target;
	group->also = experiment->also;
	group->factor = 1;
	return index;
}

/* ns that a sample of @run stands for. */
static double run__period(const struct causal_run *run)
{
	return run->period_ns ? (double)run->period_ns : DEFAULT_PERIOD;
}

/* What samples the whole of @run has in @target; a negative number when that is not known. */
static double run__hits(const struct causal_run *run, uint32_t target)
{
	double ns = -1;

	for (size_t i = 0; i < run->seen.n; i++)
		if (run->seen.data[i].target == target)
			ns = fmax(ns, 0) + (double)run->seen.data[i].ns;
	return ns;
}

/* How much of @run there could have been experiments in: not before the first of them. */
static double run__time(const struct causal_run *run, uint64_t first_at)
{
	double time = (double)run->runtime_ns - (double)run->delay_ns - (double)first_at;

	return run->runtime_ns ? fmax(time, 0) : 0;
}

/* Adds the samples of a base half to its group, if its run tells what it had in all. */
static int group__compare(struct sorting *sorting, const struct causal_experiment *experiment,
			  uint32_t index)
{
	struct causal_group *group = &sorting->sorted->groups.data[index];
	const struct causal_run *run = &sorting->profile->runs.data[experiment->run];
	const uint64_t key[] = {index, experiment->run};
	double time = half__time(&experiment->base), hits = (double)experiment->base.hit_ns;
	double run_hits = run__hits(run, experiment->target);
	double run_time = run__time(run, sorting->first_at[experiment->run]);
	bool fresh;

	if (!(run_time > 0) || run_hits < 0)
		return 0;
	if (intern__id(&sorting->runs_of_groups, key, sizeof(key), &fresh) < 0)
		return -ENOMEM;
	if (fresh) {
		group->run_time += run_time;
		group->run_hits += run_hits;
	}
	group->n++;
	group->t += time;
	group->x += hits;
	group->tt += time * time;
	group->tx += time * hits;
	group->xx += hits * hits;
	return 0;
}

static int sorting__find_beginnings(struct sorting *sorting)
{
	const struct causal_profile *profile = sorting->profile;

	sorting->first_at = calloc(profile->runs.n + 1, sizeof(*sorting->first_at));
	if (!sorting->first_at)
		return -ENOMEM;
	for (size_t i = 0; i < profile->runs.n; i++)
		sorting->first_at[i] = UINT64_MAX;
	for (size_t i = 0; i < profile->experiments.n; i++) {
		const struct causal_experiment *experiment = &profile->experiments.data[i];

		if (experiment->at_ns < sorting->first_at[experiment->run])
			sorting->first_at[experiment->run] = experiment->at_ns;
	}
	return 0;
}

/*
 * How long what the program did in the faster half takes without a speedup: a phase with an
 * effect gets more done while it is tried than its share of the time says.
 */
static double experiment__work(const struct causal_experiment *experiment)
{
	double time = half__time(&experiment->base), sped = half__time(&experiment->with);
	uint64_t most = 0;

	for (uint32_t i = 0; i < experiment->base.n_points; i++) {
		const struct causal_visits *base = &experiment->base.points[i];
		uint64_t with = half__visits(&experiment->with, base->point)->visits;

		if (base->visits <= most || !with)
			continue;
		most = base->visits;
		sped = time * (double)with / (double)base->visits;
	}
	return sped;
}

/*
 * Whether the program changed from one phase to another between the halves: the target ran
 * in one and not in the other, where that is no chance.
 */
static bool is_across_phases(const struct sorting *sorting,
			     const struct causal_experiment *experiment)
{
	double period = run__period(&sorting->profile->runs.data[experiment->run]);
	uint64_t base = experiment->base.hit_ns, with = experiment->with.hit_ns;

	return !base != !with && (double)(base + with) >= SAMPLES_OF_A_PHASE * period;
}

/* How much of the time of @experiment the target ran in. */
static void sorting__find_phase(const struct sorting *sorting,
				const struct causal_experiment *experiment,
				struct causal_group *group)
{
	double base = half__time(&experiment->base), with = experiment__work(experiment);
	bool base_hit = experiment->base.hit_ns, with_hit = experiment->with.hit_ns;

	if (!is_across_phases(sorting, experiment))
		base_hit = with_hit = base_hit || with_hit;
	group->time += base + with;
	group->hit |= base_hit || with_hit;
	group->active += (base_hit ? base : 0) + (with_hit ? with : 0);
}

static int sorting__find_groups(struct sorting *sorting)
{
	const struct causal_profile *profile = sorting->profile;

	for (size_t i = 0; i < profile->experiments.n; i++) {
		const struct causal_experiment *experiment = &profile->experiments.data[i];
		int64_t index = experiment->whole_run ? 0 : sorting__group(sorting, experiment);
		struct causal_group *group;

		if (index < 0)
			return -ENOMEM;
		if (experiment->whole_run)
			continue;
		group = &sorting->sorted->groups.data[index];
		group->experiments++;
		sorting__find_phase(sorting, experiment, group);
		if (group__compare(sorting, experiment, (uint32_t)index))
			return -ENOMEM;
	}
	return 0;
}

/* The series of those members, or NULL. */
static struct causal_series *sorting__series(struct sorting *sorting, uint32_t target,
					     uint32_t point, const char *also, bool whole_run)
{
	int64_t text = text__id(sorting, also);
	const uint64_t key[] = {target, (uint64_t)point << 1 | whole_run, (uint64_t)text};
	struct causal_series *series;
	bool fresh;
	int64_t index;

	if (text < 0)
		return NULL;
	index = intern__id(&sorting->series, key, sizeof(key), &fresh);
	if (index < 0)
		return NULL;
	if (!fresh)
		return &sorting->sorted->series.data[index];
	series = array__add(&sorting->sorted->series);
	if (!series)
		return NULL;
	series->target = target;
	series->point = point;
	series->also = also;
	series->whole_run = whole_run;
	series->latency = sorting->profile->points.data[point].kind == CAUSAL_LATENCY;
	return series;
}

/* What is divided by visits to get a period, or a latency, and those visits. */
static void measure(const struct sorting *sorting, const struct causal_experiment *experiment,
		    const struct causal_half *half, uint32_t point, double *time, double *visits)
{
	const struct causal_visits *seen = half__visits(half, point);

	*time = half__time(half);
	*visits = (double)seen->visits;
	switch (sorting->profile->points.data[point].kind) {
	case CAUSAL_LATENCY:
		*time = seen->occupied_ns;
		break;
	case CAUSAL_SAMPLED:
		*visits /= run__period(&sorting->profile->runs.data[experiment->run]);
		break;
	case CAUSAL_THROUGHPUT:
	case CAUSAL_END_TO_END:
		break;
	}
}

static int sorting__add_pair(struct sorting *sorting, const struct causal_experiment *experiment,
			     uint32_t group, uint32_t point)
{
	const struct causal_visits *base = half__visits(&experiment->base, point);
	const struct causal_visits *with = half__visits(&experiment->with, point);
	struct causal_series *series =
		sorting__series(sorting, experiment->target, point, experiment->also, false);
	struct causal_pair pair = {.speedup = experiment->speedup, .weight = 1};

	if (!series)
		return -ENOMEM;
	series->group = group;
	measure(sorting, experiment, &experiment->base, point, &pair.base_time, &pair.base_visits);
	measure(sorting, experiment, &experiment->with, point, &pair.with_time, &pair.with_visits);
	series->begins += (double)base->visits + (double)with->visits;
	series->ends += (double)base->ends + (double)with->ends;
	if (!(pair.base_time > 0) || !(pair.base_visits + pair.with_visits > 0))
		return 0;
	if (sorting->profile->points.data[point].kind == CAUSAL_THROUGHPUT) {
		pair.base_span = (double)base->span_ns;
		pair.with_span = (double)with->span_ns;
	}
	return array__push(&series->pairs, pair);
}

static bool is_wanted(const struct sorting *sorting, uint32_t point)
{
	return !sorting->point ||
	       !strcmp(sorting->profile->points.data[point].name, sorting->point);
}

/* Adds @experiment to the series of the points that either half visited. */
static int sorting__add_experiment(struct sorting *sorting,
				   const struct causal_experiment *experiment)
{
	const struct causal_half *halves[] = {&experiment->base, &experiment->with};
	int64_t index = sorting__group(sorting, experiment);
	const struct causal_group *group;

	if (index < 0)
		return -ENOMEM;
	group = &sorting->sorted->groups.data[index];
	if (experiment->speedup < SPEEDUP_STEP || is_across_phases(sorting, experiment) ||
	    (group->hit && !experiment->base.hit_ns && !experiment->with.hit_ns))
		return 0;
	for (size_t h = 0; h < 2; h++) {
		for (uint32_t i = 0; i < halves[h]->n_points; i++) {
			uint32_t point = halves[h]->points[i].point;

			if (!is_wanted(sorting, point))
				continue;
			if (h && half__visits(halves[0], point)->visits)
				continue; /* was in the other half, too */
			if (!half__visits(halves[h], point)->visits)
				continue;
			if (sorting__add_pair(sorting, experiment, (uint32_t)index, point))
				return -ENOMEM;
		}
	}
	return 0;
}

static int sorting__add_run_of_point(struct sorting *sorting,
				     const struct causal_experiment *experiment, uint32_t point,
				     uint32_t target)
{
	const struct causal_run *run = &sorting->profile->runs.data[experiment->run];
	int64_t command = text__id(sorting, run->command);
	struct causal_series *series =
		sorting__series(sorting, target, point, experiment->also, true);
	struct causal_pair pair = {.speedup = experiment->speedup, .weight = 1};

	if (!series || command < 0)
		return -ENOMEM;
	pair.command = (uint32_t)command;
	measure(sorting, experiment, &experiment->with, point, &pair.with_time, &pair.with_visits);
	if (sorting->profile->points.data[point].kind == CAUSAL_END_TO_END)
		pair.with_visits = 1;
	if (!(pair.with_visits > 0))
		return 0;
	return array__push(&series->pairs, pair);
}

static int sorting__add_whole_run(struct sorting *sorting,
				  const struct causal_experiment *experiment)
{
	const struct causal_profile *profile = sorting->profile;
	bool baseline = experiment->speedup < SPEEDUP_STEP;

	for (uint32_t point = 0; point < profile->points.n; point++) {
		if (!is_wanted(sorting, point) ||
		    (profile->points.data[point].kind != CAUSAL_END_TO_END &&
		     !half__visits(&experiment->with, point)->visits))
			continue;
		if (sorting__add_run_of_point(sorting, experiment, point, experiment->target) ||
		    (baseline && sorting__add_run_of_point(sorting, experiment, point, UINT32_MAX)))
			return -ENOMEM;
	}
	return 0;
}

static int compare_pairs(const void *left, const void *right)
{
	const struct causal_pair *a = left, *b = right;

	return (a->speedup > b->speedup) - (a->speedup < b->speedup);
}

static int series__make_cells(struct causal_series *series)
{
	struct causal_cell *cell = NULL;

	if (series->pairs.n)
		qsort(series->pairs.data, series->pairs.n, sizeof(*series->pairs.data),
		      compare_pairs);
	for (size_t i = 0; i < series->pairs.n; i++) {
		const struct causal_pair *pair = &series->pairs.data[i];

		if (!cell || pair->speedup - cell->speedup > SPEEDUP_STEP) {
			cell = array__add(&series->cells);
			if (!cell)
				return -ENOMEM;
			cell->speedup = pair->speedup;
			cell->first = i;
		}
		cell->n++;
		cell->visits += (uint64_t)(pair->base_visits + pair->with_visits);
	}
	return 0;
}

static void sorting__free(struct sorting *sorting)
{
	intern__free(&sorting->texts);
	intern__free(&sorting->series);
	intern__free(&sorting->groups);
	intern__free(&sorting->runs_of_groups);
	free(sorting->first_at);
}

int causal_sorted__make(const struct causal_profile *profile, const char *point,
			struct causal_sorted *sorted)
{
	_cleanup_(sorting__free) struct sorting sorting = {
		.profile = profile, .sorted = sorted, .point = point};
	int err = sorting__find_beginnings(&sorting);

	err = err ? err : sorting__find_groups(&sorting);
	for (size_t i = 0; i < profile->experiments.n && !err; i++) {
		const struct causal_experiment *experiment = &profile->experiments.data[i];

		err = experiment->whole_run ? sorting__add_whole_run(&sorting, experiment)
					    : sorting__add_experiment(&sorting, experiment);
	}
	for (size_t i = 0; i < sorted->series.n && !err; i++)
		err = series__make_cells(&sorted->series.data[i]);
	return err;
}

void causal_sorted__free(struct causal_sorted *sorted)
{
	for (size_t i = 0; i < sorted->series.n; i++) {
		array__free(&sorted->series.data[i].pairs);
		array__free(&sorted->series.data[i].cells);
		array__free(&sorted->series.data[i].errors);
	}
	array__free(&sorted->series);
	array__free(&sorted->groups);
}
