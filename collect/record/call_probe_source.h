/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes at functions (call_probes.h) as a source of events. */
#pragma once

#include "collect/record/recording_sources.h"

/* None, if no functions are to be measured. 0 or -ENOMEM. */
int call_probe_source__new(const struct source_parts *parts, struct event_source *out);

/* See call_probes__problem(). There is a source. */
const char *call_probe_source__problem(const struct event_source *source, size_t index);
