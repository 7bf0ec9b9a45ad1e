// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/causal/refusals.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/causal/fluctuation.h"
#include "analysis/causal/text.h"

/*
 * A program speedup that may be due to something else than the target: dwell's own probes, by the
 * part of a CPU that they take, and what goes on during pauses.
 */
#define MAX_ERROR 0.05
/* If so large a part of the pauses may not have slowed the program down, nothing is known. */
#define OPEN_GAIN 0.5

/* Failed pauses that are too few to be a share of all. */
#define FEW_PAUSES 20

/*
 * The scatter of the speed between two halves, as a standard deviation of its logarithm: by a
 * factor of 1.65. With 30 pairs the interval of a ratio is then +-18% of it; with so many that it
 * is not wide, something is known.
 */
#define MAX_FLUCTUATION 0.5
#define WIDE_INTERVAL	0.5 /* of the slope */

static const char *const names[] = {
	[CAUSAL_REFUSED_NOT_HIT] = "not-hit",	      [CAUSAL_REFUSED_PROBE] = "probe",
	[CAUSAL_REFUSED_UNPAUSABLE] = "unpausable",   [CAUSAL_REFUSED_OPEN_LOAD] = "open-load",
	[CAUSAL_REFUSED_IO] = "io-in-flight",	      [CAUSAL_REFUSED_TIMERS] = "timers",
	[CAUSAL_REFUSED_FLUCTUATION] = "fluctuation", [CAUSAL_REFUSED_UNTESTED] = "untested",
};

const char *causal_refusal__name(enum causal_refusal_kind kind)
{
	return names[kind];
}

/* Adds @refusal with @text, malloc()ed or NULL, which it owns from now on. 0 or -ENOMEM. */
static int add_refusal(struct causal_effects *effects, struct causal_refusal refusal, char *text)
{
	refusal.text = text;
	if (text && !array__push(&effects->refusals, refusal))
		return 0;
	free(text);
	return -ENOMEM;
}

static bool has_hit(const struct causal_profile *profile, const struct causal_effects *effects,
		    const struct causal_experiment *like)
{
	for (size_t i = 0; i < profile->experiments.n; i++) {
		const struct causal_experiment *experiment = &profile->experiments.data[i];

		if (experiment->target == like->target &&
		    experiment->whole_run == like->whole_run &&
		    !effects->left_out[experiment->run] &&
		    (experiment->base.hit_ns || experiment->with.hit_ns))
			return true;
	}
	return false;
}

/* What dwell's probes of one progress point took of the CPUs. */
struct probe_cost {
	uint32_t point;
	double visits, ns;
};

/* What the experiments of one target say about the profiler itself. */
struct evidence {
	double time; /* effective ns of the halves without a speedup; of whole runs, of all */
	ARRAY(struct probe_cost) probes; /* in that time */
	double paused;	  /* share of the time of the halves with the largest speedup */
	double in_flight; /* share of these pauses during which asynchronous I/O was in flight */
	double pauses;	  /* of all threads, in the runs of these experiments, that succeeded, */
	double failed;	  /* and that failed */
	double unpaid; /* share of the time with a speedup of these runs that the latter are worth
			*/
	const struct causal_unpaused_count
		*unpaused; /* most of the failed ones in a run, or NULL */
};

static void evidence_free(struct evidence *evidence)
{
	array__free(&evidence->probes);
}

/* The cost of the probes of @point so far, 0 at first; NULL: no memory. */
static struct probe_cost *cost_at(struct evidence *evidence, uint32_t point)
{
	struct probe_cost *added;

	for (size_t i = 0; i < evidence->probes.n; i++)
		if (evidence->probes.data[i].point == point)
			return &evidence->probes.data[i];
	added = array__add(&evidence->probes);
	if (added)
		added->point = point;
	return added;
}

static int add_probes(struct evidence *evidence, const struct causal_run *run,
		      const struct causal_half *half)
{
	for (size_t i = 0; i < run->probes.n; i++) {
		const struct causal_probe *probe = &run->probes.data[i];
		double visits = (double)causal_half__visits(half, probe->point)->visits;
		struct probe_cost *cost = cost_at(evidence, probe->point);

		if (!cost)
			return -ENOMEM;
		cost->visits += visits;
		cost->ns += visits * (double)probe->ns;
	}
	evidence->time += causal_half__time(half);
	return 0;
}

