// SPDX-License-Identifier: BSD-2-Clause
#include "render/causal/causal_verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "recording/wait_class.h"
#include "render/format.h"

/* Program speedups above this are not expressed as a factor. */
#define MAX_SPEEDUP 0.99

static void append_class(const char *name, char *text, size_t size)
{
	int class = wait_class__find(name);

	if (class >= 0 && wait_class__info(class)->words)
		format__append(text, size, "%s", wait_class__info(class)->words);
	else
		format__append(text, size, "waiting (%s)", name);
}

/* Whether another target differs only in whether callees are included. */
static bool has_twin(const struct causal_profile *profile, uint32_t index)
{
	const struct causal_target *target = &profile->targets.data[index];

	for (size_t i = 0; i < profile->targets.n; i++) {
		const struct causal_target *other = &profile->targets.data[i];

		if (other->inclusive != target->inclusive && other->kind == target->kind &&
		    !strcmp(other->name, target->name) && other->line == target->line &&
		    !strcmp(other->file, target->file) && !strcmp(other->caller, target->caller))
			return true;
	}
	return false;
}

static void append_target_label(const struct causal_profile *profile, uint32_t index, char *text,
				size_t size)
{
	const struct causal_target *target = &profile->targets.data[index];

	*text = '\0';
	if (target->kind == CAUSAL_CLASS)
		append_class(target->name, text, size);
	else
		format__append(text, size, "%s", target->name);
	if (target->kind == CAUSAL_LINE && *target->function)
		format__append(text, size, " (%s)", target->function);
	if (has_twin(profile, index))
		format__append(text, size,
			       target->inclusive ? ", with what it calls"
						 : ", without what it calls");
	if (*target->caller)
		format__append(text, size, ", called from %s", target->caller);
}

void causal_label__curve(const struct causal_profile *profile, const struct causal_curve *curve,
			 char *text, size_t size)
{
	append_target_label(profile, curve->target, text, size);
	if (*curve->also)
		format__append(text, size, ", once %s is done", curve->also);
}

void causal_label__refusal(const struct causal_profile *profile,
			   const struct causal_refusal *refusal, char *text, size_t size)
{
	append_target_label(profile, refusal->target, text, size);
	if (*refusal->also)
		format__append(text, size, ", once %s is done", refusal->also);
	if (refusal->point != UINT32_MAX)
		format__append(text, size, " at %s", profile->points.data[refusal->point].name);
}

void causal_label__point(const struct causal_point *point, char *text, size_t size)
{
	static const char *const words[] = {
		[CAUSAL_THROUGHPUT] = "Throughput at %s",
		[CAUSAL_LATENCY] = "Latency of %s",
		[CAUSAL_SAMPLED] = "Throughput at %s, by samples",
		[CAUSAL_END_TO_END] = "Time of the whole run (%s)",
	};

	snprintf(text, size, words[point->kind], point->name);
}

double causal_label__throughput_factor(double program_speedup)
{
	return program_speedup < MAX_SPEEDUP ? 1 / (1 - program_speedup) : 0;
}

/* Whether there are enough results to fit the curve's shape. */
static bool is_shaped(const struct causal_curve *curve)
{
	return curve->results.n >= CAUSAL_SHAPE_RESULTS;
}

/* The result for @speedup, the next larger one that was tried, or the largest. */
static struct causal_quote measured_quote(const struct causal_curve *curve, double speedup)
{
	const struct causal_result *result = curve->results.data;

	while (result->speedup < speedup && result < &curve->results.data[curve->results.n - 1])
		result++;
	return (struct causal_quote){result->speedup, result->program_speedup, result->low,
				     result->high};
}

static struct causal_quote sure_quote(const struct causal_curve *curve, struct causal_quote quote);

static struct causal_quote best_quote(const struct causal_curve *curve)
{
	if (curve->shape == CAUSAL_PLATEAU)
		return (struct causal_quote){curve->plateau_at, curve->plateau_gain,
					     curve->plateau_low, curve->plateau_high};
	if (curve->shape == CAUSAL_CONTENTION)
		return (struct causal_quote){1, curve->slope, curve->slope_low, curve->slope_high};
	if (curve->shape == CAUSAL_GAIN && !is_shaped(curve))
		return measured_quote(curve, 1);
	return (struct causal_quote){curve->best_at, curve->best, curve->best_low,
				     curve->best_high};
}

