/* SPDX-License-Identifier: BSD-2-Clause */
/* Random records, for tests: all that a writer takes, whether it makes sense or not. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "recording/record_stream.h"
#include "recording/recording.h"
#include "tests/unit/put_stack.h"

/* A repeatable stream of values, with a liking for extreme ones. */
struct dice {
	uint64_t state;
};

static inline uint64_t dice__roll(struct dice *dice)
{
	return hash__mix(dice->state += 0x9e3779b97f4a7c15ULL);
}

static inline uint64_t dice__value(struct dice *dice, unsigned int bits)
{
	uint64_t max = ~0ULL >> (64 - bits);

	switch (dice__roll(dice) % 6) {
	case 0:
		return 0;
	case 1:
		return max;
	case 2:
		return max >> 1;
	case 3:
		return 1ULL << (dice__roll(dice) % bits);
	case 4:
		return dice__roll(dice) & 0xff & max;
	default:
		return dice__roll(dice) & max;
	}
}

static inline const char *dice__text(struct dice *dice)
{
	static char text[300];
	size_t n = dice__roll(dice) % 4 ? dice__roll(dice) % 3 : dice__roll(dice) % sizeof(text);

	for (size_t i = 0; i < n; i++)
		text[i] = (char)(1 + dice__roll(dice) % 255);
	text[n] = '\0';
	return text;
}

static inline uint32_t dice__string(struct dice *dice, struct recording_writer *writer)
{
	return record_stream__string(recording_writer__stream(writer), dice__text(dice));
}

static inline struct record_stack dice__stack(struct dice *dice)
{
	static uint64_t frames[200];
	struct record_stack stack = {.frames = frames};

	stack.depth = (uint32_t)(dice__roll(dice) % 200);
	stack.kernel = dice__roll(dice) % 2;
	stack.end = (uint8_t)(dice__roll(dice) % STACK_END_COUNT);
	for (uint32_t i = 0; i < stack.depth; i++)
		frames[i] = dice__value(dice, 64);
	return stack;
}

static inline struct record_dso dice__dso(struct dice *dice, struct recording_writer *writer)
{
	struct record_dso dso = {};

	dso.path = dice__string(dice, writer);
	dso.build_id = dice__string(dice, writer);
	dso.kind = (uint8_t)(dice__roll(dice) % (DSO_JIT + 1));
	dso.deleted = dice__roll(dice) % 2;
	dso.pid = (uint32_t)dice__value(dice, 32);
	return dso;
}

static inline struct record_object dice__object(struct dice *dice, struct recording_writer *writer)
{
	struct record_object object = {};

	object.type = (uint8_t)(dice__roll(dice) % (OBJECT_LIMIT + 1));
	object.id = dice__value(dice, 64);
	object.extra = dice__value(dice, 64);
	object.mode = (uint32_t)dice__value(dice, 32);
	object.family = (uint32_t)dice__value(dice, 32);
	object.protocol = (uint32_t)dice__value(dice, 32);
	object.name = dice__string(dice, writer);
	object.local = dice__string(dice, writer);
	return object;
}

static inline uint32_t dice__dso_number(struct dice *dice, struct recording_writer *writer)
{
	struct record_dso dso = dice__dso(dice, writer);

	return dice__roll(dice) % 4 ? record_stream__dso(recording_writer__stream(writer), &dso)
				    : 0;
}

static inline uint32_t dice__stack_number(struct dice *dice, struct recording_writer *writer)
{
	struct record_stack stack = dice__stack(dice);
	uint64_t hash = dice__roll(dice) % 200;

	switch (dice__roll(dice) % 8) {
	case 0:
		return put_stack(writer, &stack);
	case 1:
		record_stream__stack_frames(recording_writer__stream(writer), hash, &stack);
		return record_stream__stack_by_hash(recording_writer__stream(writer), hash);
	default:
		return record_stream__stack_by_hash(recording_writer__stream(writer), hash);
	}
}

static inline uint32_t dice__thread(struct dice *dice)
{
	return (uint32_t)(dice__roll(dice) % 2 ? dice__value(dice, 16) : dice__roll(dice) % 8);
}

