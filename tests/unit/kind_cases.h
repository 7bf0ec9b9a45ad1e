/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits and the kind that each is of. Both compilations of abi/kind_steps.h are held against
 * them: user space's in test_kinds.c, the kernel side's in test_kinds_kernel.c.
 */
#pragma once

#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "arch/syscalls.h"
#include "recording/recording.h"

#define KIND_CASE_DEPTH 16

/* The number of the system call @name on this machine, or -1. */
static inline int syscall_number(const char *name)
{
	for (int nr = 0; nr < SYSCALLS_MAX; nr++) {
		const char *known = syscalls__name(NULL, nr);

		if (known && !strcmp(known, name))
			return nr;
	}
	return -1;
}

struct kind_case {
	const char *expected; /* the name of the kind; before that of the object, if it has one */
	const char *syscall;
	enum wait_class class;
	const char *functions[KIND_CASE_DEPTH]; /* of the kernel stack, innermost first */
	struct record_object object;
	uint16_t flags;
};

#define STACK(text, call, wait, ...)                                                               \
	{                                                                                          \
		.expected = (text), .syscall = (call), .class = (wait), .functions = {             \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define FLAGS(text, call, wait, bits, ...)                                                         \
	{                                                                                          \
		.expected = (text), .syscall = (call), .class = (wait), .flags = (bits),           \
		.functions = {                                                                     \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
/* Only what the object says, and at most one function. */
#define OBJECT(text, call, wait, innermost, ...)                                                   \
	{                                                                                          \
		.expected = (text), .syscall = (call), .class = (wait), .functions = {innermost},  \
		.object = {                                                                        \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

/* Stacks as they were seen on 5.15 to 6.18. */
static const struct kind_case kind_cases[] = {
	STACK("disk read", "pread64", CLASS_IO, "__schedule", "schedule", "io_schedule",
	      "folio_wait_bit_common", "filemap_get_pages", "filemap_read", "ext4_file_read_iter",
	      "vfs_read", "__x64_sys_pread64"),
	STACK("disk read", "pread64", CLASS_IO, "io_schedule_timeout", "__iomap_dio_rw",
	      "iomap_dio_rw", "ext4_file_read_iter", "vfs_read"),
	STACK("disk write", "pwrite64", CLASS_IO, "io_schedule_timeout", "__iomap_dio_rw",
	      "iomap_dio_rw", "ext4_file_write_iter", "vfs_write"),
	STACK("disk read", "read", CLASS_IO, "io_schedule", "wait_on_page_bit_common",
	      "filemap_update_page", "filemap_get_pages"),
	STACK("journal commit", "fsync", CLASS_OTHER, "schedule", "jbd2_log_wait_commit",
	      "jbd2_complete_transaction", "ext4_sync_file", "do_fsync"),
	STACK("fsync", "fsync", CLASS_IO, "io_schedule", "folio_wait_bit_common",
	      "folio_wait_writeback", "__filemap_fdatawait_range", "file_write_and_wait_range",
	      "ext4_sync_file", "vfs_fsync_range"),
	STACK("fsync", "fdatasync", CLASS_IO, "blk_io_schedule", "submit_bio_wait",
	      "blkdev_issue_flush", "ext4_sync_file", "vfs_fsync_range"),
	STACK("journal space", "write", CLASS_OTHER, "schedule", "wait_transaction_locked",
	      "add_transaction_credits", "start_this_handle", "jbd2__journal_start",
	      "ext4_dirty_inode", "vfs_write"),
	STACK("page-fault read", NULL, CLASS_IO, "io_schedule", "folio_wait_bit_common",
	      "filemap_fault", "__do_fault", "do_fault", "__handle_mm_fault", "handle_mm_fault",
	      "exc_page_fault"),
	STACK("page-fault read", NULL, CLASS_IO, "io_schedule", "filemap_read_folio",
	      "filemap_fault", "exc_page_fault"),
	STACK("swap in", NULL, CLASS_IO, "io_schedule", "folio_wait_bit_common",
	      "__folio_lock_or_retry", "do_swap_page", "handle_mm_fault", "exc_page_fault"),
	OBJECT("affinity", "read", CLASS_STOPPED, "schedule", .type = OBJECT_LIMIT,
	       .mode = STOP_AFFINITY),
	STACK("writeback throttling", "write", CLASS_IO, "io_schedule_timeout",
	      "balance_dirty_pages", "balance_dirty_pages_ratelimited_flags",
	      "generic_perform_write", "vfs_write"),
	STACK("block queue full", "io_submit", CLASS_IO, "io_schedule", "blk_mq_get_tag",
	      "__blk_mq_alloc_requests", "blk_mq_submit_bio", "iomap_dio_rw"),
	STACK("tcp receive", "recvfrom", CLASS_OTHER, "schedule_timeout", "wait_woken",
	      "sk_wait_data", "tcp_recvmsg_locked", "tcp_recvmsg", "inet_recvmsg"),
	STACK("tcp send", "sendto", CLASS_OTHER, "schedule_timeout", "sk_stream_wait_memory",
	      "tcp_sendmsg_locked", "tcp_sendmsg"),
	STACK("tcp accept", "accept4", CLASS_OTHER, "schedule_timeout", "inet_csk_accept",
	      "inet_accept", "do_accept"),
	STACK("tcp connect", "connect", CLASS_OTHER, "schedule_timeout", "inet_wait_for_connect",
	      "__inet_stream_connect"),
	STACK("udp receive", "recvfrom", CLASS_OTHER, "schedule_timeout",
	      "__skb_wait_for_more_packets", "__skb_recv_udp", "udp_recvmsg"),
	STACK("unix receive", "recvmsg", CLASS_OTHER, "schedule_timeout",
	      "unix_stream_read_generic", "unix_stream_recvmsg"),
	STACK("unix receive", "read", CLASS_OTHER, "schedule_timeout",
	      "__skb_wait_for_more_packets", "__unix_dgram_recvmsg"),
	STACK("unix send", "sendto", CLASS_OTHER, "schedule_timeout", "unix_wait_for_peer",
	      "unix_dgram_sendmsg"),
	STACK("unix connect", "connect", CLASS_OTHER, "schedule_timeout", "unix_wait_for_peer",
	      "unix_stream_connect"),
	STACK("unix accept", "accept", CLASS_OTHER, "schedule_timeout",
	      "__skb_wait_for_more_packets", "skb_recv_datagram", "unix_accept"),
	STACK("pipe read", "read", CLASS_OTHER, "schedule", "anon_pipe_read", "vfs_read"),
	STACK("pipe read", "read", CLASS_OTHER, "schedule", "pipe_read", "vfs_read"),
	STACK("pipe write", "write", CLASS_OTHER, "schedule", "anon_pipe_write", "vfs_write"),
	STACK("futex", "futex", CLASS_LOCK, "schedule", "futex_do_wait", "__futex_wait",
	      "do_futex"),
	STACK("futex", "futex", CLASS_LOCK, "schedule", "futex_wait_queue_me", "futex_wait"),
	STACK("kernel mutex", "write", CLASS_LOCK, "schedule_preempt_disabled",
	      "__mutex_lock.constprop.0", "pipe_write"),
	STACK("kernel rwsem", "openat", CLASS_LOCK, "schedule", "rwsem_down_write_slowpath",
	      "down_write", "path_openat"),
	STACK("mmap lock", NULL, CLASS_LOCK, "schedule", "rwsem_down_read_slowpath",
	      "down_read_killable", "lock_mm_and_find_vma", "exc_page_fault"),
	STACK("mmap lock", "munmap", CLASS_LOCK, "schedule", "rwsem_down_write_slowpath",
	      "down_write_killable", "__vm_munmap"),
	STACK("mmap lock", "pread64", CLASS_LOCK, "schedule", "rwsem_down_read_slowpath",
	      "down_read_killable", "__gup_longterm_locked", "gup_fast_fallback",
	      "iov_iter_extract_pages", "iomap_dio_rw", "vfs_read"),
	STACK("disk write", "fallocate", CLASS_IO, "io_schedule", "submit_bio_wait",
	      "blkdev_issue_discard", "ext4_trim_fs"),
	STACK("fsync", "fsync", CLASS_IO, "io_schedule", "submit_bio_wait", "blkdev_issue_flush",
	      "ext4_sync_file"),
	STACK("kernel percpu-rwsem", "openat", CLASS_LOCK, "schedule", "percpu_rwsem_wait",
	      "__percpu_down_read", "mnt_want_write"),
	STACK("kernel rtmutex", "futex", CLASS_LOCK, "schedule",
	      "rt_mutex_slowlock_block.constprop.0", "rt_mutex_slowlock.constprop.0",
	      "rt_mutex_lock", "i2c_transfer"),
	STACK("sleep", "clock_nanosleep", CLASS_OTHER, "schedule", "do_nanosleep",
	      "hrtimer_nanosleep", "common_nsleep"),
	OBJECT("wait for child 1234", "wait4", CLASS_OTHER, "do_wait", .type = OBJECT_CHILD,
	       .id = 1234),
	STACK("epoll", "epoll_wait", CLASS_OTHER, "schedule_hrtimeout_range", "ep_poll",
	      "do_epoll_wait"),
	STACK("epoll", "epoll_pwait", CLASS_OTHER, "schedule_hrtimeout_range", "do_epoll_wait",
	      "do_epoll_pwait.part.0"),
	STACK("poll", "poll", CLASS_OTHER, "schedule_hrtimeout_range",
	      "poll_schedule_timeout.constprop.0", "do_sys_poll"),
	STACK("select", "pselect6", CLASS_OTHER, "schedule_hrtimeout_range",
	      "poll_schedule_timeout.constprop.0", "do_select", "core_sys_select"),
	STACK("signal wait", "rt_sigtimedwait", CLASS_OTHER, "schedule_hrtimeout_range",
	      "do_sigtimedwait.isra.0"),
	STACK("signal wait", "rt_sigsuspend", CLASS_OTHER, "schedule", "sigsuspend.isra.0"),
	STACK("signal wait", "pause", CLASS_OTHER, "schedule", "__do_sys_pause"),
	STACK("eventfd", "read", CLASS_OTHER, "schedule", "eventfd_read", "vfs_read"),
	STACK("timerfd", "read", CLASS_OTHER, "schedule", "timerfd_read_iter", "vfs_read"),
	STACK("signalfd", "read", CLASS_OTHER, "schedule", "signalfd_dequeue",
	      "signalfd_read_iter"),
	STACK("inotify", "read", CLASS_OTHER, "schedule_timeout", "wait_woken", "inotify_read"),
	STACK("io_uring wait", "io_uring_enter", CLASS_IO, "schedule", "io_cqring_wait"),
	STACK("aio wait", "io_getevents", CLASS_OTHER, "schedule", "read_events",
	      "do_io_getevents"),
	STACK("file lock", "flock", CLASS_OTHER, "schedule", "locks_lock_inode_wait",
	      "__do_sys_flock"),
	STACK("file lock", "fcntl", CLASS_OTHER, "schedule", "fcntl_setlk", "do_fcntl"),
	STACK("SysV semaphore", "semtimedop", CLASS_OTHER, "schedule", "__do_semtimedop"),
	STACK("SysV message", "msgrcv", CLASS_OTHER, "schedule", "do_msgrcv"),
	STACK("tty read", "read", CLASS_OTHER, "schedule_timeout", "wait_woken", "n_tty_read",
	      "tty_read"),
	STACK("vfork wait", "vfork", CLASS_OTHER, "schedule_timeout", "__wait_for_common",
	      "wait_for_completion_state", "kernel_clone"),
	STACK("ptrace stop", NULL, CLASS_OTHER, "schedule", "ptrace_stop", "get_signal"),
	STACK("stopped", NULL, CLASS_OTHER, "schedule", "do_signal_stop", "get_signal"),
	STACK("memory reclaim", NULL, CLASS_IO, "io_schedule_timeout", "reclaim_throttle",
	      "shrink_node", "try_to_free_pages", "exc_page_fault"),
	STACK("memory compaction", NULL, CLASS_IO, "io_schedule", "migrate_pages",
	      "compact_zone_order", "__alloc_pages_direct_compact"),
	STACK("cgroup throttle", "write", CLASS_OTHER, "schedule_timeout_killable",
	      "__mem_cgroup_handle_over_high"),
	STACK("userfaultfd", NULL, CLASS_OTHER, "schedule", "handle_userfault", "exc_page_fault"),
	STACK("fuse request", "read", CLASS_OTHER, "schedule", "request_wait_answer",
	      "__fuse_simple_request", "vfs_read"),
	STACK("nfs request", "read", CLASS_IO, "schedule", "rpc_wait_bit_killable", "__wait_on_bit",
	      "nfs4_proc_read"),
	STACK("exit", "exit_group", CLASS_OTHER, "schedule", "exit_mm", "do_exit"),
	STACK("kernel thread idle", NULL, CLASS_OTHER, "schedule", "worker_thread", "kthread"),
	STACK("kernel thread idle", NULL, CLASS_OTHER, "schedule_timeout", "rcu_gp_fqs_loop"),
	STACK("metadata read", NULL, CLASS_IO, "io_schedule", "bit_wait_io", "__wait_on_buffer",
	      "ext4_read_bh", "kthread"),
	STACK("writeback", "sync_file_range", CLASS_IO, "io_schedule", "folio_wait_writeback"),
	STACK("block throttling", "write", CLASS_IO, "io_schedule", "rq_qos_wait", "wbt_wait"),
	STACK("page lock", "read", CLASS_IO, "io_schedule", "folio_wait_bit_common",
	      "__folio_lock_killable"),
	STACK("socket send", "write", CLASS_OTHER, "schedule_timeout", "wait_woken",
	      "vsock_connectible_sendmsg"),
	STACK("socket connect", "connect", CLASS_OTHER, "schedule_timeout"),
	STACK("pipe open", "openat", CLASS_OTHER, "schedule", "wait_for_partner", "fifo_open"),
	STACK("kernel semaphore", NULL, CLASS_OTHER, "schedule_timeout", "__down_common", "down"),
	STACK("fanotify", "read", CLASS_OTHER, "schedule_timeout", "wait_woken", "fanotify_read"),
	STACK("POSIX message", "mq_timedreceive", CLASS_OTHER, "schedule_hrtimeout_range",
	      "wq_sleep", "do_mq_timedreceive"),
	STACK("tty write", "write", CLASS_OTHER, "schedule_timeout", "wait_woken", "n_tty_write"),
	STACK("frozen", NULL, CLASS_OTHER, "schedule", "__refrigerator", "get_signal"),
	STACK("page migration", NULL, CLASS_IO, "io_schedule", "migration_entry_wait_on_locked",
	      "exc_page_fault"),
	STACK("exec", "execve", CLASS_OTHER, "schedule", "de_thread", "begin_new_exec"),
	STACK("9p request", "read", CLASS_OTHER, "schedule", "p9_client_rpc", "p9_client_read"),
	STACK("cifs request", "read", CLASS_OTHER, "schedule", "wait_for_response",
	      "compound_send_recv"),
	STACK("rcu grace period", "bpf", CLASS_OTHER, "schedule_timeout", "__wait_for_common",
	      "__wait_rcu_gp", "synchronize_rcu"),
	STACK("work flush", NULL, CLASS_OTHER, "schedule_timeout", "__wait_for_common",
	      "__flush_work"),
	STACK("completion", NULL, CLASS_OTHER, "schedule_timeout", "__wait_for_common",
	      "wait_for_completion"),
	STACK("perf", "read", CLASS_OTHER, "schedule", "ring_buffer_wait", "tracing_wait_pipe"),
	STACK("kvm halt", "ioctl", CLASS_OTHER, "schedule", "kvm_vcpu_block", "kvm_vcpu_halt"),
	/* Without a word from the kernel stack: the system call and the object. */
	OBJECT("futex 0xabc0", "futex", CLASS_LOCK, NULL, .type = OBJECT_FUTEX, .id = 0xabc0),
	OBJECT("tcp receive 127.0.0.1:5432", "recvfrom", CLASS_OTHER, NULL, .type = OBJECT_SOCKET,
	       .family = AF_INET, .protocol = IPPROTO_TCP),
	OBJECT("unix send", "sendmsg", CLASS_OTHER, NULL, .type = OBJECT_SOCKET, .family = AF_UNIX),
	OBJECT("tcp receive", "read", CLASS_OTHER, NULL, .type = OBJECT_SOCKET, .family = AF_INET6,
	       .protocol = IPPROTO_TCP),
	OBJECT("pipe write", "write", CLASS_OTHER, NULL, .type = OBJECT_FILE, .mode = S_IFIFO),
	OBJECT("pipe read pipe:[77]", "read", CLASS_OTHER, NULL, .type = OBJECT_FILE,
	       .mode = S_IFIFO, .id = 77),
	OBJECT("unix receive socket:[78]", "read", CLASS_OTHER, NULL, .type = OBJECT_SOCKET,
	       .family = AF_UNIX, .id = 78),
	OBJECT("disk read /var/lib/x.sst", "pread64", CLASS_IO, NULL, .type = OBJECT_FILE,
	       .mode = S_IFREG),
	OBJECT("tcp receive", "recvfrom", CLASS_OTHER, "tls_sw_recvmsg", .type = OBJECT_SOCKET,
	       .family = AF_INET, .protocol = IPPROTO_TCP),
	OBJECT("tcp send", "write", CLASS_OTHER, NULL, .type = OBJECT_SOCKET, .family = AF_INET,
	       .protocol = IPPROTO_TCP),
	OBJECT("tcp connect", "connect", CLASS_OTHER, NULL, .type = OBJECT_SOCKET,
	       .family = AF_INET6, .protocol = IPPROTO_TCP),
	OBJECT("udp send", "sendmsg", CLASS_OTHER, NULL, .type = OBJECT_SOCKET, .family = AF_INET,
	       .protocol = IPPROTO_UDP),
	OBJECT("udp receive", "readv", CLASS_OTHER, NULL, .type = OBJECT_SOCKET, .family = AF_INET6,
	       .protocol = IPPROTO_UDP),
	OBJECT("unix accept", "accept4", CLASS_OTHER, NULL, .type = OBJECT_SOCKET,
	       .family = AF_UNIX),
	OBJECT("socket receive", "recvmsg", CLASS_OTHER, NULL, .type = OBJECT_SOCKET,
	       .family = AF_NETLINK),
	OBJECT("socket receive", "recvfrom", CLASS_OTHER, "raw_recvmsg", .type = OBJECT_SOCKET,
	       .family = AF_INET, .protocol = IPPROTO_ICMP),
	OBJECT("socket accept", "accept", CLASS_OTHER, NULL, .type = OBJECT_NONE),
	OBJECT("pipe read", "readv", CLASS_IO, NULL, .type = OBJECT_FILE, .mode = S_IFIFO),
	OBJECT("disk write", "pwritev2", CLASS_IO, NULL, .type = OBJECT_FILE, .mode = S_IFBLK),
	OBJECT("blocked", "write", CLASS_OTHER, NULL, .type = OBJECT_FILE, .mode = S_IFREG),
	STACK("blocked", "read", CLASS_OTHER, NULL),
	STACK("I/O", NULL, CLASS_IO, "io_schedule", "a_function_of_tomorrow"),
	STACK("lock", NULL, CLASS_LOCK, "a_function_of_tomorrow"),
	STACK("blocked", NULL, CLASS_OTHER, "a_function_of_tomorrow"),
	/* Not allowed to run, and why. */
	OBJECT("cpu quota", NULL, CLASS_STOPPED, NULL, .type = OBJECT_LIMIT, .mode = STOP_QUOTA),
	OBJECT("deadline throttling", NULL, CLASS_STOPPED, NULL, .type = OBJECT_LIMIT,
	       .mode = STOP_DEADLINE),
	OBJECT("real-time throttling", "read", CLASS_STOPPED, "schedule", .type = OBJECT_LIMIT,
	       .mode = STOP_REALTIME),
	OBJECT("frozen", "read", CLASS_STOPPED, "__refrigerator", .type = OBJECT_LIMIT,
	       .mode = STOP_FREEZER),
	OBJECT("frozen (since when is unknown)", "read", CLASS_OTHER, "pipe_read",
	       .type = OBJECT_LIMIT, .mode = STOP_FREEZER, .extra = 1),
	OBJECT("stopped", "read", CLASS_STOPPED, NULL, .type = OBJECT_LIMIT, .mode = STOP_SIGNAL),
	OBJECT("ptrace stop", "read", CLASS_STOPPED, NULL, .type = OBJECT_LIMIT,
	       .mode = STOP_TRACER),
	OBJECT("memory throttling", "mmap", CLASS_STOPPED, "try_charge_memcg", .type = OBJECT_LIMIT,
	       .mode = STOP_MEMORY),
	STACK("writeback throttling", "write", CLASS_STOPPED, "io_schedule_timeout",
	      "balance_dirty_pages"),
	/* Runnable, and why. */
	FLAGS("preempted", "read", CLASS_SCHED, INTERVAL_PREEMPTED, "preempt_schedule"),
	FLAGS("yield", "sched_yield", CLASS_SCHED, INTERVAL_PREEMPTED, "schedule"),
	FLAGS("first run", NULL, CLASS_SCHED, INTERVAL_FIRST | INTERVAL_PREEMPTED, NULL),
	STACK("run queue", "futex", CLASS_SCHED, "schedule", "futex_do_wait"),
	STACK("running", NULL, CLASS_CPU, "futex_do_wait"),
};
