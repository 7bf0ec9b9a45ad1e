// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/causal/problems.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analysis/causal/builds.h"
#include "analysis/causal/text.h"

/* Names that a list contains before "and N more". */
#define MAX_NAMED 3

/* Speedups without a result that are listed. */
#define MAX_EMPTY 20

/* Begins and ends of a latency point may differ by this share of the begins. */
#define MAX_IMBALANCE 0.1

/* Intervals should be at most half as wide. */
#define WIDE_INTERVAL 0.2

static const char *const names[] = {
	[CAUSAL_PROBLEM_NO_RUN] = "no-run",
	[CAUSAL_PROBLEM_NO_POINT] = "no-point",
	[CAUSAL_PROBLEM_NOT_VISITED] = "not-visited",
	[CAUSAL_PROBLEM_FEW_VISITS] = "few-visits",
	[CAUSAL_PROBLEM_NOTHING_IN_SCOPE] = "nothing-in-scope",
	[CAUSAL_PROBLEM_FEW_EXPERIMENTS] = "few-experiments",
	[CAUSAL_PROBLEM_UNSTABLE] = "unstable",
	[CAUSAL_PROBLEM_OTHER_BUILDS] = "other-builds",
	[CAUSAL_PROBLEM_EMPTY] = "empty",
	[CAUSAL_PROBLEM_COMMAND] = "command",
	[CAUSAL_PROBLEM_DIAGNOSTIC] = "diagnostic",
	[CAUSAL_PROBLEM_DAMAGED] = "damaged",
};

const char *causal_problem__name(enum causal_problem_kind kind)
{
	return names[kind];
}

/* Adds a problem with @text, malloc()ed or NULL, which it owns from now on. 0 or -ENOMEM. */
static int add_problem(struct causal_effects *effects, enum causal_problem_kind kind, char *text)
{
	const struct causal_problem problem = {.kind = kind, .text = text};

	if (text && !array__push(&effects->problems, problem))
		return 0;
	free(text);
	return -ENOMEM;
}

/* A list of names for a sentence: "a, b, c and 4 more". */
struct listing {
	char text[512];
	size_t n;
};

static void listing_add(struct listing *listing, const char *name)
{
	size_t used = strlen(listing->text);

	if (listing->n++ < MAX_NAMED)
		snprintf(listing->text + used, sizeof(listing->text) - used, "%s%.120s",
			 used ? ", " : "", name);
}

static const char *listing_text(struct listing *listing)
{
	size_t used = strlen(listing->text);

	if (listing->n > MAX_NAMED)
		snprintf(listing->text + used, sizeof(listing->text) - used, " and %zu more",
			 listing->n - MAX_NAMED);
	return listing->text;
}

/* Reports a profile without experiments. */
static int find_empty(struct causal_effects *effects)
{
	const struct causal_profile *profile = effects->profile;

	if (!profile->experiments.n)
		return add_problem(
			effects, CAUSAL_PROBLEM_NO_RUN,
			causal_text__new(
				"No run completed an experiment. An experiment takes half a second "
				"and more, so the program must run for some seconds and visit a "
				"progress point. With --end-to-end it must exit by itself."));
	return 0;
}

static int find_no_point(struct causal_effects *effects)
{
	if (effects->profile->points.n)
		return 0;
	return add_problem(
		effects, CAUSAL_PROBLEM_NO_POINT,
		causal_text__new("There is no progress point, so progress cannot be measured. Put "
				 "DWELL_PROGRESS; (dwell.h) where a piece of work is complete, or "
				 "name such a place "
				 "of the unmodified program: --progress FILE:LINE or FUNCTION; or "
				 "measure the whole "
				 "run: --end-to-end."));
}

/* Reports points without a visit in any experiment. */
static int find_not_visited(struct causal_effects *effects, const struct causal_options *options)
{
	const struct causal_profile *profile = effects->profile;
	_cleanup_free_ bool *visited = calloc(profile->points.n + 1, sizeof(*visited));
	struct listing listing = {};

	if (!visited)
		return -ENOMEM;
	for (size_t i = 0; i < profile->experiments.n; i++) {
		const struct causal_half *halves[] = {&profile->experiments.data[i].base,
						      &profile->experiments.data[i].with};

		for (size_t h = 0; h < 2; h++)
			for (uint32_t k = 0; k < halves[h]->n_points; k++)
				if (halves[h]->points[k].visits)
					visited[halves[h]->points[k].point] = true;
	}
	for (size_t i = 0; i < profile->points.n; i++) {
		const struct causal_point *point = &profile->points.data[i];

		if (!visited[i] && point->kind != CAUSAL_END_TO_END &&
		    (!options->point || !strcmp(options->point, point->name)))
			listing_add(&listing, point->name);
	}
	if (!listing.n || !profile->experiments.n)
		return 0;
	return add_problem(
		effects, CAUSAL_PROBLEM_NOT_VISITED,
		causal_text__new(
			"%s: never visited in an experiment. Is it where a piece of work ends, and "
			"does that happen several times a second?",
			listing_text(&listing)));
}

