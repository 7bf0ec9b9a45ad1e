// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/selection.h"
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
	bool dot;
};

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
	OPTION_GROUP("Graph"),
	OPTION_PERCENT("threshold", struct waits_options, threshold,
		       "the smallest gain that matters: remove edges up to this share of the "
		       "recording from knots that are not simple cycles (default: 20)"),
	OPTION_ADD("unfold", 0, "[NAME,...]", "all", set_unfold,
		   "do not merge similar threads with these names (as printed, \"worker*\"); all "
		   "(the default): do not merge any"),
	OPTION_SWITCH("sampled", 0, struct waits_options, sampled,
		      "estimate the weights from sampling points even if every wait was recorded "
		      "(--trace), to see the error of sampling"),
	OPTION_GROUP("Filters"),
	VIEW_OPTIONS_THREADS,
	OPTION_GROUP("Output"),
	OPTION_PERCENT("percent-limit", struct waits_options, percent_limit,
		       "leave out waits below this share of the recording (default: 1)"),
	OPTION_NUMBER("stacks", 0, "N", struct waits_options, max_causes,
		      "show the N code locations with the longest waits of each edge (default: 3; "
		      "0: all)"),
	VIEW_OPTION_JSON,
	OPTION_SWITCH("dot", 0, struct waits_options, dot,
		      "print the graph for Graphviz: dwell waits --dot | dot -Tsvg"),
	VIEW_OPTION_NO_PAGER,
	VIEW_OPTIONS_SYMBOLS,
	OPTION_END,
};

static int print_waits(const struct waits_options *options, struct waits *view)
{
	struct terminal terminal;
	int err;

	terminal__open(&terminal, !options->view.json && !options->dot && !options->view.no_pager);
	view->color = terminal.color;
	if (options->view.json)
		err = waits__json(view, terminal.out);
	else if (options->dot)
		err = waits__dot(view, terminal.out);
	else
		err = waits__text(view, terminal.out);
	return command__close(&terminal, err, "graph");
}

static int waits(const struct waits_options *options)
{
	struct waitgraph_options graph_options = {
		.filter = options->view.filter,
		.merge = options->merge,
		.sampled = options->sampled,
	};
	_cleanup_idle_waits_ struct idle_waits *idle = NULL;
	_cleanup_model_ struct model *model = NULL;
	_cleanup_kinds_ struct kinds *kinds = NULL;
	struct bottlenecks bottlenecks = {};
	struct verdict_locks verdict_locks = {};
	struct lock_waits locks = {};
	struct waitgraph graph = {};
	struct waits view = {
		.filter = &options->view.filter,
		.graph = &graph,
		.bottlenecks = &bottlenecks,
		.locks = &verdict_locks,
		.percent_limit = options->percent_limit,
		.max_causes = options->max_causes,
	};
	int err = view__load(&options->view, &model);

	view.model = model;
	err = err ? err : selection__check(model, &options->view.filter);
	err = err ? err : kinds__new(model, &kinds);
	err = err ? err : idle_waits__new(model, kinds, &idle);
	graph_options.filter.idle = idle;
	err = err ? err : waitgraph__make(model, kinds, &graph_options, &graph);
	err = err ? err : bottlenecks__find(&graph, options->threshold / 100, &bottlenecks);
	err = err ? err : lock_waits__find(model, kinds, idle, &locks);
	err = err ? err : verdict_locks__find(&graph, kinds, &locks, &bottlenecks, &verdict_locks);
	err = err ? err : print_waits(options, &view);
	verdict_locks__free(&verdict_locks);
	lock_waits__free(&locks);
	bottlenecks__free(&bottlenecks);
	waitgraph__free(&graph);
	return err;
}

static int cmd_waits(int argc, char **argv)
{
	struct waits_options options = {
		.threshold = 100 * BOTTLENECKS_THRESHOLD, .percent_limit = 1, .max_causes = 3};
	int status, err;

	if (!command__parse_input(&command_waits, argc, argv, &options, &options.view.input,
				  "recording", &status))
		return status;
	if (options.view.json && options.dot)
		return command__reject(error__set(-EINVAL, "--json and --dot exclude each other"));
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
		"A knot is a set of threads and devices that wait for each other and for nothing\n"
		"else: the program gets no faster unless one of these waits becomes shorter.\n"
		"Waits outside of the knot, however long, are consequences.\n",
	.options = rows,
	.run = cmd_waits,
};
