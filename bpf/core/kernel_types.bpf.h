/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The kernel structures that dwell reads: CO-RE finds the fields at load time, so that no vmlinux.h
 * is needed to build. field.bpf.h reads their values.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "abi/device.h"
#include "bpf/core/field.bpf.h"
#include "bpf/core/verifier.bpf.h"

#define TASK_DEAD	     0x80
#define TASK_UNINTERRUPTIBLE 0x02
#define TASK_INTERRUPTIBLE   0x01
#define TASK_STOPPED	     0x04
#define TASK_TRACED	     0x08
#define TASK_WAKEKILL	     0x100
#define TASK_FROZEN	     0x8000 /* 6.1; a flag of the task before */
#define PF_EXITING	     0x00000004
#define PF_KTHREAD	     0x00200000
#define PF_IO_WORKER	     0x00000010
#define SYSCALL_NONE	     (-1)

/* lock:contention_begin flags, include/trace/events/lock.h */
#define LCB_F_SPIN  (1U << 0)
#define LCB_F_MUTEX (1U << 5)

#define CORE __attribute__((preserve_access_index))

#include "arch/kernel.bpf.h"

struct rq;
struct task_struct;

struct task_group;

struct cfs_rq {
	struct rq *rq;
	/* How long a quota has stopped its threads, by rq clock, and since when it does (0: not):
	 */
	__u64 throttled_clock_self_time; /* 6.8 */
	__u64 throttled_clock_self;
	__u64 throttled_clock_pelt_time; /* 5.19 to 6.7: by rq clock_pelt */
	__u64 throttled_clock_pelt;
	__u64 throttled_clock_task_time; /* to 5.18: by rq clock_task */
	__u64 throttled_clock_task;
	int throttle_count; /* of it and of the groups around it, that are stopped now */
	struct task_group *tg;
	int throttled;		    /* a bit since 6.18: it is stopped by its own group's quota */
	unsigned int h_nr_queued;   /* 6.14, with those whose dequeue is delayed */
	unsigned int h_nr_runnable; /* 6.14, without them */
	unsigned int h_nr_delayed;  /* 6.12 and 6.13: their number */
} CORE;

struct rq {
	unsigned int nr_running; /* with those whose dequeue is delayed */
	struct cfs_rq cfs;
	struct task_struct *curr; /* the task that has the CPU */
	__u64 clock;
	__u64 clock_task; /* without time that was stolen, and (if configured) interrupts */
	__u64 clock_pelt;
	unsigned long lost_idle_time;
	int cpu;
	int online;
} CORE;

struct cfs_bandwidth {
	__u64 quota;  /* ns; ~0: none */
	__u64 period; /* ns */
} CORE;

struct sched_info {
	unsigned long pcount;		 /* number of its runs, with the current one */
	unsigned long long run_delay;	 /* ns in run queues, up to the current or last run */
	unsigned long long last_arrival; /* rq clock when its current or last run began */
	unsigned long long last_queued;	 /* rq clock when it was queued; 0: not queued */
} CORE;

struct sched_entity {
	struct cfs_rq *cfs_rq;
	__u64 exec_start;	/* clock_task of the run queue when sum_exec_runtime was updated */
	__u64 sum_exec_runtime; /* ns on CPUs; up to date at a switch, else up to the last tick */
	unsigned char sched_delayed; /* 6.12: asleep, but its dequeue is delayed */
	struct sched_entity *parent; /* NULL: not in a group */
} CORE;

struct timerqueue_node {
	__s64 expires; /* ns, CLOCK_MONOTONIC */
} CORE;

struct hrtimer {
	struct timerqueue_node node;
} CORE;

struct sched_dl_entity {
	__u64 dl_runtime; /* ns */
	__u64 dl_period;
	unsigned int dl_throttled : 1;
	struct hrtimer dl_timer; /* when it may run again */
} CORE;

struct kernfs_node {
	__u64 id;
	struct kernfs_node *__parent; /* 6.15 */
	const char *name;
} CORE;

struct kernfs_node___before_6_15 {
	struct kernfs_node *parent;
} CORE;

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
} CORE;

