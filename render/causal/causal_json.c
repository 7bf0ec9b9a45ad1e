// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "render/causal/causal_views.h"
#include "render/causal/causal_verdict.h"
#include "render/json.h"

/* The places with the most samples that are listed. */
#define MAX_PLACES 100

static json_t *points_json(const struct causal_profile *profile)
{
	json_t *points = json_array();

	for (size_t i = 0; i < profile->points.n; i++) {
		const struct causal_point *point = &profile->points.data[i];
		json_t *entry = json_object();

		json_object_set_new(entry, "name", json__text(point->name));
		json_object_set_new(entry, "kind",
				    json_string(causal_point_kind__name(point->kind)));
		json_array_append_new(points, entry);
	}
	return points;
}

static json_t *results_json(const struct causal_curve *curve)
{
	json_t *results = json_array();

	for (size_t i = 0; i < curve->results.n; i++) {
		const struct causal_result *result = &curve->results.data[i];
		json_t *entry = json_object();

		json_object_set_new(entry, "speedup", json_real(result->speedup));
		json_object_set_new(entry, "program_speedup", json_real(result->program_speedup));
		json_object_set_new(entry, "low", json_real(result->low));
		json_object_set_new(entry, "high", json_real(result->high));
		json_object_set_new(entry, "experiments", json__number(result->experiments));
		json_object_set_new(entry, "disturbed", json__number(result->disturbed));
		json_object_set_new(entry, "visits", json__number(result->visits));
		json_array_append_new(results, entry);
	}
	return results;
}

static void put_target(json_t *entry, const struct causal_target *target)
{
	json_object_set_new(entry, "target", json__text(target->name));
	json_object_set_new(entry, "kind", json_string(causal_target_kind__name(target->kind)));
	json_object_set_new(entry, "file", json__text(target->file));
	json_object_set_new(entry, "line", json__number(target->line));
	json_object_set_new(entry, "function", json__text(target->function));
	json_object_set_new(entry, "caller", json__text(target->caller));
	json_object_set_new(entry, "inclusive", json_boolean(target->inclusive));
}

static json_t *curve_json(const struct causal_profile *profile, const struct causal_curve *curve)
{
	const struct causal_point *point = &profile->points.data[curve->point];
	const struct causal_quote quote = causal_verdict__quote(curve);
	double times = causal_label__throughput_factor(curve->best);
	double effect_times = causal_label__throughput_factor(quote.value);
	json_t *entry = json_object();

	put_target(entry, &profile->targets.data[curve->target]);
	json_object_set_new(entry, "point", json__text(point->name));
	json_object_set_new(entry, "point_kind", json_string(causal_point_kind__name(point->kind)));
	json_object_set_new(entry, "also", json__text(curve->also));
	json_object_set_new(entry, "whole_run", json_boolean(curve->whole_run));
	json_object_set_new(entry, "shape", json_string(causal_shape__name(curve->shape)));
	json_object_set_new(entry, "slope", json_real(curve->slope));
	json_object_set_new(entry, "slope_low", json_real(curve->slope_low));
	json_object_set_new(entry, "slope_high", json_real(curve->slope_high));
	json_object_set_new(entry, "best", json_real(curve->best));
	json_object_set_new(entry, "best_at", json_real(curve->best_at));
	json_object_set_new(entry, "best_low", json_real(curve->best_low));
	json_object_set_new(entry, "best_high", json_real(curve->best_high));
	json_object_set_new(entry, "best_times", times > 0 ? json_real(times) : json_null());
	json_object_set_new(entry, "effect", json_real(quote.value));
	json_object_set_new(entry, "effect_at", json_real(quote.speedup));
	json_object_set_new(entry, "effect_low", json_real(quote.low));
	json_object_set_new(entry, "effect_high", json_real(quote.high));
	json_object_set_new(entry, "effect_times",
			    effect_times > 0 ? json_real(effect_times) : json_null());
	json_object_set_new(entry, "sure", json_real(curve->sure));
	json_object_set_new(entry, "plateau_at", json_real(curve->plateau_at));
	json_object_set_new(entry, "plateau_gain", json_real(curve->plateau_gain));
	json_object_set_new(entry, "plateau_low", json_real(curve->plateau_low));
	json_object_set_new(entry, "plateau_high", json_real(curve->plateau_high));
	json_object_set_new(entry, "phase_factor", json_real(curve->phase_factor));
	json_object_set_new(entry, "experiments", json__number(curve->experiments));
	json_object_set_new(entry, "disturbed", json__number(curve->disturbed));
	json_object_set_new(entry, "visits", json__number(curve->visits));
	json_object_set_new(entry, "results", results_json(curve));
	return entry;
}

static json_t *problems_json(const struct causal_effects *effects)
{
	json_t *problems = json_array();

	for (size_t i = 0; i < effects->problems.n; i++) {
		json_t *entry = json_object();

		json_object_set_new(
			entry, "kind",
			json_string(causal_problem__name(effects->problems.data[i].kind)));
		json_object_set_new(entry, "text", json__text(effects->problems.data[i].text));
		json_array_append_new(problems, entry);
	}
	return problems;
}

static json_t *refused_json(const struct causal_effects *effects)
{
	const struct causal_profile *profile = effects->profile;
	json_t *refused = json_array();

	for (size_t i = 0; i < effects->refusals.n; i++) {
		const struct causal_refusal *refusal = &effects->refusals.data[i];
		bool any = refusal->point == UINT32_MAX;
		json_t *entry = json_object();

		put_target(entry, &profile->targets.data[refusal->target]);
		json_object_set_new(entry, "point",
				    any ? json_null()
					: json__text(profile->points.data[refusal->point].name));
		json_object_set_new(entry, "also", json__text(refusal->also));
		json_object_set_new(entry, "whole_run", json_boolean(refusal->whole_run));
		json_object_set_new(entry, "reason",
				    json_string(causal_refusal__name(refusal->kind)));
		json_object_set_new(entry, "text", json__text(refusal->text));
		json_object_set_new(entry, "experiments", json__number(refusal->experiments));
		json_array_append_new(refused, entry);
	}
	return refused;
}

