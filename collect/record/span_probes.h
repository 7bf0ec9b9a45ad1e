/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes in programs for spans, as a source of events: at the entry and the return of functions,
 * and at two probes (USDT), in each file that a process maps.
 */
#pragma once

#include "collect/record/recording_sources.h"

/* None, if no spans are asked for (capture_config.spans). 0 or -ENOMEM. */
int span_probes__new(const struct source_parts *parts, struct event_source *out);

/* Of a @source that is not empty: whether span source @index was found in a file. */
bool span_probes__is_found(const struct event_source *source, size_t index);

/* Likewise: why spans of span source @index are not recorded, though it was found; or NULL. */
const char *span_probes__error(const struct event_source *source, size_t index);
