// SPDX-License-Identifier: BSD-2-Clause
/* Curves of causal profiles without noise, whose numbers are known. */
#include "tests/unit/causal_support.h"

#include <errno.h>

#include "analysis/causal/pair_weights.h"

#define NEAR(have, want, by)                                                                       \
	do {                                                                                       \
		double _have = (have), _want = (want);                                             \
		if (!(fabs(_have - _want) <= (by)))                                                \
			fail_msg("%s:%d: %s is %g, not %g", __FILE__, __LINE__, #have, _have,      \
				 _want);                                                           \
	} while (0)

/* One experiment of target and point 0. */
struct given {
	double speedup;
	uint64_t base_visits, with_visits;
	uint64_t delay_ms; /* of 250 */
	uint64_t base_hit_ms, with_hit_ms;
	uint64_t base_ends, with_ends;
	double base_occupied_ms, with_occupied_ms;
	uint64_t base_span_ms, with_span_ms;
};

static struct causal_half made_half_of(struct made *made, uint64_t visits, uint64_t ends,
				       double occupied_ms, uint64_t span_ms)
{
	struct causal_half half = {.duration_ns = 250 * MS,
				   .points = made__take(made, sizeof(*half.points)),
				   .n_points = 1};

	half.points[0] = (struct causal_visits){.visits = visits,
						.ends = ends,
						.span_ns = span_ms * MS,
						.occupied_ns = occupied_ms * MS};
	return half;
}

/* Adds @given this many times; the experiment, to be changed. */
static struct causal_experiment *made_add(struct made *made, struct given given, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct causal_experiment experiment = {.speedup = given.speedup, .also = ""};

		experiment.base = made_half_of(made, given.base_visits, given.base_ends,
					       given.base_occupied_ms, given.base_span_ms);
		experiment.with = made_half_of(made, given.with_visits, given.with_ends,
					       given.with_occupied_ms, given.with_span_ms);
		experiment.with.delay_ns = given.delay_ms * MS;
		experiment.base.hit_ns = given.base_hit_ms * MS;
		experiment.with.hit_ns = given.with_hit_ms * MS;
		assert_int_equal(array__push(&made->profile.experiments, experiment), 0);
	}
	return &made->profile.experiments.data[made->profile.experiments.n - 1];
}

/* A run with a point of @kind and a target, both 0. */
static struct made made_of(enum causal_point_kind kind)
{
	struct made made = {};

	made__run(&made, "./program");
	made__point(&made, "iteration", kind);
	made__target(&made, "f");
	return made;
}

static void program_speedup_is_by_effective_time(void **state)
{
	_cleanup_made_ struct made made = made_of(CAUSAL_THROUGHPUT);
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;
	const struct causal_curve *curve;

	/* 2.5 ms a visit, and (250 - 50) / 160 = 1.25 ms. */
	made_add(&made,
		 (struct given){
			 .speedup = 1, .base_visits = 100, .with_visits = 160, .delay_ms = 50},
		 4);
	made_add(&made, (struct given){.speedup = 0.5, .base_visits = 100, .with_visits = 133}, 4);
	effects = made__effects(&made);
	assert_int_equal(effects->curves.n, 1);
	curve = &effects->curves.data[0];
	assert_int_equal(curve->results.n, 2);
	NEAR(curve->results.data[0].speedup, 0.5, 1e-9);
	NEAR(curve->results.data[0].program_speedup, 1 - 100 / 133.0, 1e-9);
	NEAR(curve->results.data[1].program_speedup, 0.5, 1e-9);
	assert_true(curve->results.data[1].low <= 0.5 && curve->results.data[1].high >= 0.5);
	assert_int_equal(curve->results.data[1].experiments, 4);
	assert_int_equal(curve->results.data[1].visits, 4 * 260);
	NEAR(curve->slope, 0.5, 0.01);
	NEAR(curve->best, 0.5, 0.01);
	NEAR(curve->best_at, 1, 1e-9);
	NEAR(curve->phase_factor, 1, 1e-9);
	assert_int_equal(curve->shape, CAUSAL_GAIN);
}

