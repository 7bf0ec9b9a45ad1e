/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Kinds of waits, finer than the class: "disk read", "tcp receive", "futex". Their properties are
 * in wait_kinds/kind_table.c; abi/kind_steps.h decides the kind of a wait.
 *
 * The values are not stored in recordings; their order means nothing.
 */
#pragma once

#include <linux/types.h>

enum wait_kind {
	KIND_NONE = 0,
	KIND_RUNNING = 1,
	KIND_PREEMPTED = 2,
	KIND_YIELD = 3,
	KIND_RUN_QUEUE = 4,
	KIND_FIRST_RUN = 5,
	KIND_DISK_READ = 6,
	KIND_DISK_WRITE = 7,
	KIND_FSYNC = 8,
	KIND_JOURNAL_COMMIT = 9,
	KIND_JOURNAL_SPACE = 10,
	KIND_PAGE_FAULT_READ = 11,
	KIND_SWAP_IN = 12,
	KIND_WRITEBACK = 13,
	KIND_WRITEBACK_THROTTLING = 14,
	KIND_METADATA_READ = 15,
	KIND_BLOCK_QUEUE_FULL = 16,
	KIND_BLOCK_THROTTLING = 17,
	KIND_PAGE_LOCK = 18,
	KIND_TCP_RECEIVE = 19,
	KIND_TCP_SEND = 20,
	KIND_TCP_ACCEPT = 21,
	KIND_TCP_CONNECT = 22,
	KIND_UDP_RECEIVE = 23,
	KIND_UDP_SEND = 24,
	KIND_UNIX_RECEIVE = 25,
	KIND_UNIX_SEND = 26,
	KIND_UNIX_ACCEPT = 27,
	KIND_UNIX_CONNECT = 28,
	KIND_SOCKET_RECEIVE = 29,
	KIND_SOCKET_SEND = 30,
	KIND_SOCKET_ACCEPT = 31,
	KIND_SOCKET_CONNECT = 32,
	KIND_PIPE_READ = 33,
	KIND_PIPE_WRITE = 34,
	KIND_PIPE_OPEN = 35,
	KIND_FUTEX = 36,
	KIND_KERNEL_MUTEX = 37,
	KIND_KERNEL_RWSEM = 38,
	KIND_KERNEL_PERCPU_RWSEM = 39,
	KIND_KERNEL_RTMUTEX = 40,
	KIND_KERNEL_SEMAPHORE = 41,
	KIND_MMAP_LOCK = 42,
	KIND_SLEEP = 43,
	KIND_CHILD = 44,
	KIND_EPOLL = 45,
	KIND_POLL = 46,
	KIND_SELECT = 47,
	KIND_SIGNAL = 48,
	KIND_EVENTFD = 49,
	KIND_TIMERFD = 50,
	KIND_SIGNALFD = 51,
	KIND_INOTIFY = 52,
	KIND_FANOTIFY = 53,
	KIND_IO_URING = 54,
	KIND_AIO = 55,
	KIND_FILE_LOCK = 56,
	KIND_SYSV_SEMAPHORE = 57,
	KIND_SYSV_MESSAGE = 58,
	KIND_POSIX_MESSAGE = 59,
	KIND_TTY_READ = 60,
	KIND_TTY_WRITE = 61,
	KIND_VFORK = 62,
	KIND_PTRACE_STOP = 63,
	KIND_STOPPED = 64,
	KIND_FREEZER = 65,
	KIND_RECLAIM = 66,
	KIND_COMPACTION = 67,
	KIND_MIGRATION = 68,
	KIND_CGROUP_THROTTLE = 69,
	KIND_EXIT = 70,
	KIND_EXEC = 71,
	KIND_USERFAULTFD = 72,
	KIND_FUSE = 73,
	KIND_NFS = 74,
	KIND_9P = 75,
	KIND_CIFS = 76,
	KIND_RCU = 77,
	KIND_WORK_FLUSH = 78,
	KIND_COMPLETION = 79,
	KIND_PERF = 80,
	KIND_KVM = 81,
	KIND_IDLE_THREAD = 82,
	KIND_IO = 83, /* these three: hardly more than the class is known */
	KIND_LOCK = 84,
	KIND_OTHER = 85,
	KIND_CPU_QUOTA = 86,
	KIND_DEADLINE = 87,
	KIND_REALTIME = 88,
	KIND_MEMORY_HIGH = 89,
	KIND_TCP_HELD = 90, /* these are decided by what TCP kept waiting: kinds__of() */
	KIND_TCP_RETRANSMISSION = 91,
	KIND_TCP_WINDOW = 92,
	KIND_TCP_BUFFER = 93,
	KIND_UDP_UNANSWERED = 94,
	KIND_AFFINITY = 95,
	KIND_RECLAIMING = 96, /* what a running thread does, by the kernel stack: kinds__of() */
	KIND_COMPACTING = 97,
	KIND_COUNT = 98,
};

/* A set of kinds: bit k % 64 of words[k / 64] for kind k. */
#define KIND_SET_WORDS 2

struct kind_set {
	__u64 words[KIND_SET_WORDS];
};

_Static_assert(KIND_COUNT <= 64 * KIND_SET_WORDS, "a bit for each kind");

static inline void kind_set__add(struct kind_set *set, __u32 kind)
{
	set->words[kind / 64 % KIND_SET_WORDS] |= 1ULL << kind % 64;
}

static inline int kind_set__has(const struct kind_set *set, __u32 kind)
{
	return set->words[kind / 64 % KIND_SET_WORDS] >> kind % 64 & 1;
}
