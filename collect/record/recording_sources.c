// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/recording_sources.h"

#include "base/array.h"
#include "collect/capture/child.h"
#include "collect/programs/devices.h"
#include "collect/programs/record_programs.h"
#include "collect/record/annotation_source.h"
#include "collect/record/call_probe_source.h"
#include "collect/record/seen_calls.h"
#include "collect/record/span_probes.h"
#include "privsep/opener.h"

#define KEPT_PROCESSES 4096 /* after their end */

static int take_calls(const struct source_parts *parts, struct event_source *out)
{
	if (!parts->config->calls)
		return 0;
	*out = *parts->config->calls;
	out->free = NULL; /* it stays its owner's */
	return 0;
}

static int take_devices(const struct source_parts *parts, struct event_source *out)
{
	return devices__new(out);
}

/* Each leaves its source empty if the configuration does not ask for it. */
static int (*const makers[RECORDING_SOURCES])(const struct source_parts *parts,
					      struct event_source *out) = {
	[SOURCE_ANNOTATIONS] = annotation_source__new,
	[SOURCE_SEEN_CALLS] = seen_calls__new,
	[SOURCE_CALLS] = take_calls,
	[SOURCE_SPANS] = span_probes__new,
	[SOURCE_FUNCTIONS] = call_probe_source__new,
	[SOURCE_DEVICES] = take_devices,
};

int recording_sources__new(const struct source_parts *parts, struct recording_sources *sources)
{
	int err = leaving_map__init(&sources->pids, KEPT_PROCESSES);

	sources->parts = *parts;
	sources->follows = parts->config->calls || parts->config->functions;
	for (size_t i = 0; i < ARRAY_SIZE(makers) && !err; i++)
		err = makers[i](parts, &sources->all[i]);
	return err;
}

static void tell_sources(struct recording_sources *sources, const struct target_event *event)
{
	for (size_t i = 0; i < ARRAY_SIZE(sources->all); i++)
		if (sources->all[i].event)
			sources->all[i].event(sources->all[i].arg, event);
}

/* An O_PATH descriptor of the command's file; -1: none. */
static int open_program(struct capture *capture, const char *path)
{
	const struct open_request request = {.path = path, .fd = -1, .to = -1, .result = -1};
	struct found_file found;

	return path && !opener__open(privsep__opener(capture__privsep(capture)), &request, &found)
		       ? found.fd
		       : -1;
}

/* The command's own file is searched before it starts, so that its first calls are seen. */
static void tell_program(struct recording_sources *sources, struct capture *capture)
{
	const struct recorder_config *config = sources->parts.config;
	const bool wanted = config->capture.spans || config->functions;
	_cleanup_free_ char *path =
		wanted && config->capture.argv ? child__find(config->capture.argv[0]) : NULL;
	_cleanup_close_ int fd = open_program(capture, path);
	const struct target_event event = {
		.type = TARGET_FILE, .fd = fd, .path = path, .is_recorded = true};

	if (fd >= 0)
		tell_sources(sources, &event);
}

int recording_sources__start(struct recording_sources *sources, struct capture *capture)
{
	const struct source_context context = {
		.capture = capture,
		.programs = sources->parts.programs,
		.calls = seen_calls__sink(&sources->all[SOURCE_SEEN_CALLS]),
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sources->all) && !err; i++)
		if (sources->all[i].start)
			err = sources->all[i].start(sources->all[i].arg, &context);
	if (!err)
		tell_program(sources, capture);
	return err;
}

static void tell_process(struct recording_sources *sources, uint32_t pid, bool is_new)
{
	const struct target_event event = {.type = is_new ? TARGET_PROCESS : TARGET_EXEC,
					   .pid = pid};

	leaving_map__put(&sources->pids, pid, 0);
	tell_sources(sources, &event);
}

/* Another leader is that of a new process with the same pid. */
static void tell_thread(struct recording_sources *sources, const struct event_thread *thread)
{
	const struct target_event event = {.type = TARGET_THREAD,
					   .pid = thread->tgid,
					   .tid = thread->tid,
					   .number = thread->header.thread};
	uint64_t *leader = leaving_map__get(&sources->pids, thread->tgid);
	bool leads = thread->tid == thread->tgid;
	/* The final walk over all tasks sends every thread again, without its parent. */
	bool is_new = leads && thread->flags & THREAD_CREATED && thread->parent;

	if (!leader || (is_new && *leader != thread->header.thread))
		tell_process(sources, thread->tgid, true);
	leader = leaving_map__get(&sources->pids, thread->tgid);
	if (leader && leads)
		*leader = thread->header.thread;
	tell_sources(sources, &event);
}

