// SPDX-License-Identifier: BSD-2-Clause
/*
 * Requests that go through several threads, tagged by DWELL_REQUEST_BEGIN and related macros. One
 * thread accepts them and puts them in a queue for three workers. Of a hundred requests one
 * sleeps; some are handled by a worker and a helper at once; some are put in a second queue, and
 * finished in batches.
 *
 *	tagged FILE
 *
 * writes all tags to FILE, one a line: the times before and after it (ns, CLOCK_MONOTONIC), tid,
 * id, what it does, and the queue. There are fewer tags than a ring of dwell.h has room for, so
 * that none is lost however late they are read.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "include/dwell.h"

#define REQUESTS 600
#define WORKERS	 3
#define BATCH	 8
#define SLEEP_US 30000
#define FUNCTION __attribute__((noinline))

struct request {
	uint64_t id;
	int number;
	struct request *next;
	atomic_int helped;
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct request *first;
	struct request **last;
};

struct tag {
	uint64_t before;
	uint64_t after;
	uint64_t id;
	long tid;
	const char *what;
	const void *queue;
};

static struct queue accepted, helped, batched;
static struct request requests[REQUESTS];
static struct request end; /* its id is that of no request */
static struct tag tags[8 * REQUESTS];
static atomic_size_t n_tags;

DWELL_UNTIMED static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

DWELL_UNTIMED static void compute(uint64_t ns)
{
	for (uint64_t until = now() + ns; now() < until;)
		;
}

#define TAG(call, what_, id_, queue_)                                                              \
	do {                                                                                       \
		struct tag made = {.before = now(), .id = (id_)};                                  \
		call;                                                                              \
		made.after = now();                                                                \
		made.tid = syscall(SYS_gettid);                                                    \
		made.what = (what_);                                                               \
		made.queue = (queue_);                                                             \
		tags[atomic_fetch_add(&n_tags, 1)] = made;                                         \
	} while (0)

#define BEGIN(request) TAG(DWELL_REQUEST_BEGIN((request)->id), "begin", (request)->id, NULL)
#define END(request)   TAG(DWELL_REQUEST_END((request)->id), "end", (request)->id, NULL)
#define END_ALL()      TAG(DWELL_REQUEST_END_ALL(), "end_all", 0, NULL)
#define BEGIN_FROM(request, queue)                                                                 \
	TAG(DWELL_REQUEST_BEGIN_FROM((request)->id, queue), "begin", (request)->id, queue)
#define BLOCK(request, queue)                                                                      \
	TAG(DWELL_REQUEST_BLOCK((request)->id, queue), "block", (request)->id, queue)

DWELL_UNTIMED static void push(struct queue *queue, struct request *request)
{
	pthread_mutex_lock(&queue->lock);
	request->next = NULL;
	*queue->last = request;
	queue->last = &request->next;
	pthread_cond_signal(&queue->filled);
	pthread_mutex_unlock(&queue->lock);
}

/* The first request; the one at the end stays there. */
DWELL_UNTIMED static struct request *pop(struct queue *queue)
{
	struct request *request;

	pthread_mutex_lock(&queue->lock);
	while (!queue->first)
		pthread_cond_wait(&queue->filled, &queue->lock);
	request = queue->first;
	if (request != &end) {
		queue->first = request->next;
		if (!queue->first)
			queue->last = &queue->first;
	} else {
		pthread_cond_signal(&queue->filled);
	}
	pthread_mutex_unlock(&queue->lock);
	return request;
}

DWELL_UNTIMED static void begin_queue(struct queue *queue)
{
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->filled, NULL);
	queue->last = &queue->first;
}

FUNCTION void sleep_rarely(void)
{
	usleep(SLEEP_US);
	__asm__ volatile(""); /* no tail call */
}

FUNCTION void help(struct request *request)
{
	compute(1000000);
	atomic_store(&request->helped, 1);
}

FUNCTION void answer(struct request *request)
{
	compute(20000);
	if (request->number % 100 == 50)
		sleep_rarely();
}

/* The helper has the request while the worker has it. */
FUNCTION void answer_together(struct request *request)
{
	push(&helped, request);
	while (!atomic_load(&request->helped))
		usleep(50);
}

FUNCTION void finish_batch(void)
{
	compute(200000);
	__asm__ volatile("");
}

/* A loop that has all requests is no part of one. */
FUNCTION void *worker_loop(void *arg)
{
	struct request *request;

	while ((request = pop(&accepted)) != &end) {
		BEGIN_FROM(request, &accepted);
		answer(request);
		if (request->number % 40 == 7)
			answer_together(request);
		if (request->number % 10 == 3) {
			BLOCK(request, &batched);
			push(&batched, request);
		} else {
			END(request);
		}
	}
	return arg;
}

FUNCTION void *helper_loop(void *arg)
{
	struct request *request;

	while ((request = pop(&helped)) != &end) {
		BEGIN(request);
		help(request);
		END(request);
	}
	return arg;
}

FUNCTION void *batch_loop(void *arg)
{
	struct request *request;

	do {
		int n = 0;

		while (n < BATCH && (request = pop(&batched)) != &end) {
			BEGIN_FROM(request, &batched);
			n++;
		}
		finish_batch();
		END_ALL();
	} while (request != &end);
	return arg;
}

/* Numbers of the program's choice: half of them are too large for an int64_t. */
DWELL_UNTIMED static uint64_t make_id(int number)
{
	return number % 2 ? (uint64_t)number : UINT64_MAX - (uint64_t)number;
}

FUNCTION void *accept_loop(void *arg)
{
	for (int i = 0; i < REQUESTS; i++) {
		struct request *request = &requests[i];

		request->number = i;
		request->id = make_id(i);
		BEGIN(request);
		compute(10000);
		BLOCK(request, &accepted);
		push(&accepted, request);
		usleep(500);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t acceptor, workers[WORKERS], helper, batcher;
	FILE *to;

	begin_queue(&accepted);
	begin_queue(&helped);
	begin_queue(&batched);
	pthread_create(&helper, NULL, helper_loop, NULL);
	pthread_create(&batcher, NULL, batch_loop, NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, worker_loop, NULL);
	pthread_create(&acceptor, NULL, accept_loop, NULL);
	pthread_join(acceptor, NULL);
	push(&accepted, &end);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	push(&helped, &end);
	pthread_join(helper, NULL);
	push(&batched, &end);
	pthread_join(batcher, NULL);
	/* Tags that do not fit are not in the file. */
	DWELL_REQUEST_BEGIN(1000000);
	DWELL_REQUEST_END(1000001);

	to = fopen(argv[1], "w");
	for (size_t i = 0; i < n_tags; i++)
		fprintf(to, "%llu %llu %ld %llu %s %p\n", (unsigned long long)tags[i].before,
			(unsigned long long)tags[i].after, tags[i].tid,
			(unsigned long long)tags[i].id, tags[i].what, tags[i].queue);
	fclose(to);
	return 0;
}
