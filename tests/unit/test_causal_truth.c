// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs whose truth is known, measured on a noisy machine many times over: estimates are
 * right in the mean, intervals hold the truth as often as they say, and what has no effect
 * is never first.
 */
#include "tests/unit/causal_support.h"

/* With every access checked it takes some times as long. */
#ifdef SANITIZED
#define SEEDS	   24
#define MANY_SEEDS 8 /* of profiles with many targets */
#else
#define SEEDS	   120
#define MANY_SEEDS 50
#endif

/* A target and a machine. */
struct scene {
	const char *name;
	double gain; /* at 100 % */
	double most;
	unsigned int steps;
	size_t each; /* experiments of each step */
	double scatter;
	double ruined;
	double period_ns;
	bool irregular;
	bool spans;
};

static const struct scene scenes[] = {
	{"gain, quiet", 0.5, 1, 4, 10, 0.03, 0, 2.5e6, false, false},
	{"gain, 5% ruined", 0.5, 1, 20, 4, 0.03, 0.05, 2.5e6, false, false},
	{"gain, 10% ruined, noise", 0.5, 1, 4, 20, 0.08, 0.1, 2.5e6, false, false},
	{"one of each", 0.5, 1, 20, 1, 0.03, 0.02, 2.5e6, false, false},
	{"two of each", 0.3, 1, 4, 2, 0.03, 0.02, 2.5e6, false, false},
	{"one speedup", 0.4, 1, 1, 8, 0.03, 0.05, 2.5e6, false, false},
	{"nothing left", 0.98, 1, 4, 10, 0.03, 0.05, 2.5e6, false, false},
	{"five visits", 0.6, 1, 4, 20, 0.03, 0.05, 50e6, false, false},
	{"five visits, spans", 0.6, 1, 4, 20, 0.03, 0.05, 50e6, false, true},
	{"irregular visits", 0.3, 1, 4, 20, 0.03, 0.05, 5e6, true, false},
	{"no effect", 0, 1, 10, 6, 0.03, 0.05, 2.5e6, false, false},
	{"contention", -0.2, 1, 4, 10, 0.03, 0.05, 2.5e6, false, false},
	{"plateau", 0.8, 0.4, 10, 8, 0.03, 0.05, 2.5e6, false, false},
};

static struct made scene_make(const struct scene *scene, uint64_t seed)
{
	struct machine machine = machine__noisy(seed);
	struct made made = made__begin();
	uint32_t target = made__target(&made, "f");

	machine.scatter = scene->scatter;
	machine.ruined = scene->ruined;
	machine.period_ns = scene->period_ns;
	machine.irregular = scene->irregular;
	machine.spans = scene->spans;
	made__curve(&made, &machine, target, scene->gain, scene->most, scene->steps, scene->each);
	return made;
}

/* What many measurements of one scene came to. */
struct tally {
	double results, errors, squares, held;
	double curves, slopes_held, best_held, best_errors;
	double shapes[CAUSAL_UNSURE + 1];
};

static void tally_add(struct tally *tally, const struct scene *scene,
		      const struct causal_curve *curve)
{
	double best = fmin(scene->gain * curve->best_at, scene->most);

	for (size_t i = 0; i < curve->results.n; i++) {
		const struct causal_result *result = &curve->results.data[i];
		double truth = fmin(scene->gain * result->speedup, scene->most);
		double error = result->program_speedup - truth;

		tally->results++;
		tally->errors += error;
		tally->squares += error * error;
		tally->held += result->low <= truth && truth <= result->high;
	}
	tally->curves++;
	tally->slopes_held += curve->slope_low <= scene->gain && scene->gain <= curve->slope_high;
	tally->best_held += curve->best_low <= best && best <= curve->best_high;
	tally->best_errors += curve->best - best;
	tally->shapes[curve->shape]++;
}

static struct tally scene_measure(const struct scene *scene)
{
	struct tally tally = {};

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		_cleanup_made_ struct made made = scene_make(scene, seed);
		_cleanup_causal_effects_ struct causal_effects *effects = made__effects(&made);

		assert_int_equal(effects->curves.n, 1);
		tally_add(&tally, scene, &effects->curves.data[0]);
	}
	return tally;
}

/* A part that is to be 0.95, of so many that are not all independent. */
static bool is_about_95(double part, double n)
{
	double error = sqrt(0.05 * 0.95 / n);

	return part > 0.95 - 0.035 - 3 * error && part < 0.95 + 0.045 + 3 * error;
}

