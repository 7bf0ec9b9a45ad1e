// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/annotation_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "collect/record/annotations.h"
#include "collect/record/losses.h"

/* While the program writes annotations: its stripes are small. */
#define ANNOTATED_TICK_NS 10000000ULL

struct annotation_source {
	struct record_stream *stream;
	struct translator *translator;
	struct annotations *annotations;
	bool truncated;			  /* and not read any more */
	ARRAY(struct annotation) pending; /* to be written when their threads are known */
	uint64_t lost;			  /* their threads were not known, or no memory */
};

static void trace_points(struct annotations *annotations)
{
	int fd = annotations__trace_points(annotations);
	char number[16];

	snprintf(number, sizeof(number), "%d", fd);
	if (fd >= 0)
		setenv(DWELL_POINTS_ENVIRONMENT, number, 1);
}

/* Names the file, if there is one, and no file of a recording within which dwell runs. */
static void name_annotations(struct annotations *annotations, const struct capture_config *config)
{
	if (annotations && (!config->user || !annotations__allow(annotations, config->user)))
		setenv(DWELL_ENVIRONMENT, annotations__path(annotations), 1);
	else
		unsetenv(DWELL_ENVIRONMENT);
	unsetenv(DWELL_POINTS_ENVIRONMENT);
	if (annotations && config->spans && span_sources__functions(config->spans))
		trace_points(annotations);
}

static void keep_annotation(void *arg, const struct annotation *annotation)
{
	struct annotation_source *source = arg;

	source->lost += array__push(&source->pending, *annotation) != 0;
}

static void read_annotations(struct annotation_source *source, bool last)
{
	if (source->truncated ||
	    !annotations__drain(source->annotations, last, keep_annotation, source))
		return;
	/* Continue without: the program did it. How many there were is not known. */
	error__clear();
	source->truncated = true;
	(void)losses__put(source->stream, "annotation files, truncated by the program", 1);
}

static void write_annotations(struct annotation_source *source)
{
	char name[DWELL_POINT_NAME];

	for (size_t i = 0; i < source->pending.n; i++) {
		const struct annotation *annotation = &source->pending.data[i];
		bool named =
			(annotation->type == DWELL_EVENT_BEGIN ||
			 annotation->type == DWELL_EVENT_END) &&
			annotations__point_name(source->annotations, annotation->address, name);

		source->lost += !translator__annotation(source->translator, annotation,
							named ? name : NULL);
	}
	source->pending.n = 0;
}

static int tick_annotations(void *arg, uint64_t now, uint64_t *next)
{
	struct annotation_source *source = arg;

	write_annotations(source);
	read_annotations(source, false);
	if (source->pending.n && *next > now + ANNOTATED_TICK_NS)
		*next = now + ANNOTATED_TICK_NS;
	return 0;
}

static void end_annotations(void *arg, uint64_t end)
{
	struct annotation_source *source = arg;

	write_annotations(source);
	read_annotations(source, true);
}

static int finish_annotations(void *arg, uint64_t now)
{
	struct annotation_source *source = arg;

	write_annotations(source);
	return losses__put(source->stream, "annotations, overwritten before they were read",
			   source->lost + annotations__lost(source->annotations));
}

static void free_annotations(void *arg)
{
	struct annotation_source *source = arg;

	annotations__free(source->annotations);
	array__free(&source->pending);
	free(source);
}

int annotation_source__new(const struct source_parts *parts, struct event_source *out)
{
	const struct capture_config *config = &parts->config->capture;
	_cleanup_free_ struct annotation_source *source = NULL;

	if (config->target != CAPTURE_COMMAND)
		return 0;
	source = calloc(1, sizeof(*source));
	if (!source)
		return -ENOMEM;
	source->stream = parts->stream;
	source->translator = parts->translator;
	/* Without it, the command runs, too. */
	(void)annotations__new(&source->annotations);
	name_annotations(source->annotations, config);
	if (!source->annotations)
		return 0;
	*out = (struct event_source){
		.tick = tick_annotations,
		.end = end_annotations,
		.finish = finish_annotations,
		.free = free_annotations,
		.arg = TAKE_PTR(source),
	};
	return 0;
}