/* Of all experiments in the @counted runs: each failed pause was due for a period at least. */
static void add_pauses(struct evidence *evidence, const struct causal_profile *profile,
		       const bool *counted)
{
	double unpaid = 0, time = 0;

	for (size_t r = 0; r < profile->runs.n; r++) {
		const struct causal_run *run = &profile->runs.data[r];

		if (!counted[r])
			continue;
		evidence->pauses += (double)run->pauses;
		for (size_t i = 0; i < run->unpaused.n; i++) {
			const struct causal_unpaused_count *count = &run->unpaused.data[i];

			evidence->failed += (double)count->times;
			unpaid += (double)count->times * (double)run->period_ns;
			if (!evidence->unpaused || count->times > evidence->unpaused->times)
				evidence->unpaused = count;
		}
	}
	for (size_t i = 0; i < profile->experiments.n; i++)
		if (counted[profile->experiments.data[i].run])
			time += (double)profile->experiments.data[i].with.duration_ns;
	evidence->unpaid = time > 0 ? unpaid / time : 0;
}

static bool is_of(const struct causal_experiment *experiment, const struct causal_series *series)
{
	return experiment->target == series->target && experiment->whole_run == series->whole_run &&
	       !strcmp(experiment->also, series->also);
}

/* The last speedup of a target's experiments, and sums over the halves with it. */
struct largest {
	double speedup;
	double time, delay, in_flight;
};

static void add_largest(struct largest *largest, const struct causal_experiment *experiment)
{
	const struct causal_half *with = &experiment->with;

	if (experiment->speedup > largest->speedup + CAUSAL_SPEEDUP_STEP)
		*largest = (struct largest){.speedup = experiment->speedup};
	if (experiment->speedup < largest->speedup - CAUSAL_SPEEDUP_STEP)
		return;
	largest->time += (double)with->duration_ns;
	largest->delay += (double)with->delay_ns;
	largest->in_flight += fmin((double)with->in_flight_ns, (double)with->delay_ns);
}

/*
 * Finds what the experiments of @series say; @evidence is 0 at first, and must be freed in either
 * case. 0 or -ENOMEM.
 */
static int find_evidence(const struct causal_effects *effects, const struct causal_series *series,
			 struct evidence *evidence)
{
	const struct causal_profile *profile = effects->profile;
	_cleanup_free_ bool *counted = calloc(profile->runs.n + 1, sizeof(*counted));
	struct largest largest = {};

	if (!counted)
		return -ENOMEM;
	for (size_t i = 0; i < profile->experiments.n; i++) {
		const struct causal_experiment *experiment = &profile->experiments.data[i];
		const struct causal_run *run = &profile->runs.data[experiment->run];

		if (effects->left_out[experiment->run] || !is_of(experiment, series))
			continue;
		add_largest(&largest, experiment);
		if (add_probes(evidence, run,
			       experiment->whole_run ? &experiment->with : &experiment->base))
			return -ENOMEM;
		counted[experiment->run] = true;
	}
	add_pauses(evidence, profile, counted);
	if (largest.time > 0) {
		evidence->paused = fmin(largest.delay / largest.time, 1);
		evidence->in_flight = fmin(largest.in_flight / largest.time, 1);
	}
	return 0;
}

static struct causal_refusal refusal_of(const struct causal_curve *curve,
					enum causal_refusal_kind kind)
{
	return (struct causal_refusal){
		.kind = kind,
		.target = curve->target,
		.point = curve->point,
		.also = curve->also,
		.whole_run = curve->whole_run,
		.experiments = curve->experiments,
	};
}

static int check_probe(struct causal_effects *effects, const struct causal_curve *curve,
		       const struct evidence *evidence)
{
	const struct probe_cost *most = NULL;
	double ns = 0;

	for (size_t i = 0; i < evidence->probes.n; i++) {
		const struct probe_cost *cost = &evidence->probes.data[i];

		ns += cost->ns;
		if (!most || cost->ns > most->ns)
			most = cost;
	}
	if (!most || ns <= MAX_ERROR * evidence->time)
		return 0;
	return add_refusal(effects, refusal_of(curve, CAUSAL_REFUSED_PROBE),
			   causal_text__new(
				   "probes that count visits take %.0f%% of a CPU, which would be "
				   "measured, too: '%s' is visited %.0f times a second, at %.1f us "
				   "each. Sample the point (--progress-sampled), put "
				   "DWELL_PROGRESS into the source, which costs nothing, or name a "
				   "point that is visited less often.",
				   100 * ns / evidence->time,
				   effects->profile->points.data[most->point].name,
				   most->visits * 1e9 / evidence->time,
				   most->ns / most->visits / 1000))
		       ?: 1;
}

