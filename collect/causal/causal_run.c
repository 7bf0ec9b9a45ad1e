// SPDX-License-Identifier: BSD-2-Clause
#include "collect/causal/causal_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "collect/causal/files.h"
#include "collect/causal/points.h"
#include "collect/causal/targets.h"
#include "collect/causal/virtual_time.h"
#include "collect/causal/experiment.h"
#include "collect/capture/capture.h"

/* Failed pauses are reported if there are more than (pauses + UNPAUSED_FEW) / UNPAUSED_PART. */
#define UNPAUSED_PART 20
#define UNPAUSED_FEW  20
#define UPDATE_NS     50000000ULL /* between searches for new files and points */
#define SPEEDUP_STEPS 20	  /* speedups of 5 %, as Coz */
#define TESTED_SHARE  0.3	  /* of the time, that tests of pauses pause everything */

struct run {
	const struct causal_config *config;
	struct causal_run_result *result;
	struct virtual_time *vtime;
	struct capture *capture;
	struct causal_files *files;
	struct causal_targets *targets;
	struct causal_points *points;
	struct experimenter *experimenter;
	struct causal_writer *writer;
	struct causal_target_at *target; /* of the experiment in progress */
	struct random random;
	uint64_t start;
	uint64_t tests; /* of pauses, begun so far, or left to earlier runs */
	bool testing;	/* one is in progress */
	bool outlived;	/* the command ended before processes that it started, */
	bool went_on;	/* which were profiled from then on */
	bool whole;	/* an end-to-end experiment is in progress */
	double speedup; /* of that */
	int error;
};

static double draw_speedup(struct run *run)
{
	size_t n = run->config->speedups.n;

	if (n)
		return run->config->speedups.data[random__next(&run->random) % n];
	return (double)(random__next(&run->random) % SPEEDUP_STEPS + 1) / SPEEDUP_STEPS;
}

/* Writes a finished experiment. */
static void write_experiment(struct run *run, struct causal_experiment *experiment)
{
	int number;

	experiment->at_ns -= run->start;
	experiment->also = causal_targets__also(run->targets);
	number = causal_writer__target(run->writer, &run->target->target);
	if (number < 0) {
		run->error = number;
		return;
	}
	experiment->target = (uint32_t)number;
	run->error = causal_writer__experiment(run->writer, experiment);
	if (!run->error)
		run->result->experiments++;
}

/*
 * End-to-end: the run is one experiment, which begins when its target has been found. Half of such
 * runs have no speedup.
 */
static uint64_t begin_whole_run(struct run *run, uint64_t now)
{
	if (run->whole)
		return now + UPDATE_NS;
	run->target = causal_targets__choose(run->targets, random__next(&run->random));
	if (!run->target)
		return now + UPDATE_NS;
	run->error = causal_targets__select(run->targets, run->target);
	if (run->error)
		return 0;
	run->whole = true;
	run->speedup = random__next(&run->random) >> 32 & 1 ? draw_speedup(run) : 0;
	virtual_time__speed_up(run->vtime, 0, run->speedup);
	return now + UPDATE_NS;
}

/* Writes an end-to-end experiment: the end of the command is its one visit. */
static int write_whole_run(struct run *run)
{
	const struct causal_point end = {.name = "end-to-end", .kind = CAUSAL_END_TO_END};
	int point = causal_writer__point(run->writer, &end);
	struct causal_visits visit = {.point = (uint32_t)point, .visits = 1};
	struct causal_experiment experiment = {
		.speedup = run->speedup,
		.whole_run = true,
		.at_ns = run->start,
		.with =
			{
				.duration_ns = run->result->runtime_ns,
				.delay_ns = virtual_time__global(run->vtime),
				.hit_ns = virtual_time__hits(run->vtime, 0),
				.points = &visit,
				.n_points = 1,
			},
	};

	if (point < 0)
		return point;
	write_experiment(run, &experiment);
	return run->error;
}

/*
 * Whether a test of pauses is next. The number of tests grows as the root of that of experiments:
 * what they find out is needed first, and takes little of a long run. Of runs that are added to a
 * profile, half begin with an experiment: there may be time for no more.
 */
static bool is_test_due(const struct run *run)
{
	return run->result->experiments >= run->tests * run->tests;
}