struct cgroup_freezer_state {
	bool freeze; /* it is to be frozen by itself, not only by a group around it */
} CORE;

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	struct cgroup_freezer_state freezer;
} CORE;

/* The freezer of cgroup v1. */
struct freezer {
	struct cgroup_subsys_state css;
	unsigned int state;
} CORE;

struct page_counter {
	unsigned long high; /* pages */
} CORE;

struct mem_cgroup {
	struct cgroup_subsys_state css;
	struct page_counter memory;
} CORE;

struct css_set {
	struct cgroup_subsys_state *subsys[16];
	struct cgroup *dfl_cgrp;
} CORE;

struct task_group {
	struct cgroup_subsys_state css;
	struct cfs_rq **cfs_rq; /* by CPU; a per-CPU pointer since 7.2 */
	struct task_group *parent;
	struct cfs_bandwidth cfs_bandwidth;
} CORE;

struct qstr {
	unsigned int hash; /* of the name */
	const unsigned char *name;
} CORE;

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
} CORE;

struct vfsmount {
	struct dentry *mnt_root;
} CORE;

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
} CORE;

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
} CORE;

struct super_block {
	__u32 s_dev;
} CORE;

struct inode {
	__u16 i_mode;
	__s64 i_size;
	struct super_block *i_sb;
	unsigned long i_ino;
	__u32 i_generation; /* another one when the number is used again */
} CORE;

struct address_space {
	struct inode *host;
} CORE;

struct file {
	struct path f_path;
	struct inode *f_inode;
	void *private_data;
} CORE;

struct list_head {
	struct list_head *next;
} CORE;

struct epoll_filefd {
	struct file *file;
} CORE;

struct epitem {
	struct list_head rdllink;
	struct epoll_filefd ffd;
} CORE;

struct eventpoll {
	struct list_head rdllist;
} CORE;

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_pgoff;
	struct file *vm_file;
} CORE;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} CORE;

struct files_struct {
	struct fdtable *fdt;
} CORE;

struct io_ring_ctx {
	unsigned int cached_sq_head; /* requests that were taken from the program */
	unsigned int cached_cq_tail; /* results that it was given */
} CORE;

struct io_uring_task {
	const struct io_ring_ctx *last; /* into which it submitted */
} CORE;

struct in6_addr {
	__u8 bytes[16];
};

struct net;

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	volatile unsigned char skc_state;
	__u32 skc_daddr;
	__u32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	possible_net_t skc_net;
} CORE;

struct socket;
struct sk_buff;

struct sk_buff_head {
	struct sk_buff *next;
	__u32 qlen;
} CORE;

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	atomic_t refs;
} refcount_t;

struct net_device {
	unsigned int flags;
	int ifindex;
} CORE;

struct dst_entry {
	struct net_device *dev;
} CORE;

struct sock {
	struct dst_entry *sk_dst_cache;
	struct sock_common __sk_common;
	struct sk_buff_head sk_receive_queue;
	struct sk_buff_head sk_write_queue; /* TCP: what was not sent yet */
	struct socket *sk_socket;	    /* NULL until the connection is accepted */
	int sk_wmem_queued;		    /* bytes in the send buffer, */
	int sk_sndbuf;			    /* and how many may be */
	refcount_t sk_wmem_alloc;	    /* 1 + bytes in queues of devices */
	__u32 sk_ack_backlog;		    /* connections in the listen queue */
	__u32 sk_max_ack_backlog;
	__u32 sk_pacing_status;
	__u16 sk_protocol;
	int sk_rx_dst_ifindex; /* 5.16 */
} CORE;

struct inet_bind_bucket {
	signed char fastreuse;
} CORE;

struct inet_connection_sock {
	struct inet_bind_bucket *icsk_bind_hash;
	__u8 icsk_ca_state : 5;
	struct {
		__u32 lrcvtime; /* jiffies when data came last */
	} icsk_ack;
} CORE;

