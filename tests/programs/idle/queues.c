/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases with a queue of tasks: pools of threads, and a producer with a consumer. */
#include "tests/programs/idle/cases.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#define WORKERS	 4
#define BATCH	 8
#define TASK_US	 1000
#define THINK_US 4000

COMPUTE(cook)
COMPUTE(think)

/*
 * A pool and its queue, of which only the number of tasks matters: @tasks, the value of the
 * semaphore or of the eventfd, or the number of bytes in the pipe.
 */
static struct {
	pthread_mutex_t mutex;
	struct condition filled;
	struct condition finished;
	uint32_t tasks;
	int done; /* of a batch */
	sem_t sem;
	int read_fd;
	int write_fd;
	int epoll_fd;
	bool closed; /* workers end after the next take() */
} pool = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.filled = {PTHREAD_COND_INITIALIZER, &pool.mutex},
	.finished = {PTHREAD_COND_INITIALIZER, &pool.mutex},
};

/* A way to share the queue. take() waits for a task, idle, and takes it. */
struct queue_type {
	void (*open)(void);
	void (*put)(void);
	void (*take)(void);
};

static void put_cond(void)
{
	lock_mutex(&pool.mutex);
	pool.tasks++;
	pthread_mutex_unlock(&pool.mutex);
	wake_one(&pool.filled);
}

KEEP void via_cond(void)
{
	lock_mutex(&pool.mutex);
	while (!pool.tasks)
		lobby(IDLE, by_cond, &pool.filled);
	pool.tasks--;
	pthread_mutex_unlock(&pool.mutex);
	NO_TAIL_CALL();
}

static void open_sem(void)
{
	sem_init(&pool.sem, 0, 0);
}

static void put_sem(void)
{
	sem_post(&pool.sem);
}

KEEP void via_sem(void)
{
	lobby(IDLE, by_sem, &pool.sem);
	NO_TAIL_CALL();
}

static void put_futex(void)
{
	__atomic_fetch_add(&pool.tasks, 1, __ATOMIC_RELEASE);
	futex_wake(&pool.tasks, 1);
}

KEEP void via_futex(void)
{
	struct futex_wait empty = {&pool.tasks, 0};
	uint32_t tasks = __atomic_load_n(&pool.tasks, __ATOMIC_RELAXED);

	for (;;) {
		while (!tasks) {
			lobby(IDLE, by_futex, &empty);
			tasks = __atomic_load_n(&pool.tasks, __ATOMIC_RELAXED);
		}
		if (__atomic_compare_exchange_n(&pool.tasks, &tasks, tasks - 1, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			break;
	}
	NO_TAIL_CALL();
}

static void open_eventfd(void)
{
	pool.read_fd = pool.write_fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	if (pool.read_fd < 0)
		die("eventfd");
}

static void put_eventfd(void)
{
	uint64_t one = 1;

	if (write(pool.write_fd, &one, sizeof(one)) != sizeof(one))
		die("write");
}

KEEP void by_read_number(void *arg)
{
	if (read(pool.read_fd, arg, sizeof(uint64_t)) != sizeof(uint64_t))
		die("read");
	NO_TAIL_CALL();
}

KEEP void via_eventfd(void)
{
	uint64_t one;

	lobby(IDLE, by_read_number, &one);
	NO_TAIL_CALL();
}

static void open_pipe(void)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		die("pipe");
	pool.read_fd = ends[0];
	pool.write_fd = ends[1];
}

static void put_pipe(void)
{
	if (write(pool.write_fd, "t", 1) != 1)
		die("write");
}

KEEP void by_read_byte(void *arg)
{
	if (read(pool.read_fd, arg, 1) != 1)
		die("read");
	NO_TAIL_CALL();
}

KEEP void via_pipe(void)
{
	char byte;

	lobby(IDLE, by_read_byte, &byte);
	NO_TAIL_CALL();
}

static void open_epoll(void)
{
	struct epoll_event event = {.events = EPOLLIN};

	pool.read_fd = pool.write_fd = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);
	pool.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (pool.read_fd < 0 || epoll_ctl(pool.epoll_fd, EPOLL_CTL_ADD, pool.read_fd, &event))
		die("epoll");
}

