/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwell.h: tells the profiler dwell what the kernel cannot see.
 *
 * dwell sees in the kernel when a thread sleeps and who wakes it. Two things it
 * cannot see there: a thread that busy-waits looks like one that works, and a
 * thread that was woken for nothing looks like one that got what it waited for.
 * Where your program does the one or the other, say so:
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
 * and run it as `dwell record -- ./program`. There is no need to annotate all
 * places: those where an ordinary profile shows much time, or many wakeups, do.
 * (wPerf, OSDI'18, section 4.1, has the reasoning.)
 *
 * This header is all there is: nothing to link, no thread of its own. C99 and
 * later, C++11 and later, gcc and clang; in as many source files and shared
 * libraries of a program as you like. When the program is not run by dwell, an
 * annotation costs one load and one branch; when it is, less than reading the clock
 * twice, and no system call. Annotations may stand in signal handlers, and
 * leave errno alone. #define DWELL_DISABLE before the #include (or -DDWELL_DISABLE)
 * and they are not there at all. Nor are they on anything but 64-bit Linux on
 * x86, Arm, RISC-V and LoongArch.
 *
 * @address below is a pointer to any object; it is never followed. It says what
 * is waited for, so it must be the same in the thread that waits and in the one
 * that lets go. Arguments are evaluated once, with DWELL_DISABLE not at all.
 */
#ifndef DWELL_H
#define DWELL_H

#include <stdint.h>

/*
 * The calling thread begins to busy-wait for @address. Put it behind a first
 * attempt that failed: then getting it at once costs nothing. The wait lasts until
 * DWELL_SPIN_END() of the same thread and address.
 */
#define DWELL_SPIN_BEGIN(address) dwell_annotate(DWELL_EVENT_SPIN_BEGIN, (address), 0)

/*
 * The same where the program knows who holds @address: @holder_tid is that thread's
 * id as gettid() returns it, not a pthread_t. No DWELL_SPIN_RELEASE() is needed then.
 */
#define DWELL_SPIN_BEGIN_FOR(address, holder_tid)                                                  \
	dwell_annotate(DWELL_EVENT_SPIN_BEGIN, (address), (holder_tid))

/* The calling thread has got what it busy-waited for, or has given up. */
#define DWELL_SPIN_END(address) dwell_annotate(DWELL_EVENT_SPIN_END, (address), 0)

/*
 * The calling thread lets go of @address, or does what others busy-wait for: whoever
 * said so last before a wait's end is the one that was waited for. Put it right before
 * the store that lets go, not behind it: the waiter can be quicker than the next line.
 */
#define DWELL_SPIN_RELEASE(address) dwell_annotate(DWELL_EVENT_SPIN_RELEASE, (address), 0)

/*
 * The calling thread was woken, finds that what it waits for is still not so, and is
 * about to wait again. The wait before and the one behind then count as one, and the
 * thread that caused the wakeup as none that was waited for.
 */
#define DWELL_WOKEN_FOR_NOTHING() dwell_annotate(DWELL_EVENT_WOKEN_FOR_NOTHING, DWELL_NULL, 0)

/*
 * Progress points, for `dwell causal run -- ./program`: places that say how far the
 * program has come. (Coz, SOSP'15, sections 2 and 3.3.) Names are string literals, at
 * most DWELL_POINT_NAME - 1 characters long; points of one name are one point.
 *
 * DWELL_PROGRESS stands where a unit of work is done: a request answered, a block
 * compressed. What `dwell causal` predicts is how much more often it would be passed.
 */
#define DWELL_PROGRESS		   DWELL_PROGRESS_NAMED(__FILE__ ":" DWELL_LINE)
#define DWELL_PROGRESS_NAMED(name) DWELL_VISIT(DWELL_POINT_THROUGHPUT, name)

/*
 * Where something begins that takes time, and where it ends, in any thread: what is
 * predicted is its latency. Every DWELL_BEGIN() has to come to one DWELL_END() of the
 * same name.
 */
#define DWELL_BEGIN(name) DWELL_VISIT(DWELL_POINT_BEGIN, name)
#define DWELL_END(name)	  DWELL_VISIT(DWELL_POINT_END, name)

/*
 * What follows is how it works; a program need not know it.
 *
 * dwell starts the program with the name of a file in the environment. At the first
 * annotation the program maps that file, a struct dwell_area, and writes its events
 * into it; dwell maps it as well and takes them out. Any number of processes and
 * threads write at once, none of them ever waits, and no one trusts another: whatever
 * is in the file, the program's stores stay inside of it, because where they go depends
 * on the file only through an index that is cut to size.
 *
 * Each thread writes to one of several rings, so that threads seldom meet. A writer
 *
 *  - takes the next index of the ring (an atomic addition),
 *  - claims the slot of that index (compare-and-swap of its seq),
 *  - fills it in, and publishes it (a store to seq).
 *
 * A reader copies a published slot, and takes the copy for good if seq is still what
 * it was. Who falls behind by more than a ring has its events overwritten. When a slot
 * cannot be claimed, because a writer was stopped in it a whole round ago, or because
 * this writer was, the event is dropped. So an index is read once or not at all, and the
 * reader can count what it missed.
 *
 * Changes to this layout change DWELL_AREA_VERSION, and the names of what is shared
 * between the parts of a program: parts built with different versions do not meet.
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
	DWELL_EVENT_WOKEN_FOR_NOTHING = 4
};

/* seq of the slot of index i of a stripe, while it is written, and when it may be read. */
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

/* next stands alone: cache lines are fetched in pairs. */
struct dwell_stripe {
	uint64_t next; /* the next index */
	uint64_t reserved[15];
	struct dwell_slot slot[DWELL_SLOTS];
};

struct dwell_header {
	uint64_t magic;
	uint32_t version;
	uint32_t ended; /* nobody reads any more: writers may stop */
	uint64_t size;	/* of the file */
	uint64_t reserved[13];
};

struct dwell_area {
	struct dwell_header header;
	struct dwell_stripe stripe[DWELL_STRIPES];
};

/* _Static_assert() and static_assert() are not in all the languages this is read in. */
#define DWELL_ASSERT(name, condition) typedef char dwell_assert_##name[(condition) ? 1 : -1]
DWELL_ASSERT(slots, (DWELL_SLOTS & (DWELL_SLOTS - 1)) == 0);
DWELL_ASSERT(slot_size, sizeof(struct dwell_slot) == 40);
DWELL_ASSERT(stripe_size, sizeof(struct dwell_stripe) == 128 + DWELL_SLOTS * 40);
DWELL_ASSERT(stripe_aligned, sizeof(struct dwell_stripe) % 128 == 0);
DWELL_ASSERT(header_size, sizeof(struct dwell_header) == 128);

/*
 * Progress points count in memory that dwell shares with the program: it starts the
 * program with a descriptor, whose number is in the environment, and the program maps
 * a struct dwell_points from it. A point is claimed by name at its first visit, and
 * stays; its visits are added up in one of several counts, by thread, so that threads
 * seldom meet. Two threads that claim a name at once make two points of it, which dwell
 * adds up.
 */
#define DWELL_POINTS_ENVIRONMENT "DWELL_POINTS"	       /* names the descriptor */
#define DWELL_POINTS_MAGIC	 0x746e696f706c7764ull /* "dwlpoint" */
#define DWELL_POINTS_VERSION	 1
#define DWELL_POINTS		 256
#define DWELL_POINT_NAME	 120
#define DWELL_COUNT_BITS	 3
#define DWELL_COUNTS		 (1 << DWELL_COUNT_BITS)

/* Values are part of the layout. They are also those of coz.h. */
enum dwell_point_type { DWELL_POINT_THROUGHPUT = 1, DWELL_POINT_BEGIN = 2, DWELL_POINT_END = 3 };

/* In a cache line of its own. The first two members are coz.h's coz_counter_t. */
struct dwell_count {
	uint64_t count;
	uint64_t backoff;
	uint64_t reserved[6];
};

struct dwell_point {
	uint32_t named; /* its name and type may be read */
	uint32_t type;	/* enum dwell_point_type */
	char name[DWELL_POINT_NAME];
	struct dwell_count count[DWELL_COUNTS];
};

struct dwell_points {
	uint64_t magic;
	uint32_t version;
	uint32_t claimed; /* points so far; may be more than there are */
	uint64_t size;	  /* of this struct */
	uint64_t reserved[13];
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
 * The C library under names of our own: what <time.h>, <unistd.h> and <stdlib.h> declare
 * depends on macros that are the program's to choose. For the same reason the kernel's
 * constants are here, as they are on the architectures above.
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
 * Who this process is. A thread keeps its tid in thread-local storage, which fork()
 * copies; this it does not copy but clears, so that the child makes a new mark and
 * what was kept under the old one is no longer valid. (Only a vfork() child, which
 * shares all memory, still goes by the tid of the thread that it borrows.)
 */
struct dwell_process {
	uint64_t not_cleared; /* by this kernel (before 4.14): there is never a mark */
	uint64_t mark;	      /* the time of the first event; 0: none yet */
};

struct dwell_self {
	uint64_t mark; /* of the process in which tid was asked for */
	uint32_t tid;
};

/* In front of the area, in its own page; 64 KiB is the largest page there is. */
#define DWELL_FRONT	65536L
#define DWELL_AREA_SIZE DWELL_NUMBER(long, sizeof(struct dwell_area))

/*
 * One for all the source files of a program, and for its libraries as far as symbols
 * reach across them. Where they do not, as between a program and what it loads with
 * dlopen(), each maps the area for itself, which is as good.
 */
#define DWELL_SHARED __attribute__((__weak__, __visibility__("default")))

/* With glibc the other models may call malloc(), which a signal handler must not. */
#ifdef __GLIBC__
#define DWELL_THREAD __thread __attribute__((__tls_model__("initial-exec")))
#else
#define DWELL_THREAD __thread
#endif

/* NULL: not looked yet; DWELL_OFF: not run by dwell. */
extern struct dwell_area *dwell_v1_state;
extern DWELL_THREAD struct dwell_self dwell_v1_self;
void dwell_v1_write(uint32_t type, uint64_t address, uint64_t value) __attribute__((__nothrow__));

DWELL_SHARED struct dwell_area *dwell_v1_state;
DWELL_SHARED DWELL_THREAD struct dwell_self dwell_v1_self;

#define DWELL_OFF DWELL_POINTER(struct dwell_area, UINTPTR_MAX)

/* The whole of what a program pays that is not run by dwell. */
static inline void dwell_annotate(enum dwell_event type, const volatile void *address,
				  int64_t value)
{
	uint64_t number = 0;

	if (__builtin_expect(__atomic_load_n(&dwell_v1_state, __ATOMIC_RELAXED) == DWELL_OFF, 1))
		return;
	__builtin_memcpy(&number, &address, sizeof(address));
	dwell_v1_write(type, number, DWELL_NUMBER(uint64_t, value));
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

/* Maps the area of @fd behind a page for the process. Returns it, or DWELL_OFF. */
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

/* The first annotation of a process; of threads that come at once, one wins. */
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
	/* The mark last: a signal handler may come in between. */
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

/* Fibonacci hashing: ids that follow each other land far apart. */
static inline uint32_t dwell_stripe_of(uint32_t tid)
{
	return (tid * 2654435769u) >> (32 - DWELL_STRIPE_BITS);
}

/*
 * Stores are releases, one by one, so that none is seen before the claim: the reader,
 * which loads with acquire, then finds that seq has changed. (Fences would do as well,
 * but thread sanitizers do not know them; on x86 either is an ordinary move.)
 */
static inline void dwell_put(struct dwell_stripe *stripe, uint64_t time, uint32_t tid,
			     uint32_t type, uint64_t address, uint64_t value)
{
	uint64_t index = __atomic_fetch_add(&stripe->next, 1, __ATOMIC_RELAXED);
	struct dwell_slot *slot = &stripe->slot[index % DWELL_SLOTS];
	uint64_t seq = __atomic_load_n(&slot->seq, __ATOMIC_RELAXED);

	/* Claimed by a writer that was stopped there, or I was, and am a round late. */
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

DWELL_SHARED __attribute__((__nothrow__)) void dwell_v1_write(uint32_t type, uint64_t address,
							      uint64_t value)
{
	struct dwell_area *area = __atomic_load_n(&dwell_v1_state, __ATOMIC_ACQUIRE);
	struct dwell_timespec clock;
	uint64_t now;
	uint32_t tid;

	if (!area)
		area = dwell_attach();
	if (area == DWELL_OFF)
		return;
	/* The area stays mapped: another thread may be writing to it. */
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

/* NULL: not looked yet; DWELL_NO_POINTS: not run by dwell causal. */
extern struct dwell_points *dwell_v1_points;
struct dwell_point *dwell_v1_find_point(uint32_t type, const char *name)
	__attribute__((__nothrow__));

DWELL_SHARED struct dwell_points *dwell_v1_points;

#define DWELL_NO_POINTS DWELL_POINTER(struct dwell_points, UINTPTR_MAX)
#define DWELL_NO_POINT	DWELL_POINTER(struct dwell_point, UINTPTR_MAX)

/* The point is looked up at the first visit of each place in the program. */
#define DWELL_VISIT(type, name)                                                                    \
	do {                                                                                       \
		static struct dwell_point *dwell_here;                                             \
		dwell_visit(&dwell_here, type, "" name);                                           \
	} while (0)

/* By thread: their thread-local storage lies far apart. */
static inline uint32_t dwell_count_of(void)
{
	uint64_t place = 0;
	const volatile void *self = &dwell_v1_self;

	__builtin_memcpy(&place, &self, sizeof(self));

	return (DWELL_NUMBER(uint32_t, place >> 6) * 2654435769u) >> (32 - DWELL_COUNT_BITS);
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
}

/* The number that @text is, -1 if it is none. */
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

/* Descriptors are the program's: that number may be another file's by now. */
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

/* Whether @point is named @name, or what of @name there is room for. */
static inline int dwell_is_named(const struct dwell_point *point, const char *name)
{
	int i;

	for (i = 0; i < DWELL_POINT_NAME - 1 && name[i]; i++)
		if (point->name[i] != name[i])
			return 0;
	return !point->name[i];
}

DWELL_SHARED __attribute__((__nothrow__)) struct dwell_point *dwell_v1_find_point(uint32_t type,
										  const char *name)
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

#else /* not enabled: arguments are looked at by the compiler, and no more */

#undef DWELL_SPIN_BEGIN
#undef DWELL_SPIN_BEGIN_FOR
#undef DWELL_SPIN_END
#undef DWELL_SPIN_RELEASE
#undef DWELL_WOKEN_FOR_NOTHING
#undef DWELL_PROGRESS
#undef DWELL_PROGRESS_NAMED
#undef DWELL_BEGIN
#undef DWELL_END
#define DWELL_SPIN_BEGIN(address)		  ((void)sizeof(address))
#define DWELL_SPIN_BEGIN_FOR(address, holder_tid) ((void)sizeof(address), (void)sizeof(holder_tid))
#define DWELL_SPIN_END(address)			  ((void)sizeof(address))
#define DWELL_SPIN_RELEASE(address)		  ((void)sizeof(address))
#define DWELL_WOKEN_FOR_NOTHING()		  ((void)0)
#define DWELL_PROGRESS				  ((void)0)
#define DWELL_PROGRESS_NAMED(name)		  ((void)sizeof(name))
#define DWELL_BEGIN(name)			  ((void)sizeof(name))
#define DWELL_END(name)				  ((void)sizeof(name))

#endif
#endif /* DWELL_H */
