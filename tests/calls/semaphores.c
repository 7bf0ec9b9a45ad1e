// SPDX-License-Identifier: BSD-2-Clause
/*
 * Semaphores that are locks, and others that are not. The program measures how long its threads
 * wait for the locks and hold them, and prints that as JSON, with the addresses.
 *
 *	semaphores SECONDS [THREADS]
 *
 * With THREADS only the first of them run: with 3, those that share a lock.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FUNCTION       __attribute__((noinline))
#define NO_TAIL_CALL() __asm__ volatile("")
#define USERS	       3 /* of each lock, and parties at the barrier */

sem_t shared_lock; /* one semaphore for all: taken by sem_wait(), released by sem_post() */
sem_t jobs;	   /* who adds to the queue does not wait for it */
sem_t done;	   /* main waits for a result, again and again */
sem_t gate;	   /* a barrier: the last one of USERS lets the others go on */

struct user {
	pthread_t thread;
	const char *name;
	void (*use)(struct user *);
	int tid;
	sem_t own;	 /* of the private lock: one semaphore for each waiter */
	uint64_t waited; /* in calls that take the lock */
	uint64_t held;	 /* from after these calls to after the release */
};

/* A queue of those who want the private lock. Who releases it, hands it over. */
static pthread_spinlock_t wanting;
static struct user *wants[USERS];
static int n_wants;
static int is_taken;

static volatile int stop;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void await(sem_t *semaphore)
{
	while (sem_wait(semaphore))
		;
}

FUNCTION void use_shared(struct user *user)
{
	uint64_t begin = now(), got;

	await(&shared_lock);
	got = now();
	usleep(2000);
	sem_post(&shared_lock);
	user->waited += got - begin;
	user->held += now() - got;
	usleep(100);
	NO_TAIL_CALL();
}

FUNCTION void take_private(struct user *user)
{
	int free;

	pthread_spin_lock(&wanting);
	free = !is_taken;
	is_taken = 1;
	if (!free)
		wants[n_wants++] = user;
	pthread_spin_unlock(&wanting);
	if (!free)
		await(&user->own);
	NO_TAIL_CALL();
}

FUNCTION void release_private(void)
{
	struct user *next = NULL;

	pthread_spin_lock(&wanting);
	if (n_wants)
		next = wants[0];
	else
		is_taken = 0;
	for (int i = 1; i < n_wants; i++)
		wants[i - 1] = wants[i];
	n_wants -= next != NULL;
	pthread_spin_unlock(&wanting);
	if (next)
		sem_post(&next->own);
	NO_TAIL_CALL();
}

FUNCTION void use_private(struct user *user)
{
	uint64_t begin = now(), got;

	take_private(user);
	got = now();
	usleep(2000);
	release_private();
	user->waited += got - begin;
	user->held += now() - got;
	usleep(100);
	NO_TAIL_CALL();
}

FUNCTION void consume(struct user *user)
{
	await(&jobs);
	usleep(500);
	NO_TAIL_CALL();
}

FUNCTION void produce(struct user *user)
{
	usleep(3000);
	sem_post(&jobs);
	NO_TAIL_CALL();
}

FUNCTION void finish(struct user *user)
{
	usleep(4000);
	sem_post(&done);
	NO_TAIL_CALL();
}

static int arrived;

FUNCTION void meet(struct user *user)
{
	usleep((useconds_t)(1000 + 500 * (random() % 5)));
	if (__atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST) < USERS) {
		await(&gate);
	} else {
		arrived = 0;
		for (int i = 1; i < USERS; i++)
			sem_post(&gate);
	}
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

static void print(const struct user *users, size_t n)
{
	printf("{\"addresses\": {\"shared\": \"%p\", \"jobs\": \"%p\", \"done\": \"%p\", "
	       "\"gate\": \"%p\"},\n\"users\": [",
	       (void *)&shared_lock, (void *)&jobs, (void *)&done, (void *)&gate);
	for (size_t i = 0; i < n; i++)
		printf("%s\n{\"name\": \"%s\", \"tid\": %d, \"own\": \"%p\", \"waited\": %llu, "
		       "\"held\": %llu}",
		       i ? "," : "", users[i].name, users[i].tid, (void *)&users[i].own,
		       (unsigned long long)users[i].waited, (unsigned long long)users[i].held);
	printf("]}\n");
}

int main(int argc, char **argv)
{
	static struct user users[] = {
		{.name = "shared1", .use = use_shared},	  {.name = "shared2", .use = use_shared},
		{.name = "shared3", .use = use_shared},	  {.name = "private1", .use = use_private},
		{.name = "private2", .use = use_private}, {.name = "private3", .use = use_private},
		{.name = "meet1", .use = meet},		  {.name = "meet2", .use = meet},
		{.name = "meet3", .use = meet},		  {.name = "consume1", .use = consume},
		{.name = "consume2", .use = consume},	  {.name = "produce", .use = produce},
		{.name = "finish", .use = finish},
	};
	size_t all = sizeof(users) / sizeof(*users), n = argc > 2 ? (size_t)atoi(argv[2]) : all;
	uint64_t until = now() + (uint64_t)(atof(argv[1]) * 1e9);

	sem_init(&shared_lock, 0, 1);
	sem_init(&jobs, 0, 0);
	sem_init(&done, 0, 0);
	sem_init(&gate, 0, 0);
	pthread_spin_init(&wanting, PTHREAD_PROCESS_PRIVATE);
	for (size_t i = 0; i < n; i++) {
		sem_init(&users[i].own, 0, 0);
		pthread_create(&users[i].thread, NULL, use, &users[i]);
	}
	while (n == all && now() < until)
		await(&done);
	if (n < all)
		usleep((useconds_t)(until - now()) / 1000);
	stop = 1;
	for (int i = 0; i < 100; i++) { /* nobody waits in vain */
		sem_post(&jobs);
		sem_post(&gate);
	}
	for (size_t i = 0; i < n; i++)
		pthread_join(users[i].thread, NULL);
	print(users, n);
	return 0;
}
