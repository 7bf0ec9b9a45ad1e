/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Segments of TCP that were held back: who wrote their data and when, when they left, and why not
 * before. A thread that a packet wakes gets an event if what it waited for was held back.
 *
 * Linux 6.3 and later have a tracepoint behind every send. Before, only connections that are not
 * answered and full send buffers are known.
 */
#pragma once

#include "bpf/core/packet.bpf.h"
#include "bpf/record/flows.bpf.h"
#include "bpf/record/listeners.bpf.h"
#include "bpf/record/questions.bpf.h"
#include "bpf/record/waker.bpf.h"

#define SK_PACING_NEEDED 1
#define SOCK_NOSPACE	 (1 << 2) /* somebody waits for room in the send buffer */
#define NONAGLE_CORK	 2
#define CA_RECOVERY	 3
#define CA_LOSS		 4
#define TCP_SYN_SENT	 2
#define TCP_FIN_OR_SYN	 0x03
#define TCP_FLAG_SYN	 0x02
#define TCP_FLAG_RST	 0x04
#define TCP_FLAG_ACK	 0x10
/*
 * A socket that becomes ready wakes threads within this time, on the same CPU; before it does so
 * for room in the send buffer, or as it is connected, it may send packets.
 */
#define READY_NS	 100000
#define READY_SENDING_NS 1000000
/* Jiffies: the timer for delayed acknowledgements takes at least 40 ms, or what is configured. */
#define DELAYED_ACK_TICKS 2

/* The header's first 14 bytes. */
struct tcp_header {
	__u16 ports[2];
	__u32 seq;
	__u32 ack;
	__u8 words;
	__u8 flags;
} __attribute__((packed));

static __always_inline bool is_before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

static __always_inline bool is_nagle(__u8 reason)
{
	return reason >= HOLD_NAGLE && reason <= HOLD_NAGLE_DELAYED;
}

/* The time until @until is @reason's, too. The oldest reason makes room for a fifth. */
static __always_inline void add_hold(struct holds *holds, __u8 reason, __u64 until)
{
	__u64 last = masked(holds->n - 1, SEGMENT_HOLDS);

	if (holds->n && (holds->reasons[last] == reason ||
			 (is_nagle(holds->reasons[last]) && is_nagle(reason)))) {
		holds->reasons[last] = reason;
		holds->until[last] = until;
		return;
	}
	if (holds->n >= SEGMENT_HOLDS) {
		for (int i = 0; i + 1 < SEGMENT_HOLDS; i++) {
			holds->reasons[i] = holds->reasons[i + 1];
			holds->until[i] = holds->until[i + 1];
		}
		holds->n = SEGMENT_HOLDS - 1;
	}
	last = masked(holds->n, SEGMENT_HOLDS);
	holds->reasons[last] = reason;
	holds->until[last] = until;
	holds->n++;
}

/* Bytes of the first segment in the queue of what was not sent yet. */
static __always_inline __u32 first_unsent(struct sock *sk)
{
	struct sk_buff *first = BPF_CORE_READ(sk, sk_write_queue.next);

	if ((void *)first == (void *)sk + bpf_core_field_offset(struct sock, sk_write_queue))
		return 0;
	return READ(first, len);
}

/* Why the first of what @sk has not sent yet does not leave. As tcp_write_xmit() decides. */
static __always_inline __u8 why_held(struct sock *sk, struct tcp_sock *tcp)
{
	__u32 una = FIELD(tcp, snd_una), next = FIELD(tcp, snd_nxt), mss = FIELD(tcp, mss_cache);
	__u32 size = first_unsent(sk), out = FIELD(tcp, packets_out);
	__u32 in_flight =
		out - FIELD(tcp, sacked_out) - FIELD(tcp, lost_out) + FIELD(tcp, retrans_out);
	__u32 nonagle = BIT_FIELD(tcp, nonagle), small = FIELD(tcp, snd_sml);

	/* By the clock of its last attempt: the timer that makes the next one may be late. */
	if (FIELD(sk, sk_pacing_status) == SK_PACING_NEEDED &&
	    FIELD(tcp, tcp_wstamp_ns) > FIELD(tcp, tcp_clock_cache))
		return HOLD_PACING;
	if (in_flight >= FIELD(tcp, snd_cwnd))
		return HOLD_CONGESTION;
	if (is_before(una + FIELD(tcp, snd_wnd), next + (size < mss ? size : mss)))
		return HOLD_WINDOW;
	if (size < mss && size == FIELD(tcp, write_seq) - next) {
		if (nonagle & NONAGLE_CORK)
			return HOLD_CORK;
		if (!nonagle && out && is_before(una, small) && !is_before(next, small))
			return HOLD_NAGLE;
		/* With TCP_NODELAY, too: MSG_MORE is for one write what TCP_CORK is for all. */
		if (!out || FIELD(sk, sk_wmem_alloc.refs.counter) <= 1)
			return HOLD_MORE;
	}
	return FIELD(sk, sk_wmem_alloc.refs.counter) > 1 ? HOLD_QUEUE : HOLD_OTHER;
}