/* Halves without visits count with their time. */
static void few_visits(void **state)
{
	_cleanup_made_ struct made made = made_of(CAUSAL_THROUGHPUT);
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;

	made_add(&made, (struct given){.speedup = 1, .base_visits = 3, .with_visits = 0}, 2);
	made_add(&made, (struct given){.speedup = 1, .base_visits = 0, .with_visits = 4}, 3);
	made_add(&made, (struct given){.speedup = 0.5, .base_visits = 9, .with_visits = 0}, 2);
	made_add(&made, (struct given){.speedup = 0.25, .base_visits = 0, .with_visits = 9}, 2);
	effects = made__effects(&made);
	assert_int_equal(effects->curves.n, 1);
	/* Without any visit with a speedup, or without one, there is nothing to compare. */
	assert_int_equal(effects->curves.data[0].results.n, 1);
	NEAR(effects->curves.data[0].results.data[0].program_speedup, 0.5, 0.06);
}

static void results_of_too_few_visits_are_left_out(void **state)
{
	_cleanup_made_ struct made made = made_of(CAUSAL_THROUGHPUT);
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;
	const struct causal_options options = {.min_visits = 100};

	made_add(&made, (struct given){.speedup = 1, .base_visits = 9, .with_visits = 9}, 6);
	made_add(&made, (struct given){.speedup = 0.5, .base_visits = 9, .with_visits = 9}, 5);
	made__hit(&made);
	assert_int_equal(causal__effects(&made.profile, &options, &effects), 0);
	assert_int_equal(effects->curves.data[0].results.n, 1);
	NEAR(effects->curves.data[0].results.data[0].speedup, 1, 1e-9);
	assert_true(effects->problems.n >= 1);
	assert_int_equal(effects->problems.data[0].kind, CAUSAL_PROBLEM_FEW_VISITS);
	assert_non_null(strstr(effects->problems.data[0].text, "1 of 2"));
	assert_non_null(strstr(effects->problems.data[0].text, "9.0 times"));
}

/* The pauses take all the time there is: nothing is left of the period. */
static void delays_can_exceed_the_time(void **state)
{
	static const uint64_t delays[] = {250, 251, 2000};

	for (size_t i = 0; i < ARRAY_SIZE(delays); i++) {
		_cleanup_made_ struct made made = made_of(CAUSAL_THROUGHPUT);
		_cleanup_causal_effects_ struct causal_effects *effects = NULL;

		made_add(&made,
			 (struct given){.speedup = 1,
					.base_visits = 100,
					.with_visits = 100,
					.delay_ms = delays[i]},
			 5);
		effects = made__effects(&made);
		NEAR(effects->curves.data[0].results.data[0].program_speedup, 1, 1e-9);
		assert_true(effects->curves.data[0].results.data[0].high <= 1);
		assert_true(effects->curves.data[0].results.data[0].low > 0.8);
	}
}

static void latency_is_by_littles_law(void **state)
{
	_cleanup_made_ struct made made = made_of(CAUSAL_LATENCY);
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;

	/* 5 ms and 2 ms each; how many begin has no part in it. */
	made_add(&made,
		 (struct given){.speedup = 1,
				.base_visits = 100,
				.base_ends = 100,
				.base_hit_ms = 9,
				.with_hit_ms = 9,
				.base_occupied_ms = 500,
				.with_visits = 150,
				.with_ends = 149,
				.with_occupied_ms = 300},
		 6);
	effects = made__effects(&made);
	NEAR(effects->curves.data[0].results.data[0].program_speedup, 0.6, 1e-9);
	assert_int_equal(effects->problems.n, 0);
}