static int write_pause_test(struct run *run, const struct causal_experiment *experiment)
{
	struct causal_pause_test test = {
		.share = experiment->speedup,
		.at_ns = experiment->at_ns - run->start,
		.base = experiment->base,
		.with = experiment->with,
	};
	uint64_t outside[CAUSAL_WAITS];

	experimenter__outside(run->experimenter, outside);
	test.outside_ns[CAUSAL_OUTSIDE_REQUESTS] = outside[CAUSAL_WAIT_REQUESTS];
	test.outside_ns[CAUSAL_OUTSIDE_IO] = outside[CAUSAL_WAIT_IO];
	test.outside_ns[CAUSAL_OUTSIDE_TIMERS] = outside[CAUSAL_WAIT_TIMERS];
	return causal_writer__pause_test(run->writer, &test);
}

/* Begins the next experiment if possible. Returns when to call advance() again; 0: stop. */
static uint64_t begin_experiment(struct run *run, uint64_t now)
{
	double speedup;

	if (run->config->end_to_end)
		return begin_whole_run(run, now);
	run->target = causal_targets__choose(run->targets, random__next(&run->random));
	if (!run->target || !causal_points__ready(run->points)) {
		if (run->config->on_idle)
			run->config->on_idle(run->config->arg, run->target ? "no progress point yet"
									   : "no target yet");
		return now + UPDATE_NS;
	}
	run->error = causal_targets__write_requests(run->targets, run->writer);
	if (!run->error)
		run->error = causal_files__write_builds(run->files, run->writer);
	if (run->error)
		return 0;
	run->testing = is_test_due(run);
	if (run->testing) {
		experimenter__begin_pause_test(run->experimenter, TESTED_SHARE, run->tests++ & 1,
					       now);
		return now + 1;
	}
	run->error = causal_targets__select(run->targets, run->target);
	if (run->error)
		return 0;
	speedup = draw_speedup(run);
	experimenter__begin(run->experimenter, speedup, random__next(&run->random) >> 32 & 1, now);
	return now + 1;
}

static uint64_t advance(struct run *run, uint64_t now)
{
	struct causal_experiment experiment;
	uint64_t next;

	if (causal_files__update(run->files, capture__spaces(run->capture))) {
		run->error = causal_targets__find(run->targets, false);
		if (!run->error)
			run->error = causal_points__find_named(run->points);
	}
	if (!run->error)
		run->error = causal_points__add_reached(run->points, run->writer);
	if (run->error)
		return 0;
	if (!experimenter__busy(run->experimenter))
		return begin_experiment(run, now);
	next = experimenter__advance(run->experimenter, causal_points__measured(run->points), now,
				     &experiment);
	if (next)
		return next;
	if (run->testing)
		run->error = write_pause_test(run, &experiment);
	else
		write_experiment(run, &experiment);
	if (run->error)
		return 0;
	if (!run->testing && run->config->on_experiment &&
	    run->config->on_experiment(run->config->arg, &experiment, &run->target->target))
		return 0;
	return begin_experiment(run, now_ns(CLOCK_MONOTONIC));
}

static uint64_t on_tick(void *arg, uint64_t now)
{
	struct run *run = arg;
	uint64_t next;

	next = advance(run, now);
	if (causal_points__set_breakpoints(run->points) && next > now + UPDATE_NS)
		return now + UPDATE_NS;
	return next;
}

static int open_writer(struct run *run)
{
	const struct causal_run about = {
		.command = run->config->command_line,
		.start_realtime = now_ns(CLOCK_REALTIME),
		.period_ns = run->config->period_ns,
		.status = -1,
	};

	int err = causal_writer__open(run->config->output, &about, &run->writer);

	if (!err && !causal_writer__is_new(run->writer))
		run->tests = random__next(&run->random) >> 32 & 1;
	return err;
}

static void on_event(void *arg, const struct event_header *event, size_t size)
{
}

static void on_mapping(void *arg, const struct code_mapping *mapping)
{
	struct run *run = arg;

	causal_points__add_mapping(run->points, mapping);
}

static int on_end(void *arg, uint64_t end)
{
	return 0;
}

/*
 * Processes of the command go on after it. They are profiled if there is no experiment yet: then
 * the command only started them.
 */
static bool goes_on(void *arg)
{
	struct run *run = arg;

	run->outlived = true;
	run->went_on = !run->result->experiments && !run->config->end_to_end;
	if (run->config->on_outlived)
		run->config->on_outlived(run->config->arg, run->went_on);
	return run->went_on;
}

