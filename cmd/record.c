// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/workload.h"
#include "collect/core/child.h"
#include "collect/latency/call_scanner.h"
#include "collect/latency/call_source.h"
#include "collect/record/recorder.h"

#define MIN_PERIOD_NS	  10000ULL
#define MAX_PERIOD_NS	  1000000000ULL
#define MAX_WAIT_LIMIT	  1000000
#define MAX_TABLE_MIB	  65536
#define DEFAULT_TABLE_MIB 256	     /* 32 million rows */
#define UNSET		  UINT64_MAX /* the option was not given */

struct record_options {
	const char *output;
	uint64_t hz;
	uint64_t period_us;
	const char *duration;
	bool trace;
	const char *processes;
	const char *threads;
	bool system;
	const char *cgroup;
	uint64_t wait_limit;
	uint64_t ring_kib;
	uint64_t table_mib;
	enum helper_threads helpers;
	bool lock_wakers;
	const char *rung;
	const char *user;
	struct span_sources requests;
	uint64_t calls_ns;
	struct function_patterns functions;
	double function_limit;
	bool no_symbols;
	bool verbose;
};

static int set_wakers(void *options, const char *value)
{
	static const char *const names[] = {
		[HELPERS_NONE] = "none",
		[HELPERS_KERNEL] = "kernel",
		[HELPERS_ALL] = "all",
		[HELPERS_LINKED] = "linked",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(value, names[i]) != 0)
			continue;
		((struct record_options *)options)->helpers = (enum helper_threads)i;
		return 0;
	}
	return error__set(-EINVAL, "'%s' is not none, kernel, all or linked", value);
}

static int add_request(void *options, const char *value)
{
	return span_sources__add(&((struct record_options *)options)->requests, value);
}

static int add_function(void *options, const char *value)
{
	return function_patterns__add(&((struct record_options *)options)->functions, value);
}

static const struct option_row record_rows[] = {
	OPTION_GROUP("What to record (default: COMMAND and everything it starts)"),
	OPTION_LIST("pid", 'p', "PID[,PID...]", struct record_options, processes,
		    "running processes, with all their threads and the processes they start"),
	OPTION_LIST("tid", 't', "TID[,TID...]", struct record_options, threads,
		    "running threads only"),
	OPTION_SWITCH("all", 'a', struct record_options, system, "everything on this machine"),
	OPTION_TEXT(
		"cgroup", 0, "PATH", struct record_options, cgroup,
		"the processes in this control group (version 2), including those that enter it"),
	OPTION_CALL(
		"wakers", 0, "WHICH", "none|kernel|all|linked", set_wakers,
		"also record threads that wake a recorded one, to see what they wait for: none, "
		"kernel (kernel threads only, the default), all (other processes, too) or linked "
		"(and those that a recorded thread wakes, such as the servers that it calls, and "
		"all "
		"kernel threads from the start)"),
	OPTION_ADD("request", 0, "WHAT", NULL, add_request,
		   "also record when requests begin and end: tcp:PORT or unix:PATH (requests to a "
		   "server), usdt:PROVIDER:BEGIN,END (between two probes), dwell:requests (those "
		   "that the program tags with DWELL_REQUEST_BEGIN), or the name of a function "
		   "or of a DWELL_BEGIN; may be repeated"),
	OPTION_NUMBER(
		"calls", 0, "NS", struct record_options, calls_ns,
		"also record how long calls of functions take, of programs built by dwell-cc, "
		"with a resolution of about NS nanoseconds (see dwell latency)"),
	OPTION_ADD("function", 0, "PATTERN[,PATTERN...]", NULL, add_function,
		   "also record how long each call of these functions takes, of any program: "
		   "names or patterns (ngx_http_*), of one file if it is given (libssl*:SSL_*); "
		   "may be repeated"),
	OPTION_PERCENT("function-limit", struct record_options, function_limit,
		       "let the probes of --function take at most PERCENT of the programs' CPU "
		       "time: those that cost most are set from time to time only (default: 10; "
		       "0: no limit)"),
	OPTION_GROUP("How to record"),
	OPTION_TEXT("output", 'o', "FILE", struct record_options, output,
		    "write the recording to FILE (default: dwell.data); an existing one is kept as "
		    "FILE.old when the new one has its first sample"),
	OPTION_NUMBER("period", 'c', "US", struct record_options, period_us,
		      "sampling period in microseconds, 10 to 1000000 (default: 1000)"),
	OPTION_NUMBER("frequency", 'F', "HZ", struct record_options, hz,
		      "the same as a frequency, 1 to 100000 Hz"),
	OPTION_SWITCH("trace", 0, struct record_options, trace,
		      "record every off-CPU interval, not only those that hold a sampling point"),
	OPTION_SWITCH("lock-wakers", 0, struct record_options, lock_wakers,
		      "take stacks of threads that wake others only where they end a wait for a "
		      "lock, as dwell latency run does: the stacks of all cost a server that waits "
		      "for the network half of what --trace costs it"),
	OPTION_NUMBER(
		"wait-limit", 0, "N", struct record_options, wait_limit,
		"record at most about N waits per CPU and period: when there are more, record "
		"fewer with more weight each (default: 2; 0: all that hold a sampling point)"),
	OPTION_TEXT("duration", 0, "TIME", struct record_options, duration,
		    "stop recording after TIME (10, 1.5s, 200ms, 5m); a command continues"),
	OPTION_NUMBER("ring-size", 'm', "KIB", struct record_options, ring_kib,
		      "buffer per CPU between kernel and dwell, a power of two (default: 2048; "
		      "16384 with --trace)"),
	OPTION_NUMBER(
		"table-memory", 0, "MIB", struct record_options, table_mib,
		"memory for unwind tables; tables of files that are no longer mapped are dropped "
		"first (default: 256)"),
	OPTION_TEXT("stack-at", 0, "PLACE", struct record_options, rung,
		    "where stacks of blocked threads are taken: sched_exit_tp (Linux 6.15), fexit, "
		    "kprobe or switch-out (default: the first that this kernel supports)"),
	OPTION_TEXT("user", 0, "NAME", struct record_options, user,
		    "run COMMAND as this user, with the user's groups (root only)"),
	OPTION_SWITCH(
		"no-symbols", 0, struct record_options, no_symbols,
		"do not store symbols in the recording; the report then needs the same files"),
	OPTION_SWITCH("verbose", 'v', struct record_options, verbose,
		      "print where stacks are taken, and a summary at the end"),
	OPTION_END,
};

