// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/kinds/kind_table.h"

#include <string.h>

#include "base/cleanup.h"

#define WAIT	KIND_ROLE_WAIT
#define LOCK	KIND_ROLE_LOCK
#define IDLE	KIND_ROLE_IDLE
#define NO_WAIT KIND_ROLE_NO_WAIT
#define UNKNOWN KIND_ROLE_UNKNOWN

#define NO_GROUP 0
#define DISK	 KIND_GROUP_DISK
#define NETWORK	 KIND_GROUP_NETWORK
#define PIPE	 KIND_GROUP_PIPE
#define JOURNAL	 KIND_GROUP_JOURNAL

#define ANY   KIND_ENDER_UNKNOWN
#define TIMER KIND_ENDER_TIMER
#define PEER  KIND_ENDER_PEER

static const struct kind_info kind_infos[KIND_COUNT] = {
	[KIND_NONE] = {"", NO_WAIT, NO_GROUP, ANY},
	[KIND_RUNNING] = {"running", NO_WAIT, NO_GROUP, ANY},
	[KIND_PREEMPTED] = {"preempted", NO_WAIT, NO_GROUP, ANY},
	[KIND_YIELD] = {"yield", NO_WAIT, NO_GROUP, ANY},
	[KIND_RUN_QUEUE] = {"run queue", NO_WAIT, NO_GROUP, ANY},
	[KIND_FIRST_RUN] = {"first run", NO_WAIT, NO_GROUP, ANY},
	[KIND_DISK_READ] = {"disk read", WAIT, DISK, ANY},
	[KIND_DISK_WRITE] = {"disk write", WAIT, DISK, ANY},
	[KIND_FSYNC] = {"fsync", WAIT, DISK | JOURNAL, ANY},
	[KIND_JOURNAL_COMMIT] = {"journal commit", WAIT, DISK | JOURNAL, ANY},
	[KIND_JOURNAL_SPACE] = {"journal space", WAIT, DISK | JOURNAL, ANY},
	[KIND_PAGE_FAULT_READ] = {"page-fault read", WAIT, DISK, ANY},
	[KIND_SWAP_IN] = {"swap in", WAIT, DISK, ANY},
	[KIND_WRITEBACK] = {"writeback", WAIT, DISK, ANY},
	[KIND_WRITEBACK_THROTTLING] = {"writeback throttling", WAIT, DISK, ANY},
	[KIND_METADATA_READ] = {"metadata read", WAIT, DISK, ANY},
	[KIND_BLOCK_QUEUE_FULL] = {"block queue full", WAIT, DISK, ANY},
	[KIND_BLOCK_THROTTLING] = {"block throttling", WAIT, DISK, ANY},
	[KIND_PAGE_LOCK] = {"page lock", WAIT, DISK, ANY},
	[KIND_TCP_RECEIVE] = {"tcp receive", WAIT, NETWORK, PEER},
	[KIND_TCP_SEND] = {"tcp send", WAIT, NETWORK, PEER},
	[KIND_TCP_ACCEPT] = {"tcp accept", IDLE, NETWORK, PEER},
	[KIND_TCP_CONNECT] = {"tcp connect", WAIT, NETWORK, PEER},
	[KIND_UDP_RECEIVE] = {"udp receive", WAIT, NETWORK, PEER},
	[KIND_UDP_SEND] = {"udp send", WAIT, NETWORK, PEER},
	[KIND_UNIX_RECEIVE] = {"unix receive", WAIT, NETWORK, ANY},
	[KIND_UNIX_SEND] = {"unix send", WAIT, NETWORK, ANY},
	[KIND_UNIX_ACCEPT] = {"unix accept", IDLE, NETWORK, ANY},
	[KIND_UNIX_CONNECT] = {"unix connect", WAIT, NETWORK, ANY},
	[KIND_SOCKET_RECEIVE] = {"socket receive", WAIT, NETWORK, ANY},
	[KIND_SOCKET_SEND] = {"socket send", WAIT, NETWORK, ANY},
	[KIND_SOCKET_ACCEPT] = {"socket accept", IDLE, NETWORK, ANY},
	[KIND_SOCKET_CONNECT] = {"socket connect", WAIT, NETWORK, ANY},
	[KIND_PIPE_READ] = {"pipe read", WAIT, PIPE, ANY},
	[KIND_PIPE_WRITE] = {"pipe write", WAIT, PIPE, ANY},
	[KIND_PIPE_OPEN] = {"pipe open", WAIT, PIPE, ANY},
	[KIND_FUTEX] = {"futex", LOCK, NO_GROUP, ANY},
	[KIND_KERNEL_MUTEX] = {"kernel mutex", LOCK, NO_GROUP, ANY},
	[KIND_KERNEL_RWSEM] = {"kernel rwsem", LOCK, NO_GROUP, ANY},
	[KIND_KERNEL_PERCPU_RWSEM] = {"kernel percpu-rwsem", LOCK, NO_GROUP, ANY},
	[KIND_KERNEL_RTMUTEX] = {"kernel rtmutex", LOCK, NO_GROUP, ANY},
	[KIND_KERNEL_SEMAPHORE] = {"kernel semaphore", LOCK, NO_GROUP, ANY},
	[KIND_MMAP_LOCK] = {"mmap lock", LOCK, NO_GROUP, ANY},
	[KIND_SLEEP] = {"sleep", WAIT, NO_GROUP, TIMER},
	[KIND_CHILD] = {"wait for child", WAIT, NO_GROUP, ANY},
	[KIND_EPOLL] = {"epoll", IDLE, NO_GROUP, ANY},
	[KIND_POLL] = {"poll", WAIT, NO_GROUP, ANY},
	[KIND_SELECT] = {"select", WAIT, NO_GROUP, ANY},
	[KIND_SIGNAL] = {"signal wait", WAIT, NO_GROUP, ANY},
	[KIND_EVENTFD] = {"eventfd", WAIT, NO_GROUP, ANY},
	[KIND_TIMERFD] = {"timerfd", WAIT, NO_GROUP, TIMER},
	[KIND_SIGNALFD] = {"signalfd", IDLE, NO_GROUP, ANY},
	[KIND_INOTIFY] = {"inotify", IDLE, NO_GROUP, ANY},
	[KIND_FANOTIFY] = {"fanotify", WAIT, NO_GROUP, ANY},
	[KIND_IO_URING] = {"io_uring wait", WAIT, NO_GROUP, ANY},
	[KIND_AIO] = {"aio wait", WAIT, NO_GROUP, ANY},
	[KIND_FILE_LOCK] = {"file lock", WAIT, NO_GROUP, ANY},
	[KIND_SYSV_SEMAPHORE] = {"SysV semaphore", WAIT, NO_GROUP, ANY},
	[KIND_SYSV_MESSAGE] = {"SysV message", WAIT, NO_GROUP, ANY},
	[KIND_POSIX_MESSAGE] = {"POSIX message", WAIT, NO_GROUP, ANY},
	[KIND_TTY_READ] = {"tty read", WAIT, NO_GROUP, ANY},
	[KIND_TTY_WRITE] = {"tty write", WAIT, NO_GROUP, ANY},
	[KIND_VFORK] = {"vfork wait", WAIT, NO_GROUP, ANY},
	[KIND_PTRACE_STOP] = {"ptrace stop", WAIT, NO_GROUP, ANY},
	[KIND_STOPPED] = {"stopped", WAIT, NO_GROUP, ANY},
	[KIND_FREEZER] = {"frozen", WAIT, NO_GROUP, ANY},
	[KIND_RECLAIM] = {"memory reclaim", WAIT, NO_GROUP, ANY},
	[KIND_COMPACTION] = {"memory compaction", WAIT, NO_GROUP, ANY},
	[KIND_MIGRATION] = {"page migration", WAIT, NO_GROUP, ANY},
	[KIND_CGROUP_THROTTLE] = {"cgroup throttle", WAIT, NO_GROUP, ANY},
	[KIND_EXIT] = {"exit", WAIT, NO_GROUP, ANY},
	[KIND_EXEC] = {"exec", WAIT, NO_GROUP, ANY},
	[KIND_USERFAULTFD] = {"userfaultfd", WAIT, NO_GROUP, ANY},
	[KIND_FUSE] = {"fuse request", WAIT, NO_GROUP, ANY},
	[KIND_NFS] = {"nfs request", WAIT, NO_GROUP, ANY},
	[KIND_9P] = {"9p request", WAIT, NO_GROUP, ANY},
	[KIND_CIFS] = {"cifs request", WAIT, NO_GROUP, ANY},
	[KIND_RCU] = {"rcu grace period", WAIT, NO_GROUP, ANY},
	[KIND_WORK_FLUSH] = {"work flush", WAIT, NO_GROUP, ANY},
	[KIND_COMPLETION] = {"completion", WAIT, NO_GROUP, ANY},
	[KIND_PERF] = {"perf", WAIT, NO_GROUP, ANY},
	[KIND_KVM] = {"kvm halt", WAIT, NO_GROUP, ANY},
	[KIND_IDLE_THREAD] = {"kernel thread idle", IDLE, NO_GROUP, ANY},
	[KIND_IO] = {"I/O", UNKNOWN, NO_GROUP, ANY},
	[KIND_LOCK] = {"lock", LOCK, NO_GROUP, ANY},
	[KIND_OTHER] = {"blocked", UNKNOWN, NO_GROUP, ANY},
};

static const struct {
	const char *name;
	enum kind_group group;
} groups[] = {
	{"disk", DISK},
	{"network", NETWORK},
	{"pipe", PIPE},
	{"journal", JOURNAL},
};

const struct kind_info *kind__info(enum wait_kind kind)
{
	return &kind_infos[kind < KIND_COUNT ? kind : KIND_NONE];
}

const char *kind__name(enum wait_kind kind)
{
	return kind__info(kind)->name;
}

const char *kind_group__name(size_t index)
{
	return index < ARRAY_SIZE(groups) ? groups[index].name : NULL;
}

unsigned int kind_group__find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (!strcmp(groups[i].name, name))
			return groups[i].group;
	return 0;
}
