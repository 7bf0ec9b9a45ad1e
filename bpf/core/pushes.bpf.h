/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Pushes: what a server sends to a client for another reason than what the client sent last, as to
 * subscribers. Of what causes a send, only this much is seen:
 *
 * A turn of a thread lasts until it blocks (other than for I/O or a lock of the kernel). If in its
 * turn it has read what the client sent, it sends an answer. If it has read from other clients, and
 * nothing that may be the reply to a question of the server's own, it pushes. If it has read
 * nothing, and a timer ended the last turn's wait, it was idle: that is a late send.
 *
 * Neither is said if the thread that read the client's data handed it on: within its turn, after
 * that and before it read from another client, it woke another thread of the process, or sent to
 * somebody else than a client. Nor if, in a process of which several threads read from sockets,
 * something was sent to others than clients since.
 */
#pragma once

#include "abi/span.h"
#include "bpf/core/object.bpf.h"
#include "bpf/core/state.bpf.h"

#define MAX_READERS 16384 /* that are observed at a time: those that read last */
#define MAX_ASKED   16384

/* What a thread has read from sockets, in its turn. */
struct reader {
	__u64 client;  /* address of the client's socket that it read last; 0: another one's */
	__u64 asked;   /* the server sent to the sockets of its own that were read at that time */
	__u64 arrived; /* of what was read last: the reason of a push */
	__u64 read;
	__u32 turn;
	__u8 others;  /* it read from clients of whatever port, or from sockets of its own */
	__u8 unclear; /* it read from sockets of which it is not known who connected them */
};

/* By number of the thread. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_READERS);
	__type(key, __u32);
	__type(value, struct reader);
} readers SEC(".maps");

/* When the server sent to sockets that it connected itself, by their addresses. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_ASKED);
	__type(key, __u64);
	__type(value, __u64);
} asked_sockets SEC(".maps");

struct asking_process {
	__u64 asked;   /* when it sent to others than clients last */
	__u32 reader;  /* a thread that reads from sockets */
	__u32 several; /* there is another one */
};

/* By pid. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_READERS);
	__type(key, __u32);
	__type(value, struct asking_process);
} asking_processes SEC(".maps");

/* What @state's thread, which is current, read from a client last was handed to somebody else. */
static __always_inline void hand_on(const struct thread_state *state);

static __always_inline __u8 side_of(struct sock *sk)
{
	__u16 family = READ(sk, __sk_common.skc_family);

	if (family == AF_UNIX)
		return side_of_unix(sk);
	return (family == AF_INET || family == AF_INET6) && READ(sk, sk_protocol) == IPPROTO_TCP
		       ? side_of_tcp(sk)
		       : SOCKET_SIDE_UNKNOWN;
}

static __always_inline struct asking_process *process_of(struct task_struct *task)
{
	static const struct asking_process none;
	__u32 pid = tgid_of(task);
	struct asking_process *process = bpf_map_lookup_elem(&asking_processes, &pid);

	if (process)
		return process;
	bpf_map_update_elem(&asking_processes, &pid, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&asking_processes, &pid);
}

/* What @state's thread, which is current, has read in its turn. NULL: no memory. */
static __always_inline struct reader *reader_of(const struct thread_state *state)
{
	static const struct reader none;
	__u32 thread = state->thread;
	struct reader *reader = bpf_map_lookup_elem(&readers, &thread);

	if (!reader) {
		bpf_map_update_elem(&readers, &thread, &none, BPF_NOEXIST);
		reader = bpf_map_lookup_elem(&readers, &thread);
	}
	if (reader && reader->turn != state->turn) {
		*reader = none;
		reader->turn = state->turn;
	}
	return reader;
}

/*
 * Current, of @state, has read from @sk, which is @connection; NULL: it is not observed.
 */
static __noinline void note_input(struct sock *sk, struct thread_state *state,
				  struct connection *connection)
{
	struct asking_process *process = process_of(bpf_get_current_task_btf());
	__u8 side = connection ? SOCKET_SIDE_SERVER : side_of(sk);
	struct reader *reader = reader_of(state);
	__u64 key = (__u64)sk, now = bpf_ktime_get_ns(), *asked;

	if (!reader)
		return;
	if (process && process->reader && process->reader != state->thread)
		process->several = 1;
	else if (process)
		process->reader = state->thread;
	reader->client = connection ? key : 0;
	reader->read = now;
	reader->arrived = connection && connection->unread && connection->unread < now
				  ? connection->unread
				  : now;
	if (connection) {
		connection->read_turn = state->turn;
		connection->read_by = state->thread;
		connection->handed_on = 0;
	}
	if (side == SOCKET_SIDE_UNKNOWN) {
		reader->unclear = 1;
		return;
	}
	reader->others = 1;
	asked = side == SOCKET_SIDE_CLIENT ? bpf_map_lookup_elem(&asked_sockets, &key) : NULL;
	if (asked && *asked > reader->asked)
		reader->asked = *asked;
}

/* Current, of @state, sends to @sk, which is not the socket of an observed client. */
static __noinline void note_output(struct sock *sk, struct thread_state *state)
{
	struct asking_process *process;
	__u64 key = (__u64)sk, now;

	if (side_of(sk) == SOCKET_SIDE_SERVER)
		return;
	now = bpf_ktime_get_ns();
	process = process_of(bpf_get_current_task_btf());
	if (process)
		process->asked = now;
	bpf_map_update_elem(&asked_sockets, &key, &now, BPF_ANY);
	hand_on(state);
}

static __always_inline bool is_poll(const struct thread_state *state)
{
	__s16 nr = state->blocked_in;

	return nr >= 0 && nr < CAPTURE_SYSCALLS &&
	       settings.syscall_transfer[nr & (CAPTURE_SYSCALLS - 1)] == TRANSFER_POLL;
}

/*
 * Why current, of @state, sends to @connection, whose request has begun. Sets *@reason_at to when
 * the reason was read, and *@arrived to when it came.
 */
static __noinline enum span_flags send_reason(const struct connection *connection,
					      const struct thread_state *state, __u64 *arrived,
					      __u64 *reason_at)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 thread = state->thread, pid = tgid_of(task);
	struct reader *reader = bpf_map_lookup_elem(&readers, &thread);
	struct asking_process *process = bpf_map_lookup_elem(&asking_processes, &pid);
	bool same = connection->read_by == thread;

	if (connection->handed_on || (same && connection->read_turn == state->turn))
		return SPAN_ANSWER;
	if (process && process->several && process->asked >= connection->begun)
		return SPAN_ANSWER;
	if (reader && reader->turn == state->turn) {
		if (!reader->others || reader->unclear || reader->asked >= connection->begun)
			return SPAN_ANSWER;
		*arrived = reader->arrived;
		*reason_at = reader->read;
		return SPAN_PUSH;
	}
	if (state->waker_context != WAKER_HARDIRQ || (same && !is_poll(state)))
		return SPAN_ANSWER;
	*arrived = connection->arrived;
	*reason_at = connection->begun;
	return SPAN_LATE;
}