typedef ARRAY(pid_t) pid_array;

static int parse_ids(const char *text, pid_array *ids)
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
		if (array__push(ids, (pid_t)id))
			return -ENOMEM;
		at = *end ? end + 1 : end;
	}
	return ids->n ? 0 : error__set(-EINVAL, "an id is missing");
}

static int set_target(const struct record_options *options, char **command,
		      struct recorder_config *config, pid_array *ids)
{
	int given = !!options->processes + !!options->threads + options->system + !!options->cgroup;
	const char *list = options->processes ? options->processes : options->threads;

	config->capture.argv = *command ? command : NULL;
	if (given > 1)
		return error__set(-EINVAL, "choose one of -p, -t, -a and --cgroup");
	if (!given && !*command) {
		error__set(-EINVAL, "nothing to record");
		error__hint(
			"give a command (dwell record -- ./program), a process (-p PID), or -a");
		return -EINVAL;
	}
	if (options->user && !*command)
		return error__set(-EINVAL, "--user %s needs a command to run", options->user);
	if (options->processes)
		config->capture.target = CAPTURE_PROCESSES;
	else if (options->threads)
		config->capture.target = CAPTURE_THREADS;
	else if (options->system)
		config->capture.target = CAPTURE_SYSTEM;
	else if (options->cgroup)
		config->capture.target = CAPTURE_CGROUP;
	config->capture.cgroup = options->cgroup;
	if (list) {
		int err = parse_ids(list, ids);

		if (err)
			return err;
	}
	config->capture.ids = ids->data;
	config->capture.n_ids = ids->n;
	return 0;
}

static int set_period(const struct record_options *options, uint64_t *period_ns)
{
	bool by_hz = options->hz != UNSET, by_period = options->period_us != UNSET;

	*period_ns = 1000000;
	if (by_hz && by_period)
		return error__set(-EINVAL, "choose one of -F and -c");
	if (by_hz)
		*period_ns = options->hz ? 1000000000 / options->hz : 0;
	if (by_period)
		*period_ns = options->period_us <= MAX_PERIOD_NS ? options->period_us * 1000 : 0;
	if (*period_ns >= MIN_PERIOD_NS && *period_ns <= MAX_PERIOD_NS)
		return 0;
	return error__set(-EINVAL, "the period must be between 10 and 1000000 us (1 to 100000 Hz)");
}

static int set_ring_size(const struct record_options *options, size_t *bytes)
{
	uint64_t kib = options->ring_kib;

	*bytes = kib * 1024;
	if (!kib || (kib >= 64 && kib <= 1 << 20 && !(kib & (kib - 1))))
		return 0;
	return error__set(-EINVAL, "the ring size must be a power of two of KiB, 64 to 1048576");
}

