// SPDX-License-Identifier: BSD-2-Clause
/*
 * Profiles in Coz's formats: a line for each experiment, followed by one for each progress
 * point. Coz's viewer adds up durations and visits by speedup, and compares with speedup 0.
 * So each half is written as an experiment, and base halves have a speedup of 0.
 *
 * In JSON lines, Coz writes "throughput_point" and "latency_point". But its viewers expect
 * "latency-point", and the older ones "throughput-point", too. All of them read these.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "render/causal/causal_views.h"
#include "render/causal/causal_verdict.h"
#include "render/format.h"
#include "render/json.h"

#define DEFAULT_PERIOD 1000000

struct coz {
	const struct causal_profile *profile;
	FILE *to;
	bool json;
	/*
	 * The number of requests in progress is an integer in the older format. The rounding
	 * error is carried to the next experiment with the same target, point and speedup,
	 * because the viewer takes their mean.
	 */
	struct intern cells;
	ARRAY(double) remainders;
	int err;
};

/* Prints a field of a line, with tabs and newlines replaced. */
static void put_field(const struct coz *coz, const char *text)
{
	for (; *text; text++)
		fputc((unsigned char)*text < ' ' ? ' ' : *text, coz->to);
}

static void put_json(struct coz *coz, json_t *line)
{
	if (!line || json_dumpf(line, coz->to, JSON_COMPACT | JSON_REAL_PRECISION(9)))
		coz->err = -ENOMEM;
	json_decref(line);
	fputc('\n', coz->to);
}

static uint64_t effective(const struct causal_half *half)
{
	return half->duration_ns > half->delay_ns ? half->duration_ns - half->delay_ns : 0;
}

static uint64_t period_of(const struct coz *coz, uint32_t run)
{
	uint64_t period = coz->profile->runs.data[run].period_ns;

	return period ? period : DEFAULT_PERIOD;
}

/* Experiments with --also are separate curves, so their name includes it. */
static void name_of(const struct coz *coz, const struct causal_experiment *experiment, char *text,
		    size_t size)
{
	const struct causal_curve curve = {.target = experiment->target, .also = experiment->also};
	const struct causal_target *target = &coz->profile->targets.data[experiment->target];

	/* The viewer shows the source of FILE:LINE. */
	if (target->kind == CAUSAL_LINE && *target->file && !*target->caller && !*experiment->also)
		snprintf(text, size, "%s:%" PRIu32, target->file, target->line);
	else
		causal_label__curve(coz->profile, &curve, text, size);
}

static void put_experiment(struct coz *coz, const struct causal_experiment *experiment,
			   const struct causal_half *half, double speedup)
{
	uint64_t samples = half->hit_ns / period_of(coz, experiment->run);
	char name[CAUSAL_LABEL_SIZE];

	name_of(coz, experiment, name, sizeof(name));
	if (coz->json) {
		put_json(coz, json_pack("{ss so sf so so}", "type", "experiment", "selected",
					json__text(name), "speedup", speedup, "duration",
					json__number(effective(half)), "selected_samples",
					json__number(samples)));
		return;
	}
	fputs("experiment\tselected=", coz->to);
	put_field(coz, name);
	fprintf(coz->to, "\tspeedup=%.4g\tduration=%" PRIu64 "\tselected-samples=%" PRIu64 "\n",
		speedup, effective(half), samples);
}

static void put_visits(struct coz *coz, const char *name, uint64_t visits)
{
	if (coz->json) {
		put_json(coz, json_pack("{ss so so}", "type", "throughput-point", "name",
					json__text(name), "delta", json__number(visits)));
		return;
	}
	fputs("throughput-point\tname=", coz->to);
	put_field(coz, name);
	fprintf(coz->to, "\tdelta=%" PRIu64 "\n", visits);
}

/* @in_progress rounded to an integer so that the mean of its cell is right. */
static double rounded(struct coz *coz, const struct causal_experiment *experiment, uint32_t point,
		      double speedup, double time, double in_progress)
{
	const uint64_t key[] = {experiment->target, point, (uint64_t)llround(1e4 * speedup),
				hash__bytes(experiment->also, strlen(experiment->also))};
	int64_t cell = intern__id(&coz->cells, key, sizeof(key), NULL);
	double whole;

	if (cell < 0 ||
	    (cell == (int64_t)coz->remainders.n && array__push(&coz->remainders, 0.0))) {
		coz->err = -ENOMEM;
		return 0;
	}
	in_progress += time > 0 ? coz->remainders.data[cell] / time : 0;
	whole = fmax(round(in_progress), 0);
	coz->remainders.data[cell] = (in_progress - whole) * time;
	return whole;
}