static int open_capture(struct run *run)
{
	const struct causal_config *config = run->config;
	const struct capture_config capture = {
		.target = CAPTURE_COMMAND,
		.argv = config->argv,
		.user = config->user,
		.ignored = config->ignored,
		.to_forward = config->to_forward,
		.period_ns = config->period_ns,
		.duration_ns = config->duration_ns,
		.table_bytes = config->table_bytes,
		.goes_on = goes_on,
		.keep_files = true, /* causal_files refers to them */
		.spans = causal_points__requests(run->points),
	};
	const struct capture_sink sink = {.on_event = on_event,
					  .on_mapping = on_mapping,
					  .on_tick = on_tick,
					  .on_end = on_end,
					  .arg = run};
	const struct loader_object object = virtual_time__object(run->vtime);
	int err = capture__new(&capture, &object, &sink, &run->capture);

	return err ? err : virtual_time__map_ranges(run->vtime);
}

static int setup(struct run *run)
{
	const struct causal_config *config = run->config;
	const struct virtual_time_config vtime = {.signal = config->signal};
	const struct experiment_config experiment = {
		.half_ns = config->half_ns,
		.warm_up_ns = config->warm_up_ns,
		.min_visits = config->min_visits,
		.fixed_length = config->fixed_length,
		.period_ns = config->period_ns,
	};
	int err = virtual_time__new(&vtime, &run->vtime);

	if (!err)
		err = causal_files__new(config, run->vtime, &run->files);
	if (!err)
		err = causal_targets__new(config, run->vtime, run->files, &run->targets);
	if (!err)
		err = causal_points__new(config, run->vtime, run->files, run->targets,
					 &run->points);
	if (!err)
		err = experimenter__new(&experiment, run->vtime, &run->experimenter);
	if (!err)
		err = open_capture(run);
	if (!err)
		err = causal_files__start(run->files, capture__privsep(run->capture));
	if (!err)
		err = causal_targets__load_kinds(run->targets);
	if (!err)
		err = causal_targets__check_expected(run->targets);
	if (!err)
		err = causal_points__check_expected(run->points);
	if (!err)
		err = open_writer(run);
	return err;
}

/* Adds the diagnostic @text, malloc()ed or NULL, to the run, which owns it from now on. */
static void add_diagnostic(struct causal_run *about, char *text)
{
	if (!text || array__push(&about->diagnostics, text))
		free(text);
}

static void diagnose_unpaused(const struct virtual_time_counts *counts, struct causal_run *about)
{
	static const struct {
		const char *reason, *text;
	} reasons[CAUSAL_UNPAUSED] = {
		[CAUSAL_NO_HANDLER] =
			{"no-library",
			 "%lu pauses failed, of thread %u and maybe others: libdwell.so is not in "
			 "the process, which is linked statically, set-user-id, or drops "
			 "LD_PRELOAD. It is not slowed down with the other processes, so effects "
			 "are wrong."},
		[CAUSAL_BLOCKED] = {"blocked",
				    "%lu pauses failed, of thread %u and maybe others: the program "
				    "blocks the signal. Choose another one with --signal."},
		[CAUSAL_NOT_SENT] = {"not-sent", "%lu pauses failed, of thread %u and maybe "
						 "others: the kernel did not send the signal."},
		[CAUSAL_NO_SLOT] = {"no-slot",
				    "%lu threads were never paused, the first one thread %u: more "
				    "run at the same time than dwell can pause."},
	};

	for (int i = 0; i < CAUSAL_UNPAUSED; i++) {
		const struct causal_unpaused_count count = {
			.reason = reasons[i].reason,
			.tid = counts->unpaused_tid[i],
			.times = counts->unpaused[i],
		};
		bool few = count.times * UNPAUSED_PART <= counts->pauses + UNPAUSED_FEW;
		char *text;

		if (!count.times)
			continue;
		(void)array__push(&about->unpaused, count);
		if ((!few || i == CAUSAL_NO_SLOT) &&
		    asprintf(&text, reasons[i].text, count.times, count.tid) >= 0)
			add_diagnostic(about, text);
	}
}

static void diagnose_clock_throttle(const struct run *run, struct causal_run *about)
{
	uint64_t share, slowest = capture__slowest_clock(run->capture, &share);
	char *text;

	if (slowest && asprintf(&text,
				"the sampling clock was slowed to a tick every %g us, as a tick "
				"took %lu%% of the %g us asked for: where threads take turns "
				"within a few ms, predictions are less accurate.",
				(double)slowest / 1000, (share + 5) / 10,
				(double)run->config->period_ns / 1000) >= 0)
		add_diagnostic(about, text);
}

