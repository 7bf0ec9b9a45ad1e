// SPDX-License-Identifier: BSD-2-Clause
#include "wait_kinds/kind_table.h"

#include <string.h>

#include "base/cleanup.h"

#define WAIT	KIND_ROLE_WAIT
#define LOCK	KIND_ROLE_LOCK
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

#define NEVER	 KIND_IDLE_NEVER
#define REQUEST	 KIND_IDLE_REQUEST
#define RECEIVE	 KIND_IDLE_RECEIVE
#define HANDOVER KIND_IDLE_HANDOVER
#define SLEEP	 KIND_IDLE_TIMER
#define KERNEL	 KIND_IDLE_KERNEL

static const struct kind_info kind_infos[KIND_COUNT] = {
	[KIND_NONE] = {"", NO_WAIT, NO_GROUP, ANY, NEVER},
	[KIND_RUNNING] = {"running", NO_WAIT, NO_GROUP, ANY, NEVER},
	[KIND_RECLAIMING] = {"reclaiming memory", NO_WAIT, NO_GROUP, ANY, NEVER},
	[KIND_COMPACTING] = {"compacting memory", NO_WAIT, NO_GROUP, ANY, NEVER},
	[KIND_PREEMPTED] = {"preempted", NO_WAIT, NO_GROUP, ANY, NEVER},
	[KIND_YIELD] = {"yield", NO_WAIT, NO_GROUP, ANY, NEVER},
	[KIND_RUN_QUEUE] = {"run queue", NO_WAIT, NO_GROUP, ANY, NEVER},
	[KIND_FIRST_RUN] = {"first run", NO_WAIT, NO_GROUP, ANY, NEVER},
	[KIND_DISK_READ] = {"disk read", WAIT, DISK, ANY, NEVER},
	[KIND_DISK_WRITE] = {"disk write", WAIT, DISK, ANY, NEVER},
	[KIND_FSYNC] = {"fsync", WAIT, DISK | JOURNAL, ANY, NEVER},
	[KIND_JOURNAL_COMMIT] = {"journal commit", WAIT, DISK | JOURNAL, ANY, NEVER},
	[KIND_JOURNAL_SPACE] = {"journal space", WAIT, DISK | JOURNAL, ANY, NEVER},
	[KIND_PAGE_FAULT_READ] = {"page-fault read", WAIT, DISK, ANY, NEVER},
	[KIND_SWAP_IN] = {"swap in", WAIT, DISK, ANY, NEVER},
	[KIND_WRITEBACK] = {"writeback", WAIT, DISK, ANY, NEVER},
	[KIND_WRITEBACK_THROTTLING] = {"writeback throttling", WAIT, DISK, ANY, NEVER},
	[KIND_METADATA_READ] = {"metadata read", WAIT, DISK, ANY, NEVER},
	[KIND_BLOCK_QUEUE_FULL] = {"block queue full", WAIT, DISK, ANY, NEVER},
	[KIND_BLOCK_THROTTLING] = {"block throttling", WAIT, DISK, ANY, NEVER},
	[KIND_PAGE_LOCK] = {"page lock", WAIT, DISK, ANY, NEVER},
	[KIND_TCP_RECEIVE] = {"tcp receive", WAIT, NETWORK, PEER, RECEIVE},
	[KIND_TCP_SEND] = {"tcp send", WAIT, NETWORK, PEER, NEVER},
	[KIND_TCP_ACCEPT] = {"tcp accept", WAIT, NETWORK, PEER, REQUEST},
	[KIND_TCP_CONNECT] = {"tcp connect", WAIT, NETWORK, PEER, NEVER},
	[KIND_TCP_HELD] = {"tcp held back", WAIT, NETWORK, PEER, NEVER},
	[KIND_TCP_RETRANSMISSION] = {"tcp retransmission", WAIT, NETWORK, PEER, NEVER},
	[KIND_TCP_WINDOW] = {"tcp window closed", WAIT, NETWORK, PEER, NEVER},
	[KIND_TCP_BUFFER] = {"tcp send buffer full", WAIT, NETWORK, PEER, NEVER},
	[KIND_UDP_UNANSWERED] = {"udp unanswered", WAIT, NETWORK, PEER, NEVER},
	[KIND_UDP_RECEIVE] = {"udp receive", WAIT, NETWORK, PEER, RECEIVE},
	[KIND_UDP_SEND] = {"udp send", WAIT, NETWORK, PEER, NEVER},
	[KIND_UNIX_RECEIVE] = {"unix receive", WAIT, NETWORK, ANY, RECEIVE},
	[KIND_UNIX_SEND] = {"unix send", WAIT, NETWORK, ANY, NEVER},
	[KIND_UNIX_ACCEPT] = {"unix accept", WAIT, NETWORK, ANY, REQUEST},
	[KIND_UNIX_CONNECT] = {"unix connect", WAIT, NETWORK, ANY, NEVER},
	[KIND_SOCKET_RECEIVE] = {"socket receive", WAIT, NETWORK, ANY, RECEIVE},
	[KIND_SOCKET_SEND] = {"socket send", WAIT, NETWORK, ANY, NEVER},
	[KIND_SOCKET_ACCEPT] = {"socket accept", WAIT, NETWORK, ANY, REQUEST},
	[KIND_SOCKET_CONNECT] = {"socket connect", WAIT, NETWORK, ANY, NEVER},
	[KIND_PIPE_READ] = {"pipe read", WAIT, PIPE, ANY, HANDOVER},
	[KIND_PIPE_WRITE] = {"pipe write", WAIT, PIPE, ANY, NEVER},
	[KIND_PIPE_OPEN] = {"pipe open", WAIT, PIPE, ANY, HANDOVER},
	[KIND_FUTEX] = {"futex", LOCK, NO_GROUP, ANY, HANDOVER},
	[KIND_KERNEL_MUTEX] = {"kernel mutex", LOCK, NO_GROUP, ANY, NEVER},
	[KIND_KERNEL_RWSEM] = {"kernel rwsem", LOCK, NO_GROUP, ANY, NEVER},
	[KIND_KERNEL_PERCPU_RWSEM] = {"kernel percpu-rwsem", LOCK, NO_GROUP, ANY, NEVER},
	[KIND_KERNEL_RTMUTEX] = {"kernel rtmutex", LOCK, NO_GROUP, ANY, NEVER},
	[KIND_KERNEL_SEMAPHORE] = {"kernel semaphore", LOCK, NO_GROUP, ANY, NEVER},
	[KIND_MMAP_LOCK] = {"mmap lock", LOCK, NO_GROUP, ANY, NEVER},
	[KIND_SLEEP] = {"sleep", WAIT, NO_GROUP, TIMER, SLEEP},
	[KIND_CHILD] = {"wait for child", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_EPOLL] = {"epoll", WAIT, NO_GROUP, ANY, REQUEST},
	[KIND_POLL] = {"poll", WAIT, NO_GROUP, ANY, REQUEST},
	[KIND_SELECT] = {"select", WAIT, NO_GROUP, ANY, REQUEST},
	[KIND_SIGNAL] = {"signal wait", WAIT, NO_GROUP, ANY, REQUEST},
	[KIND_EVENTFD] = {"eventfd", WAIT, NO_GROUP, ANY, HANDOVER},
	[KIND_TIMERFD] = {"timerfd", WAIT, NO_GROUP, TIMER, SLEEP},
	[KIND_SIGNALFD] = {"signalfd", WAIT, NO_GROUP, ANY, REQUEST},
	[KIND_INOTIFY] = {"inotify", WAIT, NO_GROUP, ANY, REQUEST},
	[KIND_FANOTIFY] = {"fanotify", WAIT, NO_GROUP, ANY, REQUEST},
	[KIND_IO_URING] = {"io_uring wait", WAIT, NO_GROUP, ANY, HANDOVER},
	[KIND_AIO] = {"aio wait", WAIT, NO_GROUP, ANY, HANDOVER},
	[KIND_FILE_LOCK] = {"file lock", LOCK, NO_GROUP, ANY, NEVER},
	[KIND_SYSV_SEMAPHORE] = {"SysV semaphore", WAIT, NO_GROUP, ANY, HANDOVER},
	[KIND_SYSV_MESSAGE] = {"SysV message", WAIT, NO_GROUP, ANY, HANDOVER},
	[KIND_POSIX_MESSAGE] = {"POSIX message", WAIT, NO_GROUP, ANY, HANDOVER},
	[KIND_TTY_READ] = {"tty read", WAIT, NO_GROUP, ANY, REQUEST},
	[KIND_TTY_WRITE] = {"tty write", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_VFORK] = {"vfork wait", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_PTRACE_STOP] = {"ptrace stop", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_STOPPED] = {"stopped", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_FREEZER] = {"frozen", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_RECLAIM] = {"memory reclaim", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_COMPACTION] = {"memory compaction", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_MIGRATION] = {"page migration", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_CGROUP_THROTTLE] = {"cgroup throttle", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_EXIT] = {"exit", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_EXEC] = {"exec", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_USERFAULTFD] = {"userfaultfd", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_FUSE] = {"fuse request", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_NFS] = {"nfs request", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_9P] = {"9p request", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_CIFS] = {"cifs request", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_RCU] = {"rcu grace period", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_WORK_FLUSH] = {"work flush", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_COMPLETION] = {"completion", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_PERF] = {"perf", WAIT, NO_GROUP, ANY, REQUEST},
	[KIND_KVM] = {"kvm halt", WAIT, NO_GROUP, ANY, REQUEST},
	[KIND_IDLE_THREAD] = {"kernel thread idle", WAIT, NO_GROUP, ANY, KERNEL},
	[KIND_CPU_QUOTA] = {"cpu quota", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_DEADLINE] = {"deadline throttling", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_REALTIME] = {"real-time throttling", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_MEMORY_HIGH] = {"memory throttling", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_AFFINITY] = {"affinity", WAIT, NO_GROUP, ANY, NEVER},
	[KIND_IO] = {"I/O", UNKNOWN, NO_GROUP, ANY, NEVER},
	[KIND_LOCK] = {"lock", LOCK, NO_GROUP, ANY, NEVER},
	[KIND_OTHER] = {"blocked", UNKNOWN, NO_GROUP, ANY, NEVER},
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