/* What to do about pauses that failed for @reason. */
static const char *unpaused_hint(const char *reason)
{
	static const char *const hints[][2] = {
		{"no-library", "libdwell.so is not in its process: link the program dynamically, "
			       "and keep LD_PRELOAD."},
		{"blocked", "It blocks the signal: choose another one with --signal."},
		{"not-sent", "The kernel did not send it the signal."},
		{"no-slot", "More threads run at the same time than dwell can pause."},
	};

	for (size_t i = 0; i < ARRAY_SIZE(hints); i++)
		if (!strcmp(hints[i][0], reason))
			return hints[i][1];
	return "";
}

/*
 * Whether pauses that failed may change the program's speedup by more than MAX_ERROR: all that
 * failed may be of the thread that limits the program. It runs then in time that it should have
 * been paused for, which is at most the time of all pauses.
 */
static bool fail_too_often(const struct evidence *evidence)
{
	if (evidence->failed > evidence->pauses)
		return true;
	return evidence->paused > MAX_ERROR &&
	       (evidence->failed > FEW_PAUSES + MAX_ERROR * (evidence->failed + evidence->pauses) ||
		evidence->unpaid > MAX_ERROR);
}

/* Refuses for the pauses that failed. 1, 0 if they did not, or -ENOMEM. */
static int refuse_unpaused(struct causal_effects *effects, struct causal_refusal refusal,
			   const struct evidence *evidence)
{
	if (!evidence->unpaused || !fail_too_often(evidence))
		return 0;
	refusal.kind = CAUSAL_REFUSED_UNPAUSABLE;
	return add_refusal(
		       effects, refusal,
		       causal_text__new("%.0f of %.0f pauses failed, and threads that are not "
					"paused seem to be sped "
					"up. One of the threads that could not be paused is %u. %s",
					evidence->failed, evidence->failed + evidence->pauses,
					evidence->unpaused->tid,
					unpaused_hint(evidence->unpaused->reason)))
		       ?: 1;
}

int causal_refusals__find_not_hit(struct causal_effects *effects,
				  const struct causal_series_set *set)
{
	int err = 0;

	for (size_t i = 0; i < set->groups.n && !err; i++) {
		const struct causal_group *group = &set->groups.data[i];
		const struct causal_series like = {.target = group->target, .also = group->also};
		_cleanup_(evidence_free) struct evidence evidence = {};
		struct causal_refusal refusal = {
			.kind = CAUSAL_REFUSED_NOT_HIT,
			.target = group->target,
			.point = UINT32_MAX,
			.also = group->also,
			.experiments = group->experiments,
		};

		if (group->hit || !group->experiments)
			continue;
		err = find_evidence(effects, &like, &evidence);
		err = err ? err : refuse_unpaused(effects, refusal, &evidence);
		if (err) {
			err = err < 0 ? err : 0;
			continue;
		}
		err = add_refusal(
			effects, refusal,
			causal_text__new(
				"no sample fell into it in %" PRIu64
				" experiment%s, so nothing was sped up. It did not run then, takes "
				"almost no time, or is not on the stack while a function runs that "
				"it calls last (a tail call).",
				group->experiments, group->experiments == 1 ? "" : "s"));
	}
	return err;
}

/*
 * A run begins with a test of pauses: if there is one, there will be another. Profiles without any
 * are not of such runs.
 */
static int check_tested(struct causal_effects *effects, const struct causal_series *series,
			const struct causal_curve *curve)
{
	size_t n = 0;

	for (size_t i = 0; i < effects->profile->pause_tests.n; i++)
		n += !effects->left_out[effects->profile->pause_tests.data[i].run];
	if (series->whole_run || !n || n >= CAUSAL_MIN_PAUSE_TESTS)
		return 0;
	return add_refusal(
		       effects, refusal_of(curve, CAUSAL_REFUSED_UNTESTED),
		       causal_text__new(
			       "pauses alone must not change the program's speed, which has been "
			       "tested only once so far. Run it for longer, or again (runs add "
			       "up)."))
		       ?: 1;
}

/* What pause tests say the program waited for that is outside of it. */
struct outside {
	enum causal_refusal_kind kind; /* most of it */
	double share;		       /* of the time, sum of all threads */
};

static struct outside find_outside(const struct causal_effects *effects)
{
	static const enum causal_refusal_kind kinds[] = {
		[CAUSAL_OUTSIDE_REQUESTS] = CAUSAL_REFUSED_OPEN_LOAD,
		[CAUSAL_OUTSIDE_IO] = CAUSAL_REFUSED_IO,
		[CAUSAL_OUTSIDE_TIMERS] = CAUSAL_REFUSED_TIMERS,
	};
	struct outside outside = {};
	double ns[CAUSAL_OUTSIDES] = {}, time = 0, all = 0;
	int most = 0;

