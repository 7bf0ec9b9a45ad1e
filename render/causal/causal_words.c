// SPDX-License-Identifier: BSD-2-Clause
#include "render/causal/causal_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "recording/wait_class.h"

/* A program speedup nearer to 1 is not told as a factor. */
#define MOST_SPEEDUP 0.99

static void __attribute__((format(printf, 3, 4))) say(char *text, size_t size, const char *fmt, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, fmt);
	if (used < size)
		vsnprintf(text + used, size - used, fmt, args);
	va_end(args);
}

static void say_class(const char *name, char *text, size_t size)
{
	int class = wait_class__find(name);

	if (class >= 0 && wait_class__info(class)->words)
		say(text, size, "%s", wait_class__info(class)->words);
	else
		say(text, size, "waiting (%s)", name);
}

/* Whether there is a target that differs only in whether what it calls belongs to it. */
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

void causal_words__target(const struct causal_profile *profile, uint32_t index, char *text,
			  size_t size)
{
	const struct causal_target *target = &profile->targets.data[index];

	*text = '\0';
	if (target->kind == CAUSAL_CLASS)
		say_class(target->name, text, size);
	else
		say(text, size, "%s", target->name);
	if (target->kind == CAUSAL_LINE && *target->function)
		say(text, size, " (%s)", target->function);
	if (has_twin(profile, index))
		say(text, size,
		    target->inclusive ? ", with what it calls" : ", without what it calls");
	if (*target->caller)
		say(text, size, ", called from %s", target->caller);
}

void causal_words__curve(const struct causal_profile *profile, const struct causal_curve *curve,
			 char *text, size_t size)
{
	causal_words__target(profile, curve->target, text, size);
	if (*curve->also)
		say(text, size, ", once %s is done", curve->also);
}

void causal_words__point(const struct causal_point *point, char *text, size_t size)
{
	static const char *const words[] = {
		[CAUSAL_THROUGHPUT] = "Throughput at %s",
		[CAUSAL_LATENCY] = "Latency of %s",
		[CAUSAL_SAMPLED] = "Throughput at %s, by samples",
		[CAUSAL_END_TO_END] = "Time of the whole run (%s)",
	};

	snprintf(text, size, words[point->kind], point->name);
}

double causal_words__times(double program_speedup)
{
	return program_speedup < MOST_SPEEDUP ? 1 / (1 - program_speedup) : 0;
}

/* What a curve has at a speedup. */
struct quote {
	double speedup;
	double value, low, high;
};

/* Whether there is more to a curve than its single results. */
static bool is_shaped(const struct causal_curve *curve)
{
	return curve->results.n >= CAUSAL_SHAPE_RESULTS;
}

/* What was measured at half, or more than that if half was not tried. */
static struct quote measured_quote(const struct causal_curve *curve)
{
	const struct causal_result *result = curve->results.data;

	while (result->speedup < 0.5 && result < &curve->results.data[curve->results.n - 1])
		result++;
	return (struct quote){result->speedup, result->program_speedup, result->low, result->high};
}

/* The speedup of a curve that is worth to be told: its knee, or half, or the best there is. */
static struct quote quote_of(const struct causal_curve *curve)
{
	struct quote quote = {curve->best_at, curve->best, curve->best_low, curve->best_high};

	if (curve->shape == CAUSAL_PLATEAU)
		return (struct quote){curve->plateau_at, curve->plateau_gain, curve->plateau_low,
				      curve->plateau_high};
	if (!is_shaped(curve))
		return measured_quote(curve);
	if (curve->fit.knee > 0 || curve->best_at < 0.5)
		return quote;
	return (struct quote){0.5, 0.5 * curve->slope, 0.5 * curve->slope_low,
			      0.5 * curve->slope_high};
}

static void say_interval(const struct quote *quote, char *text, size_t size)
{
	say(text, size, "%.0f%% (%.0f..%.0f)", 100 * quote->value, 100 * quote->low,
	    100 * quote->high);
}

/* "Making X 50 % faster would" */
static void say_cause(const struct causal_effects *effects, const struct causal_curve *curve,
		      double speedup, char *text, size_t size)
{
	const struct causal_target *target = &effects->profile->targets.data[curve->target];
	bool waiting = target->kind == CAUSAL_CLASS && strcmp(target->name, "cpu") != 0;
	char name[512];

	causal_words__target(effects->profile, curve->target, name, sizeof(name));
	if (*curve->also)
		say(text, size, "Once %s is done, making ", curve->also);
	else
		say(text, size, "Making ");
	say(text, size, "%s %.0f%% %s would ", name, 100 * speedup, waiting ? "shorter" : "faster");
}