/* *@arg is the number of events. */
KEEP void by_epoll(void *arg)
{
	struct epoll_event event;

	*(int *)arg = epoll_wait(pool.epoll_fd, &event, 1, 50);
	NO_TAIL_CALL();
}

/* One event may wake several workers: one gets the task. */
KEEP void via_epoll(void)
{
	uint64_t one;
	int events;

	do
		lobby(IDLE, by_epoll, &events);
	while (events <= 0 || read(pool.read_fd, &one, sizeof(one)) < 0);
	NO_TAIL_CALL();
}

static const struct queue_type cond_queue = {NULL, put_cond, via_cond};
static const struct queue_type sem_queue = {open_sem, put_sem, via_sem};
static const struct queue_type futex_queue = {NULL, put_futex, via_futex};
static const struct queue_type eventfd_queue = {open_eventfd, put_eventfd, via_eventfd};
static const struct queue_type pipe_queue = {open_pipe, put_pipe, via_pipe};
static const struct queue_type epoll_queue = {open_epoll, put_eventfd, via_epoll};

/* That of the case. */
static const struct queue_type *queue;

static bool pool_closed(void)
{
	return __atomic_load_n(&pool.closed, __ATOMIC_ACQUIRE);
}

static void close_pool(void)
{
	__atomic_store_n(&pool.closed, true, __ATOMIC_RELEASE);
	for (int i = 0; i < WORKERS; i++)
		queue->put();
}

static void run_cook(void)
{
	for (;;) {
		queue->take();
		if (pool_closed())
			break;
		cook(TASK_US);
	}
}

static void start_workers(const struct queue_type *type, void (*run)(void))
{
	queue = type;
	if (queue->open)
		queue->open();
	for (int i = 0; i < WORKERS; i++)
		thread__start(run, "worker%d", i);
	threads__await_begin();
}

/*
 * pool-cond, pool-sem, pool-futex, pool-eventfd, pool-pipe, pool-epoll: four threads take tasks
 * of 1 ms from a queue. Main adds one about every 2 ms, and sleeps in between.
 *
 * True by construction: the workers block nowhere but in lobby, where they are idle. (In
 * pool-cond they may also wait for the mutex, for some us: not idle.) Together they have 1 ms of
 * work in about 2 ms; which one gets a task is not known. Main's sleeps are not idle.
 */
static void run_pool(const struct queue_type *type)
{
	uint64_t between = 2 * NS_PER_MS;

	start_workers(type, run_cook);
	while (time_left()) {
		pause_between(NOT_IDLE, by_sleep, &between);
		queue->put();
	}
	close_pool();
}

/*
 * pool-cond-still, ...: the same, but main adds no tasks, and sleeps once, to the end.
 *
 * True by construction: the workers are idle in lobby all the time; with epoll, in waits of
 * 50 ms. Main's sleep is not idle.
 */
static void run_still_pool(const struct queue_type *type)
{
	uint64_t left;

	start_workers(type, run_cook);
	left = time_left();
	pause_between(NOT_IDLE, by_sleep, &left);
	close_pool();
}

