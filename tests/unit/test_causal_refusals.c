// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is refused in a causal profile, by what evidence, and what is not. Truth: an open load gains
 * by pauses, a closed program does not.
 */
#include "tests/unit/causal_support.h"

#include "render/causal/causal_verdict.h"

/* An experiment of @target, whose real gain is @gain at 100%; delay_ns is @delay of the half. */
static void add_pair(struct made *made, uint32_t target, double speedup, double gain, double delay)
{
	struct causal_experiment experiment = {.target = target, .speedup = speedup, .also = ""};
	struct causal_half *halves[] = {&experiment.base, &experiment.with};
	static uint64_t n;

	for (int h = 0; h < 2; h++) {
		struct causal_half *half = halves[h];
		double effective = h ? 1 - delay : 1;

		half->duration_ns = 250 * MS;
		half->delay_ns = h ? (uint64_t)(delay * 250e6) : 0;
		half->hit_ns = 20 * MS;
		half->points = made__take(made, sizeof(*half->points));
		half->n_points = 1;
		half->points[0].visits =
			(uint64_t)(1000 * effective / (h ? 1 - gain * speedup : 1)) + n++ % 7;
	}
	assert_int_equal(array__push(&made->profile.experiments, experiment), 0);
}

static void add_test(struct made *made, double gain, double outside)
{
	struct causal_pause_test test = {.share = 0.3};
	struct causal_half *halves[] = {&test.base, &test.with};
	static uint64_t n;

	for (int h = 0; h < 2; h++) {
		halves[h]->duration_ns = 250 * MS;
		halves[h]->delay_ns = h ? 75 * MS : 0;
		halves[h]->points = made__take(made, sizeof(*halves[h]->points));
		halves[h]->n_points = 1;
		halves[h]->points[0].visits =
			(uint64_t)(1000 * (h ? 0.7 / (1 - gain) : 1)) + n++ % 5;
	}
	test.outside_ns[CAUSAL_OUTSIDE_REQUESTS] = (uint64_t)(outside * 500e6);
	assert_int_equal(array__push(&made->profile.pause_tests, test), 0);
}

static struct made made_program(void)
{
	struct made made = made__begin();

	made__target(&made, "f");
	for (int i = 0; i < 12; i++)
		add_pair(&made, 0, i % 2 ? 1 : 0.5, 0.3, 0.3);
	return made;
}

static const struct causal_refusal *only_refusal(const struct causal_effects *effects)
{
	assert_int_equal(effects->refusals.n, 1);
	return &effects->refusals.data[0];
}

static void open_load(void **state)
{
	_cleanup_made_ struct made made = made_program();
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;

	for (int i = 0; i < 4; i++)
		add_test(&made, 0.3, 0.6);
	effects = made__effects(&made);
	assert_int_equal(effects->curves.n, 0);
	assert_int_equal(only_refusal(effects)->kind, CAUSAL_REFUSED_OPEN_LOAD);
	assert_string_equal(causal_refusal__name(only_refusal(effects)->kind), "open-load");
}

/* Two tests that contradict each other, or without visits, do not show that a load is closed. */
static void open_load_is_not_excluded(void **state)
{
	static const double gains[] = {0.35, -0.1};

	for (int visited = 0; visited < 2; visited++) {
		_cleanup_made_ struct made made = made_program();
		_cleanup_causal_effects_ struct causal_effects *effects = NULL;

		for (size_t k = 0; k < ARRAY_SIZE(gains); k++) {
			struct causal_pause_test *test;

			add_test(&made, gains[k], 0.6);
			test = &made.profile.pause_tests.data[k];
			if (!visited)
				test->base.n_points = test->with.n_points = 0;
		}
		effects = made__effects(&made);
		assert_int_equal(effects->curves.n, 0);
		assert_int_equal(only_refusal(effects)->kind, CAUSAL_REFUSED_UNTESTED);
	}
}