static void say_effect(const struct causal_point *point, const struct quote *quote, char *text,
		       size_t size)
{
	double times = causal_words__times(quote->value);

	switch (point->kind) {
	case CAUSAL_THROUGHPUT:
	case CAUSAL_SAMPLED:
		say(text, size, "make the program ");
		say_interval(quote, text, size);
		say(text, size, " faster at %s", point->name);
		if (times > 0)
			say(text, size, ", which is x%.2f the throughput", times);
		break;
	case CAUSAL_LATENCY:
		say(text, size, "make %s ", point->name);
		say_interval(quote, text, size);
		say(text, size, " shorter");
		break;
	case CAUSAL_END_TO_END:
		say(text, size, "make the whole run ");
		say_interval(quote, text, size);
		say(text, size, " shorter");
		break;
	}
}

static void say_gain(const struct causal_effects *effects, const struct causal_curve *curve,
		     char *text, size_t size)
{
	const struct causal_point *point = &effects->profile->points.data[curve->point];
	const struct quote quote = quote_of(curve);
	const struct causal_result *last = &curve->results.data[curve->results.n - 1];

	*text = '\0';
	say_cause(effects, curve, quote.speedup, text, size);
	say_effect(point, &quote, text, size);
	if (curve->shape == CAUSAL_PLATEAU)
		say(text, size,
		    "; more than that does not help: something else becomes critical then.");
	else if (curve->fit.knee > 0 || quote.speedup > last->speedup - 0.1)
		say(text, size, ".");
	else
		say(text, size, "; %.0f%% faster, %.0f%%.", 100 * last->speedup,
		    100 * (is_shaped(curve) ? curve->best : last->program_speedup));
}

static void say_contention(const struct causal_effects *effects, const struct causal_curve *curve,
			   char *text, size_t size)
{
	char name[512];

	causal_words__curve(effects->profile, curve, name, sizeof(name));
	*text = '\0';
	say(text, size,
	    "%s gets in the way: the faster it is, the slower the program at %s (%.0f%% "
	    "(%.0f..%.0f) if it took no time). That is contention: have less of it, or less of it "
	    "at once.",
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

/* The first of a kind for each point. */
static size_t say_first(const struct causal_effects *effects, bool gains,
			void (*each)(void *context, const char *text), void *context)
{
	char text[CAUSAL_WORDS];
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
			say_gain(effects, curve, text, sizeof(text));
		else
			say_contention(effects, curve, text, sizeof(text));
		each(context, text);
		n++;
	}
	return n;
}

/* Without any gain: what else there is. */
static void say_nothing(const struct causal_effects *effects, char *text, size_t size)
{
	size_t none = count(effects, CAUSAL_NO_EFFECT), unsure = count(effects, CAUSAL_UNSURE);
	const struct causal_curve *best = NULL;
	char name[512];

	*text = '\0';
	for (size_t i = 0; i < effects->curves.n && !best; i++)
		if (effects->curves.data[i].shape == CAUSAL_UNSURE)
			best = &effects->curves.data[i];
	if (best) {
		causal_words__curve(effects->profile, best, name, sizeof(name));
		say(text, size,
		    "Not sure yet. Of %zu to be seen, the most promising is %s: up to %.0f%% "
		    "(%.0f..%.0f) faster at %s.",
		    unsure, name, 100 * best->best, 100 * best->best_low, 100 * best->best_high,
		    effects->profile->points.data[best->point].name);
	} else if (none) {
		say(text, size,
		    "Nothing that was sped up makes the program faster: what limits it is none of "
		    "the "
		    "%zu that were tried. It may wait for something: see dwell causal run --class, "
		    "and "
		    "dwell waits.",
		    none);
	} else {
		say(text, size, "There is nothing to be said yet.");
	}
}

void causal_words__verdict(const struct causal_effects *effects,
			   void (*each)(void *context, const char *text), void *context)
{
	char text[CAUSAL_WORDS];
	size_t gains = say_first(effects, true, each, context);
	size_t contentions = say_first(effects, false, each, context);

	if (gains || contentions)
		return;
	say_nothing(effects, text, sizeof(text));
	each(context, text);
}
