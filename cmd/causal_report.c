// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "render/causal/causal_views.h"
#include "render/terminal.h"

#define DEFAULT_INPUT	   "dwell.causal"
#define DEFAULT_MIN_VISITS 10
#define DEFAULT_MAX	   10

struct causal_report_options {
	const char *input;
	const char *coz;
	const char *jsonl;
	const char *point;
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
	OPTION_GROUP("what of it"),
	OPTION_TEXT("point", 'p', "NAME", struct causal_report_options, point,
		    "only the progress point NAME"),
	OPTION_NUMBER("min-visits", 0, "N", struct causal_report_options, min_visits,
		      "leave out results whose experiments saw fewer visits in all (default: 10)"),
	OPTION_NUMBER("resamples", 0, "N", struct causal_report_options, resamples,
		      "of the bootstrap that intervals come from (default: 1000)"),
	OPTION_GROUP("how it is shown"),
	OPTION_NUMBER("max", 0, "N", struct causal_report_options, max,
		      "draw the first N curves of each progress point (default: 10; 0: all)"),
	OPTION_SWITCH("all", 'a', struct causal_report_options, all,
		      "draw curves that are unsure or without effect, too"),
	OPTION_SWITCH("json", 0, struct causal_report_options, json, "print one JSON document"),
	OPTION_TEXT("coz", 0, "FILE", struct causal_report_options, coz,
		    "write a profile for Coz's viewer to FILE (-: standard output) instead"),
	OPTION_TEXT("jsonl", 0, "FILE", struct causal_report_options, jsonl,
		    "the same as JSON lines, as later versions of Coz have it"),
	OPTION_SWITCH("no-pager", 0, struct causal_report_options, no_pager,
		      "do not start a pager"),
	OPTION_END,
};

/* Whether both are the same file. */
static bool is_same(const char *path, const char *other)
{
	struct stat a, b;

	return !stat(path, &a) && !stat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int export_to(const struct causal_profile *profile, const char *input, const char *path,
		     int (*print)(const struct causal_profile *profile, FILE *to))
{
	_cleanup_fclose_ FILE *file = NULL;
	FILE *to = stdout;
	int err;

	if (strcmp(path, "-") != 0) {
		if (is_same(path, input))
			return error__set(-EINVAL, "%s is the profile itself: name another file",
					  path);
		file = fopen(path, "we");
		if (!file)
			return error__errno(-errno, "cannot write to %s", path);
		to = file;
	}
	err = print(profile, to);
	if (!err && (fflush(to) || ferror(to)))
		err = errno == EPIPE ? 0 : -errno;
	return err ? error__errno(err, "cannot write to %s", path) : 0;
}

static int width_of_terminal(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

static int show(const struct causal_report_options *options, const struct causal_effects *effects)
{
	struct causal_text_options how = {
		.max_curves = options->max,
		.all = options->all,
		.width = width_of_terminal(),
	};
	struct terminal terminal;
	int err, closed;

	terminal__open(&terminal, !options->json && !options->no_pager);
	how.color = terminal.colour;
	err = options->json ? causal_json__print(effects, terminal.out)
			    : causal_text__print(effects, &how, terminal.out);
	closed = terminal__close(&terminal);
	if (closed)
		return error__errno(closed, "cannot write the report");
	return err;
}

static int report(const struct causal_report_options *options)
{
	const struct causal_options how = {
		.min_visits = options->min_visits,
		.resamples = (uint32_t)options->resamples,
		.point = options->point,
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
	err = causal__effects(profile, &how, &effects);
	return err ? err : show(options, effects);
}

static bool parse(int argc, char **argv, struct causal_report_options *options, int *status)
{
	int first;

	/* What follows an argument is parsed as if that were the command's name. */
	while (command__parse(&command_causal_report, argc, argv, options, &first, status)) {
		if (first >= argc)
			break;
		if (options->input) {
			error__set(-EINVAL, "'%s' is one argument too many: the profile is '%s'",
				   argv[first], options->input);
			error__print(stderr, -EINVAL);
			*status = EXIT_USAGE;
			return false;
		}
		options->input = argv[first];
		argc -= first;
		argv += first;
	}
	if (*status >= 0)
		return false;
	if (!options->resamples || options->resamples > 1000000) {
		error__set(-EINVAL, "--resamples: it takes 1 to 1000000");
		error__print(stderr, -EINVAL);
		*status = EXIT_USAGE;
		return false;
	}
	return true;
}

static int causal_report(int argc, char **argv)
{
	struct causal_report_options options = {
		.min_visits = DEFAULT_MIN_VISITS, .max = DEFAULT_MAX, .resamples = 1000};
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
	.details = "A curve says by how much the program would be faster if a target were, from a\n"
		   "little to so much that it takes no time. Intervals are of 95 %. Rates are told "
		   "as\n"
		   "times: a program that takes 50 % less for each visit has twice (x2) the "
		   "throughput.\n",
	.options = rows,
	.run = causal_report,
};
