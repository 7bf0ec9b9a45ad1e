// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/call_probe_source.h"

#include <errno.h>
#include <stdlib.h>

#include "collect/programs/record_programs.h"
#include "collect/record/call_probes.h"

/* What the probes did is written so often: a killed recorder loses this and a tick. */
#define WRITE_NS 500000000ULL

struct call_probe_source {
	struct source_parts parts;
	struct call_probes *probes; /* NULL: not started */
	bool sets_probes;	    /* its thread was started */
	uint64_t written_at;
};

static int start_call_probes(void *arg, const struct source_context *context)
{
	struct call_probe_source *source = arg;
	const struct loader *loader = capture__loader(context->capture);
	const struct call_probes_config config = {
		.patterns = source->parts.config->functions,
		.limit = source->parts.config->probe_limit,
		.programs = record_programs__calls(context->programs, loader__kernel(loader)),
		.privsep = capture__privsep(context->capture),
	};

	return call_probes__new(&config, &source->probes);
}

static void add_probed_target(void *arg, const struct target_event *event)
{
	const struct call_probe_source *source = arg;

	if (event->type == TARGET_PROCESS)
		call_probes__add_process(source->probes, event->pid);
	else if (event->type == TARGET_FILE && event->is_recorded)
		call_probes__add_file(source->probes, event->fd, event->path);
}

static void write_call_probes(struct call_probe_source *source, uint64_t now)
{
	struct call_probe probe;

	source->written_at = now;
	for (uint32_t i = 1; call_probes__get(source->probes, i, &probe); i++)
		if (probe.entries)
			translator__probe(source->parts.translator, now, i, &probe);
}

static int tick_call_probes(void *arg, uint64_t now, uint64_t *next)
{
	struct call_probe_source *source = arg;
	int err;

	if (now - source->written_at >= WRITE_NS)
		write_call_probes(source, now);
	if (source->sets_probes)
		return 0;
	/* Files of processes that ran before are searched by now, so that their calls are seen. */
	err = call_probes__start(source->probes);
	source->sets_probes = !err;
	return err;
}

static void end_call_probes(void *arg, uint64_t end)
{
	const struct call_probe_source *source = arg;

	call_probes__stop(source->probes);
}

static int finish_call_probes(void *arg, uint64_t now)
{
	write_call_probes(arg, now);
	return 0;
}

static void free_call_probes(void *arg)
{
	struct call_probe_source *source = arg;

	call_probes__free(source->probes);
	free(source);
}

int call_probe_source__new(const struct source_parts *parts, struct event_source *out)
{
	struct call_probe_source *source;

	if (!parts->config->functions)
		return 0;
	source = calloc(1, sizeof(*source));
	if (!source)
		return -ENOMEM;
	source->parts = *parts;
	*out = (struct event_source){
		.start = start_call_probes,
		.event = add_probed_target,
		.tick = tick_call_probes,
		.end = end_call_probes,
		.finish = finish_call_probes,
		.free = free_call_probes,
		.arg = source,
	};
	return 0;
}

const char *call_probe_source__problem(const struct event_source *source, size_t index)
{
	const struct call_probe_source *calls = source->arg;

	return call_probes__problem(calls->probes, index);
}
