/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cases of causal.c in which work goes from one to the next: by a queue, semaphores,
 * futexes, pipes, a connection, events.
 */
#pragma once

#include "causal_run.h"

#include <arpa/inet.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

/* A bounded queue, of items nobody looks at. */
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
	/* Not with the mutex held: the other would wake up only to wait for it. */
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
 * Expected: stage_transform, which takes 2.6 ms, up to where stage_fetch (about 1.9)
 * is slower; nothing of any other stage or of the sleeps.
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

/*
 * semaphores: one producer, two consumers, a buffer of four.
 *
 * Expected: produce (1.6 ms) up to where the consumers (2.3 ms, two at a time) are
 * slower; consume nothing.
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

/*
 * futex: two threads hand over by futexes, without a library. While the second works on
 * what it got, the first prepares the next.
 *
 *   first   ahead 0.8 ms, wait for the second, handover 0.8 ms
 *   second  wait for the first, behind 1.6 ms
 *
 * Expected: handover by its share of 33 %; behind up to 33 %, where ahead is slower (half of
 * it); ahead nothing.
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

/*
 * pipes: three processes in a row, with pipes between them that hold four records.
 *
 * Expected: convert (2.4 ms) up to where collect (about 1.9) is slower; generate nothing.
 */
#define RECORD_SIZE 1024 /* below PIPE_BUF: written, and so read, as a whole */

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
	start_process(run_generator);
	start_process(run_converter);
	while (!run_over()) {
		read_record(converted_pipe[0]);
		collect(150, 4);
		PROGRESS("record");
	}
}

/*
 * tcp: a client that has two requests under way, and a server, over loopback.
 *
 * Expected: server_work up to 44 %, where client_work is slower; client_work nothing.
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

/* Both ends, so that neither process has to wait for the other to begin. */
static void connect_over_loopback(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;

	client_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || client_fd < 0 || bind(listener, (struct sockaddr *)&address, size) ||
	    listen(listener, 1) || getsockname(listener, (struct sockaddr *)&address, &size))
		die("listen");
	if (connect(client_fd, (struct sockaddr *)&address, size))
		die("connect");
	server_fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (server_fd < 0)
		die("accept");
	setsockopt(client_fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(server_fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	close(listener);
}

static void case_tcp(void)
{
	connect_over_loopback();
	start_process(run_server);
	send_message(client_fd);
	send_message(client_fd);
	while (!run_over()) {
		receive_message(client_fd);
		client_work(1000);
		send_message(client_fd);
		PROGRESS("reply");
	}
}

/*
 * epoll: an event loop that gives jobs to two workers, and gives a worker the next one
 * when its event comes in.
 *
 * Expected: both dispatch and handle by some of their share: a worker's cycle is the one
 * and then the other, and the loop is busy half of the time.
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

	while (!run_over()) {
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
