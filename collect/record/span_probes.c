// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/span_probes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/span.h"
#include "base/hash.h"
#include "collect/probes/function_places.h"
#include "privsep/code_reader.h"

struct source_state {
	bool found;
	const char *error;
};

struct span_probes {
	const struct span_sources *sources;
	const struct loader *loader;
	struct code_reader *reader;
	struct source_state *states; /* of each source */
	struct map64 files;	     /* by device and inode: those that were searched */
	ARRAY(struct uprobes *) uprobes;
};

static int attach(struct span_probes *probes, const char *program, int fd,
		  const struct uprobe_place *places, size_t n, bool at_return)
{
	_cleanup_(uprobes__freep) struct uprobes *uprobes = NULL;
	size_t refused;
	int err = uprobes__attach(loader__program(probes->loader, program),
				  loader__kernel(probes->loader), fd, places, n, at_return,
				  &refused, &uprobes);

	err = err ? err : array__push(&probes->uprobes, uprobes);
	if (!err)
		uprobes = NULL;
	return err;
}

/* The end first: a begin without an end would stay open. */
static int attach_function(struct span_probes *probes, const struct found_function *function,
			   int fd, uint64_t cookie)
{
	struct function_places places = {};
	int err = function_places__set(function, &places);
	const struct uprobe_place entry = {.offset = places.entry, .cookie = cookie};

	for (size_t i = 0; i < places.exits.n; i++)
		places.exits.data[i].cookie |= cookie;
	if (!err && places.return_probe)
		err = attach(probes, "on_span_return", fd, &entry, 1, true);
	else if (!err && places.exits.n)
		err = attach(probes, "on_span_exit", fd, places.exits.data, places.exits.n, false);
	err = err ? err : attach(probes, "on_span_begin", fd, &entry, 1, false);
	function_places__free(&places);
	return err;
}

static int add_function(struct span_probes *probes, size_t source, int fd, struct code_file *code)
{
	const uint64_t cookie = SPAN_COOKIE(source + 1, SPAN_COOKIE_FUNCTION);
	const char *name = probes->sources->sources.data[source].name;
	struct found_functions found = {};
	int err = code_file__functions(code, name, false, &found);

	for (size_t i = 0; i < found.functions.n && !err; i++)
		err = attach_function(probes, &found.functions.data[i], fd, cookie);
	found_functions__free(&found);
	return err;
}

static int add_probe(struct span_probes *probes, size_t source, int fd, const char *path,
		     const char *name, const char *program)
{
	const struct span_source *of = &probes->sources->sources.data[source];
	struct code_entries found = {};
	int err = code_reader__usdt(probes->reader, fd, path, of->provider, name, &found);

	for (size_t i = 0; i < found.entries.n && !err; i++) {
		const struct uprobe_place place = {.offset = found.entries.data[i].offset,
						   .semaphore = found.entries.data[i].semaphore,
						   .cookie = SPAN_COOKIE(source + 1, 0)};

		err = attach(probes, program, fd, &place, 1, false);
	}
	array__free(&found.entries);
	return err;
}

static int add_probes(struct span_probes *probes, size_t source, int fd, const char *path)
{
	const struct span_source *of = &probes->sources->sources.data[source];
	int err = add_probe(probes, source, fd, path, of->end, "on_span_end");

	return err ? err : add_probe(probes, source, fd, path, of->name, "on_span_begin");
}

static void add_source(struct span_probes *probes, size_t source, int fd, const char *path,
		       struct code_file *code)
{
	struct source_state *state = &probes->states[source];
	int err;

	switch (probes->sources->sources.data[source].kind) {
	case SPAN_SOURCE_NAME:
		err = add_function(probes, source, fd, code);
		break;
	case SPAN_SOURCE_PROBES:
		err = add_probes(probes, source, fd, path);
		break;
	default:
		return;
	}
	state->found |= !err || err == -ENOTSUP;
	if (err == -ENOTSUP)
		state->error = function_places__unsupported;
	else if (err == -ENOTUNIQ)
		state->error = "several functions have that name: give more of it";
	else if (err && err != -ENOENT && err != -ENOEXEC && !state->error)
		state->error = "the kernel refuses probes in its code";
}

static void add_span_file(void *arg, const struct target_event *event)
{
	struct span_probes *probes = arg;
	struct code_file *code;

	if (event->type != TARGET_FILE || !function_places__is_new(&probes->files, event->fd) ||
	    code_reader__file(probes->reader, event->fd, event->path, &code))
		return;
	for (size_t i = 0; i < probes->sources->sources.n; i++)
		add_source(probes, i, event->fd, event->path, code);
	code_file__free(code);
}

static int start_span_probes(void *arg, const struct source_context *context)
{
	static const struct code_scope everything = {};
	struct span_probes *probes = arg;

	probes->loader = capture__loader(context->capture);
	return code_reader__new(capture__privsep(context->capture), &everything, &probes->reader);
}

static void free_span_probes(void *arg)
{
	struct span_probes *probes = arg;

	for (size_t i = 0; i < probes->uprobes.n; i++)
		uprobes__free(probes->uprobes.data[i]);
	if (probes->reader)
		code_reader__free(probes->reader);
	array__free(&probes->uprobes);
	map64__free(&probes->files);
	free(probes->states);
	free(probes);
}

int span_probes__new(const struct source_parts *parts, struct event_source *out)
{
	const struct span_sources *sources = parts->config->capture.spans;
	struct span_probes *probes;

	if (!sources)
		return 0;
	probes = calloc(1, sizeof(*probes));
	if (!probes)
		return -ENOMEM;
	probes->sources = sources;
	probes->states = calloc(sources->sources.n + 1, sizeof(*probes->states));
	if (!probes->states)
		return free(probes), -ENOMEM;
	*out = (struct event_source){
		.start = start_span_probes,
		.event = add_span_file,
		.free = free_span_probes,
		.arg = probes,
	};
	return 0;
}

bool span_probes__is_found(const struct event_source *source, size_t index)
{
	const struct span_probes *probes = source->arg;

	return probes->states[index].found;
}

const char *span_probes__error(const struct event_source *source, size_t index)
{
	const struct span_probes *probes = source->arg;

	return probes->states[index].error;
}
