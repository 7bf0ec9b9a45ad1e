/* SPDX-License-Identifier: BSD-2-Clause */
/* Recordings that no machine made. */
#pragma once

#include "tests/unit/dice.h"
#include "tests/unit/waits_support.h"

#define FAR ((uint64_t)INT64_MAX)

static inline void put_facts(struct recording_writer *writer, struct dice *dice)
{
	static const uint64_t periods[] = {0, 1000, PERIOD, UINT32_MAX, 1ULL << 40, UINT64_MAX};
	static const uint64_t ends[] = {0, START - 1, START + 100 * MS, FAR, UINT64_MAX};

	record_stream__meta(recording_writer__stream(writer), "mode", "%s",
			    dice__roll(dice) % 2 ? "trace" : "sampling");
	if (dice__roll(dice) % 4)
		record_stream__meta(
			recording_writer__stream(writer), "period_ns", "%llu",
			(unsigned long long)periods[dice__roll(dice) % ARRAY_SIZE(periods)]);
	if (dice__roll(dice) % 2)
		record_stream__meta(recording_writer__stream(writer), "start", "%llu", START);
	if (dice__roll(dice) % 2)
		record_stream__meta(recording_writer__stream(writer), "end", "%llu",
				    (unsigned long long)ends[dice__roll(dice) % ARRAY_SIZE(ends)]);
	record_stream__meta(recording_writer__stream(writer), "grid_seed", "%llu",
			    (unsigned long long)dice__roll(dice));
}

static inline uint64_t tame_time(uint64_t time)
{
	return START + hash__mix(time) % (100 * MS);
}

/* So that what is random meets: few threads, and times within the same 100 ms. */
static inline void tame(struct record *record)
{
	switch (record->type) {
	case RECORD_THREAD:
		record->thread.thread = 1 + record->thread.thread % 12;
		record->thread.parent %= 12;
		record->thread.time = tame_time(record->thread.time);
		break;
	case RECORD_TOTALS:
		record->totals.thread %= 12;
		record->totals.time = tame_time(record->totals.time);
		break;
	case RECORD_SAMPLE:
		record->sample.thread %= 12;
		record->sample.time = tame_time(record->sample.time);
		break;
	case RECORD_INTERVAL:
		record->interval.thread %= 12;
		record->interval.waker %= 12;
		record->interval.t_out = tame_time(record->interval.t_out);
		record->interval.blocked_ns %= 20 * MS;
		record->interval.runq_ns %= 2 * MS;
		break;
	case RECORD_REQUEST:
		record->request.queue_ns %= 2 * MS;
		record->request.service_ns %= 2 * MS;
		record->request.time = tame_time(record->request.time);
		record->request.thread %= 12;
		break;
	case RECORD_CPU_RUN:
		record->cpu_run.time = tame_time(record->cpu_run.time);
		record->cpu_run.length = 1 + record->cpu_run.length % (2 * MS);
		record->cpu_run.ns %= record->cpu_run.length + 1;
		record->cpu_run.thread %= 12;
		break;
	case RECORD_SPAN:
		record->span.queue_ns %= 2 * MS;
		record->span.ns %= 20 * MS;
		record->span.time = tame_time(record->span.time);
		record->span.thread %= 12;
		record->span.begun_by %= 12;
		break;
	case RECORD_CALL:
		record->call.thread %= 12;
		record->call.ns %= 20 * MS;
		record->call.time = tame_time(record->call.time);
		break;
	case RECORD_SCAN:
		record->scan.thread %= 12;
		record->scan.ns %= MS;
		record->scan.pairs = 1 + record->scan.pairs % 1000;
		record->scan.pair_ns = 1 + record->scan.pair_ns % 1000000;
		break;
	case RECORD_PROBE:
		record->probe.time = tame_time(record->probe.time);
		record->probe.number %= 12;
		break;
	case RECORD_SHORT_CALLS:
		record->short_calls.thread %= 12;
		record->short_calls.time = tame_time(record->short_calls.time);
		break;
	case RECORD_SEGMENT:
		record->segment.thread %= 12;
		record->segment.writer %= 12;
		record->segment.time = tame_time(record->segment.time);
		record->segment.written %= 20 * MS;
		record->segment.left %= 2 * MS;
		for (int i = 0; i < SEGMENT_HOLDS; i++)
			record->segment.until[i] %= 20 * MS;
		break;
	case RECORD_IDLE:
		record->idle.thread %= 12;
		record->idle.since = tame_time(record->idle.since);
		record->idle.ns %= 20 * MS;
		break;
	case RECORD_ANNOTATION:
		record->annotation.thread %= 12;
		record->annotation.other %= 12;
		record->annotation.address %= 3;
		record->annotation.time = tame_time(record->annotation.time);
		break;
	default:
		break;
	}
}

/* The wakeup at which a wait of @record ends. */
static inline void put_its_wake(struct recording_writer *writer, struct dice *dice,
				const struct record *record)
{
	const struct record_interval *of = &record->interval;
	struct record wake = {.type = RECORD_WAKE};

	wake.wake.thread = of->thread;
	wake.wake.waker = of->waker;
	wake.wake.context = of->waker_context;
	wake.wake.time = of->t_out + of->blocked_ns;
	wake.wake.kernel_stack = dice__stack_number(dice, writer);
	wake.wake.user_stack = dice__stack_number(dice, writer);
	assert_int_equal(record_stream__put(recording_writer__stream(writer), &wake), 0);
}

static inline struct model *random_recording(uint64_t seed, unsigned int records, bool tamed)
{
	const struct model_symbolize_options embedded = {.embedded_only = true};
	struct synthetic made = {.path = "/tmp/dwell-test-XXXXXX"};
	struct dice dice = {.state = seed};
	struct model *model = NULL;
	int fd = mkstemp(made.path);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(recording_writer__create(made.path, &made.writer), 0);
	put_facts(made.writer, &dice);
	for (unsigned int i = 0; i < records; i++) {
		struct record record = dice__record(&dice, made.writer);

		if (tamed)
			tame(&record);
		assert_int_equal(record_stream__put(recording_writer__stream(made.writer), &record),
				 0);
		if (record.type == RECORD_INTERVAL)
			put_its_wake(made.writer, &dice, &record);
	}
	assert_int_equal(recording_writer__close(made.writer), 0);
	assert_int_equal(model__load(made.path, &model), 0);
	assert_int_equal(model__symbolize(model, &embedded), 0);
	synthetic__remove(&made);
	return model;
}
