/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Sockets that listen on this machine, by which it is known whether a listen queue is full. */
#pragma once

#include "bpf/core/object.bpf.h"

#define MAX_LISTENERS 4096
#define IFF_LOOPBACK  8

/* A listening socket: where, and its address in the kernel. */
struct listener_key {
	__u64 net;
	__u64 port;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_LISTENERS);
	__type(key, struct listener_key);
	__type(value, __u64);
} listeners SEC(".maps");

static __always_inline struct listener_key listener_key(struct sock *sk, __u32 port)
{
	return (struct listener_key){.net = (__u64)BPF_CORE_READ(sk, __sk_common.skc_net.net),
				     .port = port};
}

static __always_inline bool is_listener(const struct listener_key *key, __u64 address)
{
	__u64 *known = bpf_map_lookup_elem(&listeners, key);

	return known && *known == address;
}

/* Whether the listen queue is full at the port that @sk connects to, on this machine. */
static __always_inline bool is_listen_queue_full(struct sock *sk)
{
	struct listener_key key =
		listener_key(sk, __builtin_bswap16(READ(sk, __sk_common.skc_dport)));
	__u64 *address = bpf_map_lookup_elem(&listeners, &key);
	struct sock *listener;

	/* The connection may be to the same port of another machine. */
	if (!address || !(READ(sk, sk_dst_cache, dev, flags) & IFF_LOOPBACK))
		return false;
	listener = (void *)*address;
	return READ(listener, __sk_common.skc_state) == TCP_LISTEN &&
	       READ(listener, sk_ack_backlog) > READ(listener, sk_max_ack_backlog);
}

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
} CORE;

/* Run by user space at the start: the sockets that listen already, in dwell's network namespace. */
SEC("iter/tcp")
int find_listeners(struct bpf_iter__tcp *ctx)
{
	struct sock *sk = (void *)ctx->sk_common;
	struct listener_key key;
	__u64 address;

	if (!sk || READ(sk, __sk_common.skc_state) != TCP_LISTEN)
		return 0;
	key = listener_key(sk, READ(sk, __sk_common.skc_num));
	address = address_in(sk);
	bpf_map_update_elem(&listeners, &key, &address, BPF_ANY);
	return 0;
}