/* Whether most of what fills the send buffer is still in queues of devices of this host. */
static __always_inline bool is_mostly_queued(struct sock *sk)
{
	return (__u32)FIELD(sk, sk_wmem_alloc.refs.counter) > (__u32)FIELD(sk, sk_wmem_queued) / 2;
}

/*
 * In sampling mode, packets matter only while data is held back, which was seen last within this
 * time: retransmissions are at most two minutes apart.
 */
#define HELD_NS 120000000000

static __u64 held_until;

/*
 * In sampling mode, on_written and on_ready are attached only while recorded threads use TCP, or
 * little else is sent: they run for everything that is sent through any socket, some 100 ns each
 * time. User space looks, sets tcp_seen to 0, and decides (collect/programs/record_programs.h).
 */
#define SENDERS 64

__u64 tcp_seen; /* a recorded thread has sent by TCP */
struct {
	__u64 n; /* not by TCP */
	__u64 apart[7];
} other_sends[SENDERS]; /* by CPU; CPUs that share one count too little */

static __always_inline void note_tcp(const struct sock *sk)
{
	if (settings.trace_mode || *(volatile __u64 *)&tcp_seen ||
	    FIELD(sk, sk_protocol) != IPPROTO_TCP || !target_state(bpf_get_current_task_btf()))
		return;
	*(volatile __u64 *)&tcp_seen = 1;
}

/* Forgets the writes of which all has left up to @seq. */
static __always_inline void drop_writes(struct flow *flow, __u32 seq)
{
	if (flow->n_writes > FLOW_WRITES) /* two have dropped the last one: see struct flow */
		flow->n_writes = 0;
	for (int k = 0; k < FLOW_WRITES; k++) {
		if (!flow->n_writes || is_before(seq, flow->writes[0].end))
			break;
		for (int i = 0; i + 1 < FLOW_WRITES; i++)
			flow->writes[i] = flow->writes[i + 1];
		flow->n_writes--;
	}
}

/* @thread wrote up to @end: not all of it has left. */
static __always_inline void add_write(struct flow *flow, __u32 thread, __u32 end, __u64 now)
{
	__u32 n = flow->n_writes < FLOW_WRITES ? flow->n_writes : FLOW_WRITES - 1;
	__u64 at;

	/* The last one of many stands for all after it: as if they had been written later. */
	at = masked(n, FLOW_WRITES);
	flow->writes[at].written = now;
	flow->writes[at].thread = thread;
	flow->writes[at].end = end;
	if (flow->n_writes < FLOW_WRITES)
		flow->n_writes++;
}

