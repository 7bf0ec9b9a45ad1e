// SPDX-License-Identifier: BSD-2-Clause
#include "cmd/recording_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/workload.h"
#include "collect/capture/child.h"
#include "collect/latency/call_source.h"

#define DEFAULT_TABLE_BYTES (256ULL << 20) /* 32 million rows */

void recording_run__init(struct recording_run *run)
{
	*run = (struct recording_run){
		.config = {.output = "dwell.data",
			   .capture = {.period_ns = 1000000, .table_bytes = DEFAULT_TABLE_BYTES},
			   .wait_limit = 2,
			   .helpers = HELPERS_KERNEL,
			   .names = true,
			   .probe_limit = 10},
		.calls_ns = RECORDING_NO_CALLS,
	};
}

static int parse_ids(struct recording_run *run, const char *text)
{
	const char *at = text;

	while (*at) {
		char *end;
		long id = strtol(at, &end, 10);

		if (end == at || id <= 0 || id > INT32_MAX || (*end && *end != ',')) {
			error__set(-EINVAL, "'%s' is no list of numbers", text);
			error__hint("give ids joined by commas: -p 1234,1240");
			return -EINVAL;
		}
		if (array__push(&run->ids, (pid_t)id))
			return -ENOMEM;
		at = *end ? end + 1 : end;
	}
	return run->ids.n ? 0 : error__set(-EINVAL, "an id is missing");
}

/* The target and the command in one line, malloc()ed; NULL without memory. */
static char *describe_target(const struct recording_target *target, char *const *command)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	if (target->processes)
		fprintf(to, "-p %s", target->processes);
	if (target->threads)
		fprintf(to, "-t %s", target->threads);
	if (target->system)
		fprintf(to, "-a");
	if (target->cgroup)
		fprintf(to, "--cgroup %s", target->cgroup);
	for (char *const *word = command; *word; word++)
		fprintf(to, "%s%s", ftell(to) ? " " : "", *word);
	fclose(to);
	return text;
}

static int check_target(const struct recording_run *run, const struct recording_target *target,
			char *const *command)
{
	int given = !!target->processes + !!target->threads + target->system + !!target->cgroup;

	if (given > 1)
		return error__set(-EINVAL, "choose one of -p, -t, -a and --cgroup");
	if (!given && !*command) {
		error__set(-EINVAL, "nothing to record");
		error__hint(
			"give a command (dwell record -- ./program), a process (-p PID), or -a");
		return -EINVAL;
	}
	if (run->config.capture.user && !*command)
		return error__set(-EINVAL, "--user %s needs a command to run",
				  run->config.capture.user);
	return 0;
}

int recording_run__set_target(struct recording_run *run, const struct recording_target *target,
			      char *const *command)
{
	struct capture_config *capture = &run->config.capture;
	const char *list = target->processes ? target->processes : target->threads;
	int err = check_target(run, target, command);

	if (!err && list)
		err = parse_ids(run, list);
	if (err)
		return err;
	if (target->processes)
		capture->target = CAPTURE_PROCESSES;
	else if (target->threads)
		capture->target = CAPTURE_THREADS;
	else if (target->system)
		capture->target = CAPTURE_SYSTEM;
	else if (target->cgroup)
		capture->target = CAPTURE_CGROUP;
	capture->argv = *command ? command : NULL;
	capture->cgroup = target->cgroup;
	capture->ids = run->ids.data;
	capture->n_ids = run->ids.n;
	run->description = describe_target(target, command);
	run->config.command_line = run->description;
	return 0;
}

static void print_progress(const struct recorder_progress *progress)
{
	fprintf(stderr, "%.1f s, %" PRIu64 " events, %" PRIu64 " lost, %.1f MB",
		(double)progress->elapsed_ns / 1e9, progress->events, progress->lost,
		(double)progress->bytes / 1e6);
}

struct progress_line {
	struct recorder *recorder;
	bool terminal;
};

static void on_progress(void *arg, const struct recorder_progress *progress)
{
	const struct progress_line *display = arg;

	if (!display->terminal)
		return;
	fprintf(stderr, "\r\033[Kdwell: recording ");
	print_progress(progress);
}

static void print_missing_calls(const struct call_source *source)
{
	const char *problem = call_source__problem(source);

	if (problem)
		fprintf(stderr, "dwell: %s\n", problem);
}

static void print_tables(const struct unwind_tables_stats *stats)
{
	fprintf(stderr,
		"dwell: %" PRIu64 " unwind tables, built in %.0f ms; at most %.1f MiB; %" PRIu64
		" dropped, %" PRIu64 " did not fit, %" PRIu64 " of them of recorded programs\n",
		stats->built, (double)stats->build_ns / 1e6, (double)stats->max_bytes / (1 << 20),
		stats->dropped, stats->refused, stats->refused_recorded);
}

