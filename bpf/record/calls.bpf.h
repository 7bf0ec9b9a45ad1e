/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Calls of functions that have probes. */
#pragma once

#include "abi/call_probe.h"
#include "bpf/record/thread.bpf.h"
#include "bpf/core/connections.bpf.h"
#include "bpf/core/probe_exit.bpf.h"
#include "bpf/core/return_probe.bpf.h"

#define MAX_OPEN_CALLS 65536

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH); /* calls that an exception left stay */
	__uint(max_entries, MAX_OPEN_CALLS);
	__type(key, struct open_call_key);
	__type(value, struct open_call);
} open_calls SEC(".maps");

struct call_probe_state call_probes[CALL_PROBES];

static __always_inline struct call_probe_state *call_probe(__u32 number)
{
	return &call_probes[number & (CALL_PROBES - 1)];
}

/*
 * Where a call returns to, at its entry. After a tail call from a function with a probe, the
 * kernel's trampoline is there, which is at the start of a page.
 */
static __always_inline __u64 return_address(__u64 slot)
{
	struct task_struct *task;
	__u64 address = 0;

	bpf_probe_read_user(&address, sizeof(address), (void *)slot);
	if (address & (PAGE_BYTES - 1) || !address)
		return address;
	task = bpf_get_current_task_btf();
	return address == return_trampoline(task) ? original_return(task, slot, address) : address;
}

/* The probes at functions of dwell do the same as others, but nobody hears of them. */
static __always_inline bool is_calibration(__u32 probe)
{
	return probe >= CALL_PROBE_CALIBRATION;
}

SEC("uprobe")
int on_call_entry(struct pt_regs *ctx)
{
	struct open_call call = {.begun = bpf_ktime_get_ns(), .function = REGS_IP(ctx) + 1};
	struct open_call_key key = {.probe = (__u32)bpf_get_attach_cookie(ctx),
				    .slot = REGS_SP(ctx)};
	struct thread_state *thread = target_state(bpf_get_current_task_btf());
	struct call_probe_state *state = call_probe(key.probe);

	if (!is_calibration(key.probe)) {
		if (!capture.active || !thread)
			return 0;
		key.thread = thread->thread;
		call.probe_ns = thread->product.probe_ns;
	}
	if (*(volatile __u64 *)&state->open) {
		call.caller = return_address(key.slot);
		call.window = *(volatile __u64 *)&state->window;
		bpf_map_update_elem(&open_calls, &key, &call, BPF_ANY);
		__sync_fetch_and_add(&state->pending, 1);
	}
	__sync_fetch_and_add(&state->entries, 1);
	__sync_fetch_and_add(&state->ns, bpf_ktime_get_ns() - call.begun);
	return 0;
}

static __always_inline void emit_call(const struct open_call_key *key, const struct open_call *call,
				      __u64 overhead, __u64 now)
{
	struct event_call event = {
		.header = {EVENT_CALL, key->thread, now},
		.begun = call->begun,
		.function = call->function,
		.caller = call->caller,
		.overhead = overhead,
		.probe = key->probe,
	};

	emit(&event, sizeof(event), LOSS_RING_FULL);
}

static __always_inline int end_call(__u32 probe, __u64 slot)
{
	__u64 now = bpf_ktime_get_ns();
	struct thread_state *thread = target_state(bpf_get_current_task_btf());
	struct open_call_key key = {.probe = probe, .slot = slot};
	struct call_probe_state *state = call_probe(probe);
	struct open_call *call;

	if (!is_calibration(probe)) {
		if (!capture.active || !thread)
			return 0;
		key.thread = thread->thread;
	}
	call = bpf_map_lookup_elem(&open_calls, &key);
	if (!call)
		return 0;
	if (call->window != *(volatile __u64 *)&state->window) {
		bpf_map_delete_elem(&open_calls, &key);
		return 0;
	}
	__sync_fetch_and_sub(&state->pending, 1);
	if (is_calibration(probe)) {
		__sync_fetch_and_add(&state->inside, now - call->begun);
	} else if (thread) {
		emit_call(&key, call, state->overhead + thread->product.probe_ns - call->probe_ns,
			  now);
		thread->product.probe_ns += state->each;
	}
	bpf_map_delete_elem(&open_calls, &key);
	__sync_fetch_and_add(&state->ns, bpf_ktime_get_ns() - now);
	return 0;
}

SEC("uretprobe")
int on_call_return(struct pt_regs *ctx)
{
	return end_call((__u32)bpf_get_attach_cookie(ctx), REGS_SP(ctx) - CALL_PUSHES);
}

SEC("uprobe")
int on_call_exit(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);

	return leaves_function(ctx, cookie) ? end_call((__u32)cookie, REGS_SP(ctx)) : 0;
}