/* What was written to @sk has not left yet. */
static __noinline void data_stays(struct sock *sk, struct tcp_sock *tcp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct flow *flow = flow_of(key_of_flow(sk, false), true);
	__u64 now = bpf_ktime_get_ns();

	if (!flow)
		return;
	drop_writes(flow, FIELD(tcp, snd_nxt));
	held_until = now + HELD_NS;
	if (!flow->n_writes) {
		flow->holds.n = 0;
		flow->una = FIELD(tcp, snd_una);
	} else {
		add_hold(&flow->holds, flow->reason, now);
	}
	flow->reason = why_held(sk, tcp);
	add_write(flow, waker_number(task, WAKER_TASK, now), FIELD(tcp, write_seq), now);
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(on_written, struct sock *sk, int size, int flags)
{
	struct tcp_sock *tcp;

	if (!capture.active || size <= 0)
		return 0;
	tcp = bpf_skc_to_tcp_sock(sk);
	if (!tcp) {
		other_sends[bpf_get_smp_processor_id() % SENDERS].n++;
		return 0;
	}
	note_tcp(sk);
	if (FIELD(tcp, write_seq) != FIELD(tcp, snd_nxt))
		data_stays(sk, tcp);
	return 0;
}

/* Why @sk sends a segment again. */
static __always_inline __u8 why_again(struct sock *sk, const struct flow *flow)
{
	struct inet_connection_sock *connection = (void *)sk;
	struct tcp_sock *tcp = (void *)sk;
	__u8 state;

	/* The server has no connection yet while its queue has no room for it. */
	if (READ(tcp, bytes_acked) <= 1 && is_listen_queue_full(sk))
		return HOLD_LISTEN_QUEUE;
	if (READ(sk, __sk_common.skc_state) == TCP_SYN_SENT)
		return flow->reason == HOLD_LISTEN_QUEUE ? HOLD_LISTEN_QUEUE : HOLD_SYN;
	state = READ_BIT_FIELD(connection, icsk_ca_state);
	return state == CA_LOSS ? HOLD_TIMEOUT : state == CA_RECOVERY ? HOLD_FAST : HOLD_PROBE;
}

/* Number + 1 of the segment of @flow that has @seq, the last one; 0: it is not known. */
static __always_inline __u32 find_segment(const struct flow *flow, __u32 seq)
{
	__u32 found = 0;
	__u64 last = 0;

	for (__u32 i = 0; i < FLOW_SEGMENTS; i++) {
		const struct flow_segment *segment = &flow->sent[i];

		if (is_before(seq, segment->first) || !is_before(seq, segment->end) ||
		    segment->left <= last)
			continue;
		last = segment->left;
		found = i + 1;
	}
	return found;
}

/* @sk sends what begins with @seq again. */
static __always_inline void sent_again(struct sock *sk, struct flow *flow, __u32 seq, __u64 now)
{
	__u32 found = find_segment(flow, seq);
	struct flow_segment *segment;

	if (!found)
		return;
	segment = &flow->sent[masked(found - 1, FLOW_SEGMENTS)];
	segment->left = now;
	add_hold(&segment->holds, why_again(sk, flow), now);
}

/* Sets when, by whom and why not earlier @segment was written, which leaves now. */
static __always_inline void explain_hold(struct sock *sk, struct flow *flow,
					 struct flow_segment *segment)
{
	struct tcp_sock *tcp = (void *)sk;
	struct flow *back;
	__u32 una;

	segment->written = flow->writes[0].written;
	segment->thread = flow->writes[0].thread;
	segment->holds = flow->holds;
	if (flow->reason == HOLD_NAGLE) {
		una = READ(tcp, snd_una);
		back = una == flow->una ? NULL : flow_of(key_of_flow(sk, true), false);
		if (una != flow->una)
			flow->reason = back && back->delayed_ack == una ? HOLD_NAGLE_DELAYED
									: HOLD_NAGLE_ACK;
	}
	add_hold(&segment->holds, flow->reason, segment->left);
}

/* New data, [@seq, @end), leaves @sk now, for the first time; by @thread if nothing held it. */
static __always_inline void segment_leaves(struct sock *sk, struct flow *flow, __u32 thread,
					   __u32 seq, __u32 end, __u64 now)
{
	struct flow_segment *segment = &flow->sent[masked(flow->newest, FLOW_SEGMENTS)];
	bool held;

	drop_writes(flow, seq);
	held = flow->n_writes;
	if (segment->end != seq || segment->first == segment->end ||
	    (held ? segment->written != flow->writes[0].written
		  : segment->holds.n || segment->thread != thread)) {
		flow->newest++;
		segment = &flow->sent[masked(flow->newest, FLOW_SEGMENTS)];
		segment->first = seq;
		segment->written = now;
		segment->thread = thread;
	}
	segment->end = end;
	segment->left = now;
	segment->holds.n = 0;
	if (held)
		explain_hold(sk, flow, segment);
}

/* @sk sends an acknowledgement of @ack alone, in an interrupt: does its timer? */
static __always_inline bool is_delayed_ack(struct sock *sk)
{
	struct inet_connection_sock *connection = (void *)sk;

	return (__u32)bpf_jiffies64() - READ(connection, icsk_ack.lrcvtime) >= DELAYED_ACK_TICKS;
}

/* The start and the end of a connection each take a sequence number. */
static __always_inline __u32 takes_number(__u8 flags)
{
	return flags & TCP_FIN_OR_SYN ? 1 : 0;
}

/* @sk sends nothing but an acknowledgement of @ack: for @thread, which reads, or in an interrupt.
 */
static __always_inline void acknowledges(struct sock *sk, __u32 thread, bool interrupt, __u32 ack)
{
	bool delayed = interrupt && is_delayed_ack(sk);
	struct flow *flow;

	if (!thread && !delayed)
		return;
	flow = flow_of(key_of_flow(sk, false), delayed);
	if (flow && delayed)
		flow->delayed_ack = ack;
	else if (flow && settings.trace_mode)
		flow->sender = thread;
}

/* The SYN that @thread sends from the socket at @address will not be answered. */
GLOBAL int tell_not_answered(__u64 address, __u32 thread, __u64 now)
{
	struct event_segment event = {.header = {EVENT_SEGMENT, thread, now},
				      .role = SEGMENT_NOT_ANSWERED,
				      .reasons = {HOLD_LISTEN_QUEUE}};
	struct sock *sk = (void *)address;

	event.object = (struct event_object){.type = OBJECT_SOCKET, .id = inode_of_socket(sk)};
	socket_object(&event.object, sk);
	emit(&event, sizeof(event), LOSS_RING_FULL);
	return 0;
}

/* A packet of the TCP socket @sk leaves; @thread sends it, if one does. */
static __always_inline void tcp_leaves(struct sk_buff *packet, struct sock *sk, __u32 thread,
				       bool interrupt)
{
	struct tcp_sock *tcp = (void *)sk;
	struct tcp_header header = {};
	__u64 at = (__u64)packet->head + FIELD(packet, transport_header);
	__u64 size = FIELD(packet, len) + (__u64)packet->data - at;
	struct flow *flow;
	__u32 seq;
	__u64 now;

	bpf_probe_read_kernel(&header, sizeof(header), (void *)at);
	size -= (header.words >> 4) * 4;
	asm("" : "+r"(size)); /* the verifier refuses pointers in registers of 32 bits */
	seq = __builtin_bswap32(header.seq);
	if (header.flags & TCP_FLAG_RST)
		return;
	if (!size && !(header.flags & TCP_FIN_OR_SYN)) {
		acknowledges(sk, thread, interrupt, __builtin_bswap32(header.ack));
		return;
	}
	flow = flow_of(key_of_flow(sk, false), settings.trace_mode || header.flags & TCP_FLAG_SYN);
	if (!flow)
		return;
	now = bpf_ktime_get_ns();
	if (thread)
		flow->sender = thread;
	if (is_before(seq, READ(tcp, snd_nxt)))
		sent_again(sk, flow, seq, now);
	else
		segment_leaves(sk, flow, thread, seq, seq + size + takes_number(header.flags), now);
	/* Whoever waits for the answer to a SYN waits because of the queue that it meets. */
	if ((header.flags & (TCP_FLAG_SYN | TCP_FLAG_ACK)) != TCP_FLAG_SYN)
		return;
	flow->reason = is_listen_queue_full(sk) ? HOLD_LISTEN_QUEUE : HOLD_SYN;
	if (thread && flow->reason == HOLD_LISTEN_QUEUE)
		tell_not_answered(address_in(sk), thread, now);
}

/*
 * Whether @packet of @sk has been queued to another device before: it comes by here once for each
 * (a bond, a bridge, a tunnel).
 */
static __always_inline bool is_forwarded(struct sk_buff *packet, struct sock *sk)
{
	struct dst_entry *route = BPF_CORE_READ(sk, sk_dst_cache);

	return route && BPF_CORE_READ(route, dev) != packet->dev;
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(on_packet, struct sk_buff *packet)
{
	struct sock *sk = capture.active ? packet->sk : NULL;
	struct task_struct *task;
	struct thread_state *state;
	bool interrupt;
	__u32 thread;

	if (!sk || !is_full_socket(sk) || is_forwarded(packet, sk))
		return 0;
	note_tcp(sk);
	if (!settings.trace_mode && bpf_ktime_get_ns() >= *(volatile __u64 *)&held_until &&
	    FIELD(sk, __sk_common.skc_state) != TCP_SYN_SENT)
		return 0;
	task = bpf_get_current_task_btf();
	interrupt = context_of(task) != WAKER_TASK;
	state = interrupt ? NULL : target_state(task);
	thread = state ? state->thread : 0;
	if (FIELD(sk, sk_protocol) == IPPROTO_TCP)
		tcp_leaves(packet, sk, thread, interrupt);
	else if (settings.trace_mode && FIELD(sk, sk_protocol) == IPPROTO_UDP && thread)
		udp_leaves(packet, sk, thread);
	return 0;
}

/* A socket became ready on this CPU: the thread that is woken next is woken for it. */
static __always_inline void socket_ready(struct sock *sk, __u8 role, __u32 seq)
{
	struct ready_socket *ready = &this_cpu()->product.ready;

	ready->socket = (__u64)sk;
	ready->seq = seq;
	ready->role = role;
	ready->context = context_of(bpf_get_current_task_btf());
	ready->until = bpf_ktime_get_ns() + (role == SEGMENT_DATA ? READY_NS : READY_SENDING_NS);
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(on_ready, struct sock *sk)
{
	struct tcp_sock *tcp;
	__u16 family;

	if (!capture.active)
		return 0;
	family = FIELD(sk, __sk_common.skc_family);
	if (family != AF_INET && family != AF_INET6)
		return 0;
	tcp = bpf_skc_to_tcp_sock(sk);
	if (tcp && FIELD(sk, __sk_common.skc_state) != TCP_LISTEN) {
		socket_ready(sk, SEGMENT_DATA, FIELD(tcp, copied_seq));
	} else if (settings.trace_mode && FIELD(sk, sk_protocol) == IPPROTO_UDP) {
		answer_comes(sk);
		socket_ready(sk, SEGMENT_DATA, 0);
	}
	return 0;
}

/* A segment comes to @sk: before what it changes is known, finds out why @sk holds data back. */
SEC("tp_btf/tcp_probe")
int BPF_PROG(on_acknowledged, struct sock *sk, struct sk_buff *packet)
{
	struct tcp_sock *tcp = capture.active ? bpf_skc_to_tcp_sock(sk) : NULL;
	struct flow *flow;
	__u32 room;
	__u8 reason;
	bool full;

	if (!tcp)
		return 0;
	room = FIELD(sk, sk_sndbuf);
	full = (__u32)FIELD(sk, sk_wmem_queued) >= room / 2;
	if (FIELD(tcp, write_seq) == FIELD(tcp, snd_nxt) && !full)
		return 0;
	flow = flow_of(key_of_flow(sk, false), true);
	if (!flow)
		return 0;
	if (FIELD(tcp, write_seq) != FIELD(tcp, snd_nxt))
		reason = why_held(sk, tcp);
	else
		reason = is_mostly_queued(sk) ? HOLD_QUEUE : HOLD_BUFFER;
	flow->reason = reason;
	add_hold(&flow->holds, reason, bpf_ktime_get_ns());
	if (READ(sk, sk_socket, flags) & SOCK_NOSPACE)
		socket_ready(sk, SEGMENT_SPACE, 0);
	return 0;
}

/* A connection is made, or could not be: the next thread that is woken waited for that. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock *sk, int before, int now)
{
	struct listener_key key;
	struct tcp_sock *tcp;
	__u64 address;

	if (!capture.active)
		return 0;
	if (before == TCP_SYN_SENT && (now == TCP_ESTABLISHED || now == TCP_CLOSE)) {
		tcp = bpf_skc_to_tcp_sock(sk);
		if (tcp)
			socket_ready(sk, SEGMENT_CONNECT, FIELD(tcp, write_seq) - 1);
	} else if (now == TCP_LISTEN || (before == TCP_LISTEN && now == TCP_CLOSE)) {
		key = listener_key(sk, READ(sk, __sk_common.skc_num));
		address = (__u64)sk;
		if (now == TCP_LISTEN)
			bpf_map_update_elem(&listeners, &key, &address, BPF_ANY);
		else if (is_listener(&key, address))
			bpf_map_delete_elem(&listeners, &key);
	}
	return 0;
}

static __always_inline void copy_holds(struct event_segment *event, const struct holds *holds)
{
	for (__u32 i = 0; i < SEGMENT_HOLDS; i++) {
		if (i >= holds->n)
			break;
		event->reasons[i] = holds->reasons[i];
		event->until[i] = holds->until[i];
	}
}

/* The segment of @flow that was held back last, and left after @since; number + 1, or 0. */
static __always_inline __u32 held_since(const struct flow *flow, __u64 since)
{
	__u32 found = 0;
	__u64 last = since;

	for (__u32 i = 0; i < FLOW_SEGMENTS; i++) {
		const struct flow_segment *segment = &flow->sent[i];

		if (!segment->holds.n || segment->left <= last)
			continue;
		last = segment->left;
		found = i + 1;
	}
	return found;
}

/* Sets @event to what segment @number - 1 of @flow has to do with a wait. False: nothing. */
static __always_inline bool describe_segment(struct event_segment *event, const struct flow *flow,
					     __u32 number)
{
	const struct flow_segment *segment = &flow->sent[masked(number - 1, FLOW_SEGMENTS)];

	if (!number || !segment->holds.n)
		return false;
	event->writer = segment->thread;
	event->written = segment->written;
	event->left = segment->left;
	copy_holds(event, &segment->holds);
	return true;
}

/* Sets @event to what TCP held back of what @state's thread got. Sets who sent it. */
static __always_inline bool describe_received(struct event_segment *event,
					      struct thread_state *state, __u32 seq)
{
	const struct flow *flow = flow_of(key_of_object(&event->object, true), false);
	bool held = flow && describe_segment(event, flow, find_segment(flow, seq));

	state->product.sender = held			      ? event->writer
				: flow && settings.trace_mode ? flow->sender
							      : 0;
	if (flow)
		return held;
	/* It came from elsewhere. */
	flow = flow_of(key_of_object(&event->object, false), false);
	event->role = SEGMENT_REQUEST;
	return flow && describe_segment(event, flow, held_since(flow, state->since));
}

/* The same of what it sent: its SYN, or data for which it has had no room. */
static __always_inline bool describe_sent(struct event_segment *event, __u32 seq)
{
	const struct flow *flow = flow_of(key_of_object(&event->object, false), false), *back;

	if (!flow)
		return false;
	if (event->role == SEGMENT_CONNECT)
		return describe_segment(event, flow, find_segment(flow, seq));
	copy_holds(event, &flow->holds);
	event->left = event->header.time;
	back = settings.trace_mode ? flow_of(key_of_object(&event->object, true), false) : NULL;
	event->writer = back ? back->sender : 0;
	return flow->holds.n;
}

/*
 * @state's thread is woken at @now for the socket that became ready on this CPU. Sets who sent to
 * it, and emits what TCP held back of what it waited for. (A global function, so that it is
 * verified once.)
 */
GLOBAL int segment_wakes(struct thread_state *state, __u64 now)
{
	const struct ready_socket *ready = &this_cpu()->product.ready;
	struct event_segment event = {.role = ready->role};
	struct sock *sk = (void *)ready->socket;

	if (!state)
		return 0;
	event.header = (struct event_header){EVENT_SEGMENT, state->thread, now};
	event.object = (struct event_object){.type = OBJECT_SOCKET, .id = inode_of_socket(sk)};
	socket_object(&event.object, sk);
	if (event.role == SEGMENT_DATA ? describe_received(&event, state, ready->seq)
				       : describe_sent(&event, ready->seq))
		emit(&event, sizeof(event), LOSS_RING_FULL);
	return 0;
}

/*
 * Whether @task, which is woken at @now, may have waited for a socket that became ready on this CPU
 * just now, in the same context: not before or within the interrupt in which it is woken. Whatever
 * else that softirq ends, too, is no wait for a socket: reads of disks and grace periods cannot be
 * interrupted, and ksoftirqd is bound to its CPU.
 */
static __always_inline bool is_socket_ready(struct task_struct *task, enum waker_context context,
					    __u64 now)
{
	const struct ready_socket *ready = &this_cpu()->product.ready;

	if (now >= ready->until || ready->context != context ||
	    FIELD(task, __state) & TASK_UNINTERRUPTIBLE)
		return false;
	return !(FIELD(task, flags) & PF_KTHREAD) || FIELD(task, nr_cpus_allowed) > 1;
}