static void a_queue_that_grows_is_told(void **state)
{
	_cleanup_made_ struct made made = made_of(CAUSAL_LATENCY);
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;

	made_add(&made,
		 (struct given){.speedup = 1,
				.base_visits = 100,
				.base_ends = 70,
				.base_hit_ms = 9,
				.with_hit_ms = 9,
				.base_occupied_ms = 500,
				.with_visits = 100,
				.with_ends = 80,
				.with_occupied_ms = 300},
		 6);
	effects = made__effects(&made);
	assert_int_equal(effects->problems.n, 1);
	assert_int_equal(effects->problems.data[0].kind, CAUSAL_PROBLEM_UNSTABLE);
}

static void samples_stand_for_visits(void **state)
{
	_cleanup_made_ struct made made = made_of(CAUSAL_SAMPLED);
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;

	/* 20 samples, and 25 in 4/5 of the time. */
	made_add(&made,
		 (struct given){.speedup = 1,
				.base_visits = 20 * MS,
				.with_visits = 25 * MS,
				.delay_ms = 50},
		 4);
	effects = made__effects(&made);
	NEAR(effects->curves.data[0].results.data[0].program_speedup, 1 - 20 / 25.0 * 0.8, 1e-9);
	assert_int_equal(effects->curves.data[0].results.data[0].visits, 4 * 45);
}

/* Spans are better than the halves' lengths, as long as nearly all are known. */
static void spans_are_taken_where_known(void **state)
{
	static const struct given known = {.speedup = 1,
					   .base_visits = 4,
					   .base_span_ms = 200,
					   .with_visits = 5,
					   .with_span_ms = 200};
	static const struct given unknown = {.speedup = 1, .base_visits = 4, .with_visits = 8};

	for (size_t n = 1; n < 4; n++) {
		_cleanup_made_ struct made made = made_of(CAUSAL_THROUGHPUT);
		_cleanup_causal_effects_ struct causal_effects *effects = NULL;

		made_add(&made, known, 10);
		made_add(&made, unknown, n);
		effects = made__effects(&made);
		if (n < 3)
			NEAR(effects->curves.data[0].results.data[0].program_speedup, 0.2, 1e-9);
		else
			assert_true(effects->curves.data[0].results.data[0].program_speedup > 0.2);
	}
}

static void what_is_sped_up_besides_is_apart(void **state)
{
	_cleanup_made_ struct made made = made_of(CAUSAL_THROUGHPUT);
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;
	static char also[] = "g=50%"; /* the same text elsewhere */

	made_add(&made, (struct given){.speedup = 1, .base_visits = 100, .with_visits = 200}, 4);
	for (int i = 0; i < 4; i++)
		made_add(&made,
			 (struct given){.speedup = 1, .base_visits = 100, .with_visits = 125}, 1)
			->also = i % 2 ? "g=50%" : also;
	effects = made__effects(&made);
	assert_int_equal(effects->curves.n, 2);
	NEAR(effects->curves.data[0].best, 0.5, 1e-6);
	assert_string_equal(effects->curves.data[0].also, "");
	NEAR(effects->curves.data[1].best, 0.2, 1e-6);
	assert_string_equal(effects->curves.data[1].also, "g=50%");
	assert_int_equal(effects->curves.data[1].experiments, 4);
}

static void add_whole_run(struct made *made, uint32_t run, uint32_t target, double speedup,
			  uint64_t seconds, uint64_t delay)
{
	struct causal_experiment experiment = {
		.run = run, .target = target, .speedup = speedup, .also = "", .whole_run = true};

	experiment.with.duration_ns = seconds * 1000 * MS;
	experiment.with.delay_ns = delay * 1000 * MS;
	assert_int_equal(array__push(&made->profile.experiments, experiment), 0);
}

