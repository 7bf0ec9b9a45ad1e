// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/selection.h"
#include "cmd/view.h"
#include "render/report/report.h"
#include "render/terminal.h"

struct report_options {
	struct view_options view; /* first: see VIEW_OPTIONS_FILTER */
	enum profile_key keys[PROFILE_KEY_COUNT];
	size_t n_keys;
	bool children;
	bool kernel;
	enum calltree_order tree;
	double percent_limit;
	uint64_t max_threads;
};

static int add_key(void *context, const char *text, size_t n)
{
	struct report_options *options = context;
	int key = profile_key__parse(text, n);

	if (key < 0) {
		error__set(-EINVAL, "there is no sort key '%.*s'", (int)n, text);
		error__hint("Keys are comm, pid, tid, thread, dso, symbol, class, kind, object and "
			    "file:line.");
		return -EINVAL;
	}
	for (size_t i = 0; i < options->n_keys; i++)
		if (options->keys[i] == (enum profile_key)key)
			return 0;
	options->keys[options->n_keys++] = (enum profile_key)key;
	return 0;
}

static int set_sort(void *options, const char *value)
{
	((struct report_options *)options)->n_keys = 0;
	return view__each(value, options, add_key);
}

static int set_tree(void *options, const char *value)
{
	struct report_options *report = options;

	if (!value || !strcmp(value, "caller"))
		report->tree = CALLTREE_CALLER;
	else if (!strcmp(value, "callee"))
		report->tree = CALLTREE_CALLEE;
	else
		return error__set(-EINVAL, "'%s' is neither caller nor callee", value);
	return 0;
}

static const struct option_row rows[] = {
	VIEW_OPTION_INPUT,
	OPTION_GROUP("Rows"),
	OPTION_CALL("sort", 's', "KEY,...",
		    "comm|pid|tid|thread|dso|symbol|class|kind|object|file:line", set_sort,
		    "group samples into rows by these keys (default: comm,dso,symbol): comm, pid, "
		    "tid, thread, dso, symbol, class, kind, object, file:line. With thread alone, "
		    "print the exact times of each thread"),
	OPTION_SWITCH("children", 0, struct report_options, children,
		      "show the time of each function including its callees, beside its own"),
	OPTION_SWITCH("kernel", 'k', struct report_options, kernel,
		      "show the kernel function of a wait, not the user function"),
	OPTION_CALL("call-graph", 'g', "[ORDER]", "caller|callee", set_tree,
		    "a call tree below each row: caller (from the outermost function, the "
		    "default) or callee (from the innermost)"),
	OPTION_GROUP("Filters"),
	VIEW_OPTIONS_FILTER,
	VIEW_OPTION_IDLE(
		"show|hide|why",
		"show waits for work, too (show, the default without HOW), or list what was "
		"taken for one, and why (why); otherwise they are left out (hide)"),
	OPTION_GROUP("Output"),
	OPTION_PERCENT("percent-limit", struct report_options, percent_limit,
		       "leave out rows and branches below this share"),
	OPTION_NUMBER("threads", 0, "N", struct report_options, max_threads,
		      "in text, list the N busiest threads (default: 10; 0: all)"),
	VIEW_OPTION_JSON,
	VIEW_OPTION_NO_PAGER,
	VIEW_OPTIONS_SYMBOLS,
	OPTION_END,
};

static unsigned int key_bits(const struct report_options *options)
{
	unsigned int bits = 0;

	for (size_t i = 0; i < options->n_keys; i++)
		bits |= 1U << options->keys[i];
	return bits;
}

static int print_report(const struct report_options *options, struct report *report)
{
	struct terminal terminal;
	int err = 0;

	terminal__open(&terminal, !options->view.json && !options->view.no_pager);
	report->color = terminal.color;
	if (options->view.json)
		err = report__json(report, terminal.out);
	else
		err = report__text(report, terminal.out);
	return command__close(&terminal, err, "report");
}

static int report(const struct report_options *options)
{
	const struct profile_options profile_options = {
		.keys = key_bits(options),
		.children = options->children,
		.kernel = options->kernel,
		.tree = options->tree,
		.idle = options->view.idle != IDLE_VIEW_HIDE,
	};
	struct sample_filter filter = options->view.filter;
	_cleanup_idle_waits_ struct idle_waits *idle = NULL;
	_cleanup_model_ struct model *model = NULL;
	_cleanup_kinds_ struct kinds *kinds = NULL;
	struct idle_summary idle_summary = {};
	struct thread_summary threads = {};
	struct profile profile = {};
	struct report view = {
		.filter = &filter,
		.profile = &profile,
		.threads = &threads,
		.idle = &idle_summary,
		.n_keys = options->n_keys,
		.children = options->children,
		.kernel = options->kernel,
		.tree = options->tree,
		.percent_limit = options->percent_limit,
		.max_threads = options->max_threads,
		.idle_shown = options->view.idle != IDLE_VIEW_HIDE,
		.idle_explained = options->view.idle == IDLE_VIEW_EXPLAIN,
		.threads_only = options->n_keys == 1 && options->keys[0] == PROFILE_THREAD,
	};
	int err = view__load(&options->view, &model);

	err = err ? err : selection__check(model, &filter);
	err = err ? err : kinds__new(model, &kinds);
	err = err ? err : idle_waits__new(model, kinds, &idle);
	filter.idle = idle;
	err = err ? err : profile__make(model, kinds, &filter, &profile_options, &profile);
	err = err ? err : thread_summary__make(model, &filter, &threads);
	err = err ? err : idle_summary__make(model, kinds, &profile.groups, &idle_summary);
	view.model = model;
	memcpy(view.keys, options->keys, sizeof(view.keys));
	err = err ? err : print_report(options, &view);
	profile__free(&profile);
	thread_summary__free(&threads);
	idle_summary__free(&idle_summary);
	return err;
}

static int cmd_report(int argc, char **argv)
{
	struct report_options options = {
		.keys = {PROFILE_COMM, PROFILE_DSO, PROFILE_SYMBOL},
		.n_keys = 3,
		.max_threads = 10,
	};
	int status, err;

	if (!command__parse_input(&command_report, argc, argv, &options, &options.view.input,
				  "recording", &status))
		return status;
	err = report(&options);
	sample_filter__free(&options.view.filter);
	return err ? command__fail(err) : EXIT_FINE;
}

const struct command command_report = {
	.name = "report",
	.summary = "show where time went, running and waiting",
	.usage = "[-i FILE] [OPTIONS]",
	.details =
		"The letter before a symbol is the class of the time: [.] running in user mode,\n"
		"[k] running in the kernel, [I] waiting for I/O, [L] waiting for a lock,\n"
		"[S] waiting for a CPU, [T] not allowed to run, [B] blocked for another reason.\n",
	.options = rows,
	.run = cmd_report,
};