struct causal_quote causal_verdict__quote(const struct causal_curve *curve)
{
	return sure_quote(curve, best_quote(curve));
}

/* The point of a curve that a sentence begins with: its knee, 50%, or the best one. */
static struct causal_quote first_quote(const struct causal_curve *curve)
{
	if (curve->shape == CAUSAL_PLATEAU)
		return causal_verdict__quote(curve);
	if (!is_shaped(curve))
		return measured_quote(curve, 0.5);
	if (curve->fit.knee > 0 || curve->best_at < 0.5)
		return causal_verdict__quote(curve);
	return (struct causal_quote){0.5, 0.5 * curve->slope, 0.5 * curve->slope_low,
				     0.5 * curve->slope_high};
}

/*
 * @quote, or where its interval spans zero, the same speedup on the straight line, whose interval
 * does not if the curve is sure.
 */
static struct causal_quote sure_quote(const struct causal_curve *curve, struct causal_quote quote)
{
	if (quote.low > 0 || curve->shape == CAUSAL_CONTENTION || curve->shape == CAUSAL_UNSURE ||
	    curve->shape == CAUSAL_NO_EFFECT)
		return quote;
	return (struct causal_quote){quote.speedup, quote.speedup * curve->slope,
				     quote.speedup * curve->slope_low,
				     quote.speedup * curve->slope_high};
}

static void append_interval(const struct causal_quote *quote, char *text, size_t size)
{
	format__append(text, size, "%.0f%% (%.0f..%.0f)", format__whole_percent(quote->value),
		       format__whole_percent(quote->low), format__whole_percent(quote->high));
}

/* "Making X 50% faster would" */
static void append_change(const struct causal_effects *effects, const struct causal_curve *curve,
			  double speedup, char *text, size_t size)
{
	const struct causal_target *target = &effects->profile->targets.data[curve->target];
	bool waiting = target->kind == CAUSAL_CLASS && strcmp(target->name, "cpu") != 0;
	char name[512];

	append_target_label(effects->profile, curve->target, name, sizeof(name));
	if (*curve->also)
		format__append(text, size, "Once %s is done, making ", curve->also);
	else
		format__append(text, size, "Making ");
	format__append(text, size, "%s %.0f%% %s would ", name, 100 * speedup,
		       waiting ? "shorter" : "faster");
}

static void append_effect(const struct causal_point *point, const struct causal_quote *quote,
			  char *text, size_t size)
{
	double factor = causal_label__throughput_factor(quote->value);

	switch (point->kind) {
	case CAUSAL_THROUGHPUT:
	case CAUSAL_SAMPLED:
		format__append(text, size, "make the program ");
		append_interval(quote, text, size);
		format__append(text, size, " faster at %s", point->name);
		if (factor > 0)
			format__append(text, size, ", which is x%.2f the throughput", factor);
		break;
	case CAUSAL_LATENCY:
		format__append(text, size, "make %s ", point->name);
		append_interval(quote, text, size);
		format__append(text, size, " shorter");
		break;
	case CAUSAL_END_TO_END:
		format__append(text, size, "make the whole run ");
		append_interval(quote, text, size);
		format__append(text, size, " shorter");
		break;
	}
}

static void write_gain(const struct causal_effects *effects, const struct causal_curve *curve,
		       char *text, size_t size)
{
	const struct causal_point *point = &effects->profile->points.data[curve->point];
	const struct causal_quote quote = sure_quote(curve, first_quote(curve));
	const struct causal_quote most = causal_verdict__quote(curve);

	*text = '\0';
	append_change(effects, curve, quote.speedup, text, size);
	append_effect(point, &quote, text, size);
	if (curve->shape == CAUSAL_PLATEAU)
		format__append(
			text, size,
			"; more than that does not help: something else becomes critical then.");
	else if (curve->fit.knee > 0 || quote.speedup > most.speedup - 0.1)
		format__append(text, size, ".");
	else
		format__append(text, size, "; %.0f%% faster, %.0f%%.", 100 * most.speedup,
			       100 * most.value);
}

