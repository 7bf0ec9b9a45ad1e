/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Block devices: counts the requests that each has in flight, between issue to the driver and
 * completion. A device with nothing in flight is idle: like a thread, it waits for a request.
 * (wPerf, OSDI'18, section 4.1, estimates that from bandwidths.) Idle times are sampled and sent
 * like the waits of threads.
 */
#pragma once

#include "abi/device.h"
#include "bpf/core/stack.bpf.h"
#include "bpf/core/state.bpf.h"
#include "bpf/record/waker.bpf.h"

/* The kernel has block_io_start (6.5). Otherwise only the start of queued requests is seen. */
const volatile bool io_start_exists;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u32); /* device number */
	__type(value, struct device_state);
} devices SEC(".maps");

struct request_state {
	__u64 begun;  /* 0: it has completed unseen; the next one at its address begins anew */
	__u64 issued; /* to the driver; 0: not yet */
	__u64 sector;
	__u32 bytes;
	__u32 feeder; /* number of the thread that created it; 0: unknown */
	__u8 op;      /* enum request_op */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64); /* address of the request */
	__type(value, struct request_state);
} requests SEC(".maps");

__u32 last_device;
__u32 last_request;

#define REQ_OP_MASK 0xff /* include/linux/blk_types.h; read, write and flush are 0, 1 and 2 */

static __noinline struct device_state *new_device(struct gendisk *disk, __u32 key, __u64 now)
{
	struct device_state state = {.idle_since = now};
	struct event_device *totals = &state.totals;

	totals->header.type = EVENT_DEVICE;
	totals->header.time = now;
	totals->device = __sync_fetch_and_add(&last_device, 1) + 1;
	totals->dev = key;
	READ_STRING(totals->name, disk, disk_name);
	if (!bpf_map_update_elem(&devices, &key, &state, BPF_NOEXIST))
		emit(totals, sizeof(*totals), LOSS_RING_FULL);
	return bpf_map_lookup_elem(&devices, &key);
}

/* The state of the disk of @rq, one for all of its partitions; NULL: unknown. */
static __always_inline struct device_state *device_of(struct request *rq, __u64 now)
{
	struct gendisk *disk = BPF_CORE_READ(rq, q, disk);
	struct device_state *state;
	__u32 key;

	if (!disk)
		return NULL;
	key = (__u32)READ(disk, major) << 20 | (__u32)READ(disk, first_minor);
	state = bpf_map_lookup_elem(&devices, &key);
	return state ? state : new_device(disk, key, now);
}

/* A request is no longer in flight: if it was the last one, the device is idle from @now on. */
static __always_inline void end_flight(struct device_state *device, __u64 now)
{
	device->idle_since = now;
	__sync_fetch_and_sub(&device->in_flight, 1);
}

/*
 * The request @rq has completed unseen, because the interrupt came in a task that the kernel hides
 * from tracing.
 */
static __always_inline void end_missed_request(struct request *rq, __u64 now)
{
	struct device_state *device = device_of(rq, now);

	if (device)
		end_flight(device, now);
}

/*
 * Current creates a request, unless it is known. @anew: one that is known at the same address has
 * completed. So has one that was issued to the driver, which did not return it. (Not inlined, like
 * other functions with such variables on their stack.)
 */
static __noinline void begin_request(struct request *rq, __u64 now, bool anew)
{
	struct task_struct *task = bpf_get_current_task_btf();
	enum waker_context context = context_of(task);
	struct request_state request = {.begun = now}, *known;
	__u64 key = (__u64)rq;

	known = bpf_map_lookup_elem(&requests, &key);
	if (known && known->begun && !known->issued && !anew)
		return;
	if (known && known->issued)
		end_missed_request(rq, now);
	if (context == WAKER_TASK)
		request.feeder = waker_number(task, context, now);
	bpf_map_update_elem(&requests, &key, &request, BPF_ANY);
}

/* Sends the idle time of @device that ends at @now. */
static __always_inline void end_idle(void *ctx, struct device_state *device, __u64 since,
				     __u32 feeder, __u64 now)
{
	static const __u64 all[2] = {};
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = FIELD(task, pid) ? state_of(task) : NULL;
	struct scratch *scratch = scratch_for(SCRATCH_DEVICE);
	__u8 shift = present_spacing();
	__u64 points =
		sample_grid__points(since, now, settings.period_ns << shift, settings.grid_seed)
		<< shift;
	struct event_idle *event;

	if ((!points && !settings.trace_mode) || !scratch)
		return;
	event = SCRATCH_HEAD(scratch, event_idle);
	__builtin_memset(event, 0, sizeof(*event));
	event->header = (struct event_header){EVENT_IDLE, feeder, now};
	event->since = since;
	event->device = device->totals.device;
	event->points = points;
	event->flags = shift << INTERVAL_SPACING_SHIFT;
	/* The thread that issues a request may be another one than the feeder. */
	take_stacks(ctx, scratch, SCRATCH_DEVICE, &event->stack, all,
		    state && state->thread == feeder && has_user_memory(task));
	emit_with_stack(scratch, sizeof(*event), &event->stack, LOSS_RING_FULL);
}

