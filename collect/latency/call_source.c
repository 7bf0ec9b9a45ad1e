// SPDX-License-Identifier: BSD-2-Clause
#include "collect/latency/call_source.h"

#include <errno.h>
#include <stdlib.h>

#include "collect/latency/call_scanner.h"
#include "collect/programs/record_programs.h"

struct call_source {
	struct call_scanner *scanner;
	const struct thread_run *runs; /* NULL: unknown */
	const struct call_sink *sink;
};

int call_source__new(uint64_t resolution_ns, struct call_source **out)
{
	_cleanup_(call_source__freep) struct call_source *source = calloc(1, sizeof(*source));
	int err;

	if (!source)
		return -ENOMEM;
	err = call_scanner__new(resolution_ns, &source->scanner);
	if (err)
		return err;
	*out = TAKE_PTR(source);
	return 0;
}

static int start_scanner(void *arg, const struct source_context *context)
{
	struct call_source *source = arg;

	source->sink = context->calls;
	source->runs = record_programs__map_runs(context->programs);
	call_scanner__set_runs(source->scanner, source->runs);
	return 0;
}

static void add_scanned_target(void *arg, const struct target_event *event)
{
	const struct call_source *source = arg;

	if (event->type == TARGET_PROCESS || event->type == TARGET_EXEC)
		call_scanner__add(source->scanner, event->pid);
	else if (event->type == TARGET_THREAD)
		call_scanner__add_thread(source->scanner, event->tid, event->number);
}

static int tick_scanner(void *arg, uint64_t now, uint64_t *next)
{
	const struct call_source *source = arg;

	call_scanner__drain(source->scanner, false, source->sink);
	return 0;
}

static void end_scanner(void *arg, uint64_t end)
{
	const struct call_source *source = arg;

	call_scanner__drain(source->scanner, true, source->sink);
}

struct event_source call_source__events(struct call_source *source)
{
	return (struct event_source){
		.start = start_scanner,
		.event = add_scanned_target,
		.tick = tick_scanner,
		.end = end_scanner,
		.arg = source,
	};
}

const char *call_source__problem(const struct call_source *source)
{
	return call_scanner__problem(source->scanner);
}

void call_source__free(struct call_source *source)
{
	if (!source)
		return;
	call_scanner__free(source->scanner);
	record_programs__unmap_runs(source->runs);
	free(source);
}