	for (size_t i = 0; i < effects->profile->pause_tests.n; i++) {
		const struct causal_pause_test *test = &effects->profile->pause_tests.data[i];

		if (effects->left_out[test->run])
			continue;
		for (int k = 0; k < CAUSAL_OUTSIDES; k++)
			ns[k] += (double)test->outside_ns[k];
		time += (double)test->base.duration_ns + (double)test->with.duration_ns;
	}
	for (int k = 0; k < CAUSAL_OUTSIDES; k++) {
		most = ns[k] > ns[most] ? k : most;
		all += ns[k];
	}
	outside.kind = kinds[most];
	outside.share = time > 0 ? all / time : 0;
	return outside;
}

static int refuse_outside(struct causal_effects *effects, const struct causal_curve *curve,
			  enum causal_refusal_kind kind, double paused,
			  const struct causal_pause_response *response)
{
	static const char *const reasons[] = {
		[CAUSAL_REFUSED_OPEN_LOAD] =
			"Requests come from outside of the command, and do not wait for its "
			"pauses. "
			"Start the clients in the command as well, so that they are paused, too: "
			"dwell causal run -- sh -c './server & ./clients'.",
		[CAUSAL_REFUSED_IO] =
			"Input and output that the program has begun goes on during pauses, so a "
			"faster target would wait for it longer than could be measured.",
		[CAUSAL_REFUSED_TIMERS] = "Timers of the program go on during pauses.",
	};

	return add_refusal(
		       effects, refusal_of(curve, kind),
		       causal_text__new(
			       "pausing the whole program must not change its speed in effective "
			       "time, but does: with everything paused for %.0f%% of the time, "
			       "%.0f%% (%.0f..%.0f) of the pauses did not slow it down. Up to %.0f "
			       "points of this target's effect would be due to that. %s",
			       100 * response->share, 100 * fmin(response->gain, 1),
			       100 * response->low, 100 * fmin(response->high, 1),
			       100 * fmin(response->high, 1) * paused, reasons[kind]))
		       ?: 1;
}

static bool seems_closed(const struct causal_pause_response *response, double paused)
{
	return response->known && response->gain * paused <= MAX_ERROR &&
	       response->high <= OPEN_GAIN;
}

/*
 * Something that the program waits for goes on during pauses. A program that waits for nothing
 * outside may respond to pauses as well, where other programs fill the CPUs: it would have had to
 * wait for these anyway. Where it waits for requests, it is not taken for closed before tests show
 * that: the larger the pauses, the less an open load is slowed down by them.
 */
static int check_outside(struct causal_effects *effects, const struct causal_series *series,
			 const struct causal_curve *curve, const struct evidence *evidence,
			 const struct causal_pause_response *response)
{
	const struct outside outside = find_outside(effects);

	if (outside.share <= MAX_ERROR)
		return 0;
	/* Where requests come by timers, latencies are right if the target is most of them. */
	if (series->latency && outside.kind == CAUSAL_REFUSED_TIMERS)
		return 0;
	if (response->known && response->low * evidence->paused > MAX_ERROR)
		return refuse_outside(effects, curve, outside.kind, evidence->paused, response);
	if (outside.kind != CAUSAL_REFUSED_OPEN_LOAD || series->whole_run ||
	    seems_closed(response, evidence->paused))
		return 0;
	return add_refusal(
		       effects, refusal_of(curve, CAUSAL_REFUSED_UNTESTED),
		       causal_text__new(
			       "the program waits for requests from outside of the command for "
			       "%.0f%% of the time, and has not been paused often enough to know "
			       "whether these wait for its pauses. Run it for longer, or again "
			       "(runs add up), or start the clients in the command as well.",
			       100 * fmin(outside.share, 1)))
		       ?: 1;
}

static int check_io(struct causal_effects *effects, const struct causal_curve *curve,
		    const struct evidence *evidence)
{
	if (evidence->in_flight <= MAX_ERROR)
		return 0;
	return add_refusal(effects, refusal_of(curve, CAUSAL_REFUSED_IO),
			   causal_text__new(
				   "asynchronous I/O was in flight during %.0f%% of the pauses of "
				   "the virtual speedup. Pauses do not stop it, so it is not known "
				   "how long a faster target would have to wait for it.",
				   100 * evidence->in_flight / evidence->paused))
		       ?: 1;
}