/* How often requests of at least that age are checked for whether they are still in flight. */
#define CHECK_NS       100000000ull
#define OLD_REQUEST_NS 10000000ull

struct bpf_map;

static long check_request(struct bpf_map *map, const void *key, void *value, void *context)
{
	struct request *rq = (struct request *)*(const __u64 *)key;
	struct request_state *request = value;
	__u64 now = *(__u64 *)context;

	if (!request->issued || now < request->issued + OLD_REQUEST_NS ||
	    READ(rq, state) != MQ_RQ_IDLE)
		return loop_ends(false);
	request->begun = request->issued = 0;
	end_missed_request(rq, now);
	return loop_ends(false);
}

/* Looks for requests that have completed unseen, when a device seems busy. */
static __always_inline void check_requests(struct device_state *device, __u64 now)
{
	if (now < device->checked + CHECK_NS)
		return;
	device->checked = now;
	bpf_for_each_map_elem(&requests, check_request, &now, 0);
}

SEC("tp_btf/block_io_start")
int BPF_PROG(on_io_start, struct request *rq)
{
	if (capture.active)
		begin_request(rq, bpf_ktime_get_ns(), true);
	return 0;
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(on_io_insert, struct request *rq)
{
	if (capture.active)
		begin_request(rq, bpf_ktime_get_ns(), !io_start_exists);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_io_issue, struct request *rq)
{
	struct request_state *request;
	struct device_state *device;
	__u64 key = (__u64)rq, since, now;

	if (!capture.active)
		return 0;
	now = bpf_ktime_get_ns();
	device = device_of(rq, now);
	if (!device)
		return 0;
	if (device->in_flight > 0)
		check_requests(device, now);
	begin_request(rq, now, false);
	request = bpf_map_lookup_elem(&requests, &key);
	if (!request) {
		count_loss(LOSS_REQUEST);
		return 0;
	}
	request->issued = now;
	request->sector = FIELD(rq, __sector);
	request->bytes = FIELD(rq, __data_len);
	request->op = FIELD(rq, cmd_flags) & REQ_OP_MASK;
	since = device->idle_since;
	if (__sync_fetch_and_add(&device->in_flight, 1) > 0 || since >= now)
		return 0;
	device->totals.idle_ns += now - since;
	end_idle(ctx, device, since, request->feeder, now);
	return 0;
}

static __always_inline void end_request(struct device_state *device, struct request_state *request,
					__u64 now)
{
	if (!request->issued)
		return;
	__sync_fetch_and_add(&device->totals.requests, 1);
	__sync_fetch_and_add(&device->totals.queue_ns, request->issued - request->begun);
	__sync_fetch_and_add(&device->totals.service_ns, now - request->issued);
	end_flight(device, now);
}

/* Sends @request, which completes at @now, in trace mode. */
static __noinline void emit_request(const struct request_state *request, __u32 device, __u64 now)
{
	struct event_request event = {
		.header = {EVENT_REQUEST, request->feeder, now},
		.begun = request->begun,
		.issued = request->issued,
		.sector = request->sector,
		.number = __sync_fetch_and_add(&last_request, 1) + 1,
		.device = device,
		.bytes = request->bytes,
		.op = request->op < REQUEST_OTHER ? request->op : REQUEST_OTHER,
	};

	this_cpu()->product.request = event.number;
	emit(&event, sizeof(event), LOSS_RING_FULL);
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_io_complete, struct request *rq, int error, unsigned int bytes)
{
	struct cpu_state *cpu = this_cpu();
	struct request_state *request;
	struct device_state *device;
	__u64 key = (__u64)rq, now;

	if (!capture.active)
		return 0;
	now = bpf_ktime_get_ns();
	device = device_of(rq, now);
	if (!device)
		return 0;
	cpu->product.device = device->totals.device;
	cpu->product.request = 0;
	request = bpf_map_lookup_elem(&requests, &key);
	if (!request)
		return 0;
	__sync_fetch_and_add(&device->totals.bytes, bytes);
	if (bytes < FIELD(rq, __data_len)) /* a partial completion */
		return 0;
	end_request(device, request, now);
	if (settings.trace_mode && request->issued)
		emit_request(request, device->totals.device, now);
	bpf_map_delete_elem(&requests, &key);
	return 0;
}

/* The driver returns a request, which will be issued again. */
SEC("tp_btf/block_rq_requeue")
int BPF_PROG(on_io_requeue, struct request *rq)
{
	struct request_state *request;
	struct device_state *device;
	__u64 key = (__u64)rq, now;

	if (!capture.active)
		return 0;
	now = bpf_ktime_get_ns();
	request = bpf_map_lookup_elem(&requests, &key);
	device = device_of(rq, now);
	if (!request || !device || !request->issued)
		return 0;
	request->issued = 0;
	end_flight(device, now);
	return 0;
}