static inline void dice__thread_record(struct dice *dice, struct recording_writer *writer,
				       struct record *r)
{
	switch (r->type) {
	case RECORD_THREAD:
		r->thread.thread = 1 + (uint32_t)(dice__roll(dice) % 65536);
		r->thread.tid = (uint32_t)dice__value(dice, 32);
		r->thread.tgid = (uint32_t)dice__value(dice, 32);
		r->thread.parent = dice__thread(dice);
		r->thread.flags = (uint32_t)dice__value(dice, 32);
		r->thread.comm = dice__string(dice, writer);
		r->thread.time = dice__value(dice, 63);
		break;
	case RECORD_EXEC:
		r->exec.thread = dice__thread(dice);
		r->exec.tid = (uint32_t)dice__value(dice, 32);
		r->exec.comm = dice__string(dice, writer);
		r->exec.time = dice__value(dice, 63);
		break;
	case RECORD_COMM:
		r->comm.thread = dice__thread(dice);
		r->comm.comm = dice__string(dice, writer);
		r->comm.time = dice__value(dice, 63);
		break;
	default:
		r->totals.thread = dice__thread(dice);
		r->totals.flags = (uint32_t)dice__value(dice, 32);
		r->totals.time = dice__value(dice, 63);
		for (int i = 0; i < CLASS_COUNT; i++)
			r->totals.ns[i] = dice__value(dice, 64);
		r->totals.voluntary = dice__value(dice, 64);
		r->totals.involuntary = dice__value(dice, 64);
	}
}

static inline void dice__interval(struct dice *dice, struct recording_writer *writer,
				  struct record_interval *interval)
{
	struct record_object object = dice__object(dice, writer);
	uint64_t left = INT64_MAX;

	interval->thread = dice__thread(dice);
	interval->waker = dice__thread(dice);
	interval->waker_context = (uint8_t)(dice__roll(dice) % (WAKER_NMI + 1));
	interval->class = (uint8_t)(dice__roll(dice) % CLASS_COUNT);
	interval->flags = (uint16_t)dice__value(dice, 16);
	interval->syscall = (int32_t)dice__value(dice, 32);
	interval->t_out = dice__value(dice, 63);
	left -= interval->t_out;
	interval->blocked_ns = left ? dice__value(dice, 63) % left : 0;
	left -= interval->blocked_ns;
	interval->runq_ns = dice__roll(dice) % 2 ? left : 0;
	interval->blocked_points = (uint32_t)dice__value(dice, 32);
	interval->runq_points = (uint32_t)dice__value(dice, 32);
	interval->kernel_stack = dice__stack_number(dice, writer);
	interval->user_stack = dice__stack_number(dice, writer);
	interval->object = record_stream__object(recording_writer__stream(writer), &object);
	interval->device = (uint32_t)dice__value(dice, 4);
	interval->request = (uint32_t)dice__value(dice, 8);
	interval->previous = dice__thread(dice);
	interval->sender = dice__thread(dice);
	interval->cpu = (uint32_t)dice__value(dice, 32);
	interval->sequence = (uint8_t)(dice__roll(dice) % (INTERVAL_SEQUENCES + 1));
}

static inline void dice__device_record(struct dice *dice, struct recording_writer *writer,
				       struct record *r)
{
	switch (r->type) {
	case RECORD_DEVICE:
		r->device.device = 1 + (uint32_t)dice__value(dice, 4);
		r->device.dev = (uint32_t)dice__value(dice, 32);
		r->device.name = dice__string(dice, writer);
		r->device.time = dice__value(dice, 63);
		r->device.requests = dice__value(dice, 64);
		r->device.bytes = dice__value(dice, 64);
		r->device.queue_ns = dice__value(dice, 64);
		r->device.service_ns = dice__value(dice, 64);
		r->device.idle_ns = dice__value(dice, 64);
		break;
	case RECORD_IDLE:
		r->idle.device = (uint32_t)dice__value(dice, 4);
		r->idle.thread = dice__thread(dice);
		r->idle.since = dice__value(dice, 62);
		r->idle.ns = dice__value(dice, 62);
		r->idle.points = (uint32_t)dice__value(dice, 32);
		r->idle.flags = (uint16_t)dice__value(dice, 16);
		r->idle.kernel_stack = dice__stack_number(dice, writer);
		r->idle.user_stack = dice__stack_number(dice, writer);
		break;
	case RECORD_REQUEST:
		r->request.number = (uint32_t)dice__value(dice, 8);
		r->request.device = (uint32_t)dice__value(dice, 4);
		r->request.thread = dice__thread(dice);
		r->request.time = dice__value(dice, 63);
		r->request.queue_ns = r->request.time ? dice__roll(dice) % r->request.time : 0;
		r->request.service_ns =
			dice__value(dice, 63) % (r->request.time - r->request.queue_ns + 1);
		r->request.sector = dice__value(dice, 64);
		r->request.bytes = dice__value(dice, 64);
		r->request.op = (uint8_t)(dice__roll(dice) % REQUEST_OP_COUNT);
		break;
	case RECORD_CPU_RUN:
		r->cpu_run.thread = dice__thread(dice);
		r->cpu_run.time = dice__value(dice, 63);
		r->cpu_run.length = r->cpu_run.time ? dice__roll(dice) % r->cpu_run.time : 0;
		r->cpu_run.ns = dice__value(dice, 63) % (r->cpu_run.length + 1);
		r->cpu_run.cpu = (uint16_t)(1 + dice__value(dice, 2));
		break;
	case RECORD_SPAN: {
		struct record_object object = dice__object(dice, writer);

		r->span.name = dice__string(dice, writer);
		r->span.thread = dice__thread(dice);
		r->span.begun_by = dice__thread(dice);
		r->span.time = dice__value(dice, 63);
		r->span.queue_ns = r->span.time ? dice__roll(dice) % r->span.time : 0;
		r->span.ns = dice__value(dice, 63) % (r->span.time - r->span.queue_ns + 1);
		r->span.object = record_stream__object(recording_writer__stream(writer), &object);
		break;
	}
	default:
		r->annotation.thread = dice__thread(dice);
		r->annotation.other = dice__thread(dice);
		r->annotation.name = dice__string(dice, writer);
		r->annotation.type = (uint8_t)(dice__roll(dice) % ANNOTATION_COUNT);
		r->annotation.address = dice__value(dice, 64);
		r->annotation.time = dice__value(dice, 63);
		r->annotation.queue = dice__value(dice, 64);
	}
}

