/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cases in which a thread or process passes work to the next: by queues, semaphores, futexes,
 * pipes, a connection, events.
 */
#include "tests/programs/causal/case.h"
#include "tests/programs/common/loopback.h"

#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

/* A bounded queue. Only the number of items matters. */
struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t not_full;
	pthread_cond_t not_empty;
	int count;
};

#define QUEUE_SIZE 4
#define QUEUE                                                                                      \
	{                                                                                          \
		.mutex = PTHREAD_MUTEX_INITIALIZER, .not_full = PTHREAD_COND_INITIALIZER,          \
		.not_empty = PTHREAD_COND_INITIALIZER,                                             \
	}

KEEP void put(struct queue *queue)
{
	pthread_mutex_lock(&queue->mutex);
	while (queue->count == QUEUE_SIZE)
		pthread_cond_wait(&queue->not_full, &queue->mutex);
	queue->count++;
	pthread_mutex_unlock(&queue->mutex);
	/* After the unlock: otherwise the woken thread would wait for the mutex. */
	pthread_cond_signal(&queue->not_empty);
	NO_TAIL_CALL();
}

KEEP void take(struct queue *queue)
{
	pthread_mutex_lock(&queue->mutex);
	while (!queue->count)
		pthread_cond_wait(&queue->not_empty, &queue->mutex);
	queue->count--;
	pthread_mutex_unlock(&queue->mutex);
	pthread_cond_signal(&queue->not_full);
	NO_TAIL_CALL();
}

/*
 * pipeline: four stages with unequal work, two of which sleep most of the time.
 *
 * Expected: stage_transform (2.6 ms) until stage_fetch (about 1.9 ms) is slower; the other
 * stages and the sleeps nothing.
 */
static struct queue fetched = QUEUE, transformed = QUEUE, checked = QUEUE;

COMPUTE_AND_NAP(stage_fetch)
COMPUTE(stage_transform)
COMPUTE(stage_check)
COMPUTE_AND_NAP(stage_store)

static void *run_fetch(void *arg)
{
	for (;;) {
		stage_fetch(150, 4);
		put(&fetched);
	}
	return arg;
}

static void *run_transform(void *arg)
{
	for (;;) {
		take(&fetched);
		stage_transform(2600);
		put(&transformed);
	}
	return arg;
}

static void *run_check(void *arg)
{
	for (;;) {
		take(&transformed);
		stage_check(250);
		put(&checked);
	}
	return arg;
}

static void *run_store(void *arg)
{
	for (;;) {
		take(&checked);
		stage_store(50, 2);
		PROGRESS("item");
	}
	return arg;
}

static void case_pipeline(void)
{
	start_thread(run_fetch, NULL);
	start_thread(run_transform, NULL);
	start_thread(run_check, NULL);
	start_thread(run_store, NULL);
}

const struct known_case pipeline_case = {
	.name = "pipeline",
	.run = case_pipeline,
	.point = "item",
	.targets = {&stage_fetch_target, &stage_transform_target, &stage_check_target,
		    &stage_store_target, &other_target},
	.note = "four stages, bounded queues: stage_transform until stage_fetch is slower",
};

/*
 * semaphores: one producer, two consumers, a buffer of four.
 *
 * Expected: produce (1.6 ms) until the consumers (2.3 ms, two at a time) are slower; consume
 * nothing.
 */
#define SLOTS 4

static sem_t slots_free, slots_filled;

COMPUTE(produce)
COMPUTE_AND_NAP(consume)

static void *run_producing(void *arg)
{
	for (;;) {
		produce(1600);
		sem_wait(&slots_free);
		sem_post(&slots_filled);
	}
	return arg;
}

static void *run_consuming(void *arg)
{
	for (;;) {
		sem_wait(&slots_filled);
		consume(200, 4);
		sem_post(&slots_free);
		PROGRESS("item");
	}
	return arg;
}

static void case_semaphores(void)
{
	sem_init(&slots_free, false, SLOTS);
	sem_init(&slots_filled, false, 0);
	start_thread(run_producing, NULL);
	start_thread(run_consuming, NULL);
	start_thread(run_consuming, NULL);
}

const struct known_case semaphores_case = {
	.name = "semaphores",
	.run = case_semaphores,
	.point = "item",
	.targets = {&produce_target, &consume_target},
	.note = "a producer, two consumers: produce until they are slower",
};

/*
 * futex: two threads pass items by futex system calls. While the second works on an item,
 * the first prepares the next.
 *
 *   first   ahead 0.8 ms, wait for the second, handover 0.8 ms
 *   second  wait for the first, behind 1.6 ms
 *
 * Expected: handover by its share of 33 %; behind up to 33 %, until ahead is slower; ahead
 * nothing.
 */
static uint32_t given, returned;

COMPUTE(ahead)
COMPUTE(handover)
COMPUTE(behind)

KEEP void await_change(uint32_t *word, uint32_t old)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == old)
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
	NO_TAIL_CALL();
}

