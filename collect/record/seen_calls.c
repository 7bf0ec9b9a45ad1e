// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/seen_calls.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "collect/record/losses.h"

struct seen_calls {
	struct record_stream *stream;
	struct translator *translator;
	struct call_sink sink;
	ARRAY(struct observed_call) pending; /* to be written when their threads are known */
	uint64_t lost;			     /* for lack of memory */
};

static void keep_call(void *arg, const struct observed_call *call)
{
	struct seen_calls *seen = arg;

	translator__expect_call(seen->translator, call);
	seen->lost += array__push(&seen->pending, *call) != 0;
}

static void write_short_calls(void *arg, const struct short_calls *calls)
{
	struct seen_calls *seen = arg;

	translator__short_calls(seen->translator, now_ns(CLOCK_MONOTONIC), calls);
}

static void write_scan(void *arg, const struct scan_report *report)
{
	struct seen_calls *seen = arg;

	translator__scan(seen->translator, report);
}

static void write_pending_calls(struct seen_calls *seen)
{
	for (size_t i = 0; i < seen->pending.n; i++)
		translator__call(seen->translator, &seen->pending.data[i]);
	seen->pending.n = 0;
}

static int tick_seen_calls(void *arg, uint64_t now, uint64_t *next)
{
	write_pending_calls(arg);
	return 0;
}

static void end_seen_calls(void *arg, uint64_t end)
{
	write_pending_calls(arg);
}

static int finish_seen_calls(void *arg, uint64_t now)
{
	struct seen_calls *seen = arg;
	int err;

	write_pending_calls(seen);
	err = losses__put(seen->stream, "calls, no memory", seen->lost);
	return err ? err
		   : losses__put(seen->stream, "calls, of unknown threads",
				 translator__lost_calls(seen->translator));
}

static void free_seen_calls(void *arg)
{
	struct seen_calls *seen = arg;

	array__free(&seen->pending);
	free(seen);
}

int seen_calls__new(const struct source_parts *parts, struct event_source *out)
{
	struct seen_calls *seen;

	if (!parts->config->calls)
		return 0;
	seen = calloc(1, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	seen->stream = parts->stream;
	seen->translator = parts->translator;
	seen->sink = (struct call_sink){
		.on_call = keep_call,
		.on_short_calls = write_short_calls,
		.on_report = write_scan,
		.arg = seen,
	};
	*out = (struct event_source){
		.tick = tick_seen_calls,
		.end = end_seen_calls,
		.finish = finish_seen_calls,
		.free = free_seen_calls,
		.arg = seen,
	};
	return 0;
}

const struct call_sink *seen_calls__sink(const struct event_source *source)
{
	const struct seen_calls *seen = source->arg;

	return seen ? &seen->sink : NULL;
}
