// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/recording_run.h"
#include "collect/latency/call_scanner.h"

#define MIN_PERIOD_NS  10000ULL
#define MAX_PERIOD_NS  1000000000ULL
#define MAX_WAIT_LIMIT 1000000
#define MAX_TABLE_MIB  65536
#define UNSET	       UINT64_MAX /* the option was not given */

struct record_options {
	struct recording_run run;
	struct recording_target target;
	uint64_t hz;
	uint64_t period_us;
	const char *duration;
	uint64_t ring_kib;
	uint64_t table_mib;
	bool no_symbols;
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
		((struct record_options *)options)->run.config.helpers = (enum helper_threads)i;
		return 0;
	}
	return error__set(-EINVAL, "'%s' is not none, kernel, all or linked", value);
}

static int add_recorded_request(void *options, const char *value)
{
	return span_sources__add(&((struct record_options *)options)->run.requests, value);
}

static int add_recorded_function(void *options, const char *value)
{
	return function_patterns__add(&((struct record_options *)options)->run.functions, value);
}

static const struct option_row record_rows[] = {
	OPTION_GROUP("What to record (default: COMMAND and everything it starts)"),
	OPTION_LIST("pid", 'p', "PID[,PID...]", struct record_options, target.processes,
		    "running processes, with all their threads and the processes they start"),
	OPTION_LIST("tid", 't', "TID[,TID...]", struct record_options, target.threads,
		    "running threads only"),
	OPTION_SWITCH("all", 'a', struct record_options, target.system,
		      "everything on this machine"),
	OPTION_TEXT(
		"cgroup", 0, "PATH", struct record_options, target.cgroup,
		"the processes in this control group (version 2), including those that enter it"),
	OPTION_CALL(
		"wakers", 0, "WHICH", "none|kernel|all|linked", set_wakers,
		"also record threads that wake a recorded one, to see what they wait for: none, "
		"kernel (kernel threads only, the default), all (other processes, too) or linked "
		"(and those that a recorded thread wakes, such as the servers that it calls, and "
		"all "
		"kernel threads from the start)"),
	OPTION_ADD("request", 0, "WHAT", NULL, add_recorded_request,
		   "also record when requests begin and end: tcp:PORT or unix:PATH (requests to a "
		   "server), usdt:PROVIDER:BEGIN,END (between two probes), dwell:requests (those "
		   "that the program tags with DWELL_REQUEST_BEGIN), or the name of a function "
		   "or of a DWELL_BEGIN; may be repeated"),
	OPTION_NUMBER(
		"calls", 0, "NS", struct record_options, run.calls_ns,
		"also record how long calls of functions take, of programs built by dwell-cc, "
		"with a resolution of about NS nanoseconds (see dwell latency)"),
	OPTION_ADD("function", 0, "PATTERN[,PATTERN...]", NULL, add_recorded_function,
		   "also record how long each call of these functions takes, of any program: "
		   "names or patterns (ngx_http_*), of one file if it is given (libssl*:SSL_*); "
		   "may be repeated"),
	OPTION_PERCENT("function-limit", struct record_options, run.config.probe_limit,
		       "let the probes of --function take at most PERCENT of the programs' CPU "
		       "time: those that cost most are set from time to time only (default: 10; "
		       "0: no limit)"),
	OPTION_GROUP("How to record"),
	OPTION_TEXT("output", 'o', "FILE", struct record_options, run.config.output,
		    "write the recording to FILE (default: dwell.data); an existing one is kept as "
		    "FILE.old when the new one has its first sample"),
	OPTION_NUMBER("period", 'c', "US", struct record_options, period_us,
		      "sampling period in microseconds, 10 to 1000000 (default: 1000)"),
	OPTION_NUMBER("frequency", 'F', "HZ", struct record_options, hz,
		      "the same as a frequency, 1 to 100000 Hz"),
	OPTION_SWITCH("trace", 0, struct record_options, run.config.capture.trace,
		      "record every off-CPU interval, not only those that hold a sampling point"),
	OPTION_SWITCH("lock-wakers", 0, struct record_options, run.config.lock_wakers,
		      "take stacks of threads that wake others only where they end a wait for a "
		      "lock, as dwell latency run does: the stacks of all cost a server that waits "
		      "for the network half of what --trace costs it"),
	OPTION_NUMBER(
		"wait-limit", 0, "N", struct record_options, run.config.wait_limit,
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
	OPTION_TEXT("stack-at", 0, "PLACE", struct record_options, run.config.capture.rung,
		    "where stacks of blocked threads are taken: sched_exit_tp (Linux 6.15), fexit, "
		    "kprobe or switch-out (default: the first that this kernel supports)"),
	OPTION_TEXT("user", 0, "NAME", struct record_options, run.config.capture.user,
		    "run COMMAND as this user, with the user's groups (root only)"),
	OPTION_SWITCH(
		"no-symbols", 0, struct record_options, no_symbols,
		"do not store symbols in the recording; the report then needs the same files"),
	OPTION_SWITCH("verbose", 'v', struct record_options, run.verbose,
		      "print where stacks are taken, and a summary at the end"),
	OPTION_END,
};

static int set_period(const struct record_options *options, uint64_t *period_ns)
{
	bool by_hz = options->hz != UNSET, by_period = options->period_us != UNSET;

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
	if (ns == RECORDING_NO_CALLS || ns <= CALL_SCANNER_LONGEST_NS)
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

static int configure_record(struct record_options *options, char *const *command)
{
	struct recorder_config *config = &options->run.config;
	int err = recording_run__set_target(&options->run, &options->target, command);

	if (!err)
		err = set_period(options, &config->capture.period_ns);
	if (!err)
		err = set_ring_size(options, &config->capture.ring_bytes);
	if (!err)
		err = check_wait_limit(config->wait_limit);
	if (!err)
		err = check_resolution(options->run.calls_ns);
	if (!err)
		err = set_table_size(options, &config->capture.table_bytes);
	if (!err && options->duration)
		err = options__duration(options->duration, &config->capture.duration_ns);
	config->names = !options->no_symbols;
	return err;
}

static int cmd_record(int argc, char **argv)
{
	struct record_options options = {.hz = UNSET, .period_us = UNSET};
	int first, status, err;
	bool recorded;

	recording_run__init(&options.run);
	options.table_mib = options.run.config.capture.table_bytes >> 20;
	if (command__parse(&command_record, argc, argv, &options, &first, &status)) {
		err = configure_record(&options, argv + first);
		status =
			err ? command__reject(err) : recording_run__record(&options.run, &recorded);
	}
	recording_run__free(&options.run);
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
	.run = cmd_record,
};
