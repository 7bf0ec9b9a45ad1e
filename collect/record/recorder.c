// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "collect/record/background_names.h"
#include "collect/record/losses.h"
#include "collect/record/name_addresses.h"
#include "collect/programs/record_programs.h"
#include "collect/record/recording_meta.h"
#include "collect/record/recording_sources.h"
#include "collect/record/translate.h"
#include "collect/record/wait_throttle.h"
#include "recording/record_stream.h"
#include "recording/recording.h"

#define TICK_NS	 100000000ULL
#define FLUSH_NS 500000000ULL /* a killed recorder loses this, a tick and its wait for a CPU */

struct recorder {
	struct recorder_config config;
	struct record_programs programs;
	struct capture *capture;
	struct recording_writer *writer;
	struct record_stream *stream; /* the writer's */
	struct translator *translator;
	struct addresses addresses;
	struct recording_sources sources;
	struct background_names *background_names; /* NULL: none, or not yet */
	struct wait_throttle throttle;
	bool begun; /* the capture: its start is written */
	uint64_t flushed_at;
	uint64_t waits; /* since the last step of the throttle */
	/* As they were last written: */
	struct losses losses;
	uint64_t slowest_clock; /* see capture__slowest_clock() */
	uint64_t clock_share;
	int error; /* of writing the file */
};

static void on_event(void *arg, const struct event_header *event, size_t size)
{
	struct recorder *recorder = arg;

	recorder->waits += event->type == EVENT_INTERVAL;
	translator__event(recorder->translator, event, size);
	recording_sources__event(&recorder->sources, event, size);
}

static void on_mapping(void *arg, const struct code_mapping *mapping)
{
	struct recorder *recorder = arg;

	translator__mapping(recorder->translator, mapping);
	recording_sources__mapping(&recorder->sources, mapping);
}

/* Writes the start, as soon as it is known: when the capture has begun. */
static void begin(struct recorder *recorder)
{
	const struct capture_config *config = &recorder->config.capture;
	uint64_t start = capture__start(recorder->capture);

	if (recorder->begun || !start)
		return;
	recorder->begun = true;
	recording_meta__write_start(recorder->stream, start);
	wait_throttle__start(&recorder->throttle, config->trace ? 0 : recorder->config.wait_limit,
			     config->period_ns, (uint64_t)sysconf(_SC_NPROCESSORS_ONLN), start);
}

static void throttle_waits(struct recorder *recorder)
{
	struct wait_throttle *throttle = &recorder->throttle;
	unsigned int before = throttle->spacing;

	if (wait_throttle__step(throttle, recorder->waits, now_ns(CLOCK_MONOTONIC)) != before)
		capture__space_waits(recorder->capture, throttle->spacing);
	recorder->waits = 0;
}

/* Writes the slowest rate of the sampling clocks if it has changed. */
static void write_slowest_clock(struct recorder *recorder)
{
	uint64_t share, slowest = capture__slowest_clock(recorder->capture, &share);

	if (slowest == recorder->slowest_clock && share == recorder->clock_share)
		return;
	recorder->slowest_clock = slowest;
	recorder->clock_share = share;
	record_stream__meta(recorder->stream, "slowest_clock_ns", "%lu", slowest);
	record_stream__meta(recorder->stream, "clock_share", "%lu", share);
}

static int flush(struct recorder *recorder, uint64_t now)
{
	int err;

	if (now - recorder->flushed_at < FLUSH_NS)
		return 0;
	recorder->flushed_at = now;
	write_slowest_clock(recorder);
	err = losses__write(&recorder->losses, recorder->stream, recorder->capture);
	if (!err)
		err = record_stream__error(recorder->stream);
	return err ? err : recording_writer__flush(recorder->writer);
}