static void closed_programs_are_not_refused(void **state)
{
	/* By the gain of pauses, and the time of waits for what is outside. */
	static const double cases[][2] = {{0, 0}, {0, 0.6}, {0.3, 0}, {-0.1, 0.6}, {0.02, 0.9}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_made_ struct made made = made_program();
		_cleanup_causal_effects_ struct causal_effects *effects = NULL;

		for (int k = 0; k < 4; k++)
			add_test(&made, cases[i][0], cases[i][1]);
		effects = made__effects(&made);
		assert_int_equal(effects->refusals.n, 0);
		assert_int_equal(effects->curves.n, 1);
		assert_in_range((int)(100 * effects->curves.data[0].slope), 27, 33);
	}
}

static void one_test_is_not_enough(void **state)
{
	_cleanup_made_ struct made made = made_program();
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;

	add_test(&made, 0, 0.6);
	effects = made__effects(&made);
	assert_int_equal(only_refusal(effects)->kind, CAUSAL_REFUSED_UNTESTED);
	assert_int_equal(effects->curves.n, 0);
	causal_effects__free(effects);
	add_test(&made, 0, 0.6);
	effects = made__effects(&made);
	assert_int_equal(effects->refusals.n, 0);
	assert_int_equal(effects->curves.n, 1);
}

static void io_in_flight(void **state)
{
	_cleanup_made_ struct made made = made_program();
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;

	for (size_t i = 0; i < made.profile.experiments.n; i++)
		made.profile.experiments.data[i].with.in_flight_ns = 10 * MS;
	effects = made__effects(&made);
	assert_int_equal(effects->refusals.n, 0); /* 4 points */
	causal_effects__free(effects);
	for (size_t i = 0; i < made.profile.experiments.n; i++)
		made.profile.experiments.data[i].with.in_flight_ns = 60 * MS;
	effects = made__effects(&made);
	assert_int_equal(only_refusal(effects)->kind, CAUSAL_REFUSED_IO);
	assert_int_equal(effects->curves.n, 0);
}

static void own_probes(void **state)
{
	/* 4000 to 4600 visits a second, of which the halves have 1000 each. */
	static const struct {
		uint64_t ns;
		bool refused;
	} cases[] = {{9000, false}, {16000, true}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_made_ struct made made = made_program();
		_cleanup_causal_effects_ struct causal_effects *effects = NULL;
		const struct causal_probe probe = {.ns = cases[i].ns};

		assert_int_equal(array__push(&made.profile.runs.data[0].probes, probe), 0);
		effects = made__effects(&made);
		assert_int_equal(effects->refusals.n, cases[i].refused);
		if (cases[i].refused)
			assert_int_equal(only_refusal(effects)->kind, CAUSAL_REFUSED_PROBE);
	}
}

/* Pauses are no part of the time that probes take a part of. */
static void probes_in_halves_that_are_paused(void **state)
{
	static const uint64_t ns[] = {11000, 14000}; /* 4% and 6% of a CPU without pauses */

	for (size_t i = 0; i < ARRAY_SIZE(ns); i++) {
		_cleanup_made_ struct made made = made__begin();
		_cleanup_causal_effects_ struct causal_effects *effects = NULL;
		const struct causal_probe probe = {.ns = ns[i]};

		made__target(&made, "f");
		for (int k = 0; k < 12; k++)
			add_pair(&made, 0, 1, 0, 0.9);
		assert_int_equal(array__push(&made.profile.runs.data[0].probes, probe), 0);
		effects = made__effects(&made);
		assert_int_equal(effects->refusals.n, i);
	}
}

/* The point that costs most is named, though another one did in the first experiment. */
static void probes_of_several_points(void **state)
{
	_cleanup_made_ struct made made = made_program();
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;
	uint32_t other = made__point(&made, "other", CAUSAL_THROUGHPUT);

	for (size_t i = 0; i < 2; i++) {
		const struct causal_probe probe = {.point = i ? other : 0, .ns = 9000};

		assert_int_equal(array__push(&made.profile.runs.data[0].probes, probe), 0);
	}
	for (size_t i = 0; i < made.profile.experiments.n; i++) {
		struct causal_half *base = &made.profile.experiments.data[i].base;
		struct causal_visits *visits = made__take(&made, 2 * sizeof(*visits));

		visits[0] = (struct causal_visits){.point = 0, .visits = i ? 1000 : 1500};
		visits[1] = (struct causal_visits){.point = other, .visits = 1100};
		base->points = visits;
		base->n_points = 2;
	}
	effects = made__effects(&made);
	assert_non_null(strstr(only_refusal(effects)->text, "'other'"));
	assert_non_null(strstr(only_refusal(effects)->text, "8% of a CPU"));
}