static int find_few_visits(struct causal_effects *effects, const struct causal_series_set *set,
			   const struct causal_options *options)
{
	size_t few = 0, all = 0;
	double visits = 0, halves = 0;

	for (size_t i = 0; i < set->series.n; i++) {
		const struct causal_series *series = &set->series.data[i];

		for (size_t c = 0; c < series->cells.n && !series->whole_run; c++) {
			const struct causal_cell *cell = &series->cells.data[c];

			all++;
			if (cell->visits >= options->min_visits)
				continue;
			few++;
			visits += (double)cell->visits;
			halves += 2 * (double)cell->n;
		}
	}
	/* A few are normal: some targets did not run during their experiments. */
	if (!few || few * 10 < all)
		return 0;
	return add_problem(effects, CAUSAL_PROBLEM_FEW_VISITS,
			   causal_text__new("%zu of %zu results are left out: progress points were "
					    "visited %.1f times in "
					    "a half of their experiments. Make experiments longer "
					    "(--experiment 2s), or "
					    "use a point that is visited more often.",
					    few, all, visits / halves));
}

static int find_nothing_in_scope(struct causal_effects *effects)
{
	const struct causal_profile *profile = effects->profile;
	size_t ended = 0, nothing = 0;

	for (size_t i = 0; i < profile->runs.n; i++) {
		ended += profile->runs.data[i].runtime_ns > 0;
		nothing +=
			profile->runs.data[i].runtime_ns > 0 && !profile->runs.data[i].sampled_ns;
	}
	if (!nothing || profile->experiments.n)
		return 0;
	return add_problem(
		effects, CAUSAL_PROBLEM_NOTHING_IN_SCOPE,
		causal_text__new("In %zu of %zu runs no sample fell into the code in scope. The "
				 "scope is the "
				 "program itself by default: name libraries with --binary-scope, "
				 "source files with --source-scope, and build with -g.",
				 nothing, ended));
}

/* Reports that runs are left out because they are of another build. */
static int find_other_builds(struct causal_effects *effects)
{
	const struct causal_profile *profile = effects->profile;
	struct listing listing = {};
	size_t n = 0;

	for (size_t i = 0; i < profile->runs.n; i++) {
		const char *other;
		char id[64];

		if (!effects->left_out[i])
			continue;
		n++;
		other = causal_builds__other(effects, i);
		snprintf(id, sizeof(id), "--build %.12s", other ? other : "");
		if (other && !strstr(listing.text, id))
			listing_add(&listing, id);
	}
	if (!n)
		return 0;
	return add_problem(
		effects, CAUSAL_PROBLEM_OTHER_BUILDS,
		causal_text__new(
			"%zu of %zu runs are left out, as they are of other builds of the program. "
			"%s%s%s",
			n, profile->runs.n, listing.n ? "Show them with: " : "",
			listing_text(&listing), listing.n ? "." : ""));
}

/* Lists requested targets and speedups without a result. */
static int find_empty_cells(struct causal_effects *effects)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *out;

	if (!effects->empty.n)
		return 0;
	out = open_memstream(&text, &size);
	for (size_t i = 0; out && i < effects->empty.n && i < MAX_EMPTY; i++) {
		const struct causal_empty_cell *cell = &effects->empty.data[i];

		fprintf(out, "%s%.100s", i ? ", " : "",
			effects->profile->targets.data[cell->target].name);
		if (cell->speedup > 0)
			fprintf(out, " at %.0f%%", 100 * cell->speedup);
		fprintf(out, " (%" PRIu64 " experiment%s)", cell->experiments,
			cell->experiments == 1 ? "" : "s");
	}
	if (out && effects->empty.n > MAX_EMPTY)
		fprintf(out, " and %zu more", effects->empty.n - MAX_EMPTY);
	if (!out || fclose(out))
		return -ENOMEM;
	return add_problem(
		effects, CAUSAL_PROBLEM_EMPTY,
		causal_text__new(
			"Requested, but without a result: %s. Run it again, or for longer (runs "
			"add up).",
			text));
}

/* Reports that there are no whole runs with a speedup, or none without. */
static int find_nothing_to_compare(struct causal_effects *effects)
{
	const struct causal_profile *profile = effects->profile;
	size_t with = 0, without = 0;

	for (size_t i = 0; i < profile->experiments.n; i++) {
		const struct causal_experiment *experiment = &profile->experiments.data[i];

		with += experiment->whole_run && experiment->speedup > 0;
		without += experiment->whole_run && !(experiment->speedup > 0);
	}
	if (!with && !without)
		return 0;
	return add_problem(
		effects, CAUSAL_PROBLEM_FEW_EXPERIMENTS,
		causal_text__new(
			"Whole runs with a speedup are compared with whole runs without one, and "
			"there are %zu of the first and %zu of the second. Run it again, some ten "
			"times or more (runs add up); with --target and --speedup it takes fewer.",
			with, without));
}

