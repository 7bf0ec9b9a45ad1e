/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The kernel structures that dwell reads (CO-RE finds the fields at load time, so that no vmlinux.h
 * is needed to build), and the differences between kernel versions from 5.15 on. field.bpf.h reads
 * their values.
 *
 * A field that some kernels lack is read here only, by a function that says what replaces it. A
 * field that every kernel has, in one of these versions, is not checked for: where it is missing,
 * the load fails and names it. So does one whose lack says that the kernel is unknown, not older.
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
#define PF_EXITING	     0x00000004
#define PF_KTHREAD	     0x00200000
#define PF_IO_WORKER	     0x00000010
#define TS_COMPAT	     0x0002
#define SYSCALL_NONE	     (-1)

/* lock:contention_begin flags, include/trace/events/lock.h */
#define LCB_F_SPIN  (1U << 0)
#define LCB_F_MUTEX (1U << 5)

#define CORE __attribute__((preserve_access_index))

struct thread_info {
	__u32 status;
	__u32 cpu; /* 5.16, before in task_struct */
} CORE;

struct rq;
struct task_struct;

struct cfs_rq {
	struct rq *rq;
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
} CORE;

struct kernfs_node {
	__u64 id;
} CORE;

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
} CORE;

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
} CORE;

struct css_set {
	struct cgroup *dfl_cgrp;
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

struct in6_addr {
	__u8 bytes[16];
};

struct sock_common {
	volatile unsigned char skc_state;
	__u32 skc_daddr;
	__u32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} CORE;

struct socket;

struct sk_buff_head {
	__u32 qlen;
} CORE;

struct sock {
	struct sock_common __sk_common;
	struct sk_buff_head sk_receive_queue;
	struct socket *sk_socket; /* NULL until the connection is accepted */
	__u16 sk_protocol;
	int sk_rx_dst_ifindex; /* 5.16 */
} CORE;

struct inet_bind_bucket {
	signed char fastreuse;
} CORE;

struct inet_connection_sock {
	struct inet_bind_bucket *icsk_bind_hash;
} CORE;

struct tcp_sock {
	__u32 rcv_nxt;	  /* end of what was received */
	__u32 copied_seq; /* end of what was read */
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
	struct sock *sk;
} CORE;

struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
} CORE;

struct sk_buff {
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
	int on_rq; /* a byte since 7.2 */
	struct sched_entity se;
	struct sched_info sched_info;
	struct mm_struct *mm;
	unsigned int in_execve : 1;
	unsigned int in_iowait : 1;
	int pid;
	int tgid;
	__u64 self_exec_id;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	unsigned long nvcsw;
	unsigned long nivcsw;
	__u64 start_boottime;
	char comm[16];
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

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long bp;
	unsigned long ax;
	unsigned long cx;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long flags;
	unsigned long sp;
} CORE;

#define REGS_SYSCALL(regs) ((long)(regs)->orig_ax)
/* Whether ip is behind a syscall instruction, which leaves its return address in rcx. */
#define REGS_AFTER_SYSCALL(regs) (REGS_SYSCALL(regs) >= 0 && (regs)->cx == (regs)->ip)
#define NR_RESTART_SYSCALL	 219
/* Whether user code will probably restart an interrupted system call. */
#define REGS_RESTARTS(regs) (REGS_SYSCALL(regs) < 0 && (regs)->ax == NR_RESTART_SYSCALL)
#define REGS_ARG1(regs)	    ((regs)->di)
#define REGS_ARG2(regs)	    ((regs)->si)
#define NR_FUTEX	    202
#define NR_FUTEX_COMPAT	    240
#else
#error "dwell's kernel side supports x86-64 only"
#endif
#define NR_FUTEX_WAITV 449
#define NR_FUTEX_WAIT  455

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

/* Whether the kernel delays the dequeue of tasks that sleep: it counts those. */
static __always_inline bool counts_delayed(void)
{
	return bpf_core_field_exists(struct cfs_rq, h_nr_runnable) ||
	       bpf_core_field_exists(struct cfs_rq, h_nr_delayed);
}

/*
 * Whether @task is off the run queue, or (6.12 and later) on it only because its dequeue is
 * delayed. Stable while the run-queue lock is held, as in sched_switch; and right if a pending
 * signal made the scheduler treat a sleep as a yield, unlike the task's state.
 */
static __always_inline bool task_blocked(struct task_struct *task)
{
	if (!FIELD(task, on_rq))
		return true;
	if (bpf_core_field_exists(task->se.sched_delayed) || counts_delayed())
		return FIELD(task, se.sched_delayed);
	return false;
}

/* Whether has_cpu() is known: not in kernels for one CPU. */
static __always_inline bool knows_cpu(const struct task_struct *task)
{
	return bpf_core_field_exists(task->on_cpu) || bpf_core_field_exists(task->wake_cpu);
}

/*
 * Whether @task has a CPU; false in kernels for one CPU, in which dwell has it. A switch changes
 * the run queue's curr just before the tracepoint, and on_cpu of both tasks behind it, up to where
 * the stacks are switched: a task seen between would be off its CPU, and still on it.
 */
static __always_inline bool has_cpu(const struct task_struct *task)
{
	if (!knows_cpu(task))
		return false;
	if (bpf_core_field_exists(task->se.cfs_rq))
		return BPF_CORE_READ(task, se.cfs_rq, rq, curr) == task;
	return FIELD(task, on_cpu);
}