static void threads_that_were_not_paused(void **state)
{
	_cleanup_made_ struct made made = made_program();
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;
	struct causal_unpaused_count count = {.reason = "no-library", .tid = 7, .times = 25};

	made.profile.runs.data[0].pauses = 100;
	assert_int_equal(array__push(&made.profile.runs.data[0].unpaused, count), 0);
	effects = made__effects(&made);
	assert_int_equal(effects->refusals.n, 0);
	causal_effects__free(effects);
	made.profile.runs.data[0].unpaused.data[0].times = 30;
	effects = made__effects(&made);
	assert_int_equal(only_refusal(effects)->kind, CAUSAL_REFUSED_UNPAUSABLE);
	assert_non_null(strstr(only_refusal(effects)->text, "libdwell.so"));
	assert_non_null(strstr(only_refusal(effects)->text, "30 of 130"));
}

/* One thread of many is not paused: few of all pauses fail, but it may be the one that counts. */
static void one_thread_of_many_was_not_paused(void **state)
{
	_cleanup_made_ struct made made = made_program();
	struct causal_run *run = &made.profile.runs.data[0];
	struct causal_unpaused_count count = {.reason = "blocked", .tid = 7};
	double time = 0;

	for (size_t i = 0; i < made.profile.experiments.n; i++)
		time += (double)made.profile.experiments.data[i].with.duration_ns;
	run->pauses = 1000000;
	run->period_ns = 500000;
	assert_int_equal(array__push(&run->unpaused, count), 0);
	for (size_t i = 0; i < 2; i++) {
		_cleanup_causal_effects_ struct causal_effects *effects = NULL;

		run->unpaused.data[0].times = (uint64_t)((i ? 0.06 : 0.04) * time / 500000);
		effects = made__effects(&made);
		assert_int_equal(effects->refusals.n, i);
	}
}

/* A run in which many pauses fail, beside one in which few do: all of them together count. */
static void pauses_of_all_runs_count(void **state)
{
	static const uint64_t times[] = {38, 50};

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		_cleanup_made_ struct made made = made_program();
		_cleanup_causal_effects_ struct causal_effects *effects = NULL;
		struct causal_unpaused_count count = {.reason = "blocked", .times = 30};
		uint32_t run = made__run(&made, "./program");

		add_pair(&made, 0, 1, 0.3, 0.3);
		made.profile.experiments.data[made.profile.experiments.n - 1].run = run;
		made.profile.runs.data[0].pauses = 100;
		made.profile.runs.data[run].pauses = 900;
		assert_int_equal(array__push(&made.profile.runs.data[0].unpaused, count), 0);
		count.times = times[i];
		assert_int_equal(array__push(&made.profile.runs.data[run].unpaused, count), 0);
		effects = made__effects(&made);
		assert_int_equal(effects->refusals.n, i);
	}
}

static void targets_without_a_hit(void **state)
{
	_cleanup_made_ struct made made = made_program();
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;
	uint32_t other = made__target(&made, "g");

	for (int i = 0; i < 3; i++) {
		struct causal_experiment *last;

		add_pair(&made, other, 1, 0.2, 0);
		last = &made.profile.experiments.data[made.profile.experiments.n - 1];
		last->base.hit_ns = last->with.hit_ns = 0;
	}
	effects = made__effects(&made);
	assert_int_equal(effects->curves.n, 1);
	assert_int_equal(only_refusal(effects)->kind, CAUSAL_REFUSED_NOT_HIT);
	assert_int_equal(only_refusal(effects)->target, other);
	assert_int_equal(only_refusal(effects)->experiments, 3);
}

static bool is_over(const struct made *made, bool all)
{
	_cleanup_causal_effects_ struct causal_effects *effects = made__effects(made);

	return stopping_rule__is_met(effects, 0.03, all);
}

