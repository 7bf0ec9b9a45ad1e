/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The file or socket behind a system call's descriptor. */
#pragma once

#include "bpf/core/state.bpf.h"

#define S_IFMT	      0170000
#define S_IFSOCK      0140000
#define NO_DESCRIPTOR (~0U)
#define POLLED_MAX    4 /* of so few descriptors, the first stands for all that are polled */

/* The descriptor in the struct pollfd at @user, or NO_DESCRIPTOR if it cannot be read. */
static __always_inline __u32 polled_descriptor(const void *user)
{
	__u32 fd = NO_DESCRIPTOR;

	bpf_probe_read_user(&fd, sizeof(fd), user);
	return fd;
}

/*
 * The descriptor that @task waits for in system call @nr, or NO_DESCRIPTOR. @current: @task is the
 * current task, so that its user memory can be read.
 */
static __always_inline __u32 waited_descriptor(struct task_struct *task, long nr, bool current)
{
	struct pt_regs *regs;

	if (nr < 0)
		return NO_DESCRIPTOR;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	if ((nr == settings.nr_poll || nr == settings.nr_ppoll) && current && REGS_ARG2(regs) > 0 &&
	    REGS_ARG2(regs) <= POLLED_MAX)
		return polled_descriptor((void *)REGS_ARG1(regs));
	if (nr < CAPTURE_SYSCALLS && settings.syscall_takes_fd[nr & (CAPTURE_SYSCALLS - 1)])
		return (__u32)REGS_ARG1(regs);
	return NO_DESCRIPTOR;
}

/* The file of descriptor @fd of @task, or NULL. */
static __always_inline struct file *file_of_descriptor(struct task_struct *task, __u32 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = NULL;

	if (table && fd < READ(table, max_fds))
		bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(table, fd) + fd);
	return file;
}

/*
 * Sets type and mode of @object by the @inode of a file. For an anonymous inode (epoll, eventfd,
 * ...) the type stays OBJECT_NONE.
 */
static __always_inline void describe_inode(struct event_object *object, struct inode *inode)
{
	object->mode = READ(inode, i_mode);
	if (object->mode & S_IFMT)
		object->type = (object->mode & S_IFMT) == S_IFSOCK ? OBJECT_SOCKET : OBJECT_FILE;
}

/* The socket behind @file, which is one. */
static __always_inline struct sock *socket_of(struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);

	return BPF_CORE_READ(socket, sk);
}

/* Sets family and protocol of @object. */
static __always_inline void describe_socket(struct event_object *object, struct sock *sk)
{
	object->family = READ(sk, __sk_common.skc_family);
	object->protocol = READ(sk, sk_protocol);
}
