/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The kernel side's state of each thread and each CPU, and the ring buffers of events. */
#pragma once

#include "abi/grid.h"
#include "bpf/core/kernel.bpf.h"
#include "bpf/core/pids.bpf.h"
#include "bpf/core/run_time.bpf.h"
#include "bpf/core/settings.bpf.h"

enum run_state {
	RUN_STATE_UNKNOWN = 0, /* until its first switch, if the kernel does not tell */
	RUN_STATE_ON_CPU = 1,
	RUN_STATE_OFF_CPU = 2,
	RUN_STATE_GONE = 3,
};

enum state_flags {
	STATE_TARGET = 1 << 0,
	STATE_ANNOUNCED = 1 << 1,	 /* user space has its EVENT_THREAD */
	STATE_INTERVAL_PENDING = 1 << 2, /* its last interval is processed when it runs again */
	STATE_CREATED = 1 << 3,		 /* created during the recording */
	STATE_IN_EXEC = 1 << 4,		 /* its old program is gone, the new one is not there yet */
	STATE_HELPER = 1 << 5,		 /* recorded because it woke a target, or one woke it */
	STATE_ENDED = 1 << 6,		 /* it is exiting: only its last switch is still to come */
	STATE_FROZEN = 1 << 7,		 /* no longer recorded: the recording ends */
};

/*
 * A product defines struct product_thread and struct product_cpu, its own state of each thread and
 * CPU, before it includes this header. The fields that every switch uses come first, there too:
 * with many threads, the cost of a switch is that of its cache misses.
 */
struct thread_state {
	__u64 since;	  /* begin of the current run or interval; with STATE_FROZEN its end */
	__u64 ran_at;	  /* begin of the last run: an older wakeup belongs to an earlier sleep */
	__u64 next_point; /* no sampling point lies between the end of its last wait and this */
	__u64 t_wake;	  /* last wakeup, even if it came before the switch-out */
	__u64 lock;	  /* kernel lock that it contends for, or 0 */
	__u64 run_delay;  /* as of the start of the off-CPU interval, see run_delay() */
	__u32 thread;	  /* its number */
	__u32 runs;	  /* that have ended, as of its last switch that was seen, ended_runs() */
	__u16 interval_flags;
	__u8 run_state; /* enum run_state */
	__u8 class;	/* of the off-CPU interval */
	__u8 flags;
	__u8 spacing; /* of its sampling points when next_point was computed */
	__u8 waker_context;
	__u8 pending_class; /* see below */

	__u64 counted; /* its CPU time as of then, run_time() */
	struct product_thread product;

	__u64 seen;	 /* time of its creation, or when it was first seen */
	__u32 voluntary; /* switch counts at that time */
	__u32 involuntary;
	__u64 renamed; /* when it last got a name: within exec, the point of no return */
	/* The interval that ended last; valid with STATE_INTERVAL_PENDING. */
	__u64 t_out;
	__u64 t_in;
	__u64 pending_wake;
	__u32 blocked_points;
	__u32 runq_points;
	__u16 pending_flags;
	/* With listeners, see pushes.bpf.h: */
	__s16 blocked_in; /* system call of the last wait that ended a turn */
	__u32 turn;	  /* the number of such waits */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} states SEC(".maps");

/*
 * Takes the place of states with settings.states_in_hash; keyed by the task's address. Before Linux
 * 6.2, bpf_task_storage_get() returns NULL in an interrupt of task storage code on the same CPU: a
 * wakeup there would be lost. Look-ups in a hash map do not fail.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, CAPTURE_HASH_THREADS);
	__type(key, __u64);
	__type(value, struct thread_state);
} hashed_states SEC(".maps");

/* The state of a CPU, in a cache line of its own. */
struct cpu_state {
	__u32 pending;	  /* pid of the thread whose interval is to be emitted here; 0: none */
	__u64 tick_due;	  /* lower bound of when the clock's next tick is due */
	__u64 last_tick;  /* when the tick that was counted last was due */
	__u64 counted_to; /* all ticks due by this time are counted */
	__u64 tick;	  /* the clock's current period */
	__u32 points;	  /* sampling points that a tick represents */
	__u32 work;	  /* since the last tick began, see struct capture_tick */
	__u64 stolen;	  /* stolen_ns() when it began */
	struct perf_event *clock;
	struct rq *run_queue; /* NULL: not known yet */
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

/* One ring per CPU, up to a limit: a CPU has ring number CPU & settings.ring_mask. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} rings SEC(".maps");

/* The spacing, at present: sampling points of off-CPU intervals lie 2^spacing periods apart. */
static __always_inline __u8 present_spacing(void)
{
	return *(volatile __u8 *)&capture.spacing & INTERVAL_SPACING_MAX;
}

/* See capture_state.sent_salt. */
static __always_inline __u64 sent_salt(void)
{
	return *(volatile __u64 *)&capture.sent_salt;
}

static __always_inline void count_loss(enum loss why)
{
	__sync_fetch_and_add(&capture.losses[why], 1);
}

/* This CPU's ring. NULL: never. */
static __always_inline void *this_ring(void)
{
	__u32 index = bpf_get_smp_processor_id() & settings.ring_mask;

	return bpf_map_lookup_elem(&rings, &index);
}

/*
 * Queues an event of @size bytes; false, and counts the loss @otherwise, if there is no room. Wakes
 * user space only when settings.ring_wake_at bytes are queued.
 */
static __always_inline bool emit(const void *event, __u64 size, enum loss otherwise)
{
	void *ring = this_ring();
	__u64 queued;
	__u64 flags;

	if (!ring)
		return false;
	queued = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);
	flags = queued < settings.ring_wake_at && queued + size + 16 >= settings.ring_wake_at
			? BPF_RB_FORCE_WAKEUP
			: BPF_RB_NO_WAKEUP;
	if (bpf_ringbuf_output(ring, (void *)event, size, flags)) {
		count_loss(otherwise);
		return false;
	}
	return true;
}