/* More experiments do not help targets that are refused for what does not change. */
static void refusals_that_last_are_the_end(void **state)
{
	_cleanup_made_ struct made made = made__begin();
	const struct causal_probe probe = {.ns = 40000};
	const struct causal_request request = {.target = 1};

	made__target(&made, "f");
	made__target(&made, "g");
	assert_int_equal(array__push(&made.profile.runs.data[0].probes, probe), 0);
	assert_false(is_over(&made, true));
	for (int i = 0; i < 12; i++)
		add_pair(&made, 0, 1, 0.3, 0.3);
	assert_true(is_over(&made, true));
	assert_false(is_over(&made, false)); /* others may be chosen */
	assert_int_equal(array__push(&made.profile.runs.data[0].requests, request), 0);
	assert_false(is_over(&made, true)); /* g has not been tried */
	made.profile.runs.data[0].requests.n = 0;
	for (int i = 0; i < 40; i++)
		add_pair(&made, 1, 1, 0.3, 0.3);
	assert_true(is_over(&made, false));
	made.profile.runs.data[0].probes.n = 0;
	for (int i = 0; i < 12; i++) /* neither is sure */
		made.profile.experiments.data[i].base.points[0].visits = 1 + i % 3 * 2000;
	assert_false(is_over(&made, true));
}

/* Halves that are by a factor of e faster or slower, at random, as of a database with write stalls.
 */
static void fluctuation(void **state)
{
	for (int stalls = 0; stalls < 2; stalls++) {
		_cleanup_made_ struct made made = made__begin();
		_cleanup_causal_effects_ struct causal_effects *effects = NULL;
		struct random random = {.state = 5};

		made__target(&made, "f");
		for (int i = 0; i < 16; i++) {
			struct causal_experiment *last;

			add_pair(&made, 0, i % 2 ? 1 : 0.5, 0, 0);
			last = &made.profile.experiments.data[made.profile.experiments.n - 1];
			if (stalls && random__unit(&random) < 0.5)
				last->base.points[0].visits /= 4;
			if (stalls && random__unit(&random) < 0.5)
				last->with.points[0].visits /= 4;
		}
		effects = made__effects(&made);
		assert_int_equal(effects->refusals.n, stalls);
		if (stalls)
			assert_int_equal(only_refusal(effects)->kind, CAUSAL_REFUSED_FLUCTUATION);
	}
}

static void requested_speedups_without_a_result(void **state)
{
	_cleanup_made_ struct made made = made_program();
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;
	double speedups[] = {0, 0.5, 0.75, 1};
	const struct causal_request request = {.speedups = speedups, .n_speedups = 4};

	assert_int_equal(array__push(&made.profile.runs.data[0].requests, request), 0);
	effects = made__effects(&made);
	assert_int_equal(effects->empty.n, 1);
	assert_int_equal((int)(100 * effects->empty.data[0].speedup), 75);
	assert_int_equal(effects->empty.data[0].experiments, 0);
}

/* Of those that were requested without speedups, only what has none at all is listed. */
static void requested_targets_without_a_result(void **state)
{
	_cleanup_made_ struct made made = made_program();
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;
	uint32_t other = made__target(&made, "g");
	const char *text = NULL;

	for (uint32_t i = 0; i <= other; i++) {
		const struct causal_request request = {.target = i};

		assert_int_equal(array__push(&made.profile.runs.data[0].requests, request), 0);
	}
	effects = made__effects(&made);
	assert_int_equal(effects->empty.n, 1);
	assert_int_equal(effects->empty.data[0].target, other);
	assert_true(effects->empty.data[0].speedup <= 0);
	for (size_t i = 0; i < effects->problems.n; i++)
		if (effects->problems.data[i].kind == CAUSAL_PROBLEM_EMPTY)
			text = effects->problems.data[i].text;
	assert_non_null(text);
	assert_non_null(strstr(text, ": g (0 experiments)."));
}

