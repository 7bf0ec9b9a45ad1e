/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records on their way from whoever makes them to whoever takes them: a file (recording_writer), a
 * model (model/model_builder.h). A stream numbers what records refer to, and passes on definitions
 * of numbers before records that refer to them. Who makes records does not know where they go.
 *
 * A stream is not thread-safe.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "recording/recording.h"

/*
 * Takes @record, of any type, which is valid during the call. 0 or -errno, with a message in
 * error__set(). A sink that has failed goes on to fail.
 */
struct record_sink {
	int (*put)(void *arg, const struct record *record);
	void *arg;
};

#define RECORD_SINKS 4

/*
 * A stream keeps the numbers of this many strings, DSOs and objects each. Then it begins anew, and
 * defines what is used again with new numbers: a recorder's memory must not grow with the processes
 * that have come and gone.
 */
#define RECORD_STREAM_NUMBERS 8192

struct record_stream;

/* 0 or -ENOMEM. */
int record_stream__new(struct record_stream **out);

/* Before the first record. At most RECORD_SINKS, each of which must outlive the stream. */
void record_stream__add_sink(struct record_stream *stream, const struct record_sink *sink);

/*
 * The number of @text, which is defined if it is new, or was not used for long; 0 for "" and NULL.
 * Longer strings are cut to 1 MiB. Returns 0 without memory, or when all sinks have failed, which
 * the next record_stream__put() tells; so do the functions below.
 */
uint32_t record_stream__string(struct record_stream *stream, const char *text);

/*
 * The number of a DSO or object, which is defined if it is new, or was not used for long. Its
 * member @number is ignored.
 */
uint32_t record_stream__dso(struct record_stream *stream, const struct record_dso *dso);
uint32_t record_stream__object(struct record_stream *stream, const struct record_object *object);

/*
 * The number of a stack that is identified by a 64-bit hash; 0 for hash 0, no stack. Its frames
 * may be given before or after (record_stream__stack_frames()); RECORD_STACK is passed on when
 * they are first given, and later ones are ignored. A stack whose frames are never given reads
 * as empty. More than 4096 frames are cut, with STACK_TOO_DEEP as the end.
 */
uint32_t record_stream__stack_by_hash(struct record_stream *stream, uint64_t hash);
void record_stream__stack_frames(struct record_stream *stream, uint64_t hash,
				 const struct record_stack *stack);

/*
 * The number of hashes of stacks that were given since the last call of
 * record_stream__forget_stacks(), which forgets those that were not given since the call before:
 * their frames have to be given again. So the stream's memory does not grow with the recording.
 */
size_t record_stream__stacks(const struct record_stream *stream);
void record_stream__forget_stacks(struct record_stream *stream);

/*
 * Passes on a record of any type but STRING, STACK, DSO and OBJECT. 0, or the first error of a
 * sink; the others have got it.
 */
int record_stream__put(struct record_stream *stream, const struct record *record);

/* Passes on RECORD_META with a formatted value. Returns as record_stream__put(). */
int record_stream__meta(struct record_stream *stream, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* 0, or with a message -ENOMEM: what was to be passed on since is missing. */
int record_stream__error(const struct record_stream *stream);

void record_stream__free(struct record_stream *stream);
DEFINE_CLEANUP(struct record_stream *, record_stream__free)