static inline void dice__segment_record(struct dice *dice, struct recording_writer *writer,
					struct record_segment *segment)
{
	struct record_object object = dice__object(dice, writer);

	segment->thread = dice__thread(dice);
	segment->writer = dice__thread(dice);
	segment->time = dice__value(dice, 63);
	segment->written = dice__value(dice, 63) % (segment->time + 1);
	segment->left = dice__value(dice, 63) % (segment->time + 1);
	for (int i = 0; i < SEGMENT_HOLDS; i++) {
		segment->reasons[i] = (uint8_t)(dice__roll(dice) % HOLD_COUNT);
		segment->until[i] = dice__value(dice, 63) % (segment->time + 1);
	}
	segment->role = (uint8_t)(dice__roll(dice) % SEGMENT_ROLE_COUNT);
	segment->object = record_stream__object(recording_writer__stream(writer), &object);
	segment->owner_pid = (uint32_t)dice__value(dice, 32);
	segment->owner = dice__string(dice, writer);
}

static inline void dice__call_record(struct dice *dice, struct recording_writer *writer,
				     struct record *r)
{
	switch (r->type) {
	case RECORD_CALL:
		r->call.thread = dice__thread(dice);
		r->call.stack = dice__stack_number(dice, writer);
		r->call.time = dice__value(dice, 63);
		r->call.ns = r->call.time ? dice__roll(dice) % r->call.time : 0;
		r->call.begin_slack = (uint32_t)dice__value(dice, 32);
		r->call.end_slack = (uint32_t)dice__value(dice, 32);
		r->call.depth = (uint16_t)dice__value(dice, 16);
		r->call.flags = (uint16_t)dice__value(dice, 5);
		r->call.probe = (uint32_t)dice__value(dice, 13);
		r->call.overhead = dice__value(dice, 64);
		break;
	case RECORD_SHORT_CALLS:
		r->short_calls.thread = dice__thread(dice);
		r->short_calls.stack = dice__stack_number(dice, writer);
		r->short_calls.time = dice__value(dice, 63);
		r->short_calls.looks = dice__value(dice, 64);
		r->short_calls.ended = dice__value(dice, 64);
		r->short_calls.seen = dice__value(dice, 64);
		r->short_calls.ns = dice__value(dice, 64);
		r->short_calls.nested_ns = dice__value(dice, 64);
		break;
	case RECORD_SEGMENT:
		dice__segment_record(dice, writer, &r->segment);
		break;
	case RECORD_PROBE:
		r->probe.number = (uint32_t)dice__value(dice, 13);
		r->probe.name = dice__string(dice, writer);
		r->probe.time = dice__value(dice, 63);
		r->probe.entries = dice__value(dice, 64);
		r->probe.cost_ns = dice__value(dice, 64);
		r->probe.set_ns = dice__value(dice, 64);
		r->probe.times = dice__value(dice, 16);
		r->probe.cpu_ns = dice__value(dice, 64);
		r->probe.set_cpu_ns = r->probe.cpu_ns ? dice__roll(dice) % r->probe.cpu_ns : 0;
		r->probe.flags = (uint32_t)dice__value(dice, 1);
		break;
	default:
		r->scan.thread = dice__thread(dice);
		r->scan.time = dice__value(dice, 63);
		r->scan.ns = r->scan.time ? dice__roll(dice) % r->scan.time : 0;
		r->scan.pairs = dice__value(dice, 64);
		r->scan.pair_ns = dice__value(dice, 64);
		for (int i = 0; i < SCAN_GAPS; i++)
			r->scan.gap_ns[i] = dice__value(dice, 64);
		r->scan.pushes = dice__value(dice, 64);
		r->scan.pushes_ns = dice__value(dice, 64);
		r->scan.longest_ns = dice__value(dice, 64);
		r->scan.torn = dice__value(dice, 64);
		r->scan.lost = dice__value(dice, 64);
		r->scan.missed = dice__value(dice, 64);
	}
}