static void put_latency(struct coz *coz, const struct causal_experiment *experiment,
			const struct causal_half *half, const struct causal_visits *visits,
			double speedup)
{
	const char *name = coz->profile->points.data[visits->point].name;
	double time = (double)effective(half);
	double in_progress = time > 0 ? visits->occupied_ns / time : 0;

	if (coz->json) {
		put_json(coz, json_pack("{ss so so so sf}", "type", "latency-point", "name",
					json__text(name), "arrivals", json__number(visits->visits),
					"departures", json__number(visits->ends), "difference",
					in_progress));
		return;
	}
	fputs("latency-point\tname=", coz->to);
	put_field(coz, name);
	fprintf(coz->to, "\tarrivals=%" PRIu64 "\tdepartures=%" PRIu64 "\tdifference=%.0f\n",
		visits->visits, visits->ends,
		rounded(coz, experiment, visits->point, speedup, time, in_progress));
}

static const struct causal_visits *visits_of(const struct causal_half *half, uint32_t point)
{
	static const struct causal_visits none;

	for (uint32_t i = 0; i < half->n_points; i++)
		if (half->points[i].point == point)
			return &half->points[i];
	return &none;
}

/* Prints a half with all points visited in either half: without visits its time still counts. */
static void put_half(struct coz *coz, const struct causal_experiment *experiment,
		     const struct causal_half *half, double speedup)
{
	put_experiment(coz, experiment, half, speedup);
	for (uint32_t i = 0; i < coz->profile->points.n; i++) {
		const struct causal_point *point = &coz->profile->points.data[i];
		struct causal_visits visits = *visits_of(half, i);

		if (point->kind == CAUSAL_END_TO_END && experiment->whole_run)
			visits.visits = 1;
		if (!visits.visits && !visits_of(&experiment->base, i)->visits &&
		    !visits_of(&experiment->with, i)->visits)
			continue;
		visits.point = i;
		if (point->kind == CAUSAL_LATENCY)
			put_latency(coz, experiment, half, &visits, speedup);
		else if (point->kind == CAUSAL_SAMPLED)
			put_visits(coz, point->name,
				   visits.visits / period_of(coz, experiment->run));
		else
			put_visits(coz, point->name, visits.visits);
	}
}

static void put_begin(struct coz *coz, const struct causal_run *run)
{
	if (coz->json)
		put_json(coz, json_pack("{ss so}", "type", "startup", "time",
					json__number(run->start_realtime)));
	else
		fprintf(coz->to, "startup\ttime=%" PRIu64 "\n", run->start_realtime);
}

static void put_samples(struct coz *coz, const struct causal_place *place, uint64_t samples)
{
	char name[CAUSAL_LABEL_SIZE];

	if (*place->file)
		snprintf(name, sizeof(name), "%s:%" PRIu32, place->file, place->line);
	else
		snprintf(name, sizeof(name), "%s", place->function);
	if (coz->json) {
		put_json(coz, json_pack("{ss so so}", "type", "samples", "location",
					json__text(name), "count", json__number(samples)));
		return;
	}
	fputs("samples\tlocation=", coz->to);
	put_field(coz, name);
	fprintf(coz->to, "\tcount=%" PRIu64 "\n", samples);
}

static void put_end(struct coz *coz, uint32_t index)
{
	const struct causal_run *run = &coz->profile->runs.data[index];

	if (coz->json)
		put_json(coz, json_pack("{ss so}", "type", "runtime", "time",
					json__number(run->runtime_ns)));
	else
		fprintf(coz->to, "runtime\ttime=%" PRIu64 "\n", run->runtime_ns);
	for (size_t i = 0; i < run->places.n; i++)
		put_samples(coz, &run->places.data[i],
			    run->places.data[i].ns / period_of(coz, index));
}

static int print_profile(struct coz *coz)
{
	const struct causal_profile *profile = coz->profile;

	for (uint32_t run = 0; run < profile->runs.n; run++)
		put_begin(coz, &profile->runs.data[run]);
	for (size_t i = 0; i < profile->experiments.n && !coz->err; i++) {
		const struct causal_experiment *experiment = &profile->experiments.data[i];

		if (!experiment->whole_run)
			put_half(coz, experiment, &experiment->base, 0);
		put_half(coz, experiment, &experiment->with, experiment->speedup);
	}
	for (uint32_t run = 0; run < profile->runs.n; run++)
		if (profile->runs.data[run].runtime_ns)
			put_end(coz, run);
	intern__free(&coz->cells);
	array__free(&coz->remainders);
	return coz->err;
}

int causal_coz__print(const struct causal_profile *profile, FILE *to)
{
	struct coz coz = {.profile = profile, .to = to};

	return print_profile(&coz);
}

int causal_coz__print_jsonl(const struct causal_profile *profile, FILE *to)
{
	struct coz coz = {.profile = profile, .to = to, .json = true};

	return print_profile(&coz);
}
