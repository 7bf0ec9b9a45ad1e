// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/leaving_map.h"
#include "collect/core/child.h"
#include "collect/record/annotations.h"
#include "collect/record/background_names.h"
#include "collect/record/call_probes.h"
#include "collect/record/losses.h"
#include "collect/record/name_addresses.h"
#include "collect/programs/record_programs.h"
#include "collect/record/recording_meta.h"
#include "collect/record/span_probes.h"
#include "collect/record/translate.h"
#include "collect/record/wait_throttle.h"
#include "privsep/opener.h"
#include "recording/recording.h"

#define TICK_NS	       100000000ULL
#define KEPT_PROCESSES 4096 /* after their end */
/* While the program writes annotations: its stripes are small. */
#define ANNOTATED_TICK_NS 10000000ULL
#define FLUSH_NS	  500000000ULL /* a killed recorder loses this, a tick and its wait for a CPU */

struct recorder {
	struct recorder_config config;
	struct record_programs programs;
	struct capture *capture;
	struct recording_writer *writer;
	struct translator *translator;
	struct addresses addresses;
	struct background_names *background_names; /* NULL: none, or not yet */
	struct span_probes *probes;		   /* NULL: no spans were asked for */
	const struct thread_run *runs;		   /* NULL: not needed */
	struct call_probes *call_probes;	   /* NULL: no functions were asked for */
	bool call_probes_started;
	struct annotations *annotations;   /* NULL: the program cannot annotate itself */
	bool annotations_truncated;	   /* and not read any more */
	ARRAY(struct annotation) pending;  /* to be written when their threads are known */
	ARRAY(struct observed_call) calls; /* likewise */
	/* Processes passed to config.calls and call_probes, with the leader's number. */
	struct leaving_map pids;
	struct wait_throttle throttle;
	bool begun; /* the capture: its start is written */
	uint64_t flushed_at;
	uint64_t waits; /* since the last step of the throttle */
	uint64_t lost_annotations;
	uint64_t lost_calls; /* for lack of memory */
	/* As they were last written: */
	struct losses losses;
	uint64_t slowest_clock; /* see capture__slowest_clock() */
	uint64_t clock_share;
	int error; /* of writing the file */
};

/* Reports process @pid to the scanner; @is_new: and to the probes, which keep it beyond an exec. */
static void tell_process(struct recorder *recorder, uint32_t pid, bool is_new)
{
	const struct recorder_calls *calls = recorder->config.calls;

	leaving_map__put(&recorder->pids, pid, 0);
	if (calls)
		calls->on_process(calls->arg, pid);
	if (recorder->call_probes && is_new)
		call_probes__add_process(recorder->call_probes, pid);
}

/* Another leader is that of a new process with the same pid. */
static void tell_thread(struct recorder *recorder, const struct event_thread *thread)
{
	const struct recorder_calls *calls = recorder->config.calls;
	uint64_t *leader = leaving_map__get(&recorder->pids, thread->tgid);
	bool leads = thread->tid == thread->tgid;
	/* The final walk over all tasks sends every thread again, without its parent. */
	bool is_new = leads && thread->flags & THREAD_CREATED && thread->parent;

	if (!leader || (is_new && *leader != thread->header.thread))
		tell_process(recorder, thread->tgid, true);
	leader = leaving_map__get(&recorder->pids, thread->tgid);
	if (leader && leads)
		*leader = thread->header.thread;
	if (calls)
		calls->on_thread(calls->arg, thread->tid, thread->header.thread);
}

/* Processes whose calls are to be seen or measured. */
static void tell_processes(struct recorder *recorder, const struct event_header *event, size_t size)
{
	const struct event_thread *thread = (const void *)event;
	const struct event_exec *exec = (const void *)event;
	const struct event_totals *totals = (const void *)event;
	struct map64_slot gone;

	if (event->type == EVENT_THREAD && size >= sizeof(*thread) && thread->flags & THREAD_TARGET)
		tell_thread(recorder, thread);
	else if (event->type == EVENT_EXEC && size >= sizeof(*exec))
		tell_process(recorder, exec->tid, !leaving_map__get(&recorder->pids, exec->tid));
	else if (event->type == EVENT_TOTALS && size >= sizeof(*totals) &&
		 totals->flags & TOTALS_EXITED)
		leaving_map__end(&recorder->pids,
				 translator__led_by(recorder->translator, event->thread), &gone);
}

static void on_event(void *arg, const struct event_header *event, size_t size)
{
	struct recorder *recorder = arg;

	recorder->waits += event->type == EVENT_INTERVAL;
	translator__event(recorder->translator, event, size);
	if (recorder->config.calls || recorder->call_probes)
		tell_processes(recorder, event, size);
}