void recording_sources__event(struct recording_sources *sources, const struct event_header *event,
			      size_t size)
{
	const struct event_thread *thread = (const void *)event;
	const struct event_exec *exec = (const void *)event;
	const struct event_totals *totals = (const void *)event;
	struct map64_slot gone;

	if (!sources->follows)
		return;
	if (event->type == EVENT_THREAD && size >= sizeof(*thread) && thread->flags & THREAD_TARGET)
		tell_thread(sources, thread);
	else if (event->type == EVENT_EXEC && size >= sizeof(*exec))
		tell_process(sources, exec->tid, !leaving_map__get(&sources->pids, exec->tid));
	else if (event->type == EVENT_TOTALS && size >= sizeof(*totals) &&
		 totals->flags & TOTALS_EXITED)
		leaving_map__end(&sources->pids,
				 translator__led_by(sources->parts.translator, event->thread),
				 &gone);
}

/*
 * Whether process @pid is recorded: mappings of wakers are read, too, as their stacks are taken.
 * Before the first tick, all are of the targets, unless any process may be a helper.
 */
static bool is_recorded(const struct recording_sources *sources, uint32_t pid)
{
	const struct capture_config *config = &sources->parts.config->capture;

	return config->target == CAPTURE_SYSTEM || (!sources->ticked && !config->linked) ||
	       leaving_map__get(&sources->pids, pid);
}

void recording_sources__mapping(struct recording_sources *sources,
				const struct code_mapping *mapping)
{
	const struct target_event event = {
		.type = TARGET_FILE,
		.pid = mapping->pid,
		.fd = mapping->origin->fd,
		.path = mapping->origin->path,
		.is_recorded = is_recorded(sources, mapping->pid),
	};

	if (mapping->origin->kind == CODE_FILE)
		tell_sources(sources, &event);
}

int recording_sources__tick(struct recording_sources *sources, uint64_t now, uint64_t *next)
{
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sources->all) && !err; i++)
		if (sources->all[i].tick)
			err = sources->all[i].tick(sources->all[i].arg, now, next);
	sources->ticked = true;
	return err;
}

void recording_sources__end(struct recording_sources *sources, uint64_t end)
{
	for (size_t i = 0; i < ARRAY_SIZE(sources->all); i++)
		if (sources->all[i].end)
			sources->all[i].end(sources->all[i].arg, end);
}

int recording_sources__finish(struct recording_sources *sources, uint64_t now)
{
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sources->all); i++) {
		const struct event_source *source = &sources->all[i];
		int failed = source->finish ? source->finish(source->arg, now) : 0;

		err = err ? err : failed;
	}
	return err;
}

const char *recording_sources__request_problem(const struct recording_sources *sources,
					       size_t index)
{
	const struct span_source *span = &sources->parts.config->capture.spans->sources.data[index];
	const struct event_source *probes = &sources->all[SOURCE_SPANS];
	const char *error = span_probes__error(probes, index);

	if (error || translator__spans(sources->parts.translator, index))
		return error;
	if (span->kind == SPAN_SOURCE_TCP || span->kind == SPAN_SOURCE_UNIX)
		return "no program that was recorded answered a request there";
	if (span->kind == SPAN_SOURCE_TAGS)
		return "no command that dwell ran ended one (DWELL_REQUEST_END in dwell.h)";
	if (span_probes__is_found(probes, index))
		return "none of them ended in a program that was recorded";
	return span->kind == SPAN_SOURCE_PROBES
		       ? "no program that was recorded has both probes"
		       : "no program that was recorded has a function, or a DWELL_BEGIN and "
			 "DWELL_END, of that name";
}

const char *recording_sources__function_problem(const struct recording_sources *sources,
						size_t index)
{
	return call_probe_source__problem(&sources->all[SOURCE_FUNCTIONS], index);
}

void recording_sources__free(struct recording_sources *sources)
{
	for (size_t i = 0; i < ARRAY_SIZE(sources->all); i++)
		if (sources->all[i].free)
			sources->all[i].free(sources->all[i].arg);
	leaving_map__free(&sources->pids);
}
