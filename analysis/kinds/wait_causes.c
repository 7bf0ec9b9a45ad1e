// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/kinds/wait_causes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* What a function on the kernel stack of a wakeup says about the wakeup's origin. */
enum wakeup_hint {
	HINT_BLOCK = 1 << 0,	/* a request to a block device completed */
	HINT_TIMER = 1 << 1,	/* a timer expired */
	HINT_RECEIVE = 1 << 2,	/* a packet was received */
	HINT_SEND = 1 << 3,	/* the same thread sent it: over loopback, or to a container */
	HINT_IRQ_EXIT = 1 << 4, /* a softirq at the end of an interrupt or in ksoftirqd */
	HINT_SIGNAL = 1 << 5,	/* a signal is sent */
	HINT_SOCKET = 1 << 6,	/* a socket becomes ready */
	HINT_NOTIFY = 1 << 7,	/* an eventfd or a pipe becomes ready */
};

/* Of these the innermost one counts: its interrupt came while another one was being handled. */
#define HINT_ORIGINS (HINT_BLOCK | HINT_TIMER | HINT_RECEIVE)

static const struct {
	const char *function;
	uint8_t hint;
} hint_functions[] = {
	/* These fire block_rq_complete, and end the request's bios right after it. */
	{"blk_update_request", HINT_BLOCK},    {"blk_mq_end_request_batch", HINT_BLOCK},
	{"hrtimer_wakeup", HINT_TIMER},	       {"process_timeout", HINT_TIMER},
	{"call_timer_fn", HINT_TIMER},	       {"__hrtimer_run_queues", HINT_TIMER},
	{"__run_timers", HINT_TIMER},	       {"it_real_fn", HINT_TIMER},
	{"posix_timer_fn", HINT_TIMER},	       {"timerfd_tmrproc", HINT_TIMER},
	{"posix_cpu_timers_work", HINT_TIMER}, {"net_rx_action", HINT_RECEIVE},
	{"__napi_poll", HINT_RECEIVE},	       {"process_backlog", HINT_RECEIVE},
	{"__netif_receive_skb", HINT_RECEIVE}, {"__netif_receive_skb_one_core", HINT_RECEIVE},
	{"tcp_v4_rcv", HINT_RECEIVE},	       {"tcp_v6_rcv", HINT_RECEIVE},
	{"tcp_tasklet_func", HINT_RECEIVE},    {"__dev_queue_xmit", HINT_SEND},
	{"ip_finish_output2", HINT_SEND},      {"ip6_finish_output2", HINT_SEND},
	{"__tcp_transmit_skb", HINT_SEND},     {"__ip_queue_xmit", HINT_SEND},
	{"irq_exit_rcu", HINT_IRQ_EXIT},       {"__irq_exit_rcu", HINT_IRQ_EXIT},
	{"run_ksoftirqd", HINT_IRQ_EXIT},      {"send_signal_locked", HINT_SIGNAL},
	{"__send_signal_locked", HINT_SIGNAL}, {"complete_signal", HINT_SIGNAL},
	{"sock_def_readable", HINT_SOCKET},    {"sock_def_write_space", HINT_SOCKET},
	{"sock_def_wakeup", HINT_SOCKET},      {"sock_def_error_report", HINT_SOCKET},
	{"unix_write_space", HINT_SOCKET},     {"sk_stream_write_space", HINT_SOCKET},
	{"eventfd_write", HINT_NOTIFY},	       {"eventfd_signal_mask", HINT_NOTIFY},
	{"pipe_write", HINT_NOTIFY},	       {"anon_pipe_write", HINT_NOTIFY},
	{"fifo_pipe_write", HINT_NOTIFY},      {"pipe_release", HINT_NOTIFY},
};

struct wait_causes {
	const struct model *model;
	struct own_strings *strings;
	struct kinds *kinds;
	uint32_t *peers;	 /* by object: string, the name of its peer; 0: it has none */
	uint8_t *stack_hints;	 /* by stack: bits of enum wakeup_hint */
	struct map64 by_address; /* string, the local address of a socket -> thread */
	uint32_t network;	 /* string: "network" */
};

static const char *const names[CAUSE_TYPE_COUNT] = {
	[CAUSE_THREAD] = "thread",  [CAUSE_DEVICE] = "device",	     [CAUSE_PEER] = "peer",
	[CAUSE_TIMER] = "timer",    [CAUSE_INTERRUPT] = "interrupt", [CAUSE_UNKNOWN] = "unknown",
	[CAUSE_UNFINISHED] = "end",
};

const char *cause_type__name(enum cause_type type)
{
	return type < CAUSE_TYPE_COUNT ? names[type] : "unknown";
}

static uint8_t hints_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(hint_functions); i++)
		if (!strcmp(name, hint_functions[i].function))
			return hint_functions[i].hint;
	return 0;
}