/*
 * Whether the process is one that is recorded: mappings of wakers are read, too, as their stacks
 * are taken. Before the first tick, all are of the targets, unless any process may be a helper.
 */
static bool is_recorded(struct recorder *recorder, uint32_t pid)
{
	const struct capture_config *config = &recorder->config.capture;

	return config->target == CAPTURE_SYSTEM ||
	       (!recorder->call_probes_started && !config->linked) ||
	       leaving_map__get(&recorder->pids, pid);
}

static void on_mapping(void *arg, const struct code_mapping *mapping)
{
	struct recorder *recorder = arg;

	translator__mapping(recorder->translator, mapping);
	if (recorder->probes && mapping->origin->kind == CODE_FILE)
		span_probes__add_file(recorder->probes, mapping->origin->fd, mapping->origin->path);
	if (recorder->call_probes && mapping->origin->kind == CODE_FILE &&
	    is_recorded(recorder, mapping->pid))
		call_probes__add_file(recorder->call_probes, mapping->origin->fd,
				      mapping->origin->path);
}

/* Writes the start, as soon as it is known: when the capture has begun. */
static void begin(struct recorder *recorder)
{
	const struct capture_config *config = &recorder->config.capture;
	uint64_t start = capture__start(recorder->capture);

	if (recorder->begun || !start)
		return;
	recorder->begun = true;
	recording_meta__write_start(recorder->writer, start);
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

static void keep_annotation(void *arg, const struct annotation *annotation)
{
	struct recorder *recorder = arg;

	recorder->lost_annotations += array__push(&recorder->pending, *annotation) != 0;
}

static void read_annotations(struct recorder *recorder, bool last)
{
	if (!recorder->annotations || recorder->annotations_truncated ||
	    !annotations__drain(recorder->annotations, last, keep_annotation, recorder))
		return;
	/* Continue without: the program did it. How many there were is not known. */
	error__clear();
	recorder->annotations_truncated = true;
	(void)losses__put(recorder->writer, "annotation files, truncated by the program", 1);
}

/* Writes annotations that were read before the last batch of events: their threads are known now.
 */
static void write_annotations(struct recorder *recorder)
{
	char name[DWELL_POINT_NAME];

	for (size_t i = 0; i < recorder->pending.n; i++) {
		const struct annotation *annotation = &recorder->pending.data[i];
		bool named =
			(annotation->type == DWELL_EVENT_BEGIN ||
			 annotation->type == DWELL_EVENT_END) &&
			recorder->annotations &&
			annotations__point_name(recorder->annotations, annotation->address, name);

		recorder->lost_annotations += !translator__annotation(
			recorder->translator, annotation, named ? name : NULL);
	}
	recorder->pending.n = 0;
}

static void keep_call(void *arg, const struct observed_call *call)
{
	struct recorder *recorder = arg;

	translator__expect_call(recorder->translator, call);
	recorder->lost_calls += array__push(&recorder->calls, *call) != 0;
}

static void write_short_calls(void *arg, const struct short_calls *calls)
{
	struct recorder *recorder = arg;

	translator__short_calls(recorder->translator, now_ns(CLOCK_MONOTONIC), calls);
}

static void write_scan(void *arg, const struct scan_report *report)
{
	struct recorder *recorder = arg;

	translator__scan(recorder->translator, report);
}

/* Writes calls that were read before the last batch of events, and reads the next. */
static void move_calls(struct recorder *recorder, bool last)
{
	const struct call_sink sink = {.on_call = keep_call,
				       .on_short_calls = write_short_calls,
				       .on_report = write_scan,
				       .arg = recorder};

	for (size_t i = 0; i < recorder->calls.n; i++)
		translator__call(recorder->translator, &recorder->calls.data[i]);
	recorder->calls.n = 0;
	if (recorder->config.calls)
		recorder->config.calls->drain(recorder->config.calls->arg, last, &sink);
}

/* Writes what the probes did, so that it survives a crash. */
static void write_probes(struct recorder *recorder, uint64_t now)
{
	struct call_probe probe;

	if (!recorder->call_probes)
		return;
	for (uint32_t i = 1; call_probes__get(recorder->call_probes, i, &probe); i++)
		if (probe.entries)
			translator__probe(recorder->translator, now, i, &probe);
}

/* Writes the slowest rate of the sampling clocks if it has changed. */
static void write_slowest_clock(struct recorder *recorder)
{
	uint64_t share, slowest = capture__slowest_clock(recorder->capture, &share);

	if (slowest == recorder->slowest_clock && share == recorder->clock_share)
		return;
	recorder->slowest_clock = slowest;
	recorder->clock_share = share;
	recording_writer__meta(recorder->writer, "slowest_clock_ns", "%lu", slowest);
	recording_writer__meta(recorder->writer, "clock_share", "%lu", share);
}

static int flush(struct recorder *recorder, uint64_t now)
{
	int err;

	if (now - recorder->flushed_at < FLUSH_NS)
		return 0;
	recorder->flushed_at = now;
	write_slowest_clock(recorder);
	write_probes(recorder, now);
	err = losses__write(&recorder->losses, recorder->writer, recorder->capture);
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
				      capture__spaces(recorder->capture), recorder->writer);
}