static void fill_progress(const struct recorder *recorder, uint64_t now,
			  struct recorder_progress *progress)
{
	*progress = (struct recorder_progress){
		.elapsed_ns = now - capture__start(recorder->capture),
		.events = translator__events(recorder->translator),
		.lost = losses__total(recorder->capture),
		.bytes = recording_writer__size(recorder->writer),
	};
	capture__unwinder_stats(recorder->capture, &progress->unwinder);
}

/* Keeps the recorder's memory from growing with what has come and gone. */
static void forget(struct recorder *recorder)
{
	translator__forget_origins(recorder->translator, capture__spaces(recorder->capture));
	if (!translator__knows_many(recorder->translator))
		return;
	translator__forget_unused(recorder->translator);
	capture__send_again(recorder->capture);
}

/* Without a thread for them, names come at the end. */
static int find_names(struct recorder *recorder)
{
	if (!recorder->config.names)
		return 0;
	if (!recorder->background_names &&
	    background_names__start(capture__privsep(recorder->capture),
				    &recorder->background_names))
		return 0;
	return background_names__tick(recorder->background_names, &recorder->addresses,
				      capture__spaces(recorder->capture), recorder->stream);
}

static uint64_t on_tick(void *arg, uint64_t now)
{
	struct recorder *recorder = arg;
	struct recorder_progress progress;
	uint64_t next = now + TICK_NS;
	int err;

	begin(recorder);
	err = recording_sources__tick(&recorder->sources, now, &next);
	throttle_waits(recorder);
	forget(recorder);
	record_programs__tick(&recorder->programs);
	err = err ? err : find_names(recorder);
	recorder->error = err ? err : flush(recorder, now);
	if (recorder->error)
		return 0;
	if (recorder->config.on_progress) {
		fill_progress(recorder, now, &progress);
		recorder->config.on_progress(recorder->config.arg, &progress);
	}
	return next;
}

/*
 * Of one that was stopped at @stopped. If it ends with its targets: when the last of them exited,
 * as beside other programs it can take long until the recorder gets a CPU. Helpers are recorded
 * until it stops.
 */
static uint64_t end_of_recording(const struct recorder *recorder, uint64_t stopped)
{
	const struct capture_config *config = &recorder->config.capture;
	uint64_t last = translator__last_exit(recorder->translator);
	bool ends_with_targets = config->argv ? config->target == CAPTURE_COMMAND : config->n_ids;

	return ends_with_targets && !config->linked && last && last < stopped ? last : stopped;
}

static int on_end(void *arg, uint64_t stopped)
{
	struct recorder *recorder = arg;

	recording_sources__end(&recorder->sources, end_of_recording(recorder, stopped));
	return record_programs__end(&recorder->programs, recorder->capture, stopped);
}

static void on_batch(void *arg)
{
	struct recorder *recorder = arg;

	translator__locate(recorder->translator, capture__spaces(recorder->capture));
}

static int new_sources(struct recorder *recorder)
{
	const struct source_parts parts = {
		.config = &recorder->config,
		.programs = &recorder->programs,
		.stream = recorder->stream,
		.translator = recorder->translator,
	};

	return recording_sources__new(&parts, &recorder->sources);
}

static int setup(struct recorder *recorder)
{
	const struct recorder_config *config = &recorder->config;
	const struct loader_object object = record_programs__loader(&recorder->programs);
	const struct capture_sink sink = {.on_event = on_event,
					  .on_mapping = on_mapping,
					  .on_tick = on_tick,
					  .on_end = on_end,
					  .on_batch = on_batch,
					  .arg = recorder};
	/* First: whether that is possible is known at once. */
	int err = recording_writer__create(config->output, &recorder->writer);

	if (!err) {
		recorder->stream = recording_writer__stream(recorder->writer);
		err = translator__new(recorder->stream, &recorder->translator);
	}
	if (!err)
		err = new_sources(recorder);
	if (!err)
		err = capture__new(&config->capture, &object, &sink, &recorder->capture);
	if (!err)
		record_programs__find_existing(&recorder->programs);
	if (!err && config->names) {
		err = addresses__init(&recorder->addresses);
		translator__collect_addresses(recorder->translator, &recorder->addresses);
	}
	if (!err && config->capture.spans)
		translator__set_sources(recorder->translator, config->capture.spans);
	return err ? err : recording_sources__start(&recorder->sources, recorder->capture);
}

