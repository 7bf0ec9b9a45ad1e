/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What the kernel side keeps of each thread and each CPU, and the way events take to user
 * space.
 */
#pragma once

#include "abi/grid.h"
#include "bpf/core/kernel.bpf.h"
#include "bpf/core/pids.bpf.h"
#include "bpf/core/settings.bpf.h"

enum where {
	WHERE_UNKNOWN = 0, /* until its first switch */
	WHERE_ON_CPU = 1,
	WHERE_OFF_CPU = 2,
	WHERE_GONE = 3,
};

enum state_flags {
	STATE_TARGET = 1 << 0,
	STATE_ANNOUNCED = 1 << 1, /* user space has its EVENT_THREAD */
	STATE_PENDING = 1 << 2,	  /* an interval is to be dealt with when it runs again */
	STATE_CREATED = 1 << 3,	  /* created during the recording */
	STATE_IN_EXEC = 1 << 4,	  /* its old program is gone, the new one is not there yet */
	STATE_HELPER = 1 << 5,	  /* recorded because it woke a target */
	STATE_ENDED = 1 << 6,	  /* it is exiting: only its last switch is still to come */
};

/*
 * A product defines struct product_thread and struct product_cpu, what it keeps of each thread
 * and each CPU itself, before it includes this header. What every switch needs comes first, in
 * theirs too: with many threads, cache lines are what a switch costs.
 */
struct thread_state {
	__u64 since;	  /* begin of the present run or off-CPU interval */
	__u64 ran_at;	  /* begin of the last run: an older wakeup belongs to an older sleep */
	__u64 next_point; /* no sampling point lies between the end of its last wait and this */
	__u64 t_wake;	  /* last wakeup, whether it slept or was about to */
	__u64 lock;	  /* kernel lock it contends for, or 0 */
	__u32 thread;	  /* its number */
	__u16 interval_flags;
	__u8 where;
	__u8 class; /* of the off-CPU interval */
	__u8 flags;
	__u8 spacing; /* that next_point was found with */
	__u8 waker_context;

	struct product_thread product;

	__u64 seen;	 /* created, or seen first */
	__u64 voluntary; /* switch counts when first seen */
	__u64 involuntary;
	__u64 renamed; /* when it last got a name: within exec, the point of no return */
	/* The interval that ended last, if it holds a sampling point; STATE_PENDING: see there. */
	__u64 t_out;
	__u64 t_in;
	__u64 pending_wake;
	__u32 blocked_points;
	__u32 runq_points;
	__u16 pending_flags;
	__u8 pending_class;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} states SEC(".maps");

/*
 * The same with settings.states_in_hash, keyed by the task's address. Before Linux 6.2,
 * bpf_task_storage_get() returns NULL while the kernel is within task storage on the same CPU:
 * what an interrupt wakes then would lose its waker. Look-ups in a hash map never fail.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, CAPTURE_HASH_THREADS);
	__type(key, __u64);
	__type(value, struct thread_state);
} hashed_states SEC(".maps");

/* What is kept per CPU, in a cache line of its own. */
struct cpu_state {
	__u32 pending;	  /* the thread whose interval is to be emitted here, by pid; 0: none */
	__u64 tick_due;	  /* the next tick of its clock is not due before */
	__u64 last_tick;  /* when the tick was due that was counted last, */
	__u64 counted_to; /* and the time by which all that were due are */
	__u64 tick;	  /* its period at present */
	__u32 points;	  /* that each tick of that period stands for */
	struct perf_event *clock;
	struct product_cpu product;
} __attribute__((aligned(64)));

static struct cpu_state cpu_states[CAPTURE_MAX_CPUS];

static __always_inline struct cpu_state *this_cpu(void)
{
	return &cpu_states[bpf_get_smp_processor_id() & (CAPTURE_MAX_CPUS - 1)];
}

static __always_inline struct capture_cpu *this_capture_cpu(void)
{
	return &capture_cpus[bpf_get_smp_processor_id() & (CAPTURE_MAX_CPUS - 1)];
}

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
};

/* One ring per CPU, up to a limit: ring of a CPU = CPU & settings.ring_mask. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} rings SEC(".maps");

/* Sampling points for off-CPU intervals lie 2^n periods apart at present. */
static __always_inline __u8 present_spacing(void)
{
	return *(volatile __u8 *)&capture.spacing & INTERVAL_SPACING_MAX;
}

static __always_inline void lose(enum loss why)
{
	__sync_fetch_and_add(&capture.losses[why], 1);
}

/* Queues an event. Wakes user space only when a good part of the ring has filled. */
static __always_inline bool emit(const void *event, __u64 size, enum loss otherwise)
{
	__u32 index = bpf_get_smp_processor_id() & settings.ring_mask;
	void *ring = bpf_map_lookup_elem(&rings, &index);
	__u64 queued;
	__u64 flags;

	if (!ring)
		return false;
	queued = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);
	flags = queued < settings.ring_wake_at && queued + size + 16 >= settings.ring_wake_at
			? BPF_RB_FORCE_WAKEUP
			: BPF_RB_NO_WAKEUP;
	if (bpf_ringbuf_output(ring, (void *)event, size, flags)) {
		lose(otherwise);
		return false;
	}
	return true;
}

