/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Causal profiles of programs whose truth is known, as they would be measured on a noisy
 * machine: speeds drift, every half is a little faster or slower, and some are ruined.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <math.h>

#include "analysis/causal/prediction.h"
#include "analysis/causal/fit.h"
#include "base/error.h"
#include "base/random.h"

#define MS 1000000ull

struct machine {
	struct random random;
	double half_ns;
	double period_ns; /* between visits */
	double scatter;	  /* of each half, standard deviation */
	double drift;	  /* of what both halves of an experiment have in common */
	double ruined;	  /* part of the halves */
	bool irregular;	  /* visits come at random */
	bool spans;	  /* the times of visits are known */
	double drifted;
};

static inline struct machine machine__noisy(uint64_t seed)
{
	return (struct machine){
		.random = {.state = seed * 1000003},
		.half_ns = 250e6,
		.period_ns = 2.5e6,
		.scatter = 0.03,
		.drift = 0.2,
		.ruined = 0.05,
	};
}

static inline double machine__unit(struct machine *machine)
{
	return random__unit(&machine->random);
}

static inline double machine__normal(struct machine *machine)
{
	return causal_fit__normal_quantile(fmax(machine__unit(machine), 1e-12));
}

/* A profile that is made up, and what of it has to be released. */
struct made {
	struct causal_profile profile;
	ARRAY(void *) blocks;
};

static inline void *made__take(struct made *made, size_t size)
{
	void *block = calloc(1, size ? size : 1);

	assert_non_null(block);
	assert_int_equal(array__push(&made->blocks, block), 0);
	return block;
}

static inline void made__free(struct made *made)
{
	for (size_t i = 0; i < made->blocks.n; i++)
		free(made->blocks.data[i]);
	for (size_t i = 0; i < made->profile.runs.n; i++) {
		array__free(&made->profile.runs.data[i].seen);
		array__free(&made->profile.runs.data[i].places);
		array__free(&made->profile.runs.data[i].diagnostics);
		array__free(&made->profile.runs.data[i].builds);
		array__free(&made->profile.runs.data[i].probes);
		array__free(&made->profile.runs.data[i].requests);
		array__free(&made->profile.runs.data[i].unpaused);
	}
	array__free(&made->blocks);
	array__free(&made->profile.points);
	array__free(&made->profile.targets);
	array__free(&made->profile.runs);
	array__free(&made->profile.experiments);
	array__free(&made->profile.pause_tests);
}
#define _cleanup_made_ _cleanup_(made__free)

static inline uint32_t made__point(struct made *made, const char *name, enum causal_point_kind kind)
{
	assert_int_equal(array__push(&made->profile.points, ((struct causal_point){name, kind})),
			 0);
	return (uint32_t)made->profile.points.n - 1;
}

static inline uint32_t made__target(struct made *made, const char *name)
{
	struct causal_target target = {
		.kind = CAUSAL_FUNCTION, .name = name, .file = "", .function = name, .caller = ""};

	assert_int_equal(array__push(&made->profile.targets, target), 0);
	return (uint32_t)made->profile.targets.n - 1;
}

static inline uint32_t made__run(struct made *made, const char *command)
{
	struct causal_run run = {.id = "run",
				 .command = command,
				 .period_ns = MS,
				 .runtime_ns = 1000000 * MS,
				 .sampled_ns = 1000000 * MS};

	assert_int_equal(array__push(&made->profile.runs, run), 0);
	return (uint32_t)made->profile.runs.n - 1;
}

/* A profile with a run and a throughput point, both 0. */
static inline struct made made__begin(void)
{
	struct made made = {};

	made__run(&made, "./program");
	made__point(&made, "iteration", CAUSAL_THROUGHPUT);
	return made;
}

/* How fast the machine is for the half that comes. */
static inline double machine__speed(struct machine *machine)
{
	double speed = exp(machine->drifted + machine->scatter * machine__normal(machine));

	if (machine__unit(machine) < machine->ruined)
		speed /= 1.3 + 1.2 * machine__unit(machine);
	return speed;
}