/* Whole runs are compared with those of the same command, of the same target if there are any. */
static void whole_runs(void **state)
{
	_cleanup_made_ struct made made = made_of(CAUSAL_END_TO_END);
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;
	const struct causal_curve *curve;
	uint32_t longer = made__run(&made, "./program --long"), other = made__target(&made, "g");

	for (int i = 0; i < 3; i++) {
		add_whole_run(&made, 0, 0, 0, 10, 0);
		add_whole_run(&made, 0, 0, 0.5, 10, 1);
		add_whole_run(&made, longer, 0, 0, 100, 0);
		add_whole_run(&made, longer, 0, 0.5, 90, 0);
		/* This one has no runs without a speedup. */
		add_whole_run(&made, longer, other, 1, 80, 10);
	}
	effects = made__effects(&made);
	assert_int_equal(effects->curves.n, 2);
	curve = curve__of(effects, "f", "iteration");
	assert_true(curve->whole_run);
	assert_int_equal(curve->results.n, 1);
	NEAR(curve->results.data[0].program_speedup, 0.1, 1e-6);
	assert_int_equal(curve->results.data[0].experiments, 6);
	curve = curve__of(effects, "g", "iteration");
	NEAR(curve->results.data[0].program_speedup, 0.3, 1e-6);
}

/* Runs of which nothing is left without their pauses say nothing about the others' errors. */
static void pauses_as_long_as_the_run(void **state)
{
	_cleanup_made_ struct made made = made_of(CAUSAL_END_TO_END);
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;
	const struct causal_curve *curve;

	for (int i = 0; i < 10; i++) {
		add_whole_run(&made, 0, 0, 0, 10, 0);
		add_whole_run(&made, 0, 0, 0.5, 10, 1);
		add_whole_run(&made, 0, 0, 1, 10, 10);
	}
	effects = made__effects(&made);
	curve = curve__of(effects, "f", "iteration");
	NEAR(curve->results.data[0].program_speedup, 0.1, 1e-6);
	assert_true(curve->results.data[0].high < 0.2);
}

/* In half of the experiments the target never ran: half of the effect is left. */
static void experiments_without_the_target_have_no_effect(void **state)
{
	_cleanup_made_ struct made made = made_of(CAUSAL_THROUGHPUT);
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;

	made_add(&made,
		 (struct given){.speedup = 1,
				.base_visits = 100,
				.with_visits = 200,
				.base_hit_ms = 50,
				.with_hit_ms = 50},
		 10);
	made_add(&made, (struct given){.speedup = 1, .base_visits = 100, .with_visits = 100}, 10);
	effects = made__effects(&made);
	/* As fast as ever, what was done would have taken 3 parts of 5. */
	NEAR(effects->curves.data[0].phase_factor, 0.6, 1e-9);
	NEAR(effects->curves.data[0].best, 0.3, 1e-6);
	assert_int_equal(effects->curves.data[0].experiments, 10);
}

/* Coz, equation 8: sampled in experiments five times as often as in the run. */
static void phases_of_a_program(void **state)
{
	_cleanup_made_ struct made made = made_of(CAUSAL_THROUGHPUT);
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;
	struct causal_run *run = &made.profile.runs.data[0];

	for (uint64_t i = 0; i < 20; i++)
		made_add(&made,
			 (struct given){.speedup = 1,
					.base_visits = 100,
					.with_visits = 200,
					.base_hit_ms = 95 + i % 10,
					.with_hit_ms = 100},
			 1)
			->at_ns = (10 + i) * 1000 * MS;
	/* 100 ms of each 250; of 110 s, less 10 s for a start and 50 s of pauses, 8 %. */
	run->runtime_ns = 110000 * MS;
	run->delay_ns = 50000 * MS;
	assert_int_equal(array__push(&run->seen, ((struct causal_seen){0, 4000 * MS})), 0);
	effects = made__effects(&made);
	NEAR(effects->curves.data[0].phase_factor, 0.2, 0.005);
	NEAR(effects->curves.data[0].best, 0.1, 0.003);
	assert_true(effects->curves.data[0].best_low < 0.1);
}