static uint64_t on_tick(void *arg, uint64_t now)
{
	struct recorder *recorder = arg;
	struct recorder_progress progress;

	begin(recorder);
	write_annotations(recorder);
	read_annotations(recorder, false);
	move_calls(recorder, false);
	throttle_waits(recorder);
	forget(recorder);
	record_programs__tick(&recorder->programs);
	recorder->error = find_names(recorder);
	if (!recorder->error)
		recorder->error = flush(recorder, now);
	/* Files of processes that ran before are searched by now, so that their calls are seen. */
	if (!recorder->error && recorder->call_probes && !recorder->call_probes_started) {
		recorder->error = call_probes__start(recorder->call_probes);
		recorder->call_probes_started = true;
	}
	if (recorder->error)
		return 0;
	if (recorder->config.on_progress) {
		fill_progress(recorder, now, &progress);
		recorder->config.on_progress(recorder->config.arg, &progress);
	}
	return now + (recorder->pending.n ? ANNOTATED_TICK_NS : TICK_NS);
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

	write_annotations(recorder);
	read_annotations(recorder, true);
	move_calls(recorder, true);
	if (recorder->call_probes)
		call_probes__stop(recorder->call_probes);
	record_programs__end_devices(&recorder->programs, recorder->capture,
				     end_of_recording(recorder, stopped));
	return record_programs__end(&recorder->programs, recorder->capture, stopped);
}

static void on_batch(void *arg)
{
	struct recorder *recorder = arg;

	translator__locate(recorder->translator, capture__spaces(recorder->capture));
}

static void trace_points(struct annotations *annotations)
{
	int fd = annotations__trace_points(annotations);
	char number[16];

	snprintf(number, sizeof(number), "%d", fd);
	if (fd >= 0)
		setenv(DWELL_POINTS_ENVIRONMENT, number, 1);
}

static int open_call_probes(struct recorder *recorder)
{
	const struct call_probes_config config = {
		.patterns = recorder->config.functions,
		.limit = recorder->config.probe_limit,
		.programs = record_programs__calls(
			&recorder->programs, loader__kernel(capture__loader(recorder->capture))),
		.privsep = capture__privsep(recorder->capture),
	};

	return call_probes__new(&config, &recorder->call_probes);
}

/* An O_PATH descriptor of the command's file; -1: none. */
static int open_program(struct recorder *recorder, const char *path)
{
	const struct open_request request = {.path = path, .fd = -1, .to = -1, .result = -1};
	struct privsep *privsep = capture__privsep(recorder->capture);
	struct found_file found;

	return path && !opener__open(privsep__opener(privsep), &request, &found) ? found.fd : -1;
}

/* The command's own file is searched before it starts, so that its first calls are seen. */
static int open_probes(struct recorder *recorder)
{
	const struct capture_config *config = &recorder->config.capture;
	const bool wanted = config->spans || recorder->config.functions;
	_cleanup_free_ char *program = wanted && config->argv ? child__find(config->argv[0]) : NULL;
	_cleanup_close_ int fd = open_program(recorder, program);
	int err = 0;

	if (config->spans)
		err = span_probes__new(config->spans, capture__loader(recorder->capture),
				       capture__privsep(recorder->capture), &recorder->probes);
	if (!err && recorder->config.functions)
		err = open_call_probes(recorder);
	if (!err && recorder->probes && fd >= 0)
		span_probes__add_file(recorder->probes, fd, program);
	if (!err && recorder->call_probes && fd >= 0)
		call_probes__add_file(recorder->call_probes, fd, program);
	return err;
}