/* The hints of all stacks. NULL without memory. */
static uint8_t *find_hints(const struct model *model)
{
	_cleanup_free_ uint8_t *locations = calloc(model->locations.n, 1);
	uint8_t *stacks = calloc(model->stacks.n, 1);

	if (!locations || !stacks) {
		free(stacks);
		return NULL;
	}
	for (size_t i = 1; i < model->locations.n; i++) {
		const struct model_location *location = &model->locations.data[i];

		for (size_t k = 0; location->kernel && k < location->n_frames; k++)
			locations[i] |= hints_of(
				model__string(model, model->frames.data[location->frame + k].name));
	}
	for (size_t i = 1; i < model->stacks.n; i++) {
		const struct model_stack *stack = &model->stacks.data[i];

		for (size_t k = 0; k < stack->depth; k++) {
			uint8_t hints = locations[model->stack_locations.data[stack->first + k]];

			stacks[i] |= stacks[i] & HINT_ORIGINS ? hints & ~HINT_ORIGINS : hints;
		}
	}
	return stacks;
}

/* A thread that waited on a socket is taken for the sender of what comes from its local address. */
static int find_addresses(struct wait_causes *causes)
{
	const struct model *model = causes->model;

	for (uint32_t i = 1; i < model->threads.n; i++) {
		const struct model_thread *thread = &model->threads.data[i];

		for (size_t k = 0; k < thread->intervals.n; k++) {
			uint32_t object = thread->intervals.data[k].object;
			uint32_t local = model->objects.data[object].local;

			if (local && !map64__put(&causes->by_address, local, i))
				return -ENOMEM;
		}
	}
	return 0;
}

/* "192.0.2.7:443 via eth0" */
static uint32_t peer_name(const struct model *model, struct own_strings *strings,
			  const struct model_object *object)
{
	const char *device;
	char key[32], text[256];

	if (object->type != OBJECT_SOCKET || !object->name)
		return 0;
	snprintf(key, sizeof(key), "interface_%" PRIu64, object->extra);
	device = object->extra ? model__meta(model, key) : NULL;
	if (!device)
		return object->name;
	snprintf(text, sizeof(text), "%s via %s", model__string(model, object->name), device);
	return own_strings__add(strings, text);
}

static int name_peers(struct wait_causes *causes)
{
	const struct model *model = causes->model;

	causes->peers = calloc(model->objects.n, sizeof(*causes->peers));
	for (size_t i = 1; causes->peers && i < model->objects.n; i++)
		causes->peers[i] = peer_name(model, causes->strings, &model->objects.data[i]);
	return causes->peers ? 0 : -ENOMEM;
}

int wait_causes__new(struct own_strings *strings, struct kinds *kinds, struct wait_causes **out)
{
	_cleanup_wait_causes_ struct wait_causes *causes = calloc(1, sizeof(*causes));

	if (!causes)
		return -ENOMEM;
	causes->model = strings->model;
	causes->strings = strings;
	causes->kinds = kinds;
	causes->network = own_strings__add(strings, "network");
	causes->stack_hints = find_hints(causes->model);
	if (!causes->stack_hints || find_addresses(causes) || name_peers(causes))
		return -ENOMEM;
	*out = TAKE_PTR(causes);
	return 0;
}

void wait_causes__free(struct wait_causes *causes)
{
	if (!causes)
		return;
	free(causes->stack_hints);
	free(causes->peers);
	map64__free(&causes->by_address);
	free(causes);
}

static struct wait_cause cause_by_thread(const struct wait_causes *causes, uint32_t thread,
					 uint32_t waker)
{
	if (!waker || waker == thread || !causes->model->threads.data[waker].tid)
		return (struct wait_cause){CAUSE_UNKNOWN, 0};
	return (struct wait_cause){CAUSE_THREAD, waker};
}

/*
 * The other end of the socket that was waited on: a thread if it was recorded, too. The kernel side
 * told who sent; or else a thread that waited at the other end is taken for it.
 */
static struct wait_cause cause_by_peer(const struct wait_causes *causes, uint32_t thread,
				       const struct model_interval *interval)
{
	uint32_t peer = causes->model->objects.data[interval->object].name;
	const uint64_t *local;

	if (interval->sender)
		return cause_by_thread(causes, thread, interval->sender);
	if (!causes->peers[interval->object])
		return (struct wait_cause){CAUSE_PEER, causes->network};
	local = map64__get(&causes->by_address, peer);
	if (local && *local != thread)
		return (struct wait_cause){CAUSE_THREAD, (uint32_t)*local};
	return (struct wait_cause){CAUSE_PEER, causes->peers[interval->object]};
}

enum wait_kind wait_causes__kind(const struct wait_causes *causes,
				 const struct model_interval *interval)
{
	struct wait_description description = {
		.class = interval->class,
		.flags = interval->flags,
		.syscall = interval->syscall,
		.kernel = interval->kernel,
		.object = interval->object,
	};

	return kinds__of(causes->kinds, &description);
}

static uint32_t wake_stack(const struct wait_causes *causes, uint32_t thread,
			   const struct model_interval *interval)
{
	const struct model_thread *waiter = &causes->model->threads.data[thread];

	return interval->wake ? waiter->wakes.data[interval->wake - 1].kernel : 0;
}

