// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cmd/causal_live.h"
#include "cmd/cmd.h"
#include "cmd/workload.h"
#include "collect/causal/causal_run.h"
#include "collect/capture/child.h"

#define MIN_PERIOD_NS 50000ULL
#define MAX_PERIOD_NS 100000000ULL
#define TABLE_BYTES   (256UL << 20)

struct causal_run_options {
	struct causal_config config;
	uint64_t period_us;
	const char *duration;
	const char *length;
	const char *settle;
	double until_sure; /* 0: no stopping rule */
	uint64_t signal;
	bool quiet;
};

#define TEXTS(field)                                                                               \
	static int add_##field(void *options, const char *value)                                   \
	{                                                                                          \
		struct causal_run_options *run = options;                                          \
                                                                                                   \
		return array__push(&run->config.field.texts, value);                               \
	}
TEXTS(sources)
TEXTS(without)
TEXTS(binaries)
TEXTS(targets)
TEXTS(classes)
TEXTS(also)
TEXTS(progress)
TEXTS(progress_sampled)
#undef TEXTS

/* "25,50" */
static int add_speedups(void *options, const char *value)
{
	struct causal_run_options *run = options;

	while (*value) {
		char number[32];
		size_t n = strcspn(value, ",");
		double percent;
		int err;

		snprintf(number, sizeof(number), "%.*s", (int)n, value);
		err = options__percent(number, &percent);
		if (err)
			return err;
		if (percent > 100)
			return error__set(-EINVAL, "a speedup of %s is more than 100", number);
		if (array__push(&run->config.speedups, percent / 100))
			return -ENOMEM;
		value += n + (value[n] == ',');
	}
	return 0;
}

#define SURE_POINTS 3.0

static int set_until_sure(void *options, const char *value)
{
	struct causal_run_options *run = options;
	double points = SURE_POINTS;
	int err = value ? options__percent(value, &points) : 0;

	if (err)
		return err;
	if (points <= 0 || points > 50)
		return error__set(-EINVAL, "--until-sure: must be above 0 and at most 50 points");
	run->until_sure = points / 100;
	return 0;
}

static const struct option_row causal_run_rows[] = {
	OPTION_GROUP("Progress points (besides DWELL_PROGRESS and COZ_PROGRESS in the source)"),
	OPTION_ADD("progress", 'p', "WHERE", NULL, add_progress,
		   "count visits of FILE:LINE, FUNCTION or usdt:PROVIDER:NAME in the unmodified "
		   "program, answers to requests at tcp:PORT or unix:PATH, or system calls "
		   "(syscall:NAME)"),
	OPTION_SWITCH("breakpoints", 0, struct causal_run_options, config.breakpoints,
		      "count them with hardware breakpoints (at most four, slower) instead of "
		      "uprobes, which modify the program's code"),
	OPTION_ADD("progress-sampled", 0, "WHERE", NULL, add_progress_sampled,
		   "count samples in FILE:LINE or FUNCTION instead: for code that is visited too "
		   "often to count visits"),
	OPTION_SWITCH("end-to-end", 0, struct causal_run_options, config.end_to_end,
		      "the program's end is the progress point: one experiment per run"),
	OPTION_GROUP("Causal targets (default: lines, chosen at random among those that run)"),
	OPTION_ADD("target", 't', "WHAT", NULL, add_targets,
		   "speed up FILE:LINE or FUNCTION, including all that it calls; also \"FUNCTION "
		   "called from FUNCTION\""),
	OPTION_ADD(
		"class", 0, "CLASS", "io|sched|other|cpu", add_classes,
		"speed up a class of waiting: io, sched (waiting for a CPU) or other; or cpu; or "
		"a kind of waiting as in dwell report: \"disk read\", fsync, sleep, network ..."),
	OPTION_SWITCH("functions", 0, struct causal_run_options, config.functions,
		      "choose functions at random, not lines"),
	OPTION_ADD("source-scope", 's', "PATTERN", NULL, add_sources,
		   "only code from source files that match (default: all but system headers)"),
	OPTION_ADD("source-exclude", 0, "PATTERN", NULL, add_without,
		   "no code from source files that match"),
	OPTION_ADD("binary-scope", 'b', "PATTERN", NULL, add_binaries,
		   "only code in programs and libraries whose path or name matches (default: "
		   "programs)"),
	OPTION_ADD(
		"speedup", 0, "PERCENT[,PERCENT...]", NULL, add_speedups,
		"only these virtual speedups (default: 5 to 100 in steps of 5); 0: no speedup, to "
		"measure the overhead of profiling"),
	OPTION_ADD(
		"also", 0, "TARGET=PERCENT", NULL, add_also,
		"speed up TARGET (as in --target, or a class) all the time, to see what is worth "
		"changing after that"),
	OPTION_GROUP("Experiments"),
	OPTION_TEXT("output", 'o', "FILE", struct causal_run_options, config.output,
		    "append to the profile FILE (default: dwell.causal)"),
	OPTION_TEXT(
		"experiment", 0, "TIME", struct causal_run_options, length,
		"initial length of each half of an experiment (default: 250ms); it doubles while "
		"there are too few visits"),
	OPTION_SWITCH("fixed-length", 0, struct causal_run_options, config.fixed_length,
		      "do not change the length of experiments"),
	OPTION_NUMBER("min-visits", 0, "N", struct causal_run_options, config.min_visits,
		      "visits that each half needs (default: 5)"),
	OPTION_NUMBER("period", 'c', "US", struct causal_run_options, period_us,
		      "sampling period in microseconds, 50 to 100000 (default: 500)"),
	OPTION_TEXT("user", 0, "NAME", struct causal_run_options, config.user,
		    "run COMMAND as this user, with the user's groups (root only)"),
	OPTION_TEXT("duration", 0, "TIME", struct causal_run_options, duration,
		    "stop experimenting after TIME; the program continues"),
	OPTION_CALL(
		"until-sure", 0, "[POINTS]", NULL, set_until_sure,
		"stop experimenting once the best target is known to within +- POINTS (3) "
		"percentage points and no other target can be better; with --target or --class, "
		"once all targets are known. It also stops when no target can be predicted"),
	OPTION_TEXT(
		"settle", 0, "TIME", struct causal_run_options, settle,
		"pause a thread only for what it has had to make up for this long (default: 0; for "
		"the class sched, 100ms)"),
	OPTION_NUMBER(
		"signal", 0, "N", struct causal_run_options, signal,
		"the signal that pauses threads (default: 32, which the C library never blocks)"),
	OPTION_NUMBER("seed", 0, "N", struct causal_run_options, config.seed,
		      "seed of the random choices, to repeat them"),
	OPTION_SWITCH("quiet", 'q', struct causal_run_options, quiet, "no status line"),
	OPTION_END,
};

