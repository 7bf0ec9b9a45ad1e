/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Datagrams: who sent last to a port, and questions that are asked again as nobody answers. */
#pragma once

#include "bpf/record/flows.bpf.h"

#define UDP_HEADER 8
/* A datagram that is sent again after this time was not answered in time. */
#define NO_ANSWER_NS 100000000

/* @thread sent the same from the socket at @address at @since, and sends it again. */
GLOBAL int tell_no_answer(__u64 address, __u32 thread, __u64 since, __u64 now)
{
	struct event_segment event = {.header = {EVENT_SEGMENT, thread, now},
				      .role = SEGMENT_NO_ANSWER,
				      .writer = thread,
				      .written = since,
				      .left = now,
				      .until = {now},
				      .reasons = {HOLD_NO_ANSWER}};
	struct sock *sk = (void *)address;

	event.object = (struct event_object){.type = OBJECT_SOCKET, .id = inode_of_socket(sk)};
	socket_object(&event.object, sk);
	emit(&event, sizeof(event), LOSS_RING_FULL);
	return 0;
}

/* A datagram's length and the first bytes of its data: a question that is asked again has the same.
 */
static __always_inline __u64 datagram_hash(struct sk_buff *packet)
{
	__u64 words[2] = {};

	bpf_probe_read_kernel(words, sizeof(words),
			      packet->head + FIELD(packet, transport_header) + UDP_HEADER);
	return mix(mix(FIELD(packet, len), words[0]), words[1]);
}

/* @thread sends a datagram from @sk, which is connected: is it a question that was not answered? */
static __always_inline void question_leaves(struct sk_buff *packet, struct sock *sk, __u32 thread)
{
	struct flow *flow = flow_of(key_of_flow(sk, false), true);
	__u64 hash = datagram_hash(packet), now = bpf_ktime_get_ns();
	struct flow_segment *question;

	if (!flow)
		return;
	question = &flow->sent[0];
	if (question->end && question->thread == thread && question->written == hash &&
	    now - question->left > NO_ANSWER_NS)
		tell_no_answer(address_in(sk), thread, question->left, now);
	question->written = hash;
	question->thread = thread;
	question->left = now;
	question->end = 1;
}

/* A datagram came to @sk: if it is connected, what it asked is answered. */
static __always_inline void answer_comes(struct sock *sk)
{
	struct flow *flow =
		FIELD(sk, __sk_common.skc_dport) ? flow_of(key_of_flow(sk, false), false) : NULL;

	if (flow)
		flow->sent[0].end = 0;
}

static __always_inline void udp_leaves(struct sk_buff *packet, struct sock *sk, __u32 thread)
{
	struct endpoint local = {}, none = {};
	struct flow *flow;
	__u16 port = 0;

	bpf_probe_read_kernel(&port, sizeof(port),
			      packet->head + FIELD(packet, transport_header) + UDP_DESTINATION);
	local.port = __builtin_bswap16(port);
	flow = flow_of(key_of(&local, &none), true);
	if (flow)
		flow->sender = thread;
	if (FIELD(sk, __sk_common.skc_dport))
		question_leaves(packet, sk, thread);
}
