// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/path_requests.h"
#include "cmd/path_target.h"
#include "cmd/recording_run.h"
#include "cmd/view.h"
#include "render/path/path_views.h"
#include "render/terminal.h"

struct path_command {
	struct view_options view; /* first: see VIEW_OPTION_INPUT */
	const char *of;
	const char *process;
	const char *duration;
	struct path_request_options requests;
	bool shows_requests;
	uint64_t depth;
	double percent_limit;
	bool chronological;
	bool background;
	bool folded;
};

static int set_request(void *options, const char *value)
{
	struct path_command *command = options;
	struct span_sources parsed = {};
	int err = span_sources__add(&parsed, value);

	span_sources__free(&parsed);
	command->requests.source = value;
	command->shows_requests = true;
	return err;
}

static int set_slowest(void *options, const char *value)
{
	struct path_command *command = options;
	int err = options__number(value, &command->requests.slowest);

	command->shows_requests = true;
	if (!err && !command->requests.slowest)
		err = error__set(-EINVAL, "must be at least 1");
	return err;
}

static int set_quantile(void *options, const char *value)
{
	struct path_command *command = options;
	double *quantile = &command->requests.quantile;
	int err = options__percent(value, quantile);

	command->shows_requests = true;
	if (!err && (*quantile <= 0 || *quantile >= 100))
		err = error__set(-EINVAL, "must be between 0 and 100, such as 99");
	return err;
}

static const struct option_row rows[] = {
	OPTION_GROUP("What to look at"),
	VIEW_OPTION_INPUT,
	OPTION_TEXT("of", 0, "PID|TID|NAME", struct path_command, of,
		    "the process or thread whose time is explained: of a process, its main thread "
		    "(default: the command that was recorded)"),
	OPTION_CALL("time", 0, "FROM,TO", NULL, view__set_time,
		    "only this part of the recording, in seconds from its start or with "
		    "a unit (500ms,2.5s); FROM or TO may be omitted"),
	OPTION_CALL("request", 0, "WHAT", NULL, set_request,
		    "requests: tcp:PORT or unix:PATH (to a server), usdt:PROVIDER:BEGIN,END "
		    "(between two probes), dwell:requests (those that the program tags with "
		    "DWELL_REQUEST_BEGIN), or a function or DWELL_BEGIN of that name"),
	OPTION_CALL("slowest", 0, "N", NULL, set_slowest,
		    "only the N slowest requests, compared with those around the median"),
	OPTION_CALL("quantile", 0, "PERCENT", NULL, set_quantile,
		    "only requests at and above this percentile of latency (99: the slowest 1%), "
		    "compared with those around the median"),
	OPTION_GROUP("What to record (with COMMAND or -p)"),
	OPTION_TEXT("pid", 'p', "PID", struct path_command, process,
		    "a running process, and what it waits for"),
	OPTION_TEXT("duration", 0, "TIME", struct path_command, duration,
		    "stop recording after TIME (10, 1.5s, 200ms, 5m)"),
	OPTION_GROUP("Output"),
	OPTION_SWITCH("chronological", 0, struct path_command, chronological,
		      "in order of time, instead of equal pseudo-stacks together"),
	OPTION_SWITCH("background", 0, struct path_command, background,
		      "what was started and not waited for, instead of the path; with --json, too"),
	OPTION_NUMBER("depth", 0, "N", struct path_command, depth,
		      "in text, show at most N waits deep (default: 0, all)"),
	OPTION_PERCENT(
		"percent-limit", struct path_command, percent_limit,
		"in text, leave out branches below this share of the wall time (default: 1)"),
	OPTION_SWITCH("folded", 0, struct path_command, folded,
		      "print one line for each pseudo-stack, for flame graph tools, with its time "
		      "in ns"),
	VIEW_OPTION_JSON,
	VIEW_OPTION_NO_PAGER,
	VIEW_OPTIONS_SYMBOLS,
	OPTION_END,
};

static int print_path(const struct path_command *options, struct path_view *view)
{
	bool plain = options->view.json || options->folded;
	struct terminal terminal;
	int err;

	terminal__open(&terminal, !plain && !options->view.no_pager);
	view->color = terminal.color;
	if (options->view.json)
		err = path_view__json(view, terminal.out);
	else if (options->folded)
		err = path_view__folded(view, terminal.out);
	else if (options->chronological)
		err = path_view__chronological(view, terminal.out);
	else if (options->background)
		err = path_view__background(view, terminal.out);
	else
		err = path_view__text(view, terminal.out);
	return command__close(&terminal, err, "path");
}

/* Sets what is to be looked at: a thread, or requests. */
static int choose(const struct path_command *options, const struct model *model,
		  struct path_window *window, struct path_requests *requests,
		  struct path_options *path_options)
{
	const struct sample_filter *filter = &options->view.filter;
	struct path_request_options request_options = options->requests;
	int err;