/* Creates the annotation file, and names it to the command. Without it, the command runs, too. */
static void open_annotations(struct recorder *recorder)
{
	const struct span_sources *spans = recorder->config.capture.spans;
	const char *user = recorder->config.capture.user;

	if (!annotations__new(&recorder->annotations) &&
	    (!user || !annotations__allow(recorder->annotations, user)))
		setenv(DWELL_ENVIRONMENT, annotations__path(recorder->annotations), 1);
	else
		unsetenv(DWELL_ENVIRONMENT); /* of a recording within which dwell runs */
	unsetenv(DWELL_POINTS_ENVIRONMENT);
	if (recorder->annotations && spans && span_sources__functions(spans))
		trace_points(recorder->annotations);
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

	if (err)
		return err;
	if (config->capture.target == CAPTURE_COMMAND)
		open_annotations(recorder);
	err = capture__new(&config->capture, &object, &sink, &recorder->capture);
	if (!err)
		record_programs__find_existing(&recorder->programs);
	if (!err)
		err = translator__new(recorder->writer, &recorder->translator);
	if (!err && config->names) {
		err = addresses__init(&recorder->addresses);
		translator__collect_addresses(recorder->translator, &recorder->addresses);
	}
	if (!err && config->capture.spans)
		translator__set_sources(recorder->translator, config->capture.spans);
	if (!err && config->calls) {
		recorder->runs = record_programs__map_runs(&recorder->programs);
		config->calls->on_start(config->calls->arg, recorder->runs);
	}
	return err ? err : open_probes(recorder);
}

int recorder__new(const struct recorder_config *config, struct recorder **out)
{
	_cleanup_(recorder__freep) struct recorder *recorder = calloc(1, sizeof(*recorder));
	int err;

	if (!recorder)
		return -ENOMEM;
	recorder->config = *config;
	err = leaving_map__init(&recorder->pids, KEPT_PROCESSES);
	if (err)
		return err;
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
	recording_meta__write_header(recorder->writer, &recorder->config, recorder->capture);
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

static int write_last_losses(struct recorder *recorder)
{
	struct recording_writer *writer = recorder->writer;
	uint64_t annotations = recorder->lost_annotations;
	int err = losses__write_last(&recorder->losses, writer, recorder->capture);

	if (recorder->annotations)
		annotations += annotations__lost(recorder->annotations);
	if (!err)
		err = losses__put(writer, "annotations, overwritten before they were read",
				  annotations);
	if (!err)
		err = losses__put(writer, "calls, no memory", recorder->lost_calls);
	if (!err)
		err = losses__put(writer, "calls, of unknown threads",
				  translator__lost_calls(recorder->translator));
	return err;
}

/* @end is that of the recording, @stopped the present time. */
static int write_end(struct recorder *recorder, uint64_t end, uint64_t stopped)
{
	int err;

	begin(recorder);
	write_annotations(recorder);
	move_calls(recorder, true);
	write_probes(recorder, stopped);
	translator__end(recorder->translator);
	err = write_last_losses(recorder);
	write_slowest_clock(recorder);
	return recording_meta__write_end(recorder->writer, recorder->capture, end) ?: err;
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
			     capture__privsep(recorder->capture), recorder->writer, named);
	return err ? err : recording_writer__complete(recorder->writer);
}

int recorder__close(struct recorder *recorder)
{
	return recording_writer__close(TAKE_PTR(recorder->writer));
}

const char *recorder__request_problem(const struct recorder *recorder, size_t index)
{
	const struct span_source *source = &recorder->config.capture.spans->sources.data[index];
	const char *error = span_probes__error(recorder->probes, index);

	if (error || translator__spans(recorder->translator, index))
		return error;
	if (source->kind == SPAN_SOURCE_TCP || source->kind == SPAN_SOURCE_UNIX)
		return "no program that was recorded answered a request there";
	if (source->kind == SPAN_SOURCE_TAGS)
		return "no command that dwell ran ended one (DWELL_REQUEST_END in dwell.h)";
	if (span_probes__is_found(recorder->probes, index))
		return "none of them ended in a program that was recorded";
	return source->kind == SPAN_SOURCE_PROBES
		       ? "no program that was recorded has both probes"
		       : "no program that was recorded has a function, or a DWELL_BEGIN and "
			 "DWELL_END, of that name";
}

const char *recorder__function_problem(const struct recorder *recorder, size_t index)
{
	return call_probes__problem(recorder->call_probes, index);
}

int recorder__command_status(struct recorder *recorder, int *exec_error)
{
	return capture__command_status(recorder->capture, exec_error);
}

void recorder__free(struct recorder *recorder)
{
	if (recorder->probes)
		span_probes__free(recorder->probes);
	background_names__stop(recorder->background_names);
	call_probes__free(recorder->call_probes);
	record_programs__unmap_runs(recorder->runs);
	if (recorder->capture)
		capture__free(recorder->capture);
	if (recorder->translator)
		translator__free(recorder->translator);
	if (recorder->annotations)
		annotations__free(recorder->annotations);
	array__free(&recorder->pending);
	array__free(&recorder->calls);
	addresses__free(&recorder->addresses);
	leaving_map__free(&recorder->pids);
	recording_writer__discard(recorder->writer);
	free(recorder);
}