/* What differs by no more than chance is no phase, and neither is what cannot be. */
static void no_phases(void **state)
{
	for (int i = 0; i < 4; i++) {
		_cleanup_made_ struct made made = made_of(CAUSAL_THROUGHPUT);
		_cleanup_causal_effects_ struct causal_effects *effects = NULL;
		struct causal_run *run = &made.profile.runs.data[0];

		for (uint64_t k = 0; k < 10; k++)
			made_add(&made,
				 (struct given){.speedup = 1,
						.base_visits = 100,
						.with_visits = 200,
						.base_hit_ms = k % 2 ? 20 : 180,
						.with_hit_ms = 100},
				 1);
		run->runtime_ns = 100000 * MS;
		/* 40 %; 36, 52 and 1 %. */
		assert_int_equal(
			array__push(&run->seen, ((struct causal_seen){0, (i == 0   ? 36000
									  : i == 1 ? 52000
									  : i == 2 ? 900
										   : 1000) *
										 MS})),
			0);
		if (i == 3)
			run->runtime_ns = 0; /* it was interrupted */
		effects = made__effects(&made);
		NEAR(effects->curves.data[0].phase_factor, 1, 1e-9);
	}
}

static void ruined_pairs_are_left_out(void **state)
{
	_cleanup_made_ struct made made = made_of(CAUSAL_THROUGHPUT);
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;

	for (uint64_t i = 0; i < 18; i++)
		made_add(
			&made,
			(struct given){.speedup = 1, .base_visits = 98 + i % 5, .with_visits = 200},
			1);
	made_add(&made, (struct given){.speedup = 1, .base_visits = 50, .with_visits = 200}, 1);
	made_add(&made, (struct given){.speedup = 1, .base_visits = 100, .with_visits = 90}, 1);
	effects = made__effects(&made);
	NEAR(effects->curves.data[0].best, 0.5, 0.005);
	assert_int_equal(effects->curves.data[0].disturbed, 2);
	assert_int_equal(effects->curves.data[0].experiments, 20);
}

/* A third of the pairs is no disturbance: the program does two things. */
static void a_mixture_is_none(void **state)
{
	_cleanup_made_ struct made made = made_of(CAUSAL_THROUGHPUT);
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;

	for (uint64_t i = 0; i < 30; i++)
		made_add(&made,
			 (struct given){.speedup = 1,
					.base_visits = 98 + i % 5,
					.with_visits = i % 3 ? 100 : 200},
			 1);
	effects = made__effects(&made);
	assert_int_equal(effects->curves.data[0].disturbed, 0);
	assert_in_range((int)(100 * effects->curves.data[0].best), 15, 27);
}

static void problem_of(const struct made *made, enum causal_problem_kind kind, const char *words)
{
	_cleanup_causal_effects_ struct causal_effects *effects = made__effects(made);

	for (size_t i = 0; i < effects->problems.n; i++) {
		if (effects->problems.data[i].kind != kind)
			continue;
		if (!strstr(effects->problems.data[i].text, words))
			fail_msg("no '%s' in: %s", words, effects->problems.data[i].text);
		return;
	}
	fail_msg("no problem '%s'", causal_problem__name(kind));
}

static void an_empty_profile_explains_itself(void **state)
{
	_cleanup_made_ struct made made = {};

	problem_of(&made, CAUSAL_PROBLEM_NO_RUN, "No run");
	problem_of(&made, CAUSAL_PROBLEM_NO_POINT, "DWELL_PROGRESS");
	made__run(&made, "./program");
	made.profile.runs.data[0].sampled_ns = 0;
	problem_of(&made, CAUSAL_PROBLEM_NOTHING_IN_SCOPE, "--binary-scope");
	made.profile.runs.data[0].status = 3 << 8;
	problem_of(&made, CAUSAL_PROBLEM_COMMAND, "./program ended with status 3");
	made.profile.runs.data[0].status = 11;
	problem_of(&made, CAUSAL_PROBLEM_COMMAND, "signal 11");
	made.profile.runs.data[0].runtime_ns = 0;
	problem_of(&made, CAUSAL_PROBLEM_COMMAND, "was interrupted");
	made.profile.skipped = 3;
	problem_of(&made, CAUSAL_PROBLEM_DAMAGED, "3 lines");
}