static void write_contention(const struct causal_effects *effects, const struct causal_curve *curve,
			     char *text, size_t size)
{
	char name[512];

	causal_label__curve(effects->profile, curve, name, sizeof(name));
	*text = '\0';
	format__append(text, size,
		       "%s causes contention: the faster it is, the slower the program at %s "
		       "(%.0f%% (%.0f..%.0f) if it took no time). Do less of it, or less of it in "
		       "parallel.",
		       name, effects->profile->points.data[curve->point].name, 100 * curve->slope,
		       100 * curve->slope_low, 100 * curve->slope_high);
}

static bool is_gain(const struct causal_curve *curve)
{
	return curve->shape == CAUSAL_GAIN || curve->shape == CAUSAL_PLATEAU;
}

static size_t count(const struct causal_effects *effects, enum causal_shape shape)
{
	size_t n = 0;

	for (size_t i = 0; i < effects->curves.n; i++)
		n += effects->curves.data[i].shape == shape;
	return n;
}

/* Writes the first gain, or contention, of each progress point. Returns their number. */
static size_t write_first(const struct causal_effects *effects, bool gains,
			  void (*each)(void *context, const char *text), void *context)
{
	char text[CAUSAL_LABEL_SIZE];
	size_t n = 0;

	for (size_t i = 0; i < effects->curves.n; i++) {
		const struct causal_curve *curve = &effects->curves.data[i];
		bool first = gains ? is_gain(curve) : curve->shape == CAUSAL_CONTENTION;

		for (size_t k = 0; k < i && first; k++)
			first = effects->curves.data[k].point != curve->point ||
				is_gain(&effects->curves.data[k]) != gains;
		if (!first)
			continue;
		if (gains)
			write_gain(effects, curve, text, sizeof(text));
		else
			write_contention(effects, curve, text, sizeof(text));
		each(context, text);
		n++;
	}
	return n;
}

/* The sentence for a profile without gains and contention. */
static void write_no_gain(const struct causal_effects *effects, char *text, size_t size)
{
	size_t none = count(effects, CAUSAL_NO_EFFECT), unsure = count(effects, CAUSAL_UNSURE);
	const struct causal_curve *best = NULL;
	char name[512];

	*text = '\0';
	for (size_t i = 0; i < effects->curves.n && !best; i++)
		if (effects->curves.data[i].shape == CAUSAL_UNSURE)
			best = &effects->curves.data[i];
	if (best && best->best_low <= 0) {
		format__append(text, size,
			       "Not sure yet: the experiments do not show whether any of %zu "
			       "target%s affects the program.",
			       unsure, unsure == 1 ? "" : "s");
	} else if (best) {
		causal_label__curve(effects->profile, best, name, sizeof(name));
		format__append(
			text, size,
			"Not sure yet. The most promising of %zu target%s is %s: up to %.0f%% "
			"(%.0f..%.0f) faster at %s.",
			unsure, unsure == 1 ? "" : "s", name, format__whole_percent(best->best),
			format__whole_percent(best->best_low),
			format__whole_percent(best->best_high),
			effects->profile->points.data[best->point].name);
	} else if (none) {
		format__append(
			text, size,
			"No target that was tried (%zu) limits the program. It may be waiting for "
			"something: see dwell causal run --class, and dwell waits.",
			none);
	} else if (effects->refusals.n) {
		format__append(text, size,
			       "Nothing can be predicted: the reasons are below, with what to do.");
	} else {
		format__append(text, size, "There are no results yet.");
	}
}

void causal_verdict__sentences(const struct causal_effects *effects,
			       void (*each)(void *context, const char *text), void *context)
{
	char text[CAUSAL_LABEL_SIZE];
	size_t gains = write_first(effects, true, each, context);
	size_t contentions = write_first(effects, false, each, context);

	if (gains || contentions)
		return;
	write_no_gain(effects, text, sizeof(text));
	each(context, text);
}
