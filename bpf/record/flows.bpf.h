/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Flows: what goes to a socket from another one. Who sent last, as the thread that wakes the
 * receiver may be another: a packet to a socket of this machine may be delivered by a soft
 * interrupt on another CPU, or later on this one. And of TCP, what was written and has not left
 * yet, and what left last.
 */
#pragma once

#include "bpf/record/thread.bpf.h"
#include "bpf/core/context.bpf.h"
#include "bpf/core/object.bpf.h"
#include "bpf/core/packet.bpf.h"

#define MAX_FLOWS	16384
#define FLOW_WRITES	4 /* that have not left: powers of two */
#define FLOW_SEGMENTS	4
#define IPPROTO_UDP	17
#define UDP_DESTINATION 2 /* in the header: the port */

/* An address and a port, or 0 for each that is not known. */
struct endpoint {
	__u64 address[2];
	__u64 port;
};

/* Why data was held back: the reasons, each until its time, one after the other. */
struct holds {
	__u64 until[SEGMENT_HOLDS];
	__u8 reasons[SEGMENT_HOLDS];
	__u32 n;
};

/* Data up to sequence number @end was written, and has not left. */
struct flow_write {
	__u64 written;
	__u32 end;
	__u32 thread;
};

/* Data that left: sequence numbers from @first to before @end. */
struct flow_segment {
	__u64 written;
	__u64 left; /* last, if it was sent again */
	__u32 first;
	__u32 end; /* equal to @first: there is none */
	__u32 thread;
	__u32 reserved;
	struct holds holds;
};

/*
 * There is no lock: a thread that has sent and an interrupt that handles an acknowledgement can
 * change it at the same time. So indices are checked before use; what is recorded of one segment
 * may then be wrong.
 */
struct flow {
	__u32 sender;	   /* thread that sent last */
	__u32 delayed_ack; /* sequence number that a delayed acknowledgement acknowledged last */
	__u32 una;	   /* what the receiver had acknowledged when data began to be held back */
	__u32 n_writes;
	__u32 newest; /* number of the newest segment */
	__u8 reason;  /* why data is held back now: enum hold_reason */
	struct holds holds;
	struct flow_write writes[FLOW_WRITES]; /* the oldest first */
	struct flow_segment sent[FLOW_SEGMENTS];
};

/* By the hash of the receiving socket's endpoints: see key_of(). */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_FLOWS);
	__type(key, __u64);
	__type(value, struct flow);
} flows SEC(".maps");

static __always_inline struct flow *flow_of(__u64 key, bool make)
{
	static const struct flow none;
	struct flow *flow = bpf_map_lookup_elem(&flows, &key);

	if (flow || !make)
		return flow;
	bpf_map_update_elem(&flows, &key, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&flows, &key);
}

/* If the IPv6 address of @endpoint is a mapped IPv4 address (::ffff:a.b.c.d), makes it one. */
static __always_inline void unmap_address(struct endpoint *endpoint)
{
	__u64 mapped = endpoint->address[1];

	if (endpoint->address[0] || (__u32)mapped != 0xffff0000)
		return;
	endpoint->address[0] = mapped >> 32;
	endpoint->address[1] = 0;
}

/* @bytes: peer or local of an event_object, of @family. */
static __always_inline void set_address(struct endpoint *endpoint, __u32 family,
					const __u8 bytes[16])
{
	bpf_probe_read_kernel(endpoint->address, sizeof(endpoint->address), bytes);
	if (family == AF_INET6)
		unmap_address(endpoint);
}

static __always_inline __u64 mix(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}

/*
 * The key of a socket at @local that is connected to @peer. A UDP socket that is not connected is
 * known by its port only.
 */
static __always_inline __u64 key_of(const struct endpoint *local, const struct endpoint *peer)
{
	__u64 hash = mix(1, local->port);

	hash = mix(hash, local->address[0]);
	hash = mix(hash, local->address[1]);
	hash = mix(hash, peer->port);
	hash = mix(hash, peer->address[0]);
	return mix(hash, peer->address[1]);
}

/*
 * The key of the flow to the other end of @sk, an Internet socket, or of that which it receives.
 * @sk: a pointer that the verifier knows.
 */
static __always_inline __u64 key_of_flow(struct sock *sk, bool received)
{
	struct endpoint local = {.port = FIELD(sk, __sk_common.skc_num)};
	struct endpoint peer = {.port = __builtin_bswap16(FIELD(sk, __sk_common.skc_dport))};

	if (FIELD(sk, __sk_common.skc_family) == AF_INET) {
		local.address[0] = FIELD(sk, __sk_common.skc_rcv_saddr);
		peer.address[0] = FIELD(sk, __sk_common.skc_daddr);
	} else {
		READ_BYTES(local.address, sk, __sk_common.skc_v6_rcv_saddr);
		READ_BYTES(peer.address, sk, __sk_common.skc_v6_daddr);
		unmap_address(&local);
		unmap_address(&peer);
	}
	return received ? key_of(&local, &peer) : key_of(&peer, &local);
}

/* The key of the flow that socket @object, an Internet socket, gets, or (TCP) of what it sends. */
static __always_inline __u64 key_of_object(const struct event_object *object, bool received)
{
	struct endpoint local = {.port = object->local_port}, peer = {};

	if (object->protocol != IPPROTO_UDP) {
		peer.port = object->peer_port;
		set_address(&local, object->family, object->local);
		set_address(&peer, object->family, object->peer);
	}
	return received ? key_of(&local, &peer) : key_of(&peer, &local);
}

/* The recorded thread that sent last to the socket @object; 0: unknown. */
static __always_inline __u32 sender_to(const struct event_object *object)
{
	const struct flow *flow;

	if (object->type != OBJECT_SOCKET ||
	    (object->family != AF_INET && object->family != AF_INET6))
		return 0;
	flow = flow_of(key_of_object(object, true), false);
	return flow ? flow->sender : 0;
}
