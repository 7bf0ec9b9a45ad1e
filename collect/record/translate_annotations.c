// SPDX-License-Identifier: BSD-2-Clause
/* Annotations of programs: which of them are written, and by whose thread. */
#include <string.h>

#include "base/hash.h"
#include "collect/record/translate.h"
#include "collect/record/translator.h"

_Static_assert((int)DWELL_EVENT_SPIN_BEGIN == ANNOTATION_SPIN_BEGIN &&
		       (int)DWELL_EVENT_SPIN_END == ANNOTATION_SPIN_END &&
		       (int)DWELL_EVENT_SPIN_RELEASE == ANNOTATION_SPIN_RELEASE &&
		       (int)DWELL_EVENT_WOKEN_FOR_NOTHING == ANNOTATION_WOKEN_FOR_NOTHING &&
		       (int)DWELL_EVENT_BEGIN == ANNOTATION_BEGIN &&
		       (int)DWELL_EVENT_END == ANNOTATION_END &&
		       (int)DWELL_EVENT_REQUEST_BEGIN == ANNOTATION_REQUEST_BEGIN &&
		       (int)DWELL_EVENT_REQUEST_BLOCK == ANNOTATION_REQUEST_BLOCK &&
		       (int)DWELL_EVENT_REQUEST_END == ANNOTATION_REQUEST_END &&
		       (int)DWELL_EVENT_REQUEST_END_ALL == ANNOTATION_REQUEST_END_ALL,
	       "dwell.h and recordings name annotations by the same numbers");

/* The source that the span @name belongs to, or the number of sources. */
static size_t source_of(const struct translator *translator, const char *name)
{
	const struct span_sources *sources = translator->sources;
	size_t n = sources ? sources->sources.n : 0;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(sources->sources.data[i].text, name))
			return i;
	return n;
}

static bool is_tag(const struct annotation *annotation)
{
	return annotation->type >= DWELL_EVENT_REQUEST_BEGIN &&
	       annotation->type <= DWELL_EVENT_REQUEST_END_ALL;
}

/* Counts the span that @annotation ends. False: it begins or ends one that was not asked for. */
static bool is_wanted(struct translator *translator, const struct annotation *annotation,
		      const char *name)
{
	bool ends = annotation->type == DWELL_EVENT_END ||
		    annotation->type == DWELL_EVENT_REQUEST_END ||
		    annotation->type == DWELL_EVENT_REQUEST_END_ALL;
	size_t source;

	if (is_tag(annotation))
		name = RECORDING_TAGGED;
	else if (!ends && annotation->type != DWELL_EVENT_BEGIN)
		return true;
	if (!name || !translator->sources)
		return false;
	source = source_of(translator, name);
	if (source == translator->sources->sources.n)
		return false;
	translator->spans[source] += ends;
	return true;
}

bool translator__annotation(struct translator *translator, const struct annotation *annotation,
			    const char *name)
{
	const uint64_t *thread = map64__get(&translator->tids, annotation->tid);
	const uint64_t *other = map64__get(&translator->tids, annotation->value);
	struct record record = {
		.type = RECORD_ANNOTATION,
		.annotation = {.type = (uint8_t)annotation->type,
			       .address = annotation->address,
			       .time = annotation->time},
	};

	if (!thread)
		return false;
	/* An unknown type, an invalid time, or a span that was not requested. */
	if (annotation->type >= ANNOTATION_COUNT || annotation->time > INT64_MAX ||
	    !is_wanted(translator, annotation, name))
		return true;
	record.annotation.thread = (uint32_t)*thread;
	record.annotation.name = record_stream__string(translator->stream, name);
	if (annotation->type == ANNOTATION_SPIN_BEGIN && other)
		record.annotation.other = (uint32_t)*other;
	if (is_tag(annotation))
		record.annotation.queue = annotation->value;
	record_stream__put(translator->stream, &record);
	return true;
}
