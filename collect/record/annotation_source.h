/* SPDX-License-Identifier: BSD-2-Clause */
/* Annotations of the command (include/dwell.h) as a source of events. */
#pragma once

#include "collect/record/recording_sources.h"

/*
 * Creates the file of annotations, and names it to the command by dwell's environment. None are
 * recorded without a command, or if there can be no file. 0 or -ENOMEM.
 */
int annotation_source__new(const struct source_parts *parts, struct event_source *out);