int recorder__new(const struct recorder_config *config, struct recorder **out)
{
	_cleanup_(recorder__freep) struct recorder *recorder = calloc(1, sizeof(*recorder));
	int err;

	if (!recorder)
		return -ENOMEM;
	recorder->config = *config;
	recorder->programs.helpers = config->helpers;
	recorder->programs.lock_wakers = config->lock_wakers;
	recorder->programs.trace = config->capture.trace;
	recorder->programs.span_probes = config->capture.spans;
	recorder->programs.call_probes = config->functions;
	recorder->programs.tells_runs = config->calls;
	recorder->config.capture.return_probes = config->functions;
	err = setup(recorder);
	if (err)
		return err;
	recording_meta__write_header(recorder->stream, &recorder->config, recorder->capture);
	*out = TAKE_PTR(recorder);
	return 0;
}

const char *recorder__rung(const struct recorder *recorder)
{
	return loader__rung(capture__loader(recorder->capture));
}

int recorder__run(struct recorder *recorder, const volatile sig_atomic_t *stop)
{
	int err = capture__run(recorder->capture, stop);

	return err ? err : recorder->error;
}

/* @end is that of the recording, @stopped the present time. */
static int write_end(struct recorder *recorder, uint64_t end, uint64_t stopped)
{
	int err, finish_err;

	begin(recorder);
	err = losses__write_last(&recorder->losses, recorder->stream, recorder->capture);
	finish_err = recording_sources__finish(&recorder->sources, stopped);
	err = err ? err : finish_err;
	translator__end(recorder->translator);
	write_slowest_clock(recorder);
	return recording_meta__write_end(recorder->stream, recorder->capture, end) ?: err;
}

int recorder__finish(struct recorder *recorder, struct recorder_progress *progress)
{
	uint64_t stopped = 0, end;
	int err, completed;

	background_names__stop(TAKE_PTR(recorder->background_names));
	err = capture__finish(recorder->capture, &stopped);
	end = end_of_recording(recorder, stopped);
	if (!err)
		err = write_end(recorder, end, stopped);
	fill_progress(recorder, end, progress);
	if (capture__exec_failed(recorder->capture)) {
		recording_writer__discard(TAKE_PTR(recorder->writer));
		return err;
	}
	completed = recording_writer__complete(recorder->writer);
	return err ? err : completed;
}

bool recorder__has_file(const struct recorder *recorder)
{
	return recorder->writer && recording_writer__has_name(recorder->writer);
}

int recorder__add_names(struct recorder *recorder, uint64_t *named)
{
	int err;

	*named = 0;
	err = name_addresses(&recorder->addresses, capture__spaces(recorder->capture),
			     capture__privsep(recorder->capture), recorder->stream, named);
	return err ? err : recording_writer__complete(recorder->writer);
}

int recorder__close(struct recorder *recorder)
{
	return recording_writer__close(TAKE_PTR(recorder->writer));
}

const char *recorder__request_problem(const struct recorder *recorder, size_t index)
{
	return recording_sources__request_problem(&recorder->sources, index);
}

const char *recorder__function_problem(const struct recorder *recorder, size_t index)
{
	return recording_sources__function_problem(&recorder->sources, index);
}

int recorder__command_status(struct recorder *recorder, int *exec_error)
{
	return capture__command_status(recorder->capture, exec_error);
}

void recorder__free(struct recorder *recorder)
{
	recording_sources__free(&recorder->sources);
	background_names__stop(recorder->background_names);
	if (recorder->capture)
		capture__free(recorder->capture);
	if (recorder->translator)
		translator__free(recorder->translator);
	addresses__free(&recorder->addresses);
	recording_writer__discard(recorder->writer);
	free(recorder);
}