/* The target and the command in one line, malloc()ed. */
static char *describe(const struct record_options *options, char **command)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	if (options->processes)
		fprintf(to, "-p %s", options->processes);
	if (options->threads)
		fprintf(to, "-t %s", options->threads);
	if (options->system)
		fprintf(to, "-a");
	if (options->cgroup)
		fprintf(to, "--cgroup %s", options->cgroup);
	for (char **word = command; *word; word++)
		fprintf(to, "%s%s", ftell(to) ? " " : "", *word);
	fclose(to);
	return text;
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

static void print_summary(const struct record_options *options,
			  const struct recorder_progress *progress, bool terminal, bool recorded)
{
	if (terminal)
		fprintf(stderr, "\r\033[K");
	if (terminal || options->verbose) {
		fprintf(stderr, "dwell: recorded ");
		print_progress(progress);
		fprintf(stderr, recorded ? " in %s\n" : "\n", options->output);
		if (options->verbose)
			print_tables(&progress->unwinder.tables);
	} else if (progress->lost) {
		fprintf(stderr, "dwell: %" PRIu64 " events were lost\n", progress->lost);
	}
	if (progress->lost)
		fprintf(stderr, "  Use a larger buffer (-m) or a longer period (-c).\n");
}

/* There is a file, and no sample that could replace it. */
static void print_no_samples(const struct record_options *options)
{
	fprintf(stderr,
		"dwell: nothing was sampled: %s is left as it was, and has an earlier recording\n"
		"  Record for longer, or with a shorter period (-c).\n",
		options->output);
}

static void print_missing_requests(const struct record_options *options,
				   const struct recorder *recorder)
{
	for (size_t i = 0; i < options->requests.sources.n; i++) {
		const char *problem = recorder__request_problem(recorder, i);

		if (problem)
			fprintf(stderr, "dwell: there are no requests of '%s': %s\n",
				options->requests.sources.data[i].text, problem);
	}
}

static void print_missing_functions(const struct record_options *options,
				    const struct recorder *recorder)
{
	for (size_t i = 0; i < options->functions.patterns.n; i++) {
		const char *problem = recorder__function_problem(recorder, i);

		if (problem)
			fprintf(stderr, "dwell: --function %s: %s\n",
				options->functions.patterns.data[i].text, problem);
	}
}

/* Returns whether the file can be written to its end. */
static bool add_names(struct recorder *recorder, bool verbose)
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
static int record(const struct record_options *options, struct progress_line *display,
		  bool *recorded)
{
	struct recorder *recorder = display->recorder;
	struct recorder_progress progress;
	int err, finish_err, exec_error, status;

	if (options->verbose)
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
	if (*recorded && !options->no_symbols && !add_names(recorder, options->verbose))
		recorder__close(recorder);
	else if (!finish_err)
		finish_err = recorder__close(recorder);
	if (finish_err && *recorded)
		command__fail(finish_err);
	print_summary(options, &progress, display->terminal, *recorded);
	if (!finish_err && !*recorded)
		print_no_samples(options);
	if (!finish_err)
		print_missing_functions(options, recorder);
	if (!finish_err)
		print_missing_requests(options, recorder);
	if (err || finish_err || (!*recorded && status < 0))
		return EXIT_FAILED;
	return status >= 0 ? child__exit_status(status) : EXIT_FINE;
}

static int set_table_size(const struct record_options *options, size_t *bytes)
{
	*bytes = options->table_mib << 20;
	if (options->table_mib >= 1 && options->table_mib <= MAX_TABLE_MIB)
		return 0;
	error__set(-EINVAL, "--table-memory must be between 1 and %d MiB", MAX_TABLE_MIB);
	error__hint("the tables of a database server take 3 MiB, of the largest libraries 8");
	return -EINVAL;
}

static int check_resolution(uint64_t ns)
{
	if (ns == UNSET || ns <= CALL_SCANNER_LONGEST_NS)
		return 0;
	return error__set(-EINVAL, "--calls must be between 0 and %d ns", CALL_SCANNER_LONGEST_NS);
}

static int check_wait_limit(uint64_t limit)
{
	if (limit <= MAX_WAIT_LIMIT)
		return 0;
	error__set(-EINVAL, "--wait-limit of %" PRIu64 " is above %d", limit, MAX_WAIT_LIMIT);
	error__hint("--wait-limit 0 records all waits that hold a sampling point");
	return -EINVAL;
}

