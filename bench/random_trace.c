// SPDX-License-Identifier: BSD-2-Clause
#include "bench/random_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "recording/record_stream.h"
#include "recording/recording.h"
#include "tests/unit/put_stack.h"

#define MS	      1000000ULL
#define START	      (1000 * MS)
#define DEPTH	      20
#define KERNEL_DEPTH  8
#define KERNEL_STACKS 500

struct maker {
	struct recording_writer *writer;
	uint32_t kernel_stacks[KERNEL_STACKS];
	uint32_t *user_stacks;
	uint32_t places;
	uint64_t random;
};

static uint64_t draw(struct maker *maker, uint64_t n)
{
	maker->random += 0x9e3779b97f4a7c15ULL;
	return hash__mix(maker->random) % n;
}

static uint32_t make_kernel_stack(struct maker *maker)
{
	uint64_t frames[KERNEL_DEPTH];
	const struct record_stack stack = {.frames = frames, .depth = KERNEL_DEPTH, .kernel = 1};

	for (size_t k = 0; k < KERNEL_DEPTH; k++)
		frames[k] = 0xffffffff81000000ULL + draw(maker, 2000) * 64;
	return put_stack(maker->writer, &stack);
}

/* The leaf of a binary tree of calls, so that places share their outer functions. */
static uint32_t make_user_stack(struct maker *maker, uint32_t place)
{
	uint64_t frames[DEPTH];
	const struct record_stack stack = {.frames = frames, .depth = DEPTH};

	for (size_t k = 0; k < DEPTH; k++)
		frames[k] = 0x400000ULL + hash__mix((uint64_t)(place >> k) << 8 | k) % 2000 * 64;
	return put_stack(maker->writer, &stack);
}

static int make_stacks(struct maker *maker, uint32_t places)
{
	maker->places = places;
	maker->user_stacks = calloc(places, sizeof(*maker->user_stacks));
	if (!maker->user_stacks)
		return -ENOMEM;
	for (size_t i = 0; i < KERNEL_STACKS; i++)
		maker->kernel_stacks[i] = make_kernel_stack(maker);
	for (uint32_t i = 0; i < places; i++)
		maker->user_stacks[i] = make_user_stack(maker, i);
	return 0;
}

static int begin(struct maker *maker, const char *path, uint32_t threads, uint32_t places)
{
	int err = recording_writer__create(path, &maker->writer);

	if (err)
		return err;
	maker->random = 1;
	record_stream__meta(recording_writer__stream(maker->writer), "mode", "trace");
	record_stream__meta(recording_writer__stream(maker->writer), "period_ns", "1000000");
	record_stream__meta(recording_writer__stream(maker->writer), "start", "%llu", START);
	err = make_stacks(maker, places);
	if (err)
		return err;
	for (uint32_t i = 1; i <= threads; i++) {
		struct record record = {.type = RECORD_THREAD,
					.thread = {.thread = i,
						   .tid = 1000 + i,
						   .tgid = 1001,
						   .flags = THREAD_TARGET,
						   .time = START}};
		char name[16];

		snprintf(name, sizeof(name), "thread-%" PRIu32, i);
		record.thread.comm =
			record_stream__string(recording_writer__stream(maker->writer), name);
		record_stream__put(recording_writer__stream(maker->writer), &record);
	}
	return 0;
}

static void put_wait(struct maker *maker, uint32_t thread, uint32_t waker, uint64_t from,
		     uint64_t until)
{
	/* As often as a word of a text (Zipf): the logarithm of its rank is evenly distributed. */
	size_t place =
		(size_t)(pow(maker->places + 1, (double)draw(maker, 1 << 30) / (1 << 30))) - 1;
	size_t woken = (place * 7 + draw(maker, 2)) % maker->places;
	struct record interval = {
		.type = RECORD_INTERVAL,
		.interval = {.thread = thread,
			     .waker = waker,
			     .waker_context = WAKER_TASK,
			     .class = CLASS_LOCK,
			     .syscall = 202,
			     .t_out = from,
			     .blocked_ns = until - from,
			     .runq_ns = 500,
			     .kernel_stack = maker->kernel_stacks[place % KERNEL_STACKS],
			     .user_stack = maker->user_stacks[place]},
	};
	struct record wake = {
		.type = RECORD_WAKE,
		.wake = {.thread = thread,
			 .waker = waker,
			 .context = WAKER_TASK,
			 .time = until,
			 .kernel_stack = maker->kernel_stacks[woken % KERNEL_STACKS],
			 .user_stack = maker->user_stacks[woken]},
	};

	record_stream__put(recording_writer__stream(maker->writer), &wake);
	record_stream__put(recording_writer__stream(maker->writer), &interval);
}

static int end(struct maker *maker, uint64_t now, int err)
{
	record_stream__meta(recording_writer__stream(maker->writer), "end", "%" PRIu64, now);
	free(maker->user_stacks);
	return err ? err : recording_writer__close(maker->writer);
}

int random_trace__pool(const char *path, uint64_t intervals, uint32_t places)
{
	enum { THREADS = 100 };
	uint64_t since[THREADS + 1] = {}, now = START;
	struct maker maker = {};
	int err = begin(&maker, path, THREADS, places);

	for (uint64_t i = 0; i < intervals && !err;) {
		uint32_t one = 1 + (uint32_t)draw(&maker, THREADS);
		uint32_t other = 1 + (uint32_t)draw(&maker, THREADS);

		now += 1000 + draw(&maker, 1000);
		if (since[one] || one == other)
			continue;
		if (!since[other]) {
			since[one] = now;
			continue;
		}
		put_wait(&maker, other, one, since[other], now);
		since[other] = 0;
		i++;
	}
	return end(&maker, now, err);
}

int random_trace__nested(const char *path, uint64_t intervals)
{
	enum { THREADS = 1000, STEP = 2000 };
	uint64_t now = START;
	struct maker maker = {};
	int err = begin(&maker, path, THREADS + 1, 500);

	for (uint64_t i = 0; i < intervals && !err; i += THREADS) {
		for (uint32_t k = THREADS; k >= 1; k--)
			put_wait(&maker, k, k + 1, now + k * STEP,
				 now + (2 * THREADS + 1 - k) * STEP);
		now += (2 * THREADS + 2) * (uint64_t)STEP;
	}
	return end(&maker, now, err);
}
