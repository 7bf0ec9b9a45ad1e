/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Spans: requests over connections, calls of functions, and what lies between two probes (USDT).
 */
#pragma once

#include "abi/span.h"
#include "bpf/record/thread.bpf.h"
#include "bpf/core/connections.bpf.h"
#include "bpf/core/probe_exit.bpf.h"

#define MAX_OPEN_SPANS 65536

static __always_inline void connection_answered(const struct connection *connection)
{
}

static __noinline void emit_request_span(const struct connection *connection)
{
	struct event_span event = {
		.header = {EVENT_SPAN, connection->ended_by, connection->ended},
		.arrived = connection->arrived,
		.begun = connection->begun,
		.begun_by = connection->begun_by,
		.source = connection->source,
		.object = connection->object,
	};

	emit(&event, sizeof(event), LOSS_RING_FULL);
}

static __noinline void emit_push_span(const struct connection *connection, __u32 thread,
				      enum span_flags why, __u64 arrived, __u64 read)
{
	struct event_span event = {
		.header = {EVENT_SPAN, thread, bpf_ktime_get_ns()},
		.arrived = arrived,
		.begun = read,
		.begun_by = thread,
		.source = connection->source,
		.object = connection->object,
		.flags = why,
	};

	emit(&event, sizeof(event), LOSS_RING_FULL);
}

static __always_inline void connection_pushed(const struct connection *connection, __u32 thread,
					      enum span_flags why, __u64 arrived, __u64 read)
{
	emit_push_span(connection, thread, why, arrived, read);
}

static __always_inline void connection_served(const struct connection *connection)
{
	emit_request_span(connection);
}

/* A call that has not returned, or a first probe without a second one. */
struct open_span {
	__u64 begun;
	__u64 sp; /* of a function: at its entry */
};

struct open_span_key {
	__u32 thread;
	__u32 source;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_OPEN_SPANS);
	__type(key, struct open_span_key);
	__type(value, struct open_span);
} open_spans SEC(".maps");

/*
 * Of calls within each other, the outermost one is a span: a call at a higher place on the stack
 * than the one before means that the latter did not return, but was left by an exception. Of first
 * probes without a second one, the last one counts.
 */
static __always_inline bool continues(const struct open_span *span, __u64 cookie, __u64 sp)
{
	return cookie & SPAN_COOKIE_FUNCTION && sp < span->sp;
}

/* The number of current if its calls are spans: not if only others recorded made it one. */
static __always_inline __u32 calling_thread(void)
{
	struct thread_state *state = target_state(bpf_get_current_task_btf());

	return state && !(state->flags & STATE_HELPER) ? state->thread : 0;
}

SEC("uprobe")
int on_span_begin(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct open_span_key key = {calling_thread(), SPAN_COOKIE_SOURCE(cookie)};
	struct open_span span = {bpf_ktime_get_ns(), REGS_SP(ctx)}, *open;

	if (!capture.active || !key.thread)
		return 0;
	open = bpf_map_lookup_elem(&open_spans, &key);
	if (!open || !continues(open, cookie, span.sp))
		bpf_map_update_elem(&open_spans, &key, &span, BPF_ANY);
	return 0;
}

/* @sp: below the place of its return address if the call goes on. */
static __always_inline int end_span(__u64 cookie, __u64 sp)
{
	__u64 now = bpf_ktime_get_ns();
	struct open_span_key key = {calling_thread(), SPAN_COOKIE_SOURCE(cookie)};
	struct open_span *span = bpf_map_lookup_elem(&open_spans, &key);
	struct event_span event = {};

	if (!capture.active || !span || continues(span, cookie, sp))
		return 0;
	event.header = (struct event_header){EVENT_SPAN, key.thread, now};
	event.arrived = event.begun = span->begun;
	event.begun_by = key.thread;
	event.source = key.source;
	bpf_map_delete_elem(&open_spans, &key);
	emit(&event, sizeof(event), LOSS_RING_FULL);
	return 0;
}

SEC("uprobe")
int on_span_end(struct pt_regs *ctx)
{
	return end_span(bpf_get_attach_cookie(ctx), REGS_SP(ctx));
}

SEC("uprobe")
int on_span_exit(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);

	return leaves_function(ctx, cookie) ? end_span(cookie, REGS_SP(ctx)) : 0;
}

SEC("uretprobe")
int on_span_return(struct pt_regs *ctx)
{
	return end_span(bpf_get_attach_cookie(ctx), REGS_SP(ctx) - CALL_PUSHES);
}
