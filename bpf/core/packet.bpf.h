/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Packets that a socket sends, when they are queued to a network device. */
#pragma once

#include "bpf/core/object.bpf.h"

#define TCP_TIME_WAIT	 6
#define TCP_NEW_SYN_RECV 12

/*
 * Whether @sk, a pointer that the verifier knows, is an Internet socket with all its fields: some
 * are short for others.
 */
static __always_inline bool is_full_socket(struct sock *sk)
{
	__u16 family = FIELD(sk, __sk_common.skc_family);
	__u8 state = FIELD(sk, __sk_common.skc_state);

	return (family == AF_INET || family == AF_INET6) && state != TCP_TIME_WAIT &&
	       state != TCP_NEW_SYN_RECV;
}

static __always_inline void *transport_header(struct sk_buff *packet)
{
	return BPF_CORE_READ(packet, head) + READ(packet, transport_header);
}

static __always_inline bool tcp_has_data(struct sk_buff *packet)
{
	unsigned char *header = transport_header(packet);
	long before = header - BPF_CORE_READ(packet, data);
	__u8 words = 0;

	bpf_probe_read_kernel(&words, sizeof(words), header + TCP_DATA_OFFSET);
	return (long)READ(packet, len) > before + (words >> 4) * 4;
}
