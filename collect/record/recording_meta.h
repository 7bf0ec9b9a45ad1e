/* SPDX-License-Identifier: BSD-2-Clause */
/* What a recording says of itself: where and how it was made, when it began and ended. */
#pragma once

#include "collect/record/recorder.h"
#include "recording/record_stream.h"
#include "recording/recording.h"

/* Writes what is known before @capture, of @config, begins. */
void recording_meta__write_header(struct record_stream *stream,
				  const struct recorder_config *config,
				  const struct capture *capture);

/* Writes when it began, CLOCK_MONOTONIC: see capture__start(). */
void recording_meta__write_start(struct record_stream *stream, uint64_t start);

/*
 * Writes what is known at its end, @end on CLOCK_MONOTONIC: how the command ended, how busy the
 * machine was, and how much CPU time dwell took. Returns 0 or a negative errno.
 */
int recording_meta__write_end(struct record_stream *stream, struct capture *capture, uint64_t end);
