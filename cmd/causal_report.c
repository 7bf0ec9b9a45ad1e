// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/output_file.h"
#include "render/causal/causal_views.h"
#include "render/terminal.h"

#define DEFAULT_INPUT "dwell.causal"
#define DEFAULT_MAX   10

struct causal_report_options {
	const char *input;
	const char *coz;
	const char *jsonl;
	const char *point;
	const char *build;
	uint64_t min_visits;
	uint64_t max;
	uint64_t resamples;
	bool all;
	bool json;
	bool no_pager;
};

static const struct option_row rows[] = {
	OPTION_TEXT("input", 'i', "FILE", struct causal_report_options, input,
		    "the profile (default: dwell.causal)"),
	OPTION_GROUP("Selection"),
	OPTION_TEXT("point", 'p', "NAME", struct causal_report_options, point,
		    "only the progress point NAME"),
	OPTION_TEXT(
		"build", 0, "ID", struct causal_report_options, build,
		"only runs of the build with this build id, or one that begins so (default: the "
		"last build)"),
	OPTION_NUMBER("min-visits", 0, "N", struct causal_report_options, min_visits,
		      "leave out results with fewer visits in all their experiments (default: 10)"),
	OPTION_NUMBER("resamples", 0, "N", struct causal_report_options, resamples,
		      "number of bootstrap resamples for the intervals (default: 1000)"),
	OPTION_GROUP("Output"),
	OPTION_NUMBER("max", 0, "N", struct causal_report_options, max,
		      "draw the first N curves of each progress point (default: 10; 0: all)"),
	OPTION_SWITCH("all", 'a', struct causal_report_options, all,
		      "also draw curves that are unsure or show no effect"),
	OPTION_SWITCH("json", 0, struct causal_report_options, json, "print one JSON document"),
	OPTION_TEXT("coz", 0, "FILE", struct causal_report_options, coz,
		    "write a profile for Coz's viewer to FILE (-: standard output) instead"),
	OPTION_TEXT("jsonl", 0, "FILE", struct causal_report_options, jsonl,
		    "the same as JSON lines, the format of later versions of Coz"),
	OPTION_SWITCH("no-pager", 0, struct causal_report_options, no_pager,
		      "do not start a pager"),
	OPTION_END,
};

static int export_to(const struct causal_profile *profile, const char *input, const char *path,
		     int (*print)(const struct causal_profile *profile, FILE *to))
{
	struct output_file file;
	int err;

	if (output_file__is(path, input))
		return error__set(-EINVAL, "%s is the profile itself: name another file", path);
	err = output_file__open(&file, path);
	if (err)
		return err;
	err = output_file__close(&file, print(profile, file.to));
	return err == -EPIPE ? 0 : err;
}

static int terminal_width(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

static int print_report(const struct causal_report_options *options,
			const struct causal_effects *effects)
{
	struct causal_text_options text_options = {
		.max_curves = options->max,
		.all = options->all,
		.width = terminal_width(),
	};
	struct terminal terminal;
	int err;

	terminal__open(&terminal, !options->json && !options->no_pager);
	text_options.color = terminal.color;
	err = options->json ? causal_json__print(effects, terminal.out)
			    : causal_text__print(effects, &text_options, terminal.out);
	return command__close(&terminal, err, "report");
}

static int report(const struct causal_report_options *options)
{
	const struct causal_options effects_options = {
		.min_visits = options->min_visits,
		.resamples = (uint32_t)options->resamples,
		.point = options->point,
		.build = options->build,
	};
	const char *input = options->input ? options->input : DEFAULT_INPUT;
	_cleanup_causal_profile_ struct causal_profile *profile = NULL;
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;
	int err = causal_profile__read(input, &profile);

	if (!err && options->coz)
		err = export_to(profile, input, options->coz, causal_coz__print);
	if (!err && options->jsonl)
		err = export_to(profile, input, options->jsonl, causal_coz__print_jsonl);
	if (err || ((options->coz || options->jsonl) && !options->json))
		return err;
	err = causal__effects(profile, &effects_options, &effects);
	return err ? err : print_report(options, effects);
}

static bool parse(int argc, char **argv, struct causal_report_options *options, int *status)
{
	if (!command__parse_input(&command_causal_report, argc, argv, options, &options->input,
				  "profile", status))
		return false;
	if (!options->resamples || options->resamples > 1000000) {
		*status = command__reject(
			error__set(-EINVAL, "--resamples must be between 1 and 1000000"));
		return false;
	}
	return true;
}

static int causal_report(int argc, char **argv)
{
	struct causal_report_options options = {
		.min_visits = CAUSAL_MIN_VISITS, .max = DEFAULT_MAX, .resamples = CAUSAL_RESAMPLES};
	int status = -1, err;

	if (!parse(argc, argv, &options, &status))
		return status;
	err = report(&options);
	return err ? command__fail(err) : EXIT_FINE;
}

const struct command command_causal_report = {
	.name = "causal report",
	.summary = "show what would make the program faster, and by how much",
	.usage = "[FILE] [OPTIONS]",
	.details =
		"A curve predicts how much faster the program would be if a target were made "
		"faster,\n"
		"by a few percent up to 100% (it takes no time at all). Intervals are 95%\n"
		"confidence intervals. Speedups are reductions of the time between visits of the\n"
		"progress point: 50% less time per visit is twice (x2) the throughput.\n",
	.options = rows,
	.run = causal_report,
};
