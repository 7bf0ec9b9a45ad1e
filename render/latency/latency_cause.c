// SPDX-License-Identifier: BSD-2-Clause
#include "render/latency/latency_cause.h"

#include "render/format.h"
#include "render/json.h"

void latency_cause__put(const struct model *model, const char *before, struct wait_cause cause,
			uint32_t function, uint64_t time, FILE *to)
{
	const struct model_thread *thread;

	switch (cause.type) {
	case CAUSE_THREAD:
		thread = &model->threads.data[cause.id];
		fprintf(to, "%sfor ", before);
		format__safe(to, model__string(model, model_thread__comm(thread, time)));
		fprintf(to, "/%u", thread->tid);
		break;
	case CAUSE_DEVICE:
		fprintf(to, "%sfor ", before);
		format__safe(to, model__string(model, model->devices.data[cause.id].name));
		break;
	case CAUSE_TIMER:
		fprintf(to, "%suntil a timeout", before);
		break;
	default:
		return;
	}
	if (function) {
		fputs(" in ", to);
		format__safe(to, model__string(model, function));
	}
}

void latency_cause__json(const struct model *model, struct wait_cause cause, json_t *entry)
{
	json_object_set_new(entry, "cause", json_string(cause_type__name(cause.type)));
	json_object_set_new(entry, "for",
			    cause.type == CAUSE_THREAD
				    ? json__number(model->threads.data[cause.id].tid)
				    : json_null());
}
