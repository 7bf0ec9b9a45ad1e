/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a thread waited for, finer than its class: from the system call it was
 * in and the functions on its kernel stack.
 */
#pragma once

#include "model/model.h"

/* In the order of the names in kinds.c; not stored anywhere, so free to change. */
enum wait_kind {
	KIND_NONE = 0,
	KIND_RUNNING,
	KIND_PREEMPTED,
	KIND_YIELD,
	KIND_RUN_QUEUE,
	KIND_FIRST_RUN,
	KIND_DISK_READ,
	KIND_DISK_WRITE,
	KIND_FSYNC,
	KIND_JOURNAL_COMMIT,
	KIND_JOURNAL_SPACE,
	KIND_PAGE_FAULT_READ,
	KIND_SWAP_IN,
	KIND_WRITEBACK,
	KIND_WRITEBACK_THROTTLING,
	KIND_METADATA_READ,
	KIND_BLOCK_QUEUE_FULL,
	KIND_BLOCK_THROTTLING,
	KIND_PAGE_LOCK,
	KIND_TCP_RECEIVE,
	KIND_TCP_SEND,
	KIND_TCP_ACCEPT,
	KIND_TCP_CONNECT,
	KIND_UDP_RECEIVE,
	KIND_UDP_SEND,
	KIND_UNIX_RECEIVE,
	KIND_UNIX_SEND,
	KIND_UNIX_ACCEPT,
	KIND_UNIX_CONNECT,
	KIND_SOCKET_RECEIVE,
	KIND_SOCKET_SEND,
	KIND_SOCKET_ACCEPT,
	KIND_SOCKET_CONNECT,
	KIND_PIPE_READ,
	KIND_PIPE_WRITE,
	KIND_PIPE_OPEN,
	KIND_FUTEX,
	KIND_KERNEL_MUTEX,
	KIND_KERNEL_RWSEM,
	KIND_KERNEL_PERCPU_RWSEM,
	KIND_KERNEL_RTMUTEX,
	KIND_KERNEL_SEMAPHORE,
	KIND_MMAP_LOCK,
	KIND_SLEEP,
	KIND_CHILD,
	KIND_EPOLL,
	KIND_POLL,
	KIND_SELECT,
	KIND_SIGNAL,
	KIND_EVENTFD,
	KIND_TIMERFD,
	KIND_SIGNALFD,
	KIND_INOTIFY,
	KIND_FANOTIFY,
	KIND_IO_URING,
	KIND_AIO,
	KIND_FILE_LOCK,
	KIND_SYSV_SEMAPHORE,
	KIND_SYSV_MESSAGE,
	KIND_POSIX_MESSAGE,
	KIND_TTY_READ,
	KIND_TTY_WRITE,
	KIND_VFORK,
	KIND_PTRACE_STOP,
	KIND_STOPPED,
	KIND_FREEZER,
	KIND_RECLAIM,
	KIND_COMPACTION,
	KIND_MIGRATION,
	KIND_CGROUP_THROTTLE,
	KIND_EXIT,
	KIND_EXEC,
	KIND_USERFAULTFD,
	KIND_FUSE,
	KIND_NFS,
	KIND_9P,
	KIND_CIFS,
	KIND_RCU,
	KIND_WORK_FLUSH,
	KIND_COMPLETION,
	KIND_PERF,
	KIND_KVM,
	KIND_IDLE_THREAD,
	KIND_IO, /* nothing better is known of a wait of that class */
	KIND_LOCK,
	KIND_OTHER,
	KIND_COUNT,
};

/* "disk read", "futex", ... */
const char *kind__name(enum wait_kind kind);

/* Tables of one model: function names and system calls already looked up. */
struct kinds;

int kinds__new(const struct model *model, struct kinds **out);
void kinds__free(struct kinds *kinds);

struct kind_question {
	enum wait_class class;
	uint16_t flags;	 /* enum interval_flags; with CLASS_SCHED they tell why */
	int16_t syscall; /* -1: none */
	uint32_t kernel; /* stack */
	uint32_t object;
};

enum wait_kind kinds__of(struct kinds *kinds, const struct kind_question *question);

/* The object as text, "" when unknown: a path, an address, a pid, a futex word. */
void object__text(const struct model *model, uint32_t index, char *text, size_t size);

/* Kind and object as one phrase, "disk read /var/lib/x.sst". */
void kind__describe(const struct model *model, enum wait_kind kind, uint32_t object, char *text,
		    size_t size);

DEFINE_CLEANUP(struct kinds *, kinds__free)
#define _cleanup_kinds_ _cleanup_(kinds__freep)