/* Files that could not be read: what is in them is no target, and no progress point. */
static void diagnose_failures(const struct run *run, struct causal_run *about)
{
	const struct privsep_failure *failures;
	uint64_t more;
	size_t n;

	failures = privsep__failures(capture__privsep(run->capture), &n, &more);
	for (size_t i = 0; i < n; i++) {
		char *text;

		if (asprintf(&text, "%s: %s. Nothing is known of code in it.", failures[i].path,
			     privsep__failure_text(&failures[i])) >= 0)
			add_diagnostic(about, text);
	}
}

static int write_end(struct run *run)
{
	struct virtual_time_counts counts;
	struct causal_run about = {.status = run->result->status};
	int err;

	virtual_time__counts(run->vtime, &counts);
	run->result->delay_ns = counts.global_ns;
	about.runtime_ns = run->result->runtime_ns;
	about.delay_ns = counts.global_ns;
	about.sampled_ns = counts.sampled_ns;
	about.pauses = counts.pauses;
	err = causal_targets__write_seen(run->targets, &counts, run->writer, &about);
	diagnose_unpaused(&counts, &about);
	diagnose_clock_throttle(run, &about);
	if (causal_files__diagnostic(run->files))
		add_diagnostic(&about, strdup(causal_files__diagnostic(run->files)));
	diagnose_failures(run, &about);
	if (run->outlived)
		add_diagnostic(
			&about,
			strdup(run->went_on
				       ? "The command ended, but processes that it started went on "
					 "and were profiled."
				       : "The command ended before processes that it started. What "
					 "those did afterwards was not profiled."));
	add_diagnostic(&about, causal_points__diagnostic(run->points, run->result->runtime_ns));
	if (!err)
		err = causal_writer__end(run->writer, &about);
	for (size_t i = 0; i < about.diagnostics.n; i++)
		free((void *)about.diagnostics.data[i]);
	array__free(&about.diagnostics);
	array__free(&about.seen);
	array__free(&about.places);
	array__free(&about.unpaused);
	return err;
}

/* An error if requested targets or points have not been found by the end of the command. */
static int check_found(struct run *run)
{
	int err = causal_targets__find(run->targets, true);

	return err ? err : causal_points__check_found(run->points);
}

/* Whether the command exited, and was not ended by a signal or --duration. */
static bool command_exited(const struct causal_run_result *result)
{
	return result->status >= 0 && WIFEXITED(result->status);
}

static int run_capture(struct run *run, const volatile sig_atomic_t *stop)
{
	uint64_t end;
	int err, finished;

	run->start = now_ns(CLOCK_MONOTONIC);
	err = capture__run(run->capture, stop);
	experimenter__stop(run->experimenter);
	virtual_time__disable_pauses(run->vtime);
	run->result->runtime_ns = now_ns(CLOCK_MONOTONIC) - run->start;
	if (capture__command_ended(run->capture))
		run->result->status =
			capture__command_status(run->capture, &run->result->exec_error);
	causal_files__update(run->files, capture__spaces(run->capture));
	if (capture__exec_failed(run->capture))
		return err;
	err = err ? err : run->error;
	if (!err)
		err = check_found(run);
	if (!err && run->whole && !*stop && command_exited(run->result))
		err = write_whole_run(run);
	finished = write_end(run);
	err = err ? err : finished;
	finished = capture__finish(run->capture, &end);
	return err ? err : finished;
}

static void free_run(struct run *run)
{
	int err = 0;

	if (run->writer)
		err = causal_writer__close(run->writer);
	if (err && !run->error)
		run->error = error__errno(err, "cannot write %s", run->config->output);
	experimenter__free(run->experimenter);
	if (run->points)
		causal_points__free(run->points);
	if (run->targets)
		causal_targets__free(run->targets);
	if (run->files)
		causal_files__free(run->files);
	if (run->capture)
		capture__free(run->capture);
	if (run->vtime)
		virtual_time__free(run->vtime);
}

int causal__run(const struct causal_config *config, const volatile sig_atomic_t *stop,
		struct causal_run_result *result)
{
	struct run run = {.config = config,
			  .result = result,
			  .random = {config->seed ? config->seed : random__seed()}};
	int err;

	*result = (struct causal_run_result){.status = -1};
	err = setup(&run);
	if (!err)
		err = run_capture(&run, stop);
	if (err && config->on_error)
		config->on_error(config->arg, err);
	if (run.capture)
		result->status = capture__command_status(run.capture, &result->exec_error);
	free_run(&run);
	return err ? err : run.error;
}
