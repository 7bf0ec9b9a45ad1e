// SPDX-License-Identifier: BSD-2-Clause
#include "render/json.h"

#include <errno.h>
#include <stdlib.h>

#include "render/format.h"
#include "render/header.h"

/* jansson takes valid UTF-8 only; names from a program may be anything. */
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

static json_t *json__meta(const struct model *model, const char *key)
{
	const char *value = model__meta(model, key);

	return json__text(value ? value : "");
}

json_t *json__number(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *json__lost(const struct model *model)
{
	json_t *lost = json_object();

	for (size_t i = 0; i < model->losts.n; i++)
		json_object_set_new(lost, model__string(model, model->losts.data[i].cause),
				    json__number(model->losts.data[i].count));
	return lost;
}

static json_t *json__truncated(const struct model *model)
{
	json_t *truncated = json_object();

	for (int end = STACK_COMPLETE + 1; end < STACK_GUESSED; end++)
		json_object_set_new(truncated, stack_end__name(end),
				    json__number(model->truncated[end]));
	return truncated;
}

void json__put_recording(json_t *document, const struct model *model)
{
	static const char *const metas[] = {"command", "target",  "hostname", "kernel",
					    "machine", "version", "rung"};

	for (size_t i = 0; i < ARRAY_SIZE(metas); i++)
		json_object_set_new(document, metas[i], json__meta(model, metas[i]));
	json_object_set_new(document, "mode", json_string(model->trace ? "trace" : "sampling"));
	json_object_set_new(document, "period_ns", json__number(model->period_ns));
	json_object_set_new(document, "slowest_clock_ns",
			    json__number(model__meta_number(model, "slowest_clock_ns", 0)));
	json_object_set_new(document, "clock_share",
			    json_real((double)model__meta_number(model, "clock_share", 0) / 1000));
	json_object_set_new(document, "widest_spacing_ns",
			    json__number(model->period_ns << model->spacing));
	json_object_set_new(document, "duration_ns", json__number(model->end - model->start));
	json_object_set_new(document, "lost", json__lost(model));
	json_object_set_new(document, "machine_switches",
			    json__number(model__meta_number(model, "machine_switches", 0)));
	json_object_set_new(document, "machine_switches_told",
			    json__number(model__meta_number(model, "machine_switches_told", 0)));
	json_object_set_new(document, "machine_busy_ns",
			    json__number(model__meta_number(model, "machine_busy_ns", 0)));
	json_object_set_new(document, "machine_idle_ns",
			    json__number(model__meta_number(model, "machine_idle_ns", 0)));
	json_object_set_new(document, "truncated", json__truncated(model));
	json_object_set_new(document, "guessed", json__number(model->truncated[STACK_GUESSED]));
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