KEEP void change(uint32_t *word)
{
	__atomic_add_fetch(word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	NO_TAIL_CALL();
}

static void *run_first(void *arg)
{
	for (uint32_t turn = 0;; turn++) {
		ahead(800);
		if (turn)
			await_change(&returned, turn - 1);
		handover(800);
		change(&given);
	}
	return arg;
}

static void *run_second(void *arg)
{
	for (uint32_t turn = 0;; turn++) {
		await_change(&given, turn);
		behind(1600);
		change(&returned);
		PROGRESS("turn");
	}
	return arg;
}

static void case_futex(void)
{
	start_thread(run_first, NULL);
	start_thread(run_second, NULL);
}

const struct known_case futex_case = {
	.name = "futex",
	.run = case_futex,
	.point = "turn",
	.targets = {&ahead_target, &handover_target, &behind_target},
	.note = "futex system calls: handover by its share, behind until ahead is slower",
};

/*
 * pipes: three processes in a row. The pipes between them hold four records.
 *
 * Expected: convert (2.4 ms) until collect (about 1.9 ms) is slower; generate nothing.
 */
#define RECORD_SIZE 1024 /* below PIPE_BUF: written and read as a whole */

static int raw_pipe[2], converted_pipe[2];

COMPUTE_AND_NAP(generate)
COMPUTE(convert)
COMPUTE_AND_NAP(collect)

KEEP void write_record(int fd)
{
	static const char record[RECORD_SIZE];

	if (write(fd, record, sizeof(record)) != sizeof(record))
		die("write");
	NO_TAIL_CALL();
}

KEEP void read_record(int fd)
{
	char record[RECORD_SIZE];

	if (read(fd, record, sizeof(record)) != sizeof(record))
		die("read");
	NO_TAIL_CALL();
}

static void run_generator(void)
{
	for (;;) {
		generate(100, 2);
		write_record(raw_pipe[1]);
	}
}

static void run_converter(void)
{
	for (;;) {
		read_record(raw_pipe[0]);
		convert(2400);
		write_record(converted_pipe[1]);
	}
}

static void open_pipe(int *ends)
{
	if (pipe2(ends, O_CLOEXEC) || fcntl(ends[1], F_SETPIPE_SZ, 4 * RECORD_SIZE) < 0)
		die("pipe");
}

static void case_pipes(void)
{
	open_pipe(raw_pipe);
	open_pipe(converted_pipe);
	run__start_process(run_generator);
	run__start_process(run_converter);
	while (!run__over()) {
		read_record(converted_pipe[0]);
		collect(150, 4);
		PROGRESS("record");
	}
}

const struct known_case pipes_case = {
	.name = "pipes",
	.run = case_pipes,
	.point = "record",
	.targets = {&generate_target, &convert_target, &collect_target},
	.note = "three processes: convert until collect is slower",
};

/*
 * tcp: a client with two outstanding requests, and a server, over loopback.
 *
 * Expected: server_work up to 44 %, until client_work is slower; client_work nothing.
 */
static int client_fd, server_fd;

COMPUTE(client_work)
COMPUTE(server_work)

KEEP void send_message(int fd)
{
	static const char message[64];

	if (send(fd, message, sizeof(message), MSG_NOSIGNAL) != sizeof(message))
		die("send");
	NO_TAIL_CALL();
}

KEEP void receive_message(int fd)
{
	char message[64];

	if (recv(fd, message, sizeof(message), MSG_WAITALL) != sizeof(message))
		die("recv");
	NO_TAIL_CALL();
}

static void run_server(void)
{
	for (;;) {
		receive_message(server_fd);
		server_work(1800);
		send_message(server_fd);
	}
}

static void case_tcp(void)
{
	loopback__connect(&client_fd, &server_fd);
	run__start_process(run_server);
	send_message(client_fd);
	send_message(client_fd);
	while (!run__over()) {
		receive_message(client_fd);
		client_work(1000);
		send_message(client_fd);
		PROGRESS("reply");
	}
}

const struct known_case tcp_case = {
	.name = "tcp",
	.run = case_tcp,
	.point = "reply",
	.targets = {&client_work_target, &server_work_target},
	.note = "two processes over loopback: server_work until client_work is slower",
};

/*
 * epoll: an event loop and two workers. A worker sends an event when its job is done, and the
 * loop gives it the next.
 *
 * Expected: dispatch and handle by a part of their share: a worker's cycle is both, one after
 * the other, and the loop is busy half of the time.
 */
#define EPOLL_WORKERS 2

struct epoll_worker {
	int job_fd;  /* events for the worker */
	int done_fd; /* events for the loop */
};

COMPUTE(dispatch)
COMPUTE_AND_NAP(handle)

KEEP void put_event(int fd)
{
	eventfd_write(fd, 1);
	NO_TAIL_CALL();
}

KEEP void take_event(int fd)
{
	eventfd_t value;

	while (eventfd_read(fd, &value))
		if (errno != EINTR)
			die("eventfd");
	NO_TAIL_CALL();
}

static void *run_epoll_worker(void *arg)
{
	struct epoll_worker *worker = arg;

	for (;;) {
		take_event(worker->job_fd);
		handle(200, 4);
		put_event(worker->done_fd);
	}
	return NULL;
}

static void run_event_loop(int epoll)
{
	struct epoll_event event;

	while (!run__over()) {
		struct epoll_worker *worker;

		if (epoll_wait(epoll, &event, 1, -1) != 1) {
			if (errno != EINTR)
				die("epoll_wait");
			continue;
		}
		worker = event.data.ptr;
		take_event(worker->done_fd);
		dispatch(800);
		put_event(worker->job_fd);
		PROGRESS("event");
	}
}

static void case_epoll(void)
{
	static struct epoll_worker workers[EPOLL_WORKERS];
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	for (int i = 0; i < EPOLL_WORKERS; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = &workers[i]};

		workers[i].job_fd = eventfd(0, EFD_CLOEXEC);
		workers[i].done_fd = eventfd(1, EFD_CLOEXEC);
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, workers[i].done_fd, &event))
			die("epoll_ctl");
		start_thread(run_epoll_worker, &workers[i]);
	}
	run_event_loop(epoll);
}

const struct known_case epoll_case = {
	.name = "epoll",
	.run = case_epoll,
	.point = "event",
	.targets = {&dispatch_target, &handle_target},
	.note = "an event loop and two workers, by eventfd",
};