static json_t *empty_json(const struct causal_effects *effects)
{
	json_t *empty = json_array();

	for (size_t i = 0; i < effects->empty.n; i++) {
		const struct causal_empty_cell *cell = &effects->empty.data[i];
		json_t *entry = json_object();

		put_target(entry, &effects->profile->targets.data[cell->target]);
		json_object_set_new(entry, "speedup",
				    cell->speedup > 0 ? json_real(cell->speedup) : json_null());
		json_object_set_new(entry, "experiments", json__number(cell->experiments));
		json_array_append_new(empty, entry);
	}
	return empty;
}

static json_t *builds_json(const struct causal_run *run)
{
	json_t *builds = json_array();

	for (size_t i = 0; i < run->builds.n; i++) {
		json_t *entry = json_object();

		json_object_set_new(entry, "path", json__text(run->builds.data[i].path));
		json_object_set_new(entry, "id", json__text(run->builds.data[i].id));
		json_array_append_new(builds, entry);
	}
	return builds;
}

static json_t *run_json(const struct causal_run *run, uint64_t experiments, bool left_out)
{
	json_t *entry = json_object(), *diagnostics = json_array();

	for (size_t i = 0; i < run->diagnostics.n; i++)
		json_array_append_new(diagnostics, json__text(run->diagnostics.data[i]));
	json_object_set_new(entry, "id", json__text(run->id));
	json_object_set_new(entry, "command", json__text(run->command));
	json_object_set_new(entry, "start_realtime", json__number(run->start_realtime));
	json_object_set_new(entry, "runtime_ns", json__number(run->runtime_ns));
	json_object_set_new(entry, "delay_ns", json__number(run->delay_ns));
	json_object_set_new(entry, "period_ns", json__number(run->period_ns));
	json_object_set_new(entry, "sampled_ns", json__number(run->sampled_ns));
	json_object_set_new(entry, "status", json_integer(run->status));
	json_object_set_new(entry, "experiments", json__number(experiments));
	json_object_set_new(entry, "diagnostics", diagnostics);
	json_object_set_new(entry, "builds", builds_json(run));
	json_object_set_new(entry, "left_out", json_boolean(left_out));
	return entry;
}

static json_t *runs_json(const struct causal_effects *effects)
{
	const struct causal_profile *profile = effects->profile;
	_cleanup_free_ uint64_t *experiments = calloc(profile->runs.n + 1, sizeof(*experiments));
	json_t *runs = experiments ? json_array() : NULL;

	for (size_t i = 0; experiments && i < profile->experiments.n; i++)
		experiments[profile->experiments.data[i].run]++;
	for (size_t i = 0; experiments && i < profile->runs.n; i++)
		json_array_append_new(runs, run_json(&profile->runs.data[i], experiments[i],
						     effects->left_out[i]));
	return runs;
}

static int compare_places(const void *left, const void *right)
{
	const struct causal_place *const *a = left, *const *b = right;

	return ((*a)->ns < (*b)->ns) - ((*a)->ns > (*b)->ns);
}

/* Code locations by samples, most first. Those of several runs are not merged. */
static json_t *places_json(const struct causal_profile *profile)
{
	ARRAY(const struct causal_place *) all = {};
	json_t *places = json_array();

	for (size_t i = 0; i < profile->runs.n; i++) {
		const struct causal_run *run = &profile->runs.data[i];

		for (size_t k = 0; k < run->places.n; k++) {
			const struct causal_place *place = &run->places.data[k];

			if (array__push(&all, place))
				break;
		}
	}
	if (all.n)
		qsort(all.data, all.n, sizeof(*all.data), compare_places);
	for (size_t i = 0; i < all.n && i < MAX_PLACES; i++) {
		json_t *entry = json_object();

		json_object_set_new(entry, "file", json__text(all.data[i]->file));
		json_object_set_new(entry, "line", json__number(all.data[i]->line));
		json_object_set_new(entry, "function", json__text(all.data[i]->function));
		json_object_set_new(entry, "ns", json__number(all.data[i]->ns));
		json_array_append_new(places, entry);
	}
	array__free(&all);
	return places;
}

static void append_text(void *context, const char *text)
{
	json_array_append_new(context, json__text(text));
}

int causal_json__print(const struct causal_effects *effects, FILE *to)
{
	const struct causal_profile *profile = effects->profile;
	json_t *document = json_object(), *verdict = json_array(), *targets = json_array();

	causal_verdict__sentences(effects, append_text, verdict);
	for (size_t i = 0; i < effects->curves.n; i++)
		json_array_append_new(targets, curve_json(profile, &effects->curves.data[i]));
	json_object_set_new(document, "verdict", verdict);
	json_object_set_new(document, "experiments", json__number(profile->experiments.n));
	json_object_set_new(document, "points", points_json(profile));
	json_object_set_new(document, "targets", targets);
	json_object_set_new(document, "refused", refused_json(effects));
	json_object_set_new(document, "empty", empty_json(effects));
	json_object_set_new(document, "problems", problems_json(effects));
	json_object_set_new(document, "runs", runs_json(effects));
	json_object_set_new(document, "places", places_json(profile));
	return json__write(document, to);
}
