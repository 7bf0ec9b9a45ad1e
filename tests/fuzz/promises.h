/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The promises that recording.h makes about the records a reader hands out,
 * checked record by record. Used by the fuzzer and the unit tests.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "recording/reader.h"

struct promises {
	struct map64 strings;
	struct map64 dsos;
	struct map64 objects;
	struct map64 stacks;
	const struct recording_reader *reader;
	const char *broken; /* the first promise that was not kept */
};

static inline void promises__free(struct promises *promises)
{
	map64__free(&promises->strings);
	map64__free(&promises->dsos);
	map64__free(&promises->objects);
	map64__free(&promises->stacks);
}

static inline void promises__expect(struct promises *promises, bool kept, const char *what)
{
	if (!kept && !promises->broken)
		promises->broken = what;
}
#define KEPT(condition) promises__expect(p, (condition), #condition)

static inline bool promises__bounded(const struct promises *p, uint64_t number)
{
	return number <= 65536 + 4 * p->reader->offset;
}

static inline void promises__number(struct promises *p, struct map64 *seen, uint32_t number)
{
	KEPT(number != 0);
	KEPT(promises__bounded(p, number));
	KEPT(!map64__get(seen, number));
	map64__put(seen, number, 1);
}

static inline bool promises__came(const struct map64 *seen, uint32_t number)
{
	return number == 0 || map64__get(seen, number);
}

#define STRING(number)	promises__came(&p->strings, (number))
#define BOUNDED(number) promises__bounded(p, (number))

static inline void promises__table_record(struct promises *p, const struct record *r)
{
	switch (r->type) {
	case RECORD_STRING:
		promises__number(p, &p->strings, r->string.number);
		KEPT(r->string.bytes[r->string.size] == '\0');
		KEPT(r->string.size <= 1 << 20);
		break;
	case RECORD_STACK:
		promises__number(p, &p->stacks, r->stack.number);
		KEPT(r->stack.depth <= 4096);
		KEPT(r->stack.end < STACK_END_COUNT && r->stack.kernel <= 1);
		for (uint32_t i = 0; i < r->stack.depth; i++)
			*(volatile uint64_t *)&r->stack.frames[i];
		break;
	case RECORD_DSO:
		promises__number(p, &p->dsos, r->dso.number);
		KEPT(STRING(r->dso.path) && STRING(r->dso.build_id));
		KEPT(r->dso.kind <= DSO_JIT && r->dso.deleted <= 1);
		break;
	case RECORD_OBJECT:
		promises__number(p, &p->objects, r->object.number);
		KEPT(r->object.type <= OBJECT_LIMIT);
		KEPT(STRING(r->object.name) && STRING(r->object.local));
		break;
	default:
		KEPT(!"a table record");
	}
}

static inline void promises__thread_record(struct promises *p, const struct record *r)
{
	switch (r->type) {
	case RECORD_THREAD:
		KEPT(r->thread.thread != 0 && BOUNDED(r->thread.thread));
		KEPT(BOUNDED(r->thread.parent) && STRING(r->thread.comm));
		KEPT(r->thread.time <= INT64_MAX);
		break;
	case RECORD_EXEC:
		KEPT(BOUNDED(r->exec.thread) && STRING(r->exec.comm));
		KEPT(r->exec.time <= INT64_MAX);
		break;
	case RECORD_COMM:
		KEPT(BOUNDED(r->comm.thread) && STRING(r->comm.comm));
		KEPT(r->comm.time <= INT64_MAX);
		break;
	case RECORD_TOTALS:
		KEPT(BOUNDED(r->totals.thread) && r->totals.time <= INT64_MAX);
		break;
	default:
		KEPT(!"a thread record");
	}
}

static inline void promises__interval(struct promises *p, const struct record_interval *interval)
{
	uint64_t t_wake, t_in;

	KEPT(BOUNDED(interval->thread) && BOUNDED(interval->waker));
	KEPT(interval->class < CLASS_COUNT && interval->waker_context <= WAKER_NMI);
	KEPT(BOUNDED(interval->kernel_stack) && BOUNDED(interval->user_stack));
	KEPT(promises__came(&p->objects, interval->object) && BOUNDED(interval->device));
	KEPT(BOUNDED(interval->previous) && BOUNDED(interval->sender));
	KEPT(!__builtin_add_overflow(interval->t_out, interval->blocked_ns, &t_wake));
	KEPT(!__builtin_add_overflow(t_wake, interval->runq_ns, &t_in));
	KEPT(t_in <= INT64_MAX);
}