struct tcp_sock {
	__u32 rcv_nxt;	  /* end of what was received */
	__u32 copied_seq; /* end of what was read */
	__u32 write_seq;  /* end of what was written */
	__u32 snd_nxt;	  /* end of what was sent */
	__u32 snd_una;	  /* end of what was acknowledged */
	__u32 snd_wnd;	  /* the receiver takes this many bytes more */
	__u32 snd_sml;	  /* end of the last small segment that was sent */
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 snd_cwnd;
	__u32 mss_cache;
	__u64 bytes_acked;     /* with the SYN */
	__u64 tcp_wstamp_ns;   /* when it may send next, with pacing, */
	__u64 tcp_clock_cache; /* and when it last tried, or a segment came */
	__u8 nonagle : 4;
} CORE;

struct sockaddr_un {
	char sun_path[108];
} CORE;

struct unix_address {
	int len; /* of name */
	struct sockaddr_un name[1];
} CORE;

struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
} CORE;

struct socket {
	unsigned long flags;
	struct sock *sk;
} CORE;

struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
} CORE;

struct sk_buff {
	struct net_device *dev;
	struct sock *sk;
	unsigned int len;
	unsigned char *head;
	unsigned char *data;
	__u16 transport_header; /* from head */
} CORE;

struct xol_area {
	unsigned long vaddr;
} CORE;

struct uprobes_state {
	struct xol_area *xol_area;
} CORE;

struct mm_struct {
	unsigned long start_code;
	struct uprobes_state uprobes_state;
} CORE;

/* A function with a return probe that the thread is in, innermost first. */
struct return_instance {
	unsigned long stack; /* where its return address was */
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
} CORE;

struct uprobe_task {
	struct return_instance *return_instances;
	unsigned long vaddr; /* of the instruction that is single-stepped */
} CORE;

struct ns_common {
	unsigned int inum;
} CORE;

struct pid_namespace {
	struct ns_common ns;
} CORE;

struct upid {
	int nr;
	struct pid_namespace *ns;
} CORE;

struct pid {
	unsigned int level;
	struct upid numbers[1];
} CORE;

typedef struct {
	unsigned long sig[1];
} sigset_t;

struct sigaction {
	void *sa_handler;
	sigset_t sa_mask;
} CORE;

struct k_sigaction {
	struct sigaction sa;
} CORE;

struct sighand_struct {
	struct k_sigaction action[64];
} CORE;

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int on_cpu; /* a byte since 7.2 */
	int wake_cpu;
	int nr_cpus_allowed;
	const void *cpus_ptr; /* its CPU mask */
	int on_rq;	      /* a byte since 7.2 */
	struct sched_entity se;
	struct sched_dl_entity dl;
	unsigned char throttled; /* 6.18: a quota stops it */
	int prio;		 /* below 100: real-time */
	unsigned int policy;
	struct sched_info sched_info;
	struct mm_struct *mm;
	unsigned int in_execve : 1;
	unsigned int in_iowait : 1;
	unsigned int in_memstall : 1;
	unsigned int frozen : 1; /* by the freezer of cgroup v2; also set in other stops */
	int pid;
	int tgid;
	__u64 self_exec_id;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	struct task_struct *parent; /* or its tracer */
	unsigned long nvcsw;
	unsigned long nivcsw;
	__u64 start_boottime;
	char comm[16];
	struct io_uring_task *io_uring;
	struct files_struct *files;
	struct css_set *cgroups;
	struct pid *thread_pid;
	struct uprobe_task *utask;
	struct sighand_struct *sighand;
	sigset_t blocked;
} CORE;

struct task_struct___before_5_16 {
	unsigned int cpu;
} CORE;

struct gendisk {
	int major;
	int first_minor;
	char disk_name[DWELL_DISK_NAME_SIZE];
} CORE;

struct request_queue {
	struct gendisk *disk;
} CORE;

enum mq_rq_state {
	MQ_RQ_IDLE = 0,
};

struct request {
	struct request_queue *q;
	enum mq_rq_state state;
	unsigned int __data_len;
	unsigned int cmd_flags;
	__u64 __sector;
} CORE;

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
} CORE;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} CORE;

struct hw_perf_event {
	struct hrtimer hrtimer;
	__u64 sample_period;
} CORE;

struct perf_event {
	struct hw_perf_event hw;
} CORE;

struct bpf_perf_event_data_kern {
	struct perf_event *event;
} CORE;
