/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The object that a thread waits for: the file or socket behind its system call's descriptor, the
 * futex word, the child, or the kernel lock.
 */
#pragma once

#include "bpf/core/descriptor.bpf.h"
#include "bpf/core/state.bpf.h"

#define AF_UNIX		1
#define AF_INET		2
#define AF_INET6	10
#define PATH_NAMES	32 /* names and mount points, at most */
#define NAME_SIZE	256
#define P_PID		1
#define IPPROTO_TCP	6
#define TCP_ESTABLISHED 1
#define TCP_CLOSE	7
#define TCP_LISTEN	10 /* of Unix sockets, too */
#define MSG_PEEK	2
#define TCP_DATA_OFFSET 12 /* in the header: the byte with its length in words */

/* Identifies files whose path was sent to user space, as long as they have it. */
struct file_key {
	__u64 inode;
	__u64 name; /* see file_name() */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct file_key);
	__type(value, __u8);
} seen_files SEC(".maps");

struct file_scratch {
	char bytes[sizeof(struct event_file) + DWELL_PATH_SIZE + 2 * NAME_SIZE];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct file_scratch);
} file_scratches SEC(".maps");

/* State of a walk from a file to the root. */
struct path_walk {
	struct path at;
	struct event_file *event;
};

/* One step of a path towards the root. 1 at the end. */
static long path_step(__u32 index, void *arg)
{
	struct path_walk *walk = arg;
	struct event_file *event = walk->event;
	struct path *at = &walk->at;
	struct dentry *parent = BPF_CORE_READ(at->dentry, d_parent);
	__u32 size = event->size;
	long n;

	if (at->dentry == BPF_CORE_READ(at->mnt, mnt_root)) {
		struct mount *mount = (void *)at->mnt - bpf_core_field_offset(struct mount, mnt);
		struct mount *above = BPF_CORE_READ(mount, mnt_parent);

		if (above == mount) {
			event->flags = 0;
			return loop_ends(true);
		}
		at->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		at->mnt = (void *)above + bpf_core_field_offset(struct mount, mnt);
		return loop_ends(false);
	}
	if (at->dentry == parent || size > DWELL_PATH_SIZE)
		return loop_ends(true);
	n = bpf_probe_read_kernel_str(&event->names[size], NAME_SIZE,
				      BPF_CORE_READ(at->dentry, d_name.name));
	if (n <= 0 || n > NAME_SIZE)
		return loop_ends(true);
	event->size = size + n;
	at->dentry = parent;
	return loop_ends(false);
}

/*
 * A hash of @device and what changes if @file is renamed, or its inode number used again. (Not
 * inlined: the frame of the caller is one of the last in a long chain.)
 */
static __noinline __u64 file_name(struct file *file, __u64 device)
{
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
	__u64 name = (__u64)READ(dentry, d_name.hash) << 32 | READ(file, f_inode, i_generation);

	name = (name ^ device << 16) * 0x9e3779b97f4a7c15;
	return name ^ (__u64)BPF_CORE_READ(dentry, d_parent);
}

/*
 * Sends the path of the struct file at @address, unless it was sent before. (A global function, so
 * that it is verified once, not for each path that leads to it.)
 */
GLOBAL int send_path(__u64 address, __u32 thread, __u64 time, __u64 inode, __u64 device)
{
	struct file *file = (void *)address;
	struct file_key key = {inode, file_name(file, device) ^ sent_salt()};
	struct event_file *event;
	struct path_walk walk = {};
	__u32 zero = 0;
	__u8 yes = 1;

	if (bpf_map_lookup_elem(&seen_files, &key))
		return 0;
	event = bpf_map_lookup_elem(&file_scratches, &zero);
	if (!event)
		return 0;
	event->header = (struct event_header){EVENT_FILE, thread, time};
	event->inode = inode;
	event->device = device;
	event->size = 0;
	event->flags = 1; /* until the walk comes to the root */
	walk.event = event;
	walk.at.mnt = BPF_CORE_READ(file, f_path.mnt);
	walk.at.dentry = BPF_CORE_READ(file, f_path.dentry);
	if (settings.use_tables) { /* the kernel has bpf_loop(), of which one iteration is verified
				    */
		bpf_loop(PATH_NAMES, path_step, &walk, 0);
	} else {
		for (int i = 0; i < PATH_NAMES; i++)
			if (path_step(i, &walk))
				break;
	}
	if (event->size > DWELL_PATH_SIZE + NAME_SIZE)
		return 0;
	if (emit(event, sizeof(*event) + event->size, LOSS_RING_FULL))
		bpf_map_update_elem(&seen_files, &key, &yes, BPF_ANY);
	return 0;
}

/*
 * The ports that connect() chooses are marked as not to be shared. An accepted socket has the port
 * of the listening one, which bind() chose.
 */
static __always_inline __u8 side_of_tcp(struct sock *sk)
{
	struct inet_connection_sock *connection = (void *)sk;
	struct inet_bind_bucket *port;

	if (READ(sk, __sk_common.skc_state) == TCP_LISTEN)
		return SOCKET_SIDE_SERVER;
	port = BPF_CORE_READ(connection, icsk_bind_hash);
	if (!port || !bpf_core_field_exists(port->fastreuse))
		return SOCKET_SIDE_UNKNOWN;
	return READ(port, fastreuse) < 0 ? SOCKET_SIDE_CLIENT : SOCKET_SIDE_SERVER;
}