static void one_whole_run_is_not_enough(void **state)
{
	_cleanup_made_ struct made made = made_of(CAUSAL_END_TO_END);
	struct causal_visits end = {.visits = 1};
	const struct causal_experiment whole = {
		.also = "",
		.whole_run = true,
		.with = {.duration_ns = 1000 * MS, .points = &end, .n_points = 1}};

	assert_int_equal(array__push(&made.profile.experiments, whole), 0);
	problem_of(&made, CAUSAL_PROBLEM_FEW_EXPERIMENTS, "0 of the first and 1 of the second");
}

static void a_weak_profile_explains_itself(void **state)
{
	_cleanup_made_ struct made made = made_of(CAUSAL_THROUGHPUT);
	struct causal_run *run = &made.profile.runs.data[0];

	made_add(&made, (struct given){.speedup = 1}, 20);
	made__point(&made, "never", CAUSAL_THROUGHPUT);
	problem_of(&made, CAUSAL_PROBLEM_NOT_VISITED, "iteration, never: never visited");
	assert_int_equal(array__push(&run->diagnostics, (const char *)"It is stripped."), 0);
	assert_int_equal(array__push(&run->diagnostics, (const char *)"It is stripped."), 0);
	problem_of(&made, CAUSAL_PROBLEM_DIAGNOSTIC, "It is stripped.");
	made_add(&made,
		 (struct given){.speedup = 1, .base_visits = 7, .with_visits = 9, .base_hit_ms = 1},
		 1);
	made_add(&made,
		 (struct given){.speedup = 1, .base_visits = 9, .with_visits = 7, .base_hit_ms = 1},
		 1);
	problem_of(&made, CAUSAL_PROBLEM_FEW_EXPERIMENTS, "f has 2 experiments");
}

static void only_one_point(void **state)
{
	_cleanup_made_ struct made made = made_of(CAUSAL_THROUGHPUT);
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;
	struct causal_options options = {.point = "other"};

	made__point(&made, "other", CAUSAL_THROUGHPUT);
	made_add(&made, (struct given){.speedup = 1, .base_visits = 100, .with_visits = 200}, 4);
	made_add(&made, (struct given){.speedup = 1, .base_visits = 100, .with_visits = 125}, 1);
	for (int i = 0; i < 2; i++) {
		struct causal_experiment *last =
			&made.profile.experiments.data[made.profile.experiments.n - 1];

		(i ? &last->base : &last->with)->points[0].point = 1;
	}
	made__hit(&made);
	assert_int_equal(causal__effects(&made.profile, &options, &effects), 0);
	assert_int_equal(effects->curves.n, 1);
	NEAR(effects->curves.data[0].best, 0.2, 1e-6);
	causal_effects__free(effects);
	effects = NULL;
	options.point = "nothing";
	assert_int_equal(causal__effects(&made.profile, &options, &effects), -ENOENT);
	assert_non_null(strstr(error__hint_text(-ENOENT), "iteration, other"));
}

static void lines_through_dots(void **state)
{
	struct fit_point points[20];
	struct causal_fit fit;

	for (size_t i = 0; i < ARRAY_SIZE(points); i++) {
		double speedup = (double)(i + 1) / 20;

		points[i] = (struct fit_point){speedup, 0.3 * speedup, 1 + (double)(i % 3), 2};
	}
	NEAR(causal_fit__slope(points, 20), 0.3, 1e-9);
	for (size_t i = 0; i < ARRAY_SIZE(points); i++)
		points[i].value =
			fmin(0.8 * points[i].speedup, 0.4 - 0.1 * (points[i].speedup - 0.5));
	fit = causal_fit__with_knee(points, 20);
	NEAR(fit.knee, 0.5, 1e-9);
	NEAR(fit.slope, 0.8, 1e-9);
	NEAR(fit.slope_after, -0.1, 1e-9);
	NEAR(causal_fit__residual_squares(&fit, points, 20), 0, 1e-12);
	NEAR(causal_fit__at(&fit, 0.25), 0.2, 1e-9);
	NEAR(causal_fit__at(&fit, 1), 0.35, 1e-9);
	NEAR(causal_fit__best_at(&fit, 1), 0.5, 1e-9);
	NEAR(causal_fit__best_at(&fit, 0.4), 0.4, 1e-9);
	NEAR(causal_fit__worst_at(&fit, 1), 1, 1e-9);
	fit = causal_fit__with_knee(points, 3);
	NEAR(fit.knee, 0, 1e-9);
	NEAR(causal_fit__slope(NULL, 0), 0, 1e-9);
}

