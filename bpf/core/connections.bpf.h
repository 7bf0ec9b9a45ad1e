/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Requests to a server, seen from its sockets: a request begins with the first read on an accepted
 * connection, and ends with the last write before the next read. So any protocol works in which the
 * client waits for the answer; requests that it sends at once, without waiting, are one.
 *
 * Linux 6.3 and later have tracepoints behind every send and receive; earlier, all system calls are
 * observed. A product defines connection_answered(), connection_served() and connection_pushed()
 * before it includes this header.
 */
#pragma once

#include "abi/span.h"
#include "bpf/core/context.bpf.h"
#include "bpf/core/packet.bpf.h"
#include "bpf/core/pushes.bpf.h"

#define MAX_CONNECTIONS 65536 /* that are observed at a time: those used last */

/* By the address of struct sock. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_CONNECTIONS);
	__type(key, __u64);
	__type(value, struct connection);
} connections SEC(".maps");

/* The server sends the first bytes that answer a request. */
static __always_inline void connection_answered(const struct connection *connection);
/* The request of @connection is over, and was answered. Of a thread that is recorded. */
static __always_inline void connection_served(const struct connection *connection);
/*
 * Current, of number @thread, sends to @connection, but does not answer: @why says why. The reason
 * arrived and was read at these times.
 */
static __always_inline void connection_pushed(const struct connection *connection, __u32 thread,
					      enum span_flags why, __u64 arrived, __u64 read);

/* Sets the source of @connection if @sk is connected to the port of a listener. */
static __always_inline void find_tcp_listener(struct connection *connection, struct sock *sk)
{
	__u16 port = READ(sk, __sk_common.skc_num);

	if (!port || READ(sk, sk_protocol) != IPPROTO_TCP)
		return;
	for (__u32 i = 0; i < CAPTURE_LISTENERS && i < settings.n_listeners; i++) {
		if (settings.listeners[i].port != port)
			continue;
		connection->source = settings.listeners[i].source;
		return;
	}
}

static __always_inline bool is_path(const __u64 *path, const volatile __u64 *wanted)
{
	for (int i = 0; i < CAPTURE_SOCKET_PATH / 8; i++)
		if (path[i] != wanted[i])
			return false;
	return true;
}

/* The same for the path of a Unix socket, which an accepted one has from the listening one. */
static __noinline void find_unix_listener(struct connection *connection, struct sock *sk)
{
	struct unix_sock *socket = (void *)sk;
	__u64 path[CAPTURE_SOCKET_PATH / 8] = {};
	struct unix_address *address;
	__u32 size;

	if (!bpf_core_field_exists(socket->addr))
		return;
	address = BPF_CORE_READ(socket, addr);
	if (!address)
		return;
	/* With the NUL behind a path, also behind one that fills sun_path. */
	size = READ(address, len) - sizeof(__u16);
	if (size > sizeof(path))
		return;
	bpf_probe_read_kernel(path, size,
			      (void *)address + bpf_core_field_offset(struct unix_address, name) +
				      bpf_core_field_offset(struct sockaddr_un, sun_path));
	if (!path[0])
		return;
	for (__u32 i = 0; i < CAPTURE_LISTENERS && i < settings.n_listeners; i++)
		if (is_path(path, settings.listeners[i].path))
			connection->source = settings.listeners[i].source;
}

static __always_inline void find_listener(struct connection *connection, struct sock *sk)
{
	__u16 family = READ(sk, __sk_common.skc_family);

	if (READ(sk, __sk_common.skc_state) == TCP_LISTEN)
		return;
	if (settings.listens_at_ports && (family == AF_INET || family == AF_INET6))
		find_tcp_listener(connection, sk);
	else if (settings.listens_at_paths && family == AF_UNIX)
		find_unix_listener(connection, sk);
}

static __always_inline __u64 inode_of_socket(struct sock *sk)
{
	struct socket *socket = BPF_CORE_READ(sk, sk_socket);
	struct socket_alloc *both =
		(void *)socket - bpf_core_field_offset(struct socket_alloc, socket);

	return socket ? READ(both, vfs_inode.i_ino) : 0;
}

static __always_inline void finish_request(struct connection *connection)
{
	if (connection->begun && connection->ended)
		connection_served(connection);
	connection->begun = connection->ended = 0;
	connection->pushed = 0;
}

static __always_inline void describe_connection(struct connection *connection, struct sock *sk)
{
	connection->socket = inode_of_socket(sk);
	connection->object = (struct event_object){
		.type = OBJECT_SOCKET,
		.id = connection->socket,
	};
	socket_object(&connection->object, sk);
	connection->object.side = SOCKET_SIDE_SERVER;
}