static inline void dice__event(struct dice *dice, struct recording_writer *writer, struct record *r)
{
	switch (r->type) {
	case RECORD_META:
		r->meta.key = dice__string(dice, writer);
		r->meta.value = dice__string(dice, writer);
		break;
	case RECORD_MAP:
		r->map.pid = (uint32_t)dice__value(dice, 32);
		r->map.dso = dice__dso_number(dice, writer);
		r->map.time = dice__value(dice, 63);
		r->map.start = dice__value(dice, 64);
		r->map.size = dice__roll(dice) % 2 ? UINT64_MAX - r->map.start : 0;
		r->map.offset = dice__value(dice, 64);
		break;
	case RECORD_SAMPLE:
		r->sample.thread = dice__thread(dice);
		r->sample.weight = (uint32_t)dice__value(dice, 32);
		r->sample.kernel_stack = dice__stack_number(dice, writer);
		r->sample.user_stack = dice__stack_number(dice, writer);
		r->sample.time = dice__value(dice, 63);
		break;
	case RECORD_INTERVAL:
		dice__interval(dice, writer, &r->interval);
		break;
	case RECORD_WAKE:
		r->wake.thread = dice__thread(dice);
		r->wake.waker = dice__thread(dice);
		r->wake.context = (uint32_t)(dice__roll(dice) % (WAKER_NMI + 1));
		r->wake.kernel_stack = dice__stack_number(dice, writer);
		r->wake.user_stack = dice__stack_number(dice, writer);
		r->wake.time = dice__value(dice, 63);
		break;
	case RECORD_LOST:
		r->lost.cause = dice__string(dice, writer);
		r->lost.count = dice__value(dice, 64);
		break;
	case RECORD_FUNCTION:
		r->function.dso = dice__dso_number(dice, writer);
		r->function.address = dice__value(dice, 64);
		r->function.name = dice__string(dice, writer);
		break;
	default:
		r->symbol.dso = dice__dso_number(dice, writer);
		r->symbol.address = dice__value(dice, 64);
		r->symbol.name = dice__string(dice, writer);
		r->symbol.file = dice__string(dice, writer);
		r->symbol.line = (uint32_t)dice__value(dice, 32);
		r->symbol.inlined = dice__roll(dice) % 2;
	}
}

/* A random record of a type that can be put; what it names is written before. */
static inline struct record dice__record(struct dice *dice, struct recording_writer *writer)
{
	static const enum record_type types[] = {
		RECORD_META,	RECORD_THREAD,	    RECORD_EXEC,     RECORD_COMM,
		RECORD_TOTALS,	RECORD_MAP,	    RECORD_SAMPLE,   RECORD_INTERVAL,
		RECORD_WAKE,	RECORD_LOST,	    RECORD_SYMBOL,   RECORD_DEVICE,
		RECORD_IDLE,	RECORD_ANNOTATION,  RECORD_REQUEST,  RECORD_SPAN,
		RECORD_CALL,	RECORD_SHORT_CALLS, RECORD_SCAN,     RECORD_PROBE,
		RECORD_SEGMENT, RECORD_CPU_RUN,	    RECORD_FUNCTION,
	};
	struct record record;

	memset(&record, 0, sizeof(record));
	record.type = types[dice__roll(dice) % ARRAY_SIZE(types)];
	if (record.type >= RECORD_THREAD && record.type <= RECORD_TOTALS)
		dice__thread_record(dice, writer, &record);
	else if (record.type >= RECORD_CALL && record.type <= RECORD_SEGMENT)
		dice__call_record(dice, writer, &record);
	else if (record.type >= RECORD_DEVICE && record.type <= RECORD_CPU_RUN)
		dice__device_record(dice, writer, &record);
	else
		dice__event(dice, writer, &record);
	return record;
}
