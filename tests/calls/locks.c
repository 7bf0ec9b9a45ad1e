// SPDX-License-Identifier: BSD-2-Clause
/*
 * Locks that known threads hold in known functions. The program measures how long it waits for them
 * and holds them, and prints that as JSON, with the addresses of the locks.
 *
 *	locks SECONDS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FUNCTION       __attribute__((noinline))
#define NO_TAIL_CALL() __asm__ volatile("")

/* One in a struct, one in an array, one on the heap, and one that somebody always waits for. */
struct settings {
	int before[10];
	pthread_mutex_t lock;
};

struct settings settings = {.lock = PTHREAD_MUTEX_INITIALIZER};
pthread_mutex_t lru_locks[5];
static pthread_mutex_t *on_heap;
static pthread_mutex_t busy_lock = PTHREAD_MUTEX_INITIALIZER;

/* Threads that wait for work do not wait for a lock. */
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static int queued;

struct user {
	pthread_t thread;
	const char *name;
	pthread_mutex_t *lock;
	void (*use)(struct user *);
	int tid;
	uint64_t waited; /* in calls that take the lock */
	uint64_t held;	 /* from after these calls to after the release */
};

static volatile int stop;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Holds the lock of @user for @us. */
static inline __attribute__((always_inline)) void hold(struct user *user, unsigned int us)
{
	uint64_t begin = now(), got;

	pthread_mutex_lock(user->lock);
	got = now();
	user->waited += got - begin;
	if (us)
		usleep(us);
	pthread_mutex_unlock(user->lock);
	user->held += now() - got;
}

FUNCTION void hold_settings(struct user *user)
{
	hold(user, 4000);
	usleep(500);
	NO_TAIL_CALL();
}

FUNCTION void hold_lru(struct user *user)
{
	hold(user, 5000);
	usleep(500);
	NO_TAIL_CALL();
}

FUNCTION void hold_heap(struct user *user)
{
	hold(user, 6000);
	usleep(500);
	NO_TAIL_CALL();
}

FUNCTION void take(struct user *user)
{
	hold(user, 0);
	usleep(500);
	NO_TAIL_CALL();
}

FUNCTION void hold_busy(struct user *user)
{
	hold(user, 3000);
	NO_TAIL_CALL();
}

static void *use(void *arg)
{
	struct user *user = arg;

	user->tid = (int)syscall(SYS_gettid);
	pthread_setname_np(pthread_self(), user->name);
	while (!stop)
		user->use(user);
	return NULL;
}

FUNCTION void wait_for_job(void)
{
	pthread_mutex_lock(&queue_lock);
	while (!queued && !stop)
		pthread_cond_wait(&queue_filled, &queue_lock);
	queued = 0;
	pthread_mutex_unlock(&queue_lock);
}

FUNCTION void give_job(void)
{
	pthread_mutex_lock(&queue_lock);
	queued = 1;
	pthread_cond_broadcast(&queue_filled);
	pthread_mutex_unlock(&queue_lock);
}

static void *work(void *arg)
{
	while (!stop)
		wait_for_job();
	return NULL;
}

static void print(const struct user *users, size_t n)
{
	printf("{\"addresses\": {\"settings\": \"%p\", \"lru\": \"%p\", \"heap\": \"%p\", "
	       "\"busy\": \"%p\", \"queue\": \"%p\", \"condition\": \"%p\"},\n\"users\": [",
	       (void *)&settings.lock, (void *)&lru_locks[3], (void *)on_heap, (void *)&busy_lock,
	       (void *)&queue_lock, (void *)&queue_filled);
	for (size_t i = 0; i < n; i++)
		printf("%s\n{\"name\": \"%s\", \"lock\": \"%p\", \"tid\": %d, \"waited\": %llu, "
		       "\"held\": %llu}",
		       i ? "," : "", users[i].name, (void *)users[i].lock, users[i].tid,
		       (unsigned long long)users[i].waited, (unsigned long long)users[i].held);
	printf("]}\n");
}

int main(int argc, char **argv)
{
	struct user users[] = {
		{.name = "hold-settings", .lock = &settings.lock, .use = hold_settings},
		{.name = "take-settings", .lock = &settings.lock, .use = take},
		{.name = "hold-lru", .lock = &lru_locks[3], .use = hold_lru},
		{.name = "take-lru", .lock = &lru_locks[3], .use = take},
		{.name = "hold-heap", .use = hold_heap},
		{.name = "take-heap", .use = take},
		{.name = "busy1", .lock = &busy_lock, .use = hold_busy},
		{.name = "busy2", .lock = &busy_lock, .use = hold_busy},
		{.name = "busy3", .lock = &busy_lock, .use = hold_busy},
	};
	size_t n = sizeof(users) / sizeof(*users);
	uint64_t until = now() + (uint64_t)(atof(argv[1]) * 1e9);
	pthread_t workers[2];

	on_heap = calloc(3, sizeof(*on_heap));
	users[4].lock = users[5].lock = on_heap;
	for (int i = 0; i < 5; i++)
		pthread_mutex_init(&lru_locks[i], NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&workers[i], NULL, work, NULL);
	for (size_t i = 0; i < n; i++)
		pthread_create(&users[i].thread, NULL, use, &users[i]);
	while (now() < until) {
		give_job();
		usleep(5000);
	}
	stop = 1;
	for (size_t i = 0; i < n; i++)
		pthread_join(users[i].thread, NULL);
	pthread_mutex_lock(&queue_lock);
	pthread_cond_broadcast(&queue_filled);
	pthread_mutex_unlock(&queue_lock);
	for (int i = 0; i < 2; i++)
		pthread_join(workers[i], NULL);
	print(users, n);
	return 0;
}