/*
 * Pointers in kernel structures are followed by BPF_CORE_READ(): for each that code follows itself,
 * the verifier (6.4 and later) searches all of the kernel's BTF, up to four times.
 */

/* ns since @then by the clock of @task's run queue; 0: unknown. */
static __always_inline __u64 rq_time_since(struct task_struct *task, __u64 then)
{
	__u64 clock;

	if (!then || !bpf_core_field_exists(task->se.cfs_rq))
		return 0;
	clock = READ(task, se.cfs_rq, rq, clock);
	return clock > then ? clock - then : 0;
}

/* ns that @task, which is being switched out, has been running; 0: unknown. */
static __always_inline __u64 run_length(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->sched_info.last_arrival))
		return 0;
	return rq_time_since(task, FIELD(task, sched_info.last_arrival));
}

/* ns that @task, which is being switched in, has been queued; 0: unknown. */
static __always_inline __u64 queue_length(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->sched_info.last_queued))
		return 0;
	return rq_time_since(task, FIELD(task, sched_info.last_queued));
}

/* ns that @task has been in run queues, up to its current or last run; 0: unknown. */
static __always_inline __u64 run_delay(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->sched_info.run_delay))
		return 0;
	return FIELD(task, sched_info.run_delay);
}

/* Number of runs of @task, the current one included; 0: unknown. */
static __always_inline __u64 arrivals(const struct task_struct *task)
{
	if (!bpf_core_field_exists(task->sched_info.pcount))
		return 0;
	return FIELD(task, sched_info.pcount);
}

/*
 * Number of runs of @task that have ended; @running: it is in one that has not. The kernel does not
 * count a run of a task that it has not queued before, as happens in 7.2.
 */
static __always_inline __u32 ended_runs(const struct task_struct *task, bool running)
{
	if (!bpf_core_field_exists(task->sched_info.pcount))
		return FIELD(task, nvcsw) + FIELD(task, nivcsw);
	return FIELD(task, sched_info.pcount) - running;
}

/* Number of tasks that have the CPU of @task or wait for it; 0: unknown. */
static __always_inline __u32 runnable_beside(struct task_struct *task)
{
	struct rq *rq;
	__u32 delayed = 0;

	if (!bpf_core_field_exists(task->se.cfs_rq))
		return 0;
	rq = task->se.cfs_rq->rq;
	if (bpf_core_field_exists(rq->cfs.h_nr_delayed))
		delayed = FIELD(rq, cfs.h_nr_delayed);
	else if (bpf_core_field_exists(rq->cfs.h_nr_runnable) ||
		 bpf_core_field_exists(task->se.sched_delayed))
		delayed = FIELD(rq, cfs.h_nr_queued) - FIELD(rq, cfs.h_nr_runnable);
	return FIELD(rq, nr_running) - delayed;
}

struct timerqueue_node {
	__s64 expires; /* ns, CLOCK_MONOTONIC */
} CORE;

struct hrtimer {
	struct timerqueue_node node;
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

/* The perf event for which a program of type perf_event is called. */
static __always_inline struct perf_event *event_of(struct bpf_perf_event_data *ctx)
{
	return BPF_CORE_READ((struct bpf_perf_event_data_kern *)ctx, event);
}

/* When the timer of a clock event expires, or expired if that is being handled; 0: unknown. */
static __always_inline __u64 clock_expires(struct perf_event *clock)
{
	if (!bpf_core_field_exists(clock->hw.hrtimer.node.expires))
		return 0;
	return READ(clock, hw.hrtimer.node.expires);
}

/* The number of @pid in the namespace at @level, where 0 is the initial one. */
static __always_inline struct upid *number_of(struct pid *pid, unsigned int level)
{
	return (void *)pid + bpf_core_field_offset(struct pid, numbers) +
	       level * bpf_core_type_size(struct upid);
}

/* The tid of @task in its own pid namespace, as gettid() returns it. 0: the task has exited. */
static __always_inline __u32 own_tid(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	struct upid *number;

	if (!pid)
		return 0;
	number = number_of(pid, READ(pid, level));
	return READ(number, nr);
}

/* The signal mask of @task's handler for signal @index + 1; 0: no handler. */
static __always_inline __u64 signal_handler_mask(struct task_struct *task, __u32 index)
{
	struct sighand_struct *sighand = BPF_CORE_READ(task, sighand);
	const struct k_sigaction *action;
	__u64 mask[1] = {};

	if (!sighand)
		return 0;
	action = (void *)sighand + bpf_core_field_offset(struct sighand_struct, action) +
		 index * bpf_core_type_size(struct k_sigaction);
	if ((unsigned long)BPF_CORE_READ(action, sa.sa_handler) <= 1)
		return 0;
	READ_BYTES(mask, action, sa.sa_mask.sig);
	return mask[0];
}

static __always_inline __u64 blocked_signals(struct task_struct *task)
{
	__u64 mask[1] = {};

	READ_BYTES(mask, task, blocked.sig);
	return mask[0];
}

/* Whether @task is within execve(). */
static __always_inline bool task_in_exec(struct task_struct *task)
{
	return bpf_core_field_exists(task->in_execve) && BIT_FIELD(task, in_execve);
}

/* The CPU that @task runs on, or is queued at. */
static __always_inline __u32 cpu_of(struct task_struct *task)
{
	const struct task_struct___before_5_16 *old = (const void *)task;

	if (bpf_core_field_exists(task->thread_info.cpu))
		return FIELD(task, thread_info.cpu);
	return FIELD(old, cpu);
}
