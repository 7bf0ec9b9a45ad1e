/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recordings made up by a test: written with the real writer, loaded with the
 * real model. To be included by one test file each.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "analysis/kinds/kinds.h"
#include "model/model.h"
#include "recording/record_stream.h"
#include "recording/recording.h"
#include "tests/unit/put_stack.h"

#define MS	  1000000ULL
#define START	  (1000 * MS) /* of every recording, on its clock */
#define MAX_DEPTH 16

struct synthetic {
	char path[64];
	struct recording_writer *writer;
	uint32_t kernel_dso;
};

static inline struct synthetic synthetic__begin(void)
{
	struct synthetic made = {.path = "/tmp/dwell-test-XXXXXX"};
	struct record_dso kernel = {.kind = DSO_KERNEL};
	int fd = mkstemp(made.path);

	assert_true(fd >= 0);
	close(fd);
	unlink(made.path);
	assert_int_equal(recording_writer__create(made.path, &made.writer), 0);
	record_stream__meta(recording_writer__stream(made.writer), "period_ns", "%d", 1000000);
	record_stream__meta(recording_writer__stream(made.writer), "start", "%llu", START);
	record_stream__meta(recording_writer__stream(made.writer), "mode", "sampling");
	record_stream__meta(recording_writer__stream(made.writer), "command", "./prog --with args");
	record_stream__meta(recording_writer__stream(made.writer), "machine", "x86_64");
	kernel.path = record_stream__string(recording_writer__stream(made.writer), "[kernel]");
	made.kernel_dso = record_stream__dso(recording_writer__stream(made.writer), &kernel);
	return made;
}

static inline void synthetic__put(struct synthetic *made, struct record record)
{
	assert_int_equal(record_stream__put(recording_writer__stream(made->writer), &record), 0);
}

static inline uint32_t synthetic__string(struct synthetic *made, const char *text)
{
	return record_stream__string(recording_writer__stream(made->writer), text);
}

static inline void synthetic__thread(struct synthetic *made, uint32_t thread, uint32_t tgid,
				     uint32_t tid, uint32_t parent, uint64_t time, const char *comm)
{
	synthetic__put(made, (struct record){.type = RECORD_THREAD,
					     .thread = {.thread = thread,
							.tid = tid,
							.tgid = tgid,
							.parent = parent,
							.flags = THREAD_TARGET |
								 (parent ? THREAD_CREATED : 0),
							.comm = synthetic__string(made, comm),
							.time = START + time}});
}

static inline void synthetic__comm(struct synthetic *made, uint32_t thread, uint64_t time,
				   const char *comm)
{
	synthetic__put(made, (struct record){.type = RECORD_COMM,
					     .comm = {.thread = thread,
						      .comm = synthetic__string(made, comm),
						      .time = START + time}});
}

static inline void synthetic__exec(struct synthetic *made, uint32_t thread, uint32_t tid,
				   uint64_t time, const char *comm)
{
	synthetic__put(made, (struct record){.type = RECORD_EXEC,
					     .exec = {.thread = thread,
						      .tid = tid,
						      .comm = synthetic__string(made, comm),
						      .time = START + time}});
}

static inline uint32_t synthetic__dso(struct synthetic *made, const char *path)
{
	struct record_dso dso = {.path = synthetic__string(made, path), .kind = DSO_FILE};

	return record_stream__dso(recording_writer__stream(made->writer), &dso);
}

static inline void synthetic__map(struct synthetic *made, uint32_t pid, uint32_t dso, uint64_t time,
				  uint64_t start, uint64_t size, uint64_t offset)
{
	synthetic__put(made, (struct record){.type = RECORD_MAP,
					     .map = {.pid = pid,
						     .dso = dso,
						     .time = START + time,
						     .start = start,
						     .size = size,
						     .offset = offset}});
}

/* Names [@address, @address + 16) of @dso: callers' addresses are looked up one before. */
static inline void synthetic__symbol(struct synthetic *made, uint32_t dso, uint64_t address,
				     const char *name, const char *file, uint32_t line)
{
	for (uint64_t at = address; at < address + 16; at++)
		synthetic__put(made,
			       (struct record){.type = RECORD_SYMBOL,
					       .symbol = {.dso = dso,
							  .address = at,
							  .name = synthetic__string(made, name),
							  .file = synthetic__string(made, file),
							  .line = line}});
}