/* An accepted socket has the path of the listening one, which connected ones do not have. */
static __always_inline __u8 side_of_unix(struct sock *sk)
{
	struct unix_sock *own = (void *)sk, *peer;

	if (!bpf_core_field_exists(own->addr))
		return SOCKET_SIDE_UNKNOWN;
	if (BPF_CORE_READ(own, addr))
		return SOCKET_SIDE_SERVER;
	peer = (void *)BPF_CORE_READ(own, peer);
	return peer && BPF_CORE_READ(peer, addr) ? SOCKET_SIDE_CLIENT : SOCKET_SIDE_UNKNOWN;
}

/* Sets what @object says of the socket @sk, but its id. */
static __always_inline void socket_object(struct event_object *object, struct sock *sk)
{
	describe_socket(object, sk);
	if (object->family == AF_UNIX)
		object->side = side_of_unix(sk);
	else if (object->protocol == IPPROTO_TCP)
		object->side = side_of_tcp(sk);
	if (object->family == AF_INET) {
		READ_BYTES(object->peer, sk, __sk_common.skc_daddr);
		READ_BYTES(object->local, sk, __sk_common.skc_rcv_saddr);
	} else if (object->family == AF_INET6) {
		READ_BYTES(object->peer, sk, __sk_common.skc_v6_daddr);
		READ_BYTES(object->local, sk, __sk_common.skc_v6_rcv_saddr);
	} else {
		return;
	}
	if (bpf_core_field_exists(sk->sk_rx_dst_ifindex))
		object->extra = (__u32)READ(sk, sk_rx_dst_ifindex);
	if (!object->extra && BPF_CORE_READ(sk, sk_dst_cache)) /* it has sent, but not received */
		object->extra = (__u32)READ(sk, sk_dst_cache, dev, ifindex);
	object->peer_port = __builtin_bswap16(READ(sk, __sk_common.skc_dport));
	object->local_port = READ(sk, __sk_common.skc_num);
}

static __always_inline bool is_epoll(long nr)
{
	return nr == settings.nr_epoll_wait || nr == settings.nr_epoll_pwait ||
	       nr == settings.nr_epoll_pwait2;
}

/* The file that the epoll file @epoll has found ready first, or NULL. */
static __always_inline struct file *ready_file(struct file *epoll)
{
	struct eventpoll *events = BPF_CORE_READ(epoll, private_data);
	struct list_head *first = BPF_CORE_READ(events, rdllist.next);
	struct epitem *item;

	if (!first ||
	    (void *)first == (void *)events + bpf_core_field_offset(struct eventpoll, rdllist))
		return NULL;
	item = (void *)first - bpf_core_field_offset(struct epitem, rdllink);
	return BPF_CORE_READ(item, ffd.file);
}

/* A thread in epoll_wait() waited for the socket that is ready now, if one is. */
static __always_inline void epoll_object(struct event_object *object, struct file *epoll)
{
	struct file *file = ready_file(epoll);
	struct inode *inode = file ? BPF_CORE_READ(file, f_inode) : NULL;

	if (!inode)
		return;
	describe_inode(object, inode);
	if (object->type == OBJECT_SOCKET) {
		object->id = READ(inode, i_ino);
		socket_object(object, socket_of(file));
	} else {
		object->type = OBJECT_NONE;
		object->mode = 0;
	}
}

static __always_inline void file_object(struct event_object *object, struct task_struct *task,
					struct thread_state *state, __u32 fd)
{
	struct file *file = file_of_descriptor(task, fd);
	struct inode *inode;

	if (!file)
		return;
	if (is_epoll(syscall_of(task))) {
		epoll_object(object, file);
		return;
	}
	inode = BPF_CORE_READ(file, f_inode);
	describe_inode(object, inode);
	if (object->type == OBJECT_NONE)
		return;
	object->fd = fd;
	object->id = READ(inode, i_ino);
	if (object->type == OBJECT_SOCKET) {
		socket_object(object, socket_of(file));
		return;
	}
	object->extra = READ(inode, i_sb, s_dev);
	send_path((__u64)file, state->thread, state->t_in, object->id, object->extra);
}

/*
 * Sets system call and object of @event, the interval of @task. @current: @task is the current
 * task, so that its user memory can be read.
 */
static __always_inline void find_object(struct event_interval *event, struct task_struct *task,
					struct thread_state *state, bool current)
{
	struct event_object *object = &event->object;
	struct pt_regs *regs;
	__u64 first, second;
	long nr;

	nr = syscall_of(task);
	event->syscall = nr;
	if (state->lock) {
		object->type = OBJECT_KLOCK;
		object->id = state->lock;
		return;
	}
	if (event->class == CLASS_SCHED || nr < 0)
		return;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	first = REGS_ARG1(regs);
	second = REGS_ARG2(regs);
	if (nr == NR_FUTEX || nr == NR_FUTEX_WAIT) {
		object->type = OBJECT_FUTEX;
		object->id = first;
	} else if (nr == settings.nr_wait4 && (int)first > 0) {
		object->type = OBJECT_CHILD;
		object->id = (__u32)first;
	} else if (nr == settings.nr_waitid && first == P_PID) {
		object->type = OBJECT_CHILD;
		object->id = (__u32)second;
	} else {
		file_object(object, task, state, waited_descriptor(task, nr, current));
	}
}
