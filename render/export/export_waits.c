// SPDX-License-Identifier: BSD-2-Clause
#include "render/export/export_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "render/format.h"

int export_waits__begin(struct export_waits *waits, const struct export *export)
{
	waits->export = export;
	waits->model = export->model;
	waits->strings.model = export->model;
	return wait_causes__new(&waits->strings, export->kinds, &waits->causes);
}

void export_waits__free(struct export_waits *waits)
{
	wait_causes__free(waits->causes);
	own_strings__free(&waits->strings);
}

uint32_t export_waits__object(const struct weighted_sample *sample)
{
	return sample->class == CLASS_SCHED ? 0 : sample->object;
}

bool export_waits__is_blocked(const struct weighted_sample *sample)
{
	const struct model_interval *interval = sample->interval;

	return interval && (sample->class != CLASS_SCHED ||
			    (interval->class == CLASS_SCHED &&
			     sample->from < interval->t_out + interval->blocked_ns));
}

enum wait_kind export_waits__kind(const struct export_waits *waits,
				  const struct weighted_sample *sample)
{
	const struct wait_description description = {
		.class = sample->class,
		.flags = sample->flags,
		.syscall = sample->syscall,
		.kernel = sample->kernel,
		.object = export_waits__object(sample),
	};

	return kinds__of(waits->export->kinds, &description);
}

const char *export_waits__label(const struct export_waits *waits,
				const struct weighted_sample *sample, struct buffer *text)
{
	char label[1024];

	kind__describe(waits->model, export_waits__kind(waits, sample),
		       export_waits__object(sample), label, sizeof(label));
	return export_text(text, label);
}

struct wait_cause export_waits__cause(const struct export_waits *waits, uint32_t thread,
				      const struct model_interval *interval)
{
	if (!interval->blocked_ns)
		return (struct wait_cause){CAUSE_UNKNOWN, 0};
	return wait_causes__of(waits->causes, thread, interval);
}

const char *export_waits__cause_text(const struct export_waits *waits, struct wait_cause cause,
				     uint64_t time, struct buffer *text)
{
	const struct model *model = waits->model;
	const struct model_thread *thread;
	char name[256];

	switch (cause.type) {
	case CAUSE_THREAD:
		thread = &model->threads.data[cause.id];
		snprintf(name, sizeof(name), "%s/%u",
			 model__string(model, model_thread__comm(thread, time)), thread->tid);
		break;
	case CAUSE_DEVICE:
		snprintf(name, sizeof(name), "%s",
			 model__string(model, model->devices.data[cause.id].name));
		break;
	case CAUSE_PEER:
	case CAUSE_LIMIT:
	case CAUSE_TCP:
	case CAUSE_QUEUE:
		snprintf(name, sizeof(name), "%s", own_strings__text(&waits->strings, cause.id));
		break;
	default:
		return cause_type__name(cause.type);
	}
	return export_text(text, name);
}

const char *export_thread__name(const struct model *model, uint32_t thread)
{
	const struct model_thread *named = &model->threads.data[thread];

	return named->comms.n ? model__string(model, named->comms.data[named->comms.n - 1].name)
			      : "";
}

const char *export_text(struct buffer *buffer, const char *text)
{
	buffer->n = 0;
	while (*text) {
		size_t n = format__plain(text, "");
		char escape[8];

		buffer__put(buffer, text, n);
		text += n;
		if (!*text)
			break;
		snprintf(escape, sizeof(escape), "\\x%02x", (unsigned char)*text++);
		buffer__put(buffer, escape, strlen(escape));
	}
	buffer__put(buffer, "", 1);
	return buffer->failed ? "" : (const char *)buffer->data;
}
