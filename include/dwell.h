/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwell.h: annotations that tell the profiler dwell what the kernel cannot see.
 *
 * dwell observes in the kernel when a thread sleeps and which thread wakes it. Two things
 * are invisible there: a thread that busy-waits looks like one that computes, and a thread
 * that was woken but has to wait again looks like one that got what it waited for. Annotate
 * the places where your program does either:
 *
 *	#include <dwell.h>
 *
 *	static void lock(struct lock *lock)
 *	{
 *		if (try_lock(lock))
 *			return;
 *		DWELL_SPIN_BEGIN(lock);
 *		while (!try_lock(lock))
 *			cpu_relax();
 *		DWELL_SPIN_END(lock);
 *	}
 *
 *	static void unlock(struct lock *lock)
 *	{
 *		DWELL_SPIN_RELEASE(lock);
 *		__atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
 *	}
 *
 *	while (queue->n == 0) {
 *		pthread_cond_wait(&queue->filled, &queue->lock);
 *		if (queue->n == 0)
 *			DWELL_WOKEN_FOR_NOTHING();
 *	}
 *
 * and run it with `dwell record -- ./program`. It is enough to annotate the places where
 * an ordinary profile shows much time or many wakeups (wPerf, OSDI'18, section 4.1).
 *
 * The header is self-contained: nothing to link, no thread of its own. It works with C99
 * and C++11 or later, gcc and clang, and in any number of source files and shared libraries
 * of a program. When the program is not run by dwell, an annotation costs one load and one
 * branch; when it is, less than reading the clock twice, without a system call. Annotations
 * are safe in signal handlers and preserve errno. With DWELL_DISABLE defined before the
 * #include, and on anything but 64-bit Linux on x86, Arm, RISC-V and LoongArch, they
 * compile to nothing.
 *
 * @address is a pointer that identifies what is waited for; it is never dereferenced. The
 * waiting and the releasing thread must pass the same one. Arguments are evaluated once, or
 * not at all with DWELL_DISABLE.
 */
#ifndef DWELL_H
#define DWELL_H

#include <stdint.h>

/*
 * The calling thread begins to busy-wait for @address, until its DWELL_SPIN_END() with the
 * same address. Put it after a first attempt that failed, so that the uncontended path pays
 * nothing.
 */
#define DWELL_SPIN_BEGIN(address) dwell_annotate(DWELL_EVENT_SPIN_BEGIN, (address), 0)

/*
 * The same when the program knows which thread holds @address: @holder_tid is its thread id
 * as gettid() returns it, not a pthread_t. No DWELL_SPIN_RELEASE() is needed then.
 */
#define DWELL_SPIN_BEGIN_FOR(address, holder_tid)                                                  \
	dwell_annotate(DWELL_EVENT_SPIN_BEGIN, (address), (holder_tid))

/* The calling thread has got what it busy-waited for, or has given up. */
#define DWELL_SPIN_END(address) dwell_annotate(DWELL_EVENT_SPIN_END, (address), 0)

/*
 * The calling thread releases @address, or does what others busy-wait for. A wait is
 * attributed to the thread that released its address last before the wait ended. Put it
 * right before the store that releases, not after it: the waiter may see the store first.
 */
#define DWELL_SPIN_RELEASE(address) dwell_annotate(DWELL_EVENT_SPIN_RELEASE, (address), 0)

/*
 * The calling thread was woken, but its condition still does not hold and it is about to
 * wait again. Its last wait and the next then count as one, and the thread that woke it is
 * not taken for the one that it waited for.
 */
#define DWELL_WOKEN_FOR_NOTHING() dwell_annotate(DWELL_EVENT_WOKEN_FOR_NOTHING, DWELL_NULL, 0)

/*
 * Progress points, for `dwell causal run -- ./program`: places whose visits measure the
 * program's progress (Coz, SOSP'15, sections 2 and 3.3). Names are string literals of at most
 * DWELL_POINT_NAME - 1 characters; points with the same name are one point.
 *
 * DWELL_PROGRESS goes where a unit of work is done: a request answered, a block compressed.
 * `dwell causal` predicts how much its rate of visits would rise.
 */
#define DWELL_PROGRESS		   DWELL_PROGRESS_NAMED(__FILE__ ":" DWELL_LINE)
#define DWELL_PROGRESS_NAMED(name) DWELL_VISIT(DWELL_POINT_THROUGHPUT, name)

/*
 * The begin and the end of an operation, in any threads: `dwell causal` predicts its latency, and
 * `dwell path --request NAME` shows what slow ones wait for. Every DWELL_BEGIN() must be followed
 * by one DWELL_END() with the same name. In a recording, an end belongs to the last begin in the
 * same thread, or if it has none, to the first one in the process.
 */
#define DWELL_BEGIN(name) DWELL_VISIT(DWELL_POINT_BEGIN, name)
#define DWELL_END(name)	  DWELL_VISIT(DWELL_POINT_END, name)

/*
 * Requests that go through several threads, for `dwell latency run --request dwell:requests` and
 * `dwell path --request dwell:requests` (LDB, NSDI'24, section 4.2). @id is a number of the
 * program's choice, the same in all threads, as a uint64_t. It may be used again when the request
 * has ended.
 *
 *	DWELL_REQUEST_BEGIN(request->id);		// the thread that accepts requests
 *	parse(request);
 *	DWELL_REQUEST_BLOCK(request->id, queue);
 *	push(queue, request);
 *
 *	request = pop(queue);				// a worker
 *	DWELL_REQUEST_BEGIN_FROM(request->id, queue);
 *	answer(request);
 *	DWELL_REQUEST_END(request->id);
 *
 * The calling thread begins to work at request @id, until it hands it on or ends it. If no thread
 * has it yet, and it is in no queue, the request begins here. A thread may have several requests,
 * and a request several threads: it then ends when the last of them ends it. A request that nobody
 * ends is left out.
 */
#define DWELL_REQUEST_BEGIN(id) dwell_tag(DWELL_EVENT_REQUEST_BEGIN, (id), DWELL_NULL)

/* The same of a request that was taken from @queue, an address that is never dereferenced. */
#define DWELL_REQUEST_BEGIN_FROM(id, queue) dwell_tag(DWELL_EVENT_REQUEST_BEGIN, (id), (queue))

/*
 * The calling thread hands request @id on: until a thread begins to work at it, it is in @queue, or
 * waits for something else (NULL). Put it before what makes the request visible to other threads.
 * To hand it to several threads, call it once for each of them, before the first one can see it.
 */
#define DWELL_REQUEST_BLOCK(id, queue) dwell_tag(DWELL_EVENT_REQUEST_BLOCK, (id), (queue))

/*
 * The calling thread has done its work at request @id. If no other thread has it and it is in no
 * queue, the request ends here. A request that is in a queue ends, too, if no thread has it.
 */
#define DWELL_REQUEST_END(id) dwell_tag(DWELL_EVENT_REQUEST_END, (id), DWELL_NULL)

/* The same of all requests that the calling thread has, such as those of a batch. */
#define DWELL_REQUEST_END_ALL() dwell_tag(DWELL_EVENT_REQUEST_END_ALL, 0, DWELL_NULL)

/*
 * For functions that dwell-cc is to leave out: DWELL_UNTIMED void f(void). With another compiler,
 * it does nothing.
 */
#ifdef __clang__
#define DWELL_UNTIMED __attribute__((annotate("dwell_off")))
#else
#define DWELL_UNTIMED __attribute__((no_instrument_function))
#endif

/*
 * The rest is the implementation; programs need not know it.
 *
 * dwell starts the program with the name of a file in the environment. At the first
 * annotation the program maps that file, a struct dwell_area, and writes its events to it;
 * dwell maps it too and reads them. Any number of processes and threads write at once and
 * never wait. They need not trust the file's contents: stores of the program stay inside
 * the mapping, because they depend on the contents only through an index that is reduced
 * modulo the ring size.
 *
 * Each thread writes to one of several rings, to avoid contention. A writer
 *
 *  - takes the next index of the ring (an atomic addition),
 *  - claims the slot of that index (compare-and-swap of its seq),
 *  - fills it in, and publishes it (a store to seq).
 *
 * A reader copies a published slot, and accepts the copy if seq has not changed meanwhile.
 * When the reader falls behind by more than a ring, events are overwritten. When a slot
 * cannot be claimed, because a writer was preempted in it a whole round ago, or this writer
 * was, the event is dropped. So each index is read at most once, and the reader can count
 * what it missed.
 *
 * Changes to this layout change DWELL_AREA_VERSION and the names of the shared symbols
 * (dwell_v1_...), so that parts of a program built with different versions do not mix.
 */
#define DWELL_ENVIRONMENT  "DWELL_ANNOTATIONS"	 /* names the file */
#define DWELL_AREA_MAGIC   0x736e6f6c6c657764ull /* "dwellons" */
#define DWELL_AREA_VERSION 1
#define DWELL_STRIPE_BITS  6
#define DWELL_STRIPES	   (1 << DWELL_STRIPE_BITS)
#define DWELL_SLOTS	   4096 /* of a stripe; a power of two */

/* Values are part of the layout: never renumbered. */
enum dwell_event {
	DWELL_EVENT_SPIN_BEGIN = 1, /* value: the holder's tid, 0 unknown */
	DWELL_EVENT_SPIN_END = 2,
	DWELL_EVENT_SPIN_RELEASE = 3,
	DWELL_EVENT_WOKEN_FOR_NOTHING = 4,
	/* DWELL_BEGIN() and DWELL_END(); address: index of the point in struct dwell_points */
	DWELL_EVENT_BEGIN = 5,
	DWELL_EVENT_END = 6,
	/* address: the request's id; value: address of the queue, 0 none */
	DWELL_EVENT_REQUEST_BEGIN = 7,
	DWELL_EVENT_REQUEST_BLOCK = 8,
	DWELL_EVENT_REQUEST_END = 9,
	DWELL_EVENT_REQUEST_END_ALL = 10 /* without an id */
};

/* seq of the slot for index i of a stripe: while it is written, and once it may be read. */
#define DWELL_SEQ_CLAIMED(i)   (2 * (i) + 1)
#define DWELL_SEQ_PUBLISHED(i) (2 * (i) + 2)

struct dwell_slot {
	uint64_t seq;
	uint64_t time; /* ns, CLOCK_MONOTONIC */
	uint64_t address;
	uint64_t value;
	uint32_t tid;  /* as gettid() returns it, in the program's pid namespace */
	uint32_t type; /* enum dwell_event */
};

/* A ring. next has two cache lines to itself, as lines are fetched in pairs. */
struct dwell_stripe {
	uint64_t next; /* index of the next event */
	uint64_t reserved[15];
	struct dwell_slot slot[DWELL_SLOTS];
};

struct dwell_header {
	uint64_t magic;
	uint32_t version;
	uint32_t ended; /* dwell no longer reads: writers may stop */
	uint64_t size;	/* of the file */
	uint64_t reserved[13];
};

struct dwell_area {
	struct dwell_header header;
	struct dwell_stripe stripe[DWELL_STRIPES];
};

/* Neither _Static_assert() nor static_assert() exists in all supported languages. */
#define DWELL_ASSERT(name, condition) typedef char dwell_assert_##name[(condition) ? 1 : -1]
DWELL_ASSERT(slots, (DWELL_SLOTS & (DWELL_SLOTS - 1)) == 0);
DWELL_ASSERT(slot_size, sizeof(struct dwell_slot) == 40);
DWELL_ASSERT(stripe_size, sizeof(struct dwell_stripe) == 128 + DWELL_SLOTS * 40);
DWELL_ASSERT(stripe_aligned, sizeof(struct dwell_stripe) % 128 == 0);
DWELL_ASSERT(header_size, sizeof(struct dwell_header) == 128);

/*
 * Progress points count in memory that dwell shares with the program: dwell starts the
 * program with an open descriptor, whose number is in the environment, and the program maps
 * a struct dwell_points from it. A point is claimed by name at its first visit and never
 * freed. Its visits are counted in one of several counters, chosen by thread to avoid
 * contention. When two threads claim the same name at once, there are two points, which
 * dwell adds up.
 */
#define DWELL_POINTS_ENVIRONMENT "DWELL_POINTS"	       /* names the descriptor */
#define DWELL_POINTS_MAGIC	 0x746e696f706c7764ull /* "dwlpoint" */
#define DWELL_POINTS_VERSION	 1
#define DWELL_POINTS		 256
#define DWELL_POINT_NAME	 120
#define DWELL_COUNT_BITS	 3
#define DWELL_COUNTS		 (1 << DWELL_COUNT_BITS)

/* Values are part of the layout, and the same as in coz.h. */
enum dwell_point_type { DWELL_POINT_THROUGHPUT = 1, DWELL_POINT_BEGIN = 2, DWELL_POINT_END = 3 };

/* One cache line. The first two members are coz_counter_t of coz.h. */
struct dwell_count {
	uint64_t count;
	uint64_t backoff;
	uint64_t reserved[6];
};

struct dwell_point {
	uint32_t named; /* 1: name and type are complete */
	uint32_t type;	/* enum dwell_point_type */
	char name[DWELL_POINT_NAME];
	struct dwell_count count[DWELL_COUNTS];
};

struct dwell_points {
	uint64_t magic;
	uint32_t version;
	uint32_t claimed; /* points claimed so far; may exceed DWELL_POINTS */
	uint64_t size;	  /* of this struct */
	uint64_t traced;  /* 1: visits of BEGIN and END points are events, too */
	uint64_t reserved[12];
	struct dwell_point point[DWELL_POINTS];
};

DWELL_ASSERT(count_size, sizeof(struct dwell_count) == 64);
DWELL_ASSERT(point_size, sizeof(struct dwell_point) == 128 + DWELL_COUNTS * 64);
DWELL_ASSERT(points_size, sizeof(struct dwell_points) == 128 + DWELL_POINTS * 640);

#if !defined(DWELL_DISABLE) && defined(__GNUC__) && defined(__linux__) && defined(__LP64__) &&     \
	(defined(__x86_64__) || defined(__aarch64__) || defined(__riscv) ||                        \
	 defined(__loongarch__))

#include <errno.h>
#include <sys/syscall.h>

/* Programs may be strict about casts: -Wold-style-cast, -Wzero-as-null-pointer-constant. */
#ifdef __cplusplus
#define DWELL_NULL		   nullptr
#define DWELL_POINTER(type, value) reinterpret_cast<type *>(value)
#define DWELL_NUMBER(type, value)  static_cast<type>(value)
extern "C" {
#else
#define DWELL_NULL		   ((void *)0)
#define DWELL_POINTER(type, value) ((type *)(value))
#define DWELL_NUMBER(type, value)  ((type)(value))
#endif

/*
 * C library functions under private names: what <time.h>, <unistd.h> and <stdlib.h> declare
 * depends on feature macros, which are the program's choice. For the same reason kernel
 * constants are repeated here; they are the same on all architectures above.
 */
struct dwell_timespec {
	int64_t seconds;
	int64_t nanoseconds;
};

int dwell_clock_gettime(int clock, struct dwell_timespec *time) __asm__("clock_gettime")
	__attribute__((__nothrow__));
long dwell_syscall(long number, ...) __asm__("syscall") __attribute__((__nothrow__));
/* Not getenv(): the environment must not make a set-user-id program open files. */
char *dwell_getenv(const char *name) __asm__("secure_getenv") __attribute__((__nothrow__));

#define DWELL_CLOCK_MONOTONIC 1
#define DWELL_AT_FDCWD	      (-100L)
#define DWELL_O_RDWR_CLOEXEC  02000002L
#define DWELL_SEEK_END	      2L
#define DWELL_PROT_READ_WRITE 3L
#define DWELL_MAP_RESERVE     0x4022L /* MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE */
#define DWELL_MAP_FILE	      0x11L   /* MAP_SHARED | MAP_FIXED */
#define DWELL_MAP_SHARED      0x1L
#define DWELL_MADV_WIPEONFORK 18L

/*
 * Identifies the process. Threads cache their tid in thread-local storage, which fork()
 * copies. This page is cleared in the child (MADV_WIPEONFORK), so the child makes a new mark,
 * which invalidates the cached tids. (A vfork() child shares all memory and uses the tid of
 * the thread that called vfork().)
 */
struct dwell_process {
	uint64_t not_cleared; /* MADV_WIPEONFORK failed (before Linux 4.14): mark stays 0 */
	uint64_t mark;	      /* time of the first event; 0: none yet */
};

struct dwell_self {
	uint64_t mark; /* of the process when tid was cached */
	uint32_t tid;
};

/* Size of the page before the area, which holds struct dwell_process; pages have at most 64 KiB. */
#define DWELL_FRONT	65536L
#define DWELL_AREA_SIZE DWELL_NUMBER(long, sizeof(struct dwell_area))

/*
 * One definition for all source files of a program, and for its libraries where symbols are
 * shared. Where they are not, as with dlopen(), each part maps the area for itself, which
 * works as well.
 */
#define DWELL_SHARED __attribute__((__weak__, __visibility__("default")))

/* In glibc, other TLS models may call malloc(), which is not safe in a signal handler. */
#ifdef __GLIBC__
#define DWELL_THREAD __thread __attribute__((__tls_model__("initial-exec")))
#else
#define DWELL_THREAD __thread
#endif

/* NULL: not attached yet; DWELL_OFF: not run by dwell. */
extern struct dwell_area *dwell_v1_state;
extern DWELL_THREAD struct dwell_self dwell_v1_self;
void dwell_v1_write(uint32_t type, uint64_t address, uint64_t value) __attribute__((__nothrow__));

DWELL_SHARED struct dwell_area *dwell_v1_state;
DWELL_SHARED DWELL_THREAD struct dwell_self dwell_v1_self;

#define DWELL_OFF DWELL_POINTER(struct dwell_area, UINTPTR_MAX)

/* When the program is not run by dwell, the load and the branch are the whole cost. */
static inline void dwell_annotate(enum dwell_event type, const volatile void *address,
				  int64_t value)
{
	uint64_t number = 0;

	if (__builtin_expect(__atomic_load_n(&dwell_v1_state, __ATOMIC_RELAXED) == DWELL_OFF, 1))
		return;
	__builtin_memcpy(&number, &address, sizeof(address));
	dwell_v1_write(type, number, DWELL_NUMBER(uint64_t, value));
}

/* The same for a request. */
static inline void dwell_tag(enum dwell_event type, uint64_t id, const volatile void *queue)
{
	uint64_t number = 0;

	if (__builtin_expect(__atomic_load_n(&dwell_v1_state, __ATOMIC_RELAXED) == DWELL_OFF, 1))
		return;
	__builtin_memcpy(&number, &queue, sizeof(queue));
	dwell_v1_write(type, id, number);
}

static inline struct dwell_process *dwell_process_of(struct dwell_area *area)
{
	return DWELL_POINTER(struct dwell_process, area) - 1;
}

static inline void dwell_unmap(struct dwell_area *area)
{
	dwell_syscall(__NR_munmap, DWELL_POINTER(char, area) - DWELL_FRONT,
		      DWELL_FRONT + DWELL_AREA_SIZE);
}

/* Maps the page for struct dwell_process and, after it, the area @fd. Returns it or DWELL_OFF. */
static struct dwell_area *dwell_map(long fd)
{
	struct dwell_area *area;
	long front;

	if (dwell_syscall(__NR_lseek, fd, 0L, DWELL_SEEK_END) != DWELL_AREA_SIZE)
		return DWELL_OFF;
	front = dwell_syscall(__NR_mmap, 0L, DWELL_FRONT + DWELL_AREA_SIZE, DWELL_PROT_READ_WRITE,
			      DWELL_MAP_RESERVE, -1L, 0L);
	if (front == -1)
		return DWELL_OFF;
	area = DWELL_POINTER(struct dwell_area, front + DWELL_FRONT);
	if (dwell_syscall(__NR_mmap, area, DWELL_AREA_SIZE, DWELL_PROT_READ_WRITE, DWELL_MAP_FILE,
			  fd, 0L) == -1 ||
	    area->header.magic != DWELL_AREA_MAGIC || area->header.version != DWELL_AREA_VERSION ||
	    area->header.size != sizeof(*area)) {
		dwell_unmap(area);
		return DWELL_OFF;
	}
	if (dwell_syscall(__NR_madvise, front, DWELL_FRONT, DWELL_MADV_WIPEONFORK))
		dwell_process_of(area)->not_cleared = 1;
	return area;
}

/* At the first annotation of a process. When several threads attach at once, one wins. */
static __attribute__((__cold__, __noinline__)) struct dwell_area *dwell_attach(void)
{
	const char *path = dwell_getenv(DWELL_ENVIRONMENT);
	struct dwell_area *area = DWELL_OFF, *other = DWELL_NULL;
	int saved = errno;
	long fd = -1;

	if (path)
		fd = dwell_syscall(__NR_openat, DWELL_AT_FDCWD, path, DWELL_O_RDWR_CLOEXEC);
	if (fd >= 0) {
		area = dwell_map(fd);
		dwell_syscall(__NR_close, fd);
	}
	if (!__atomic_compare_exchange_n(&dwell_v1_state, &other, area, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE)) {
		if (area != DWELL_OFF)
			dwell_unmap(area);
		area = other;
	}
	errno = saved;
	return area;
}

static __attribute__((__cold__, __noinline__)) uint32_t dwell_find_tid(struct dwell_area *area,
								       uint64_t now)
{
	struct dwell_process *process = dwell_process_of(area);
	uint64_t mark = __atomic_load_n(&process->mark, __ATOMIC_RELAXED);
	uint32_t tid;

	if (!mark && !process->not_cleared &&
	    __atomic_compare_exchange_n(&process->mark, &mark, now, 0, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		mark = now;
	tid = DWELL_NUMBER(uint32_t, dwell_syscall(__NR_gettid));
	/* The mark last: a signal handler may run in between. */
	__atomic_store_n(&dwell_v1_self.tid, tid, __ATOMIC_RELAXED);
	__atomic_store_n(&dwell_v1_self.mark, mark, __ATOMIC_RELEASE);
	return tid;
}

static inline uint32_t dwell_tid(struct dwell_area *area, uint64_t now)
{
	uint64_t mark = __atomic_load_n(&dwell_process_of(area)->mark, __ATOMIC_RELAXED);

	if (mark && __atomic_load_n(&dwell_v1_self.mark, __ATOMIC_RELAXED) == mark)
		return __atomic_load_n(&dwell_v1_self.tid, __ATOMIC_RELAXED);
	return dwell_find_tid(area, now);
}

/* Fibonacci hashing spreads consecutive ids. */
static inline uint32_t dwell_stripe_of(uint32_t tid)
{
	return (tid * 2654435769u) >> (32 - DWELL_STRIPE_BITS);
}

/*
 * Every store is a release, so that none becomes visible before the claim: the reader, which
 * loads with acquire, then sees that seq has changed. (Fences would do, but ThreadSanitizer
 * does not support them; on x86 both are plain moves.)
 */
static inline void dwell_put(struct dwell_stripe *stripe, uint64_t time, uint32_t tid,
			     uint32_t type, uint64_t address, uint64_t value)
{
	uint64_t index = __atomic_fetch_add(&stripe->next, 1, __ATOMIC_RELAXED);
	struct dwell_slot *slot = &stripe->slot[index % DWELL_SLOTS];
	uint64_t seq = __atomic_load_n(&slot->seq, __ATOMIC_RELAXED);

	/* Claimed by a preempted writer; or this writer was preempted and is a round late. */
	if (seq % 2 || seq > DWELL_SEQ_CLAIMED(index) ||
	    !__atomic_compare_exchange_n(&slot->seq, &seq, DWELL_SEQ_CLAIMED(index), 0,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&slot->time, time, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->address, address, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->value, value, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->tid, tid, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->type, type, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->seq, DWELL_SEQ_PUBLISHED(index), __ATOMIC_RELEASE);
}

DWELL_SHARED DWELL_UNTIMED __attribute__((__nothrow__)) void
dwell_v1_write(uint32_t type, uint64_t address, uint64_t value)
{
	struct dwell_area *area = __atomic_load_n(&dwell_v1_state, __ATOMIC_ACQUIRE);
	struct dwell_timespec clock;
	uint64_t now;
	uint32_t tid;

	if (!area)
		area = dwell_attach();
	if (area == DWELL_OFF)
		return;
	/* Not unmapped: another thread may be writing to it. */
	if (__atomic_load_n(&area->header.ended, __ATOMIC_RELAXED)) {
		__atomic_store_n(&dwell_v1_state, DWELL_OFF, __ATOMIC_RELAXED);
		return;
	}
	dwell_clock_gettime(DWELL_CLOCK_MONOTONIC, &clock);
	now = DWELL_NUMBER(uint64_t, clock.seconds * 1000000000 + clock.nanoseconds);
	tid = dwell_tid(area, now);
	dwell_put(&area->stripe[dwell_stripe_of(tid)], now, tid, type, address, value);
}

#define DWELL_TEXT_(text) #text
#define DWELL_TEXT(text)  DWELL_TEXT_(text)
#define DWELL_LINE	  DWELL_TEXT(__LINE__)

/* NULL: not attached yet; DWELL_NO_POINTS: not run by dwell causal. */
extern struct dwell_points *dwell_v1_points;
struct dwell_point *dwell_v1_find_point(uint32_t type, const char *name)
	__attribute__((__nothrow__));

DWELL_SHARED struct dwell_points *dwell_v1_points;

#define DWELL_NO_POINTS DWELL_POINTER(struct dwell_points, UINTPTR_MAX)
#define DWELL_NO_POINT	DWELL_POINTER(struct dwell_point, UINTPTR_MAX)

/* Each place in the program looks its point up at its first visit and caches it. */
#define DWELL_VISIT(type, name)                                                                    \
	do {                                                                                       \
		static struct dwell_point *dwell_here;                                             \
		dwell_visit(&dwell_here, type, "" name);                                           \
	} while (0)

/* The counter of this thread, by a hash of its thread-local storage's address. */
static inline uint32_t dwell_count_of(void)
{
	uint64_t place = 0;
	const volatile void *self = &dwell_v1_self;

	__builtin_memcpy(&place, &self, sizeof(self));

	return (DWELL_NUMBER(uint32_t, place >> 6) * 2654435769u) >> (32 - DWELL_COUNT_BITS);
}

static inline void dwell_trace_visit(const struct dwell_point *point, enum dwell_point_type type)
{
	const struct dwell_points *points = __atomic_load_n(&dwell_v1_points, __ATOMIC_RELAXED);

	if (points->traced)
		dwell_v1_write(type == DWELL_POINT_BEGIN ? DWELL_EVENT_BEGIN : DWELL_EVENT_END,
			       DWELL_NUMBER(uint64_t, point - points->point), 0);
}

static inline void dwell_visit(struct dwell_point **here, enum dwell_point_type type,
			       const char *name)
{
	struct dwell_point *point = __atomic_load_n(here, __ATOMIC_ACQUIRE);

	if (__builtin_expect(point == DWELL_NO_POINT, 1))
		return;
	if (!point) {
		point = dwell_v1_find_point(type, name);
		__atomic_store_n(here, point, __ATOMIC_RELEASE);
		if (point == DWELL_NO_POINT)
			return;
	}
	__atomic_fetch_add(&point->count[dwell_count_of()].count, 1, __ATOMIC_RELAXED);
	if (type != DWELL_POINT_THROUGHPUT)
		dwell_trace_visit(point, type);
}

/* Parses @text as a decimal number; -1 if it is not one. */
static inline long dwell_descriptor(const char *text)
{
	long fd = 0;

	if (!text || !*text)
		return -1;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || fd > 1000000)
			return -1;
		fd = fd * 10 + (*text - '0');
	}
	return fd;
}

/* The program may have closed the descriptor and reused its number: checks what is there. */
static struct dwell_points *dwell_map_points(long fd)
{
	const long size = DWELL_NUMBER(long, sizeof(struct dwell_points));
	struct dwell_points *points;
	long mapped =
		dwell_syscall(__NR_mmap, 0L, size, DWELL_PROT_READ_WRITE, DWELL_MAP_SHARED, fd, 0L);

	if (mapped == -1)
		return DWELL_NO_POINTS;
	points = DWELL_POINTER(struct dwell_points, mapped);
	if (points->magic == DWELL_POINTS_MAGIC && points->version == DWELL_POINTS_VERSION &&
	    points->size == sizeof(*points))
		return points;
	dwell_syscall(__NR_munmap, mapped, size);
	return DWELL_NO_POINTS;
}

static inline struct dwell_points *dwell_find_points(void)
{
	struct dwell_points *points = __atomic_load_n(&dwell_v1_points, __ATOMIC_ACQUIRE);
	struct dwell_points *other = DWELL_NULL;
	long fd;

	if (points)
		return points;
	fd = dwell_descriptor(dwell_getenv(DWELL_POINTS_ENVIRONMENT));
	points = fd < 0 ? DWELL_NO_POINTS : dwell_map_points(fd);
	if (__atomic_compare_exchange_n(&dwell_v1_points, &other, points, 0, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return points;
	if (points != DWELL_NO_POINTS)
		dwell_syscall(__NR_munmap, points, DWELL_NUMBER(long, sizeof(*points)));
	return other;
}

/* Whether @point is named @name, which is truncated to DWELL_POINT_NAME - 1. */
static inline int dwell_is_named(const struct dwell_point *point, const char *name)
{
	int i;

	for (i = 0; i < DWELL_POINT_NAME - 1 && name[i]; i++)
		if (point->name[i] != name[i])
			return 0;
	return !point->name[i];
}

DWELL_SHARED DWELL_UNTIMED __attribute__((__nothrow__)) struct dwell_point *
dwell_v1_find_point(uint32_t type, const char *name)
{
	int saved = errno;
	struct dwell_points *points = dwell_find_points();
	struct dwell_point *point;
	uint32_t n, i;

	errno = saved;
	if (points == DWELL_NO_POINTS)
		return DWELL_NO_POINT;
	n = __atomic_load_n(&points->claimed, __ATOMIC_RELAXED);
	for (i = 0; i < n && i < DWELL_POINTS; i++) {
		point = &points->point[i];
		if (__atomic_load_n(&point->named, __ATOMIC_ACQUIRE) && point->type == type &&
		    dwell_is_named(point, name))
			return point;
	}
	if (n >= DWELL_POINTS)
		return DWELL_NO_POINT;
	i = __atomic_fetch_add(&points->claimed, 1, __ATOMIC_RELAXED);
	if (i >= DWELL_POINTS)
		return DWELL_NO_POINT;
	point = &points->point[i];
	point->type = type;
	for (i = 0; i < DWELL_POINT_NAME - 1 && name[i]; i++)
		point->name[i] = name[i];
	__atomic_store_n(&point->named, 1, __ATOMIC_RELEASE);
	return point;
}

#ifdef __cplusplus
}
#endif

#else /* disabled: arguments are type-checked, not evaluated */

#undef DWELL_SPIN_BEGIN
#undef DWELL_SPIN_BEGIN_FOR
#undef DWELL_SPIN_END
#undef DWELL_SPIN_RELEASE
#undef DWELL_WOKEN_FOR_NOTHING
#undef DWELL_PROGRESS
#undef DWELL_PROGRESS_NAMED
#undef DWELL_BEGIN
#undef DWELL_END
#undef DWELL_REQUEST_BEGIN
#undef DWELL_REQUEST_BEGIN_FROM
#undef DWELL_REQUEST_BLOCK
#undef DWELL_REQUEST_END
#undef DWELL_REQUEST_END_ALL
#define DWELL_SPIN_BEGIN(address)		  ((void)sizeof(address))
#define DWELL_SPIN_BEGIN_FOR(address, holder_tid) ((void)sizeof(address), (void)sizeof(holder_tid))
#define DWELL_SPIN_END(address)			  ((void)sizeof(address))
#define DWELL_SPIN_RELEASE(address)		  ((void)sizeof(address))
#define DWELL_WOKEN_FOR_NOTHING()		  ((void)0)
#define DWELL_PROGRESS				  ((void)0)
#define DWELL_PROGRESS_NAMED(name)		  ((void)sizeof(name))
#define DWELL_BEGIN(name)			  ((void)sizeof(name))
#define DWELL_END(name)				  ((void)sizeof(name))
#define DWELL_REQUEST_BEGIN(id)			  ((void)sizeof(id))
#define DWELL_REQUEST_BEGIN_FROM(id, queue)	  ((void)sizeof(id), (void)sizeof(queue))
#define DWELL_REQUEST_BLOCK(id, queue)		  ((void)sizeof(id), (void)sizeof(queue))
#define DWELL_REQUEST_END(id)			  ((void)sizeof(id))
#define DWELL_REQUEST_END_ALL()			  ((void)0)

#endif
#endif /* DWELL_H */
