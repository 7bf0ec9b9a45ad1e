// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/view.h"
#include "render/export/script.h"
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

static int write_events(const struct script_options *options, const struct model *model, FILE *to)
{
	_cleanup_kinds_ struct kinds *kinds = NULL;
	struct script script = {
		.model = model,
		.filter = &options->view.filter,
		.json = options->view.json,
		.no_stacks = options->no_stacks,
	};
	int err;

	if (options->folded)
		return folded__write(model, &options->view.filter, options->unit, to);
	err = kinds__new(model, &kinds);
	script.kinds = kinds;
	return err ? err : script__write(&script, to);
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
	int err = view__load(&options->view, &model);

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
