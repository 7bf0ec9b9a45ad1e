// SPDX-License-Identifier: BSD-2-Clause
#include "model/redact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct redactor {
	struct model *model;
	const struct redaction *redaction;
	struct map64 done; /* number of the function << 32 | string: what it has become */
	int err;
};

typedef char *(*redact_fn)(const struct redaction *redaction, const char *text);

enum how { HOW_PATH, HOW_THREAD, HOW_ADDRESS, HOW_NAME };

static uint32_t redact(struct redactor *redactor, uint32_t string, enum how how)
{
	static const redact_fn functions[] = {
		[HOW_PATH] = redaction__path,
		[HOW_THREAD] = redaction__thread,
		[HOW_ADDRESS] = redaction__address,
		[HOW_NAME] = redaction__name,
	};
	uint64_t *known = map64__put(&redactor->done, (uint64_t)how << 32 | string, UINT64_MAX);
	_cleanup_free_ char *text = NULL;

	if (!string || redactor->err)
		return 0;
	if (known && *known != UINT64_MAX)
		return (uint32_t)*known;
	text = functions[how](redactor->redaction, model__string(redactor->model, string));
	if (!known || !text) {
		redactor->err = -ENOMEM;
		return 0;
	}
	*known = model__intern(redactor->model, text);
	if (!*known)
		redactor->err = -ENOMEM;
	return (uint32_t)*known;
}

/* Keys whose values say nothing of whom and what was recorded; others are left out. */
static bool is_kept(const char *key)
{
	static const char *const kept[] = {
		"version",
		"target",
		"mode",
		"period_ns",
		"grid_seed",
		"kernel",
		"machine",
		"cpus",
		"rung",
		"start",
		"start_realtime",
		"end",
		"exit_status",
		"machine_busy_ns",
		"machine_idle_ns",
		"machine_switches",
		"machine_switches_told",
		"cpu_ns",
		"slowest_clock_ns",
		"clock_share",
	};

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (!strcmp(key, kept[i]))
			return true;
	return false;
}

static void redact_metas(struct redactor *redactor)
{
	struct model *model = redactor->model;
	uint32_t redacted = model__intern(model, REDACTED_TEXT);
	size_t n = 0;

	if (!redacted)
		redactor->err = -ENOMEM;
	for (size_t i = 0; i < model->metas.n; i++) {
		struct model_meta meta = model->metas.data[i];
		const char *key = model__string(model, meta.key);

		if (!strcmp(key, "command"))
			meta.value = redacted;
		else if (!is_kept(key))
			continue;
		model->metas.data[n++] = meta;
	}
	model->metas.n = n;
}

static void redact_thread(struct redactor *redactor, struct model_thread *thread)
{
	const struct redaction *redaction = redactor->redaction;
	bool kernel = thread->flags & THREAD_KERNEL;

	for (size_t i = 0; i < thread->comms.n && !kernel; i++)
		thread->comms.data[i].name =
			redact(redactor, thread->comms.data[i].name, HOW_THREAD);
	for (size_t i = 0; i < thread->execs.n && !kernel; i++)
		thread->execs.data[i].comm =
			redact(redactor, thread->execs.data[i].comm, HOW_THREAD);
	for (size_t i = 0; i < thread->annotations.n; i++) {
		struct model_annotation *annotation = &thread->annotations.data[i];

		annotation->name = redact(redactor, annotation->name, HOW_NAME);
		annotation->address = redaction__number(redaction, annotation->address);
		annotation->queue = redaction__number(redaction, annotation->queue);
	}
}

static void redact_object(struct redactor *redactor, struct model_object *object)
{
	enum how how =
		object->type == OBJECT_SOCKET && object->family != AF_UNIX ? HOW_ADDRESS : HOW_PATH;

	object->name = redact(redactor, object->name, how);
	if (object->type != OBJECT_LIMIT) /* of that, it is a number */
		object->local = redact(redactor, object->local, how);
	object->owner = redact(redactor, object->owner, HOW_THREAD);
	if (object->type == OBJECT_FUTEX || object->type == OBJECT_KLOCK)
		object->id = redaction__number(redactor->redaction, object->id);
}

static void redact_dso(struct redactor *redactor, uint32_t index)
{
	struct model_dso *dso = &redactor->model->dsos.data[index];

	dso->c_library = model__is_c_library(redactor->model, index);
	dso->path = redact(redactor, dso->path, HOW_PATH);
	dso->name = dso->path;
	dso->build_id = 0;
}