static int configure(const struct record_options *options, char **command,
		     struct recorder_config *config, pid_array *ids)
{
	int err = set_target(options, command, config, ids);

	if (!err)
		err = set_period(options, &config->capture.period_ns);
	if (!err)
		err = set_ring_size(options, &config->capture.ring_bytes);
	if (!err)
		err = check_wait_limit(options->wait_limit);
	if (!err)
		err = check_resolution(options->calls_ns);
	if (!err)
		err = set_table_size(options, &config->capture.table_bytes);
	if (!err && options->duration)
		err = options__duration(options->duration, &config->capture.duration_ns);
	config->output = options->output;
	config->capture.trace = options->trace;
	config->helpers = options->helpers;
	config->lock_wakers = options->lock_wakers;
	config->names = !options->no_symbols;
	config->capture.linked = options->helpers == HELPERS_LINKED;
	config->wait_limit = options->wait_limit;
	config->capture.rung = options->rung;
	if (options->requests.sources.n)
		config->capture.spans = &options->requests;
	if (options->functions.patterns.n)
		config->functions = &options->functions;
	config->probe_limit = options->function_limit;
	config->capture.user = options->user;
	return err;
}

static void free_options(struct record_options *options)
{
	span_sources__free(&options->requests);
	function_patterns__free(&options->functions);
}

static const struct record_options defaults = {.output = "dwell.data",
					       .hz = UNSET,
					       .period_us = UNSET,
					       .calls_ns = UNSET,
					       .wait_limit = 2,
					       .function_limit = 10,
					       .table_mib = DEFAULT_TABLE_MIB,
					       .helpers = HELPERS_KERNEL};

static int run(int argc, char **argv, bool *recorded)
{
	struct record_options options = defaults;
	_cleanup_free_ char *description = NULL;
	_cleanup_(call_source__freep) struct call_source *calls = NULL;
	struct event_source call_events;
	struct recorder_config config = {};
	struct progress_line display = {.terminal = isatty(STDERR_FILENO)};
	pid_array ids = {};
	int first, status, err;

	*recorded = false;
	if (!command__parse(&command_record, argc, argv, &options, &first, &status)) {
		free_options(&options);
		return status;
	}
	err = configure(&options, argv + first, &config, &ids);
	if (err) {
		error__print(stderr, err);
		array__free(&ids);
		free_options(&options);
		return EXIT_USAGE;
	}
	description = describe(&options, argv + first);
	config.command_line = description;
	workload__handle_signals(&config.capture.ignored);
	config.capture.to_forward = &workload_to_forward;
	config.on_progress = on_progress;
	config.arg = &display;
	if (options.calls_ns != UNSET) {
		err = call_source__new(options.calls_ns, &calls);
		if (!err) {
			call_events = call_source__events(calls);
			config.calls = &call_events;
		}
	}
	err = err ? err : recorder__new(&config, &display.recorder);
	if (!err) {
		status = record(&options, &display, recorded);
		if (*recorded && calls)
			print_missing_calls(calls);
		recorder__free(display.recorder);
	}
	array__free(&ids);
	free_options(&options);
	return err ? command__fail(err) : status;
}

static int record_run(int argc, char **argv)
{
	bool recorded;

	return run(argc, argv, &recorded);
}

int command_record__run_with(const char *const *options, size_t n, char **command, bool *recorded)
{
	ARRAY(char *) words = {};
	int status = EXIT_FAILED;
	int err = array__push(&words, (char *)command_record.name);

	*recorded = false;
	for (size_t i = 0; i < n && !err; i++)
		if (options[i])
			err = array__push(&words, (char *)options[i]);
	if (!err && *command)
		err = array__push(&words, (char *)"--");
	for (; *command && !err; command++)
		err = array__push(&words, *command);
	err = err ? err : array__push(&words, NULL);
	if (!err)
		status = run((int)words.n - 1, words.data, recorded);
	array__free(&words);
	return status;
}

const struct command command_record = {
	.name = "record",
	.summary = "record where a program runs and waits",
	.usage = "[OPTIONS] [--] COMMAND [ARG...]\n"
		 "       dwell record [OPTIONS] -p PID[,PID...] | -t TID[,TID...] | -a | --cgroup "
		 "PATH",
	.details =
		"The exit status is the command's own (128 + N when signal N ended it, 127 when "
		"it\n"
		"was not found); otherwise 0, or 1 when recording failed. Signals sent to dwell\n"
		"reach the command. Ctrl-C ends the recording cleanly.\n",
	.options = record_rows,
	.run = record_run,
};