bool wait_causes__is_signaled(const struct wait_causes *causes, uint32_t thread,
			      const struct model_interval *interval)
{
	return causes->stack_hints[wake_stack(causes, thread, interval)] & HINT_SIGNAL;
}

/*
 * Whether who ended a wait of @kind for @object, from kernel stack @stack, notified the waiter.
 * @near: both are threads of one process.
 */
static bool is_notified(const struct wait_causes *causes, uint32_t stack,
			const struct model_object *object, enum wait_kind kind, bool near)
{
	uint8_t hints = causes->stack_hints[stack];
	bool socket = object->type == OBJECT_SOCKET || hints & HINT_SOCKET;

	if (hints & (HINT_SIGNAL | HINT_NOTIFY))
		return true;
	if (socket)
		return object->family == AF_UNIX && object->side == SOCKET_SIDE_UNKNOWN;
	/*
	 * Without a stack: epoll's object is the socket that is ready, if one is. Threads that
	 * share an epoll set wake each other, too: what one does not take is left to the next.
	 */
	return !causes->model->stacks.data[stack].depth && !near &&
	       (kind == KIND_EPOLL || object->type == OBJECT_FILE);
}

enum wait_end wait_causes__end(const struct wait_causes *causes, uint32_t thread,
			       const struct model_interval *interval, enum wait_kind kind)
{
	const struct model *model = causes->model;
	const struct model_object *object = &model->objects.data[interval->object];
	const struct model_thread *waker = &model->threads.data[interval->waker];
	bool near = waker->process == model->threads.data[thread].process;
	uint32_t stack = wake_stack(causes, thread, interval);

	if (kind != KIND_EPOLL && kind != KIND_POLL && kind != KIND_SELECT)
		return WAIT_END_OTHER;
	if (interval->waker_context == WAKER_TASK && interval->waker != thread && waker->tid &&
	    !(waker->flags & THREAD_KERNEL) && is_notified(causes, stack, object, kind, near))
		return near ? WAIT_END_THREAD : WAIT_END_PROCESS;
	if (object->type == OBJECT_SOCKET)
		return object->side == SOCKET_SIDE_CLIENT ? WAIT_END_OTHER : WAIT_END_REQUEST;
	/* A timer may have interrupted code that receives. */
	if (interval->waker_context == WAKER_HARDIRQ || causes->stack_hints[stack] & HINT_TIMER)
		return WAIT_END_OTHER;
	return causes->stack_hints[stack] & (HINT_SOCKET | HINT_RECEIVE) ? WAIT_END_REQUEST
									 : WAIT_END_OTHER;
}

/* Without a stack of the wakeup: the cause that the kind of the wait suggests. */
static struct wait_cause cause_by_wait(const struct wait_causes *causes, uint32_t thread,
				       const struct model_interval *interval)
{
	enum kind_ender ender = kind__info(wait_causes__kind(causes, interval))->ender;

	if (interval->class == CLASS_IO && interval->device)
		return (struct wait_cause){CAUSE_DEVICE, interval->device};
	if (ender == KIND_ENDER_TIMER)
		return (struct wait_cause){CAUSE_TIMER, 0};
	if (ender == KIND_ENDER_PEER)
		return cause_by_peer(causes, thread, interval);
	return (struct wait_cause){CAUSE_INTERRUPT, 0};
}

struct wait_cause wait_causes__of(const struct wait_causes *causes, uint32_t thread,
				  const struct model_interval *interval)
{
	uint32_t stack = wake_stack(causes, thread, interval);
	uint8_t hints = causes->stack_hints[stack];

	if (interval->flags & INTERVAL_UNFINISHED)
		return (struct wait_cause){CAUSE_UNFINISHED, 0};
	if (hints & HINT_BLOCK && interval->device)
		return (struct wait_cause){CAUSE_DEVICE, interval->device};
	switch ((enum waker_context)interval->waker_context) {
	case WAKER_TASK:
		return cause_by_thread(causes, thread, interval->waker);
	case WAKER_SOFTIRQ:
	case WAKER_HARDIRQ:
	case WAKER_NMI:
		break;
	default:
		return (struct wait_cause){CAUSE_UNKNOWN, 0};
	}
	if (hints & HINT_RECEIVE) {
		/* A softirq that runs within the send delivers what the current thread sends. */
		struct wait_cause sender = cause_by_thread(causes, thread, interval->waker);

		if (hints & HINT_SEND && !(hints & HINT_IRQ_EXIT) && sender.type == CAUSE_THREAD)
			return sender;
		return cause_by_peer(causes, thread, interval);
	}
	if (hints & HINT_TIMER)
		return (struct wait_cause){CAUSE_TIMER, 0};
	return causes->model->stacks.data[stack].depth ? (struct wait_cause){CAUSE_INTERRUPT, 0}
						       : cause_by_wait(causes, thread, interval);
}