static void estimates_are_right_in_the_mean(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(scenes); i++) {
		const struct tally tally = scene_measure(&scenes[i]);
		double mean = tally.errors / tally.results;
		double error = sqrt(tally.squares) / tally.results;
		double part = tally.held / tally.results;

		/* A ratio of few, scattered numbers is a little off. */
		if (fabs(mean) > 0.006 + 3 * error)
			fail_msg("%s: off by %.4f (+-%.4f)", scenes[i].name, mean, error);
		if (fabs(tally.best_errors / tally.curves) > 0.015)
			fail_msg("%s: the best is off by %.4f", scenes[i].name,
				 tally.best_errors / tally.curves);
		if (!is_about_95(part, tally.curves))
			fail_msg("%s: %.3f of the intervals hold the truth", scenes[i].name, part);
		part = tally.best_held / tally.curves;
		if (!is_about_95(part, tally.curves))
			fail_msg("%s: %.3f hold the best", scenes[i].name, part);
		part = tally.slopes_held / tally.curves;
		if (scenes[i].most >= 1 && !is_about_95(part, tally.curves))
			fail_msg("%s: %.3f hold the slope", scenes[i].name, part);
	}
}

static void shapes_are_told(void **state)
{
	static const struct {
		struct scene scene;
		enum causal_shape shape;
		double part; /* of the measurements, at least */
	} cases[] = {
		{{"gain", 0.3, 1, 10, 8, 0.03, 0.05, 2.5e6, false, false}, CAUSAL_GAIN, 0.96},
		{{"plateau", 0.8, 0.4, 10, 8, 0.03, 0.05, 2.5e6, false, false},
		 CAUSAL_PLATEAU,
		 0.97},
		{{"contention", -0.2, 1, 4, 20, 0.03, 0.05, 2.5e6, false, false},
		 CAUSAL_CONTENTION,
		 0.98},
		{{"none", 0, 1, 10, 24, 0.03, 0.05, 2.5e6, false, false}, CAUSAL_NO_EFFECT, 0.9},
		{{"small", 0.005, 1, 4, 80, 0.03, 0.05, 2.5e6, false, false},
		 CAUSAL_NO_EFFECT,
		 0.9},
		{{"too little", 0.02, 1, 4, 2, 0.08, 0.05, 2.5e6, false, false},
		 CAUSAL_UNSURE,
		 0.95},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct tally tally = scene_measure(&cases[i].scene);
		double part = tally.shapes[cases[i].shape] / tally.curves;

		if (part < cases[i].part)
			fail_msg("%s: %.3f are '%s'", cases[i].scene.name, part,
				 causal_shape__name(cases[i].shape));
	}
}

static void plateaus_are_where_they_are(void **state)
{
	static const struct scene scene = {"plateau", 0.8,  0.4,   10,	  8,
					   0.03,      0.05, 2.5e6, false, false};
	double at = 0, gain = 0, far = 0, n = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		_cleanup_made_ struct made made = scene_make(&scene, seed);
		_cleanup_causal_effects_ struct causal_effects *effects = made__effects(&made);
		const struct causal_curve *curve = &effects->curves.data[0];

		if (curve->shape != CAUSAL_PLATEAU)
			continue;
		n++;
		at += curve->plateau_at;
		gain += curve->plateau_gain;
		/* Now and then a ruined cell takes the knee along. */
		far += fabs(curve->plateau_at - 0.5) > 0.15 ||
		       fabs(curve->plateau_gain - 0.4) > 0.05;
	}
	assert_true(far < 0.05 * n);
	assert_true(fabs(at / n - 0.5) < 0.02);
	assert_true(fabs(gain / n - 0.4) < 0.01);
}

/* How far Coz's way is off: visits and times of all halves added up. */
static double of_sums(const struct made *made)
{
	double base_time = 0, base_visits = 0, with_time = 0, with_visits = 0;

	for (size_t i = 0; i < made->profile.experiments.n; i++) {
		const struct causal_experiment *experiment = &made->profile.experiments.data[i];

		base_time += (double)experiment->base.duration_ns;
		base_visits += (double)experiment->base.points[0].visits;
		with_time += (double)(experiment->with.duration_ns - experiment->with.delay_ns);
		with_visits += (double)experiment->with.points[0].visits;
	}
	return 1 - with_time / with_visits / (base_time / base_visits);
}