static void print_summary(const struct recording_run *run, const struct recorder_progress *progress,
			  bool terminal, bool recorded)
{
	if (terminal)
		fprintf(stderr, "\r\033[K");
	if (terminal || run->verbose) {
		fprintf(stderr, "dwell: recorded ");
		print_progress(progress);
		fprintf(stderr, recorded ? " in %s\n" : "\n", run->config.output);
		if (run->verbose)
			print_tables(&progress->unwinder.tables);
	} else if (progress->lost) {
		fprintf(stderr, "dwell: %" PRIu64 " events were lost\n", progress->lost);
	}
	if (progress->lost)
		fprintf(stderr, "  Use a larger buffer (-m) or a longer period (-c).\n");
}

/* There is a file, and no sample that could replace it. */
static void print_no_samples(const struct recording_run *run)
{
	fprintf(stderr,
		"dwell: nothing was sampled: %s is left as it was, and has an earlier recording\n"
		"  Record for longer, or with a shorter period (-c).\n",
		run->config.output);
}

static void print_missing_requests(const struct recording_run *run, const struct recorder *recorder)
{
	for (size_t i = 0; i < run->requests.sources.n; i++) {
		const char *problem = recorder__request_problem(recorder, i);

		if (problem)
			fprintf(stderr, "dwell: there are no requests of '%s': %s\n",
				run->requests.sources.data[i].text, problem);
	}
}

static void print_missing_functions(const struct recording_run *run,
				    const struct recorder *recorder)
{
	for (size_t i = 0; i < run->functions.patterns.n; i++) {
		const char *problem = recorder__function_problem(recorder, i);

		if (problem)
			fprintf(stderr, "dwell: --function %s: %s\n",
				run->functions.patterns.data[i].text, problem);
	}
}

/* Returns whether the file can be written to its end. */
static bool add_recorder_names(struct recorder *recorder, bool verbose)
{
	uint64_t named;
	int err = recorder__add_names(recorder, &named);

	if (err) {
		fprintf(stderr, "dwell: the recording is complete, but has no symbols:\n");
		error__print(stderr, err);
	} else if (verbose) {
		fprintf(stderr, "dwell: %" PRIu64 " addresses have symbols\n", named);
	}
	return !err;
}

/* Sets *@recorded if there is a recording of what was asked for. Returns the exit status. */
static int run_recorder(const struct recording_run *run, struct progress_line *display,
			bool *recorded)
{
	struct recorder *recorder = display->recorder;
	struct recorder_progress progress;
	int err, finish_err, exec_error, status;

	if (run->verbose)
		fprintf(stderr, "dwell: stacks of blocked threads are taken at %s\n",
			recorder__rung(recorder));
	err = recorder__run(recorder, &workload_stop_requests);
	if (err)
		command__fail(err);
	finish_err = recorder__finish(recorder, &progress);
	if (finish_err && finish_err != err)
		command__fail(finish_err);
	status = recorder__command_status(recorder, &exec_error);
	if (exec_error)
		return exec_error == ENOENT ? 127 : 126;
	*recorded = !finish_err && recorder__has_file(recorder);
	if (*recorded && run->config.names && !add_recorder_names(recorder, run->verbose))
		recorder__close(recorder);
	else if (!finish_err)
		finish_err = recorder__close(recorder);
	if (finish_err && *recorded)
		command__fail(finish_err);
	print_summary(run, &progress, display->terminal, *recorded);
	if (!finish_err && !*recorded)
		print_no_samples(run);
	if (!finish_err)
		print_missing_functions(run, recorder);
	if (!finish_err)
		print_missing_requests(run, recorder);
	if (err || finish_err || (!*recorded && status < 0))
		return EXIT_FAILED;
	return status >= 0 ? child__exit_status(status) : EXIT_FINE;
}

/* Sets what follows from other members. */
static void complete_config(struct recording_run *run, struct progress_line *display)
{
	struct recorder_config *config = &run->config;

	config->capture.linked = config->helpers == HELPERS_LINKED;
	config->capture.spans = run->requests.sources.n ? &run->requests : NULL;
	config->functions = run->functions.patterns.n ? &run->functions : NULL;
	config->capture.to_forward = &workload_to_forward;
	config->on_progress = on_progress;
	config->arg = display;
}

int recording_run__record(struct recording_run *run, bool *recorded)
{
	_cleanup_(call_source__freep) struct call_source *calls = NULL;
	struct progress_line display = {.terminal = isatty(STDERR_FILENO)};
	struct event_source call_events;
	int err = 0, status;

	*recorded = false;
	complete_config(run, &display);
	workload__handle_signals(&run->config.capture.ignored);
	if (run->calls_ns != RECORDING_NO_CALLS) {
		err = call_source__new(run->calls_ns, &calls);
		if (err)
			return command__fail(err);
		call_events = call_source__events(calls);
		run->config.calls = &call_events;
	}
	err = recorder__new(&run->config, &display.recorder);
	if (err)
		return command__fail(err);
	status = run_recorder(run, &display, recorded);
	if (*recorded && calls)
		print_missing_calls(calls);
	recorder__free(display.recorder);
	return status;
}

void recording_run__free(struct recording_run *run)
{
	span_sources__free(&run->requests);
	function_patterns__free(&run->functions);
	array__free(&run->ids);
	free(run->description);
}