/* "libz.so+0x12a0": code or data of a file, without a name. NULL: @name is no such text. */
static const char *offset_in_file(const struct model *model, const struct model_location *location,
				  const char *name)
{
	const char *file = model__string(model, model->dsos.data[location->dso].name);
	const char *plus = strstr(name, "+0x");

	/* Names of variables may have offsets, too. */
	if (!plus || (location->data && ((size_t)(plus - name) != strlen(file) ||
					 strncmp(name, file, strlen(file)) != 0)))
		return NULL;
	return plus;
}

static uint32_t redact_function(struct redactor *redactor, const struct model_location *location,
				uint32_t name)
{
	const struct model *model = redactor->model;
	const char *text = model__string(model, name), *offset;
	_cleanup_free_ char *file = NULL, *redacted = NULL;

	offset = offset_in_file(model, location, text);
	if (!offset)
		return redact(redactor, name, HOW_NAME);
	file = redaction__path(redactor->redaction,
			       model__string(model, model->dsos.data[location->dso].path));
	if (!file || asprintf(&redacted, "%s%s", file, offset) < 0) {
		redacted = NULL;
		redactor->err = -ENOMEM;
		return 0;
	}
	return model__intern(redactor->model, redacted);
}

/* @done, by frame: locations may share them. */
static void redact_location(struct redactor *redactor, struct model_location *location, bool *done)
{
	struct model *model = redactor->model;

	for (size_t i = location->frame; i < location->frame + location->n_frames; i++) {
		struct model_frame *frame = &model->frames.data[i];

		if (done[i])
			continue;
		done[i] = true;
		frame->name = redact_function(redactor, location, frame->name);
		frame->file = redact(redactor, frame->file, HOW_PATH);
	}
	/* Others are offsets in files. */
	if (!location->dso || model->dsos.data[location->dso].kind != DSO_FILE)
		location->address = redaction__number(redactor->redaction, location->address);
}

/* Names of files last: functions without a name are called by them. */
static void redact_code(struct redactor *redactor)
{
	struct model *model = redactor->model;
	_cleanup_free_ bool *done = calloc(model->frames.n + 1, sizeof(*done));

	if (!done)
		redactor->err = -ENOMEM;
	for (size_t i = 1; i < model->locations.n && done; i++)
		redact_location(redactor, &model->locations.data[i], done);
	for (uint32_t i = 1; i < model->dsos.n; i++)
		redact_dso(redactor, i);
}

/* Names that the program or the user gave. */
static void redact_names(struct redactor *redactor)
{
	struct model *model = redactor->model;

	for (size_t i = 0; i < model->pushes.n; i++)
		model->pushes.data[i].name = redact(redactor, model->pushes.data[i].name, HOW_NAME);
	for (size_t i = 0; i < model->spans.n; i++) {
		model->spans.data[i].name = redact(redactor, model->spans.data[i].name, HOW_NAME);
		model->spans.data[i].id =
			redaction__number(redactor->redaction, model->spans.data[i].id);
	}
	for (size_t i = 0; i < model->span_parts.n; i++)
		model->span_parts.data[i].queue =
			redaction__number(redactor->redaction, model->span_parts.data[i].queue);
	for (size_t i = 0; i < model->probes.n; i++)
		model->probes.data[i].name = redact(redactor, model->probes.data[i].name, HOW_NAME);
}

/* They have names in their texts. Those of symbols/ are of files: only the share of samples is
 * kept. */
static int redact_diagnostics(struct redactor *redactor)
{
	struct model *model = redactor->model;
	model_diagnostics before = model->diagnostics;
	int err;

	memset(&model->diagnostics, 0, sizeof(model->diagnostics));
	err = model__diagnose(model);
	for (size_t i = 0; i < before.n && !err; i++) {
		const char *text = before.data[i].text;

		if (!strcmp(before.data[i].label, "symbols"))
			err = model__add_diagnostic(model, "symbols", "%.*s",
						    (int)strcspn(text, ":"), text);
	}
	model_diagnostics__free(&before);
	return err;
}

int model__redact(struct model *model, const struct redaction *redaction)
{
	struct redactor redactor = {.model = model, .redaction = redaction};

	redact_metas(&redactor);
	for (size_t i = 1; i < model->threads.n; i++)
		redact_thread(&redactor, &model->threads.data[i]);
	for (size_t i = 1; i < model->objects.n; i++)
		redact_object(&redactor, &model->objects.data[i]);
	redact_code(&redactor);
	redact_names(&redactor);
	map64__free(&redactor.done);
	return redactor.err ? redactor.err : redact_diagnostics(&redactor);
}