/* Not inlined: the compiler would merge this pointer with one into task storage. */
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

/* The state of @task, created if it has none, with thread number 0. NULL: out of memory. */
static __always_inline struct thread_state *make_state(struct task_struct *task)
{
	if (settings.states_in_hash)
		return hashed_state(task, true);
	return bpf_task_storage_get(&states, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* Deletes the state of @task, which is freed: another one can get its address. */
static __always_inline void drop_hashed_state(struct task_struct *task)
{
	__u64 key = (__u64)task;
	struct thread_state *state = bpf_map_lookup_elem(&hashed_states, &key);

	if (!state)
		return;
	/* The delete fails in an interrupt of an update of the map: then the state is a new one. */
	__builtin_memset(state, 0, sizeof(*state));
	bpf_map_delete_elem(&hashed_states, &key);
}

/* The state of @task if it is recorded, else NULL. */
static __always_inline struct thread_state *target_state(struct task_struct *task)
{
	struct thread_state *state = state_of(task);

	return state && (state->flags & (STATE_TARGET | STATE_FROZEN)) == STATE_TARGET ? state
										       : NULL;
}

/* Whether @task runs in user mode at times, and makes system calls. */
static __always_inline bool has_user_mode(const struct task_struct *task)
{
	return !(FIELD(task, flags) & (PF_KTHREAD | PF_IO_WORKER | settings.user_worker_flag));
}

/* False also for an exiting task that has released its memory. */
static __always_inline bool has_user_memory(const struct task_struct *task)
{
	return has_user_mode(task) && BPF_CORE_READ(task, mm);
}

static __always_inline bool has_user_stack(const struct task_struct *task,
					   const struct thread_state *state)
{
	return has_user_memory(task) && !(state->flags & STATE_IN_EXEC);
}

/* The number of the system call that @task is in, or SYSCALL_NONE. */
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
	if (IS_COMPAT(task))
		return nr == NR_FUTEX_COMPAT ? NR_FUTEX : SYSCALL_NONE;
	return nr;
}

static __always_inline void describe_thread(struct event_thread *event, struct task_struct *task,
					    const struct thread_state *state, __u32 parent)
{
	event->header.type = EVENT_THREAD;
	event->header.thread = state->thread;
	event->header.time = state->seen;
	event->start_boottime = FIELD(task, start_boottime);
	event->tid = tid_of(task);
	event->tgid = tgid_of(task);
	event->parent = parent;
	event->flags = (FIELD(task, flags) & PF_KTHREAD ? THREAD_KERNEL : 0) |
		       (state->flags & STATE_HELPER   ? THREAD_HELPER
			: state->flags & STATE_TARGET ? THREAD_TARGET
						      : 0) |
		       (state->flags & STATE_CREATED ? THREAD_CREATED : 0);
	READ_STRING(event->comm, task, comm);
}

/*
 * Sends EVENT_THREAD, which must come before other events of the thread. (Not inlined, like other
 * functions with an event on their stack: the frames of a program and its calls share 512 bytes.)
 */
static __noinline void announce(struct task_struct *task, struct thread_state *state, __u32 parent)
{
	struct event_thread event = {};

	describe_thread(&event, task, state, parent);
	if (emit(&event, sizeof(event), LOSS_RING_FULL))
		state->flags |= STATE_ANNOUNCED;
}

/*
 * Whether no run of @state's thread has ended since its last switch that was seen, where @runs is
 * its ended_runs() while it runs: one less than then if the kernel has not counted the current one.
 */
static __always_inline bool in_next_run(const struct thread_state *state, __u32 runs)
{
	return runs == state->runs || runs + 1 == state->runs;
}

static __always_inline void begin_times(struct task_struct *task, struct thread_state *state,
					__u64 now)
{
	bool running = has_cpu(task);

	state->counted = run_time(task, running, now);
	state->runs = ended_runs(task, running);
	state->since = now;
	state->ran_at = now;
	state->seen = now;
	state->voluntary = FIELD(task, nvcsw);
	state->involuntary = FIELD(task, nivcsw);
}

/*
 * Initializes the state of @task at @now. NULL: it could not be allocated (without memory, or in an
 * interrupt), which is counted as a loss for a target.
 */
static __always_inline struct thread_state *begin_state(struct task_struct *task, __u64 now,
							__u8 flags, enum run_state run_state)
{
	struct thread_state *state = make_state(task);

	if (!state) {
		if (flags & STATE_TARGET)
			count_loss(LOSS_THREAD_STATE);
		return NULL;
	}
	if (!state->thread)
		state->thread = __sync_fetch_and_add(&capture.last_thread, 1) + 1;
	begin_times(task, state, now);
	state->run_state = run_state;
	state->flags = flags;
	return state;
}