/* What is known of @sk, if it is a connection to one of the listeners; else NULL. */
static __noinline struct connection *connection_of(struct sock *sk)
{
	struct connection fresh = {};
	struct connection *connection;
	__u64 key = (__u64)sk;

	find_listener(&fresh, sk);
	if (!fresh.source)
		return NULL;
	connection = bpf_map_lookup_elem(&connections, &key);
	if (connection && connection->socket == inode_of_socket(sk))
		return connection;
	if (connection && connection->socket) { /* another socket, at the same address */
		finish_request(connection);
		bpf_map_delete_elem(&connections, &key);
		connection = NULL;
	}
	if (!connection) {
		/* Another CPU may be faster. */
		bpf_map_update_elem(&connections, &key, &fresh, BPF_NOEXIST);
		connection = bpf_map_lookup_elem(&connections, &key);
	}
	if (connection)
		describe_connection(connection, sk);
	return connection;
}

static __always_inline bool is_all_read(struct sock *sk)
{
	struct tcp_sock *tcp = (void *)sk;

	if (READ(sk, __sk_common.skc_family) == AF_UNIX)
		return !READ(sk, sk_receive_queue.qlen);
	return READ(tcp, rcv_nxt) == READ(tcp, copied_seq);
}

/* The number of current, if it is recorded; else 0. */
static __always_inline __u32 current_thread(void)
{
	struct thread_state *state = target_state(bpf_get_current_task_btf());

	return state ? state->thread : 0;
}

/* @queued: the data can be read already, and perhaps was. */
static __always_inline void data_arrives(struct sock *sk, bool queued)
{
	struct connection *connection = connection_of(sk);

	if (connection && !connection->unread && !(queued && is_all_read(sk)))
		connection->unread = bpf_ktime_get_ns();
}

/* Current has read @size bytes, or (0) found the end of the connection. */
static __always_inline void data_received(struct sock *sk, long size)
{
	struct connection *connection = size < 0 ? NULL : connection_of(sk);
	struct thread_state *state = size > 0 ? target_state(bpf_get_current_task_btf()) : NULL;
	__u64 now, key = (__u64)sk;

	if (state)
		note_input(sk, state, connection);
	if (!connection)
		return;
	if (!size) {
		finish_request(connection);
		/* The next socket at its address does not find it, perhaps on two CPUs at once. */
		bpf_map_delete_elem(&connections, &key);
		return;
	}
	if (!connection->begun || connection->ended || connection->pushed) {
		finish_request(connection);
		now = bpf_ktime_get_ns();
		connection->begun = now;
		connection->arrived =
			connection->unread && connection->unread < now ? connection->unread : now;
		connection->begun_by = current_thread();
	}
	if (is_all_read(sk))
		connection->unread = 0;
}

/* Whether current sends for another reason than the request: it is told once in a turn. */
static __always_inline bool is_pushed(struct connection *connection)
{
	struct thread_state *state = target_state(bpf_get_current_task_btf());
	__u64 arrived = 0, read = 0;
	enum span_flags why;

	if (!state)
		return false;
	why = send_reason(connection, state, &arrived, &read);
	if (why == SPAN_ANSWER)
		return false;
	if (connection->pushed_by != state->thread || connection->push_turn != state->turn)
		connection_pushed(connection, state->thread, why, arrived, read);
	connection->pushed_by = state->thread;
	connection->push_turn = state->turn;
	connection->pushed = 1;
	return true;
}

static __always_inline void answer(struct connection *connection, __u32 thread)
{
	bool first = !connection->ended;

	connection->ended = bpf_ktime_get_ns();
	connection->ended_by = thread;
	if (first)
		connection_answered(connection);
}

/*
 * Current is sending, and the receiver may see it before the send returns. Then the next request
 * may be read before that, too.
 */
static __always_inline void data_leaves(struct sock *sk)
{
	struct connection *connection = connection_of(sk);
	__u32 thread = current_thread();

	if (!connection || !connection->begun || !thread || is_pushed(connection))
		return;
	connection->sending = thread;
	connection->answers = connection->begun;
	answer(connection, thread);
}

static __always_inline void data_sent(struct sock *sk, long size)
{
	struct connection *connection = size <= 0 ? NULL : connection_of(sk);
	struct thread_state *state = target_state(bpf_get_current_task_btf());
	__u32 thread = state ? state->thread : 0;
	bool late;

	if (!connection && state && size > 0)
		note_output(sk, state);
	if (!connection || !connection->begun || !thread)
		return;
	late = connection->sending == thread && connection->answers != connection->begun;
	if (connection->sending == thread)
		connection->sending = 0;
	if (!late && !is_pushed(connection))
		answer(connection, thread);
}