static void distributions(void **state)
{
	static const double sorted[] = {1, 2, 4, 8};

	NEAR(causal_fit__normal_quantile(0.975), 1.959964, 1e-5);
	NEAR(causal_fit__normal_quantile(0.025), -1.959964, 1e-5);
	NEAR(causal_fit__normal_quantile(0.5), 0, 1e-9);
	NEAR(causal_fit__normal_quantile(0.0001), -3.719016, 1e-5);
	NEAR(causal_fit__student_97_5(1), 12.706, 0.01);
	NEAR(causal_fit__student_97_5(2.5), 3.74, 0.01);
	NEAR(causal_fit__student_97_5(4), 2.776, 0.01);
	NEAR(causal_fit__student_97_5(10), 2.228, 0.001);
	NEAR(causal_fit__student_97_5(1e9), 1.959964, 1e-5);
	NEAR(causal_fit__quantile(sorted, 4, 0), 1, 1e-9);
	NEAR(causal_fit__quantile(sorted, 4, 0.5), 3, 1e-9);
	NEAR(causal_fit__quantile(sorted, 4, 1), 8, 1e-9);
	NEAR(causal_fit__quantile(sorted, 1, 0.3), 1, 1e-9);
}

static void weights(void **state)
{
	const double values[] = {1.0, 1.1, 0.9, 1.0, 5.0, NAN, 1.05};
	double weight[ARRAY_SIZE(values)], residuals[] = {-1, 1, -1, 1, -1, 1, -1, 1, -1, 50};

	causal_biweights__find(values, weight, ARRAY_SIZE(values), 0.1);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		assert_true(i == 4 || i == 5 ? weight[i] == 0 : weight[i] > 0.8);
	/* Two cannot say which of them is wrong, and neither can two and two. */
	causal_biweights__find((double[]){1, 5}, weight, 2, 0.1);
	assert_true(weight[0] == 1 && weight[1] == 1);
	causal_biweights__find((double[]){1, 3, 5, 7}, weight, 4, 0.1);
	assert_true(weight[0] == 1 && weight[3] == 1);
	causal_biweights__find(values, weight, 5, INFINITY);
	assert_true(weight[4] == 1);
	NEAR(causal_residuals__scale(residuals, ARRAY_SIZE(residuals)), 1.4826, 1e-6);
	assert_true(isinf(causal_residuals__scale(residuals, 0)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(program_speedup_is_by_effective_time),
		cmocka_unit_test(few_visits),
		cmocka_unit_test(results_of_too_few_visits_are_left_out),
		cmocka_unit_test(delays_can_exceed_the_time),
		cmocka_unit_test(latency_is_by_littles_law),
		cmocka_unit_test(a_queue_that_grows_is_told),
		cmocka_unit_test(samples_stand_for_visits),
		cmocka_unit_test(spans_are_taken_where_known),
		cmocka_unit_test(what_is_sped_up_besides_is_apart),
		cmocka_unit_test(whole_runs),
		cmocka_unit_test(pauses_as_long_as_the_run),
		cmocka_unit_test(experiments_without_the_target_have_no_effect),
		cmocka_unit_test(phases_of_a_program),
		cmocka_unit_test(no_phases),
		cmocka_unit_test(ruined_pairs_are_left_out),
		cmocka_unit_test(a_mixture_is_none),
		cmocka_unit_test(an_empty_profile_explains_itself),
		cmocka_unit_test(one_whole_run_is_not_enough),
		cmocka_unit_test(a_weak_profile_explains_itself),
		cmocka_unit_test(only_one_point),
		cmocka_unit_test(lines_through_dots),
		cmocka_unit_test(distributions),
		cmocka_unit_test(weights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