static int check_fluctuation(struct causal_effects *effects, const struct causal_series *series,
			     const struct causal_curve *curve)
{
	double scatter;

	if (series->whole_run || series->latency || curve->slope_low > 0 || curve->slope_high < 0 ||
	    curve->slope_high - curve->slope_low < WIDE_INTERVAL)
		return 0;
	scatter = causal_fluctuation__find(effects, series, curve);
	if (isnan(scatter))
		return -ENOMEM;
	if (scatter <= MAX_FLUCTUATION)
		return 0;
	return add_refusal(effects, refusal_of(curve, CAUSAL_REFUSED_FLUCTUATION),
			   causal_text__new("the program's speed changes by itself, typically by a "
					    "factor of %.1f from one half of an experiment to the "
					    "next, so it is not known whether this target has an "
					    "effect. Make halves longer than the phases of the "
					    "program (--experiment 5s), and run it for longer.",
					    exp(scatter)))
		       ?: 1;
}

int causal_refusals__check(struct causal_effects *effects, const struct causal_series *series,
			   const struct causal_curve *curve,
			   const struct causal_pause_response *response)
{
	const struct causal_experiment like = {.target = series->target, .whole_run = true};
	_cleanup_(evidence_free) struct evidence evidence = {};
	int refused = find_evidence(effects, series, &evidence);

	if (!refused && series->whole_run && !has_hit(effects->profile, effects, &like))
		refused = add_refusal(effects, refusal_of(curve, CAUSAL_REFUSED_NOT_HIT),
				      causal_text__new("no sample fell into it in any run, so "
						       "nothing was sped up."))
				  ?: 1;
	refused = refused
			  ?: refuse_unpaused(effects, refusal_of(curve, CAUSAL_REFUSED_UNPAUSABLE),
					     &evidence);
	refused = refused ?: check_probe(effects, curve, &evidence);
	refused = refused ?: check_io(effects, curve, &evidence);
	refused = refused ?: check_tested(effects, series, curve);
	refused = refused ?: check_outside(effects, series, curve, &evidence, response);
	return refused ?: check_fluctuation(effects, series, curve);
}

static bool is_refused(const struct causal_effects *effects, uint32_t target)
{
	for (size_t i = 0; i < effects->refusals.n; i++)
		if (effects->refusals.data[i].target == target)
			return true;
	return false;
}

/* Whether @speedup is @wanted, or any is: 0. */
static bool is_wanted(double speedup, double wanted)
{
	return !(wanted > 0) || fabs(speedup - wanted) < CAUSAL_SPEEDUP_STEP;
}

/* @speedup is 0 for any. */
static bool has_result(const struct causal_effects *effects, uint32_t target, double speedup)
{
	for (size_t i = 0; i < effects->curves.n; i++) {
		const struct causal_curve *curve = &effects->curves.data[i];

		for (size_t k = 0; k < curve->results.n && curve->target == target; k++)
			if (is_wanted(curve->results.data[k].speedup, speedup))
				return true;
	}
	return false;
}

/* Lists @target and @speedup (0: any) as empty if they have no result. 0 or -ENOMEM. */
static int check_cell(struct causal_effects *effects, uint32_t target, double speedup)
{
	const struct causal_profile *profile = effects->profile;
	struct causal_empty_cell cell = {.target = target, .speedup = speedup};

	if (has_result(effects, target, speedup))
		return 0;
	for (size_t i = 0; i < effects->empty.n; i++)
		if (effects->empty.data[i].target == target &&
		    fabs(effects->empty.data[i].speedup - speedup) < CAUSAL_SPEEDUP_STEP)
			return 0;
	for (size_t i = 0; i < profile->experiments.n; i++)
		cell.experiments += profile->experiments.data[i].target == target &&
				    is_wanted(profile->experiments.data[i].speedup, speedup) &&
				    !effects->left_out[profile->experiments.data[i].run];
	return array__push(&effects->empty, cell);
}

static int check_request(struct causal_effects *effects, const struct causal_request *request)
{
	int err = 0;

	if (is_refused(effects, request->target))
		return 0;
	for (uint32_t i = 0; i < request->n_speedups && !err; i++)
		if (request->speedups[i] > 0)
			err = check_cell(effects, request->target, request->speedups[i]);
	return request->n_speedups ? err : check_cell(effects, request->target, 0);
}

int causal_refusals__find_empty(struct causal_effects *effects)
{
	const struct causal_profile *profile = effects->profile;
	int err = 0;

	for (size_t i = 0; i < profile->runs.n; i++) {
		const struct causal_run *run = &profile->runs.data[i];

		for (size_t k = 0; k < run->requests.n && !effects->left_out[i] && !err; k++)
			err = check_request(effects, &run->requests.data[k]);
	}
	return err;
}
