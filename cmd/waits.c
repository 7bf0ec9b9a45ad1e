// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/view.h"
#include "render/terminal.h"
#include "render/waits/waits.h"

struct waits_options {
	struct view_options view; /* first: see VIEW_OPTIONS_FILTER */
	struct similarity_options merge;
	double threshold; /* percent */
	double percent_limit;
	uint64_t max_causes;
	bool sampled;
	bool json;
	bool dot;
	bool no_pager;
};

static int set_threshold(void *options, const char *value)
{
	return options__percent(value, &((struct waits_options *)options)->threshold);
}

static int set_limit(void *options, const char *value)
{
	return options__percent(value, &((struct waits_options *)options)->percent_limit);
}

static int add_unfolded(void *context, const char *text, size_t n)
{
	struct similarity_options *merge = context;
	char *name = strndup(text, n); /* lives as long as the command */

	if (!name || array__push(&merge->unfolded, name)) {
		free(name);
		return -ENOMEM;
	}
	return 0;
}

static int set_unfold(void *options, const char *value)
{
	struct similarity_options *merge = &((struct waits_options *)options)->merge;

	if (!value || !strcmp(value, "all"))
		merge->separate = true;
	return value ? view__each(value, merge, add_unfolded) : 0;
}

static const struct option_row rows[] = {
	VIEW_OPTION_INPUT,
	OPTION_GROUP("what the graph is made of"),
	OPTION_CALL("threshold", 0, "PERCENT", NULL, set_threshold,
		    "take waits of up to this part of the recording out of a knot that is not "
		    "simple (default: 20); what you want to gain at least"),
	OPTION_CALL(
		"unfold", 0, "[NAME,...]", "all", set_unfold,
		"show threads of this name each for itself, as \"worker*\" is printed; all (the "
		"default): of every name"),
	OPTION_SWITCH(
		"sampled", 0, struct waits_options, sampled,
		"weigh by the sampling points even if every wait was recorded (--trace): what a "
		"recording without would have shown"),
	OPTION_GROUP("which part of the recording"),
	VIEW_OPTIONS_THREADS,
	OPTION_GROUP("how it is shown"),
	OPTION_CALL("percent-limit", 0, "PERCENT", NULL, set_limit,
		    "leave out waits below this part of the recording (default: 1)"),
	OPTION_NUMBER("stacks", 0, "N", struct waits_options, max_causes,
		      "show the N heaviest places of each wait (default: 3; 0: all)"),
	OPTION_SWITCH("json", 0, struct waits_options, json, "print one JSON document"),
	OPTION_SWITCH("dot", 0, struct waits_options, dot,
		      "print the graph for graphviz: dwell waits --dot | dot -Tsvg"),
	OPTION_SWITCH("no-pager", 0, struct waits_options, no_pager, "do not start a pager"),
	VIEW_OPTIONS_SYMBOLS,
	OPTION_END,
};

static int show(const struct waits_options *options, struct waits *view)
{
	struct terminal terminal;
	int err, closed;

	terminal__open(&terminal, !options->json && !options->dot && !options->no_pager);
	view->colour = terminal.colour;
	if (options->json)
		err = waits__json(view, terminal.out);
	else if (options->dot)
		err = waits__dot(view, terminal.out);
	else
		err = waits__text(view, terminal.out);
	closed = terminal__close(&terminal);
	if (closed)
		return error__errno(closed, "cannot write the graph");
	return err;
}

static int waits(const struct waits_options *options)
{
	const struct waitgraph_options how = {
		.filter = options->view.filter,
		.merge = options->merge,
		.sampled = options->sampled,
	};
	_cleanup_model_ struct model *model = NULL;
	_cleanup_kinds_ struct kinds *kinds = NULL;
	struct bottlenecks bottlenecks = {};
	struct waitgraph graph = {};
	struct waits view = {
		.filter = &options->view.filter,
		.graph = &graph,
		.bottlenecks = &bottlenecks,
		.percent_limit = options->percent_limit,
		.max_causes = options->max_causes,
	};
	int err = view__load(&options->view, &model);

	view.model = model;
	err = err ? err : kinds__new(model, &kinds);
	err = err ? err : waitgraph__make(model, kinds, &how, &graph);
	err = err ? err : bottlenecks__find(&graph, options->threshold / 100, &bottlenecks);
	err = err ? err : show(options, &view);
	bottlenecks__free(&bottlenecks);
	waitgraph__free(&graph);
	return err;
}

static int cmd_waits(int argc, char **argv)
{
	struct waits_options options = {.threshold = 20, .percent_limit = 1, .max_causes = 3};
	int status, err;

	if (!view__parse(&command_waits, argc, argv, &options.view, &status))
		return status;
	if (options.json && options.dot) {
		error__set(-EINVAL, "--json and --dot exclude each other");
		error__print(stderr, -EINVAL);
		return EXIT_USAGE;
	}
	err = waits(&options);
	sample_filter__free(&options.view.filter);
	array__free(&options.merge.unfolded);
	return err ? command__fail(err) : EXIT_FINE;
}

const struct command command_waits = {
	.name = "waits",
	.summary = "show who waits for whom, and which wait limits the rest",
	.usage = "[-i FILE] [OPTIONS]",
	.details =
		"A knot is a set of threads and devices that wait for each other and for nobody\n"
		"else: one of its waits has to become shorter before anything gets faster.\n"
		"However long a wait outside of it is, it is a consequence.\n",
	.options = rows,
	.run = cmd_waits,
};
