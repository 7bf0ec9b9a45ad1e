// SPDX-License-Identifier: BSD-2-Clause
#include "render/export/speedscope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/chain_tree.h"
#include "base/version.h"
#include "recording/wait_class.h"
#include "render/export/export_waits.h"
#include "render/fields.h"

struct speedscope {
	const struct export *export;
	const struct model *model;
	struct export_waits waits;
	struct chain_tree tree;
	struct intern frames;	   /* name, NUL, source file */
	ARRAY(uint32_t) of_chain;  /* frame + 1 by chain_frame; 0: not known yet */
	ARRAY(uint32_t) of_wait;   /* frame + 1 by class, kind and whether it is idle */
	ARRAY(uint32_t) innermost; /* frames of a stack */
	struct buffer key;
	FILE *to;

	/* The current thread: */
	uint32_t thread;
	size_t n_samples;
	uint64_t ns;
	uint64_t busy_ns; /* not idle */
	/* All of them: */
	size_t n_profiles;
	size_t active; /* profile to show first: that with most time that is not idle */
	uint64_t active_ns;
};

/* A frame of its own for each function, not for each of its lines: speedscope compares numbers. */
static int64_t frame_id(struct speedscope *writer, const char *name, const char *file)
{
	writer->key.n = 0;
	buffer__put(&writer->key, name, strlen(name) + 1);
	buffer__put(&writer->key, file, strlen(file));
	return writer->key.failed
		       ? -ENOMEM
		       : intern__id(&writer->frames, writer->key.data, writer->key.n, NULL);
}

/* Unnamed code of one file is one function. */
static int64_t chain_frame_id(struct speedscope *writer, uint32_t index)
{
	const struct model *model = writer->model;
	const struct chain_frame *frame = &writer->tree.frames.data[index];
	char name[512];
	int64_t id;

	while (writer->of_chain.n <= index)
		if (array__push(&writer->of_chain, 0))
			return -ENOMEM;
	if (writer->of_chain.data[index])
		return writer->of_chain.data[index] - 1;
	snprintf(name, sizeof(name), "[%s]",
		 frame->dso ? model__string(model, model->dsos.data[frame->dso].name) : "unknown");
	id = frame_id(writer, frame->name ? model__string(model, frame->name) : name,
		      model__string(model, frame->name ? frame->file : 0));
	if (id >= 0)
		writer->of_chain.data[index] = (uint32_t)id + 1;
	return id;
}

static int64_t wait_frame_id(struct speedscope *writer, const struct weighted_sample *sample)
{
	enum wait_kind kind = export_waits__kind(&writer->waits, sample);
	size_t index = ((size_t)sample->class * KIND_COUNT + kind) * 2 + !!sample->idle;
	char name[128];
	int64_t id;

	while (writer->of_wait.n <= index)
		if (array__push(&writer->of_wait, 0))
			return -ENOMEM;
	if (writer->of_wait.data[index])
		return writer->of_wait.data[index] - 1;
	snprintf(name, sizeof(name), "[%s] %s%s", wait_class__name(sample->class), kind__name(kind),
		 sample->idle ? " (idle)" : "");
	id = frame_id(writer, name, "");
	if (id >= 0)
		writer->of_wait.data[index] = (uint32_t)id + 1;
	return id;
}

/* Sets writer->innermost to the frames of @sample. */
static int set_stack(struct speedscope *writer, const struct weighted_sample *sample)
{
	bool off_cpu = sample->class != CLASS_CPU;
	int64_t node = chain_tree__add(&writer->tree, writer->model, sample->kernel, sample->user,
				       off_cpu);
	int64_t id;

	if (node < 0)
		return (int)node;
	writer->innermost.n = 0;
	id = off_cpu ? wait_frame_id(writer, sample) : 0;
	if (id < 0 || (off_cpu && array__push(&writer->innermost, (uint32_t)id)))
		return -ENOMEM;
	/* A sample without frames would be a gap; frame 0 of the tree is that of unknown code. */
	do {
		id = chain_frame_id(writer, writer->tree.nodes.data[node].frame);
		if (id < 0 || array__push(&writer->innermost, (uint32_t)id))
			return -ENOMEM;
		node = writer->tree.nodes.data[node].parent;
	} while (node);
	return 0;
}

