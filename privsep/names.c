// SPDX-License-Identifier: BSD-2-Clause
#include "privsep/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "privsep/namer.h"
#include "symbols/strings.h"

/* A file may have so many bytes of names. */
#define SOURCE_BYTES (128ULL << 20)

struct known_source {
	struct namer_source remote; /* its strings are of names->strings */
	int here;		    /* number in names->symbolizer; -1: the namer reads it */
	const char *diagnostic;
	int err; /* of its reader */
	uint64_t string_bytes;
};

struct names {
	struct privsep *privsep;
	struct symbolizer *symbolizer; /* of what is named in this process */
	struct namer *namer;	       /* NULL: none */
	bool in_background;
	struct strings strings;
	ARRAY(struct known_source) sources;
};

int names__new(struct privsep *privsep, const struct symbolizer_options *options,
	       struct names **out)
{
	_cleanup_(names__freep) struct names *names = calloc(1, sizeof(*names));
	int err;

	if (!names)
		return -ENOMEM;
	names->privsep = privsep;
	err = symbolizer__new(options, &names->symbolizer);
	if (!err && privsep)
		err = namer__new(privsep, options, &names->namer);
	if (err)
		return err;
	*out = TAKE_PTR(names);
	return 0;
}

static const char *keep(struct names *names, const char *text)
{
	return text ? strings__intern(&names->strings, text) : NULL;
}

int names__add_source(struct names *names, const struct symbol_source *source)
{
	struct known_source known = {.remote.source = *source, .here = -1};

	known.remote.source.path = keep(names, source->path);
	known.remote.source.root = keep(names, source->root);
	known.remote.source.build_id = keep(names, source->build_id);
	if (!names->namer || source->kind == SYMBOL_SOURCE_KERNEL)
		known.here = symbolizer__add_source(names->symbolizer, source);
	if (known.here < 0 && (!names->namer || source->kind == SYMBOL_SOURCE_KERNEL))
		return -ENOMEM;
	if (array__push(&names->sources, known))
		return -ENOMEM;
	return (int)names->sources.n - 1;
}

static int resolve_here(struct names *names, int number, const struct unnamed_address *addresses,
			size_t n, names_fn on_names, void *arg)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		struct symbol_frame frames[NAMES_MAX_FRAMES] = {{.name = ""}};
		size_t depth = 1;
		const char *variable;

		if (addresses[i].data) {
			variable = symbolizer__variable(names->symbolizer, number,
							addresses[i].address);
			frames[0].name = variable ? variable : "";
		} else {
			depth = symbolizer__resolve(names->symbolizer, number, addresses[i].address,
						    frames, NAMES_MAX_FRAMES);
		}
		err = on_names(arg, i, frames, depth);
	}
	return err;
}

/*
 * Passes on the @n answers in @result, and reads the diagnostic behind them. *@err: 0, or that of
 * @on_names. Returns 0, or -EPROTO or -EDQUOT: the namer has answered something else.
 */
static int decode(struct names *names, struct known_source *known, struct cursor result,
		  size_t first, size_t n, names_fn on_names, void *arg, int *err)
{
	struct names_reader reader = {.cursor = result, .strings = &names->strings};
	struct symbol_frame frames[NAMES_MAX_FRAMES];
	const char *diagnostic;

	*err = 0;
	for (size_t i = 0; i < n && !*err && !reader.cursor.bad; i++) {
		size_t depth = names_reader__frames(&reader, frames);

		if (known->string_bytes + reader.string_bytes > SOURCE_BYTES)
			break;
		if (depth)
			*err = on_names(arg, first + i, frames, depth);
	}
	diagnostic = *err ? NULL : names_reader__string(&reader);
	known->string_bytes += reader.string_bytes;
	if (!reader.cursor.bad && diagnostic)
		known->diagnostic = diagnostic;
	names_reader__free(&reader);
	if (known->string_bytes > SOURCE_BYTES)
		return -EDQUOT;
	return *err || (!reader.cursor.bad && !cursor__left(&reader.cursor)) ? 0 : -EPROTO;
}

static const char *source_name(const struct symbol_source *source, char *text, size_t size)
{
	if (source->kind == SYMBOL_SOURCE_VDSO)
		return "[vdso]";
	if (source->kind != SYMBOL_SOURCE_JIT)
		return source->path ? source->path : "?";
	snprintf(text, size, "/tmp/perf-%u.map", source->pid);
	return text;
}

/* The source is not read again. */
static void fail(struct names *names, struct known_source *known, int err)
{
	const struct symbol_source *source = &known->remote.source;
	struct privsep_failure failure = {.err = err};
	char name[64], text[512];

	failure.path = (char *)(uintptr_t)source_name(source, name, sizeof(name));
	known->err = err;
	snprintf(text, sizeof(text), "names of %.200s are missing: %s", failure.path,
		 privsep__failure_text(&failure));
	known->diagnostic = keep(names, text);
	if (!names->in_background)
		privsep__fail(names->privsep, failure.path, err);
}

static int resolve_by_namer(struct names *names, struct known_source *known,
			    const struct unnamed_address *addresses, size_t n, names_fn on_names,
			    void *arg)
{
	int err = 0;

	for (size_t i = 0; i < n && !known->err && !err; i += NAMES_BATCH_ADDRESSES) {
		size_t some = n - i < NAMES_BATCH_ADDRESSES ? n - i : NAMES_BATCH_ADDRESSES;
		struct cursor result = {};
		int failed = namer__ask(names->namer, &known->remote, addresses + i, some, &result);

		if (!failed)
			failed = decode(names, known, result, i, some, on_names, arg, &err);
		if (failed == -ECANCELED)
			return failed;
		if (failed)
			fail(names, known, failed);
	}
	return err;
}

int names__resolve(struct names *names, int source, const struct unnamed_address *addresses,
		   size_t n, names_fn on_names, void *arg)
{
	struct known_source *known = &names->sources.data[source];

	return known->here >= 0 ? resolve_here(names, known->here, addresses, n, on_names, arg)
				: resolve_by_namer(names, known, addresses, n, on_names, arg);
}

void names__run_in_background(struct names *names)
{
	names->in_background = true;
	if (names->namer)
		namer__be_idle(names->namer);
}

void names__cancel(struct names *names)
{
	if (names->namer)
		namer__cancel(names->namer);
}

const char *names__diagnostic(const struct names *names, int source)
{
	const struct known_source *known = &names->sources.data[source];

	return known->here >= 0 ? symbolizer__diagnostic(names->symbolizer, known->here)
				: known->diagnostic;
}

bool names__failed(const struct names *names, int source)
{
	return names->sources.data[source].err != 0;
}

pid_t names__pid(const struct names *names)
{
	return names->namer ? namer__pid(names->namer) : 0;
}

void names__free(struct names *names)
{
	if (!names)
		return;
	namer__free(names->namer);
	symbolizer__free(names->symbolizer);
	array__free(&names->sources);
	strings__free(&names->strings);
	free(names);
}