static inline void machine__drift(struct machine *machine)
{
	machine->drifted =
		0.9 * machine->drifted + sqrt(1 - 0.81) * machine->drift * machine__normal(machine);
}

/* Visits in effective @time that take @period each, and how long those took. */
static inline double machine__visits(struct machine *machine, double time, double period,
				     double *span)
{
	double expected = time / period, limit = exp(-expected), product = 1, visits = -1;

	*span = 0;
	if (!machine->irregular) {
		visits = floor(expected + machine__unit(machine));
		*span = machine->spans ? visits * period : 0;
		return visits;
	}
	if (expected > 100)
		return floor(fmax(expected + sqrt(expected) * machine__normal(machine), 0));
	do {
		product *= machine__unit(machine);
		visits++;
	} while (product > limit);
	return visits;
}

/* What to measure: the target takes @share of the time, and speeding it up gains @gain. */
struct truth {
	uint32_t target;
	uint32_t point;
	double speedup;
	double gain;
	double share; /* 0: a tenth */
};

static inline struct causal_half made__half(struct made *made, struct machine *machine,
					    const struct truth *truth, bool with)
{
	double share = truth->share > 0 ? truth->share : 0.1;
	double speed = machine__speed(machine), period = machine->period_ns, span;
	struct causal_half half = {.duration_ns = (uint64_t)machine->half_ns,
				   .hit_ns = (uint64_t)(share * machine->half_ns),
				   .points = made__take(made, sizeof(struct causal_visits)),
				   .n_points = 1};
	double time = machine->half_ns;

	if (with) {
		half.delay_ns = (uint64_t)fmin(truth->speedup * share * time, time);
		period *= 1 - truth->gain;
	}
	time = (double)(half.duration_ns - half.delay_ns);
	half.points[0].point = truth->point;
	half.points[0].visits = (uint64_t)machine__visits(machine, time, period / speed, &span);
	half.points[0].span_ns = (uint64_t)span;
	return half;
}

/* Adds @n experiments. */
static inline void made__experiments(struct made *made, struct machine *machine, struct truth truth,
				     size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct causal_experiment experiment = {
			.target = truth.target, .speedup = truth.speedup, .also = ""};

		machine__drift(machine);
		experiment.base = made__half(made, machine, &truth, false);
		experiment.with = made__half(made, machine, &truth, true);
		assert_int_equal(array__push(&made->profile.experiments, experiment), 0);
	}
}

/* Gains of up to @gain at 100 %, and no more than @most. */
static inline void made__curve(struct made *made, struct machine *machine, uint32_t target,
			       double gain, double most, unsigned int steps, size_t n_each)
{
	for (unsigned int i = 1; i <= steps; i++) {
		double speedup = (double)i / steps;

		made__experiments(made, machine,
				  (struct truth){.target = target,
						 .speedup = speedup,
						 .gain = fmin(gain * speedup, most)},
				  n_each);
	}
}

/* If no experiment has samples in its target, gives all of them some: else they would be refused.
 */
static inline void made__hit(const struct made *made)
{
	for (size_t i = 0; i < made->profile.experiments.n; i++)
		if (made->profile.experiments.data[i].base.hit_ns ||
		    made->profile.experiments.data[i].with.hit_ns)
			return;
	for (size_t i = 0; i < made->profile.experiments.n; i++)
		made->profile.experiments.data[i].with.hit_ns = MS;
}

static inline struct causal_effects *made__effects(const struct made *made)
{
	const struct causal_options options = {.min_visits = 5};
	struct causal_effects *effects = NULL;

	made__hit(made);
	assert_int_equal(causal__effects(&made->profile, &options, &effects), 0);
	return effects;
}

static inline const struct causal_curve *curve__of(const struct causal_effects *effects,
						   const char *target, const char *point)
{
	for (size_t i = 0; i < effects->curves.n; i++) {
		const struct causal_curve *curve = &effects->curves.data[i];

		if (!strcmp(effects->profile->targets.data[curve->target].name, target) &&
		    !strcmp(effects->profile->points.data[curve->point].name, point))
			return curve;
	}
	return NULL;
}
