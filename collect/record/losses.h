/* SPDX-License-Identifier: BSD-2-Clause */
/* What a recording lost. It is written while the recording is made, so that it survives a crash. */
#pragma once

#include "collect/capture/capture.h"
#include "recording/record_stream.h"
#include "recording/recording.h"

/* As they were last written; zero at first. */
struct losses {
	uint64_t kernel[LOSS_COUNT];
};

/* Writes that @count were lost for @cause, unless it is 0. Returns a negative errno on error. */
int losses__put(struct record_stream *stream, const char *cause, uint64_t count);

/* Writes what the kernel side lost, where it changed since the last call. Errors as above. */
int losses__write(struct losses *losses, struct record_stream *stream,
		  const struct capture *capture);

/* Likewise, and what is known only at the end of the capture. */
int losses__write_last(struct losses *losses, struct record_stream *stream,
		       const struct capture *capture);

/* What was lost of events and mappings, because buffers were full or memory ran out. */
uint64_t losses__total(const struct capture *capture);
