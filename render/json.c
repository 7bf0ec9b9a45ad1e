// SPDX-License-Identifier: BSD-2-Clause
#include "render/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recording/stack_end.h"
#include "recording/wait_class.h"
#include "render/format.h"

/* jansson accepts only valid UTF-8; names from a program may contain any bytes. */
json_t *json__text(const char *text)
{
	_cleanup_free_ char *safe = NULL;
	json_t *value = json_string(text);
	size_t size;
	FILE *to;

	if (value)
		return value;
	to = open_memstream(&safe, &size);
	if (!to)
		return NULL;
	format__safe(to, text);
	fclose(to);
	return json_string(safe);
}

json_t *json__string(const struct model *model, uint32_t id)
{
	return json__text(model__string(model, id));
}

static json_t *meta_json(const struct model *model, const char *key)
{
	const char *value = model__meta(model, key);

	return json__text(value ? value : "");
}

json_t *json__number(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *lost_json(const struct model *model)
{
	json_t *lost = json_object();

	for (size_t i = 0; i < model->losts.n; i++)
		json_object_set_new(lost, model__string(model, model->losts.data[i].cause),
				    json__number(model->losts.data[i].count));
	return lost;
}

static json_t *truncated_json(const struct model *model)
{
	json_t *truncated = json_object();

	for (int end = STACK_COMPLETE + 1; end < STACK_GUESSED; end++)
		json_object_set_new(truncated, stack_end__name(end),
				    json__number(model->truncated[end]));
	return truncated;
}

/* The diagnostics that report a problem. */
static json_t *diagnostics_json(const struct model *model)
{
	json_t *diagnostics = json_array();

	for (size_t i = 0; i < model->diagnostics.n; i++) {
		const struct model_diagnostic *diagnostic = &model->diagnostics.data[i];
		json_t *entry;

		if (diagnostic->all_well)
			continue;
		entry = json_object();
		json_object_set_new(entry, "label", json_string(diagnostic->label));
		json_object_set_new(entry, "text", json__text(diagnostic->text));
		json_array_append_new(diagnostics, entry);
	}
	return diagnostics;
}

/* Threads and classes whose sampled time is off by more than chance (see calibration). */
static json_t *calibrated_json(const struct model *model)
{
	json_t *calibrated = json_array();

	for (size_t i = 1; i < model->threads.n; i++) {
		const struct model_thread *thread = &model->threads.data[i];

		for (int class = 0; class < CLASS_COUNT; class ++) {
			json_t *entry;

			if (!model_thread__is_calibrated(model, thread, class))
				continue;
			entry = json_object();
			json_object_set_new(entry, "tid", json_integer(thread->tid));
			json_object_set_new(entry, "class", json_string(wait_class__name(class)));
			json_object_set_new(entry, "factor", json_real(thread->factor[class]));
			json_object_set_new(
				entry, "sampled_ns",
				json__number(model_thread__sampled_ns(model, thread, class)));
			json_object_set_new(entry, "exact_ns", json__number(thread->ns[class]));
			json_array_append_new(calibrated, entry);
		}
	}
	return calibrated;
}

void json__put_recording(json_t *document, const struct model *model)
{
	static const char *const metas[] = {"command", "target",  "hostname", "kernel",
					    "machine", "version", "rung"};

	for (size_t i = 0; i < ARRAY_SIZE(metas); i++)
		json_object_set_new(document, metas[i], meta_json(model, metas[i]));
	json_object_set_new(document, "mode", json_string(model->trace ? "trace" : "sampling"));
	json_object_set_new(document, "period_ns", json__number(model->period_ns));
	json_object_set_new(document, "slowest_clock_ns",
			    json__number(model__meta_number(model, "slowest_clock_ns", 0)));
	json_object_set_new(document, "clock_share",
			    json_real((double)model__meta_number(model, "clock_share", 0) / 1000));
	json_object_set_new(document, "widest_spacing_ns",
			    json__number(model->period_ns << model->spacing));
	json_object_set_new(document, "start_ns", json__number(model->start));
	json_object_set_new(document, "duration_ns", json__number(model->end - model->start));
	json_object_set_new(document, "lost", lost_json(model));
	json_object_set_new(document, "machine_switches",
			    json__number(model__meta_number(model, "machine_switches", 0)));
	json_object_set_new(document, "machine_switches_traced",
			    json__number(model__meta_number(model, "machine_switches_told", 0)));
	json_object_set_new(document, "machine_busy_ns",
			    json__number(model__meta_number(model, "machine_busy_ns", 0)));
	json_object_set_new(document, "machine_idle_ns",
			    json__number(model__meta_number(model, "machine_idle_ns", 0)));
	json_object_set_new(document, "truncated", truncated_json(model));
	json_object_set_new(document, "guessed", json__number(model->truncated[STACK_GUESSED]));
	json_object_set_new(document, "diagnostics", diagnostics_json(model));
	json_object_set_new(document, "calibrated", calibrated_json(model));
	if (model->warning)
		json_object_set_new(document, "warning", json__text(model->warning));
}

int json__write(json_t *document, FILE *to)
{
	int err = document ? json_dumpf(document, to, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : -1;

	json_decref(document);
	fputc('\n', to);
	return err ? -ENOMEM : 0;
}

/* Writes the members of @object, and releases it. */
static void put_members(struct json_stream *stream, json_t *object, size_t flags)
{
	_cleanup_free_ char *text = NULL;
	size_t length;

	if (object)
		text = json_dumps(object, flags | JSON_EMBED | JSON_REAL_PRECISION(9));
	json_decref(object);
	if (!text) {
		stream->err = stream->err ? stream->err : -ENOMEM;
		return;
	}
	length = strlen(text);
	while (length && text[length - 1] == '\n')
		length--;
	fwrite(text, 1, length, stream->to);
	stream->first = !length;
}

void json_stream__begin(struct json_stream *stream, json_t *first, FILE *to)
{
	*stream = (struct json_stream){.to = to};
	fputc('{', to);
	put_members(stream, first, JSON_INDENT(1));
}

void json_stream__open_array(struct json_stream *stream, const char *name)
{
	fprintf(stream->to, "%s\n\"%s\": [", stream->first ? "" : ",", name);
	stream->first = true;
}

void json_stream__open_object(struct json_stream *stream, json_t *first)
{
	fputs(stream->first ? "\n{" : ",\n{", stream->to);
	put_members(stream, first, JSON_COMPACT);
}

void json_stream__close_array(struct json_stream *stream)
{
	fputc(']', stream->to);
	stream->first = false;
}

void json_stream__close_object(struct json_stream *stream)
{
	fputc('}', stream->to);
	stream->first = false;
}

int json_stream__end(struct json_stream *stream)
{
	fputs("\n}\n", stream->to);
	return stream->err;
}