static void builds_are_not_mixed(void **state)
{
	_cleanup_made_ struct made made = made_program();
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;
	const struct causal_build before = {"/old/server", "aaaa"}, after = {"/new/server", "bbbb"};
	struct causal_options options = {};
	uint32_t run = made__run(&made, "/new/server");

	for (int i = 0; i < 6; i++) {
		add_pair(&made, 0, 1, 0.6, 0.6);
		made.profile.experiments.data[made.profile.experiments.n - 1].run = run;
	}
	effects = made__effects(&made); /* unknown builds are */
	assert_int_equal(effects->curves.data[0].experiments, 18);
	causal_effects__free(effects);
	assert_int_equal(array__push(&made.profile.runs.data[0].builds, before), 0);
	assert_int_equal(array__push(&made.profile.runs.data[run].builds, after), 0);
	effects = made__effects(&made);
	assert_int_equal(effects->curves.data[0].experiments, 6);
	assert_true(effects->left_out[0]);
	causal_effects__free(effects);
	options.build = "aa";
	assert_int_equal(causal__effects(&made.profile, &options, &effects), 0);
	assert_int_equal(effects->curves.data[0].experiments, 12);
}

/* Two builds of a program that use the same library: the text names the build that is left out. */
static void the_other_build_is_named(void **state)
{
	_cleanup_made_ struct made made = made_program();
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;
	const struct causal_build builds[2][2] = {{{"/lib/both.so", "cccc"}, {"/server", "aaaa"}},
						  {{"/lib/both.so", "cccc"}, {"/server", "bbbb"}}};
	const char *text = NULL;

	made__run(&made, "/server");
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 2; k++)
			assert_int_equal(
				array__push(&made.profile.runs.data[i].builds, builds[i][k]), 0);
	effects = made__effects(&made);
	for (size_t i = 0; i < effects->problems.n; i++)
		if (effects->problems.data[i].kind == CAUSAL_PROBLEM_OTHER_BUILDS)
			text = effects->problems.data[i].text;
	assert_non_null(text);
	assert_non_null(strstr(text, "--build aaaa."));
}

static void collect_text(void *context, const char *text)
{
	snprintf(context, 2048, "%s", text);
}

/* A sure gain, of which the measurement at 50% alone is unsure: another figure is given. */
static void no_gain_spans_zero(void **state)
{
	struct causal_result results[] = {
		{.speedup = 0.5, .program_speedup = 0.1, .low = -0.1, .high = 0.3},
		{.speedup = 1, .program_speedup = 0.3, .low = 0.2, .high = 0.4}};
	struct causal_curve curve = {.also = "",
				     .shape = CAUSAL_GAIN,
				     .slope = 0.3,
				     .slope_low = 0.2,
				     .slope_high = 0.4,
				     .best = 0.3,
				     .best_at = 1,
				     .best_low = 0.2,
				     .best_high = 0.4};
	_cleanup_made_ struct made made = made_program();
	struct causal_effects effects = {.profile = &made.profile};
	char text[2048];

	curve.results.data = results;
	curve.results.n = 2;
	effects.curves.data = &curve;
	effects.curves.n = 1;
	causal_verdict__sentences(&effects, collect_text, text);
	assert_non_null(strstr(text, "50% faster would make the program 15% (10..20)"));
	curve.shape = CAUSAL_UNSURE;
	curve.best_low = -2.34;
	causal_verdict__sentences(&effects, collect_text, text);
	assert_null(strpbrk(text, "%"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_load),
		cmocka_unit_test(open_load_is_not_excluded),
		cmocka_unit_test(closed_programs_are_not_refused),
		cmocka_unit_test(one_test_is_not_enough),
		cmocka_unit_test(io_in_flight),
		cmocka_unit_test(own_probes),
		cmocka_unit_test(probes_in_halves_that_are_paused),
		cmocka_unit_test(probes_of_several_points),
		cmocka_unit_test(threads_that_were_not_paused),
		cmocka_unit_test(pauses_of_all_runs_count),
		cmocka_unit_test(one_thread_of_many_was_not_paused),
		cmocka_unit_test(targets_without_a_hit),
		cmocka_unit_test(refusals_that_last_are_the_end),
		cmocka_unit_test(fluctuation),
		cmocka_unit_test(requested_speedups_without_a_result),
		cmocka_unit_test(requested_targets_without_a_result),
		cmocka_unit_test(builds_are_not_mixed),
		cmocka_unit_test(the_other_build_is_named),
		cmocka_unit_test(no_gain_spans_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
