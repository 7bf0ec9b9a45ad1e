// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/kinds/wait_causes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "abi/kind_steps.h"
#include "analysis/kinds/tcp_holds.h"

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
	uint32_t *peers;	    /* by object: string, the name of its peer or limit; 0: none */
	uint8_t *stack_hints;	    /* by stack: bits of enum wakeup_hint */
	struct map64 by_address;    /* string, the local address of a socket -> thread */
	struct map64 recorded;	    /* pids of processes of which a thread was recorded */
	uint32_t *queues;	    /* by object: string, the queue of its device; 0: unknown */
	uint32_t network;	    /* string: "network" */
	uint32_t queue;		    /* string: that of a device that is not known */
	uint32_t writeback;	    /* string: "writeback throttling" */
	uint32_t holds[HOLD_COUNT]; /* strings: their kinds */
};

static const char *const names[CAUSE_TYPE_COUNT] = {
	[CAUSE_THREAD] = "thread",  [CAUSE_DEVICE] = "device",	     [CAUSE_PEER] = "peer",
	[CAUSE_TIMER] = "timer",    [CAUSE_LIMIT] = "limit",	     [CAUSE_TCP] = "tcp",
	[CAUSE_QUEUE] = "queue",    [CAUSE_INTERRUPT] = "interrupt", [CAUSE_UNKNOWN] = "unknown",
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

static int find_recorded(struct wait_causes *causes)
{
	const struct model *model = causes->model;

	for (uint32_t i = 1; i < model->threads.n; i++)
		if (model_thread__is_recorded(&model->threads.data[i]) &&
		    !map64__put(&causes->recorded, model->threads.data[i].tgid, i))
			return -ENOMEM;
	return 0;
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

/* The network device of a socket, or NULL. */
static const char *interface_of(const struct model *model, const struct model_object *object)
{
	char key[32];

	if (object->type != OBJECT_SOCKET || !object->extra)
		return NULL;
	snprintf(key, sizeof(key), "interface_%" PRIu64, object->extra);
	return model__meta(model, key);
}

/* "queue of eth0" */
static uint32_t queue_name(const struct model *model, struct own_strings *strings,
			   const struct model_object *object)
{
	const char *device = interface_of(model, object);
	char text[256];

	if (!device)
		return 0;
	snprintf(text, sizeof(text), "queue of %s", device);
	return own_strings__add(strings, text);
}

/* "192.0.2.7:443 via eth0" */
static uint32_t peer_name(const struct model *model, struct own_strings *strings,
			  const struct model_object *object)
{
	const char *device = interface_of(model, object);
	char text[256];

	if (object->type != OBJECT_SOCKET || !object->name)
		return 0;
	if (!device)
		return object->name;
	snprintf(text, sizeof(text), "%s via %s", model__string(model, object->name), device);
	return own_strings__add(strings, text);
}

/* "cpu quota /batch" */
static uint32_t limit_name(const struct model *model, struct own_strings *strings,
			   const struct model_object *object)
{
	const char *name = model__string(model, object->name);
	char text[512];

	snprintf(text, sizeof(text), "%s%s%s", kind__name(kind__of_stop(object->mode)),
		 *name ? " " : "", name);
	return own_strings__add(strings, text);
}

static int name_peers(struct wait_causes *causes)
{
	const struct model *model = causes->model;

	causes->writeback =
		own_strings__add(causes->strings, kind__name(KIND_WRITEBACK_THROTTLING));
	causes->peers = calloc(model->objects.n, sizeof(*causes->peers));
	causes->queues = calloc(model->objects.n, sizeof(*causes->queues));
	for (size_t i = 1; causes->peers && causes->queues && i < model->objects.n; i++) {
		const struct model_object *object = &model->objects.data[i];

		causes->queues[i] = queue_name(model, causes->strings, object);
		causes->peers[i] = object->type == OBJECT_LIMIT
					   ? limit_name(model, causes->strings, object)
					   : peer_name(model, causes->strings, object);
	}
	return causes->peers && causes->queues ? 0 : -ENOMEM;
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
	causes->queue = own_strings__add(strings, "queue of a network device");
	for (int i = 1; i < HOLD_COUNT; i++)
		causes->holds[i] =
			own_strings__add(strings, kind__name(tcp_hold__kind((enum hold_reason)i)));
	causes->stack_hints = find_hints(causes->model);
	if (!causes->stack_hints || find_addresses(causes) || find_recorded(causes) ||
	    name_peers(causes))
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
	free(causes->queues);
	map64__free(&causes->by_address);
	map64__free(&causes->recorded);
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
	return kinds__of_interval(causes->kinds, interval, model_interval__object(interval));
}

enum wait_kind wait_causes__kind_beside_holds(const struct wait_causes *causes,
					      const struct model_interval *interval)
{
	return kinds__of_interval(causes->kinds, interval, interval->object);
}

static uint32_t wake_stack(const struct wait_causes *causes, uint32_t thread,
			   const struct model_interval *interval)
{
	const struct model_thread *waiter = &causes->model->threads.data[thread];

	return interval->wake ? waiter->wakes.data[interval->wake - 1].kernel : 0;
}

bool wait_causes__is_limit(const struct model *model, const struct model_interval *interval)
{
	const struct model_object *object = &model->objects.data[interval->object];

	if (object->type == OBJECT_LIMIT)
		return object->mode != STOP_TRACER;
	return interval->class == CLASS_STOPPED;
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
	enum wait_kind kind = wait_causes__kind_beside_holds(causes, interval);
	enum kind_ender ender = kind__info(kind)->ender;

	if (interval->class == CLASS_IO && interval->device)
		return (struct wait_cause){CAUSE_DEVICE, interval->device};
	if (ender == KIND_ENDER_TIMER)
		return (struct wait_cause){CAUSE_TIMER, 0};
	if (ender == KIND_ENDER_PEER)
		return cause_by_peer(causes, thread, interval);
	return (struct wait_cause){CAUSE_INTERRUPT, 0};
}

static struct wait_cause cause_by_queue(const struct wait_causes *causes, uint32_t object)
{
	return (struct wait_cause){CAUSE_QUEUE,
				   causes->queues[object] ? causes->queues[object] : causes->queue};
}

static struct wait_cause cause_by_hold(const struct wait_causes *causes, uint8_t reason,
				       uint32_t object)
{
	return reason == HOLD_QUEUE ? cause_by_queue(causes, object)
				    : (struct wait_cause){CAUSE_TCP, causes->holds[reason]};
}

struct wait_cause wait_causes__of_hold(const struct wait_causes *causes,
				       const struct model_hold *hold)
{
	return cause_by_hold(causes, hold->reason, hold->object);
}

struct wait_cause wait_causes__of(const struct wait_causes *causes, uint32_t thread,
				  const struct model_interval *interval)
{
	const struct model_object *held = &causes->model->objects.data[interval->held];

	if (held->hold)
		return cause_by_hold(causes, held->hold, interval->held);
	return wait_causes__beside_holds(causes, thread, interval);
}

struct wait_cause wait_causes__beside_holds(const struct wait_causes *causes, uint32_t thread,
					    const struct model_interval *interval)
{
	uint32_t stack = wake_stack(causes, thread, interval);
	uint8_t hints = causes->stack_hints[stack];

	if (wait_causes__is_limit(causes->model, interval))
		return (struct wait_cause){CAUSE_LIMIT,
					   causes->model->objects.data[interval->object].type ==
							   OBJECT_LIMIT
						   ? causes->peers[interval->object]
						   : causes->writeback};
	if (interval->flags & INTERVAL_UNFINISHED)
		return (struct wait_cause){CAUSE_UNFINISHED, 0};
	/* A timer ended it, as the peer did not answer. */
	if (causes->model->objects.data[interval->object].hold == HOLD_NO_ANSWER &&
	    causes->peers[interval->object])
		return (struct wait_cause){CAUSE_PEER, causes->peers[interval->object]};
	/*
	 * A datagram occupies the send buffer until the device has sent it. So who has no room in
	 * it waits for the device, whatever its wakeup looks like.
	 */
	if (causes->model->objects.data[interval->object].type == OBJECT_SOCKET &&
	    wait_causes__kind_beside_holds(causes, interval) == KIND_UDP_SEND)
		return cause_by_queue(causes, interval->object);
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

		if (hints & HINT_SEND && !(hints & HINT_IRQ_EXIT) && sender.type == CAUSE_THREAD &&
		    !interval->sender)
			return sender;
		return cause_by_peer(causes, thread, interval);
	}
	if (hints & HINT_TIMER)
		return (struct wait_cause){CAUSE_TIMER, 0};
	return causes->model->stacks.data[stack].depth ? (struct wait_cause){CAUSE_INTERRUPT, 0}
						       : cause_by_wait(causes, thread, interval);
}

/* "mysqld (pid 4711)" */
static struct wait_peer local_peer(const struct wait_causes *causes, uint32_t name, uint32_t pid,
				   uint32_t address)
{
	const char *comm = own_strings__text(causes->strings, name);
	char text[64];

	snprintf(text, sizeof(text), "%s (pid %" PRIu32 ")", *comm ? comm : "?", pid);
	return (struct wait_peer){own_strings__add(causes->strings, text), pid, address};
}

/* The process of thread @waker. */
static struct wait_peer process_of(const struct wait_causes *causes, uint32_t waker,
				   uint32_t address)
{
	const struct model *model = causes->model;
	const struct model_thread *thread = &model->threads.data[waker];
	const struct model_thread *leader =
		&model->threads.data[model->processes.data[thread->process].leader];
	const struct model_thread *named = leader->comms.n ? leader : thread;

	return local_peer(causes, model_thread__comm(named, named->ended),
			  thread->tgid ? thread->tgid : thread->tid, address);
}

static bool is_at_connection(const struct wait_causes *causes,
			     const struct model_interval *interval)
{
	enum wait_kind kind = wait_causes__kind_beside_holds(causes, interval);

	if (kind == KIND_TCP_ACCEPT || kind == KIND_UNIX_ACCEPT || kind == KIND_SOCKET_ACCEPT)
		return false;
	return causes->model->objects.data[interval->object].type == OBJECT_SOCKET ||
	       kind__info(kind)->groups & KIND_GROUP_NETWORK;
}

struct wait_peer wait_causes__peer(const struct wait_causes *causes, uint32_t thread,
				   const struct model_interval *interval, struct wait_cause cause)
{
	const struct model_object *object = &causes->model->objects.data[interval->object];
	uint32_t address = object->type == OBJECT_SOCKET ? causes->peers[interval->object] : 0;
	const struct model_thread *waker;

	if (cause.type == CAUSE_PEER && cause.id != causes->network)
		return (struct wait_peer){.name = cause.id, .address = address};
	if (cause.type != CAUSE_THREAD || !is_at_connection(causes, interval) ||
	    wait_causes__is_signaled(causes, thread, interval))
		return (struct wait_peer){};
	waker = &causes->model->threads.data[cause.id];
	if (waker->flags & THREAD_KERNEL || model_thread__is_recorded(waker))
		return (struct wait_peer){};
	return process_of(causes, cause.id, address);
}

struct wait_peer wait_causes__peer_of_hold(const struct wait_causes *causes, uint32_t thread,
					   const struct model_hold *hold)
{
	const struct model_object *object = &causes->model->objects.data[hold->object];
	const uint64_t *reader = map64__get(&causes->by_address, object->name);

	if (hold->reason != HOLD_WINDOW || (reader && *reader != thread))
		return (struct wait_peer){};
	if (object->owner_pid && map64__get(&causes->recorded, object->owner_pid))
		return (struct wait_peer){};
	if (object->owner_pid)
		return local_peer(causes, object->owner, object->owner_pid,
				  causes->peers[hold->object]);
	return (struct wait_peer){.name = causes->peers[hold->object],
				  .address = causes->peers[hold->object]};
}