#define POOL_CASES(type)                                                                           \
	static void case_pool_##type(void)                                                         \
	{                                                                                          \
		run_pool(&type##_queue);                                                           \
	}                                                                                          \
                                                                                                   \
	static void case_pool_##type##_still(void)                                                 \
	{                                                                                          \
		run_still_pool(&type##_queue);                                                     \
	}

POOL_CASES(cond)
POOL_CASES(sem)
POOL_CASES(futex)
POOL_CASES(eventfd)
POOL_CASES(pipe)
POOL_CASES(epoll)

/*
 * pool-batch: the workers of pool-cond. Main adds eight tasks at once, waits until all are done,
 * computes for 4 ms, and so on.
 *
 * True by construction: the workers are idle in lobby, while main computes, and when no task of the
 * batch is left for them. Main waits in rest for results that it needs: not idle. On two CPUs a
 * batch takes 4 ms, so main waits for half of the time.
 */
static void run_batch_cook(void)
{
	for (;;) {
		bool last;

		queue->take();
		if (pool_closed())
			break;
		cook(TASK_US);
		lock_mutex(&pool.mutex);
		last = ++pool.done == BATCH;
		pthread_mutex_unlock(&pool.mutex);
		if (last)
			wake_one(&pool.finished);
	}
}

static void submit_batch(void)
{
	lock_mutex(&pool.mutex);
	pool.done = 0;
	pool.tasks = BATCH;
	pthread_mutex_unlock(&pool.mutex);
	wake_all(&pool.filled);
}

KEEP void parlor(void)
{
	lock_mutex(&pool.mutex);
	while (pool.done < BATCH)
		rest(NOT_IDLE, by_cond, &pool.finished);
	pthread_mutex_unlock(&pool.mutex);
	NO_TAIL_CALL();
}

static void case_pool_batch(void)
{
	start_workers(&cond_queue, run_batch_cook);
	while (time_left()) {
		submit_batch();
		parlor();
		think(THINK_US);
	}
	close_pool();
}

/*
 * full: producer makes an item in 0.2 ms, and consumer needs 1 ms for each. The queue between them
 * has room for four.
 *
 * True by construction: consumer is the bottleneck. Producer waits in lobby for room, four fifths
 * of its time: not idle. The queue is empty only at the start, and while producer gets no CPU: then
 * consumer waits in rest for a thread that has work, so it is not idle either.
 */
#define ITEMS_MAX  4
#define PRODUCE_US 200
#define CONSUME_US 1000

static struct {
	pthread_mutex_t mutex;
	struct condition room;
	struct condition filled;
	int items;
	bool closed;
} buffer = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.room = {PTHREAD_COND_INITIALIZER, &buffer.mutex},
	.filled = {PTHREAD_COND_INITIALIZER, &buffer.mutex},
};

COMPUTE(produce)
COMPUTE(consume)

static void run_producer(void)
{
	while (time_left()) {
		produce(PRODUCE_US);
		lock_mutex(&buffer.mutex);
		while (buffer.items == ITEMS_MAX)
			lobby(NOT_IDLE, by_cond, &buffer.room);
		buffer.items++;
		pthread_mutex_unlock(&buffer.mutex);
		wake_one(&buffer.filled);
	}
	lock_mutex(&buffer.mutex);
	buffer.closed = true;
	pthread_mutex_unlock(&buffer.mutex);
	wake_one(&buffer.filled);
}

/* False when the buffer is closed; what it has then is dropped. */
KEEP bool pantry(void)
{
	bool more;

	lock_mutex(&buffer.mutex);
	while (!buffer.items && !buffer.closed)
		rest(NOT_IDLE, by_cond, &buffer.filled);
	more = !buffer.closed;
	buffer.items -= more;
	pthread_mutex_unlock(&buffer.mutex);
	if (more)
		wake_one(&buffer.room);
	return more;
}

static void run_consumer(void)
{
	while (pantry())
		consume(CONSUME_US);
}

static void case_full(void)
{
	thread__start(run_producer, "producer");
	thread__start(run_consumer, "consumer");
	threads__await_begin();
}

const struct idle_case queue_cases[] = {
	{"pool-cond", case_pool_cond},
	{"pool-sem", case_pool_sem},
	{"pool-futex", case_pool_futex},
	{"pool-eventfd", case_pool_eventfd},
	{"pool-pipe", case_pool_pipe},
	{"pool-epoll", case_pool_epoll},
	{"pool-cond-still", case_pool_cond_still},
	{"pool-sem-still", case_pool_sem_still},
	{"pool-futex-still", case_pool_futex_still},
	{"pool-eventfd-still", case_pool_eventfd_still},
	{"pool-pipe-still", case_pool_pipe_still},
	{"pool-epoll-still", case_pool_epoll_still},
	{"pool-batch", case_pool_batch},
	{"full", case_full},
	{},
};