/* Ruined halves do little harm, and without them nothing is lost. */
static void better_than_sums(void **state)
{
	static const double ruined[] = {0, 0.05, 0.1};
	static const double better[] = {0.95, 2, 1.7};

	for (size_t i = 0; i < ARRAY_SIZE(ruined); i++) {
		struct scene scene = {"", 0.4, 1, 1, 30, 0.03, ruined[i], 2.5e6, false, false};
		double ours = 0, sums = 0;

		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			_cleanup_made_ struct made made = scene_make(&scene, seed);
			_cleanup_causal_effects_ struct causal_effects *effects =
				made__effects(&made);

			ours += pow(effects->curves.data[0].best - 0.4, 2);
			sums += pow(of_sums(&made) - 0.4, 2);
		}
		if (sqrt(sums / ours) < better[i])
			fail_msg("%.0f%% ruined: %.4f, and %.4f of sums", 100 * ruined[i],
				 sqrt(ours / SEEDS), sqrt(sums / SEEDS));
	}
}

/* Many targets, few experiments of each, at random speedups: as in a first short run. */
static struct made made_many(uint64_t seed, double gain, size_t experiments, size_t targets)
{
	static char names[64][24];
	struct machine machine = machine__noisy(seed);
	struct made made = made__begin();

	for (size_t i = 0; i < targets; i++) {
		snprintf(names[i], sizeof(names[i]), "f%zu", i);
		made__target(&made, names[i]);
	}
	for (size_t i = 0; i < experiments; i++) {
		struct truth truth = {.target =
					      (uint32_t)(machine__unit(&machine) * (double)targets),
				      .speedup = ceil(20 * machine__unit(&machine)) / 20};

		truth.gain = truth.target ? 0 : gain * truth.speedup;
		made__experiments(&made, &machine, truth, 1);
	}
	return made;
}

static void what_has_no_effect_is_never_first(void **state)
{
	static const struct {
		double gain;
		size_t experiments;
		double found; /* the part in which it is first for sure, at least */
	} cases[] = {{0.6, 300, 0.8}, {0.25, 900, 0.8}, {0, 160, 0}, {0, 1000, 0}};

	for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
		double wrong = 0, found = 0;

		for (uint64_t seed = 1; seed <= MANY_SEEDS; seed++) {
			_cleanup_made_ struct made made =
				made_many(seed, cases[c].gain, cases[c].experiments, 30);
			_cleanup_causal_effects_ struct causal_effects *effects =
				made__effects(&made);
			const struct causal_curve *first = &effects->curves.data[0];
			bool sure = first->shape == CAUSAL_GAIN || first->shape == CAUSAL_PLATEAU;

			wrong += sure && (first->target || !(cases[c].gain > 0));
			found += sure && !first->target && cases[c].gain > 0;
		}
		if (wrong > 0 || found < cases[c].found * MANY_SEEDS)
			fail_msg("gain %.2f, %zu experiments: found %.0f times, wrong %.0f times "
				 "of %d",
				 cases[c].gain, cases[c].experiments, found, wrong, MANY_SEEDS);
	}
}

/* A queue of one server: requests come at random, each is served for so long. */
struct queue {
	struct machine *machine;
	double service_ns;
	double next_ns; /* arrival */
	double done_ns; /* of the one that is served */
	unsigned int waiting;
	double now_ns;
};

#define BETWEEN_REQUESTS 5e6

static double until_next(struct machine *machine)
{
	return -log(1 - machine__unit(machine)) * BETWEEN_REQUESTS;
}

/* Lets @time pass; how many came and went, and the integral of those in there. */
static struct causal_visits queue_run(struct queue *queue, double time)
{
	struct causal_visits visits = {};
	double end = queue->now_ns + time;

	for (;;) {
		double next = fmin(queue->next_ns, queue->waiting ? queue->done_ns : INFINITY);

		visits.occupied_ns += queue->waiting * (fmin(next, end) - queue->now_ns);
		queue->now_ns = fmin(next, end);
		if (next >= end)
			return visits;
		if (next == queue->next_ns) {
			if (!queue->waiting++)
				queue->done_ns = next + queue->service_ns;
			queue->next_ns = next + until_next(queue->machine);
			visits.visits++;
		} else {
			if (--queue->waiting)
				queue->done_ns = next + queue->service_ns;
			visits.ends++;
		}
	}
}

/* Pollaczek and Khinchine: how long a request is in there, waiting and served. */
static double latency_of(double service_ns)
{
	double busy = service_ns / BETWEEN_REQUESTS;

	return service_ns * (1 + busy / (2 * (1 - busy)));
}

static struct causal_half queue_half(struct made *made, struct queue *queue, double service_ns)
{
	struct causal_half half = {.duration_ns = 500 * MS,
				   .hit_ns = 10 * MS,
				   .points = made__take(made, sizeof(struct causal_visits)),
				   .n_points = 1};

