// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/path_requests.h"
#include "cmd/recording_run.h"
#include "cmd/view.h"
#include "collect/latency/call_scanner.h"
#include "render/latency/latency_requests.h"
#include "render/latency/latency_views.h"
#include "render/terminal.h"

#define UNSET UINT64_MAX /* the option was not given */

struct latency_run_command {
	struct recording_run run;
	const char *processes;
	const char *duration;
	uint64_t resolution_ns;
};

static int add_latency_request(void *options, const char *value)
{
	return span_sources__add(&((struct latency_run_command *)options)->run.requests, value);
}

static int add_latency_function(void *options, const char *value)
{
	return function_patterns__add(&((struct latency_run_command *)options)->run.functions,
				      value);
}

static const struct option_row run_rows[] = {
	OPTION_GROUP("What to record (default: COMMAND and everything it starts)"),
	OPTION_LIST("pid", 'p', "PID[,PID...]", struct latency_run_command, processes,
		    "running processes"),
	OPTION_TEXT("duration", 0, "TIME", struct latency_run_command, duration,
		    "stop recording after TIME (10, 1.5s, 200ms, 5m)"),
	OPTION_ADD("request", 0, "WHAT", NULL, add_latency_request,
		   "also record when requests begin and end, for dwell latency requests: "
		   "tcp:PORT, unix:PATH, usdt:PROVIDER:BEGIN,END, dwell:requests (those that the "
		   "program tags with DWELL_REQUEST_BEGIN), or the name of a function or of a "
		   "DWELL_BEGIN"),
	OPTION_ADD("function", 0, "PATTERN[,PATTERN...]", NULL, add_latency_function,
		   "measure these functions by probes, of any program: names or patterns "
		   "(ngx_http_*), of one file if it is given (libssl*:SSL_*); then there is no "
		   "thread that looks, unless --resolution is given"),
	OPTION_GROUP("How to record"),
	OPTION_PERCENT(
		"limit", struct latency_run_command, run.config.probe_limit,
		"let the probes of --function take at most PERCENT of the programs' CPU time: "
		"those that cost most are set from time to time only (default: 10; 0: no "
		"limit)"),
	OPTION_TEXT("output", 'o', "FILE", struct latency_run_command, run.config.output,
		    "write the recording to FILE (default: dwell.data)"),
	OPTION_NUMBER("resolution", 0, "NS", struct latency_run_command, resolution_ns,
		      "look at the stacks every NS nanoseconds, 0 to 1000000 (default: 1000; 0: as "
		      "often as possible, which slows down what calls small functions)"),
	OPTION_END,
};

/* Sets what the report needs, as dwell record --trace --lock-wakers would. */
static int configure_latency_run(struct latency_run_command *options, char *const *command)
{
	const struct recording_target target = {.processes = options->processes};
	struct recording_run *run = &options->run;
	bool scans = !run->functions.patterns.n || options->resolution_ns != UNSET;
	int err = 0;

	if (options->resolution_ns != UNSET && options->resolution_ns > CALL_SCANNER_LONGEST_NS)
		return error__set(-EINVAL, "--resolution must be between 0 and %d ns",
				  CALL_SCANNER_LONGEST_NS);
	run->config.capture.trace = true;
	run->config.lock_wakers = true;
	if (scans)
		run->calls_ns = options->resolution_ns == UNSET ? CALL_SCANNER_DEFAULT_NS
								: options->resolution_ns;
	err = recording_run__set_target(run, &target, command);
	if (!err && options->duration)
		err = options__duration(options->duration, &run->config.capture.duration_ns);
	return err;
}

static int cmd_latency_run(int argc, char **argv)
{
	struct latency_run_command options = {.resolution_ns = UNSET};
	int first, status, err;
	bool recorded;

	recording_run__init(&options.run);
	if (command__parse(&command_latency_run, argc, argv, &options, &first, &status)) {
		err = configure_latency_run(&options, argv + first);
		status =
			err ? command__reject(err) : recording_run__record(&options.run, &recorded);
	}
	recording_run__free(&options.run);
	return status;
}

const struct command command_latency_run = {
	.name = "latency run",
	.summary = "record how long calls of functions take",
	.usage = "[OPTIONS] [--] COMMAND [ARG...]\n"
		 "       dwell latency run [OPTIONS] -p PID[,PID...]",
	.details = "Of programs and libraries that were built by dwell-cc and dwell-c++: a thread "
		   "of dwell keeps\n"
		   "a CPU busy while they run. Of other programs: functions that --function "
		   "names. The same as\n"
		   "dwell record --trace --lock-wakers --calls NS or --function PATTERN.\n",
	.options = run_rows,
	.run = cmd_latency_run,
};

struct latency_report_command {
	struct view_options view; /* first: see VIEW_OPTION_INPUT */
	uint64_t functions;
	enum latency_rank rank;
	bool by_caller;
};

