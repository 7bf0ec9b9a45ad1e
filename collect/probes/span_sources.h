/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where spans come from: what --request names. A span is a request to a server, a call of a
 * function, or any other operation that has a begin and an end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/capture.h"
#include "base/array.h"
#include "base/cleanup.h"

enum span_source_kind {
	SPAN_SOURCE_TCP,    /* requests over connections that were accepted at a port */
	SPAN_SOURCE_UNIX,   /* the same at the path of a Unix socket */
	SPAN_SOURCE_PROBES, /* from one probe (USDT) to another one, in the same thread */
	SPAN_SOURCE_TAGS,   /* what DWELL_REQUEST_BEGIN and related macros tag */
	SPAN_SOURCE_NAME,   /* calls of a function, or DWELL_BEGIN and DWELL_END of that name */
};

struct span_source {
	enum span_source_kind kind;
	char *text; /* as it was given */
	uint16_t port;
	char *name;	/* of the function; of the first probe; the path */
	char *end;	/* PROBES: of the last probe */
	char *provider; /* PROBES; NULL: any */
};

/* Numbers are 1 + the index. */
struct span_sources {
	ARRAY(struct span_source) sources;
};

/*
 * Adds "tcp:PORT", "unix:PATH", "usdt:[PROVIDER:]BEGIN,END", "dwell:requests", or the name of a
 * function or of an annotation. Returns 0, or with error__set() -EINVAL (malformed, or too many) or
 * -ENOMEM.
 */
int span_sources__add(struct span_sources *sources, const char *text);

/* Whether @text begins as one of the kinds that are observed at sockets. */
bool span_sources__is_connection(const char *text);

/* The number of sources that are observed at sockets, or may be calls of functions. */
uint32_t span_sources__connections(const struct span_sources *sources);
uint32_t span_sources__functions(const struct span_sources *sources);

/* Sets the listeners of @settings. */
void span_sources__listen(const struct span_sources *sources, struct capture_settings *settings);

void span_sources__free(struct span_sources *sources);
