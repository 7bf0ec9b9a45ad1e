/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the calls that another source sees on shadow stacks (recorder_config.calls), when their
 * threads are known to the recorder.
 */
#pragma once

#include "collect/record/recording_sources.h"

/* None, if no calls are wanted. 0 or -ENOMEM. */
int seen_calls__new(const struct source_parts *parts, struct event_source *out);

/* What takes the calls; NULL: none are wanted. */
const struct call_sink *seen_calls__sink(const struct event_source *source);
