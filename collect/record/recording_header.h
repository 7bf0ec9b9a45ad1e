/* SPDX-License-Identifier: BSD-2-Clause */
/* What a recording says of itself at its begin. */
#pragma once

#include "collect/record/recorder.h"
#include "recording/recording.h"

/* Writes what is known before @capture, of @config, begins. */
void recording_header__write(struct recording_writer *writer, const struct recorder_config *config,
			     const struct capture *capture);

/* Writes when it began, CLOCK_MONOTONIC: see capture__start(). */
void recording_header__write_start(struct recording_writer *writer, uint64_t start);