/* Not inlined: compilers would merge this pointer with one into task storage. */
static __noinline struct thread_state *hashed_state(struct task_struct *task, bool make)
{
	static const struct thread_state none;
	__u64 key = (__u64)task;
	struct thread_state *state;

	if (make)
		bpf_map_update_elem(&hashed_states, &key, &none, BPF_NOEXIST);
	state = bpf_map_lookup_elem(&hashed_states, &key);
	return state && (make || state->thread) ? state : NULL;
}

static __always_inline struct thread_state *state_of(struct task_struct *task)
{
	if (settings.states_in_hash)
		return hashed_state(task, false);
	return bpf_task_storage_get(&states, task, NULL, 0);
}

/* The same, or a new one, whose thread number is 0 yet. NULL: there is no memory for it. */
static __always_inline struct thread_state *make_state(struct task_struct *task)
{
	if (settings.states_in_hash)
		return hashed_state(task, true);
	return bpf_task_storage_get(&states, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* @task is gone, and another one can get its address. */
static __always_inline void drop_hashed_state(struct task_struct *task)
{
	__u64 key = (__u64)task;
	struct thread_state *state = bpf_map_lookup_elem(&hashed_states, &key);

	if (!state)
		return;
	/* What cannot be deleted within an interrupted update of the map is as good as new. */
	__builtin_memset(state, 0, sizeof(*state));
	bpf_map_delete_elem(&hashed_states, &key);
}

/* The state of @task if it is recorded, else NULL. */
static __always_inline struct thread_state *target_state(struct task_struct *task)
{
	struct thread_state *state = state_of(task);

	return state && state->flags & STATE_TARGET ? state : NULL;
}

/* Whether @task has user mode, and with it system calls. */
static __always_inline bool has_user_mode(const struct task_struct *task)
{
	return !(task->flags & no_user_flags);
}

/* False once a task that exits has released its memory. */
static __always_inline bool has_user_memory(const struct task_struct *task)
{
	return has_user_mode(task) && BPF_CORE_READ(task, mm);
}

static __always_inline bool has_user_stack(const struct task_struct *task,
					   const struct thread_state *state)
{
	return has_user_memory(task) && !(state->flags & STATE_IN_EXEC);
}

/* The system call @task is in, or SYSCALL_NONE. */
static __always_inline long syscall_of(struct task_struct *task)
{
	struct pt_regs *regs;
	long nr;

	if (!has_user_mode(task))
		return SYSCALL_NONE;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	nr = REGS_SYSCALL(regs);
	if (nr < 0)
		return SYSCALL_NONE;
	if (task->thread_info.status & TS_COMPAT)
		return nr == NR_FUTEX_COMPAT ? NR_FUTEX : SYSCALL_NONE;
	return nr;
}

static __always_inline void describe_thread(struct event_thread *event, struct task_struct *task,
					    const struct thread_state *state, __u32 parent)
{
	event->header.type = EVENT_THREAD;
	event->header.thread = state->thread;
	event->header.time = state->seen;
	event->start_boottime = task->start_boottime;
	event->tid = tid_of(task);
	event->tgid = tgid_of(task);
	event->parent = parent;
	event->flags = (task->flags & PF_KTHREAD ? THREAD_KERNEL : 0) |
		       (state->flags & STATE_HELPER   ? THREAD_HELPER
			: state->flags & STATE_TARGET ? THREAD_TARGET
						      : 0) |
		       (state->flags & STATE_CREATED ? THREAD_CREATED : 0);
	BPF_CORE_READ_STR_INTO(&event->comm, task, comm);
}

/*
 * Sends EVENT_THREAD, before the first event that names the thread. (Not inlined, like other
 * functions with an event on their stack: all frames of a program and its calls share 512
 * bytes.)
 */
static __noinline void announce(struct task_struct *task, struct thread_state *state, __u32 parent)
{
	struct event_thread event = {};

	describe_thread(&event, task, state, parent);
	if (emit(&event, sizeof(event), LOSS_RING_FULL))
		state->flags |= STATE_ANNOUNCED;
}

static __always_inline void begin_times(const struct task_struct *task, struct thread_state *state,
					__u64 now)
{
	state->since = now;
	state->ran_at = now;
	state->seen = now;
	state->voluntary = task->nvcsw;
	state->involuntary = task->nivcsw;
}

/*
 * Begins the state of @task at @now. Allocation can fail in interrupt context
 * and without memory: NULL, and the loss is counted when the thread was wanted.
 */
static __always_inline struct thread_state *begin_state(struct task_struct *task, __u64 now,
							__u8 flags, enum where where)
{
	struct thread_state *state = make_state(task);

	if (!state) {
		if (flags & STATE_TARGET)
			lose(LOSS_THREAD_STATE);
		return NULL;
	}
	if (!state->thread)
		state->thread = __sync_fetch_and_add(&capture.last_thread, 1) + 1;
	begin_times(task, state, now);
	state->where = where;
	state->flags = flags;
	return state;
}