static inline void promises__device_record(struct promises *p, const struct record *r)
{
	switch (r->type) {
	case RECORD_DEVICE:
		KEPT(BOUNDED(r->device.device) && STRING(r->device.name));
		KEPT(r->device.time <= INT64_MAX);
		break;
	case RECORD_IDLE:
		KEPT(BOUNDED(r->idle.device) && BOUNDED(r->idle.thread));
		KEPT(BOUNDED(r->idle.kernel_stack) && BOUNDED(r->idle.user_stack));
		KEPT(r->idle.since <= INT64_MAX && r->idle.ns <= INT64_MAX - r->idle.since);
		break;
	case RECORD_REQUEST:
		KEPT(BOUNDED(r->request.device) && BOUNDED(r->request.thread));
		KEPT(r->request.op < REQUEST_OP_COUNT && r->request.time <= INT64_MAX);
		KEPT(r->request.queue_ns <= r->request.time);
		KEPT(r->request.service_ns <= r->request.time - r->request.queue_ns);
		break;
	case RECORD_CPU_RUN:
		KEPT(BOUNDED(r->cpu_run.thread) && r->cpu_run.cpu);
		KEPT(r->cpu_run.ns <= r->cpu_run.length);
		KEPT(r->cpu_run.time <= INT64_MAX && r->cpu_run.length <= r->cpu_run.time);
		break;
	case RECORD_SPAN:
		KEPT(STRING(r->span.name) && promises__came(&p->objects, r->span.object));
		KEPT(BOUNDED(r->span.thread) && BOUNDED(r->span.begun_by));
		KEPT(r->span.time <= INT64_MAX && r->span.queue_ns <= r->span.time);
		KEPT(r->span.ns <= r->span.time - r->span.queue_ns);
		break;
	case RECORD_CALL:
		KEPT(BOUNDED(r->call.thread) && BOUNDED(r->call.stack));
		KEPT(r->call.time <= INT64_MAX && r->call.ns <= r->call.time);
		break;
	case RECORD_SHORT_CALLS:
		KEPT(BOUNDED(r->short_calls.thread) && BOUNDED(r->short_calls.stack));
		KEPT(r->short_calls.time <= INT64_MAX);
		break;
	case RECORD_PROBE:
		KEPT(STRING(r->probe.name) && r->probe.time <= INT64_MAX);
		KEPT(r->probe.set_cpu_ns <= r->probe.cpu_ns);
		break;
	case RECORD_SEGMENT:
		KEPT(BOUNDED(r->segment.thread) && BOUNDED(r->segment.writer));
		KEPT(promises__came(&p->objects, r->segment.object) && STRING(r->segment.owner));
		KEPT(r->segment.time <= INT64_MAX && r->segment.written <= r->segment.time);
		KEPT(r->segment.left <= r->segment.time);
		for (int i = 0; i < SEGMENT_HOLDS; i++)
			KEPT(r->segment.until[i] <= r->segment.time);
		break;
	case RECORD_SCAN:
		KEPT(BOUNDED(r->scan.thread));
		KEPT(r->scan.time <= INT64_MAX && r->scan.ns <= r->scan.time);
		break;
	default:
		KEPT(BOUNDED(r->annotation.thread) && BOUNDED(r->annotation.other));
		KEPT(STRING(r->annotation.name));
		KEPT(r->annotation.type < ANNOTATION_COUNT && r->annotation.time <= INT64_MAX);
	}
}

static inline void promises__event_record(struct promises *p, const struct record *r)
{
	uint64_t end;

	switch (r->type) {
	case RECORD_META:
		KEPT(STRING(r->meta.key) && STRING(r->meta.value));
		break;
	case RECORD_MAP:
		KEPT(promises__came(&p->dsos, r->map.dso) && r->map.time <= INT64_MAX);
		KEPT(!__builtin_add_overflow(r->map.start, r->map.size, &end));
		break;
	case RECORD_SAMPLE:
		KEPT(BOUNDED(r->sample.thread) && r->sample.time <= INT64_MAX);
		KEPT(BOUNDED(r->sample.kernel_stack) && BOUNDED(r->sample.user_stack));
		break;
	case RECORD_INTERVAL:
		promises__interval(p, &r->interval);
		break;
	case RECORD_WAKE:
		KEPT(BOUNDED(r->wake.thread) && BOUNDED(r->wake.waker));
		KEPT(BOUNDED(r->wake.kernel_stack) && BOUNDED(r->wake.user_stack));
		KEPT(r->wake.context <= WAKER_NMI && r->wake.time <= INT64_MAX);
		break;
	case RECORD_LOST:
		KEPT(STRING(r->lost.cause));
		break;
	case RECORD_SYMBOL:
		KEPT(promises__came(&p->dsos, r->symbol.dso) && r->symbol.inlined <= 1);
		KEPT(STRING(r->symbol.name) && STRING(r->symbol.file));
		break;
	case RECORD_FUNCTION:
		KEPT(promises__came(&p->dsos, r->function.dso) && STRING(r->function.name));
		break;
	default:
		KEPT(!"a known type");
	}
}

static inline void promises__check(struct promises *promises, const struct record *record)
{
	if (record->type >= RECORD_STRING && record->type <= RECORD_OBJECT)
		promises__table_record(promises, record);
	else if (record->type >= RECORD_THREAD && record->type <= RECORD_TOTALS)
		promises__thread_record(promises, record);
	else if (record->type >= RECORD_DEVICE && record->type <= RECORD_CPU_RUN)
		promises__device_record(promises, record);
	else
		promises__event_record(promises, record);
}

#undef KEPT
#undef STRING
#undef BOUNDED