static int configure(struct causal_run_options *options, char **command)
{
	struct causal_config *config = &options->config;
	int err = 0;

	if (!*command) {
		error__set(-EINVAL, "no command to run");
		error__hint("dwell causal run [OPTIONS] -- ./program ARGS");
		return -EINVAL;
	}
	config->argv = command;
	config->period_ns = options->period_us * 1000;
	if (config->period_ns < MIN_PERIOD_NS || config->period_ns > MAX_PERIOD_NS)
		return error__set(-EINVAL, "the period must be between 50 and 100000 us");
	if (options->signal > 64 || options->signal == 9 || options->signal == 19)
		return error__set(-EINVAL, "signal %lu cannot be handled", options->signal);
	config->signal = (uint32_t)options->signal;
	if (options->length)
		err = options__duration(options->length, &config->half_ns);
	if (!err && options->duration)
		err = options__duration(options->duration, &config->duration_ns);
	if (!err && options->settle)
		err = options__duration(options->settle, &config->settle_ns);
	return err;
}

static void free_texts(struct causal_config *config)
{
	struct causal_texts *all[] = {
		&config->sources, &config->without, &config->binaries, &config->targets,
		&config->classes, &config->also,    &config->progress, &config->progress_sampled};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		array__free(&all[i]->texts);
	array__free(&config->speedups);
}

static int run(struct causal_run_options *options)
{
	struct causal_run_result result;
	struct causal_live live = {
		.profile = options->config.output,
		.terminal = !options->quiet && isatty(STDERR_FILENO),
		.width = options->until_sure,
		.all_targets = options->config.targets.texts.n || options->config.classes.texts.n,
	};
	int err;

	workload__handle_signals(&options->config.ignored);
	options->config.to_forward = &workload_to_forward;
	options->config.on_experiment = causal_live__experiment;
	options->config.on_idle = causal_live__state;
	if (!options->quiet)
		options->config.on_awaited = causal_live__awaited;
	options->config.on_outlived = causal_live__outlived;
	options->config.on_error = causal_live__error;
	options->config.arg = &live;
	err = causal__run(&options->config, &workload_stop_requests, &result);
	causal_live__clear(&live);
	if (err && !live.error_printed)
		command__fail(err);
	else if (!err && live.terminal)
		fprintf(stderr, "dwell: %lu experiments in %s%s. See: dwell causal report %s\n",
			result.experiments, options->config.output,
			live.rule_met ? ", the stopping rule is met" : "", options->config.output);
	if (result.exec_error)
		return result.exec_error == ENOENT ? 127 : 126;
	if (err)
		return EXIT_FAILED;
	return result.status >= 0 ? child__exit_status(result.status) : EXIT_FAILED;
}

static int causal_run(int argc, char **argv)
{
	struct causal_run_options options = {
		.config = {.output = "dwell.causal",
			   .half_ns = 250000000,
			   .warm_up_ns = 20000000,
			   .min_visits = 5,
			   .settle_ns = CAUSAL_SETTLE_AUTO,
			   .table_bytes = TABLE_BYTES},
		.period_us = 500,
	};
	_cleanup_free_ char *text = NULL;
	int first, status, err;

	if (command__parse(&command_causal_run, argc, argv, &options, &first, &status)) {
		err = configure(&options, argv + first);
		text = workload__text(argv + first);
		options.config.command_line = text;
		if (err)
			error__print(stderr, err);
		status = err ? EXIT_USAGE : run(&options);
	}
	free_texts(&options.config);
	return status;
}

const struct command command_causal_run = {
	.name = "causal run",
	.summary = "run a program with virtual speedups, to predict what real ones would gain",
	.usage = "[OPTIONS] [--] COMMAND [ARG...]",
	.details = "The exit status is the command's own. Runs append to one profile, and their\n"
		   "experiments combine. See the result with: dwell causal report\n",
	.options = causal_run_rows,
	.run = causal_run,
};