	window->from = model->start + filter->from;
	window->until = filter->until ? model->start + filter->until : model->end;
	path_options->background = options->background;
	if (!options->shows_requests) {
		path_options->windows = window;
		path_options->n_windows = 1;
		path_options->is_server = options->of != NULL;
		return path_target__find(model, options->of, &window->thread);
	}
	request_options.from = window->from;
	request_options.until = window->until;
	err = path_target__check_trace(model);
	err = err ? err : path_requests__choose(model, &request_options, requests);
	path_options->windows = requests->windows.data;
	path_options->n_windows = requests->windows.n;
	path_options->compared = requests->beside.data;
	path_options->n_compared = requests->beside.n;
	path_options->no_background = true;
	if (!err && options->chronological && requests->shown.n > 1)
		err = error__set(-EINVAL, "--chronological shows one request: add --slowest 1");
	if (!err && options->chronological && requests->windows.n > 1) {
		err = error__set(-EINVAL, "--chronological shows one thread, and the request had "
					  "several");
		error__hint("dwell latency requests --timeline shows all of them");
	}
	return err;
}

static int show(const struct path_command *options)
{
	struct path_options path_options = {};
	struct path_requests requests = {};
	struct path_window window = {};
	_cleanup_idle_waits_ struct idle_waits *idle = NULL;
	_cleanup_model_ struct model *model = NULL;
	_cleanup_kinds_ struct kinds *kinds = NULL;
	struct path path = {};
	struct path_view view = {
		.path = &path,
		.percent_limit = options->percent_limit,
		.depth = options->depth,
	};
	int err = view__load(&options->view, &model);

	view.model = model;
	err = err ? err : choose(options, model, &window, &requests, &path_options);
	err = err ? err : kinds__new(model, &kinds);
	err = err ? err : idle_waits__new(model, kinds, &idle);
	err = err ? err : path__find(model, kinds, idle, &path_options, &path);
	if (err == -ENODATA && path_options.n_windows)
		err = path_target__explain_empty(model, path_options.windows[0].thread);
	view.requests = options->shows_requests ? &requests.all : NULL;
	view.shown = requests.shown;
	view.compared = requests.compared;
	err = err ? err : print_path(options, &view);
	path_requests__free(&requests);
	path__free(&path);
	return err;
}

/* Sets what a path needs, as dwell record --trace --wakers linked would. */
static int configure_recording(const struct path_command *options, char *const *command,
			       struct recording_run *run)
{
	const struct recording_target target = {.processes = options->process};
	int err = 0;

	run->config.capture.trace = true;
	run->config.helpers = HELPERS_LINKED;
	if (options->view.input)
		run->config.output = options->view.input;
	if (options->requests.source)
		err = span_sources__add(&run->requests, options->requests.source);
	err = err ? err : recording_run__set_target(run, &target, command);
	if (!err && options->duration)
		err = options__duration(options->duration, &run->config.capture.duration_ns);
	return err;
}

/* Returns the exit status; see recording_run__record(). */
static int record_path(const struct path_command *options, char *const *command, bool *recorded)
{
	struct recording_run run;
	int err, status;

	*recorded = false;
	recording_run__init(&run);
	err = configure_recording(options, command, &run);
	status = err ? command__reject(err) : recording_run__record(&run, recorded);
	recording_run__free(&run);
	return status;
}

static int check(const struct path_command *options, bool records)
{
	if (options->view.json + options->folded + options->chronological > 1 ||
	    (options->background && (options->folded || options->chronological)))
		return error__set(-EINVAL, "choose one of --json, --folded, --chronological and "
					   "--background (which goes with --json, too)");
	if (options->shows_requests && (options->of || options->background))
		return error__set(-EINVAL, "--request, --slowest and --quantile show requests: "
					   "they do not go with --of and --background");
	if (options->requests.slowest && options->requests.quantile > 0)
		return error__set(-EINVAL, "choose one of --slowest and --quantile");
	if (options->shows_requests && records && !options->requests.source) {
		error__set(-EINVAL, "which requests are to be recorded?");
		error__hint("add --request tcp:PORT, or another source: see --help");
		return -EINVAL;
	}
	if (options->duration && !records)
		return error__set(-EINVAL, "--duration needs a COMMAND, or a process (-p PID)");
	return 0;
}

static int cmd_path(int argc, char **argv)
{
	struct path_command options = {.percent_limit = 1};
	int first, status, record_status = EXIT_FINE, err;
	bool records, recorded;

	if (!command__parse(&command_path, argc, argv, &options, &first, &status))
		return status;
	records = argv[first] || options.process;
	err = check(&options, records);
	if (err)
		return command__reject(err);
	if (records) {
		record_status = record_path(&options, argv + first, &recorded);
		if (!recorded)
			return record_status;
		if (options.process && !options.of && !options.shows_requests)
			options.of = options.process;
	}
	err = show(&options);
	sample_filter__free(&options.view.filter);
	return err ? command__fail(err) : record_status;
}

const struct command command_path = {
	.name = "path",
	.summary = "show what a program waited for, and what that waited for",
	.usage = "[OPTIONS] [-i FILE] [--of PID|TID|NAME]\n"
		 "       dwell path [OPTIONS] [--] COMMAND [ARG...]\n"
		 "       dwell path [OPTIONS] -p PID [--duration TIME]",
	.details =
		"With a COMMAND or a process, records first, as dwell record --trace --wakers\n"
		"linked does. Every wait is followed to the thread that ended it, and that one's\n"
		"waits in turn: servers, children, kernel threads, disks.\n",
	.options = rows,
	.run = cmd_path,
};