static __always_inline void hand_on(const struct thread_state *state)
{
	__u32 thread = state->thread;
	struct reader *reader = bpf_map_lookup_elem(&readers, &thread);
	struct connection *connection;
	__u64 key;

	if (!reader || reader->turn != state->turn || !reader->client)
		return;
	key = reader->client;
	connection = bpf_map_lookup_elem(&connections, &key);
	if (connection)
		connection->handed_on = 1;
}

/* Current wakes @task itself: in its process, to hand something on, perhaps. */
static __always_inline void note_wakeup(struct task_struct *task)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct thread_state *state;

	if (!settings.n_listeners || tgid_of(task) != tgid_of(waker) || task == waker)
		return;
	state = target_state(waker);
	if (state)
		hand_on(state);
}

/* The other end of @sk if it is a Unix socket, and these are observed; else NULL. */
static __always_inline struct sock *unix_peer(struct sock *sk)
{
	struct unix_sock *socket = (void *)sk;

	if (!settings.listens_at_paths || READ(sk, __sk_common.skc_family) != AF_UNIX ||
	    !bpf_core_field_exists(socket->peer))
		return NULL;
	return BPF_CORE_READ(socket, peer);
}

/* The client at the other end of @sk has read an answer of which nothing was seen yet. */
static __always_inline void data_was_sent(struct sock *sk)
{
	struct connection *connection = connection_of(sk);

	if (connection && connection->begun && !connection->ended && connection->begun_by)
		answer(connection, connection->begun_by);
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(on_data_ready, struct sock *sk)
{
	struct sock *sender;

	if (!capture.active)
		return 0;
	data_arrives(sk, true);
	sender = unix_peer(sk); /* which current sends from: it may be the server */
	if (sender)
		data_leaves(sender);
	return 0;
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(on_reply, struct sk_buff *packet)
{
	struct sock *sk = capture.active ? packet->sk : NULL;

	if (sk && is_full_socket(sk) && READ(sk, sk_protocol) == IPPROTO_TCP &&
	    context_of(bpf_get_current_task_btf()) == WAKER_TASK && tcp_has_data(packet))
		data_leaves(sk);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_receive, struct sock *sk, int size, int flags)
{
	struct sock *sender;

	if (!capture.active || flags & MSG_PEEK)
		return 0;
	data_received(sk, size);
	sender = size > 0 ? unix_peer(sk) : NULL;
	if (sender)
		data_was_sent(sender);
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(on_send, struct sock *sk, int size, int flags)
{
	if (capture.active)
		data_sent(sk, size);
	return 0;
}

/* Before Linux 6.3: a segment that comes over an established connection. */
SEC("tp_btf/tcp_probe")
int BPF_PROG(on_segment, struct sock *sk, struct sk_buff *segment)
{
	__u8 words = 0;

	if (!capture.active)
		return 0;
	bpf_probe_read_kernel(&words, sizeof(words),
			      BPF_CORE_READ(segment, data) + TCP_DATA_OFFSET);
	if (READ(segment, len) > (words >> 4) * 4U)
		data_arrives(sk, false);
	return 0;
}

/* Before Linux 6.3. Accepted sockets have the state of a new connection when it is established. */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_transfer, struct pt_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct event_object object = {};
	long nr = capture.active && result >= 0 ? syscall_of(task) : SYSCALL_NONE;
	struct file *file;
	__u8 transfer;

	if (nr < 0 || nr >= CAPTURE_SYSCALLS)
		return 0;
	transfer = settings.syscall_transfer[nr & (CAPTURE_SYSCALLS - 1)];
	if (transfer == TRANSFER_POLL)
		return 0;
	file = transfer ? file_of_descriptor(task, (__u32)REGS_ARG1(regs)) : NULL;
	if (!file)
		return 0;
	describe_inode(&object, BPF_CORE_READ(file, f_inode));
	if (object.type != OBJECT_SOCKET)
		return 0;
	if (transfer == TRANSFER_RECEIVE)
		data_received(socket_of(file), result);
	else
		data_sent(socket_of(file), result);
	return 0;
}

/* A TCP connection is over; or begins, perhaps at the address of an old one. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_connection_state, struct sock *sk, int before, int now)
{
	__u64 key = (__u64)sk;
	struct connection *connection;

	if (!capture.active || (now != TCP_CLOSE && now != TCP_ESTABLISHED))
		return 0;
	connection = bpf_map_lookup_elem(&connections, &key);
	if (!connection)
		return 0;
	finish_request(connection);
	bpf_map_delete_elem(&connections, &key);
	return 0;
}
