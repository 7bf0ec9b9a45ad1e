/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Who sent what a socket received last. A packet to a socket of this machine may be delivered by a
 * soft interrupt on another CPU, or later on this one: then the thread that wakes the receiver is
 * not the one that sent it.
 */
#pragma once

#include "bpf/record/thread.bpf.h"
#include "bpf/core/context.bpf.h"
#include "bpf/core/object.bpf.h"
#include "bpf/core/packet.bpf.h"

#define MAX_SENDERS	65536 /* sockets that are sent to */
#define IPPROTO_UDP	17
#define UDP_DESTINATION 2 /* in the header: the port */

/* An address and a port, or 0 for each that is not known. */
struct endpoint {
	__u64 address[2];
	__u64 port;
};

/* By the hash of the receiving socket's endpoints: see key_of(). */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_SENDERS);
	__type(key, __u64);
	__type(value, __u32);
} senders SEC(".maps");

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

/* The key of the socket that gets @packet of @sk; 0: there is none to be woken. */
static __always_inline __u64 key_of_receiver(struct sk_buff *packet, struct sock *sk)
{
	__u16 family = READ(sk, __sk_common.skc_family), port = 0;
	struct endpoint local = {}, peer = {};

	if (!is_full_socket(sk))
		return 0;
	if (READ(sk, sk_protocol) == IPPROTO_UDP) {
		bpf_probe_read_kernel(&port, sizeof(port),
				      transport_header(packet) + UDP_DESTINATION);
		local.port = __builtin_bswap16(port);
		return key_of(&local, &peer);
	}
	if (READ(sk, sk_protocol) != IPPROTO_TCP || !tcp_has_news(packet))
		return 0;
	local.port = __builtin_bswap16(READ(sk, __sk_common.skc_dport));
	peer.port = READ(sk, __sk_common.skc_num);
	if (family == AF_INET) {
		READ_BYTES(local.address, sk, __sk_common.skc_daddr);
		READ_BYTES(peer.address, sk, __sk_common.skc_rcv_saddr);
	} else {
		READ_BYTES(local.address, sk, __sk_common.skc_v6_daddr);
		READ_BYTES(peer.address, sk, __sk_common.skc_v6_rcv_saddr);
		unmap_address(&local);
		unmap_address(&peer);
	}
	return key_of(&local, &peer);
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(on_packet, struct sk_buff *packet)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = capture.active ? target_state(task) : NULL;
	struct sock *sk = state ? BPF_CORE_READ(packet, sk) : NULL;
	__u64 key;

	if (!sk || context_of(task) != WAKER_TASK)
		return 0;
	key = key_of_receiver(packet, sk);
	if (key)
		bpf_map_update_elem(&senders, &key, &state->thread, BPF_ANY);
	return 0;
}

/* The recorded thread that sent last to the socket @object; 0: unknown. */
static __always_inline __u32 sender_to(const struct event_object *object)
{
	struct endpoint local = {.port = object->local_port}, peer = {};
	__u32 *sender;
	__u64 key;

	if (object->type != OBJECT_SOCKET ||
	    (object->family != AF_INET && object->family != AF_INET6))
		return 0;
	if (object->protocol != IPPROTO_UDP) {
		peer.port = object->peer_port;
		set_address(&local, object->family, object->local);
		set_address(&peer, object->family, object->peer);
	}
	key = key_of(&local, &peer);
	sender = bpf_map_lookup_elem(&senders, &key);
	return sender ? *sender : 0;
}
