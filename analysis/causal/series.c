// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/causal/series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/round.h"

#define DEFAULT_PERIOD 1e6

/* With this many samples in one half and none in the other, a target did not run in the other. */
#define MIN_PHASE_SAMPLES 8

struct builder {
	const struct causal_profile *profile;
	struct causal_series_set *set;
	const bool *left_out; /* by run */
	const char *point;
	struct intern texts; /* of "also", and of commands */
	struct intern series;
	struct intern groups;
	struct intern runs_of_groups;
	uint64_t *first_at; /* by run: begin of its first experiment; UINT64_MAX: it has none */
};

double causal_half__time(const struct causal_half *half)
{
	return half->duration_ns > half->delay_ns ? (double)(half->duration_ns - half->delay_ns)
						  : 0;
}

const struct causal_visits *causal_half__visits(const struct causal_half *half, uint32_t point)
{
	static const struct causal_visits none;

	for (uint32_t i = 0; i < half->n_points; i++)
		if (half->points[i].point == point)
			return &half->points[i];
	return &none;
}

static int64_t text_id(struct builder *builder, const char *text)
{
	return intern__id(&builder->texts, text, strlen(text), NULL);
}

/* The group of an experiment, or -ENOMEM. */
static int64_t builder_group(struct builder *builder, const struct causal_experiment *experiment)
{
	int64_t also = text_id(builder, experiment->also);
	const uint64_t key[] = {experiment->target, (uint64_t)also};
	struct causal_group *group;
	bool fresh;
	int64_t index;

	if (also < 0)
		return also;
	index = intern__id(&builder->groups, key, sizeof(key), &fresh);
	if (index < 0 || !fresh)
		return index;
	group = array__add(&builder->set->groups);
	if (!group)
		return -ENOMEM;
	group->target = experiment->target;
	group->also = experiment->also;
	group->factor = 1;
	return index;
}

/* ns that a sample of @run represents. */
static double run_period(const struct causal_run *run)
{
	return run->period_ns ? (double)run->period_ns : DEFAULT_PERIOD;
}

/* ns of samples in @target over the whole of @run; negative: unknown. */
static double hits_of_run(const struct causal_run *run, uint32_t target)
{
	double ns = -1;

	for (size_t i = 0; i < run->seen.n; i++)
		if (run->seen.data[i].target == target)
			ns = fmax(ns, 0) + (double)run->seen.data[i].ns;
	return ns;
}

/* Effective ns of @run from its first experiment on; 0: it was not completed. */
static double time_of_run(const struct causal_run *run, uint64_t first_at)
{
	double time = (double)run->runtime_ns - (double)run->delay_ns - (double)first_at;

	return run->runtime_ns ? fmax(time, 0) : 0;
}

