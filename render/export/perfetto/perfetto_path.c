// SPDX-License-Identifier: BSD-2-Clause
/*
 * The path of the command's main thread (analysis/path/): its pseudo-stack as nested slices on a
 * track, and flows from those that ended its waits to it. Flows of all waits would be too many for
 * the viewer: only long ones have one.
 */
#include <errno.h>

#include "analysis/path/path_walk.h"
#include "render/export/perfetto/perfetto_packets.h"

#define MAX_DEPTH 64
#define MAX_FLOWS 2000 /* at each depth */

struct path_writer {
	struct perfetto_writer *writer;
	const struct model *model;
	uint64_t track;
	uint64_t min_ns; /* of a wait that has a flow */
};

/* The thread's name and tid. Valid until writer->text is changed. */
static const char *thread_text(const struct path_writer *path, uint32_t thread, uint64_t time)
{
	const struct wait_cause cause = {.type = CAUSE_THREAD, .id = thread};

	return export_waits__cause_text(&path->writer->waits, cause, time, &path->writer->waker);
}

static int enter(void *context, const struct path_level *level)
{
	struct path_writer *path = context;

	perfetto__slice_begin(path->writer, path->track, level->from,
			      thread_text(path, level->thread, level->from), "path");
	return perfetto__error(path->writer);
}

static int step(void *context, const struct path_step *at)
{
	struct path_writer *path = context;

	perfetto__slice_begin(path->writer, path->track, at->from,
			      path_category__name(at->category), "path");
	perfetto__slice_end(path->writer, path->track, at->until);
	return perfetto__error(path->writer);
}

/* An instant on the track of @thread: one end of a flow. */
static void write_end(struct path_writer *path, uint32_t thread, uint64_t time, uint32_t other,
		      bool terminates)
{
	struct perfetto_writer *writer = path->writer;
	const struct model *model = path->model;
	char name[128];

	snprintf(name, sizeof(name), "%s %s", terminates ? "woken by" : "wakes",
		 model__string(model, model_thread__comm(&model->threads.data[other], time)));
	perfetto__begin_event(writer, PERFETTO_INSTANT, perfetto__track(TRACK_THREAD, thread));
	perfetto__put_name(writer, export_text(&writer->text, name));
	perfetto__put_category(writer, "path");
	protobuf__fixed64(&writer->event, terminates ? 48 : 47, writer->flows);
	perfetto__packet(writer, PERFETTO_TRACK_EVENT, time);
}

static int leave(void *context, const struct path_level *level)
{
	struct path_writer *path = context;
	const struct sample_filter *filter = path->writer->export->filter;
	const struct model *model = path->model;

	perfetto__slice_end(path->writer, path->track, level->until);
	if (level->depth && level->until - level->from >= path->min_ns &&
	    sample_filter__thread(filter, &model->threads.data[level->thread]) &&
	    sample_filter__thread(filter, &model->threads.data[level->waiter])) {
		path->writer->flows++;
		write_end(path, level->thread, level->until, level->waiter, false);
		write_end(path, level->waiter, level->until, level->thread, true);
	}
	return perfetto__error(path->writer);
}

/* The command's main thread: the first target that was created in the recording; 0: none. */
static uint32_t find_command(const struct model *model)
{
	const unsigned int wanted = THREAD_TARGET | THREAD_CREATED;

	for (uint32_t i = 1; i < model->threads.n; i++)
		if ((model->threads.data[i].flags & wanted) == wanted &&
		    !model->threads.data[i].parent)
			return i;
	return 0;
}

static void write_track(struct path_writer *path, uint32_t thread)
{
	struct perfetto_writer *writer = path->writer;

	protobuf__varint(&writer->event, 1, path->track);
	protobuf__string(&writer->event, 2, "path of the main thread");
	/* Below the thread: parent_uuid. */
	protobuf__varint(&writer->event, 5, perfetto__track(TRACK_THREAD, thread));
	perfetto__packet(writer, PERFETTO_TRACK_DESCRIPTOR, 0);
}

int perfetto_path__write(struct perfetto_writer *writer)
{
	const struct model *model = writer->model;
	const struct sample_filter *filter = writer->export->filter;
	uint32_t thread = model->trace && !filter->classes ? find_command(model) : 0;
	struct path_walk walk = {
		.model = model,
		.causes = writer->waits.causes,
		.kinds = writer->export->kinds,
		.idle = filter->idle,
		.max_depth = MAX_DEPTH,
	};
	struct path_writer path = {
		.writer = writer,
		.model = model,
		.track = perfetto__track(TRACK_PATH, thread),
	};
	const struct path_visitor visitor = {enter, step, leave, &path};
	uint64_t from, until;

	if (!thread || !sample_filter__thread(filter, &model->threads.data[thread]))
		return 0;
	from = model->threads.data[thread].created;
	until = model->threads.data[thread].ended;
	if (from < model->start + filter->from)
		from = model->start + filter->from;
	if (filter->until && until > model->start + filter->until)
		until = model->start + filter->until;
	if (from >= until)
		return 0;
	walk.slack_ns = path__slack(model);
	path.min_ns = (until - from) / MAX_FLOWS + 1;
	write_track(&path, thread);
	return path__walk(&walk, thread, from, until, &visitor);
}