static int set_rank(void *options, const char *value)
{
	static const char *const names[] = {[LATENCY_RANK_TAIL] = "tail",
					    [LATENCY_RANK_P999] = "p999",
					    [LATENCY_RANK_TOTAL] = "total",
					    [LATENCY_RANK_P9999] = "p9999",
					    [LATENCY_RANK_MEAN] = "mean"};
	struct latency_report_command *command = options;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(value, names[i])) {
			command->rank = (enum latency_rank)i;
			return 0;
		}
	return error__set(-EINVAL, "must be tail, p999, p9999, mean or total");
}

static int set_by(void *options, const char *value)
{
	struct latency_report_command *command = options;

	command->by_caller = !strcmp(value, "caller");
	if (!command->by_caller && strcmp(value, "site"))
		return error__set(-EINVAL, "must be site or caller");
	return 0;
}

static const struct option_row report_rows[] = {
	OPTION_GROUP("What to show"),
	VIEW_OPTION_INPUT,
	OPTION_CALL(
		"rank", 0, "BY", "tail|p999|p9999|mean|total", set_rank,
		"sort by what the slowest 1% of the calls takes beyond the median "
		"(tail, the default), by the 99.9th or 99.99th percentile (p999, p9999), by the "
		"mean, or by the time of all calls (total)"),
	OPTION_CALL("by", 0, "WHAT", "site|caller", set_by,
		    "a row for each place where a function is called (site, the default), or for "
		    "each function that calls it (caller)"),
	OPTION_NUMBER("functions", 0, "N", struct latency_report_command, functions,
		      "in text, show the first N functions (default: 20; 0: all)"),
	OPTION_GROUP("Output"),
	VIEW_OPTION_JSON,
	VIEW_OPTION_NO_PAGER,
	VIEW_OPTIONS_SYMBOLS,
	OPTION_END,
};

static int print_report(const struct latency_report_command *options,
			const struct latency_view *view)
{
	struct terminal terminal;
	int err;

	terminal__open(&terminal, !options->view.json && !options->view.no_pager);
	err = options->view.json ? latency_view__json(view, terminal.out)
				 : latency_view__text(view, terminal.out);
	return command__close(&terminal, err, "report");
}

static int report(const struct latency_report_command *options)
{
	_cleanup_model_ struct model *model = NULL;
	_cleanup_kinds_ struct kinds *kinds = NULL;
	_cleanup_wait_causes_ struct wait_causes *causes = NULL;
	struct own_strings strings = {};
	struct call_latency latency = {.by_caller = options->by_caller};
	struct latency_view view = {.latency = &latency, .most = options->functions};
	int err = view__load(&options->view, &model);

	view.model = model;
	strings.model = model;
	err = err ? err : kinds__new(model, &kinds);
	err = err ? err : wait_causes__new(&strings, kinds, &causes);
	err = err ? err : call_latency__make(model, causes, options->rank, &latency);
	err = err ? err : print_report(options, &view);
	call_latency__free(&latency);
	own_strings__free(&strings);
	return err;
}

static int cmd_latency_report(int argc, char **argv)
{
	struct latency_report_command options = {.functions = 20};
	int status, err;

	if (!command__parse_input(&command_latency_report, argc, argv, &options,
				  &options.view.input, "recording", &status))
		return status;
	err = report(&options);
	return err ? command__fail(err) : EXIT_FINE;
}

const struct command command_latency_report = {
	.name = "latency report",
	.summary = "show the latency of functions, and where slow calls spent their time",
	.usage = "[-i FILE] [OPTIONS]",
	.details =
		"Quantiles are those of all calls. Below the resolution, only a bound is known.\n",
	.options = report_rows,
	.run = cmd_latency_report,
};

struct latency_requests_command {
	struct view_options view; /* first: see VIEW_OPTION_INPUT */
	struct path_request_options requests;
	uint64_t slowest;
	uint64_t timeline;
	bool shows_timeline;
	double compared[COMPARISON_SIDES]; /* percentiles; equal: none */
};

static int set_timeline(void *options, const char *value)
{
	struct latency_requests_command *command = options;

	command->shows_timeline = true;
	return options__number(value, &command->timeline);
}

/* "p99.9", "99.9" or "max", up to @end. */
static int set_percentile(const char *text, const char *end, double *percentile)
{
	char number[32];

	text += *text == 'p';
	snprintf(number, sizeof(number), "%.*s", (int)(end - text), text);
	if (!strcmp(number, "max")) {
		*percentile = 100;
		return 0;
	}
	if (options__percent(number, percentile) || *percentile > 100)
		return error__set(-EINVAL, "must be two percentiles, such as p50,p99.9");
	return 0;
}

static int set_compared(void *options, const char *value)
{
	struct latency_requests_command *command = options;
	const char *comma = strchr(value, ',');
	int err;

	if (!comma)
		return error__set(-EINVAL, "must be two percentiles, such as p50,p99.9");
	err = set_percentile(value, comma, &command->compared[COMPARISON_FROM]);
	err = err ? err
		  : set_percentile(comma + 1, value + strlen(value),
				   &command->compared[COMPARISON_TO]);
	if (!err && command->compared[COMPARISON_FROM] == command->compared[COMPARISON_TO])
		err = error__set(-EINVAL, "must be two percentiles that differ");
	return err;
}