/* Adds the samples of a base half to its group, if the total of its run is known. */
static int group_add_sampling(struct builder *builder, const struct causal_experiment *experiment,
			      uint32_t index)
{
	struct causal_group *group = &builder->set->groups.data[index];
	const struct causal_run *run = &builder->profile->runs.data[experiment->run];
	const uint64_t key[] = {index, experiment->run};
	double time = causal_half__time(&experiment->base), hits = (double)experiment->base.hit_ns;
	double run_hits = hits_of_run(run, experiment->target);
	double run_time = time_of_run(run, builder->first_at[experiment->run]);
	bool fresh;

	if (!(run_time > 0) || run_hits < 0)
		return 0;
	if (intern__id(&builder->runs_of_groups, key, sizeof(key), &fresh) < 0)
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

static int builder_find_first_experiments(struct builder *builder)
{
	const struct causal_profile *profile = builder->profile;

	builder->first_at = calloc(profile->runs.n + 1, sizeof(*builder->first_at));
	if (!builder->first_at)
		return -ENOMEM;
	for (size_t i = 0; i < profile->runs.n; i++)
		builder->first_at[i] = UINT64_MAX;
	for (size_t i = 0; i < profile->experiments.n; i++) {
		const struct causal_experiment *experiment = &profile->experiments.data[i];

		if (experiment->at_ns < builder->first_at[experiment->run])
			builder->first_at[experiment->run] = experiment->at_ns;
	}
	return 0;
}

/*
 * ns that the visits of the half with the speedup would take without one, by the most visited
 * point. In a phase with an effect this is longer than the half: it does more work while it is
 * sped up.
 */
static double experiment_work(const struct causal_experiment *experiment)
{
	double time = causal_half__time(&experiment->base),
	       sped = causal_half__time(&experiment->with);
	uint64_t most = 0;

	for (uint32_t i = 0; i < experiment->base.n_points; i++) {
		const struct causal_visits *base = &experiment->base.points[i];
		uint64_t with = causal_half__visits(&experiment->with, base->point)->visits;

		if (base->visits <= most || !with)
			continue;
		most = base->visits;
		sped = time * (double)with / (double)base->visits;
	}
	return sped;
}

/*
 * Whether the halves are in different phases of the program: the target ran in only one of them,
 * with so many samples that this is not chance.
 */
static bool is_across_phases(const struct builder *builder,
			     const struct causal_experiment *experiment)
{
	double period = run_period(&builder->profile->runs.data[experiment->run]);
	uint64_t base = experiment->base.hit_ns, with = experiment->with.hit_ns;

	return !base != !with && (double)(base + with) >= MIN_PHASE_SAMPLES * period;
}

/* Adds to @group the time of @experiment, and how much of it the target ran in. */
static void group_add_phase(const struct builder *builder,
			    const struct causal_experiment *experiment, struct causal_group *group)
{
	double base = causal_half__time(&experiment->base), with = experiment_work(experiment);
	bool base_hit = experiment->base.hit_ns, with_hit = experiment->with.hit_ns;

	if (!is_across_phases(builder, experiment))
		base_hit = with_hit = base_hit || with_hit;
	group->time += base + with;
	group->hit |= base_hit || with_hit;
	group->active += (base_hit ? base : 0) + (with_hit ? with : 0);
}

static int builder_make_groups(struct builder *builder)
{
	const struct causal_profile *profile = builder->profile;

	for (size_t i = 0; i < profile->experiments.n; i++) {
		const struct causal_experiment *experiment = &profile->experiments.data[i];
		struct causal_group *group;
		int64_t index;

		if (builder->left_out[experiment->run])
			continue;
		index = experiment->whole_run ? 0 : builder_group(builder, experiment);
		if (index < 0)
			return -ENOMEM;
		if (experiment->whole_run)
			continue;
		group = &builder->set->groups.data[index];
		group->experiments++;
		group_add_phase(builder, experiment, group);
		if (group_add_sampling(builder, experiment, (uint32_t)index))
			return -ENOMEM;
	}
	return 0;
}

/* The series with these members, made if necessary; NULL: no memory. */
static struct causal_series *builder_series(struct builder *builder, uint32_t target,
					    uint32_t point, const char *also, bool whole_run)
{
	int64_t text = text_id(builder, also);
	const uint64_t key[] = {target, (uint64_t)point << 1 | whole_run, (uint64_t)text};
	struct causal_series *series;
	bool fresh;
	int64_t index;

	if (text < 0)
		return NULL;
	index = intern__id(&builder->series, key, sizeof(key), &fresh);
	if (index < 0)
		return NULL;
	if (!fresh)
		return &builder->set->series.data[index];
	series = array__add(&builder->set->series);
	if (!series)
		return NULL;
	series->target = target;
	series->point = point;
	series->also = also;
	series->whole_run = whole_run;
	series->latency = builder->profile->points.data[point].kind == CAUSAL_LATENCY;
	return series;
}

/* The time and visits whose quotient is the period, or the latency, of a half. */
static void measure(const struct builder *builder, const struct causal_experiment *experiment,
		    const struct causal_half *half, uint32_t point, double *time, double *visits)
{
	const struct causal_visits *seen = causal_half__visits(half, point);

	*time = causal_half__time(half);
	*visits = (double)seen->visits;
	switch (builder->profile->points.data[point].kind) {
	case CAUSAL_LATENCY:
		*time = seen->occupied_ns;
		break;
	case CAUSAL_SAMPLED:
		*visits /= run_period(&builder->profile->runs.data[experiment->run]);
		break;
	case CAUSAL_THROUGHPUT:
	case CAUSAL_END_TO_END:
		break;
	}
}

static int builder_add_pair(struct builder *builder, const struct causal_experiment *experiment,
			    uint32_t group, uint32_t point)
{
	const struct causal_visits *base = causal_half__visits(&experiment->base, point);
	const struct causal_visits *with = causal_half__visits(&experiment->with, point);
	struct causal_series *series =
		builder_series(builder, experiment->target, point, experiment->also, false);
	struct causal_pair pair = {.speedup = experiment->speedup, .weight = 1};

	if (!series)
		return -ENOMEM;
	series->group = group;
	measure(builder, experiment, &experiment->base, point, &pair.base_time, &pair.base_visits);
	measure(builder, experiment, &experiment->with, point, &pair.with_time, &pair.with_visits);
	series->begins += (double)base->visits + (double)with->visits;
	series->ends += (double)base->ends + (double)with->ends;
	if (!(pair.base_time > 0) || !(pair.base_visits + pair.with_visits > 0))
		return 0;
	if (builder->profile->points.data[point].kind == CAUSAL_THROUGHPUT) {
		pair.base_span = (double)base->span_ns;
		pair.with_span = (double)with->span_ns;
	}
	return array__push(&series->pairs, pair);
}

static bool is_wanted(const struct builder *builder, uint32_t point)
{
	return !builder->point ||
	       !strcmp(builder->profile->points.data[point].name, builder->point);
}

/* Adds @experiment to the series of the points that either half visited. */
static int builder_add_pairs(struct builder *builder, const struct causal_experiment *experiment,
			     uint32_t group)
{
	const struct causal_half *halves[] = {&experiment->base, &experiment->with};

	for (size_t h = 0; h < 2; h++) {
		for (uint32_t i = 0; i < halves[h]->n_points; i++) {
			uint32_t point = halves[h]->points[i].point;

			if (!is_wanted(builder, point))
				continue;
			if (h && causal_half__visits(halves[0], point)->visits)
				continue; /* added with the other half */
			if (!causal_half__visits(halves[h], point)->visits)
				continue;
			if (builder_add_pair(builder, experiment, group, point))
				return -ENOMEM;
		}
	}
	return 0;
}

static int builder_add_experiment(struct builder *builder,
				  const struct causal_experiment *experiment)
{
	int64_t index = builder_group(builder, experiment);
	const struct causal_group *group;

	if (index < 0)
		return -ENOMEM;
	group = &builder->set->groups.data[index];
	if (experiment->speedup < CAUSAL_SPEEDUP_STEP || is_across_phases(builder, experiment) ||
	    (group->hit && !experiment->base.hit_ns && !experiment->with.hit_ns))
		return 0;
	return builder_add_pairs(builder, experiment, (uint32_t)index);
}

static int builder_add_pause_tests(struct builder *builder)
{
	const struct causal_profile *profile = builder->profile;
	int err = 0;

	for (size_t i = 0; i < profile->pause_tests.n && !err; i++) {
		const struct causal_pause_test *test = &profile->pause_tests.data[i];
		const struct causal_experiment experiment = {
			.run = test->run,
			.target = CAUSAL_PAUSE_TESTS,
			.speedup = test->share,
			.also = "",
			.base = test->base,
			.with = test->with,
		};

		if (!builder->left_out[test->run])
			err = builder_add_pairs(builder, &experiment, 0);
	}
	return err;
}

static int builder_add_run_of_point(struct builder *builder,
				    const struct causal_experiment *experiment, uint32_t point,
				    uint32_t target)
{
	const struct causal_run *run = &builder->profile->runs.data[experiment->run];
	int64_t command = text_id(builder, run->command);
	struct causal_series *series =
		builder_series(builder, target, point, experiment->also, true);
	struct causal_pair pair = {.speedup = experiment->speedup, .weight = 1};

	if (!series || command < 0)
		return -ENOMEM;
	pair.command = (uint32_t)command;
	measure(builder, experiment, &experiment->with, point, &pair.with_time, &pair.with_visits);
	if (builder->profile->points.data[point].kind == CAUSAL_END_TO_END)
		pair.with_visits = 1;
	if (!(pair.with_visits > 0))
		return 0;
	return array__push(&series->pairs, pair);
}

static int builder_add_whole_run(struct builder *builder,
				 const struct causal_experiment *experiment)
{
	const struct causal_profile *profile = builder->profile;
	bool baseline = experiment->speedup < CAUSAL_SPEEDUP_STEP;

	for (uint32_t point = 0; point < profile->points.n; point++) {
		if (!is_wanted(builder, point) ||
		    (profile->points.data[point].kind != CAUSAL_END_TO_END &&
		     !causal_half__visits(&experiment->with, point)->visits))
			continue;
		if (builder_add_run_of_point(builder, experiment, point, experiment->target) ||
		    (baseline && builder_add_run_of_point(builder, experiment, point, UINT32_MAX)))
			return -ENOMEM;
	}
	return 0;
}

static int compare_pairs(const void *left, const void *right)
{
	const struct causal_pair *a = left, *b = right;

	return (a->speedup > b->speedup) - (a->speedup < b->speedup);
}

static int series_make_cells(struct causal_series *series)
{
	struct causal_cell *cell = NULL;

	if (series->pairs.n)
		qsort(series->pairs.data, series->pairs.n, sizeof(*series->pairs.data),
		      compare_pairs);
	for (size_t i = 0; i < series->pairs.n; i++) {
		const struct causal_pair *pair = &series->pairs.data[i];

		if (!cell || pair->speedup - cell->speedup > CAUSAL_SPEEDUP_STEP) {
			cell = array__add(&series->cells);
			if (!cell)
				return -ENOMEM;
			cell->speedup = pair->speedup;
			cell->first = i;
		}
		cell->n++;
		cell->visits += round__uint64(pair->base_visits + pair->with_visits);
	}
	return 0;
}

static void builder_free(struct builder *builder)
{
	intern__free(&builder->texts);
	intern__free(&builder->series);
	intern__free(&builder->groups);
	intern__free(&builder->runs_of_groups);
	free(builder->first_at);
}

int causal_series_set__make(const struct causal_profile *profile, const bool *left_out,
			    const char *point, struct causal_series_set *set)
{
	_cleanup_(builder_free) struct builder builder = {
		.profile = profile, .set = set, .left_out = left_out, .point = point};
	int err = builder_find_first_experiments(&builder);

	err = err ? err : builder_make_groups(&builder);
	for (size_t i = 0; i < profile->experiments.n && !err; i++) {
		const struct causal_experiment *experiment = &profile->experiments.data[i];

		if (left_out[experiment->run])
			continue;
		err = experiment->whole_run ? builder_add_whole_run(&builder, experiment)
					    : builder_add_experiment(&builder, experiment);
	}
	err = err ? err : builder_add_pause_tests(&builder);
	for (size_t i = 0; i < set->series.n && !err; i++)
		err = series_make_cells(&set->series.data[i]);
	return err;
}

void causal_series_set__free(struct causal_series_set *set)
{
	for (size_t i = 0; i < set->series.n; i++) {
		array__free(&set->series.data[i].pairs);
		array__free(&set->series.data[i].cells);
		array__free(&set->series.data[i].errors);
	}
	array__free(&set->series);
	array__free(&set->groups);
}