/* If no curve has a gain and some are unsure: how many more experiments are necessary. */
static int find_few_experiments(struct causal_effects *effects)
{
	const struct causal_curve *best = NULL;
	double width, times;

	for (size_t i = 0; i < effects->curves.n; i++) {
		const struct causal_curve *curve = &effects->curves.data[i];

		if (curve->shape == CAUSAL_GAIN || curve->shape == CAUSAL_PLATEAU)
			return 0;
		if (curve->shape == CAUSAL_UNSURE && (!best || curve->best > best->best))
			best = curve;
	}
	if (!best)
		return effects->curves.n ? 0 : find_nothing_to_compare(effects);
	width = best->best_high - best->best_low;
	times = fmin(fmax(width * width / (WIDE_INTERVAL * WIDE_INTERVAL / 4), 2), 1000);
	return add_problem(
		effects, CAUSAL_PROBLEM_FEW_EXPERIMENTS,
		causal_text__new(
			"%s%s%s has %" PRIu64 " experiment%s, so its effect is only known "
			"to lie between %.0f and %.0f%%. Run it again, about %.0f times as long in "
			"all "
			"(runs add up), or limit the experiments: --target, --speedup 50,100.",
			best->best_low > 0 ? "The most promising, " : "",
			effects->profile->targets.data[best->target].name,
			best->best_low > 0 ? "," : "", best->experiments,
			best->experiments == 1 ? "" : "s", round(100 * best->best_low) + 0.0,
			round(100 * best->best_high) + 0.0, ceil(times)));
}

static int find_unstable(struct causal_effects *effects, const struct causal_series_set *set)
{
	const struct causal_profile *profile = effects->profile;
	int err = 0;

	for (uint32_t point = 0; point < profile->points.n && !err; point++) {
		double begins = 0, ends = 0;

		if (profile->points.data[point].kind != CAUSAL_LATENCY)
			continue;
		for (size_t i = 0; i < set->series.n; i++) {
			if (set->series.data[i].point != point)
				continue;
			begins += set->series.data[i].begins;
			ends += set->series.data[i].ends;
		}
		if (begins < 20 || fabs(begins - ends) <= MAX_IMBALANCE * begins)
			continue;
		err = add_problem(
			effects, CAUSAL_PROBLEM_UNSTABLE,
			causal_text__new("%s: %.0f begins and %.0f ends in experiments. Latencies "
					 "are those of "
					 "Little's law, which holds when as many end as begin: is "
					 "each begin "
					 "followed by an end, and does the program keep up?",
					 profile->points.data[point].name, begins, ends));
	}
	return err;
}

static int find_command(struct causal_effects *effects, const struct causal_run *run)
{
	if (!run->runtime_ns)
		return add_problem(effects, CAUSAL_PROBLEM_COMMAND,
				   causal_text__new("A run of %.200s was interrupted. Its "
						    "experiments count, but the share "
						    "of each target in the run is unknown.",
						    run->command));
	if (run->status > 0 && WIFSIGNALED(run->status))
		return add_problem(effects, CAUSAL_PROBLEM_COMMAND,
				   causal_text__new("%.200s was ended by signal %d (%s).",
						    run->command, WTERMSIG(run->status),
						    strsignal(WTERMSIG(run->status))));
	if (run->status > 0 && WIFEXITED(run->status) && !effects->profile->experiments.n)
		return add_problem(effects, CAUSAL_PROBLEM_COMMAND,
				   causal_text__new("%.200s ended with status %d.", run->command,
						    WEXITSTATUS(run->status)));
	return 0;
}

static bool has_problem(const struct causal_effects *effects, const char *text)
{
	for (size_t i = 0; i < effects->problems.n; i++)
		if (!strcmp(effects->problems.data[i].text, text))
			return true;
	return false;
}

static int find_diagnostics(struct causal_effects *effects)
{
	const struct causal_profile *profile = effects->profile;
	int err = 0;

	for (size_t i = 0; i < profile->runs.n && !err; i++)
		err = find_command(effects, &profile->runs.data[i]);
	for (size_t i = 0; i < profile->runs.n && !err; i++) {
		const struct causal_run *run = &profile->runs.data[i];

		for (size_t k = 0; k < run->diagnostics.n && !err; k++)
			if (!has_problem(effects, run->diagnostics.data[k]))
				err = add_problem(effects, CAUSAL_PROBLEM_DIAGNOSTIC,
						  causal_text__new("%s", run->diagnostics.data[k]));
	}
	if (!err && profile->skipped)
		err = add_problem(
			effects, CAUSAL_PROBLEM_DAMAGED,
			causal_text__new("%" PRIu64
					 " lines of the profile could not be read. A crash or a "
					 "full disk truncates one; more mean damage.",
					 profile->skipped));
	return err;
}

int causal_problems__find(struct causal_effects *effects, const struct causal_series_set *set,
			  const struct causal_options *options)
{
	int err = find_empty(effects);

	err = err ? err : find_no_point(effects);
	err = err ? err : find_not_visited(effects, options);
	err = err ? err : find_few_visits(effects, set, options);
	err = err ? err : find_nothing_in_scope(effects);
	err = err ? err : find_other_builds(effects);
	err = err ? err : find_empty_cells(effects);
	err = err ? err : find_few_experiments(effects);
	err = err ? err : find_unstable(effects, set);
	return err ? err : find_diagnostics(effects);
}