static const struct option_row requests_rows[] = {
	OPTION_GROUP("What to show"),
	VIEW_OPTION_INPUT,
	OPTION_TEXT("request", 0, "WHAT", struct latency_requests_command, requests.source,
		    "requests of this source, as it was recorded (default: the only one)"),
	OPTION_NUMBER("slowest", 0, "N", struct latency_requests_command, slowest,
		      "in text, list the N slowest requests (default: 10)"),
	OPTION_CALL("timeline", 0, "ID", NULL, set_timeline,
		    "show the calls and waits of this request, and during waits for locks the "
		    "calls of the holders"),
	OPTION_CALL("compare", 0, "P,Q", NULL, set_compared,
		    "compare up to 200 requests around percentile P with as many at percentile Q: "
		    "p50,p99.9 shows what the slow ones did that the median ones did not"),
	OPTION_GROUP("Output"),
	VIEW_OPTION_JSON,
	VIEW_OPTION_NO_PAGER,
	VIEW_OPTIONS_SYMBOLS,
	OPTION_END,
};

static int print_requests(const struct latency_requests_command *options,
			  const struct latency_requests_view *view)
{
	struct terminal terminal;
	int err;

	terminal__open(&terminal, !options->view.json && !options->view.no_pager);
	err = options->view.json ? latency_requests__json(view, terminal.out)
				 : latency_requests__text(view, terminal.out);
	return command__close(&terminal, err, "requests");
}

/* Of several tagged requests with the id that was given, the slowest. */
static const struct model_span *find_tagged(const struct requests *requests, uint64_t id)
{
	for (size_t i = requests->spans.n; i-- > 0;)
		if (requests__at(requests, i)->id == id)
			return requests__at(requests, i);
	return NULL;
}

/* The request with the id that was given. */
static int find_request(const struct latency_requests_command *options,
			const struct requests *requests, const struct model_span **span)
{
	const struct model *model = requests->model;
	uint64_t id = options->timeline;

	*span = NULL;
	if (!options->shows_timeline)
		return 0;
	if (requests__at(requests, 0)->n_parts) {
		*span = find_tagged(requests, id);
		return *span ? 0 : error__set(-EINVAL, "there is no request %" PRIu64, id);
	}
	if (!id || id > model->spans.n || model->spans.data[id - 1].n_parts)
		return error__set(-EINVAL, "there is no request %" PRIu64 ": ids go up to %zu", id,
				  model->spans.n);
	*span = &model->spans.data[id - 1];
	return 0;
}

static int show_requests(const struct latency_requests_command *options)
{
	struct path_request_options chosen = options->requests;
	_cleanup_model_ struct model *model = NULL;
	_cleanup_kinds_ struct kinds *kinds = NULL;
	_cleanup_wait_causes_ struct wait_causes *causes = NULL;
	struct own_strings strings = {};
	struct path_requests requests = {};
	struct timeline timeline = {};
	struct request_comparison comparison = {};
	struct latency_requests_view view = {
		.requests = &requests.all, .slowest = options->slowest, .timeline = &timeline};
	int err = view__load(&options->view, &model);

	view.model = model;
	if (!err) {
		chosen.from = model->start;
		chosen.until = model->end;
		err = path_requests__choose(model, &chosen, &requests);
	}
	strings.model = model;
	err = err ? err : kinds__new(model, &kinds);
	err = err ? err : wait_causes__new(&strings, kinds, &causes);
	err = err ? err : find_request(options, &requests.all, &view.shown);
	if (!err && view.shown)
		err = timeline__make(model, causes, view.shown, &timeline);
	if (options->compared[COMPARISON_FROM] != options->compared[COMPARISON_TO])
		view.comparison = &comparison;
	if (!err && view.comparison)
		err = request_comparison__make(&requests.all, causes, options->compared,
					       &comparison);
	err = err ? err : print_requests(options, &view);
	request_comparison__free(&comparison);
	timeline__free(&timeline);
	path_requests__free(&requests);
	own_strings__free(&strings);
	return err;
}

static int cmd_latency_requests(int argc, char **argv)
{
	struct latency_requests_command options = {.slowest = 10};
	int status, err;

	if (!command__parse_input(&command_latency_requests, argc, argv, &options,
				  &options.view.input, "recording", &status))
		return status;
	err = show_requests(&options);
	return err ? command__fail(err) : EXIT_FINE;
}

const struct command command_latency_requests = {
	.name = "latency requests",
	.summary = "show the slowest requests, and what one of them did",
	.usage = "[-i FILE] [OPTIONS]",
	.details = "Needs a recording by dwell latency run --request WHAT.\n",
	.options = requests_rows,
	.run = cmd_latency_requests,
};