	queue->service_ns = service_ns;
	queue_run(queue, 100e6);
	half.points[0] = queue_run(queue, 500e6);
	return half;
}

/* Latency, whose truth no ratio of rates would tell: as many requests come in any case. */
static void latency_of_a_queue(void **state)
{
	const double service = 3e6, speedup = 0.5;
	const double truth = 1 - latency_of(service * (1 - speedup)) / latency_of(service);
	double errors = 0, held = 0, n = SEEDS;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct machine machine = machine__noisy(seed);
		struct queue queue = {.machine = &machine, .next_ns = until_next(&machine)};
		_cleanup_made_ struct made made = {};
		_cleanup_causal_effects_ struct causal_effects *effects = NULL;

		made__run(&made, "./server");
		made__point(&made, "request", CAUSAL_LATENCY);
		made__target(&made, "serve");
		for (int i = 0; i < 60; i++) {
			struct causal_experiment experiment = {.speedup = speedup, .also = ""};

			experiment.base = queue_half(&made, &queue, service);
			experiment.with = queue_half(&made, &queue, service * (1 - speedup));
			assert_int_equal(array__push(&made.profile.experiments, experiment), 0);
		}
		effects = made__effects(&made);
		assert_int_equal(effects->curves.data[0].shape, CAUSAL_GAIN);
		errors += effects->curves.data[0].results.data[0].program_speedup - truth;
		held += effects->curves.data[0].results.data[0].low <= truth &&
			effects->curves.data[0].results.data[0].high >= truth;
	}
	/* Long queues are rare, and look like disturbances: the gain is told a little too small. */
	if (fabs(errors / n) > 0.012 || held / n < 0.75)
		fail_msg("truth %.3f: off by %.4f, held %.3f", truth, errors / n, held / n);
}

/* Whole runs, few of them: their intervals, too, are honest. */
static void whole_runs_are_honest(void **state)
{
	double held = 0, errors = 0, n = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct machine machine = machine__noisy(seed);
		_cleanup_made_ struct made made = {};
		_cleanup_causal_effects_ struct causal_effects *effects = NULL;

		made__run(&made, "./batch");
		made__point(&made, "end-to-end", CAUSAL_END_TO_END);
		made__target(&made, "f");
		for (int i = 0; i < 16; i++) {
			double speedup = i % 2 ? 0 : i % 4 ? 1 : 0.5;
			double time =
				1e10 * (1 - 0.3 * speedup) * exp(0.03 * machine__normal(&machine));
			struct causal_experiment experiment = {
				.speedup = speedup, .also = "", .whole_run = true};

			experiment.with.delay_ns = (uint64_t)(speedup * 1e9);
			experiment.with.duration_ns = (uint64_t)time + experiment.with.delay_ns;
			assert_int_equal(array__push(&made.profile.experiments, experiment), 0);
		}
		effects = made__effects(&made);
		for (size_t i = 0; i < effects->curves.data[0].results.n; i++) {
			const struct causal_result *result =
				&effects->curves.data[0].results.data[i];
			double truth = 0.3 * result->speedup;

			held += result->low <= truth && truth <= result->high;
			errors += result->program_speedup - truth;
			n++;
		}
	}
	if (fabs(errors / n) > 0.005 || !is_about_95(held / n, n))
		fail_msg("off by %.4f, held %.3f", errors / n, held / n);
}

/* The same profile has the same curves. */
static void chance_is_repeatable(void **state)
{
	_cleanup_made_ struct made made = made_many(1, 0.3, 200, 10);
	_cleanup_causal_effects_ struct causal_effects *one = made__effects(&made);
	_cleanup_causal_effects_ struct causal_effects *two = made__effects(&made);

	assert_int_equal(one->curves.n, two->curves.n);
	for (size_t i = 0; i < one->curves.n; i++) {
		assert_int_equal(one->curves.data[i].target, two->curves.data[i].target);
		assert_true(one->curves.data[i].best_low == two->curves.data[i].best_low);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(estimates_are_right_in_the_mean),
		cmocka_unit_test(shapes_are_told),
		cmocka_unit_test(plateaus_are_where_they_are),
		cmocka_unit_test(better_than_sums),
		cmocka_unit_test(what_has_no_effect_is_never_first),
		cmocka_unit_test(latency_of_a_queue),
		cmocka_unit_test(whole_runs_are_honest),
		cmocka_unit_test(chance_is_repeatable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
