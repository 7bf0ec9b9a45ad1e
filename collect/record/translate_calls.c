// SPDX-License-Identifier: BSD-2-Clause
/* Calls of functions, that a scanner of shadow stacks saw, or probes. */
#include <string.h>

#include "base/hash.h"
#include "collect/record/translate.h"
#include "collect/record/translator.h"

_Static_assert((int)CALL_IN_PAIR == OBSERVED_CALL_IN_PAIR &&
		       (int)CALL_UNFINISHED == OBSERVED_CALL_UNFINISHED &&
		       (int)CALL_EARLIER == OBSERVED_CALL_EARLIER &&
		       (int)CALL_NESTED == OBSERVED_CALL_NESTED,
	       "flags are written as they are");

/*
 * A stack of the function, its caller and the place of the call, of a call by @user in process
 * @pid. The maps of the process name them: the same addresses in another one are another stack.
 */
static uint32_t call_stack(struct translator *translator, const struct stack_user *user,
			   uint32_t pid, uint64_t function, uint64_t caller, uint64_t site)
{
	const uint64_t frames[] = {function, caller, site};
	struct record_stack stack = {.frames = frames, .depth = !caller ? 1 : !site ? 2 : 3};
	uint64_t hash = hash__add(hash__bytes(frames, stack.depth * sizeof(*frames)), pid) | 1;
	uint32_t number = record_stream__stack_by_hash(translator->stream, hash);

	translator__refer(translator, user, hash, false);
	translator__frames(translator, user, hash, &stack);
	return number;
}

/* The process's leader stands for the unknown thread of a coroutine or an alternate signal stack.
 */
static uint32_t thread_of(const struct translator *translator, uint32_t pid, uint32_t tid)
{
	const uint64_t *thread = map64__get(&translator->tids, tid ? tid : pid);

	return thread ? (uint32_t)*thread : 0;
}

void translator__expect_call(struct translator *translator, const struct observed_call *call)
{
	const struct stack_user user = {.pid = call->pid, .time = call->end};

	call_stack(translator, &user, call->pid, call->function, call->caller, call->site);
}

void translator__call(struct translator *translator, const struct observed_call *call)
{
	static const struct stack_user nobody; /* translator__expect_call() was told whose it is */
	struct record record = {
		.type = RECORD_CALL,
		.call = {.thread = thread_of(translator, call->pid, call->tid),
			 .time = call->end,
			 .ns = call->end - call->begin,
			 .begin_slack = call->begin_slack,
			 .end_slack = call->end_slack,
			 .depth = call->depth,
			 .flags = call->flags},
	};

	if (!record.call.thread)
		translator->lost_calls++;
	if (!record.call.thread || call->end < call->begin)
		return;
	record.call.stack = call_stack(translator, &nobody, call->pid, call->function, call->caller,
				       call->site);
	record_stream__put(translator->stream, &record);
}

void translator__probed_call(struct translator *translator, const struct event_call *call)
{
	struct record record = {
		.type = RECORD_CALL,
		.call = {.thread = call->header.thread,
			 .time = call->header.time,
			 .ns = call->header.time - call->begun,
			 .flags = CALL_PROBED | (call->unfinished ? CALL_UNFINISHED : 0),
			 .probe = call->probe,
			 .overhead = call->overhead},
	};
	const struct stack_user user = {.thread = call->header.thread, .time = call->header.time};
	const struct known_thread *thread =
		translator__find_thread(translator, call->header.thread);

	if (call->header.time < call->begun)
		return;
	record.call.stack = call_stack(translator, &user, thread ? thread->tgid : 0, call->function,
				       call->caller, 0);
	record_stream__put(translator->stream, &record);
}

void translator__probe(struct translator *translator, uint64_t time, uint32_t number,
		       const struct call_probe *probe)
{
	struct record record = {
		.type = RECORD_PROBE,
		.probe = {.number = number,
			  .name = record_stream__string(translator->stream, probe->name),
			  .time = time,
			  .entries = probe->entries,
			  .set_ns = probe->set_ns,
			  .times = probe->times,
			  .cpu_ns = probe->cpu_ns,
			  .set_cpu_ns = probe->set_cpu_ns,
			  .cost_ns = probe->cost_ns,
			  .flags = probe->single_stepped ? PROBE_SINGLE_STEPPED : 0},
	};

	record_stream__put(translator->stream, &record);
}

void translator__short_calls(struct translator *translator, uint64_t time,
			     const struct short_calls *calls)
{
	struct record record = {
		.type = RECORD_SHORT_CALLS,
		.short_calls = {.thread = thread_of(translator, calls->pid, calls->tid),
				.time = time,
				.looks = calls->looks,
				.ended = calls->ended,
				.seen = calls->seen,
				.ns = calls->ns,
				.nested_ns = calls->nested_ns},
	};
	const struct stack_user user = {.pid = calls->pid, .time = time};

	if (!record.short_calls.thread) {
		translator->lost_calls++;
		return;
	}
	record.short_calls.stack = call_stack(translator, &user, calls->pid, calls->function,
					      calls->caller, calls->site);
	record_stream__put(translator->stream, &record);
}

void translator__scan(struct translator *translator, const struct scan_report *report)
{
	struct record record = {
		.type = RECORD_SCAN,
		.scan = {.thread =
				 report->tid ? thread_of(translator, report->pid, report->tid) : 0,
			 .time = report->time,
			 .ns = report->ns,
			 .pairs = report->pairs,
			 .pair_ns = report->pair_ns,
			 .pushes = report->pushes,
			 .pushes_ns = report->pushes_ns,
			 .longest_ns = report->longest_ns,
			 .torn = report->torn,
			 .lost = report->lost,
			 .missed = report->missed},
	};

	memcpy(record.scan.gap_ns, report->gap_ns, sizeof(record.scan.gap_ns));
	record_stream__put(translator->stream, &record);
}

uint64_t translator__lost_calls(const struct translator *translator)
{
	return translator->lost_calls;
}
