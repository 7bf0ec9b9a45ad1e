// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "base/duration.h"
#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/selection.h"
#include "cmd/view.h"
#include "render/export/folded.h"
#include "render/script/script.h"
#include "render/header.h"
#include "render/terminal.h"

struct script_options {
	struct view_options view; /* first: see VIEW_OPTIONS_FILTER */
	bool no_stacks;
	bool folded;
	enum folded_unit unit;
};

static int set_folded(void *options, const char *value)
{
	struct script_options *script = options;

	script->folded = true;
	if (!value || !strcmp(value, "points"))
		script->unit = FOLDED_POINTS;
	else if (!strcmp(value, "us"))
		script->unit = FOLDED_MICROSECONDS;
	else
		return error__set(-EINVAL, "'%s' is neither points nor us", value);
	return 0;
}

static const struct option_row rows[] = {
	VIEW_OPTION_INPUT,
	OPTION_GROUP("Filters"),
	VIEW_OPTIONS_FILTER,
	VIEW_OPTION_IDLE("show|hide", "with --folded, print waits for work, too"),
	OPTION_GROUP("Output"),
	OPTION_CALL(
		"folded", 0, "[UNIT]", "points|us", set_folded,
		"print stacks for flame graph tools, counted in sampling points (the default) or "
		"microseconds (us): THREAD;OUTERMOST;...;INNERMOST COUNT"),
	OPTION_SWITCH("json", 0, struct script_options, view.json,
		      "print one JSON object per line"),
	OPTION_SWITCH("no-stacks", 0, struct script_options, no_stacks, "leave out the stacks"),
	VIEW_OPTIONS_SYMBOLS,
	OPTION_END,
};

/* Programs read the output, so that what was left out is said on standard error. */
static int write_folded(const struct script_options *options, const struct model *model,
			const struct sample_filter *filter, FILE *to)
{
	bool shown = options->view.idle != IDLE_VIEW_HIDE;
	uint64_t idle_ns = 0;
	char text[24];
	int err = folded__write(model, filter, options->unit, shown ? NULL : &idle_ns, to);

	if (!err && idle_ns)
		fprintf(stderr, "dwell: %s of waits for work left out (--idle shows them)\n",
			duration__text(idle_ns, text));
	return err;
}

static int write_events(const struct script_options *options, const struct model *model, FILE *to)
{
	struct sample_filter filter = options->view.filter;
	_cleanup_idle_waits_ struct idle_waits *idle = NULL;
	_cleanup_kinds_ struct kinds *kinds = NULL;
	struct script script = {
		.model = model,
		.filter = &filter,
		.json = options->view.json,
		.no_stacks = options->no_stacks,
	};
	int err = kinds__new(model, &kinds);

	err = err ? err : idle_waits__new(model, kinds, &idle);
	if (err)
		return err;
	filter.idle = idle;
	if (options->folded)
		return write_folded(options, model, &filter, to);
	script.kinds = kinds;
	return script__write(&script, to);
}

/* Programs read the output, so diagnostics go to standard error. */
static void print_warnings(const struct model *model)
{
	header__warnings(model, stderr);
	if (!(model->n_samples + model->n_intervals))
		fprintf(stderr, "dwell: the recording has no samples\n");
}

static int script(const struct script_options *options)
{
	_cleanup_model_ struct model *model = NULL;
	struct terminal terminal;
	int err = options->folded ? view__load(&options->view, &model)
				  : view__load_any(&options->view, &model);

	err = err ? err : selection__check(model, &options->view.filter);
	if (err)
		return err;
	print_warnings(model);
	terminal__open(&terminal, true);
	err = write_events(options, model, terminal.out);
	return command__close(&terminal, err, "events");
}

static int cmd_script(int argc, char **argv)
{
	struct script_options options = {};
	int status, err;

	if (!command__parse_input(&command_script, argc, argv, &options, &options.view.input,
				  "recording", &status))
		return status;
	if (options.folded && options.view.json)
		return command__reject(
			error__set(-EINVAL, "--folded and --json exclude each other"));
	if (options.view.idle == IDLE_VIEW_EXPLAIN)
		return command__reject(error__set(
			-EINVAL, "--idle=why is an option of dwell report; here each interval has "
				 "a field idle"));
	err = script(&options);
	sample_filter__free(&options.view.filter);
	return err ? command__fail(err) : EXIT_FINE;
}

const struct command command_script = {
	.name = "script",
	.summary = "print every event, or folded stacks, for other programs",
	.usage = "[-i FILE] [OPTIONS]",
	.details = script_format,
	.options = rows,
	.run = cmd_script,
};
