/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Calls of functions that have probes. */
#pragma once

#include "abi/call_probe.h"
#include "bpf/record/thread.bpf.h"
#include "bpf/core/connections.bpf.h"
#include "bpf/core/return_probe.bpf.h"

#define MAX_OPEN_CALLS 65536
#define PAGE_OFFSET_MASK 4095

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
 * kernel's trampoline is there, which is at the begin of a page.
 */
static __always_inline __u64 return_address(__u64 slot)
{
	struct task_struct *task;
	__u64 address = 0;

	bpf_probe_read_user(&address, sizeof(address), (void *)slot);
	if (address & PAGE_OFFSET_MASK || !address)
		return address;
	task = bpf_get_current_task_btf();
	return address == return_trampoline(task) ? original_return(task, slot, address) : address;
}

/* The probes at functions of dwell do the same as others, but nobody hears of them. */
static __always_inline bool is_calibration(__u32 probe)
{
	return probe == CALL_PROBE_EMULATED || probe == CALL_PROBE_STEPPED;
}

SEC("uprobe")
int on_call_entry(struct pt_regs *ctx)
{
	struct open_call call = {.begun = bpf_ktime_get_ns(), .function = ctx->ip + 1};
	struct open_call_key key = {.probe = (__u32)bpf_get_attach_cookie(ctx), .slot = ctx->sp};
	struct call_probe_state *state = call_probe(key.probe);

	key.thread = current_thread();
	if (!is_calibration(key.probe) && (!capture.active || !key.thread))
		return 0;
	if (*(volatile __u64 *)&state->open) {
		call.caller = return_address(key.slot);
		bpf_map_update_elem(&open_calls, &key, &call, BPF_ANY);
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
		.begun = call->begun + overhead < now ? call->begun + overhead : now,
		.function = call->function,
		.caller = call->caller,
		.probe = key->probe,
	};

	emit(&event, sizeof(event), LOSS_RING_FULL);
}

SEC("uretprobe")
int on_call_return(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	struct open_call_key key = {
		.thread = current_thread(),
		.probe = (__u32)bpf_get_attach_cookie(ctx),
		.slot = ctx->sp - sizeof(__u64),
	};
	struct call_probe_state *state = call_probe(key.probe);
	struct open_call *call = bpf_map_lookup_elem(&open_calls, &key);

	if (!call)
		return 0;
	if (is_calibration(key.probe))
		__sync_fetch_and_add(&state->inside, now - call->begun);
	else if (capture.active)
		emit_call(&key, call, *(volatile __u64 *)&state->overhead, now);
	bpf_map_delete_elem(&open_calls, &key);
	__sync_fetch_and_add(&state->ns, bpf_ktime_get_ns() - now);
	return 0;
}