static void begin_profile(struct speedscope *writer)
{
	const struct model *model = writer->model;
	const struct model_thread *thread = &model->threads.data[writer->thread];
	const char *comm = export_thread__name(model, writer->thread);
	_cleanup_free_ char *name = NULL;

	if (asprintf(&name, "%s (pid %u, tid %u)", comm, thread->tgid, thread->tid) < 0)
		name = NULL;
	fputs(writer->n_profiles ? ",\n" : "\n", writer->to);
	fputs("{\"type\":\"sampled\",\"name\":", writer->to);
	json__put_string(writer->to, name ? name : comm);
	fputs(",\"unit\":\"nanoseconds\",\"startValue\":0,\"samples\":[", writer->to);
}

/* Most of the file is numbers: printf() would take most of the time. */
static void put_number(FILE *to, uint64_t number)
{
	char digits[20];
	size_t n = sizeof(digits);

	do {
		digits[--n] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	fwrite_unlocked(digits + n, 1, sizeof(digits) - n, to);
}

static int visit_stack(void *context, const struct weighted_sample *sample)
{
	struct speedscope *writer = context;
	int err;

	if (sample->idle && !writer->export->idle)
		return 0;
	err = set_stack(writer, sample);
	if (err)
		return err;
	if (!writer->n_samples)
		begin_profile(writer);
	fputs(writer->n_samples++ ? ",\n[" : "\n[", writer->to);
	for (size_t i = writer->innermost.n; i--;) {
		put_number(writer->to, writer->innermost.data[i]);
		putc_unlocked(i ? ',' : ']', writer->to);
	}
	writer->ns += sample->ns;
	writer->busy_ns += sample->idle ? 0 : sample->ns;
	return 0;
}

static int visit_weight(void *context, const struct weighted_sample *sample)
{
	struct speedscope *writer = context;

	if (sample->idle && !writer->export->idle)
		return 0;
	if (writer->n_samples++)
		putc_unlocked(',', writer->to);
	put_number(writer->to, sample->ns);
	return 0;
}

/* The profile of @thread, in two passes; nothing, if it has no samples. */
static int write_thread(struct speedscope *writer, uint32_t thread)
{
	const struct export *export = writer->export;
	int err;

	writer->thread = thread;
	writer->n_samples = 0;
	writer->ns = writer->busy_ns = 0;
	err = weighted_samples__visit_thread(writer->model, export->filter, thread, visit_stack,
					     writer);
	if (err || !writer->n_samples)
		return err;
	fputs("],\n\"weights\":[", writer->to);
	writer->n_samples = 0;
	err = weighted_samples__visit_thread(writer->model, export->filter, thread, visit_weight,
					     writer);
	fprintf(writer->to, "],\n\"endValue\":%" PRIu64 "}", writer->ns);
	if (writer->busy_ns > writer->active_ns) {
		writer->active = writer->n_profiles;
		writer->active_ns = writer->busy_ns;
	}
	writer->n_profiles++;
	return err;
}

static void write_frames(const struct speedscope *writer)
{
	fputs("\"shared\":{\"frames\":[", writer->to);
	for (size_t i = 0; i < writer->frames.n; i++) {
		const char *name = intern__bytes(&writer->frames, (uint32_t)i, NULL);
		const char *file = name + strlen(name) + 1;

		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", writer->to);
		json__put_string(writer->to, name);
		if (*file) {
			fputs(",\"file\":", writer->to);
			json__put_string(writer->to, file);
		}
		fputc('}', writer->to);
	}
	fputs("]}}\n", writer->to);
}

static int write_document(struct speedscope *writer)
{
	int err = export_waits__begin(&writer->waits, writer->export);

	fprintf(writer->to,
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
		"\"exporter\":\"dwell %s\",\"name\":",
		dwell_version);
	json__put_string(writer->to, writer->export->name);
	fputs(",\n\"profiles\":[", writer->to);
	for (uint32_t i = 1; i < writer->model->threads.n && !err; i++)
		err = write_thread(writer, i);
	/* speedscope refuses a file without a profile. */
	if (!writer->n_profiles)
		fputs("{\"type\":\"sampled\",\"name\":\"no samples\",\"unit\":\"nanoseconds\","
		      "\"startValue\":0,\"endValue\":0,\"samples\":[],\"weights\":[]}",
		      writer->to);
	fprintf(writer->to, "],\n\"activeProfileIndex\":%zu,\n", writer->active);
	write_frames(writer);
	return err;
}

int speedscope__write(const struct export *export, FILE *to)
{
	struct speedscope writer = {.export = export, .model = export->model, .to = to};
	int err = write_document(&writer);

	export_waits__free(&writer.waits);
	chain_tree__free(&writer.tree);
	intern__free(&writer.frames);
	array__free(&writer.of_chain);
	array__free(&writer.of_wait);
	array__free(&writer.innermost);
	buffer__free(&writer.key);
	return err;
}