/* Frames are innermost first and end with 0. */
static inline uint32_t synthetic__stack(struct synthetic *made, bool kernel, enum stack_end end,
					const uint64_t *frames)
{
	struct record_stack stack = {.frames = frames, .kernel = kernel, .end = end};

	while (frames[stack.depth])
		stack.depth++;
	return put_stack(made->writer, &stack);
}

#define USER_STACK(made, ...)                                                                      \
	synthetic__stack(made, false, STACK_COMPLETE, (const uint64_t[]){__VA_ARGS__, 0})
#define KERNEL_STACK(made, ...)                                                                    \
	synthetic__stack(made, true, STACK_COMPLETE, (const uint64_t[]){__VA_ARGS__, 0})

static inline void synthetic__sample(struct synthetic *made, uint32_t thread, uint64_t time,
				     uint32_t weight, uint32_t kernel, uint32_t user)
{
	synthetic__put(made, (struct record){.type = RECORD_SAMPLE,
					     .sample = {.thread = thread,
							.weight = weight,
							.kernel_stack = kernel,
							.user_stack = user,
							.time = START + time}});
}

/* Times and points in ms: one point per ms. Times of @interval are relative to START. */
static inline void synthetic__interval(struct synthetic *made, struct record_interval interval)
{
	interval.t_out += START;
	synthetic__put(made, (struct record){.type = RECORD_INTERVAL, .interval = interval});
}

static inline void synthetic__totals(struct synthetic *made, uint32_t thread, uint64_t time,
				     bool exited, uint64_t cpu, uint64_t io, uint64_t lock,
				     uint64_t sched, uint64_t other)
{
	synthetic__put(made, (struct record){.type = RECORD_TOTALS,
					     .totals = {.thread = thread,
							.flags = exited ? TOTALS_EXITED : 0,
							.time = START + time,
							.ns = {cpu, io, lock, sched, other}}});
}

/* Totals with CPU time as the kernel counts it: @totals.ns and other members; time in ns. */
static inline void synthetic__counted(struct synthetic *made, struct record_totals totals)
{
	totals.time += START;
	totals.flags |= TOTALS_COUNTED;
	synthetic__put(made, (struct record){.type = RECORD_TOTALS, .totals = totals});
}

static inline void synthetic__remove(struct synthetic *made)
{
	char old[80];

	unlink(made->path);
	snprintf(old, sizeof(old), "%s.old", made->path);
	unlink(old);
}

/* Ends the recording at @end and loads it; the file is removed. */
static inline struct model *synthetic__load(struct synthetic *made, uint64_t end)
{
	const struct model_symbolize_options embedded = {.embedded_only = true};
	struct model *model = NULL;

	record_stream__meta(recording_writer__stream(made->writer), "end", "%llu", START + end);
	assert_int_equal(recording_writer__close(made->writer), 0);
	assert_int_equal(model__load(made->path, &model), 0);
	assert_int_equal(model__symbolize(model, &embedded), 0);
	synthetic__remove(made);
	return model;
}

/* The thread of @tid. */
static inline const struct model_thread *find_thread(const struct model *model, uint32_t tid)
{
	for (size_t i = 1; i < model->threads.n; i++)
		if (model->threads.data[i].tid == tid)
			return &model->threads.data[i];
	fail_msg("no thread %u", tid);
	return NULL;
}

/* "dso:function" of frame @i of @stack. */
static inline const char *frame_text(const struct model *model, uint32_t stack, size_t i)
{
	static char text[256];
	const struct model_location *at;

	assert_true(i < model->stacks.data[stack].depth);
	at = model__location(model, &model->stacks.data[stack], i);
	snprintf(text, sizeof(text), "%s:%s", model__string(model, model->dsos.data[at->dso].name),
		 model__string(model, model->frames.data[at->frame].name));
	return text;
}
