/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a thread waited for, and who ended the wait, for all export formats: kind, object, a label
 * of both, and the cause as text. All text is valid UTF-8: other bytes and control characters are
 * escaped ("\x1b").
 */
#pragma once

#include "analysis/kinds/wait_causes.h"
#include "base/buffer.h"
#include "render/export/export.h"

struct export_waits {
	const struct export *export;
	const struct model *model;
	struct own_strings strings; /* names of peers */
	struct wait_causes *causes;
};

/* The caller has zeroed @waits, and frees it in any case. @export stays the caller's. 0 or -ENOMEM.
 */
int export_waits__begin(struct export_waits *waits, const struct export *export);
void export_waits__free(struct export_waits *waits);

/* What the thread does or waits for; KIND_RUNNING for a sample. */
enum wait_kind export_waits__kind(const struct export_waits *waits,
				  const struct weighted_sample *sample);

/* What is waited for: an index in model->objects; 0: nothing known, or a CPU. */
uint32_t export_waits__object(const struct weighted_sample *sample);

/* Kind and object: "futex 0x7f..", "fsync /data/x", "preempted". Valid until @text is changed. */
const char *export_waits__label(const struct export_waits *waits,
				const struct weighted_sample *sample, struct buffer *text);

/* Whether @sample is of the blocked part of an interval, not of its time in the run queue. */
bool export_waits__is_blocked(const struct weighted_sample *sample);

/* Who ended the blocked part of @interval, of the thread with index @thread. */
struct wait_cause export_waits__cause(const struct export_waits *waits, uint32_t thread,
				      const struct model_interval *interval);

/* "mysqld/4711" (its name at @time), "vda", "timer", ... Valid until @text is changed. */
const char *export_waits__cause_text(const struct export_waits *waits, struct wait_cause cause,
				     uint64_t time, struct buffer *text);

/* What the thread was called last. */
const char *export_thread__name(const struct model *model, uint32_t thread);

/*
 * A copy of @text with escapes, in @buffer, whose content it replaces. "" without memory, which
 * @buffer->failed tells. Valid until @buffer is changed.
 */
const char *export_text(struct buffer *buffer, const char *text);
